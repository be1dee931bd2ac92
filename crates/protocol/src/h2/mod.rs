//! HTTP/2 over one connection (RFC 9113), without I/O.
//!
//! [`prepare`] encodes each request of the plan once; a [`Session`] opens a stream for each one
//! that is handed in, offers the frames for writing and takes the server's frames, in pieces of
//! any size. What it says depends on the bytes alone, never on how they were cut. It must not
//! read a clock, open a socket or keep a body: bodies are compared with the expected one and
//! counted as they pass. TLS is not done here: this begins with the connection preface, by
//! prior knowledge, after ALPN, or after an upgrade ([`Upgrade`]).
//! Frames, header blocks and settings serve [`ws::Tunnel`](crate::ws::Tunnel) too.
//!
//! Where the RFC leaves a choice:
//!
//! - The session is ready when the server's SETTINGS have come, and not before.
//! - A response that is not valid (RFC 9113 8.1.1) fails by itself: RST_STREAM, and the connection
//!   goes on. So does one whose decoded fields are larger than the limit.
//! - Frames on streams that the server ended itself are an error of the connection. Frames on
//!   streams that we gave up are swallowed; they count for the windows, and their header blocks
//!   are decoded, since both sides share the table.
//! - Server push is refused by our settings, so PUSH_PROMISE is an error of the connection.
//!   Priorities are ignored.
//! - A 2xx response to CONNECT is complete with its fields.
//! - A response that is complete before the request's body was sent is a response; the rest of the
//!   body is not sent.
//! - Frames that carry nothing are counted: too many of them between two that carry something
//!   end the connection with ENHANCE_YOUR_CALM.

mod entry;
pub(crate) mod error;
pub(crate) mod frame;
pub(crate) mod head;
pub mod hpack;
pub(crate) mod input;
pub(crate) mod memo;
mod output;
mod parts;
mod receive;
mod request;
mod session;
pub(crate) mod settings;
mod streams;
mod upgrade;
mod upload;

pub use entry::{ENTRY, UPGRADE, sessions};
pub use error::Error;
pub use request::{Parts, Prepared, prepare};
pub(crate) use request::{each_field, is_left_out};
pub use session::Session;
pub use settings::{Limits, Settings};
pub use upgrade::{Asking, Upgrade};
