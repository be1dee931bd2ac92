//! What can be wrong with the response to a call.

use crate::session::Fault;

/// Why a response is not one of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// The content type does not begin with `application/grpc`.
    #[error("the response is not gRPC: its content-type does not begin with application/grpc")]
    ContentType,
    /// There is no content type.
    #[error("the response has no content-type")]
    NoContentType,
    /// The content type is none of gRPC-Web, or of Connect.
    #[error("the response is not of the protocol of the call: its content-type is not {0}")]
    OtherType(&'static str),
    /// A message is longer than [`Limits::max_message_bytes`](super::Limits).
    #[error("a message of {0} bytes is longer than the limit")]
    MessageTooLong(u32),
    /// The body ends within a message.
    #[error("the body ends in the middle of a message: its length is not true, or it was cut")]
    CutMessage,
    /// A message is compressed, and there is no `grpc-encoding`.
    #[error("a message is marked as compressed, but the response has no grpc-encoding")]
    CompressedWithoutEncoding,
    /// A message is compressed, which was not offered.
    #[error("a message is compressed, although no compression was offered")]
    Compressed,
    /// The first byte of a message is neither 0 nor 1.
    #[error("a message begins with the byte {0:#04x} instead of 0 or 1")]
    Flag(u8),
    /// `grpc-status` is not a number.
    #[error("grpc-status is not a decimal number")]
    Status,
    /// There are two of `grpc-status`.
    #[error("the response has more than one grpc-status")]
    DoubledStatus,
    /// The end of the body that has the status is not fields, or not JSON.
    #[error("the end of the body has no status that can be read: it is garbage")]
    End,
    /// The same, longer than 16 KiB.
    #[error("the end of the body, which has the status, is longer than 16 KiB")]
    EndTooLong,
    /// The body is not base64.
    #[error("the body is not base64, as it is in the text form of gRPC-Web")]
    NotText,
    /// There is more after the end.
    #[error("the body goes on after the frame with the status")]
    AfterEnd,
    /// `OK`, with another number of messages than one where the method has one.
    #[error("the method responds with one message, and the status is OK with {0}")]
    NotOneMessage(u32),
}

impl Fault for Error {}
