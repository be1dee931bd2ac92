//! WebSocket over one connection (RFC 6455), without I/O: messages out, messages in.
//!
//! A [`Session`] opens the connection in HTTP/1.1 ([`Opening`]), or by extended CONNECT over HTTP/2
//! ([`Tunnel`], RFC 8441) or HTTP/3 ([`QuicTunnel`], RFC 9220). From then on a request is a message of the table, and what answers it is a message
//! that the server sends ([`Replies`]). What a session says depends on the bytes alone, never on how they were
//! cut. It must not read a clock, open a socket or keep a message, unless a field in it has to be found.
//!
//! Bytes take this path:
//!
//! ```text
//!  in    opening.rs       the server's response, checked; then
//!        reader.rs        pieces → frames → the payload of messages, control frames
//!        deflate.rs       payload of compressed messages, bounded (RFC 7692)
//!        utf8.rs          text, checked as it passes
//!        conversation.rs  which request a message answers; pongs, closing;  watch.rs  pings of ours
//!        rules.rs         what decides that;  streams.rs  replies of several messages;  outcome.rs
//!        carried.rs       how far a WebSocket is;  framed.rs  what has left of it over HTTP/2 and HTTP/3
//!  out   message.rs       what is sent, and what is expected
//!        frame.rs         headers; mask.rs  a fresh mask for each frame
//!        output.rs        one buffer: many messages leave in one write
//! ```
//!
//! Where the RFC leaves a choice:
//!
//! - A message is answered only when its first byte was written. A message that answers none is a part.
//! - Any fault of the server's ends the connection, with the close code that the RFC has for it. UTF-8 is
//!   checked byte by byte: a fault is found with the byte that makes it (RFC 6455 8.1).
//! - Every ping gets a pong while the server reads; if it does not, the last one alone (RFC 6455 5.5.3).
//! - The server's close is echoed, its data after that is ignored (RFC 6455 5.5.1).
//! - Pings, pongs and empty fragments are counted: too many of them in a second end the connection.
//! - A compressed message is inflated as it comes, in a buffer of fixed size. History starts anew after a final
//!   block (RFC 7692 7.2.3.4).

mod carried;
mod conversation;
mod deflate;
mod entry;
mod error;
mod frame;
mod framed;
mod incoming;
mod mask;
mod message;
mod opening;
mod outcome;
mod quic;
mod reader;
mod rules;
mod session;
mod settings;
mod setup;
mod streams;
mod tunnel;
mod utf8;
mod watch;

pub use deflate::Deflate;
pub use entry::{ENTRY, QUIC_TUNNEL, TUNNEL};
pub use error::{Error, Unnegotiated};
pub use mask::{Masks, mask};
pub use message::{Field, Kind, Message};
pub use opening::{Opening, accept_of};
pub use quic::{Asking, QuicTunnel};
pub use rules::Rules;
pub use session::Session;
pub use settings::{KeepAlive, Limits, Replies, Settings};
pub use setup::Setup;
pub use tunnel::{Extended, Tunnel};
