//! HTTP/3 (RFC 9114) over QUIC (RFC 9000): the server's side.
//!
//! [`endpoint`] gives datagrams to their connections, [`session`] is one connection; both have no socket and read no clock.
//! The target serves its connections with them in the event loops of its other protocols (`udp.rs`), and the truth server in
//! a loop of its own. Requests and responses are the same as over TCP: what a path means is not known here.

pub(crate) mod endpoint;
pub(crate) mod session;

#[cfg(test)]
mod tests;
