//! Header compression (RFC 7541).
//!
//! [`Decoder`] reads the blocks of responses, [`Encoder`] writes those of requests; each is one
//! direction of one connection. They know nothing of what a field means, and nothing of frames.

mod decoder;
mod encoder;
mod static_table;

pub use decoder::{Decoder, Error};
pub use encoder::{Encoder, Fields};

/// The default size of a dynamic table (RFC 9113 6.5.2).
pub const DEFAULT_TABLE_BYTES: u32 = 4096;

/// What a field costs in a table and in a list beside its bytes (RFC 7541 4.1).
pub const FIELD_OVERHEAD: usize = crate::packing::FIELD_OVERHEAD;
