//! A run on many machines, without I/O: the state machines of agents and coordinator, and their
//! messages.
//!
//! Time, randomness and keys are arguments. Nothing here reads a clock, opens a socket or starts a
//! thread, so a fleet is tested in simulated time on a simulated network. Both state machines are
//! driven in the same way:
//!
//! ```text
//! handle_message   takes a message
//! handle_timeout   is due at the time of poll_timeout
//! handle_…         takes the host's result of an event: prepared, an interval, the end
//! poll_transmit    the next message to send, or none
//! poll_event       the next task of the host, or none
//! poll_timeout     the time of the next handle_timeout
//! ```
//!
//! The network may lose, duplicate, delay and reorder messages. So a message states all of a state
//! and no change of it: a *beat* has the whole state of an agent, its reply the whole order to the
//! agent, and the next pair makes up for a lost one.
//!
//! An agent sends load only while it has a [`Lease`], which counts from its own sending of a beat. A
//! coordinator that has heard nothing for longer than that knows that the agent has stopped. The
//! results of a run reach the coordinator as numbered segments, each of which counts once
//! ([`Inbox`]). An agent keeps its segments until the run is settled.
//!
//! Modules know only those above them in this table:
//!
//! ```text
//! identity                    names of runs and agents, digests
//! share, grant, audit         who takes part and with what permission; lines of the audit file
//! refusal                     why an agent does not take part
//! message, codec, file        what is sent, as values and as bytes; data files
//! policy, lease, offset,      parts of the state machines, each for one question
//! outbox, settlement
//! agent, coordinator          the state machines
//! ```
#![forbid(unsafe_code)]

pub mod agent;
pub mod audit;
pub mod certificate;
pub mod codec;
pub mod coordinator;
mod file;
mod grant;
mod identity;
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
pub use file::DataFile;
pub use grant::{Caps, Grant, GrantError, Nonces, OperatorKey, PublicKey, SignedGrant};
pub use identity::{AgentName, Digest, Hasher, RunId, RunKey};
pub use lease::{Lease, Silence, Standing};
pub use message::{Head, Message};
pub use offset::{Clock, Drift, Exchange, MOST_DRIFT_PPM, Reading};
pub use outbox::Outbox;
pub use policy::{Demand, Policy, Scripts};
pub use refusal::{MOST_DATA_BYTES, MOST_PLAN_BYTES, PolicyRefusal, Refusal, in_one_line};
pub use settlement::{Inbox, Item, ItemError};
pub use share::{ShareError, Shares, Threads, planned, split};
pub use timings::{MOST_ROUND_TRIP_NS, Timings};

/// Nanoseconds in a second.
const S: u64 = candor_plan::NS_PER_S;
/// Nanoseconds in a millisecond.
const MS: u64 = S / 1000;
