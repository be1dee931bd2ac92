//! What a session is told of responses: how large their parts may be, so that no server costs more than a little memory.

/// Bounds on the parts of a response. Line ends count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Status line and header lines together.
    pub header_block_bytes: usize,
    /// One status, header or trailer line.
    pub line_bytes: usize,
    /// One chunk's size line.
    pub chunk_line_bytes: usize,
    /// All trailer lines of one response.
    pub trailer_bytes: usize,
    /// Interim (1xx) responses before the response to one request.
    pub interim_answers: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            header_block_bytes: 64 << 10,
            line_bytes: 16 << 10,
            chunk_line_bytes: 4 << 10,
            trailer_bytes: 64 << 10,
            interim_answers: 100,
        }
    }
}
