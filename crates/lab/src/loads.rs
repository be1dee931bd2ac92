//! Plans of single runs: a base plan with another load.
//!
//! An experiment gets one checked plan from the user. This module replaces its load and its seed,
//! and nothing else. The seed differs because two runs at the same rate must not have the same
//! arrivals: the second would tell nothing new.

use candor_plan::{Arrivals, Load, NS_PER_S, OpenLoad, Parts, Plan, PlanError, Rate, Segment};

/// `plan` in a closed loop of `connections`.
pub fn closed(plan: &Plan, connections: u32, nth: u64) -> Result<Plan, PlanError> {
    let think_time_ns = match plan.load {
        Load::Closed { think_time_ns } => think_time_ns,
        Load::Open(_) => 0,
    };
    plan.with(|parts| put(parts, Load::Closed { think_time_ns }, (connections, connections), nth))
}

/// `plan` at `rate_per_s` on `connections`; keeps the arrival process if its load is open.
pub fn open(plan: &Plan, rate_per_s: f64, connections: u32, nth: u64) -> Result<Plan, PlanError> {
    let (arrivals, shed_after_ns) = match &plan.load {
        Load::Open(open) => (open.arrivals, open.shed_after_ns),
        Load::Closed { .. } => (Arrivals::Constant, None),
    };
    let rate = rate(rate_per_s);
    let mut segments = vec![Segment::Hold { rate, duration_ns: None }];
    let warm_up_ns = plan.recording.warm_up_ns;
    if warm_up_ns > 0 {
        segments.insert(0, Segment::Hold { rate, duration_ns: Some(warm_up_ns) });
    }
    // More connections than the initial number are opened only if the user allows it.
    let most = match plan.connections.max > plan.connections.count {
        true => plan.connections.max.max(connections),
        false => connections,
    };
    let load = Load::Open(OpenLoad { segments, arrivals, shed_after_ns });
    plan.with(|parts| put(parts, load, (connections, most), nth))
}

/// The rate as a readable fraction, within a thousandth.
pub fn rate(rate_per_s: f64) -> Rate {
    match rate_per_s {
        rate if rate >= 1000.0 => Rate::per_second(rate.round() as u64),
        rate if rate >= 1.0 => {
            Rate { events: (rate * 1000.0).round() as u64, per_ns: 1000 * NS_PER_S }
        }
        rate => Rate { events: (rate * 1e6).round().max(1.0) as u64, per_ns: 1_000_000 * NS_PER_S },
    }
}

fn put(parts: &mut Parts, load: Load, (connections, most): (u32, u32), nth: u64) {
    parts.load = load;
    parts.seed = parts.seed.wrapping_add(nth);
    parts.connect(connections, most);
}
