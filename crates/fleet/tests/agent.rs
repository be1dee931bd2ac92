//! An agent's results and leases, with coordinators and hosts that fail.

use crate::common::lone::{
    BOOT, LOOPBACK, NOW, Said, fetch, grant, head, key, order, policy, reserve, said, usual,
};
use crate::common::{MS, S, operator};
use candor_fleet::agent::{Agent, Event, Now, Settings};
use candor_fleet::audit::What;
use candor_fleet::codec::MOST_KEPT;
use candor_fleet::message::{Command, Ends, Go, Have, Order, Phase};
use candor_fleet::{MOST_ROUND_TRIP_NS, Message, Refusal, Timings};

fn agent(most_bytes: u64) -> Agent {
    let settings = Settings {
        name: "a1".parse().unwrap(),
        boot: BOOT,
        cores: 4,
        policy: policy(LOOPBACK),
        timings: Timings::default(),
        most_bytes,
    };
    Agent::new(settings, NOW.ns)
}

fn at(ns: u64) -> Now {
    Now { ns: NOW.ns + ns, ..NOW }
}

/// Takes an agent to the start of a run, whose origin is a second from now.
fn start(agent: &mut Agent, epoch: u32) {
    fetch(agent, &usual(), epoch);
    agent.handle_prepared(NOW, key(epoch), Ok(2));
    let go = Go { origin_ns: NOW.ns + S, offset_ns: 0, bound_ns: 1 };
    agent.handle_message(NOW, order(epoch, Command::Go(go)));
    agent.handle_timeout(at(S));
    assert_eq!(agent.phase(), Some((key(epoch), Phase::Running)));
    said(agent);
}

/// Keeps the results of a run, with these bytes, because its coordinator is silent.
fn keep(agent: &mut Agent, epoch: u32, bytes: usize) -> Said {
    start(agent, epoch);
    agent.handle_interval(at(2 * S), key(epoch), &vec![0; bytes]);
    agent.handle_ended(at(3 * S), key(epoch), Ok(b""));
    assert!(matches!(agent.phase(), Some((_, Phase::Delivering(_)))));
    // No longer than the lease since it heard its coordinator.
    let lease_ns = Timings::default().lease_ns;
    agent.handle_timeout(at(lease_ns - 1));
    assert!(agent.phase().is_some());
    agent.handle_timeout(at(lease_ns));
    assert_eq!(agent.phase(), None);
    said(agent)
}

fn kept(agent: &Agent) -> Vec<u32> {
    agent.kept().iter().map(|one| one.key.epoch).collect()
}

fn audit(said: &Said) -> Vec<What> {
    said.audit.iter().map(|(what, _)| *what).collect()
}

#[test]
fn results_are_kept_within_bounds_and_the_oldest_are_forgotten() {
    let mut by_count = agent(1 << 20);
    for epoch in 0..MOST_KEPT as u32 {
        assert_eq!(audit(&keep(&mut by_count, epoch, 10)), [What::Ended, What::Kept]);
    }
    assert_eq!(kept(&by_count), Vec::from_iter(0..8));
    let said = keep(&mut by_count, 8, 10);
    assert_eq!(audit(&said), [What::Ended, What::Kept, What::Forgotten]);
    assert_eq!(kept(&by_count), Vec::from_iter(1..9));
    // By bytes; the newest results stay in any case.
    let mut by_bytes = agent(100);
    for epoch in 0..3 {
        keep(&mut by_bytes, epoch, 50);
    }
    assert_eq!(kept(&by_bytes), [1, 2]);
    keep(&mut by_bytes, 3, 51);
    assert_eq!(kept(&by_bytes), [3]);
}

/// A recall brings kept results back on an agent that is free; the reply to its beat names the missing
/// segments.
#[test]
fn kept_results_are_recalled_and_settled() {
    let mut agent = agent(1 << 20);
    keep(&mut agent, 1, 10);
    keep(&mut agent, 2, 10);
    let late = 60 * S;
    let stranger = candor_fleet::Head { boot: BOOT + 1, ..head(1) };
    agent.handle_message(at(late), Message::Recall { head: stranger });
    agent.handle_message(at(late), Message::Recall { head: head(3) });
    assert_eq!(agent.phase(), None);
    agent.handle_message(at(late), Message::Recall { head: head(1) });
    agent.handle_message(at(late), Message::Recall { head: head(2) });
    assert!(matches!(agent.phase(), Some((of, Phase::Delivering(_))) if of == key(1)));
    assert_eq!(kept(&agent), [2]);
    while agent.poll_transmit().is_some() {}
    let have = Have::default();
    let reply = Order { beat_ns: Some(at(late).ns), command: Command::Hold, lease_ns: 5 * S, have };
    agent.handle_message(at(late + MS), Message::Lease { head: head(1), order: reply });
    let segments = std::iter::from_fn(|| agent.poll_transmit()).filter_map(|(_, one)| match one {
        Message::Segment { segment, .. } => Some((segment.sequence, segment.ends)),
        _ => None,
    });
    assert_eq!(Vec::from_iter(segments), [(0, Ends::Interval), (1, Ends::Record)]);
    // Settled: another run's results stay, and a doubled message does no harm.
    for _ in 0..2 {
        agent.handle_message(at(late + 2 * MS), Message::Settled { head: head(1) });
    }
    assert_eq!((agent.phase(), kept(&agent)), (None, vec![2]));
}

/// An agent that cannot write its audit file gives up what it may send, and delivers what it has measured.
#[test]
fn an_agent_without_an_audit_file_does_nothing() {
    let full = || "audit.jsonl: no space left".to_owned();
    let mut granted = agent(1 << 20);
    fetch(&mut granted, &usual(), 1);
    granted.handle_unwritten(NOW, full());
    let refused = said(&mut granted);
    assert_eq!((refused.refused, granted.phase()), (Some(Refusal::Audit(full())), None));
    assert_eq!(refused.events, [Event::Abandon { key: key(1) }]);
    let mut measured = agent(1 << 20);
    start(&mut measured, 1);
    measured.handle_draining(at(2 * S), key(1));
    measured.handle_unwritten(at(2 * S), full());
    measured.handle_ended(at(3 * S), key(1), Ok(b""));
    measured.handle_unwritten(at(3 * S), full());
    assert!(matches!(measured.phase(), Some((_, Phase::Delivering(_)))));
}

/// The coordinator ended without the results of another agent: this one keeps its own and is free at once. The
/// second order to end is no second stop.
#[test]
fn an_agent_ends_at_once_and_keeps_its_results() {
    let mut agent = agent(1 << 20);
    start(&mut agent, 1);
    agent.handle_message(at(2 * S), order(1, Command::Stop));
    for _ in 0..2 {
        agent.handle_message(at(2 * S), order(1, Command::End));
    }
    let said = said(&mut agent);
    let stops = said.events.iter().filter_map(|one| match one {
        Event::Stop { at_once, .. } => Some(*at_once),
        _ => None,
    });
    assert_eq!(stops.collect::<Vec<_>>(), [false, true]);
    agent.handle_message(at(2 * S), Message::Keep { head: head(1) });
    assert_eq!(agent.phase(), Some((key(1), Phase::Draining)), "they are not complete yet");
    agent.handle_ended(at(2 * S), key(1), Ok(b""));
    agent.handle_message(at(2 * S), Message::Keep { head: head(1) });
    assert_eq!((agent.phase(), kept(&agent)), (None, vec![1]));
}

/// No results are forgotten before they are complete.
#[test]
fn settled_is_heard_only_by_an_agent_that_delivers() {
    let mut agent = agent(1 << 20);
    start(&mut agent, 1);
    agent.handle_message(at(2 * S), Message::Settled { head: head(1) });
    assert_eq!(agent.phase(), Some((key(1), Phase::Running)));
}

#[test]
fn a_run_with_more_results_than_there_is_room_for_is_stopped() {
    let mut agent = agent(100);
    start(&mut agent, 1);
    agent.handle_interval(at(2 * S), key(1), &[0; 100]);
    assert_eq!(agent.phase(), Some((key(1), Phase::Running)));
    agent.handle_interval(at(2 * S), key(1), &[0; 1]);
    assert_eq!(agent.phase(), Some((key(1), Phase::Draining)));
    assert!(said(&mut agent).events.contains(&Event::Stop { key: key(1), at_once: false }));
}

/// A host that does not end after a stop: the drain and the patience, and no longer.
#[test]
fn a_host_that_does_not_end_is_abandoned() {
    let mut agent = agent(1 << 20);
    start(&mut agent, 1);
    agent.handle_message(at(2 * S), order(1, Command::Stop));
    assert_eq!(agent.phase(), Some((key(1), Phase::Draining)));
    let patience_ns = usual().stop.drain_ns + Timings::default().overdue_ns;
    agent.handle_timeout(at(2 * S + patience_ns - 1));
    assert!(agent.phase().is_some());
    agent.handle_timeout(at(2 * S + patience_ns));
    assert_eq!(agent.phase(), None);
    assert!(said(&mut agent).events.contains(&Event::Abandon { key: key(1) }));
}

/// The shorter lease counts, the agent's with the longest way or the coordinator's.
#[test]
fn no_coordinator_gives_a_longer_lease() {
    let most_ns = Timings::default().lease_ns + MOST_ROUND_TRIP_NS;
    for (asked_ns, lease_ns) in [(S, S), (5 * S, 5 * S), (60 * S, most_ns), (u64::MAX, most_ns)] {
        let mut agent = agent(1 << 20);
        let grant = operator().sign(&grant(&usual(), 1));
        let Message::Reserve { head, mut reserve } = reserve(&usual(), 1, grant) else { panic!() };
        reserve.lease_ns = asked_ns;
        agent.handle_message(NOW, Message::Reserve { head, reserve });
        agent.handle_timeout(at(lease_ns - 1));
        assert!(agent.phase().is_some(), "{asked_ns}");
        agent.handle_timeout(at(lease_ns));
        assert_eq!(agent.phase(), None, "{asked_ns}");
    }
}

/// A message, or a report of the host, that comes before the timer of a lease that is over finds an
/// agent that has stopped.
#[test]
fn a_lease_that_is_over_is_not_extended() {
    type Late = fn(&mut Agent);
    let reply = |agent: &mut Agent| {
        let (beat_ns, have) = (Some(at(4 * S).ns), Have::default());
        let order = Order { beat_ns, command: Command::Hold, lease_ns: 5 * S, have };
        agent.handle_message(at(5 * S), Message::Lease { head: head(1), order });
    };
    let lates: [Late; 3] = [
        reply,
        |agent| agent.handle_interval(at(5 * S), key(1), b"interval"),
        |agent| agent.handle_draining(at(5 * S), key(1)),
    ];
    for late in lates {
        let mut agent = agent(1 << 20);
        start(&mut agent, 1);
        late(&mut agent);
        assert_eq!(agent.phase(), Some((key(1), Phase::Lapsed)));
        let said = said(&mut agent);
        assert!(said.events.contains(&Event::Stop { key: key(1), at_once: false }));
        let is_longer = |one: &Event| matches!(one, Event::SendUntil { .. });
        assert!(!said.events.iter().any(is_longer), "{:?}", said.events);
    }
    // The record of a run that ends as late says that its agent had lapsed.
    let mut agent = agent(1 << 20);
    start(&mut agent, 1);
    agent.handle_ended(at(5 * S), key(1), Ok(b"record"));
    let Some((_, Phase::Delivering(last))) = agent.phase() else { panic!("{:?}", agent.phase()) };
    assert!(last.lapsed);
}

/// A lease that ends before the start, or at the start, starts nothing.
/// Of the coordinator's orders to start, each of which a beat may have asked for, only those of its own accord get one.
#[test]
fn an_armed_agent_and_its_coordinator_do_not_talk_without_a_pause() {
    let mut agent = agent(1 << 20);
    fetch(&mut agent, &usual(), 1);
    agent.handle_prepared(NOW, key(1), Ok(2));
    let command = Command::Go(Go { origin_ns: NOW.ns + S, offset_ns: 0, bound_ns: 1 });
    agent.handle_message(NOW, order(1, command));
    let beats = |agent: &mut Agent| {
        let said = std::iter::from_fn(|| agent.poll_transmit());
        said.filter(|(_, one)| matches!(one, Message::Beat { .. })).count()
    };
    beats(&mut agent);
    agent.handle_message(NOW, order(1, command));
    assert_eq!(beats(&mut agent), 1);
    let reply = Order { beat_ns: Some(NOW.ns), lease_ns: 5 * S, command, have: Have::default() };
    agent.handle_message(NOW, Message::Lease { head: head(1), order: reply });
    assert_eq!(beats(&mut agent), 0);
}

#[test]
fn nothing_starts_when_the_lease_is_over() {
    for origin_ns in [5 * S, 5 * S + 1, 8 * S] {
        let mut agent = agent(1 << 20);
        fetch(&mut agent, &usual(), 1);
        agent.handle_prepared(NOW, key(1), Ok(2));
        let go = Go { origin_ns: NOW.ns + origin_ns, offset_ns: 0, bound_ns: 1 };
        agent.handle_message(NOW, order(1, Command::Go(go)));
        // The lease of 5 s counts from the reservation. Its host may look late.
        agent.handle_timeout(at(20 * S));
        assert_eq!(agent.phase(), None);
        let said = said(&mut agent);
        assert_eq!(said.audit.last().unwrap().0, What::Lapsed, "{origin_ns}");
        let until = Event::SendUntil { key: key(1), until_ns: NOW.ns + 5 * S };
        let start = Event::Start { key: key(1), go };
        let place = |one: &Event| said.events.iter().position(|event| event == one).unwrap();
        assert!(place(&until) < place(&start), "the limit comes first: {:?}", said.events);
        assert!(said.events.contains(&Event::Abandon { key: key(1) }));
    }
}
