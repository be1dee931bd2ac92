//! Header compression for HTTP/3 (RFC 9204).
//!
//! [`Decoder`] reads the field sections of responses, and the server's instructions for its table; [`Block`] is the field
//! section of a request, which refers to the static table alone, so that it is the same on every connection and needs no
//! acknowledgement. They know nothing of what a field means, and nothing of frames.

mod decoder;
mod encoder;
mod static_table;

pub use decoder::{Decoder, Error, Section};
pub use encoder::Block;
