//! A run that is one burst: every connection at once, a request on each.
//!
//! It is an open load with all requests due at the start, so the time to connect shows as their
//! wait for a connection.

use super::DEFAULT_CONNECTIONS;
use crate::error::{PlanError, conflict};
use crate::load::{Arrivals, Load, OpenLoad, Segment};
use crate::options::Options;
use crate::units::NS_PER_S;
use crate::values::SmallCount;

/// There is no second burst: the run ends by its count or its duration before.
const NEVER_NS: u64 = 1_000_000_000 * NS_PER_S;

/// The number of requests, if it is such a run.
pub(super) fn count(options: &Options) -> Option<u64> {
    options
        .load
        .once
        .then(|| u64::from(options.load.connections.map_or(DEFAULT_CONNECTIONS, SmallCount::get)))
}

pub(super) fn load(count: u64) -> Load {
    Load::Open(OpenLoad {
        segments: vec![Segment::Burst { size: count, every_ns: NEVER_NS, duration_ns: None }],
        arrivals: Arrivals::Constant,
        shed_after_ns: None,
    })
}

/// Refuses options that contradict the burst's connections or due times.
pub(super) fn check(options: &Options) -> Result<(), PlanError> {
    if !options.load.once {
        return Ok(());
    }
    let above_one = |count: Option<SmallCount>| count.is_some_and(|count| count.get() > 1);
    let other = [
        ("--requests", options.load.requests.is_some()),
        ("--rate", options.load.rate.is_some()),
        ("--load", options.load.load.is_some()),
        ("--arrivals", options.load.arrivals.is_some()),
        ("--think-time", options.load.think_time.is_some()),
        ("--shed-after", options.load.shed_after.is_some()),
        ("--max-connections", options.load.max_connections.is_some()),
        ("--connect-rate", options.load.connect_rate.is_some()),
        ("--connect-during-run", options.load.connect_during_run),
        ("--warm-up", options.warm_up_ns() > 0),
        ("--pipeline", above_one(options.requests.pipeline)),
        ("--streams", above_one(options.http2.streams)),
        (
            "--requests-per-connection",
            options.requests.requests_per_connection.is_some_and(|count| count.get() > 1),
        ),
    ];
    match other.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(conflict(
            "--once",
            option,
            "the run opens --connections at once and sends one request on each; leave one of them out",
        )),
        None => Ok(()),
    }
}
