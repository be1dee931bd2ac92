//! What can be wrong with a response. The engine counts these by name and keeps one example each.

use candor_record::Cause;

use crate::session::Fault;

/// Why a response cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// Bytes came while no request was waiting for a response.
    #[error("the server sent bytes that answer no request")]
    AnswerWithoutRequest,
    /// The status line is not `HTTP/x.y SP 3DIGIT [SP reason]` (RFC 9112 4).
    #[error("the response does not begin with a status line such as \"HTTP/1.1 200 OK\"")]
    StatusLine,
    /// The first bytes are a TLS record.
    #[error("the server responds in TLS, not in HTTP/1.1 in clear text")]
    AnswersInTls,
    /// The status line is one of another major version (RFC 9110 2.5).
    #[error("the response is of an HTTP version other than 1.x")]
    Version,
    /// The status code is below 100 (RFC 9110 15).
    #[error("the status code is not between 100 and 999")]
    StatusCode,
    /// A 101 to a request that did not ask for an upgrade (RFC 9110 15.2.2).
    #[error("the response is 101 Switching Protocols, but the request had no Upgrade field")]
    UnaskedUpgrade,
    /// More 1xx responses than [`Limits::interim_answers`](super::Limits::interim_answers).
    #[error("more interim (1xx) responses to one request than the limit allows")]
    TooManyInterimAnswers,
    /// A header line has no name and colon (RFC 9112 5).
    #[error("a header line does not begin with a field name and a colon")]
    FieldName,
    /// White space between a name and its colon, or before the first field (RFC 9112 2.2, 5.1).
    #[error("a header line has white space before its field name or its colon")]
    FieldSpace,
    /// NUL or a bare CR in a header line or status line (RFC 9110 5.5, RFC 9112 2.2).
    #[error("a header line or the status line contains NUL or a CR without LF")]
    ControlCharacter,
    /// A line is longer than [`Limits::line_bytes`](super::Limits::line_bytes).
    #[error("a header or trailer line is longer than the limit allows")]
    LineTooLong,
    /// The block is larger than [`Limits::header_block_bytes`](super::Limits::header_block_bytes).
    #[error("the header block is larger than the limit allows")]
    HeaderBlockTooLarge,
    /// Content-Length is not a decimal number that fits in 64 bits (RFC 9110 8.6).
    #[error("Content-Length is not a decimal number below 2^64")]
    ContentLength,
    /// Two Content-Lengths differ (RFC 9112 6.3).
    #[error("the response has Content-Lengths that differ")]
    ContentLengthsDiffer,
    /// Both Content-Length and Transfer-Encoding (RFC 9112 6.3).
    #[error("the response has both Content-Length and Transfer-Encoding")]
    LengthAndTransferEncoding,
    /// Transfer-Encoding is not a list of coding names, or has `chunked` twice or with parameters
    /// (RFC 9112 6.1, 7.1).
    #[error("Transfer-Encoding is not a list of codings with at most one plain \"chunked\"")]
    TransferEncoding,
    /// Transfer-Encoding in an HTTP/1.0 response (RFC 9112 6.1).
    #[error("the response is HTTP/1.0 and has a Transfer-Encoding")]
    TransferEncodingInHttp10,
    /// A chunk's size is not a hexadecimal number that fits in 64 bits (RFC 9112 7.1).
    #[error("a chunk's size is not a hexadecimal number below 2^64")]
    ChunkSize,
    /// What follows a chunk's size is not a list of extensions (RFC 9112 7.1.1).
    #[error("what follows a chunk's size is not a list of \";name=value\" extensions")]
    ChunkExtension,
    /// A chunk's size line is longer than
    /// [`Limits::chunk_line_bytes`](super::Limits::chunk_line_bytes).
    #[error("a chunk's size line is longer than the limit allows")]
    ChunkLineTooLong,
    /// A chunk's size line or its data does not end in CRLF (RFC 9112 7.1).
    #[error("a chunk's size line or its data does not end in CRLF")]
    ChunkEnd,
    /// A trailer line is not a field (RFC 9112 7.1.2).
    #[error("a trailer line is not a header field")]
    Trailer,
    /// The trailers are larger than [`Limits::trailer_bytes`](super::Limits::trailer_bytes).
    #[error("the trailers are larger than the limit allows")]
    TrailersTooLarge,
}

impl Fault for Error {
    /// That of a server that does not speak HTTP in clear text at all.
    fn cause(&self) -> Option<Cause> {
        (*self == Error::AnswersInTls).then_some(Cause::Tls)
    }
}
