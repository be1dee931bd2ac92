//! HTTP/3 over one QUIC connection (RFC 9114), without I/O.
//!
//! [`prepare`] encodes each request of the plan once; a [`Session`] gives each one that is handed in a stream, offers
//! datagrams for writing and takes the server's. QUIC itself is quinn-proto's ([`quic`]), with the cryptography of
//! [`crypto`]; frames, field sections and what they mean are ours. It must not read a clock, open a socket or keep a body:
//! bodies are compared with the expected one and counted as they pass.
//!
//! Where the RFC leaves a choice:
//!
//! - The session is ready when the handshake is over: until the server's SETTINGS have come, its defaults hold, and nothing
//!   that is sent depends on them.
//! - Requests refer to the static table of QPACK alone; the server may use a dynamic one, within the limit that we announce.
//! - A response that is not valid (RFC 9114 4.1.2) fails by itself: its stream is given up, and the connection goes on.
//! - Server push is never allowed, so that a push is an error of the connection.
//! - A 2xx response to CONNECT is complete with its fields.
//! - A response that is complete before the request's body was sent is a response; the rest of the body is not sent.
//! - Frames and streams that carry nothing are counted: too many of them between two that carry something end the
//!   connection with H3_EXCESSIVE_LOAD.

mod control;
mod crypto;
mod entry;
mod error;
pub mod frames;
mod parts;
pub mod qpack;
mod quic;
mod receive;
mod request;
mod session;
mod settings;
mod streams;
mod tunnel;

pub use entry::ENTRY;
pub use error::Error;
pub use quic::Setup;
pub(crate) use request::extended;
pub use request::{Prepared, prepare};
pub use session::Session;
pub use settings::{Limits, Settings};
