//! A load in half a sentence, for the head of a report.

use crate::model::{Arrivals, Load, OpenLoad, Plan, Segment};
use crate::units::{fmt_count, fmt_duration_ns, fmt_rate};

/// More segments than this are summed up.
const MAX_LISTED: usize = 4;

/// What a run does: `open load, 20,000/s constant, 50 connections, 30 s`.
pub fn describe(plan: &Plan) -> String {
    let mut parts = match &plan.load {
        Load::Closed { think_time_ns: 0 } => vec!["closed loop".to_owned()],
        Load::Closed { think_time_ns } => {
            let pause = fmt_duration_ns(*think_time_ns);
            vec!["closed loop".to_owned(), format!("{pause} think time")]
        }
        Load::Open(load) => {
            vec!["open load".to_owned(), schedule(load, plan.recording.warm_up_ns > 0)]
        }
    };
    parts.push(connections(plan));
    if plan.connections.pipeline > 1 {
        parts.push(format!("{} in flight on each", fmt_count(plan.connections.pipeline.into())));
    }
    match (plan.stop.count, plan.stop.duration_ns) {
        (Some(count), Some(ns)) => {
            parts.push(format!("{} or {}", plural(count, "request"), fmt_duration_ns(ns)));
        }
        (Some(count), None) => parts.push(plural(count, "request")),
        (None, Some(ns)) => parts.push(fmt_duration_ns(ns)),
        (None, None) => {}
    }
    if plan.recording.warm_up_ns > 0 {
        parts.push(format!("after {} of warm-up", fmt_duration_ns(plan.recording.warm_up_ns)));
    }
    parts.join(", ")
}

fn schedule(load: &OpenLoad, has_warm_up: bool) -> String {
    // The warm-up is the first segment, and is told apart at the end.
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
        Segment::Replay { offsets_ns } => {
            format!("replay of {}", plural(offsets_ns.len() as u64, "request"))
        }
    }
}

fn connections(plan: &Plan) -> String {
    let (count, max) = (plan.connections.count.into(), plan.connections.max.into());
    match max > count {
        true => format!("{} to {}", fmt_count(count), plural(max, "connection")),
        false => plural(count, "connection"),
    }
}

fn plural(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", fmt_count(count)),
    }
}
