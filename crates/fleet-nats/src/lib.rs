//! Carries the messages of a fleet over NATS: a [`Link`] of an agent or of a coordinator.
//!
//! A link is one thread with one connection, beside the threads that send load. It reconnects by itself.
//! Every wait is bounded, and no call waits for the broker: a message that cannot be sent now is dropped and
//! counted, because the protocol of `candor-fleet` makes up for lost messages. Those that the client had
//! taken before it noticed the loss of its connection arrive late, which does no harm.
//!
//! This crate neither decides anything nor keeps anything: state machines are `candor-fleet`'s, clocks and
//! load are the host's.
#![forbid(unsafe_code)]

mod arrival;
mod broker;
mod link;
mod pump;
mod stream;
mod subjects;
mod version;

pub use arrival::Arrival;
pub use broker::{Broker, Certificates, LinkError};
pub use link::Link;
