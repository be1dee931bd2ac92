//! HTTP/1.1 (RFC 9112), to be filled.

/// Why an answer cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The status line is not one.
    #[error("the status line is not HTTP/1.0 or HTTP/1.1")]
    StatusLine,
}
