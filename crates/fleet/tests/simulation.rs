//! Invariants of runs with faults of network and machines: no interval counts twice, nothing is sent
//! without a lease, every run ends, and its ledger balances.
//!
//! `CANDOR_FLEET_SEEDS` is the number of runs, `CANDOR_FLEET_SEED` the first seed.

use crate::common::host::{Host, Request};
use crate::common::{COORDINATOR, Faults, MS, Node, Rng, S, World, plan};
use candor_fleet::coordinator::{Loss, OnLoss, Outcome, Stage, Verdict, Void};
use candor_fleet::{DataFile, Digest, MOST_DATA_BYTES, Refusal, planned};
use candor_plan::{DataFormat, DataOrder, DataSet, Plan};
use candor_record::Workers;

/// Runs take a few seconds of simulated time; time-outs are the real ones.
fn plans() -> Vec<Plan> {
    let usual = "url = \"http://127.0.0.1:8080/\"\nconnections = 24\ndigits = 1\ndrain = \"1s\"\n";
    [
        "rate = \"60/s\"\nwarm-up = \"500ms\"\nduration = \"3s\"\ninterval = \"500ms\"\n",
        "rate = \"50/s\"\narrivals = \"poisson\"\nduration = \"2s\"\ninterval = \"200ms\"\n",
        "load = \"ramp 10..90/s over 2s; hold 40/s\"\nduration = \"9s\"\ninterval = \"1s\"\n",
        "rate = \"60/s\"\nwarm-up = \"500ms\"\nduration = \"3s\"\ninterval = \"500ms\"\n\
         [[journey]]\nname = \"look\"\n[[journey.step]]\npath = \"/\"\n",
    ]
    .map(|load| plan(&format!("{usual}{load}")))
    .into()
}

fn faults(rng: &mut Rng, agents: usize) -> Faults {
    let mut faults = Faults {
        lost: rng.pick(&[0, 0, 10, 100, 300]),
        doubled: rng.pick(&[0, 0, 50, 300]),
        late: rng.pick(&[0, 0, 10, 100]),
        way_ns: rng.pick(&[None, None, None, None, Some(450 * MS), Some(2 * S)]),
        read_ns: rng.pick(&[0, 0, 0, 20 * MS, 7 * S]),
        has_no_stream: rng.one_in(3),
        ..Faults::default()
    };
    if rng.one_in(6) {
        let first_ns = rng.below(14 * S);
        let more = rng.below(3);
        faults.signals = (0..=more).map(|at| first_ns + at * rng.below(3 * S)).collect();
    }
    for _ in 0..rng.pick(&[0, 1, 1, 1, 2, 3]) {
        add_fault(rng, agents, &mut faults);
    }
    faults
}

fn add_fault(rng: &mut Rng, agents: usize, faults: &mut Faults) {
    let who = rng.below(agents as u64) as usize;
    let input = 1 + rng.below(280);
    match rng.below(7) {
        0 | 1 => {
            let back = rng.one_in(2).then(|| rng.below(8 * S));
            faults.crashes.push((who, input, back));
        }
        2 => {
            let recall = rng.one_in(2).then(|| rng.below(40 * S));
            faults.coordinator_dies = Some((1 + rng.below(600), recall));
        }
        3 | 4 => {
            let from_ns = rng.below(12 * S);
            let length_ns = rng.pick(&[S, 3 * S, 4500 * MS, 5500 * MS, 20 * S]);
            let who = if rng.one_in(4) { COORDINATOR } else { who };
            faults.cut_off.push((who, from_ns, from_ns + length_ns));
        }
        5 if rng.one_in(4) => faults.stuck_before = Some(who),
        6 if rng.one_in(4) => faults.stuck_after = Some(who),
        _ => {}
    }
}

fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let first = number("CANDOR_FLEET_SEED").unwrap_or(0);
    first..first + number("CANDOR_FLEET_SEEDS").unwrap_or(usual)
}

#[test]
fn the_invariants_hold_under_faults() {
    let plans = plans();
    let mut seen = [0u64; 4];
    let all = seeds(400);
    for seed in all.clone() {
        let mut rng = Rng(seed ^ 0x5eed);
        let agents = 1 + rng.below(4) as usize;
        let faults = faults(&mut rng, agents);
        let on_loss = rng.pick(&[OnLoss::Stop, OnLoss::Continue]);
        let plan = plans[rng.below(plans.len() as u64) as usize].clone();
        let world = std::panic::catch_unwind(|| {
            let mut world = World::new(seed, agents, plan, faults.clone(), on_loss);
            world.run(500 * S);
            check(&world);
            world
        });
        let world = world.unwrap_or_else(|_| panic!("seed {seed}, {faults:?}, {on_loss:?}"));
        seen[match world.outcome.as_ref().map(|one| &one.verdict) {
            Some(Verdict::Complete) => 0,
            Some(Verdict::Degraded) => 1,
            Some(Verdict::Void(_)) => 2,
            None => 3,
        }] += 1;
    }
    let [complete, degraded, void, dead] = seen;
    println!("{complete} complete, {degraded} degraded, {void} void, {dead} without a coordinator");
    // Each kind of end occurs, and most runs survive their faults.
    if all.end - all.start >= 400 {
        assert!(complete > 150 && degraded > 20 && void > 10 && dead > 5, "{seen:?}");
    }
}

/// All that must hold of a run that is over.
fn check(world: &World) {
    world.nodes.iter().for_each(|node| nothing_is_sent_without_a_lease(world, node));
    let Some(outcome) = &world.outcome else {
        assert!(world.faults.coordinator_dies.is_some(), "a living coordinator has an outcome");
        return;
    };
    match &outcome.verdict {
        Verdict::Void(_) => {
            assert_eq!(outcome.record, None);
            let sent: usize =
                world.nodes.iter().flat_map(hosts).map(|one| one.requests().len()).sum();
            assert!(outcome.may_have_sent || sent == 0, "{sent} requests were sent");
        }
        Verdict::Complete => assert_eq!(outcome.losses, []),
        Verdict::Degraded => assert_ne!(outcome.losses, []),
    }
    if outcome.record.is_some() {
        counts_are_those_of_the_hosts(world);
        starts_are_within_their_bounds(world);
    }
}

fn hosts(node: &Node) -> impl Iterator<Item = &Host> {
    node.past.iter().chain(&node.host).filter(|host| host.origin_ns.is_some())
}

fn nothing_is_sent_without_a_lease(world: &World, node: &Node) {
    let lost = world.lost.iter().find(|(_, name, why)| *name == node.name && *why != Loss::Lapsed);
    for host in hosts(node) {
        for request in host.requests() {
            let own_ns = host.origin_ns.unwrap() + request.due_ns;
            let sent_ns = node.clock.when(own_ns);
            // The leases that the coordinator had given by then.
            let given = node.given.iter().filter(|(at_ns, _)| *at_ns <= sent_ns);
            let until_ns = given.map(|(_, until_ns)| *until_ns).max().unwrap();
            assert!(own_ns < until_ns, "{} sent {} ns late", node.name, own_ns - until_ns);
            if let Some((lost_ns, _, why)) = lost {
                // An agent that was started anew, or gave up, is lost before its lease is over.
                assert!(sent_ns <= *lost_ns, "{} sent after it was lost: {why}", node.name);
            }
        }
    }
}

/// Each known request counts once, and the rest is unaccounted for.
fn counts_are_those_of_the_hosts(world: &World) {
    let outcome = world.outcome.as_ref().unwrap();
    let record = outcome.record.as_ref().unwrap();
    let (total, warm_up_ns) = (&record.total, world.plan.recording.warm_up_ns);
    assert!(total.ledger.balances(), "{:?}", total.ledger);
    assert!(total.warm_up.balances(), "{:?}", total.warm_up);
    let (mut sent, mut ok, mut warm, mut all_sent) = (0, 0, 0, 0);
    let mut in_intervals = vec![0u64; record.intervals.len()];
    for machine in &record.machines {
        let agent = machine.agent.as_ref().unwrap();
        let known_to_ns = agent.lost.as_ref().map_or(u64::MAX, |lost| lost.known_to_ns);
        let is_it = |node: &&Node| node.name.to_string() == agent.name;
        let node = world.nodes.iter().find(is_it).expect("each share has its agent");
        // One host at most ran this share.
        assert!(hosts(node).count() <= 1, "{} started twice", node.name);
        for one in hosts(node).flat_map(Host::requests) {
            let is_measured = one.due_ns >= warm_up_ns;
            if one.due_ns < known_to_ns {
                sent += u64::from(is_measured);
                warm += u64::from(!is_measured);
                let at = record.intervals.iter().position(|interval| {
                    (interval.start_ns..interval.end_ns).contains(&one.due_ns)
                });
                if let (true, Some(at)) = (is_measured, at) {
                    in_intervals[at] += 1;
                }
            }
            all_sent += u64::from(is_measured);
        }
        for host in hosts(node) {
            let known_to_ns = known_to_ns.min(host.cut_ns);
            let is_ok = |one: &&Request| one.due_ns >= warm_up_ns && one.done_ns < known_to_ns;
            ok += host.requests().iter().filter(is_ok).count() as u64;
        }
    }
    assert_eq!((total.ledger.sent, total.ledger.ok, total.warm_up.sent), (sent, ok, warm));
    // What the target counts is within what the ledger says.
    let unaccounted = total.ledger.unaccounted + total.users_unaccounted;
    assert!((sent..=sent + unaccounted).contains(&all_sent), "{all_sent}: {:?}", total.ledger);
    if is_heard_in_the_end(world) {
        assert_eq!(sent, all_sent, "{:?}, {:?}", world.lost, outcome.losses);
    }
    if outcome.verdict == Verdict::Complete {
        let by_interval: Vec<u64> = record.intervals.iter().map(|one| one.sent).collect();
        assert_eq!(by_interval, in_intervals);
    }
    for (at, machine) in (0u32..).zip(&record.machines) {
        let agent = machine.agent.as_ref().unwrap();
        let Some(lost) = agent.lost.as_ref() else { continue };
        let node = world.nodes.iter().find(|node| node.name.to_string() == agent.name).unwrap();
        // Of these it delivered the first at least; others that end with it have no length.
        let last = hosts(node)
            .flat_map(|host| &host.closed)
            .filter(|(_, end_ns)| *end_ns == lost.known_to_ns);
        let last: Vec<Option<u64>> = last.map(|(index, _)| *index).collect();
        for interval in &record.intervals {
            let is_missing = interval.missing.contains(&at);
            let is_delivered = last.first().is_some_and(|first| Some(interval.index) <= *first);
            let is_later = last.last().is_none_or(|last| Some(interval.index) > *last);
            assert!(!is_missing || !is_delivered, "{interval:?} {lost:?}");
            assert!(is_missing || !is_later, "{interval:?} {lost:?}");
        }
    }
    // Without a stop the schedule is whole.
    let unaccounted: u64 = outcome.losses.iter().map(|(_, _, count)| count).sum();
    let all = planned(&world.plan, Workers::all(record.of.of), None);
    let is_whole = world.signals == 0
        && (outcome.verdict == Verdict::Complete
            || world.on_loss == OnLoss::Continue && is_driven(world));
    if let Some(users) = total.journeys.first() {
        // Each request is a user's, and the schedule has users alone.
        assert!(users.balances(), "{users:?}");
        assert_eq!((users.started, users.completed), (sent, ok));
        assert_eq!(unaccounted, total.users_unaccounted);
        assert_eq!((total.ledger.unaccounted, total.warm_up.unaccounted), (0, 0));
        let came = users.started + unaccounted;
        assert!(came == all.users || !is_whole && came < all.users, "{came} of {all:?}");
        return;
    }
    assert_eq!(unaccounted, total.ledger.unaccounted + total.warm_up.unaccounted);
    if is_whole {
        assert_eq!((total.ledger.scheduled, total.warm_up.scheduled), (all.measured, all.warm_up));
    } else {
        assert!(total.ledger.scheduled <= all.measured, "{:?} {all:?}", total.ledger);
    }
}

/// Whether nothing but cuts that end in time and a moderate network kept results from the coordinator.
fn is_heard_in_the_end(world: &World) -> bool {
    let faults = &world.faults;
    let is_short = |(_, from_ns, to_ns): &(usize, u64, u64)| to_ns - from_ns <= 6 * S;
    faults.crashes.is_empty()
        && faults.deaths.is_empty()
        && is_driven(world)
        && faults.cut_off.iter().all(is_short)
        && faults.cut_off.len() <= 1
        && faults.lost <= 10
        && world.signals == 0
}

/// Whether one coordinator lived from the beginning to the end and stopped no agent.
fn is_driven(world: &World) -> bool {
    world.faults.coordinator_dies.is_none() && world.faults.stuck_after.is_none()
}

/// Every agent began at the origin, within the reported bound of its clock.
fn starts_are_within_their_bounds(world: &World) {
    let record = world.outcome.as_ref().unwrap().record.as_ref().unwrap();
    let origin_ns = world.clock.when(world.origin_ns);
    for machine in &record.machines {
        let agent = machine.agent.as_ref().unwrap();
        let node = world.nodes.iter().find(|node| node.name.to_string() == agent.name);
        let host = node.and_then(|node| hosts(node).next());
        if let (Some(node), Some(host), Some(bound_ns)) = (node, host, agent.clock_bound_ns) {
            let began_ns = node.clock.when(host.origin_ns.unwrap());
            let error_ns = began_ns.abs_diff(origin_ns);
            assert!(error_ns <= bound_ns + 2, "{}: {error_ns} of {bound_ns} ns", agent.name);
            if let Some(ppb) = agent.clock_drift_ppb {
                assert!(ppb.abs_diff(node.clock.ppm * 1000) <= ppb.unsigned_abs().max(1000));
            }
        }
    }
}

/// Of one agent and of four: the same record, but for the machines.
#[test]
fn a_fleet_measures_what_one_machine_measures() {
    for plan in plans() {
        let record = |agents| {
            let mut world = World::new(3, agents, plan.clone(), Faults::default(), OnLoss::Stop);
            world.run(100 * S);
            check(&world);
            let outcome = world.outcome.unwrap();
            assert_eq!(outcome.verdict, Verdict::Complete);
            assert!(world.shown.len() > 3, "intervals are shown while they come");
            outcome.record.unwrap()
        };
        let (one, four) = (record(1), record(4));
        assert_eq!(four.machines.len(), 4);
        assert_eq!(four.of.share(), 1.0);
        assert_eq!(one.total.ledger, four.total.ledger);
        assert_eq!(one.total.latencies, four.total.latencies);
        assert_eq!(one.intervals, four.intervals);
        assert!(one.total.ledger.ok > 50);
    }
}

/// From the last agent that is prepared to the start, and from the end of the first interval until it is shown, with a
/// hundred agents.
#[test]
fn a_hundred_agents_start_soon_and_their_first_interval_is_shown_soon() {
    let text = "url = \"http://127.0.0.1:8080/\"\nconnections = 400\ndigits = 1\nrate = \"1k/s\"\n\
                duration = \"2s\"\ninterval = \"1s\"\n";
    for (seed, lost) in [(1, 0), (2, 50)] {
        let faults = Faults { lost, ..Faults::default() };
        let mut world = World::new(seed, 100, plan(text), faults, OnLoss::Stop);
        world.run(100 * S);
        check(&world);
        assert_eq!(world.outcome.as_ref().unwrap().verdict, Verdict::Complete);
        let at = |stage| world.stages.iter().find(|(_, one)| *one == stage).unwrap().0;
        let (ready_ns, go_ns) = (at(Stage::Clocking), at(Stage::Running));
        let shown_ns = world.shown[0].saturating_sub(go_ns + S);
        println!(
            "ready to go: {} ms, first interval shown after {} ms, with {lost}/1000 lost",
            (go_ns - ready_ns) / MS,
            shown_ns / MS
        );
        assert!(go_ns - ready_ns <= 2 * S && shown_ns <= 3 * S);
    }
}

/// One agent of two dies: its share and no more is missing, and it is named.
#[test]
fn the_share_of_a_lost_agent_is_unaccounted_for() {
    let plan = plans()[2].clone();
    let crash = |on_loss| {
        // In the middle of its run.
        let faults = Faults { deaths: vec![(1, 4500 * MS)], ..Faults::default() };
        let mut world = World::new(11, 2, plan.clone(), faults, on_loss);
        world.run(100 * S);
        check(&world);
        world
    };
    let world = crash(OnLoss::Continue);
    let outcome = world.outcome.as_ref().unwrap();
    let [(name, Loss::Silent, unaccounted)] = outcome.losses.as_slice() else {
        panic!("{:?}", outcome.losses)
    };
    assert_eq!(name.to_string(), "agent-1");
    let record = outcome.record.as_ref().unwrap();
    let share = record.machines[1].workers.unwrap();
    let whole = planned(&plan, share, None).measured;
    assert!((1..whole).contains(unaccounted), "{unaccounted} of {whole}");
    assert_eq!(record.total.ledger.unaccounted, *unaccounted);
    assert!(record.intervals.last().unwrap().missing == [1]);
    assert!(record.intervals[0].missing.is_empty());
    // The others go on to the end, or stop with it.
    assert!(record.window_ns == plan.stop.duration_ns.unwrap());
    let stopped = crash(OnLoss::Stop);
    let record = stopped.outcome.as_ref().unwrap().record.as_ref().unwrap();
    assert!(record.window_ns < plan.stop.duration_ns.unwrap());
    assert_eq!(record.end, candor_record::EndReason::AgentLost);
    // Unaccounted are those before the stop of the others, and not those that it spared.
    let outcome = stopped.outcome.as_ref().unwrap();
    let end_ns = hosts(&stopped.nodes[0]).next().unwrap().window_end_ns;
    let known_to_ns = record.machines[1].agent.as_ref().unwrap().lost.as_ref().unwrap().known_to_ns;
    let requests = hosts(&stopped.nodes[1]).next().unwrap().requests();
    let known = requests.iter().filter(|one| one.due_ns < known_to_ns).count() as u64;
    let planned = planned(&plan, share, Some(end_ns)).measured;
    assert_eq!(known + outcome.losses[0].2, planned);
}

/// A network that is away for less than a lease does nothing to a run.
#[test]
fn a_short_cut_is_nothing_and_a_long_one_stops_the_load() {
    let plan = plans()[2].clone();
    let cut = |length_ns: u64| {
        let from_ns = 6 * S;
        let cut_off = vec![(COORDINATOR, from_ns, from_ns + length_ns)];
        let faults = Faults { cut_off, ..Faults::default() };
        let mut world = World::new(5, 3, plan.clone(), faults, OnLoss::Stop);
        world.run(200 * S);
        check(&world);
        (world.outcome.unwrap().verdict, world.nodes)
    };
    assert_eq!(cut(3 * S).0, Verdict::Complete);
    let (verdict, nodes) = cut(20 * S);
    assert_eq!(verdict, Verdict::Degraded);
    for node in nodes {
        let lapsed =
            node.audit.iter().filter(|line| line.what == candor_fleet::audit::What::Lapsed);
        assert_eq!(lapsed.count(), 1, "{:?}", node.audit);
    }
}

/// The coordinator dies at one of its inputs: agents stop and keep their results, and another coordinator
/// makes the same result of them, even of those that the first one had received.
#[test]
fn the_results_outlive_their_coordinator() {
    let plan = plans()[2].clone();
    let mut seen = 0;
    for input in (100..900).step_by(40) {
        let faults = Faults { coordinator_dies: Some((input, Some(60 * S))), ..Faults::default() };
        let mut world = World::new(9, 3, plan.clone(), faults, OnLoss::Stop);
        world.run(200 * S);
        check(&world);
        let requests = world.nodes.iter().flat_map(hosts).map(|host| host.requests().len());
        let sent: usize = requests.sum();
        let outcome = world.outcome.as_ref().unwrap();
        let Some(record) = &outcome.record else {
            assert_eq!(sent, 0, "{input}: {:?}", outcome.verdict);
            continue;
        };
        seen += 1;
        let is_lapsed = |(_, why, _): &(_, Loss, _)| *why == Loss::Lapsed;
        assert!(outcome.losses.iter().all(is_lapsed), "{input}: {:?}", outcome.losses);
        let ledgers = record.total.ledger.sent + record.total.warm_up.sent;
        assert_eq!(ledgers, sent as u64, "{input}");
        assert!(world.nodes.iter().all(|node| node.agent.as_ref().unwrap().kept().is_empty()));
    }
    assert!(seen > 10, "most of them die in the run: {seen}");
}

/// The coordinator dies, and so does an agent, or every agent: their intervals that the broker's stream has are in
/// the result of another coordinator, each of them once, and without a stream they are unaccounted for.
#[test]
fn the_stream_stands_in_for_dead_agents() {
    let plan = plans()[2].clone();
    let outcome = |seed: u64, dead: &[usize], lost: u64, has_no_stream: bool| {
        let faults = Faults {
            lost,
            doubled: lost,
            late: lost,
            has_no_stream,
            // Before it would lapse, and before its coordinator would call it lost.
            deaths: dead.iter().map(|at| (*at, 5 * S)).collect(),
            coordinator_dies: Some((165, Some(20 * S))),
            ..Faults::default()
        };
        let mut world = World::new(seed, 3, plan.clone(), faults, OnLoss::Stop);
        world.run(200 * S);
        check(&world);
        *world.outcome.unwrap()
    };
    let known_s = |outcome: &Outcome| -> Vec<u64> {
        let machines = &outcome.record.as_ref().unwrap().machines;
        let lost = machines.iter().map(|one| one.agent.as_ref().unwrap().lost.as_ref());
        lost.map(|one| one.map_or(u64::MAX, |one| one.known_to_ns) / S).collect()
    };
    for seed in 0..20 {
        let one = outcome(seed, &[1], 0, false);
        let (name, why, _) = &one.losses[1];
        assert_eq!((name.to_string().as_str(), why), ("agent-1", &Loss::Silent));
        let [alive, dead, other] = known_s(&one)[..] else { unreachable!() };
        assert!(dead >= 1 && dead < alive && dead < other, "{seed}: {:?}", known_s(&one));
        let without = known_s(&outcome(seed, &[1], 0, true));
        assert_eq!(without, [alive, 0, other], "{seed}");
        let all = known_s(&outcome(seed, &[0, 1, 2], 0, false));
        assert!(all.iter().all(|known_s| *known_s + 1 >= dead), "{seed}: {all:?}");
        let nothing = outcome(seed, &[0, 1, 2], 0, true);
        assert_eq!(nothing.verdict, Verdict::Void(Void::NothingKept), "{seed}");
        // With faults of the network on all ways, the one to the stream too.
        outcome(seed, &[1, 2], 100, false);
    }
}

/// A large plan over a slow link, which carries what the agents need and hardly more: they take as long as the
/// bytes do, and no message waits for long behind them.
#[test]
fn a_large_plan_over_a_slow_link_is_sent_once() {
    let body = "x".repeat(6 << 20);
    let text = format!(
        "url = \"http://127.0.0.1:8080/\"\nconnections = 24\ndigits = 1\nrate = \"60/s\"\nduration = \"2s\"\n\
         method = \"POST\"\nbody = \"{body}\"\n"
    );
    let plan = plan(&text);
    let plan_bytes = candor_record::wire::to_bytes(&plan).len() as u64;
    // 20 Mbit/s and 2 Mbit/s, near and far.
    for (agents, rate, way_ns) in
        [(2, 2_500_000, None), (6, 2_500_000, None), (2, 250_000, None), (2, 2_500_000, Some(S))]
    {
        let faults = Faults { rate: Some(rate), way_ns, ..Faults::default() };
        let mut world = World::new(3, agents, plan.clone(), faults, OnLoss::Stop);
        world.run(600 * S);
        check(&world);
        assert_eq!(world.outcome.as_ref().unwrap().verdict, Verdict::Complete);
        let at = |stage| world.stages.iter().find(|(_, one)| *one == stage).unwrap().0;
        let took_s = (at(Stage::Clocking) - at(Stage::Preparing)) as f64 / S as f64;
        let needs_s = (plan_bytes * agents as u64) as f64 / rate as f64;
        let carried = world.carried as f64 / (plan_bytes * agents as u64) as f64;
        let wait_s = world.longest_wait_ns as f64 / S as f64;
        println!(
            "{agents} at {rate}/s: {took_s:.1} s of {needs_s:.1}, {carried:.3} times, wait {wait_s:.1}"
        );
        assert!(carried < 1.05, "{carried}");
        // Half of a lease.
        assert!(wait_s < 2.5, "{wait_s}");
        // A link that is long and fast has at most 16 chunks under way for each agent.
        let chunks_s = plan_bytes as f64 / (16.0 * 65_536.0)
            * way_ns.map_or(0.0, |ns| 2.0 * ns as f64 / S as f64);
        assert!(took_s < 1.3 * needs_s.max(chunks_s) + 5.0, "{took_s} of {needs_s}");
    }
}

/// A plan with a data file of so many bytes, and the file.
fn with_file(bytes: usize) -> (Plan, Vec<u8>) {
    let text = "url = \"http://127.0.0.1:8080/\"\nconnections = 24\ndigits = 1\nrate = \"60/s\"\n\
                duration = \"2s\"\n";
    let content: Vec<u8> = b"n\n1234567\n".iter().copied().cycle().take(bytes).collect();
    let file = DataFile { digest: Digest::of(&content), bytes: bytes as u64 };
    let plan = plan(text).with(|parts| {
        parts.data.push(DataSet {
            name: "rows".to_owned(),
            file: "rows.csv".into(),
            format: DataFormat::Csv,
            order: DataOrder::default(),
            columns: vec!["n".to_owned()],
            content: Some(file.content()),
        });
    });
    (plan.unwrap(), content)
}

#[test]
fn a_data_file_is_sent_to_those_that_lack_it_and_once() {
    let bytes = 8 << 20;
    let (plan, content) = with_file(bytes);
    let digest = Digest::of(&content);
    for (lost, seed) in [(0, 1), (100, 2)] {
        let faults = Faults { rate: Some(2_500_000), lost, ..Faults::default() };
        let mut world = World::new(seed, 3, plan.clone(), faults, OnLoss::Stop);
        world.files.insert(digest, content.clone());
        world.nodes[1].files.insert(digest, content.clone());
        world.run(600 * S);
        check(&world);
        assert_eq!(world.outcome.as_ref().unwrap().verdict, Verdict::Complete);
        assert!(world.nodes.iter().all(|node| node.files[&digest] == content));
        let carried = world.carried as f64 / (2 * bytes) as f64;
        let most = if lost == 0 { 1.05 } else { 1.35 };
        assert!((1.0..most).contains(&carried), "{carried}");
    }
}

#[test]
fn a_plan_with_too_large_files_is_refused() {
    let (plan, _) = with_file(10);
    let large = DataFile { digest: Digest::of(b""), bytes: MOST_DATA_BYTES + 1 };
    let plan = plan.with(|parts| parts.data[0].content = Some(large.content())).unwrap();
    let mut world = World::new(1, 2, plan, Faults::default(), OnLoss::Stop);
    world.run(600 * S);
    let Verdict::Void(Void::Refused { why, .. }) = &world.outcome.as_ref().unwrap().verdict else {
        panic!("{:?}", world.outcome)
    };
    assert_eq!(*why, Refusal::DataSize(MOST_DATA_BYTES + 1));
}
