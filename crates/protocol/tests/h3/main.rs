//! The HTTP/3 session against the RFCs and against QUIC servers of another implementation, on a simulated link.
#![allow(clippy::unwrap_used, reason = "a panic is a failing test with a line number")]

mod begins;
mod ends;
mod hostile;
mod hostile_parts;
mod hostile_sockets;
mod parts;
mod probes;
mod qpack;
mod requests;
mod support;
mod websocket;
