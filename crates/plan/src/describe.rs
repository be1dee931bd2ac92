//! Parts of a plan in words, for reports: a load in half a sentence, other parts short enough for a
//! cell.

use crate::load::{Arrivals, Load, OpenLoad, Segment};
use crate::plan::Parts;
use crate::units::{fmt_count, fmt_duration_ns, fmt_plural, fmt_rate};

/// More segments than this are summarised.
const MAX_LISTED: usize = 4;

/// How requests are timed: `open load, 20,000/s constant`; with journeys, `open load, users at 200/s constant`.
pub fn load(plan: &Parts) -> String {
    match &plan.load {
        Load::Open(_) if plan.connections.once => {
            format!(
                "{}, each once and all at once",
                fmt_plural(plan.connections.count.into(), "connection")
            )
        }
        Load::Closed { think_time_ns: 0 } => "closed loop".to_owned(),
        Load::Closed { think_time_ns } => {
            format!("closed loop, {} think time", fmt_duration_ns(*think_time_ns))
        }
        Load::Open(load) => {
            let are_users = !plan.work.journeys().is_empty() && !plan.work.are_requests();
            let who = if are_users { "users at " } else { "" };
            format!("open load, {who}{}", schedule(load, plan.recording.warm_up_ns > 0))
        }
    }
}

/// A load of [`load`] where room is short: `open 20,000/s`.
pub fn in_short(load: &str) -> String {
    let load = load.replacen("open load, ", "open ", 1);
    load.strip_suffix(" constant").map(str::to_owned).unwrap_or(load)
}

fn schedule(load: &OpenLoad, has_warm_up: bool) -> String {
    // The warm-up is the first segment; the caller prints it separately.
    let segments = &load.segments[usize::from(has_warm_up).min(load.segments.len())..];
    let (arrivals, suffix) = match load.arrivals {
        Arrivals::Constant => ("constant", ""),
        Arrivals::Poisson => ("Poisson", ", Poisson arrivals"),
    };
    match segments {
        [Segment::Hold { rate, .. }] => format!("{} {arrivals}", fmt_rate(*rate)),
        [first, .., last] if segments.len() > MAX_LISTED => {
            let (first, last) = (segment(first), segment(last));
            format!("{} segments from {first} to {last}{suffix}", segments.len())
        }
        many => many.iter().map(segment).collect::<Vec<_>>().join(" then ") + suffix,
    }
}

fn segment(segment: &Segment) -> String {
    let lasting = |duration_ns: &Option<u64>| match duration_ns {
        Some(ns) => format!(" for {}", fmt_duration_ns(*ns)),
        None => String::new(),
    };
    match segment {
        Segment::Hold { rate, duration_ns } => {
            format!("{}{}", fmt_rate(*rate), lasting(duration_ns))
        }
        Segment::Ramp { from, to, duration_ns } => {
            let over = fmt_duration_ns(*duration_ns);
            format!("{} to {} over {over}", fmt_rate(*from), fmt_rate(*to))
        }
        Segment::Burst { size, every_ns, duration_ns } => {
            let every = fmt_duration_ns(*every_ns);
            format!("bursts of {} every {every}{}", fmt_count(*size), lasting(duration_ns))
        }
        Segment::Replay { offsets_ns, .. } => {
            format!("replay of {}", fmt_plural(offsets_ns.count(), "request"))
        }
    }
}
