//! The HTTP/2 session against the RFCs, against itself and against another implementation.

mod clauses;
mod hostile;
mod hpack;
mod peer;
mod properties;
mod support;
