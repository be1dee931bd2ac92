//! What can be wrong with a server's side of a WebSocket, and the close code it is told (RFC 6455 7.4).

use crate::session::Fault;

/// Why a WebSocket cannot be opened, or not be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    // ---- of the opening -----------------------------------------------------------------------
    /// The status is not 101 over HTTP/1.1, or not 2xx over HTTP/2 and HTTP/3 (RFC 6455 4.1, RFC 8441 5).
    #[error("the server does not open a WebSocket, but responds with {0}")]
    Status(u16),
    /// The response is not HTTP/1.1, or its header block is larger than
    /// [`Limits::header_block_bytes`](super::Limits::header_block_bytes).
    #[error("the header block of the response to the opening is larger than the limit allows")]
    HeaderBlockTooLarge,
    /// More 1xx responses than [`Limits::interim_answers`](super::Limits::interim_answers).
    #[error("more interim (1xx) responses to the opening than the limit allows")]
    TooManyInterimAnswers,
    /// Upgrade is missing or not `websocket` (RFC 6455 4.1).
    #[error("the response to the opening does not have \"Upgrade: websocket\"")]
    Upgrade,
    /// Connection is missing or without `Upgrade` (RFC 6455 4.1).
    #[error("the response to the opening does not have \"Connection: Upgrade\"")]
    Connection,
    /// Sec-WebSocket-Accept is missing, there twice, or not that of our key (RFC 6455 4.1).
    #[error("the Sec-WebSocket-Accept of the response does not belong to the key of the opening")]
    Accept,
    /// Sec-WebSocket-Protocol is there twice, or none of those that were offered (RFC 6455 4.1).
    #[error("the server chose a subprotocol that was not offered")]
    Subprotocol,
    /// Sec-WebSocket-Extensions has what was not offered (RFC 6455 4.1, RFC 7692 7.1).
    #[error("the server's Sec-WebSocket-Extensions {0}")]
    Extensions(Unnegotiated),
    /// The server's SETTINGS do not have SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 3, RFC 9220 3).
    #[error(
        "the server does not take WebSockets over this version of HTTP: its settings do not enable extended CONNECT"
    )]
    NoConnectProtocol,

    // ---- of frames ----------------------------------------------------------------------------
    /// A reserved bit is set without an extension that has a meaning for it (RFC 6455 5.2).
    #[error("a frame has a reserved bit that no extension gives a meaning")]
    ReservedBits,
    /// An opcode from 3 to 7 or from 11 to 15 (RFC 6455 5.2).
    #[error("a frame has the opcode {0}, which is reserved")]
    Opcode(u8),
    /// The server masks a frame (RFC 6455 5.1).
    #[error("the server masks its frames, which only clients do")]
    Masked,
    /// A length in more bytes than it needs (RFC 6455 5.2).
    #[error("a frame's length is written in more bytes than it needs")]
    LongLength,
    /// The length's highest bit is set (RFC 6455 5.2).
    #[error("a frame's length is 2^63 or more")]
    Length,
    /// A control frame without FIN (RFC 6455 5.4).
    #[error("a control frame is fragmented")]
    ControlFragmented,
    /// A control frame of more than 125 bytes (RFC 6455 5.5).
    #[error("a control frame is longer than 125 bytes")]
    ControlLength,
    /// A continuation without a message (RFC 6455 5.4).
    #[error("a continuation frame continues no message")]
    Continuation,
    /// A message within a message (RFC 6455 5.4).
    #[error("a message begins before the one before it has ended")]
    Interleaved,
    /// A text that is not UTF-8 (RFC 6455 8.1).
    #[error("a text message is not UTF-8")]
    Utf8,
    /// A close frame with one byte (RFC 6455 5.5.1).
    #[error("a close frame has one byte, which is half of a close code")]
    CloseLength,
    /// A close code that may not be sent (RFC 6455 7.4).
    #[error("a close frame has the code {0}, which may not be sent")]
    CloseCode(u16),
    /// A reason that is not UTF-8 (RFC 6455 5.5.1).
    #[error("the reason in a close frame is not UTF-8")]
    CloseReason,

    // ---- of bounds ----------------------------------------------------------------------------
    /// More than [`Limits::message_bytes`](super::Limits::message_bytes) in a message.
    #[error("a message is longer than the limit allows")]
    MessageTooLarge,
    /// The same of a compressed message, inflated.
    #[error("a compressed message expands beyond the limit for messages")]
    InflatedTooLarge,
    /// The payload of a compressed message is not DEFLATE (RFC 7692 7.2.2).
    #[error("a compressed message cannot be inflated")]
    Deflate,
    /// More than [`Limits::idle_frames`](super::Limits::idle_frames) in a second.
    #[error("the server floods the connection with pings, pongs or empty fragments")]
    Flood,
    /// No pong within [`KeepAlive::patience_ns`](super::KeepAlive::patience_ns).
    #[error("the server did not answer a ping in time")]
    NoPong,
}

impl Fault for Error {}

/// What is wrong with an extension that a server chose (RFC 6455 9.1, RFC 7692 5 and 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unnegotiated {
    /// Not a list of extensions with parameters.
    #[error("is not a list of extensions")]
    Syntax,
    /// An extension that was not offered.
    #[error("has an extension that was not offered")]
    Extension,
    /// permessage-deflate twice.
    #[error("has permessage-deflate twice")]
    Twice,
    /// A parameter that permessage-deflate does not have, has twice or that was not offered.
    #[error("has a parameter that was not offered, is unknown or there twice")]
    Parameter,
    /// A parameter with a value that it must not have.
    #[error("has a parameter with a value that it must not have")]
    Value,
    /// A parameter that was required is missing.
    #[error("lacks a parameter that the offer requires")]
    Missing,
}

/// Close codes that we send (RFC 6455 7.4.1).
pub(super) mod code {
    pub(in super::super) const NORMAL: u16 = 1000;
    pub(in super::super) const PROTOCOL_ERROR: u16 = 1002;
    pub(in super::super) const NO_STATUS: u16 = 1005;
    pub(in super::super) const ABNORMAL: u16 = 1006;
    pub(in super::super) const INVALID_PAYLOAD: u16 = 1007;
    pub(in super::super) const POLICY: u16 = 1008;
    pub(in super::super) const TOO_BIG: u16 = 1009;
}

impl Error {
    /// The close code that the server is told; of use once the WebSocket is open.
    pub fn close_code(self) -> u16 {
        match self {
            Error::Utf8 | Error::CloseReason | Error::Deflate => code::INVALID_PAYLOAD,
            Error::MessageTooLarge | Error::InflatedTooLarge => code::TOO_BIG,
            Error::Flood | Error::NoPong => code::POLICY,
            _ => code::PROTOCOL_ERROR,
        }
    }
}
