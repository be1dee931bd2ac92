//! Periods and timeouts of the protocol, in one place.

use crate::{MS, S};

/// Periods and timeouts, without the way of messages: those that depend on it are longer by the round trip that was
/// measured. Those of an agent may differ from its coordinator's, as long as the
/// coordinator's `lost_ns` is longer than the agent's lease. [`crate::message::Reserve`] has the
/// coordinator's lease, and an agent takes the shorter one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// From one hello to the next.
    pub hello_ns: u64,
    /// From one beat to the next.
    pub beat_ns: u64,
    /// How long an agent may send after the last beat that its coordinator replied to.
    pub lease_ns: u64,
    /// The silence after which an agent is suspect.
    pub suspect_ns: u64,
    /// The silence after which an agent is lost.
    pub lost_ns: u64,
    /// How long the coordinator waits for enough agents.
    pub gather_ns: u64,
    /// How long it waits until all agents are reserved.
    pub reserve_ns: u64,
    /// How long it waits until all agents are prepared, if none of them gets on.
    pub prepare_ns: u64,
    /// How long it exchanges messages to read the agents' clocks.
    pub clock_ns: u64,
    /// From the order to start to the origin of time.
    pub lead_ns: u64,
    /// How long a run may continue after its planned end, and an agent that is heard may take for
    /// its next segment.
    pub overdue_ns: u64,
    /// The silence of a lost agent after which its results are not waited for. If no agent is heard,
    /// they all have twice as long.
    pub return_ns: u64,
    /// How long a coordinator still replies after the end of its run, and waits for results after it told
    /// agents not to wait for responses.
    pub linger_ns: u64,
}

impl Default for Timings {
    fn default() -> Self {
        Timings {
            hello_ns: S,
            beat_ns: S / 2,
            lease_ns: 5 * S,
            suspect_ns: 2 * S,
            lost_ns: 6 * S,
            gather_ns: 30 * S,
            reserve_ns: 10 * S,
            prepare_ns: 120 * S,
            clock_ns: 5 * S,
            lead_ns: S,
            overdue_ns: 30 * S,
            return_ns: 10 * S,
            linger_ns: 3 * S,
        }
    }
}

/// The longest round trip that the times allow for: 2 s each way.
pub const MOST_ROUND_TRIP_NS: u64 = 4 * S;

/// From one probe of an agent's clock to the next: before the start, and in the run.
pub(crate) const PROBE_NS: [u64; 2] = [100 * MS, S];
