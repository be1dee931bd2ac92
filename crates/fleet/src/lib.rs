//! A run on many machines, without I/O: the state machines of agents and coordinator, and their
//! messages.
//!
//! Each state machine is driven in one grammar. Time, randomness and keys are arguments; nothing
//! here reads a clock, opens a socket or starts a thread, so a fleet can be tested in simulated time
//! on a simulated network:
//!
//! ```text
//! handle_message   a message came
//! handle_timeout   the time of poll_timeout is here
//! handle_…         the host says what became of an event: prepared, an interval, the end
//! poll_transmit    what to send, until there is no more
//! poll_event       what the host has to do, until there is no more
//! poll_timeout     when to come again
//! ```
//!
//! Messages may be lost, come twice, late, or in another order. So each says how things stand and
//! not what has changed: a *beat* has all of an agent's state, its reply all that is asked of it, and
//! the next pair repairs what the last one failed to say.
//!
//! An agent sends load only while it has a [`Lease`], which is counted from its own sending. A
//! coordinator that has heard nothing for longer than that knows that the agent has stopped. The
//! results of a run reach the coordinator as numbered segments, each of which counts once
//! ([`Inbox`]), and an agent keeps them until the run is settled.
#![forbid(unsafe_code)]

pub mod agent;
pub mod audit;
pub mod codec;
pub mod coordinator;
mod grant;
mod lease;
pub mod message;
mod offset;
mod outbox;
mod policy;
mod refusal;
mod settlement;
mod share;
mod timings;

pub use agent::Agent;
pub use coordinator::Coordinator;
pub use grant::{Caps, Grant, GrantError, Nonces, OperatorKey, PublicKey, SignedGrant};
pub use lease::{Lease, Silence, Standing};
pub use message::{AgentName, Digest, Head, Message, RunId, RunKey};
pub use offset::{Clock, Drift, Exchange, MOST_DRIFT_PPM, Reading};
pub use outbox::Outbox;
pub use policy::{Demand, Policy, PolicyRefusal, Scripts};
pub use refusal::Refusal;
pub use settlement::{Inbox, Item, ItemError};
pub use share::{ShareError, Threads, planned, split};
pub use timings::Timings;

/// Nanoseconds in a second.
const S: u64 = candor_plan::NS_PER_S;
/// Nanoseconds in a millisecond.
const MS: u64 = S / 1000;
