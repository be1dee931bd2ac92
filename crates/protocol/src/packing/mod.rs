//! How HPACK and QPACK write integers and strings, and what their dynamic tables hold (RFC 7541 2.3.2, 4 and 5; RFC 9204
//! 3.2 and 4.1).
//!
//! Nothing here knows an instruction, a header block or an index of either.

pub(crate) mod huffman;
pub(crate) mod integer;
mod table;

pub(crate) use table::Table;

/// What a field costs in a table and in a list beside its bytes (RFC 7541 4.1, RFC 9204 3.2.1).
pub(crate) const FIELD_OVERHEAD: usize = 32;
