//! Service time by the kernel's own time stamps, and the summary of a trace.

use candor_plan::Parts;
use candor_record::{RunRecord, TraceCounts};
use serde::{Deserialize, Serialize};

use super::latency::Distribution;

/// Service time in three parts, of measured requests on connections with time stamps. The parts
/// of every request add up to its service time.
///
/// With `--pacing stamps`, and with `auto` where it can, responses have the time of their stamp in all figures. Then
/// `receive_delay` alone is recorded, of every response: the time until it was read, which is in no other figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Kernel {
    /// Stamps were requested on one connection in this number.
    pub one_in: u32,
    /// Connections that had stamps.
    pub connections: u64,
    /// Connections whose socket refused stamps.
    pub refused: u64,
    /// Why there were no stamps, or not on all connections.
    pub reason: Option<String>,
    /// sent → done of the requests in the parts below.
    pub service: Distribution,
    /// sent → handed to the device: the loader's machine.
    pub send_delay: Distribution,
    /// Handed to the device → last segment of the response received: the wire and the server.
    pub outside: Distribution,
    /// Last segment of the response received → read: the loader's machine.
    pub receive_delay: Distribution,
    /// Requests that are not in the parts because their send has no stamp of its own.
    pub without_send_stamp: u64,
    /// The same because their response was not the last one of its read, or has no stamp.
    pub without_receive_stamp: u64,
    /// The same because their stamps are not in order.
    pub out_of_order: u64,
    /// How often the realtime clock was set during stamping.
    pub clock_steps: u64,
    /// The largest error of a stamp from its conversion to the monotonic clock.
    pub conversion_error_ns: u64,
}

impl Kernel {
    pub(super) fn of(plan: &Parts, record: &RunRecord) -> Option<Self> {
        let one_in = match (plan.recording.kernel_timestamps, &record.kernel) {
            (Some(stamps), _) => stamps.one_in,
            // As the clock of the run.
            (None, Some(_)) => 1,
            (None, None) => return None,
        };
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

/// The summary of a trace. Its requests are in a separate file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceSummary {
    /// The rule of the sample: `all`, `1/N`, or a number.
    pub rule: String,
    /// How many requests were traced and not traced.
    #[serde(flatten)]
    pub counts: TraceCounts,
}

impl TraceSummary {
    pub(super) fn of(plan: &Parts, record: &RunRecord) -> Option<Self> {
        let rule = plan.recording.trace?.to_string();
        Some(TraceSummary { rule, counts: record.trace })
    }
}
