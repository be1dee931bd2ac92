//! HTTP clients without I/O: bytes in, events out; requests in, bytes out.
//!
//! Nothing here opens a socket or reads a clock, so every session can be tested to the byte. What a request looks like
//! comes from the plan; when it is sent and how long it took is the engine's business. Each module names modules above
//! it alone, but for the configuration of TLS, which QUIC takes:
//!
//! ```text
//!  the seam     http.rs     what all versions of HTTP write alike      output.rs  bytes on their way out
//!               expect.rs   whether a response is the expected one     capture.rs responses that are kept
//!               request.rs  requests, as they are handed in
//!               session.rs  a session: its grammar, its input, its events; nothing of one protocol
//!               failure.rs  how failures are counted, and their words
//!               entry.rs    what a protocol is to a run: name, transport, and its sessions, made of a plan
//!               habits.rs   what requests ask of a worker beside their sessions
//!               packing/    integers, strings and tables of compressed header fields
//!  parts        parts/      events of a response                       grpc/      messages and status of a call
//!               asked.rs   which of them a session is asked of
//!  protocols    h1/         HTTP/1.1
//!               made/       texts of requests, of scripts and templates: read and written as HTTP/1.1
//!               h2/         HTTP/2; begins in HTTP/1.1 where it is an upgrade
//!               h3/         HTTP/3, over QUIC
//!               ws/         WebSocket; opened over HTTP/1.1, or on a stream of HTTP/2 or HTTP/3
//!  around them  tls/        TLS, with any session within               proxy.rs   the same behind a proxy
//!               haproxy.rs the header that is before all of it
//! ```
//!
//! The seam that the engine drives is at the root of this crate; what belongs to one protocol is in its module.
#![forbid(unsafe_code)]

mod asked;
mod capture;
mod coding;
mod entry;
pub mod expect;
mod failure;
pub mod grpc;
pub mod h1;
pub mod h2;
pub mod h3;
mod habits;
pub mod haproxy;
mod http;
pub mod made;
mod output;
mod packing;
pub mod parts;
pub mod proxy;
mod request;
mod session;
pub mod tls;
pub mod ws;

pub use capture::{Capture, CaptureRoom, Captured, Codings, Keep, NotKept, Resume};
pub use coding::Undecoded;
pub use entry::{Entry, Make, To};
pub use habits::Habits;
pub use request::{Made, Outgoing};
pub use session::{
    Abilities, Answer, CloseFrame, Deviations, Event, Failure, Fault, GoAway, HeaderBytes, Input,
    Last, MAX_SEGMENTS, MAX_TRANSMIT_BYTES, Malformed, Part, PartKind, Protocol, RequestId,
    Session, Transmit, Transport,
};

/// All protocols. Of those that a server may choose, the one first that is spoken where it chooses none.
pub static PROTOCOLS: [&Entry; 7] =
    [&h1::ENTRY, &h2::ENTRY, &h2::UPGRADE, &h3::ENTRY, &ws::ENTRY, &ws::TUNNEL, &ws::QUIC_TUNNEL];
