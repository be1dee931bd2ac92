//! The HTTP/2 session against the RFCs, against itself and against another implementation.

mod clauses;
mod hpack;
mod support;
