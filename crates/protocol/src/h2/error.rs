//! What can be wrong with what a server sends, and the error code it is told (RFC 9113 7).

use candor_record::Cause;

use super::hpack;
use crate::session::Fault;

/// Why a response, or a whole connection, cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    // ---- of the whole connection ------------------------------------------------------------
    /// The first bytes are an HTTP/1 status line.
    #[error("the server responds in HTTP/1, not in HTTP/2")]
    AnswersInHttp1,
    /// The first bytes are a TLS record.
    #[error("the server responds in TLS, not in HTTP/2 in clear text")]
    AnswersInTls,
    /// The request for an upgrade was answered in HTTP/1.1 (RFC 7540 3.2).
    #[error("the server does not upgrade to HTTP/2, but responds with {0} in HTTP/1.1")]
    NotUpgraded(u16),
    /// What came after a request for an upgrade is no response to it.
    #[error(
        "the server's response to the request for an upgrade is not HTTP/1.1, or came too early"
    )]
    Upgrade,
    /// The first frame is not SETTINGS (RFC 9113 3.4).
    #[error("the server does not speak HTTP/2: its first frame is not SETTINGS")]
    NoSettings,
    /// A frame is longer than we said we take, or not of the length its type has (RFC 9113 4.2).
    #[error("a frame is longer than the limit allows, or has a length its type cannot have")]
    FrameSize,
    /// A frame stands on a stream that its type cannot stand on (RFC 9113 6).
    #[error("a frame is on stream 0 that must not be, or on another stream and must be on 0")]
    FrameStream,
    /// A frame's padding is longer than the frame (RFC 9113 6.1).
    #[error("a frame's padding is longer than the frame")]
    Padding,
    /// A frame on a stream that was never opened (RFC 9113 5.1).
    #[error("the server sent a frame on a stream that was never opened")]
    IdleStream,
    /// A frame on a stream that has ended (RFC 9113 5.1).
    #[error("the server sent a frame on a stream that had ended")]
    ClosedStream,
    /// Something between the frames of one header block, or CONTINUATION without one (RFC 9113
    /// 6.10).
    #[error("the frames of a header block do not follow each other")]
    Continuation,
    /// PUSH_PROMISE, which we forbade (RFC 9113 8.4).
    #[error("the server pushes a response although that was refused")]
    Push,
    /// A setting that no server may have (RFC 9113 6.5.2).
    #[error("the server sent a setting with a value that it must not have")]
    SettingValue,
    /// SETTINGS_INITIAL_WINDOW_SIZE above 2^31 - 1, by itself or for a stream that is open (RFC
    /// 9113 6.5.2, 6.9.2).
    #[error("the server's settings make a flow-control window larger than 2^31 - 1")]
    SettingWindow,
    /// The server sent more than the connection's window allows (RFC 9113 6.9.1).
    #[error("the server sent more than the connection's flow-control window allows")]
    WindowExceeded,
    /// The connection's window for our data has become larger than 2^31 - 1 (RFC 9113 6.9.1).
    #[error("the server opened the connection's flow-control window beyond 2^31 - 1")]
    WindowOverflow,
    /// WINDOW_UPDATE by 0 on the connection (RFC 9113 6.9).
    #[error("the server opened the connection's flow-control window by 0")]
    WindowUpdateZero,
    /// A header block cannot be decoded (RFC 7541, RFC 9113 4.3).
    #[error(transparent)]
    Hpack(#[from] hpack::Error),
    /// A header block is longer than [`Limits::header_block_bytes`](super::Limits), or is cut
    /// into more frames than anybody needs.
    #[error("a header block is longer, or in more CONTINUATION frames, than the limit allows")]
    HeaderBlockTooLarge,
    /// Frames that carry nothing, more of them than [`Limits::idle_frames`](super::Limits).
    #[error("the server floods the connection with frames that carry nothing")]
    Flood,

    // ---- of one response ----------------------------------------------------------------------
    /// A field's name is empty, has upper case or other characters it must not have (RFC 9113
    /// 8.2.1).
    #[error("a header field's name is empty or has characters that it must not have")]
    FieldName,
    /// A field's value has NUL, CR or LF, or white space around it (RFC 9113 8.2.1).
    #[error("a header field's value has NUL, CR, LF or white space around it")]
    FieldValue,
    /// Connection, Transfer-Encoding and their like (RFC 9113 8.2.2).
    #[error("the response has a header field of HTTP/1 connections, such as Connection")]
    ConnectionField,
    /// A pseudo-header field other than `:status`, after other fields, twice or in trailers (RFC
    /// 9113 8.3).
    #[error("the response has a pseudo-header field that it must not have, or in the wrong place")]
    PseudoField,
    /// `:status` is missing or no number from 100 to 999 (RFC 9113 8.3.2).
    #[error("the response has no :status between 100 and 999")]
    Status,
    /// 101 (RFC 9113 8.6).
    #[error("the response is 101 Switching Protocols, which only HTTP/1.1 has")]
    SwitchingProtocols,
    /// More 1xx responses than [`Limits::interim_answers`](super::Limits), or one that ends the
    /// stream.
    #[error("more interim (1xx) responses to one request than the limit allows, or one ends it")]
    Interim,
    /// Content-Length is not a number below 2^64, or two of them differ (RFC 9110 8.6).
    #[error("Content-Length is not a decimal number below 2^64, or there are two that differ")]
    ContentLength,
    /// The body's length is not what Content-Length says (RFC 9113 8.1.1).
    #[error("the body is longer or shorter than Content-Length says")]
    ContentLengthDiffers,
    /// A body before its header fields.
    #[error("the body of a response came before its header fields")]
    DataBeforeHeaders,
    /// A body where there is none: after HEAD, with 204 or 304 (RFC 9110 6.4.1).
    #[error("the response has a body, but its status or the request's method allows none")]
    UnexpectedBody,
    /// Trailers that do not end the stream (RFC 9113 8.1).
    #[error("header fields came after the body and did not end the response")]
    Trailers,
    /// The fields are larger than [`Limits::header_list_bytes`](super::Limits).
    #[error("the response's header fields are larger than the limit allows")]
    HeaderListTooLarge,
    /// The server sent more than the stream's window allows (RFC 9113 6.9.1).
    #[error("the server sent more than the stream's flow-control window allows")]
    StreamWindowExceeded,
    /// The stream's window for our data has become larger than 2^31 - 1 (RFC 9113 6.9.1).
    #[error("the server opened a stream's flow-control window beyond 2^31 - 1")]
    StreamWindowOverflow,
    /// WINDOW_UPDATE by 0 on a stream (RFC 9113 6.9).
    #[error("the server opened a stream's flow-control window by 0")]
    StreamWindowUpdateZero,
    /// A PRIORITY frame of the wrong length (RFC 9113 6.3).
    #[error("the server sent a PRIORITY frame of the wrong length")]
    PriorityLength,
}

/// Error codes (RFC 9113 7).
pub(crate) mod code {
    pub(crate) const NO_ERROR: u32 = 0x0;
    pub(crate) const PROTOCOL_ERROR: u32 = 0x1;
    pub(crate) const FLOW_CONTROL_ERROR: u32 = 0x3;
    pub(crate) const STREAM_CLOSED: u32 = 0x5;
    pub(crate) const FRAME_SIZE_ERROR: u32 = 0x6;
    pub(crate) const REFUSED_STREAM: u32 = 0x7;
    pub(crate) const CANCEL: u32 = 0x8;
    pub(crate) const COMPRESSION_ERROR: u32 = 0x9;
    pub(crate) const ENHANCE_YOUR_CALM: u32 = 0xb;
}

impl Fault for Error {
    /// That of a server that does not speak HTTP/2 at all.
    fn cause(&self) -> Option<Cause> {
        match self {
            Error::AnswersInHttp1 => Some(Cause::Http1),
            Error::AnswersInTls => Some(Cause::Tls),
            Error::NotUpgraded(_) => Some(Cause::NoUpgrade),
            Error::NoSettings => Some(Cause::NoH2),
            _ => None,
        }
    }
}

impl Error {
    /// The code that the server is told, in GOAWAY or RST_STREAM.
    pub fn code(self) -> u32 {
        match self {
            Error::FrameSize | Error::PriorityLength => code::FRAME_SIZE_ERROR,
            Error::ClosedStream => code::STREAM_CLOSED,
            Error::SettingWindow
            | Error::WindowExceeded
            | Error::WindowOverflow
            | Error::StreamWindowExceeded
            | Error::StreamWindowOverflow => code::FLOW_CONTROL_ERROR,
            Error::Hpack(_) => code::COMPRESSION_ERROR,
            Error::HeaderBlockTooLarge | Error::HeaderListTooLarge | Error::Flood => {
                code::ENHANCE_YOUR_CALM
            }
            _ => code::PROTOCOL_ERROR,
        }
    }
}
