//! Service time by the kernel's own time stamps, and what a trace has.

use candor_plan::Parts;
use candor_record::{RunRecord, TraceCounts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::latency::Distribution;

/// Service time in three parts, of measured requests on connections with time stamps. The parts
/// of every request add up to its service time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Stamps on one connection in so many were asked for.
    pub one_in: u32,
    /// Connections that had stamps.
    pub connections: u64,
    /// Connections that were to have them, and whose socket refused.
    pub refused: u64,
    /// Why there were none, or not everywhere.
    pub reason: Option<String>,
    /// sent → done of the requests that are in the parts below.
    pub service: Distribution,
    /// sent → handed to the device: the loader's machine.
    pub send_delay: Distribution,
    /// Handed to the device → the answer's last segment has come: the wire and the server.
    pub outside: Distribution,
    /// The answer's last segment has come → read: the loader's machine.
    pub receive_delay: Distribution,
    /// Requests that are not in the parts: their send has no stamp of its own.
    pub without_send_stamp: u64,
    /// The same: their answer did not end its read, or has no stamp.
    pub without_receive_stamp: u64,
    /// The same: their stamps are not in order.
    pub out_of_order: u64,
    /// Times that the realtime clock was set while stamps were taken.
    pub clock_steps: u64,
    /// How much a stamp can be off by its conversion to the monotonic clock.
    pub conversion_error_ns: u64,
}

impl Kernel {
    pub(super) fn of(plan: &Parts, record: &RunRecord) -> Option<Self> {
        let one_in = plan.recording.kernel_timestamps?.one_in;
        let times = match &record.kernel {
            Some(times) => times.clone(),
            None => candor_record::kernel::KernelTimes::new(1),
        };
        let reason = match &record.kernel {
            None => Some("only TCP connections on Linux have them".to_owned()),
            Some(_) => times.refusal,
        };
        Some(Kernel {
            one_in,
            connections: times.connections,
            refused: times.refused,
            reason,
            service: Distribution::of(&times.service),
            send_delay: Distribution::of(&times.send_delay),
            outside: Distribution::of(&times.outside),
            receive_delay: Distribution::of(&times.receive_delay),
            without_send_stamp: times.without_send_stamp,
            without_receive_stamp: times.without_receive_stamp,
            out_of_order: times.out_of_order,
            clock_steps: times.clock_steps,
            conversion_error_ns: times.conversion_error_ns,
        })
    }
}

/// What a trace has. Its requests stand in a file of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSummary {
    /// Which requests were to be traced: `all`, `1/N`, or a number.
    pub rule: String,
    /// How many it has, and how many not.
    #[serde(flatten)]
    pub counts: TraceCounts,
}

impl TraceSummary {
    pub(super) fn of(plan: &Parts, record: &RunRecord) -> Option<Self> {
        let rule = plan.recording.trace?.to_string();
        Some(TraceSummary { rule, counts: record.trace })
    }
}
