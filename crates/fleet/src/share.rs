//! Divides a run's threads among agents.
//!
//! Any split of the threads gives the same schedule, because each thread knows its own share of it
//! (crate pace). So a split is only numbers: the first agent has the first threads, and so on.

use candor_pace::{LANES, Limit, Schedule, Share};
use candor_plan::{Arrivals, Load, Plan};
use candor_record::{Planned, Workers};

use crate::identity::AgentName;

/// The agents of a run, each with its life and its share, in the order of the shares.
pub type Shares = Vec<(AgentName, u64, Workers)>;

/// How many threads each agent has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Threads {
    /// In proportion to its cores.
    ByCores,
    /// These numbers, in the order of the agents.
    Given(Vec<u32>),
}

/// Why a run cannot be split in this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// There are no agents.
    #[error("there are no agents to share the run")]
    NoAgents,
    /// The list has another length than that of agents.
    #[error(
        "threads are given for {given} agents, but there are {agents}; give one number for each"
    )]
    Given {
        /// The numbers in the list.
        given: usize,
        /// The agents.
        agents: usize,
    },
    /// An agent would have no thread.
    #[error("{agents} agents have {threads} threads together; each needs at least one")]
    TooFewThreads {
        /// The agents.
        agents: usize,
        /// The threads, at most.
        threads: u32,
    },
    /// Every thread needs a connection.
    #[error(
        "{threads} threads need as many connections, but the plan has {connections}; ask for more"
    )]
    TooFewConnections {
        /// The threads.
        threads: u32,
        /// The connections.
        connections: u32,
    },
    /// Every thread needs a user.
    #[error("{threads} threads need as many users, but the plan has {users}; ask for more")]
    TooFewUsers {
        /// The threads.
        threads: u32,
        /// The users at a time.
        users: u32,
    },
    /// A Poisson process does not have as many equal parts.
    #[error("{threads} threads cannot share a Poisson process evenly; the most is {most}")]
    TooManyForPoisson {
        /// The threads.
        threads: u32,
        /// The most threads that can.
        most: u32,
    },
}

/// The threads of each agent; the agents have these `cores`.
///
/// By cores, there are as many threads as the plan says, or half as many as cores; but no more than
/// connections or users, and no more than can share the schedule evenly.
pub fn split(plan: &Plan, threads: &Threads, cores: &[u32]) -> Result<Vec<Workers>, ShareError> {
    if cores.is_empty() {
        return Err(ShareError::NoAgents);
    }
    let agents = cores.len();
    let counts = plan.targets().map(|one| plan.connections_to(one).0);
    let connections = counts.min().unwrap_or_default();
    let counts = match threads {
        Threads::Given(counts) if counts.len() != agents => {
            return Err(ShareError::Given { given: counts.len(), agents });
        }
        Threads::Given(counts) => counts.clone(),
        Threads::ByCores => {
            let half = |sum: u32, one: &u32| sum.saturating_add((one / 2).max(1));
            let wanted = plan.threads.count.unwrap_or_else(|| cores.iter().fold(0, half));
            let most = wanted.min(plan.most_threads());
            let most = if is_poisson(plan) { even_lanes(most) } else { most };
            in_proportion(most, cores)
        }
    };
    let of = counts.iter().fold(0u32, |sum, one| sum.saturating_add(*one));
    if counts.contains(&0) {
        return Err(ShareError::TooFewThreads { agents, threads: of });
    }
    if of > connections {
        return Err(ShareError::TooFewConnections { threads: of, connections });
    }
    if let Some(users) = plan.work.users().filter(|users| of > *users) {
        return Err(ShareError::TooFewUsers { threads: of, users });
    }
    if is_poisson(plan) && even_lanes(of) < of {
        return Err(ShareError::TooManyForPoisson { threads: of, most: even_lanes(of) });
    }
    let mut first = 0;
    let workers = counts.into_iter().map(|count| {
        let workers = Workers { first, count, of };
        first += count;
        workers
    });
    Ok(workers.collect())
}

fn is_poisson(plan: &Plan) -> bool {
    matches!(&plan.load, Load::Open(open) if open.arrivals == Arrivals::Poisson)
}

/// The largest number of threads up to `most` that share a Poisson process evenly: no thread has more
/// than 5/4 of another's part. Lanes are not divided, so each thread has 4 or more, or all have equally
/// many.
fn even_lanes(most: u32) -> u32 {
    let lanes = LANES as u32;
    let is_even = |threads: &u32| lanes.is_multiple_of(*threads) || lanes / threads >= 4;
    (1..=most.min(lanes)).rev().find(is_even).unwrap_or(0)
}

/// `total` in proportion to `weights`, at least 1 each if there are enough. The rest after rounding down
/// goes to the largest remainders, to the first of equal ones first.
fn in_proportion(total: u32, weights: &[u32]) -> Vec<u32> {
    let agents = weights.len() as u64;
    let each = u64::from(u64::from(total) >= agents);
    let rest = u64::from(total) - each * agents.min(u64::from(total));
    let sum: u64 = weights.iter().map(|one| u64::from(*one).max(1)).sum();
    let part = |one: &u32| {
        let exact = u128::from(rest) * u128::from((*one).max(1));
        ((exact / u128::from(sum)) as u64, exact % u128::from(sum))
    };
    let parts: Vec<(u64, u128)> = weights.iter().map(part).collect();
    let given: u64 = parts.iter().map(|(whole, _)| whole).sum();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(parts[*at].1));
    let mut counts: Vec<u64> = parts.iter().map(|(whole, _)| whole + each).collect();
    order.iter().take((rest - given) as usize).for_each(|at| counts[*at] += 1);
    counts.into_iter().map(|count| count as u32).collect()
}

/// The requests that the schedule has for these threads before `end_ns`, or before its own end; none in
/// a closed load. Of a plan with journeys it has users: how many requests they make is not known beforehand.
pub fn planned(plan: &Plan, workers: Workers, end_ns: Option<u64>) -> Planned {
    let Load::Open(load) = &plan.load else { return Planned::default() };
    let warm_up_ns = plan.recording.warm_up_ns;
    let stop_ns = plan.stop.duration_ns.map(|length_ns| warm_up_ns.saturating_add(length_ns));
    let end_ns = [stop_ns, end_ns].into_iter().flatten().min();
    let limit = Limit { end_ns, measured_count: plan.stop.count, warm_up_ns };
    let mut planned = Planned::default();
    for worker in workers.indices() {
        let share = Share { worker, workers: workers.of };
        let mut schedule = Schedule::new(load, plan.seed, share, limit);
        planned.warm_up += count_before(&mut schedule, warm_up_ns);
        planned.measured += count_before(&mut schedule, u64::MAX);
    }
    match plan.work.journeys().is_empty() {
        true => planned,
        false => Planned { users: planned.measured, ..Planned::default() },
    }
}

fn count_before(schedule: &mut Schedule, end_ns: u64) -> u64 {
    let mut count = 0;
    while schedule.peek().is_some_and(|due| due.due_ns < end_ns) {
        count += schedule.skip_before(end_ns);
    }
    count
}
