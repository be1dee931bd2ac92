//! A coordinator of a run whose own coordinator died, and what the broker's stream gives it: each interval counts
//! once, and nothing in the stream keeps the run from ending.

use crate::common::{MS, S, UNIX_S, operator, plan};
use candor_fleet::agent::record_bytes;
use candor_fleet::codec::{self, CodecError};
use candor_fleet::coordinator::{
    Coordinator, Event, Loss, OnLoss, Outcome, Settings, Verdict, Void, Wanted,
};
use candor_fleet::message::{Beat, Ends, Hello, Phase, Segment};
use candor_fleet::{
    AgentName, Digest, Head, Message, Outbox, RunId, RunKey, Shares, Threads, Timings,
};
use candor_record::{
    Collector, CollectorSettings, EndReason, Interval, Machine, WorkerReport, Workers, wire,
};

const KEY: RunKey = RunKey { run: RunId([3; 16]), epoch: 0 };
const AGENTS: u32 = 2;

fn head(at: u32) -> Head {
    Head { key: KEY, boot: at.into() }
}

fn share(at: u32) -> Workers {
    Workers { first: at, count: 1, of: AGENTS }
}

/// All messages of an agent that made `intervals` with 10 requests each, and ended if `has_ended`.
fn results(at: u32, intervals: u64, has_ended: bool) -> Vec<Message> {
    let mut outbox = Outbox::default();
    for index in 0..intervals {
        let mut interval = Interval { index: Some(index), ..Interval::new(1, 1, 0) };
        (interval.start_ns, interval.end_ns) = (index * S, (index + 1) * S);
        let ledger = &mut interval.ledger;
        (ledger.scheduled, ledger.sent, ledger.ok) = (10, 10, 10);
        outbox.push(0, Ends::Interval, &wire::to_bytes(&interval));
    }
    if has_ended {
        let mut collector = Collector::new(CollectorSettings {
            digits: 1,
            requests: 1,
            journeys: 0,
            warm_up_ns: 0,
            connections_asked: 1,
            workers: share(at),
        });
        collector.worker_ended(0, WorkerReport::new(intervals * S, EndReason::Duration));
        let mut record = collector.finish(Machine::default(), Default::default());
        let requests = 10 * intervals;
        let ledger = &mut record.total.ledger;
        (ledger.scheduled, ledger.sent, ledger.ok) = (requests, requests, requests);
        outbox.push(0, Ends::Record, &record_bytes(&record));
    }
    let segment = |segment| Message::Segment { head: head(at), segment };
    let mut messages: Vec<Message> = outbox.take_unsent().into_iter().map(segment).collect();
    if has_ended {
        let phase = Phase::Delivering(outbox.last(false));
        let beat = Beat { sent_ns: 1, phase, segments: outbox.count() };
        messages.push(Message::Beat { head: head(at), beat });
    }
    messages
}

/// What the stream replies to a fetch; `None`: nothing, ever.
type Reply = Option<(u64, Result<Message, CodecError>)>;

/// A stream with these messages of each agent, in order.
fn stream(of: [Vec<Message>; 2]) -> impl FnMut(u32, u64) -> Option<Reply> {
    move |at, after| {
        let message = of[at as usize].get(after as usize);
        Some(message.map(|one| (after + 1, codec::decode(&codec::encode(one)))))
    }
}

/// Recalls a run of two agents, both of them silent unless `each`, called before each step, lets them speak.
fn recall(
    mut stream: impl FnMut(u32, u64) -> Option<Reply>,
    mut each: impl FnMut(u64, &mut Coordinator),
) -> (Outcome, u64, usize) {
    let text = "url = \"http://127.0.0.1:1/\"\nrate = \"20/s\"\nduration = \"100s\"\ninterval = \"1s\"\n\
                digits = 1\nconnections = 8\ndrain = \"1s\"\n";
    let settings = Settings {
        key: KEY,
        plan: plan(text),
        rows: None,
        wanted: Wanted::Count(0),
        threads: Threads::ByCores,
        on_loss: OnLoss::Continue,
        operator: operator(),
        nonce: [1; 16],
        expires_unix_s: UNIX_S + 60,
        timings: Timings::default(),
    };
    let name = |at: u32| -> AgentName { format!("a{at}").parse().unwrap() };
    let shares: Shares = (0..AGENTS).map(|at| (name(at), u64::from(at), share(at))).collect();
    let mut coordinator = Coordinator::recall(settings, shares, S);
    let (mut now_ns, mut outcomes, mut fetches) = (S, Vec::new(), 0);
    while coordinator.poll_timeout().is_some() {
        now_ns += 10 * MS;
        assert!(now_ns < 600 * S, "it does not end");
        each(now_ns, &mut coordinator);
        coordinator.handle_timeout(now_ns, &mut |_| {});
        let asked: Vec<_> = std::iter::from_fn(|| coordinator.poll_fetch()).collect();
        for (from, after) in asked {
            fetches += 1;
            let at = (0..AGENTS).find(|at| name(*at) == from).unwrap();
            if let Some(reply) = stream(at, after) {
                coordinator.handle_stored(now_ns, &from, after, reply.clone());
                // A second reply changes nothing.
                coordinator.handle_stored(now_ns, &from, after, reply);
            }
        }
        while coordinator.poll_transmit().is_some() {}
        while let Some(event) = coordinator.poll_event() {
            if let Event::Over(outcome) = event {
                outcomes.push(*outcome);
            }
        }
    }
    assert_eq!(outcomes.len(), 1, "a run ends once");
    let outcome = outcomes.remove(0);
    if let Some(record) = &outcome.record {
        assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    }
    (outcome, now_ns, fetches)
}

/// The intervals of each agent that count, by its unaccounted requests of 1000, and why it is lost.
fn counted(outcome: &Outcome) -> Vec<(u64, Option<Loss>)> {
    let record = outcome.record.as_ref().unwrap_or_else(|| panic!("{:?}", outcome.verdict));
    let counted: Vec<_> = (record.machines.iter())
        .map(|machine| {
            let agent = machine.agent.as_ref().unwrap();
            let loss = outcome.losses.iter().find(|(name, ..)| name.to_string() == agent.name);
            match loss {
                None => (100, None),
                Some((_, why, unaccounted)) => (100 - unaccounted / 10, Some(why.clone())),
            }
        })
        .collect();
    // Each of them counts once.
    let sent: u64 = counted.iter().map(|(intervals, _)| 10 * intervals).sum();
    assert_eq!(record.total.ledger.sent, sent);
    counted
}

const SILENT: Option<Loss> = Some(Loss::Silent);

/// Agents that ended and died are complete; one that died before has the intervals that it delivered.
#[test]
fn the_stream_alone_makes_a_result() {
    let all = stream([results(0, 100, true), results(1, 100, true)]);
    let (outcome, now_ns, _) = recall(all, |_, _| {});
    assert_eq!(outcome.verdict, Verdict::Complete);
    assert_eq!(counted(&outcome), [(100, None), (100, None)]);
    // Two seconds of silence, and three until agents that are there would have heard of the end.
    assert!(now_ns < 8 * S, "{now_ns}");
    let part = stream([results(0, 100, true), results(1, 7, false)]);
    let (outcome, now_ns, _) = recall(part, |_, _| {});
    assert_eq!(counted(&outcome), [(100, None), (7, SILENT)]);
    assert_eq!(outcome.verdict, Verdict::Degraded);
    assert!((30 * S..40 * S).contains(&now_ns), "an agent may come back: {now_ns}");
    let nothing = stream([vec![], vec![]]);
    assert_eq!(recall(nothing, |_, _| {}).0.verdict, Verdict::Void(Void::NothingKept));
    // No broker has to have a stream, or to respond.
    assert_eq!(recall(|_, _| None, |_, _| {}).0.verdict, Verdict::Void(Void::NothingKept));
}

/// One agent is far ahead of the other, by more than may be in memory at once: it waits, and nothing is left out.
#[test]
fn an_agent_far_ahead_of_another_waits_for_it() {
    let far = stream([results(0, 100, true), results(1, 1, false)]);
    assert_eq!(counted(&recall(far, |_, _| {}).0), [(100, None), (1, SILENT)]);
    let both = stream([results(0, 98, false), results(1, 1, false)]);
    assert_eq!(counted(&recall(both, |_, _| {}).0), [(98, SILENT), (1, SILENT)]);
}

/// Doubled, out of order, of another life, of another attempt, not of results, no message at all: the rest counts.
#[test]
fn what_does_not_belong_is_left_out() {
    let mut messages = results(1, 20, false);
    messages.swap(3, 9);
    messages.extend(results(1, 20, false));
    let other_life = Head { boot: 99, ..head(1) };
    let other_epoch = Head { key: RunKey { epoch: 1, ..KEY }, ..head(1) };
    for head in [other_life, other_epoch] {
        let Message::Segment { segment, .. } = results(1, 1, false).remove(0) else { panic!() };
        let foreign = Segment { bytes: vec![1, 2, 3], ..segment };
        messages.insert(0, Message::Segment { head, segment: foreign });
        let Message::Beat { beat, .. } = results(1, 0, true).remove(1) else { panic!() };
        messages.insert(0, Message::Beat { head, beat });
    }
    messages.insert(5, Message::Settled { head: head(1) });
    messages.insert(5, Message::Kill { run: KEY.run });
    let mut good = stream([results(0, 100, true), messages]);
    // Each second message is garbage.
    let garbage = move |at, after: u64| match after % 2 {
        0 => Some(Some((after + 1, Err(CodecError::Size(9))))),
        _ => good(at, after / 2).map(|reply| reply.map(|(_, message)| (after + 1, message))),
    };
    assert_eq!(counted(&recall(garbage, |_, _| {}).0), [(100, None), (20, SILENT)]);
}

/// Results that a stream has in part, or damaged, cost no more than their rest.
#[test]
fn a_gap_or_damage_ends_the_results_of_its_agent() {
    let mut gap = results(1, 20, true);
    gap.remove(4);
    let broken = stream([results(0, 100, true), gap]);
    assert_eq!(counted(&recall(broken, |_, _| {}).0), [(100, None), (4, SILENT)]);
    let mut damaged = results(1, 20, true);
    if let Message::Segment { segment, .. } = &mut damaged[6] {
        segment.bytes.truncate(3);
    }
    let broken = stream([results(0, 100, true), damaged]);
    let counted = counted(&recall(broken, |_, _| {}).0);
    assert!(matches!(counted[1], (6, Some(Loss::Damaged(_)))), "{counted:?}");
}

/// A stream without end, one whose numbers do not grow, and one that stops to respond: the run ends.
#[test]
fn a_hostile_stream_does_not_keep_the_run_from_ending() {
    let foreign = Message::Kill { run: KEY.run };
    let endless = |_, after| Some(Some((after + 1, Ok(foreign.clone()))));
    let (outcome, now_ns, fetches) = recall(endless, |_, _| {});
    assert_eq!(outcome.verdict, Verdict::Void(Void::NothingKept));
    assert!(now_ns < 60 * S, "{now_ns}");
    assert!(fetches > 100, "the control: it was read: {fetches}");
    let still = |_, after| Some(Some((after, Ok(foreign.clone()))));
    let (outcome, _, fetches) = recall(still, |_, _| {});
    assert_eq!((outcome.verdict, fetches), (Verdict::Void(Void::NothingKept), 2));
    let mut first = stream([results(0, 100, true), results(1, 100, true)]);
    let stops = move |at, after| if at == 1 && after == 9 { None } else { first(at, after) };
    let (outcome, now_ns, _) = recall(stops, |_, _| {});
    assert_eq!(counted(&outcome), [(100, None), (9, SILENT)]);
    assert!(now_ns < 40 * S, "{now_ns}");
}

/// Stream and agent deliver the same at once: each interval counts once. An agent that speaks is not looked for in
/// the stream.
#[test]
fn what_stream_and_agent_both_have_counts_once() {
    for (speaks_ns, is_read) in [(S, false), (4 * S, true)] {
        let own = results(1, 100, true);
        let mut sent_ns = 0;
        let speak = |now_ns: u64, coordinator: &mut Coordinator| {
            if now_ns >= speaks_ns && now_ns >= sent_ns + S / 2 {
                sent_ns = now_ns;
                let name = "a1".parse().unwrap();
                for message in &own {
                    let message = match message.clone() {
                        Message::Beat { head, beat } => {
                            Message::Beat { head, beat: Beat { sent_ns, ..beat } }
                        }
                        other => other,
                    };
                    coordinator.handle_message(now_ns, &name, message);
                }
            }
        };
        // The stream replies to no more when it has given a part of a1's results.
        let mut all = stream([results(0, 100, true), results(1, 100, true)]);
        let mut was_read = false;
        let part = |at, after| {
            was_read |= at == 1 && after == 29;
            if at == 1 && after == 30 { None } else { all(at, after) }
        };
        let (outcome, ..) = recall(part, speak);
        assert_eq!(counted(&outcome), [(100, None), (100, None)]);
        assert_eq!((outcome.verdict, was_read), (Verdict::Complete, is_read));
    }
}

/// A restarted agent says so at once; its last life has what the stream has of it.
#[test]
fn a_restarted_agent_is_not_waited_for() {
    let hello = |now_ns: u64, coordinator: &mut Coordinator| {
        let policy = Digest::of(b"");
        let hello = Hello {
            boot: 77,
            version: String::new(),
            cores: 2,
            policy,
            clock_ns: now_ns,
            busy: None,
            kept: Vec::new(),
        };
        coordinator.handle_message(now_ns, &"a1".parse().unwrap(), Message::Hello(hello));
    };
    let part = stream([results(0, 100, true), results(1, 30, false)]);
    let (outcome, now_ns, _) = recall(part, hello);
    assert_eq!(counted(&outcome), [(100, None), (30, Some(Loss::Restarted))]);
    assert!(now_ns < 8 * S, "{now_ns}");
}
