//! Plans of single runs: a base plan with another load.
//!
//! An experiment gets one plan from the user, checked and with everything in it but the load. Here
//! is the load put in, nothing else is changed but the seed: two runs at the same rate must not
//! have the same arrivals, or the second says nothing new.

use candor_plan::{Arrivals, Load, NS_PER_S, OpenLoad, Plan, Rate, Segment};

/// `plan` in a closed loop of `connections`.
pub fn closed(plan: &Plan, connections: u32, nth: u64) -> Plan {
    let think_time_ns = match plan.load {
        Load::Closed { think_time_ns } => think_time_ns,
        Load::Open(_) => 0,
    };
    let mut plan = numbered(plan, nth);
    plan.load = Load::Closed { think_time_ns };
    plan.connections.count = connections;
    plan.connections.max = connections;
    keep_threads_within(&mut plan);
    plan
}

/// `plan` at `rate_per_s` on `connections`, with the arrivals that it has if its load is open.
pub fn open(plan: &Plan, rate_per_s: f64, connections: u32, nth: u64) -> Plan {
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
    // More than the user opens at first may only be opened if that was said.
    let most = match plan.connections.max > plan.connections.count {
        true => plan.connections.max.max(connections),
        false => connections,
    };
    let mut plan = numbered(plan, nth);
    plan.load = Load::Open(OpenLoad { segments, arrivals, shed_after_ns });
    plan.connections.count = connections;
    plan.connections.max = most;
    keep_threads_within(&mut plan);
    plan
}

/// The rate as a fraction that people can read, no more than a thousandth off.
pub fn rate(rate_per_s: f64) -> Rate {
    match rate_per_s {
        rate if rate >= 1000.0 => Rate::per_second(rate.round() as u64),
        rate if rate >= 1.0 => {
            Rate { events: (rate * 1000.0).round() as u64, per_ns: 1000 * NS_PER_S }
        }
        rate => Rate { events: (rate * 1e6).round().max(1.0) as u64, per_ns: 1_000_000 * NS_PER_S },
    }
}

fn numbered(plan: &Plan, nth: u64) -> Plan {
    Plan { seed: plan.seed.wrapping_add(nth), ..plan.clone() }
}

/// A thread without a connection is refused elsewhere; here there are fewer threads.
fn keep_threads_within(plan: &mut Plan) {
    if let Some(threads) = &mut plan.threads.count {
        *threads = (*threads).min(plan.connections.count).max(1);
    }
}
