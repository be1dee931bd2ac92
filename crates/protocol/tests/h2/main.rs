//! The HTTP/2 session against the RFCs, against itself and against another implementation.
#![allow(clippy::unwrap_used, reason = "a panic is a failing test with a line number")]

mod clauses;
mod events;
mod grpc;
mod hostile;
mod hpack;
mod made;
mod peer;
mod properties;
mod support;
mod upgrade;
