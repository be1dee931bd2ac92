//! Loads and unions of schedules, for the tests of this crate.
#![allow(dead_code)] // Each test file uses a part.

use candor_pace::{Due, Limit, Schedule, Share};
use candor_plan::{Arrivals, NS_PER_S, OpenLoad, Rate, Segment};

pub(crate) fn seconds(s: u64) -> u64 {
    s * NS_PER_S
}

pub(crate) fn load(arrivals: Arrivals, segments: &[Segment]) -> OpenLoad {
    OpenLoad { segments: segments.to_vec(), arrivals, shed_after_ns: None }
}

pub(crate) fn even(segments: &[Segment]) -> OpenLoad {
    load(Arrivals::Constant, segments)
}

pub(crate) fn poisson(segments: &[Segment]) -> OpenLoad {
    load(Arrivals::Poisson, segments)
}

pub(crate) fn hold(events: u64, per_ns: u64, duration_ns: impl Into<Option<u64>>) -> Segment {
    Segment::Hold { rate: Rate { events, per_ns }, duration_ns: duration_ns.into() }
}

pub(crate) fn ramp(from_per_s: u64, to_per_s: u64, duration_ns: u64) -> Segment {
    let (from, to) = (Rate::per_second(from_per_s), Rate::per_second(to_per_s));
    Segment::Ramp { from, to, duration_ns }
}

pub(crate) fn until(end_ns: u64) -> Limit {
    Limit { end_ns: Some(end_ns), ..Limit::default() }
}

/// The whole schedule, seen by one worker.
pub(crate) fn single(load: &OpenLoad, seed: u64, limit: Limit) -> Schedule {
    Schedule::new(load, seed, Share { worker: 0, workers: 1 }, limit)
}

pub(crate) fn due_ns(load: &OpenLoad, limit: Limit) -> Vec<u64> {
    single(load, 0, limit).map(|due| due.due_ns).collect()
}

/// The shares of all workers, put together and sorted. Each must be in due order by itself.
pub(crate) fn union(load: &OpenLoad, seed: u64, limit: Limit, workers: u32) -> Vec<Due> {
    let mut all = Vec::new();
    for worker in 0..workers {
        let from = all.len();
        all.extend(Schedule::new(load, seed, Share { worker, workers }, limit));
        assert!(all[from..].is_sorted_by_key(|due: &Due| due.due_ns));
    }
    sorted(all)
}

pub(crate) fn sorted(mut all: Vec<Due>) -> Vec<Due> {
    all.sort_by_key(|due| (due.due_ns, due.index));
    all
}
