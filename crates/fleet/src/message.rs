//! The messages between agents and coordinator.
//!
//! A message may arrive twice or late without harm. Those of a run have a [`Head`], and a receiver drops
//! a message with another head. Agents send [`Message::Hello`], [`Beat`](Message::Beat),
//! [`Want`](Message::Want), [`Echo`](Message::Echo), [`Segment`](Message::Segment) and
//! [`Refused`](Message::Refused); the coordinator sends the others.
//!
//! Only grants are signed. The other messages of a coordinator come from anyone who may publish to the agent's
//! subject: a holder of the operator's certificate, or the broker itself. They can end a run and have results
//! forgotten, which a broker can do anyway by carrying nothing. None of them starts load, or prolongs it beyond
//! what was granted, so a signature on them would protect nothing.

use candor_record::Workers;
use serde::{Deserialize, Serialize};

use crate::grant::SignedGrant;
use crate::identity::{Digest, RunId, RunKey};
use crate::refusal::Refusal;

/// The run and the agent that a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The attempt.
    pub key: RunKey,
    /// The agent's life: a random number, drawn when it starts.
    pub boot: u64,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the types of the fields describe them")]
pub enum Message {
    /// An agent announces itself.
    Hello(Hello),
    /// The state of an agent of a run.
    Beat { head: Head, beat: Beat },
    /// The agent asks for these chunks of what has this digest: the plan, or one of its data files.
    Want { head: Head, of: Digest, chunks: Vec<u32> },
    /// The reply to a probe, at once.
    Echo { head: Head, echo: Echo },
    /// A piece of an agent's results.
    Segment { head: Head, segment: Segment },
    /// The agent does not take part.
    Refused { head: Head, why: Refusal },
    /// The agent should take part in this run.
    Reserve { head: Head, reserve: Reserve },
    /// A chunk of what has this digest.
    Chunk { head: Head, of: Digest, index: u32, bytes: Vec<u8> },
    /// The coordinator asks for the agent's clock, at `sent_ns` of its own.
    Probe { head: Head, sent_ns: u64 },
    /// An order; as the reply to a beat it extends the agent's lease.
    Lease { head: Head, order: Order },
    /// The coordinator has the complete results, so the agent need not keep them.
    Settled { head: Head },
    /// The agent must stop at once and keep nothing.
    Kill { run: RunId },
    /// The agent should deliver results that it kept.
    Recall { head: Head },
    /// The run is over without the results of all agents: the agent keeps its own, and is free.
    Keep { head: Head },
}

/// An agent announces itself, once a second, to all coordinators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its life.
    pub boot: u64,
    /// The version of Candor.
    pub version: String,
    /// Cores that it may use.
    pub cores: u32,
    /// Digest of its policy.
    pub policy: Digest,
    /// Its clock.
    pub clock_ns: u64,
    /// The run that it takes part in now.
    pub busy: Option<RunKey>,
    /// Runs whose results it keeps because no coordinator took them.
    pub kept: Vec<Kept>,
}

/// The results of a run that an agent keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The run.
    pub key: RunKey,
    /// The agent's share.
    pub workers: Workers,
    /// The plan's digest.
    pub plan: Digest,
}

/// The state of an agent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// When it was sent, by the agent's clock.
    pub sent_ns: u64,
    /// Its phase.
    pub phase: Phase,
    /// The number of segments that it has sent.
    pub segments: u32,
}

/// The phase of an agent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// It has agreed.
    Reserved,
    /// It fetches the plan and makes its connections.
    Preparing,
    /// It can start.
    Prepared {
        /// Digest of the plan.
        plan: Digest,
        /// Established connections.
        connections: u32,
    },
    /// It will start.
    Armed {
        /// At this time of its own clock.
        origin_ns: u64,
    },
    /// It sends.
    Running,
    /// It sends no more, and waits for responses.
    Draining,
    /// It has stopped by itself, because its lease was over.
    Lapsed,
    /// It has ended and delivers its results.
    Delivering(Final),
}

impl Phase {
    /// How far the agent is: this never decreases.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Phase::Reserved => 0,
            Phase::Preparing => 1,
            Phase::Prepared { .. } => 2,
            Phase::Armed { .. } => 3,
            Phase::Running => 4,
            Phase::Draining | Phase::Lapsed => 5,
            Phase::Delivering(_) => 6,
        }
    }
}

/// The complete results of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Final {
    /// The number of segments.
    pub segments: u32,
    /// Digest of their bytes, in order.
    pub digest: Digest,
    /// The agent stopped because its lease was over.
    pub lapsed: bool,
}

/// The reply to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    /// When the probe was sent, by the coordinator's clock.
    pub sent_ns: u64,
    /// When the probe arrived, by the agent's.
    pub received_ns: u64,
    /// When this was sent, by the agent's.
    pub replied_ns: u64,
}

/// A piece of an agent's results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its number: 0, 1, 2, …
    pub sequence: u32,
    /// The item that it ends.
    pub ends: Ends,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The item that a segment ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ends {
    /// None: the item continues in the next segment.
    Nothing,
    /// An interval.
    Interval,
    /// The record without intervals.
    Record,
}

/// The run that an agent is asked to take part in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// The length of the first lease.
    pub lease_ns: u64,
    /// The agent's share.
    pub workers: Workers,
    /// Digest of the plan's bytes.
    pub plan: Digest,
    /// The number of these bytes.
    pub plan_bytes: u32,
    /// The permission.
    pub grant: SignedGrant,
}

/// An order to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// When the beat that this replies to was sent, by the agent's clock; `None` if this is no reply.
    pub beat_ns: Option<u64>,
    /// The length of the lease that a reply gives.
    pub lease_ns: u64,
    /// The command.
    pub command: Command,
    /// Segments that the coordinator has.
    pub have: Have,
}

/// A command to an agent. One that it has carried out already, or cannot carry out any more, has no
/// effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Continue.
    Hold,
    /// Fetch the plan and prepare.
    Prepare,
    /// Start.
    Go(Go),
    /// Stop: send nothing more, drain, deliver. Before the start: forget the run.
    Stop,
    /// The same, without waiting for responses.
    End,
}

/// The order to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Go {
    /// The origin of time, by the agent's own clock.
    pub origin_ns: u64,
    /// By how much the agent's clock is ahead of the coordinator's.
    pub offset_ns: i64,
    /// The largest error of that.
    pub bound_ns: u64,
}

/// The segments that have arrived: all below `up_to`, and those in `beyond`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Have {
    /// The first that is missing.
    pub up_to: u32,
    /// Beginnings and ends of later ranges, in order.
    pub beyond: Vec<(u32, u32)>,
}

impl Have {
    /// The most ranges in a message.
    pub const MOST: usize = 16;

    /// Whether this segment has arrived.
    pub fn has(&self, sequence: u32) -> bool {
        sequence < self.up_to
            || self.beyond.iter().any(|(from, to)| (*from..*to).contains(&sequence))
    }
}
