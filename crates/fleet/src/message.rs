//! What agents and coordinator say to each other.
//!
//! Every message may come twice or late without harm. Those of a run have a [`Head`], and whoever
//! gets one with another head drops it. Messages of agents are [`Message::Hello`],
//! [`Beat`](Message::Beat), [`Want`](Message::Want), [`Echo`](Message::Echo),
//! [`Segment`](Message::Segment) and [`Refused`](Message::Refused); the others are the coordinator's.

use std::fmt;

use aws_lc_rs::digest;
use candor_record::Workers;
use serde::{Deserialize, Serialize};

use crate::grant::SignedGrant;
use crate::refusal::Refusal;

/// Which run, among all that ever were: random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(pub [u8; 16]);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One attempt at a run. An experiment is a run of many attempts, each with a plan of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// The run.
    pub run: RunId,
    /// Which attempt; a later one has a higher number.
    pub epoch: u32,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.run, self.epoch)
    }
}

/// The name of an agent: 1 to 63 lower-case letters, digits and dashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

/// A text is no name of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an agent's name; use 1 to 63 lower-case letters, digits and dashes")]
pub struct NotAName(String);

impl TryFrom<String> for AgentName {
    type Error = NotAName;

    fn try_from(name: String) -> Result<Self, NotAName> {
        let is_fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        match (1..=63).contains(&name.len()) && name.bytes().all(is_fine) {
            true => Ok(AgentName(name)),
            false => Err(NotAName(name.chars().take(64).collect())),
        }
    }
}

impl std::str::FromStr for AgentName {
    type Err = NotAName;

    fn from_str(name: &str) -> Result<Self, NotAName> {
        name.to_owned().try_into()
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> String {
        name.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.digest()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A digest of bytes that come one after the other.
#[derive(Clone)]
pub(crate) struct Hasher(digest::Context);

impl Default for Hasher {
    fn default() -> Self {
        Hasher(digest::Context::new(&digest::SHA256))
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.digest(), f)
    }
}

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Of all bytes until now.
    pub(crate) fn digest(&self) -> Digest {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.clone().finish().as_ref());
        Digest(bytes)
    }
}

/// What a message of a run belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The attempt.
    pub key: RunKey,
    /// The agent's life: a number that it draws when it starts.
    pub boot: u64,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields are what their types say")]
pub enum Message {
    /// An agent is there.
    Hello(Hello),
    /// How things stand with an agent of a run.
    Beat { head: Head, beat: Beat },
    /// These chunks of the plan are missing.
    Want { head: Head, chunks: Vec<u32> },
    /// The reply to a probe, at once.
    Echo { head: Head, echo: Echo },
    /// A piece of an agent's results.
    Segment { head: Head, segment: Segment },
    /// The agent does not take part.
    Refused { head: Head, why: Refusal },
    /// Be the coordinator's for this run.
    Reserve { head: Head, reserve: Reserve },
    /// A chunk of the plan.
    Chunk { head: Head, index: u32, bytes: Vec<u8> },
    /// What does the agent's clock say? At `sent_ns` of the coordinator's.
    Probe { head: Head, sent_ns: u64 },
    /// What is asked of an agent; the reply to a beat extends its lease.
    Lease { head: Head, order: Order },
    /// The coordinator has the whole result, and the agent need not keep it.
    Settled { head: Head },
    /// Stop at once, and keep nothing.
    Kill { run: RunId },
    /// Deliver the results that were kept.
    Recall { head: Head },
}

/// An agent is there: one a second, to all coordinators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its life.
    pub boot: u64,
    /// Cores that it may use.
    pub cores: u32,
    /// Digest of its policy.
    pub policy: Digest,
    /// Its clock.
    pub clock_ns: u64,
    /// The run that it has to do with now.
    pub busy: Option<RunKey>,
    /// Runs whose results it keeps, because no coordinator took them.
    pub kept: Vec<Kept>,
}

/// Results that an agent keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Of this run.
    pub key: RunKey,
    /// What it had of it.
    pub workers: Workers,
    /// The plan's digest.
    pub plan: Digest,
}

/// How things stand with an agent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// When it was sent, by the agent's clock.
    pub sent_ns: u64,
    /// Where it is.
    pub phase: Phase,
    /// How many segments it has sent.
    pub segments: u32,
}

/// Where an agent of a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// It has agreed.
    Reserved,
    /// It fetches the plan, and makes its connections.
    Preparing,
    /// It can start.
    Prepared {
        /// Digest of the plan as it was built.
        plan: Digest,
        /// Connections that are established.
        connections: u32,
    },
    /// It is going to start.
    Armed {
        /// At this time of its own clock.
        origin_ns: u64,
    },
    /// It sends.
    Running,
    /// It waits for the responses to what it has sent.
    Draining,
    /// Its lease was over: it has stopped by itself.
    Lapsed,
    /// It has ended.
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

/// All that an agent will ever send of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Final {
    /// How many segments.
    pub segments: u32,
    /// Of their bytes, in order.
    pub digest: Digest,
    /// It stopped because its lease was over.
    pub lapsed: bool,
}

/// The reply to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Echo {
    /// When the probe was sent, by the coordinator's clock.
    pub sent_ns: u64,
    /// When it came, by the agent's.
    pub received_ns: u64,
    /// When this was sent, by the agent's.
    pub replied_ns: u64,
}

/// A piece of an agent's results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its number: 0, 1, 2, …
    pub sequence: u32,
    /// What it ends.
    pub ends: Ends,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What is complete with a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ends {
    /// Nothing: the next segment goes on.
    Nothing,
    /// An interval.
    Interval,
    /// What else is known of the run: its record without intervals.
    Record,
}

/// What is asked of an agent that is to be reserved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// How long a lease is.
    pub lease_ns: u64,
    /// What it has of the run.
    pub workers: Workers,
    /// Digest of the plan's bytes.
    pub plan: Digest,
    /// How many those are.
    pub plan_bytes: u32,
    /// The permission.
    pub grant: SignedGrant,
}

/// What is asked of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// When the beat was sent that this replies to, by the agent's clock; `None`: to none.
    pub beat_ns: Option<u64>,
    /// What to do.
    pub command: Command,
    /// Segments that the coordinator has.
    pub have: Have,
}

/// What an agent has to do. Those that it has done already, or can do no more, have no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Go on.
    Hold,
    /// Fetch the plan and prepare.
    Prepare,
    /// Start.
    Go(Go),
    /// Stop: send nothing more, drain, deliver. Before the start: forget the run.
    Stop,
}

/// The order to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Go {
    /// The origin of time, by the agent's own clock.
    pub origin_ns: u64,
    /// By how much its clock is ahead of the coordinator's.
    pub offset_ns: i64,
    /// How far that may be wrong.
    pub bound_ns: u64,
}

/// Which segments there are: all below `up_to`, and those in `beyond`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Have {
    /// The first that is missing.
    pub up_to: u32,
    /// Beginning and end of ranges behind it, in order.
    pub beyond: Vec<(u32, u32)>,
}

impl Have {
    /// Ranges in a message, at most.
    pub const MOST: usize = 16;

    /// Whether this segment is there.
    pub fn has(&self, sequence: u32) -> bool {
        sequence < self.up_to
            || self.beyond.iter().any(|(from, to)| (*from..*to).contains(&sequence))
    }
}
