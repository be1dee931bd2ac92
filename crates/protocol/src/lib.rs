//! HTTP clients without I/O: bytes in, events out; requests in, bytes out.
//!
//! [`session`] is the seam that every protocol fills and that the engine drives. Nothing here
//! opens a socket or reads a clock, so every session can be tested to the byte. What a request
//! looks like comes from the plan; when it is sent and how long it took is the engine's business.
#![forbid(unsafe_code)]

pub mod capture;
pub mod expect;
pub mod grpc;
pub mod h1;
pub mod h2;
pub mod made;
mod output;
pub mod parts;
pub mod proxy;
pub mod session;
pub mod tls;
pub mod ws;

pub use capture::{Capture, CaptureRoom, Keep, NotKept};
pub use made::Made;
pub use session::{
    Abilities, Answer, Captured, Deviations, Event, Failure, GoAway, HeaderBytes, Input, Last,
    MAX_SEGMENTS, MAX_TRANSMIT_BYTES, Malformed, Outgoing, Part, PartKind, Protocol, RequestId,
    Session, Transmit, Transport,
};
