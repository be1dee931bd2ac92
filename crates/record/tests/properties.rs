//! Properties of any course of events: totals are the sum of the intervals, the ledger balances,
//! the parts of response time add up, and the distribution of requests over workers does not
//! matter.

use candor_record::{
    Agent, Collector, CollectorSettings, Disconnect, EndReason, ErrorKind, FailedRequest, Failures,
    Histogram, Interval, JourneyCounts, LEAST_PAUSE_NS, Lost, Machine, Merging, OfMachine, Pauses,
    Phase, Planned, Recorder, RecorderSettings, RunRecord, Sample, StepFailure, WorkerReport,
    Workers, contradiction, merge, wire,
};
use proptest::prelude::*;

const WARM_UP_NS: u64 = 700;
const WINDOW_END_NS: u64 = 5_200;
const REQUESTS: usize = 3;

/// One request: its times, each as the distance from the time before, and its outcome.
#[derive(Debug, Clone)]
struct Request {
    due_ns: u64,
    queue_wait_ns: u64,
    send_lag_ns: u64,
    service_ns: u64,
    request: u32,
    fate: Fate,
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    Ok,
    Failed(usize),
    Unfinished,
    BrokenOff(Option<u16>),
    Unsent,
    Shed,
}

fn request() -> impl Strategy<Value = Request> {
    let fate = prop_oneof![
        6 => Just(Fate::Ok),
        2 => (0..ErrorKind::ALL.len()).prop_map(Fate::Failed),
        1 => Just(Fate::Unfinished),
        1 => proptest::option::of(400u16..403).prop_map(Fate::BrokenOff),
        1 => Just(Fate::Unsent),
        1 => Just(Fate::Shed),
    ];
    (0..WINDOW_END_NS, 0..900u64, 0..300u64, 0..2000u64, 0..REQUESTS as u32, fate).prop_map(
        |(due_ns, queue_wait_ns, send_lag_ns, service_ns, request, fate)| Request {
            due_ns,
            queue_wait_ns,
            send_lag_ns,
            service_ns,
            request,
            fate,
        },
    )
}

impl Request {
    fn phase(&self) -> Phase {
        if self.due_ns < WARM_UP_NS { Phase::WarmUp } else { Phase::Measured }
    }

    fn sent_ns(&self) -> u64 {
        self.due_ns + self.queue_wait_ns + self.send_lag_ns
    }

    fn done_ns(&self) -> u64 {
        self.sent_ns() + self.service_ns
    }

    fn is_sent(&self) -> bool {
        !matches!(self.fate, Fate::Unsent | Fate::Shed)
    }

    fn end(&self, recorder: &mut Recorder) {
        let (now_ns, phase, request) = (self.done_ns(), self.phase(), self.request);
        let age_ns = now_ns - self.due_ns;
        match self.fate {
            Fate::Ok => recorder.ok(&Sample {
                due_ns: self.due_ns,
                ready_ns: self.due_ns + self.queue_wait_ns,
                sent_ns: self.sent_ns(),
                first_byte_ns: self.sent_ns() + self.service_ns / 2,
                done_ns: now_ns,
                request,
                status: 200 + (self.due_ns % 3) as u16,
                body_bytes: 5,
                phase,
            }),
            Fate::Failed(index) => {
                let kind = ErrorKind::ALL[index];
                let answered = matches!(kind, ErrorKind::Status | ErrorKind::Body);
                let status = answered.then_some(503);
                let failure = FailedRequest { phase, request, kind, status, age_ns };
                recorder.error(now_ns, failure, || "example".to_owned());
            }
            Fate::Unfinished => recorder.unfinished(now_ns, phase, age_ns),
            Fate::BrokenOff(status) => recorder.broken_off(now_ns, phase, status),
            Fate::Unsent => recorder.unsent(now_ns, phase, age_ns),
            Fate::Shed => recorder.shed(now_ns, phase),
        }
    }
}

/// Spreads the requests over the workers and records them in order of time.
fn run(requests: &[Request], workers: usize, interval_ns: u64) -> RunRecord {
    run_part(requests, Workers::all(workers as u32), interval_ns)
}

/// The same for some of the workers.
fn run_part(requests: &[Request], part: Workers, interval_ns: u64) -> RunRecord {
    let mut collector = Collector::new(CollectorSettings {
        digits: 3,
        requests: REQUESTS,
        journeys: 0,
        warm_up_ns: WARM_UP_NS,
        connections_asked: part.count.into(),
        workers: part,
    });
    let workers = part.of as usize;
    for (at, worker) in part.indices().map(|one| one as usize).enumerate() {
        let mut events: Vec<(u64, bool, &Request)> = Vec::new();
        for one in requests.iter().skip(worker).step_by(workers) {
            if one.is_sent() {
                events.push((one.sent_ns(), false, one));
            }
            events.push((one.done_ns(), true, one));
        }
        events.sort_by_key(|&(at_ns, ended, _)| (at_ns, ended));
        let mut recorder = Recorder::new(RecorderSettings {
            digits: 3,
            interval_ns,
            warm_up_ns: WARM_UP_NS,
            window_end_ns: Some(WINDOW_END_NS),
            drain_ns: u64::MAX,
            requests: REQUESTS,
            journeys: 0,
        });
        // One connection, whatever the number of workers.
        if worker == 0 {
            recorder.connected(0, 1);
        }
        for (at_ns, ended, one) in events {
            if ended {
                one.end(&mut recorder)
            } else {
                recorder.sent(at_ns, one.phase(), one.request)
            }
            deliver(&mut recorder, &mut collector, at);
        }
        if worker == 0 {
            recorder.disconnected(WINDOW_END_NS + 4000, Disconnect::RunOver, || "");
        }
        recorder.finish(WINDOW_END_NS + 4000, 0);
        deliver(&mut recorder, &mut collector, at);
        collector.worker_ended(at, WorkerReport::new(WINDOW_END_NS, EndReason::Duration));
    }
    collector.finish(Machine::default(), Default::default())
}

fn deliver(recorder: &mut Recorder, collector: &mut Collector, worker: usize) {
    while let Some(interval) = recorder.take_finished() {
        if let Some(used) = collector.deliver(worker, interval) {
            recorder.recycle(used);
        }
    }
    collector.settle();
}

fn count(requests: &[Request], counts: impl Fn(&Request) -> bool) -> u64 {
    requests.iter().filter(|one| counts(one)).count() as u64
}

// Each case fills and clears whole histograms for every interval: few cases, long ones.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_request_is_in_exactly_one_place(
        requests in prop::collection::vec(request(), 0..200),
        workers in 1usize..4,
        interval_ns in 300u64..2000,
    ) {
        let record = run(&requests, workers, interval_ns);
        let (measured, warm_up) = (&record.total.ledger, &record.total.warm_up);
        for (ledger, phase) in [(measured, Phase::Measured), (warm_up, Phase::WarmUp)] {
            let of = |fate: fn(&Fate) -> bool| {
                count(&requests, |one| one.phase() == phase && fate(&one.fate))
            };
            prop_assert!(ledger.balances());
            prop_assert_eq!(ledger.scheduled, of(|_| true));
            prop_assert_eq!(ledger.ok, of(|fate| matches!(fate, Fate::Ok)));
            prop_assert_eq!(ledger.errors.total(), of(|fate| matches!(fate, Fate::Failed(_))));
            prop_assert_eq!(ledger.shed, of(|fate| matches!(fate, Fate::Shed)));
            prop_assert_eq!(ledger.unsent, of(|fate| matches!(fate, Fate::Unsent)));
            prop_assert_eq!(ledger.unfinished, of(|fate| matches!(fate, Fate::Unfinished)));
            prop_assert_eq!(ledger.broken_off, of(|fate| matches!(fate, Fate::BrokenOff(_))));
        }
        let statuses: u64 = record.total.statuses.iter().map(|one| one.count).sum();
        let answered = measured.ok + measured.error(ErrorKind::Status) + measured.error(ErrorKind::Body);
        prop_assert_eq!(statuses, answered);
        let heard: u64 = record.total.broken_off_statuses.iter().map(|one| one.count).sum();
        let is_heard = |one: &&Request| {
            one.phase() == Phase::Measured && matches!(one.fate, Fate::BrokenOff(Some(_)))
        };
        prop_assert_eq!(heard, requests.iter().filter(is_heard).count() as u64);
        let rows = &record.total.requests;
        prop_assert_eq!(rows.iter().map(|row| row.sent).sum::<u64>(), measured.sent);
        prop_assert_eq!(rows.iter().map(|row| row.ok).sum::<u64>(), measured.ok);
        prop_assert_eq!(rows.iter().map(|row| row.errors).sum::<u64>(), measured.errors.total());
    }

    #[test]
    fn totals_are_the_sum_of_the_intervals(
        requests in prop::collection::vec(request(), 0..200),
        workers in 1usize..4,
        interval_ns in 300u64..2000,
    ) {
        let record = run(&requests, workers, interval_ns);
        let (total, intervals) = (&record.total, &record.intervals);
        let sum = |of: fn(&candor_record::IntervalSummary) -> u64| intervals.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|one| one.sent), total.ledger.sent);
        prop_assert_eq!(sum(|one| one.ok), total.ledger.ok);
        prop_assert_eq!(sum(|one| one.errors), total.ledger.errors.total());
        prop_assert_eq!(sum(|one| one.shed), total.ledger.shed);
        prop_assert_eq!(sum(|one| one.response.count), total.latencies.response.count());
        let in_window = intervals.iter().filter(|one| one.start_ns < WINDOW_END_NS);
        prop_assert_eq!(in_window.map(|one| one.answered).sum::<u64>(), record.answered_in_window);
        for (one, next) in intervals.iter().zip(intervals.iter().skip(1)) {
            prop_assert_eq!(one.index + 1, next.index);
            prop_assert_eq!(one.end_ns, next.start_ns);
        }
        prop_assert!(intervals.iter().any(|one| one.end_ns == WINDOW_END_NS));
        prop_assert_eq!(intervals.first().map(|one| one.start_ns), Some(WARM_UP_NS));
    }

    /// Each machine judges by its own pauses. However the run is divided, what they touched is what overlaps them, all
    /// of it is in the response times, and the difference has the other requests.
    #[test]
    fn touched_requests_are_those_in_a_pause_and_a_part_of_all(
        requests in prop::collection::vec((0..2_000u64, 0..40u64), 0..200),
        pauses in prop::collection::vec((0..2_100u64, 1..60u64), 0..6),
        cut in 1u32..3,
        late_ms in 0u64..30,
    ) {
        const MS: u64 = 1_000_000;
        let mut paused = Pauses::default();
        pauses.iter().for_each(|(at, length)| paused.add(at * MS, (at + length) * MS));
        let ms = |(due, took): &(u64, u64)| (due * MS, (due + took) * MS);
        let part = |first, count| {
            let workers = Workers { first, count, of: 3 };
            let settings = CollectorSettings {
                digits: 3,
                requests: 1,
                journeys: 0,
                warm_up_ns: 0,
                connections_asked: count.into(),
                workers,
            };
            let mut collector = Collector::new(settings);
            for (at, worker) in workers.indices().enumerate() {
                let mut recorder = Recorder::new(RecorderSettings {
                    digits: 3,
                    interval_ns: 250 * MS,
                    warm_up_ns: 0,
                    window_end_ns: Some(2_000 * MS),
                    drain_ns: 1_000 * MS,
                    requests: 1,
                    journeys: 0,
                });
                let own = requests.iter().skip(worker as usize).step_by(3).map(ms);
                let mut own: Vec<_> = own.collect();
                own.sort_by_key(|(_, done_ns)| *done_ns);
                for (due_ns, done_ns) in own {
                    recorder.advance(done_ns);
                    if recorder.has_finished() {
                        recorder.judge(&paused, done_ns.saturating_sub(late_ms * MS));
                    }
                    deliver(&mut recorder, &mut collector, at);
                    recorder.sent(done_ns, Phase::Measured, 0);
                    recorder.ok(&Sample {
                        due_ns,
                        ready_ns: due_ns,
                        sent_ns: due_ns,
                        first_byte_ns: done_ns,
                        done_ns,
                        request: 0,
                        status: 200,
                        body_bytes: 0,
                        phase: Phase::Measured,
                    });
                }
                recorder.judge(&paused, u64::MAX);
                recorder.finish(2_500 * MS, 0);
                deliver(&mut recorder, &mut collector, at);
                collector.worker_ended(at, WorkerReport::new(2_000 * MS, EndReason::Duration));
            }
            collector.finish(Machine::default(), Default::default())
        };
        let travelled = |record: RunRecord| -> RunRecord {
            wire::from_bytes(&wire::to_bytes(&record)).unwrap()
        };
        let parts = vec![travelled(part(0, cut)), travelled(part(cut, 3 - cut))];
        let record = merge(parts, 3, 1, 0).unwrap();
        prop_assert_eq!(&record.total, &part(0, 3).total);

        let all = &record.total.latencies.response;
        let (mut touched, mut rest) = (Histogram::new(3), Histogram::new(3));
        for (due_ns, done_ns) in requests.iter().map(ms) {
            let is_touched = done_ns - due_ns >= LEAST_PAUSE_NS && paused.touch(due_ns, done_ns);
            if is_touched { &mut touched } else { &mut rest }.record(done_ns - due_ns);
        }
        let counted: u64 = record.intervals.iter().map(|row| row.touched).sum();
        prop_assert_eq!(counted, touched.count());
        let found = record.total.touched.as_deref().cloned().unwrap_or(Histogram::new(3));
        prop_assert_eq!(&found, &touched);
        let left = all.without(&found);
        prop_assert_eq!((left.count(), left.sum_ns()), (rest.count(), rest.sum_ns()));
        prop_assert_eq!(left.without(&rest), Histogram::new(3));
    }

    /// Every row has the ledger of its time, and what is in flight at its end.
    #[test]
    fn every_row_has_the_ledger_of_its_time(
        requests in prop::collection::vec(request(), 0..200),
        workers in 1usize..4,
        interval_ns in 300u64..2000,
    ) {
        let record = run(&requests, workers, interval_ns);
        let (ledger, rows) = (&record.total.ledger, &record.intervals);
        prop_assert_eq!(contradiction(rows, record.total.warm_up.sent), None);
        let sum = |of: fn(&candor_record::IntervalSummary) -> u64| rows.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|one| one.unsent), ledger.unsent);
        prop_assert_eq!(sum(|one| one.broken_off), ledger.broken_off);
        prop_assert_eq!(sum(|one| one.unfinished), ledger.unfinished);
        for row in rows {
            let is_in_flight = |one: &Request| {
                one.is_sent() && one.sent_ns() < row.end_ns && row.end_ns <= one.done_ns()
            };
            prop_assert_eq!(row.in_flight, count(&requests, is_in_flight), "{}", row.end_ns);
        }
        prop_assert_eq!(rows.last().map(|row| row.in_flight), Some(0));
    }

    #[test]
    fn response_time_is_the_sum_of_its_parts(
        requests in prop::collection::vec(request(), 0..200),
        workers in 1usize..4,
    ) {
        let record = run(&requests, workers, 1000);
        let times = &record.total.latencies;
        prop_assert_eq!(
            times.response.sum_ns(),
            times.queue_wait.sum_ns() + times.send_lag.sum_ns() + times.service.sum_ns()
        );
        for histogram in [&times.queue_wait, &times.send_lag, &times.service, &times.first_byte] {
            prop_assert_eq!(histogram.count(), times.response.count());
        }
    }

    #[test]
    fn how_requests_are_spread_over_workers_does_not_matter(
        requests in prop::collection::vec(request(), 0..200),
        interval_ns in 300u64..2000,
    ) {
        let (alone, shared) = (run(&requests, 1, interval_ns), run(&requests, 3, interval_ns));
        prop_assert_eq!(&alone.intervals, &shared.intervals);
        prop_assert_eq!(
            alone.total.latencies.response.hdr(),
            shared.total.latencies.response.hdr()
        );
        prop_assert_eq!(alone.total.censored.hdr(), shared.total.censored.hdr());
        prop_assert_eq!(alone.answered_in_window, shared.answered_in_window);
    }

    /// Two processes, each with some of the workers, whose records travel as bytes.
    #[test]
    fn parts_come_to_the_whole(
        requests in prop::collection::vec(request(), 0..200),
        workers in 2usize..5,
        split in 1u32..4,
        interval_ns in 300u64..2000,
    ) {
        let of = workers as u32;
        let first = split.min(of - 1);
        let parts = [
            Workers { first, count: of - first, of },
            Workers { first: 0, count: first, of },
        ];
        let travelled = parts.map(|part| {
            let bytes = wire::to_bytes(&run_part(&requests, part, interval_ns));
            wire::from_bytes::<RunRecord>(&bytes).unwrap()
        });
        let machines = [travelled[1].machines.clone(), travelled[0].machines.clone()].concat();
        let merged = merge(travelled.to_vec(), 3, REQUESTS, 0).unwrap();
        let whole = run(&requests, workers, interval_ns);
        let connections_asked = whole.connections_asked;
        prop_assert_eq!(merged, RunRecord { machines, connections_asked, ..whole });
    }

    /// A part that is lost after some of its intervals: its ledger is closed and balances, later
    /// intervals name it, and the other part is as it was.
    #[test]
    fn a_lost_part_is_accounted_for(
        requests in prop::collection::vec(request(), 0..200),
        interval_ns in 300u64..2000,
        kept in 0usize..6,
    ) {
        let parts = [Workers { first: 0, count: 1, of: 2 }, Workers { first: 1, count: 1, of: 2 }];
        let [one, other] = parts.map(|part| run_part(&requests, part, interval_ns));
        let kept = kept.min(other.whole.len());
        let settings = CollectorSettings {
            digits: 3,
            requests: REQUESTS,
            journeys: 0,
            warm_up_ns: WARM_UP_NS,
            connections_asked: 2,
            workers: Workers::all(2),
        };
        let mut merging = Merging::new(settings, &parts).unwrap();
        merging.describe(1, &Agent::named("b"), None);
        one.whole.iter().for_each(|bytes| merging.deliver(0, bytes).unwrap());
        merging.ended(0, RunRecord { whole: Vec::new(), ..one.clone() }).unwrap();
        other.whole[..kept].iter().for_each(|bytes| merging.deliver(1, bytes).unwrap());
        merging.lost(1, EndReason::AgentLost);
        // Each interval is shown with the machines that are in it, which together are all of it.
        let mut shown = Vec::new();
        merging.settle_with(&mut |stretch| {
            shown.push((stretch.summary.clone(), stretch.machines.to_vec()));
        });
        for (summary, machines) in &shown {
            let sum = |count: fn(&OfMachine) -> u64| machines.iter().map(count).sum::<u64>();
            let all = [sum(|one| one.sent), sum(|one| one.ok), sum(|one| one.errors), sum(|one| one.backlog)];
            prop_assert_eq!(all, [summary.sent, summary.ok, summary.errors, summary.backlog]);
            let has_other = machines.iter().any(|one| one.agent.as_deref() == Some("b"));
            prop_assert_ne!(has_other, summary.missing.contains(&1));
        }
        let ledgers = |record: &RunRecord| [record.total.warm_up.clone(), record.total.ledger.clone()];
        let [warm_up, measured] = ledgers(&other).map(|ledger| ledger.scheduled);
        let unaccounted = merging.close(1, Planned { warm_up, measured, users: 0 });
        let end_ns = |bytes: &Vec<u8>| wire::from_bytes::<Interval>(bytes).unwrap().end_ns;
        let known_to_ns = other.whole[..kept].last().map_or(0, end_ns);
        merging.describe(1, &Agent::named("b"), Some("it was silent"));
        let whole = merging.finish();
        let (all, alone) = (ledgers(&whole), ledgers(&one));
        for (at, scheduled) in [warm_up, measured].into_iter().enumerate() {
            prop_assert!(all[at].balances(), "{:?}", all[at]);
            prop_assert_eq!(all[at].scheduled, alone[at].scheduled + scheduled);
            prop_assert!(all[at].sent >= alone[at].sent && all[at].ok >= alone[at].ok);
        }
        prop_assert_eq!(unaccounted, all[0].unaccounted + all[1].unaccounted);
        if kept == other.whole.len() {
            prop_assert_eq!(unaccounted, 0);
        }
        let lost = whole.machines[1].agent.as_ref().unwrap().lost.as_ref();
        prop_assert_eq!(lost, Some(&Lost { why: "it was silent".to_owned(), known_to_ns }));
        prop_assert_eq!(whole.end, EndReason::AgentLost);
        for interval in &whole.intervals {
            let is_missing = interval.end_ns > known_to_ns;
            prop_assert_eq!(&interval.missing, if is_missing { &[1u32][..] } else { &[] });
        }
    }
}

proptest! {
    /// Parts that were lost for a while, and deliver the rest when intervals were shown without them: the record is
    /// the same as if they had been there all the time.
    #[test]
    fn a_part_that_comes_back_was_never_away(
        requests in prop::collection::vec(request(), 0..200),
        interval_ns in 300u64..2000,
        kept in prop::array::uniform3(0usize..6),
        settles in prop::collection::vec(any::<bool>(), 1..20),
    ) {
        let parts = [0, 1, 2].map(|first| Workers { first, count: 1, of: 3 });
        let records = parts.map(|part| run_part(&requests, part, interval_ns));
        let whole = merge(records.to_vec(), 3, REQUESTS, 0).unwrap();
        let settings = CollectorSettings {
            digits: 3,
            requests: REQUESTS,
            journeys: 0,
            warm_up_ns: WARM_UP_NS,
            connections_asked: whole.connections_asked,
            workers: Workers::all(3),
        };
        let mut merging = Merging::new(settings, &parts).unwrap();
        let bare = |at: usize| RunRecord { whole: Vec::new(), ..records[at].clone() };
        for (at, kept) in kept.into_iter().enumerate().skip(1) {
            records[at].whole.iter().take(kept).for_each(|bytes| merging.deliver(at, bytes).unwrap());
            merging.lost(at, EndReason::AgentLost);
        }
        records[0].whole.iter().for_each(|bytes| merging.deliver(0, bytes).unwrap());
        merging.ended(0, bare(0)).unwrap();
        let mut shown = Vec::new();
        merging.settle_with(&mut |stretch| shown.push(stretch.summary.index));
        let mut settles = settles.into_iter().cycle();
        for (at, kept) in kept.into_iter().enumerate().skip(1) {
            for bytes in records[at].whole.iter().skip(kept) {
                merging.deliver(at, bytes).unwrap();
                if settles.next().unwrap() {
                    merging.settle_with(&mut |stretch| shown.push(stretch.summary.index));
                }
            }
            merging.ended(at, bare(at)).unwrap();
        }
        merging.settle_with(&mut |stretch| shown.push(stretch.summary.index));
        prop_assert!(shown.windows(2).all(|pair| pair[0] < pair[1]), "each once, in order: {:?}", shown);
        // Statuses are listed as they came.
        let sorted = |mut record: RunRecord| {
            record.total.statuses.sort_by_key(|one| one.status);
            record.total.broken_off_statuses.sort_by_key(|one| one.status);
            record
        };
        prop_assert_eq!(sorted(merging.finish()), sorted(whole));
    }
}

/// A part with users that is lost: those under way are unfinished, and the rest of its schedule is unaccounted for,
/// without those that are known not to have begun.
#[test]
fn the_users_of_a_lost_part_are_accounted_for() {
    let parts = [Workers { first: 0, count: 1, of: 2 }, Workers { first: 1, count: 1, of: 2 }];
    let settings = CollectorSettings {
        digits: 3,
        requests: 2,
        journeys: 2,
        warm_up_ns: 0,
        connections_asked: 2,
        workers: Workers::all(2),
    };
    let mut merging = Merging::new(settings, &parts).unwrap();
    for part in 0..2 {
        let mut interval = Interval { index: Some(0), end_ns: 10, ..Interval::new(3, 2, 2) };
        (interval.ledger.scheduled, interval.ledger.sent, interval.ledger.ok) = (20, 20, 17);
        for (journey, started, completed) in [(0, 7, 5), (1, 4, 4)] {
            let one = &mut interval.journeys[journey];
            (one.started, one.completed) = (started, completed);
        }
        interval.journeys[0].failed =
            vec![Failures { request: 0, why: StepFailure::Shed, count: 1 }];
        interval.users_not_begun = 3;
        merging.deliver(part, &wire::to_bytes(&interval)).unwrap();
        merging.lost(part, EndReason::AgentLost);
    }
    let planned = |users| Planned { users, ..Planned::default() };
    assert_eq!(merging.close(0, planned(20)), 20 - 7 - 4 - 3);
    assert_eq!(merging.close(0, planned(20)), 0, "they count once");
    assert_eq!(merging.close(1, planned(13)), 0, "not fewer than none");
    let total = merging.finish().total;
    assert_eq!((total.users_unaccounted, total.users_not_begun), (6, 6));
    let users: Vec<_> = total.journeys.iter().map(|one| (one.started, one.unfinished)).collect();
    assert_eq!(users, [(14, 2), (8, 0)]);
    assert!(total.journeys.iter().all(JourneyCounts::balances), "{:?}", total.journeys);
    // How many requests these users would have made is not known: those in flight are unfinished, and that is all.
    assert_eq!((total.ledger.scheduled, total.ledger.unfinished), (40, 6));
    assert!(total.ledger.unaccounted == 0 && total.ledger.balances(), "{:?}", total.ledger);
}

/// A part of a run of four workers.
fn part(first: u32, count: u32) -> RunRecord {
    run_part(&[], Workers { first, count, of: 4 }, 1000)
}

#[test]
fn what_does_not_belong_together_is_refused() {
    use candor_record::MergeError::*;
    let refused = |records: Vec<RunRecord>| merge(records, 3, REQUESTS, 0).unwrap_err();
    assert_eq!(refused(vec![]), Nothing);
    assert_eq!(refused(vec![part(0, 4)]), Whole(0));
    assert_eq!(refused(vec![part(0, 2), part(0, 2)]), Overlap(0, 1));
    assert_eq!(refused(vec![part(2, 2), part(0, 3)]), Overlap(1, 0));
    let missing = |firsts: &[u32]| {
        Missing(firsts.iter().map(|&first| Workers { first, count: 1, of: 4 }).collect())
    };
    assert_eq!(refused(vec![part(3, 1), part(0, 1)]), missing(&[1, 2]));
    assert_eq!(refused(vec![part(0, 1)]), missing(&[1, 2, 3]), "the end");
    assert_eq!(refused(vec![part(2, 1), part(1, 1)]), missing(&[0, 3]), "both ends");
    assert_eq!(
        refused(vec![part(0, 3)]),
        Missing(vec![Workers { first: 3, count: 1, of: 4 }]),
        "less than a part"
    );
    let other = run_part(&[], Workers { first: 2, count: 3, of: 5 }, 1000);
    assert_eq!(refused(vec![part(0, 2), other]), OtherSize(0, 1));
    let later = RunRecord { warm_up_ns: 1, ..part(2, 2) };
    assert_eq!(refused(vec![part(0, 2), later]), Shape(0, 1));
    let fewer = merge(vec![part(0, 2), part(2, 2)], 3, REQUESTS + 1, 0).unwrap_err();
    assert!(matches!(fewer, Damaged(0, _)), "{fewer:?}");
    let empty = RunRecord { whole: Vec::new(), ..part(2, 2) };
    assert!(matches!(refused(vec![part(0, 2), empty]), Damaged(1, _)));
    let mut backwards = part(2, 2);
    backwards.whole.reverse();
    assert!(matches!(refused(vec![part(0, 2), backwards]), Damaged(1, _)));
    let whole = merge(vec![part(1, 2), part(0, 1), part(3, 1)], 3, REQUESTS, 0).unwrap();
    assert_eq!((whole.of, whole.machines.len()), (Workers::all(4), 3));
}

/// The record of a run so far keeps nothing of histograms but their sum.
#[test]
fn rows_of_a_collector_that_follows_have_no_histogram() {
    let requests: Vec<Request> = (0..200)
        .map(|n| Request {
            due_ns: n * 25,
            queue_wait_ns: n,
            send_lag_ns: 1,
            service_ns: 1 << (n % 20),
            request: 0,
            fate: Fate::Ok,
        })
        .collect();
    let settings = CollectorSettings {
        digits: 3,
        requests: REQUESTS,
        journeys: 0,
        warm_up_ns: WARM_UP_NS,
        connections_asked: 1,
        workers: Workers::all(1),
    };
    let (mut collector, mut following) = (Collector::new(settings), Collector::new(settings));
    let mut recorder = Recorder::new(RecorderSettings {
        digits: 3,
        interval_ns: 500,
        warm_up_ns: WARM_UP_NS,
        window_end_ns: Some(WINDOW_END_NS),
        drain_ns: u64::MAX,
        requests: REQUESTS,
        journeys: 0,
    });
    for one in &requests {
        recorder.sent(one.sent_ns(), one.phase(), 0);
    }
    requests.iter().for_each(|one| one.end(&mut recorder));
    recorder.finish(WINDOW_END_NS + (1 << 20), 0);
    while let Some(interval) = recorder.take_finished() {
        collector.deliver(0, interval);
    }
    collector.settle_with(&mut |stretch| following.follow(stretch, WINDOW_END_NS));
    let so_far = following.so_far();
    assert!(so_far.intervals.iter().all(|row| row.response_hdr.0.is_empty()));
    assert!(so_far.intervals.iter().any(|row| row.response.count > 0));
    assert!(so_far.total.latencies.response.count() > 100);
}

/// Of workers that stop at different times, the drains of some have the number of an interval in which others send.
#[test]
fn intervals_follow_each_other_although_workers_stop_apart() {
    let mut collector = Collector::new(CollectorSettings {
        digits: 1,
        requests: REQUESTS,
        journeys: 0,
        warm_up_ns: 0,
        connections_asked: 3,
        workers: Workers::all(3),
    });
    let times = [
        [1000, 2000, 3000, 3200, 3300],
        [1000, 2000, 2700, 2900, 2900],
        [1000, 1500, 1600, 1600, 1600],
    ];
    for (worker, ends) in times.iter().enumerate() {
        let mut start_ns = 0;
        for (index, &end_ns) in (0..).zip(ends) {
            let mut interval = Interval::new(1, REQUESTS, 0);
            (interval.index, interval.start_ns, interval.end_ns) = (Some(index), start_ns, end_ns);
            start_ns = end_ns;
            collector.deliver(worker, interval);
        }
    }
    for (worker, window_end_ns) in [3200, 2700, 1500].into_iter().enumerate() {
        collector.worker_ended(worker, WorkerReport::new(window_end_ns, EndReason::Interrupted));
    }
    let record = collector.finish(Machine::default(), Default::default());
    let rows = record.intervals.iter().map(|one| (one.start_ns, one.end_ns, one.in_window));
    let expected = [
        (0, 1000, true),
        (1000, 2000, true),
        (2000, 3000, true),
        (3000, 3200, true),
        (3200, 3300, false),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}
