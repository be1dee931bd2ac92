//! One worker's share of the plan.
//!
//! Connections and counts are divided so that the shares add up to exactly what was asked, for
//! any number of workers.

use candor_pace::{Limit, Share};
use candor_plan::{HaproxyProtocol, Plan, Target, Timeouts};
use candor_protocol::{Entry, Habits, Transport};
use candor_record::{EndReason, Workers};

/// What a worker must know of the plan.
#[derive(Debug, Clone)]
pub(crate) struct WorkerPlan {
    pub(crate) share: Share,
    /// Its connections to each target.
    pub(crate) targets: Box<[ToTarget]>,
    /// Kept open, to all of them.
    pub(crate) connections: u32,
    /// Opened at most, while requests wait.
    pub(crate) max_connections: u32,
    pub(crate) requests_per_connection: u64,
    pub(crate) lifetime_ns: Option<u64>,
    /// How often names are resolved again.
    pub(crate) dns_refresh_ns: Option<u64>,
    /// All connections are made at the beginning of the run, and none is replaced.
    pub(crate) once: bool,
    pub(crate) habits: Habits,
    /// What carries its connections to each target.
    pub(crate) transports: Box<[Transport]>,
    /// A worker that never sleeps notes when it was held up.
    pub(crate) notes_held_up: bool,
    /// From one attempt to connect to the next, of this worker.
    pub(crate) connect_gap_ns: u64,
    pub(crate) timeouts: Timeouts,
    pub(crate) warm_up_ns: u64,
    /// When the measured window ends by time.
    pub(crate) stop_ns: Option<u64>,
    /// Whether a count ends the run.
    pub(crate) counted: bool,
    /// Why the run ends when no request is left.
    pub(crate) exhausted: EndReason,
    pub(crate) drain_ns: u64,
    /// For so long after the end messages are awaited that nobody asked for, where they would be taken for replies.
    pub(crate) linger_ns: u64,
    pub(crate) give_up_ns: u64,
}

/// As long as most replies take.
const MOST_LINGER_NS: u64 = 250_000_000;

/// A worker's connections to one target.
#[derive(Debug, Clone)]
pub(crate) struct ToTarget {
    /// For messages.
    pub(crate) authority: String,
    /// What connections begin with.
    pub(crate) haproxy_protocol: HaproxyProtocol,
    /// Kept open.
    pub(crate) count: u32,
    /// Opened at most, while requests wait.
    pub(crate) max: u32,
    /// How many are made before the run.
    pub(crate) before: u32,
}

/// Part `worker` of `total` divided into `workers` parts that differ by one at most.
pub(crate) fn part(total: u64, worker: u32, workers: u32) -> u64 {
    let (worker, workers) = (u64::from(worker), u64::from(workers));
    total / workers + u64::from(worker < total % workers)
}

/// What all of `workers` have of `total`.
pub(crate) fn of_all(total: u32, workers: Workers) -> u32 {
    workers.indices().map(|worker| part(total.into(), worker, workers.of) as u32).sum()
}

/// The most requests of a connection; there is room to count one more.
fn most_requests(plan: &Plan) -> u64 {
    plan.connections.requests_per_connection.map_or(u64::MAX / 2, |most| most.min(u64::MAX / 2))
}

impl WorkerPlan {
    pub(crate) fn new(plan: &Plan, share: Share) -> Self {
        let Share { worker, workers } = share;
        let habits = Habits::of(plan);
        let of = |total: u32| part(u64::from(total), worker, workers) as u32;
        let warm_up_ns = plan.recording.warm_up_ns;
        let to_target = |target: &Target| {
            let (count, max) = plan.connections_to(target);
            let max = if plan.load.is_open() { max.max(count) } else { count };
            // Those of users come and go with them.
            let kept = if plan.connections.own { 0 } else { of(count) };
            ToTarget {
                authority: target.authority.clone(),
                haproxy_protocol: target.haproxy_protocol,
                count: kept,
                max: of(max),
                before: match &plan.connections {
                    one if one.once => 0,
                    one if one.connect_during_run => kept.min(1),
                    _ => kept,
                },
            }
        };
        let targets: Box<[ToTarget]> = plan.targets().map(to_target).collect();
        WorkerPlan {
            share,
            connections: targets.iter().map(|one| one.count).sum(),
            max_connections: targets.iter().map(|one| one.max).sum(),
            targets,
            requests_per_connection: most_requests(plan),
            lifetime_ns: plan.connections.lifetime_ns,
            dns_refresh_ns: plan.connections.dns_refresh_ns,
            once: plan.connections.once,
            habits,
            transports: plan.targets().map(|one| Entry::transport_of(plan, one)).collect(),
            notes_held_up: plan.recording.held_up,
            connect_gap_ns: plan.connections.connect_rate.map_or(0, |rate| {
                // Exact for any rate that a user can tell apart: a gap has whole nanoseconds.
                let gap_ns =
                    u128::from(rate.per_ns) * u128::from(workers) / u128::from(rate.events);
                u64::try_from(gap_ns).unwrap_or(u64::MAX)
            }),
            timeouts: plan.timeouts,
            warm_up_ns,
            stop_ns: stop_ns(plan),
            counted: plan.stop.count.is_some(),
            exhausted: match plan.stop.count {
                Some(_) => EndReason::Count,
                None => EndReason::Duration,
            },
            drain_ns: plan.stop.drain_ns,
            linger_ns: match habits.pairs_by_order {
                true => MOST_LINGER_NS.min(plan.stop.drain_ns),
                false => 0,
            },
            give_up_ns: plan.stop.give_up_ns,
        }
    }
}

/// When the measured window ends by time.
fn stop_ns(plan: &Plan) -> Option<u64> {
    plan.stop.duration_ns.map(|length| plan.recording.warm_up_ns.saturating_add(length))
}

/// Where the schedule ends.
pub(crate) fn limit(plan: &Plan) -> Limit {
    let warm_up_ns = plan.recording.warm_up_ns;
    Limit { end_ns: stop_ns(plan), measured_count: plan.stop.count, warm_up_ns }
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_add_up_and_differ_by_one_at_most() {
        for workers in 1..=9 {
            for total in [1u64, 7, 50, 1000, 100_003] {
                let parts: Vec<u64> = (0..workers).map(|w| part(total, w, workers)).collect();
                assert_eq!(parts.iter().sum::<u64>(), total);
                let (least, most) = (parts.iter().min(), parts.iter().max());
                assert!(most.unwrap() - least.unwrap() <= 1, "{total} in {workers}: {parts:?}");
            }
        }
    }
}
