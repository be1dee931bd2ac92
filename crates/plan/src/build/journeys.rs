//! The journeys of a plan: each `[[journey.step]]` is a request of the list.

use super::target::Targets;
use super::{Files, calls, requests};
use crate::error::{PlanError, conflict, exclude};
use crate::load::{Load, Segment};
use crate::options::{ConnectionUse, JourneyOptions, Once, Options, RateOf, RequestOptions};
use crate::units::Rate;
use crate::values::SmallCount;
use crate::work::Request;
use crate::work::journey::{Journey, Step};

/// The journeys, and the requests of their steps.
pub(super) fn journeys(
    options: &Options,
    targets: &mut Targets,
    files: &mut Files<'_>,
) -> Result<(Vec<Journey>, Vec<Request>), PlanError> {
    let are_calls = calls::are_asked(options);
    let mut list = Vec::new();
    let mut all = Vec::new();
    for (number, table) in options.requests.journey.iter().enumerate() {
        let mut steps = Vec::new();
        for one in &table.step {
            steps.push(step(one, list.len() as u32));
            list.push(requests::request(options, one, targets, are_calls, files)?);
        }
        all.push(Journey {
            name: table.name.clone().unwrap_or_else(|| format!("journey {}", number + 1)),
            weight: table.weight.map_or(1, SmallCount::get),
            steps,
            cookies: table.cookies,
            on_failure: table.on_failure,
        });
    }
    Ok((all, list))
}

/// Whether users have connections of their own.
pub(super) fn own_connections(options: &Options) -> Result<bool, PlanError> {
    let all = &options.requests.journey;
    let is_own = |one: &JourneyOptions| one.connection == ConnectionUse::Own;
    if !all.iter().any(is_own) {
        return Ok(false);
    }
    const OWN: &str = "connection = \"own\"";
    if !all.iter().all(is_own) {
        let why = "connections are of all users or of each; give every [[journey]] the same";
        return Err(conflict(OWN, "connection = \"shared\"", why));
    }
    let why = "each user has one; limit the users at a time with --users, or leave it out";
    let refused = [
        ("--connections", options.load.connections.is_some()),
        ("--max-connections", options.load.max_connections.is_some()),
        ("--connect-during-run", options.load.connect_during_run),
        ("--once", options.load.once),
    ];
    exclude(refused, OWN, why).map(|()| true)
}

fn step(table: &RequestOptions, request: u32) -> Step {
    let RequestOptions { think, repeat, when, capture, once, .. } = table;
    Step {
        request,
        think: think.unwrap_or_default(),
        repeat: repeat.map_or((1, 1), |repeat| (repeat.0, repeat.1)),
        when: when.clone(),
        captures: capture.clone(),
        once: *once == Some(Once::InTurn),
        ending: *once == Some(Once::AtEnd),
        redirect: None,
    }
}

/// Where rates count requests: makes them rates of users, by the mean number of requests of one.
pub(super) fn count(
    options: &Options,
    journeys: &[Journey],
    load: &mut Load,
) -> Result<(), PlanError> {
    const OPTION: &str = "--rate-of requests";
    if options.load.rate_of != Some(RateOf::Requests) {
        return Ok(());
    }
    let Load::Open(open) = load else {
        let why = "nothing is due there; add --rate or --load, or leave it out";
        return Err(conflict(OPTION, "a closed loop", why));
    };
    // Twice the sums, so that the mean of a range is whole.
    let requests = |one: &Journey| -> u128 {
        // How often it is redirected only the servers know.
        let own = one.steps.iter().filter(|step| step.redirect.is_none());
        let twice = own.map(|step| u128::from(step.repeat.0) + u128::from(step.repeat.1));
        u128::from(one.weight) * twice.sum::<u128>()
    };
    let requests: u128 = journeys.iter().map(requests).sum();
    let users: u128 = journeys.iter().map(|one| 2 * u128::from(one.weight)).sum();
    for segment in &mut open.segments {
        match segment {
            Segment::Hold { rate, .. } => *rate = scaled(*rate, users, requests),
            Segment::Ramp { from, to, .. } => {
                (*from, *to) = (scaled(*from, users, requests), scaled(*to, users, requests));
            }
            Segment::Burst { .. } | Segment::Replay { .. } => {
                let why = "users come there one by one, not at a rate; leave --rate-of out";
                return Err(conflict(OPTION, "burst or replay", why));
            }
        }
    }
    Ok(())
}

/// A rate times `times / by`; exact, unless the fraction is finer than a rate can be.
fn scaled(rate: Rate, times: u128, by: u128) -> Rate {
    /// The longest time of a rate.
    const LONGEST_NS: u128 = 1_000_000_000_000_000_000;
    let mut events = u128::from(rate.events) * times;
    let mut per_ns = u128::from(rate.per_ns) * by.max(1);
    let common = gcd(events, per_ns).max(1);
    (events, per_ns) = (events / common, per_ns / common);
    while per_ns > LONGEST_NS {
        (events, per_ns) = (events.div_ceil(2), per_ns.div_ceil(2));
    }
    Rate { events: events as u64, per_ns: per_ns as u64 }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
