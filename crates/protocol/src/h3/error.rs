//! What can be wrong with what a server sends, and the error code it is told (RFC 9114 8.1, RFC 9204 6).

use candor_record::Cause;

use super::qpack;
use crate::h2;
use crate::session::Fault;
use crate::tls::HandshakeError;

/// Why a response, or a whole connection, cannot be understood, or ended.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    // ---- of the whole connection, by QUIC -----------------------------------------------------
    /// The handshake of TLS within QUIC failed.
    #[error("{0}")]
    Handshake(HandshakeError),
    /// No version of QUIC is common (RFC 9000 6).
    #[error("the server speaks no version of QUIC that is spoken here")]
    Version,
    /// The server breaks a rule of QUIC.
    #[error("the server breaks a rule of QUIC: {0}")]
    Quic(Box<str>),
    /// The server ended the connection by its own word, in QUIC (RFC 9000 10.2).
    #[error("the server closed the connection, QUIC error code {code:#x}{}", colon(reason))]
    ClosedByQuic {
        /// Its error code (RFC 9000 20.1).
        code: u64,
        /// What it said about it.
        reason: Box<str>,
    },
    /// The server ended the connection by its own word, in HTTP/3.
    #[error("the server closed the connection, HTTP/3 error code {code:#x}{}", colon(reason))]
    ClosedByServer {
        /// Its error code (RFC 9114 8.1).
        code: u64,
        /// What it said about it.
        reason: Box<str>,
    },
    /// The server does not know the connection any more (RFC 9000 10.3).
    #[error("the server does not know the connection any more: a stateless reset")]
    StatelessReset,
    /// Nothing came for as long as one of both sides waits (RFC 9000 10.1).
    #[error("nothing came from the server for the idle timeout of QUIC")]
    Silent,

    // ---- of the whole connection, by HTTP/3 ---------------------------------------------------
    /// The first frame of the control stream is not SETTINGS (RFC 9114 6.2.1).
    #[error("the first frame of the server's control stream is not SETTINGS")]
    NoSettings,
    /// A frame where its type must not stand (RFC 9114 4.1, 7.2).
    #[error("the server sent a frame on a stream, or at a place, where its type must not be")]
    FrameUnexpected,
    /// A frame of a type of HTTP/2 (RFC 9114 7.2.8).
    #[error("the server sent a frame of a type that only HTTP/2 has")]
    FrameOfH2,
    /// A frame ends with its stream, or has a length that its type cannot have (RFC 9114 7.1).
    #[error("a frame is cut off, or has a length that its type cannot have")]
    FrameSize,
    /// A frame longer than a bound.
    #[error("a frame other than DATA is longer than the limit allows")]
    FrameTooLarge,
    /// A setting of HTTP/2, or one twice (RFC 9114 7.2.4).
    #[error("the server sent a setting that must not be, or one twice")]
    Settings,
    /// A second control stream or stream of QPACK, or a push that nobody allowed (RFC 9114 6.2).
    #[error(
        "the server opened a stream that it must not open: a second one of its kind, or a push"
    )]
    StreamCreation,
    /// A control stream or a stream of QPACK ended, or one of ours is not read (RFC 9114 6.2.1, RFC 9204 4.2).
    #[error("the server closed a control stream or a stream of QPACK")]
    ClosedCritical,
    /// A GOAWAY or a push with an identifier that cannot be (RFC 9114 5.2, 7.2.5).
    #[error("the server sent an identifier in GOAWAY or CANCEL_PUSH that cannot be")]
    Id,
    /// A field section or an instruction cannot be read (RFC 9204).
    #[error(transparent)]
    Qpack(#[from] qpack::Error),
    /// What the server says on the decoder's stream cannot be: nothing of ours refers to a table (RFC 9204 4.4).
    #[error("the server acknowledges a field section that refers to no dynamic table")]
    DecoderStream,
    /// Frames and streams that carry nothing, more of them than the limit.
    #[error("the server floods the connection with frames or streams that carry nothing")]
    Flood,

    // ---- of one response ----------------------------------------------------------------------
    /// As over HTTP/2: its fields, its length, its body.
    #[error(transparent)]
    Response(#[from] h2::Error),
    /// The stream ended before there was a response.
    #[error("the stream of the response ended before its header fields")]
    NoResponse,
}

fn colon(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// That of an end without an error.
pub(super) const NO_ERROR: u64 = code::NO_ERROR as u64;

/// Error codes (RFC 9114 8.1, RFC 9204 6).
pub(super) mod code {
    pub(crate) const NO_ERROR: u32 = 0x100;
    pub(crate) const GENERAL_PROTOCOL_ERROR: u32 = 0x101;
    pub(crate) const STREAM_CREATION_ERROR: u32 = 0x103;
    pub(crate) const CLOSED_CRITICAL_STREAM: u32 = 0x104;
    pub(crate) const FRAME_UNEXPECTED: u32 = 0x105;
    pub(crate) const FRAME_ERROR: u32 = 0x106;
    pub(crate) const EXCESSIVE_LOAD: u32 = 0x107;
    pub(crate) const ID_ERROR: u32 = 0x108;
    pub(crate) const SETTINGS_ERROR: u32 = 0x109;
    pub(crate) const MISSING_SETTINGS: u32 = 0x10a;
    pub(crate) const REQUEST_REJECTED: u32 = 0x10b;
    pub(crate) const REQUEST_CANCELLED: u32 = 0x10c;
    pub(crate) const MESSAGE_ERROR: u32 = 0x10e;
    pub(crate) const QPACK_DECOMPRESSION_FAILED: u32 = 0x200;
    pub(crate) const QPACK_ENCODER_STREAM_ERROR: u32 = 0x201;
    pub(crate) const QPACK_DECODER_STREAM_ERROR: u32 = 0x202;
}

impl Fault for Error {
    fn cause(&self) -> Option<Cause> {
        match self {
            Error::Handshake(error) => error.cause(),
            _ => None,
        }
    }
}

impl Error {
    /// The code that the server is told, in CONNECTION_CLOSE, RESET_STREAM or STOP_SENDING.
    pub fn code(&self) -> u32 {
        match self {
            Error::NoSettings => code::MISSING_SETTINGS,
            Error::FrameUnexpected | Error::FrameOfH2 => code::FRAME_UNEXPECTED,
            Error::FrameSize => code::FRAME_ERROR,
            Error::FrameTooLarge | Error::Flood => code::EXCESSIVE_LOAD,
            Error::Settings => code::SETTINGS_ERROR,
            Error::StreamCreation => code::STREAM_CREATION_ERROR,
            Error::ClosedCritical => code::CLOSED_CRITICAL_STREAM,
            Error::Id => code::ID_ERROR,
            Error::Qpack(qpack::Error::Instruction | qpack::Error::Capacity) => {
                code::QPACK_ENCODER_STREAM_ERROR
            }
            Error::Qpack(_) => code::QPACK_DECOMPRESSION_FAILED,
            Error::DecoderStream => code::QPACK_DECODER_STREAM_ERROR,
            Error::Response(_) | Error::NoResponse => code::MESSAGE_ERROR,
            _ => code::GENERAL_PROTOCOL_ERROR,
        }
    }
}
