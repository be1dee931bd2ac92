//! Shares: their union is the schedule of one machine for every split; and their sizes.

use crate::common::plan;
use candor_fleet::{ShareError, Threads, planned, split};
use candor_pace::{Limit, Schedule, Share};
use candor_plan::journey::{Journey, OnFailure, Step};
use candor_plan::{Load, Plan, Work};
use candor_record::{Planned, Workers};
use proptest::prelude::*;

fn open(load: &str, connections: u32) -> Plan {
    let text = "url = \"http://127.0.0.1:1/\"\nduration = \"3s\"\nwarm-up = \"500ms\"\n";
    plan(&format!("{text}connections = {connections}\n{load}\n"))
}

const LOADS: [&str; 5] = [
    "rate = \"700/s\"",
    "rate = \"300/s\"\narrivals = \"poisson\"",
    "load = \"ramp 10..500/s over 2s; hold 300\"",
    "load = \"burst 40 every 250ms\"",
    "load = \"hold 99/s for 1s; hold 0.7/s\"\narrivals = \"poisson\"",
];

/// The due times of some workers of a plan, in order, and the numbers of the requests or users.
fn due_ns(plan: &Plan, workers: Workers) -> Vec<(u64, u64)> {
    let Load::Open(load) = &plan.load else { unreachable!() };
    let warm_up_ns = plan.recording.warm_up_ns;
    let end_ns = Some(warm_up_ns + plan.stop.duration_ns.unwrap());
    let limit = Limit { end_ns, measured_count: plan.stop.count, warm_up_ns };
    let share = |worker| Share { worker, workers: workers.of };
    let one = |worker| Schedule::new(load, plan.seed, share(worker), limit);
    let due = workers.indices().flat_map(one).map(|due| (due.due_ns, due.index));
    let mut all: Vec<_> = due.collect();
    all.sort_unstable();
    all
}

/// The same load, of users who make two requests each.
fn with_journeys(plan: &Plan) -> Plan {
    let step = |request| Step::plain(request);
    let changed = plan.with(|parts| {
        let first = parts.work.requests()[0].clone();
        let second = candor_plan::Request { name: "second".to_owned(), ..first.clone() };
        let journey = Journey {
            name: "buy".to_owned(),
            weight: 1,
            steps: vec![step(0), step(1)],
            cookies: false,
            on_failure: OnFailure::End,
        };
        parts.work = Work::from(vec![first, second]).walked(vec![journey], None);
    });
    changed.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_union_of_any_shares_is_the_schedule_of_one_machine(
        load in 0..LOADS.len(),
        cores in prop::collection::vec(1u32..40, 1..12),
        given in prop::bool::ANY,
    ) {
        let plan = open(LOADS[load], 600);
        let users = with_journeys(&plan);
        let threads = if given { Threads::Given(cores.clone()) } else { Threads::ByCores };
        let shares = match split(&plan, &threads, &cores) {
            Ok(shares) => shares,
            Err(ShareError::TooManyForPoisson { threads, most }) => {
                prop_assert!(given && threads > most);
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        let of = shares[0].of;
        let mut next = 0;
        for one in &shares {
            prop_assert!((one.first, one.of) == (next, of) && one.count > 0);
            next += one.count;
        }
        prop_assert_eq!(next, of);
        prop_assert_eq!(split(&users, &threads, &cores), Ok(shares.clone()));
        let mut union: Vec<_> = shares.iter().flat_map(|one| due_ns(&plan, *one)).collect();
        union.sort_unstable();
        prop_assert_eq!(&union, &due_ns(&plan, Workers::all(1)));
        // The planned counts of each share are its own.
        let warm_up_ns = plan.recording.warm_up_ns;
        for one in &shares {
            let due = due_ns(&plan, *one);
            let before = |ns| due.partition_point(|(due_ns, _)| *due_ns < ns) as u64;
            let warm_up = before(warm_up_ns);
            let measured = due.len() as u64 - warm_up;
            let all = Planned { warm_up, measured, users: 0 };
            prop_assert_eq!(planned(&plan, *one, None), all);
            let half = planned(&plan, *one, Some(1_700_000_000));
            prop_assert_eq!(half.warm_up + half.measured, before(1_700_000_000));
            // With journeys the same schedule is one of users, and says nothing of requests.
            let all = Planned { users: measured, ..Planned::default() };
            prop_assert_eq!(planned(&users, *one, None), all);
        }
    }
}

fn counts(plan: &Plan, cores: &[u32]) -> Vec<u32> {
    split(plan, &Threads::ByCores, cores).unwrap().iter().map(|one| one.count).collect()
}

#[test]
fn threads_are_in_proportion_to_cores() {
    let many = open(LOADS[0], 5000);
    assert_eq!(counts(&many, &[8, 8, 4]), [4, 4, 2]);
    assert_eq!(counts(&many, &[1, 1]), [1, 1]);
    let asked =
        plan("url = \"http://127.0.0.1:1/\"\nduration = \"1s\"\nconnections = 64\nthreads = 10\n");
    assert_eq!(counts(&asked, &[8, 8, 4]), [4, 4, 2]);
    assert_eq!(counts(&asked, &[64, 1, 1]), [8, 1, 1]);
    // No more threads than connections.
    assert_eq!(counts(&open(LOADS[0], 3), &[8, 8, 4]), [1, 1, 1]);
    // More than 1,024 threads share an even schedule; a Poisson process has as many lanes.
    let cores = [96; 40];
    assert_eq!(counts(&many, &cores).iter().sum::<u32>(), 1920);
    assert_eq!(counts(&open(LOADS[1], 5000), &cores).iter().sum::<u32>(), 1024);
    // 300 threads would have 3 lanes or 4, 256 have 4 each; 200 have 5 or 6.
    assert_eq!(counts(&open(LOADS[1], 5000), &[60; 10]).iter().sum::<u32>(), 256);
    assert_eq!(counts(&open(LOADS[1], 5000), &[40; 10]).iter().sum::<u32>(), 200);
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let (few, poisson) = (open(LOADS[0], 3), open(LOADS[1], 5000));
    let refused = |plan: &Plan, threads: Threads, agents: usize| {
        split(plan, &threads, &vec![8; agents]).unwrap_err()
    };
    assert_eq!(refused(&few, Threads::ByCores, 0), ShareError::NoAgents);
    assert_eq!(
        refused(&few, Threads::ByCores, 4),
        ShareError::TooFewThreads { agents: 4, threads: 3 }
    );
    assert_eq!(
        refused(&few, Threads::Given(vec![1]), 2),
        ShareError::Given { given: 1, agents: 2 }
    );
    assert_eq!(
        refused(&few, Threads::Given(vec![2, 2]), 2),
        ShareError::TooFewConnections { threads: 4, connections: 3 }
    );
    assert_eq!(
        refused(&few, Threads::Given(vec![2, 0]), 2),
        ShareError::TooFewThreads { agents: 2, threads: 2 }
    );
    // Each thread has a user, where users are limited.
    let two = with_journeys(&open(LOADS[0], 5000))
        .with(|parts| parts.work = parts.work.walked(parts.work.journeys().to_vec(), Some(2)))
        .unwrap();
    assert_eq!(counts(&two, &[8, 8]), [1, 1]);
    assert_eq!(
        refused(&two, Threads::Given(vec![1, 2]), 2),
        ShareError::TooFewUsers { threads: 3, users: 2 }
    );
    assert_eq!(
        refused(&poisson, Threads::Given(vec![u32::MAX, 2]), 2),
        ShareError::TooFewConnections { threads: u32::MAX, connections: 5000 }
    );
    assert_eq!(
        refused(&poisson, Threads::Given(vec![200, 200]), 2),
        ShareError::TooManyForPoisson { threads: 400, most: 256 }
    );
}
