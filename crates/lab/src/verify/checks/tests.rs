//! The judges on simulated time, without noise: every line says yes for a correct loader, and the
//! relevant lines say no for a loader that counts from the send.

use std::cell::RefCell;
use std::rc::Rc;

use candor_engine::{Control, Observer, drive_observed};
use candor_plan::Plan;
use candor_record::trace::{Outcome, Traced};
use candor_record::{ErrorKind, StreamCounts};
use candor_serve::truth::{Entry, Fate, Record};
use candor_serve::{PartEntry, PartLog};
use candor_stats::closed_form::{FifoPath, LossPath};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer, ok_bytes};

use super::super::evidence::{Evidence, queue};
use super::super::experiment::plan;
use super::super::line::{Answer, Line};
use super::super::parts::{Counted, Parted, Times, responses};
use super::super::witness::Machine;
use super::{
    calls, closed, delays, events, fifo, gaps, overload, shedding, stall, targets, tokens, users,
    websocket,
};

const MS: u64 = 1_000_000;

#[derive(Default)]
struct Kept(Vec<Traced>);

impl Observer for Kept {
    fn traced(&mut self, requests: &[Traced]) {
        self.0.extend_from_slice(requests);
    }
}

/// A run on simulated time against a server that leaves a log as the truth server does; `None` is
/// a refusal.
fn simulated(
    load: &str,
    stalls_ns: &[(u64, u64)],
    departure_ns: impl FnMut(u64) -> Option<u64>,
) -> Evidence {
    simulated_plan(plan(load, "http://127.0.0.1:80/").unwrap(), stalls_ns, departure_ns)
}

fn simulated_plan(
    plan: Plan,
    stalls_ns: &[(u64, u64)],
    mut departure_ns: impl FnMut(u64) -> Option<u64>,
) -> Evidence {
    let entries = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&entries);
    let server = move |arrival_ns: u64, connection: u64, _: u64| {
        let departure_ns = departure_ns(arrival_ns);
        let at_ns = departure_ns.unwrap_or(arrival_ns);
        log.borrow_mut().push(Entry {
            arrival_ns,
            computed_ns: at_ns,
            departed_ns: at_ns,
            connection: connection as u32,
            queue: 0,
            fate: if departure_ns.is_some() { Fate::Answered } else { Fate::Refused },
        });
        let refusal = || b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec();
        let bytes = if departure_ns.is_some() { ok_bytes() } else { refusal() };
        Reaction::Answer { at_ns, bytes }
    };
    let mut kept = Kept::default();
    let reactor = SimReactor::new(server, Link::default());
    let record = drive_observed(&plan, reactor, &Control::default(), &mut kept);
    let entries = entries.borrow().clone();
    let log = Record { entries, unlogged: 0, stalls_ns: stalls_ns.to_vec(), ..Record::default() };
    Evidence::new(plan, record, kept.0, log)
}

fn fifo_run(load: &str, service_ns: u64, stalls_ns: &[(u64, u64)]) -> Evidence {
    let mut path = FifoPath::new(service_ns).with_stalls(stalls_ns.iter().copied());
    simulated(load, stalls_ns, move |arrival_ns| Some(path.departure_ns(arrival_ns)))
}

/// The same run as reported by a loader that uses the time of sending as the due time.
fn counted_from_the_sending(mut evidence: Evidence) -> Evidence {
    for one in &mut evidence.traced {
        if one.was_sent() {
            (one.due_ns, one.ready_ns) = (one.sent_ns, one.sent_ns);
        }
    }
    evidence
}

fn assert_all_yes(lines: &[Line]) {
    let wrong: Vec<&Line> = lines.iter().filter(|line| !line.is_yes()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(lines.len() > 3);
}

/// Asserts that the lines with these beginnings say no, and that one of them is exact.
fn assert_no(lines: &[Line], beginnings: &[&str]) {
    for beginning in beginnings {
        let line = lines.iter().find(|line| line.what.starts_with(beginning)).unwrap();
        assert_eq!(line.answer, Answer::No, "{line:?}");
    }
    assert!(lines.iter().any(Line::is_contradiction), "{lines:#?}");
}

#[test]
fn a_stall_is_judged() {
    let stalls = [(1_500 * MS, 2_500 * MS)];
    let load = "-R 1000 -c 20 -t 1 -d 6s";
    let evidence = fifo_run(load, stall::SERVICE_NS, &stalls);
    assert_all_yes(&stall::judge(&evidence));
    let wrong = stall::judge(&counted_from_the_sending(evidence.clone()));
    assert_no(&wrong, &["response time p90", "response time mean", "response time off"]);
    // A stall that never came, or is missing from the log, is detected too.
    let mut none = evidence;
    none.log.stalls_ns.clear();
    assert_no(&stall::judge(&none), &["stalls", "response time p99"]);
}

/// A run against two servers, told apart by their ports; the second stalls.
fn two_servers(stall: (u64, u64)) -> targets::Both {
    let [quiet, other] = ["http://127.0.0.1:80/", "http://127.0.0.1:81/"];
    let alone = plan("-R 100 -c 400 -t 1 -d 4s", quiet).unwrap();
    let plan = targets::to_both(4.0, quiet, other).unwrap();
    let logs = Rc::new(RefCell::new([Vec::new(), Vec::new()]));
    let mut path = FifoPath::new(100_000).with_stalls([stall]);
    let server = Ported {
        logs: Rc::clone(&logs),
        departure_ns: move |at: usize, arrival_ns: u64| match at {
            0 => arrival_ns + targets::SERVICE_NS,
            _ => path.departure_ns(arrival_ns),
        },
    };
    let mut kept = Kept::default();
    let reactor = SimReactor::new(server, Link::default());
    let record = drive_observed(&plan, reactor, &Control::default(), &mut kept);
    let [quiet_log, other_log] = logs.borrow().clone();
    let log = |entries, stalls_ns| Record { entries, stalls_ns, unlogged: 0, ..Record::default() };
    let logs = [log(quiet_log, Vec::new()), log(other_log, vec![stall])];
    targets::Both::new(alone, record, kept.0, logs)
}

struct Ported<F> {
    logs: Rc<RefCell<[Vec<Entry>; 2]>>,
    departure_ns: F,
}

impl<F: FnMut(usize, u64) -> u64> SimServer for Ported<F> {
    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        unreachable!("every request comes with its text")
    }

    fn text(&mut self, arrival_ns: u64, connection: u64, _: u64, request: &[u8]) -> Reaction {
        let at = usize::from(String::from_utf8_lossy(request).contains("Host: 127.0.0.1:81"));
        let at_ns = (self.departure_ns)(at, arrival_ns);
        self.logs.borrow_mut()[at].push(Entry {
            arrival_ns,
            computed_ns: at_ns,
            departed_ns: at_ns,
            connection: connection as u32,
            queue: 0,
            fate: Fate::Answered,
        });
        Reaction::Answer { at_ns, bytes: ok_bytes() }
    }
}

#[test]
fn a_stall_of_another_server_is_judged() {
    let stall = (1_000 * MS, 2_000 * MS);
    let both = two_servers(stall);
    assert_all_yes(&targets::judge(&both));
    // A loader in which all requests wait in one line, for places of any server.
    let mut waiting = both.clone();
    let in_stall = |one: &&mut Traced| one.due_ns >= stall.0 && one.due_ns < stall.1;
    for one in waiting.quiet.traced.iter_mut().filter(in_stall) {
        (one.ready_ns, one.sent_ns) = (stall.1, stall.1);
        (one.first_byte_ns, one.done_ns) =
            (stall.1 + targets::SERVICE_NS, stall.1 + targets::SERVICE_NS);
    }
    assert_no(
        &targets::judge(&waiting),
        &["requests that waited for a connection", "response time off"],
    );
    // A stall that never came is detected too.
    let mut none = both;
    none.other.stalls_ns.clear();
    assert_no(&targets::judge(&none), &["stalls", "longest response time"]);
}

#[test]
fn an_overload_is_judged() {
    let load = "-R 200 -c 8 -t 1 -d 5s --drain 1s";
    let evidence = fifo_run(load, overload::SERVICE_NS, &[]);
    assert_all_yes(&overload::judge(&evidence));
    let wrong = overload::judge(&counted_from_the_sending(evidence));
    assert_no(&wrong, &["response time of the last", "response time mean", "response time off"]);
}

#[test]
fn poisson_arrivals_are_judged() {
    for rate in [30, 50, 70] {
        let load = format!("-R {rate} --arrivals poisson -c 2 -t 1 -d 60s");
        let evidence = fifo_run(&load, 10 * MS, &[]);
        assert_all_yes(&fifo::judge(&evidence, 10 * MS, "sim"));
        let wrong = fifo::judge(&counted_from_the_sending(evidence), 10 * MS, "sim");
        assert_no(&wrong, &["response time mean", "response time off"]);
    }
}

#[test]
fn a_delay_is_judged() {
    let evidence = simulated("-R 200 -c 10 -t 1 -d 2s", &[], |at_ns| Some(at_ns + 10 * MS));
    assert_all_yes(&delays::judge(&evidence, 10 * MS));
    // A server that is a tenth faster than configured.
    let faster = simulated("-R 200 -c 10 -t 1 -d 2s", &[], |at_ns| Some(at_ns + 9 * MS));
    assert_no(&delays::judge(&faster, 10 * MS), &["p50", "contradictions"]);
}

#[test]
fn a_closed_loop_is_judged() {
    for think_ms in [0, 20] {
        let load = format!("-c 20 -t 1 -d 2500ms --think-time {think_ms}ms");
        let evidence = simulated(&load, &[], |at_ns| Some(at_ns + closed::SERVICE_NS));
        assert_all_yes(&closed::judge(&evidence, think_ms * MS));
    }
}

#[test]
fn users_are_judged() {
    let load = plan("-R 100 -c 50 -t 1 -d 2s", "http://127.0.0.1:80/").unwrap();
    let load = load.with(users::journey).unwrap();
    let evidence = simulated_plan(load, &[], |at_ns| Some(at_ns + users::SERVICE_NS));
    assert_all_yes(&users::judge(&evidence));
    // A loader that is busy sends late; counted from the send, its steps are not due when they were.
    let mut late = evidence.clone();
    late.traced.iter_mut().filter(|one| one.request > 0).for_each(|one| one.due_ns += 1);
    assert_no(&users::judge(&late), &["steps due at another time"]);
    let mut lost = evidence;
    lost.record.total.journeys[0].completed -= 1;
    assert_no(&users::judge(&lost), &["users: completed"]);

    let mut record = lost.record;
    record.total.journeys[0].completed += 1;
    record.total.requests[1].errors = 0;
    assert!(users::judge_tokens(&record).iter().all(Line::is_yes));
    record.total.requests[1].errors = 1;
    assert_no(&users::judge_tokens(&record), &["tokens of another user"]);
}

#[test]
fn shedding_is_judged() {
    let load = "-R 400 --arrivals poisson -t 1 -d 5s";
    let delay = |at_ns| Some(at_ns + shedding::SERVICE_NS);
    let evidence = simulated(&format!("{load} -c 5 --shed-after 0"), &[], delay);
    assert_all_yes(&shedding::judge_shed(&evidence));
    // Without shedding, requests wait: none is lost, and the share shows that.
    let kept = simulated(&format!("{load} -c 5"), &[], delay);
    assert_no(&shedding::judge_shed(&kept), &["wrong decisions", "share shed by the loader"]);

    // A loader that is stalled at the end may leave requests that it had no time to drop; in the
    // middle it may not.
    let mut left = evidence;
    let is_shed = |one: &&mut Traced| one.outcome == Outcome::Shed;
    let last = left.traced.iter_mut().rfind(is_shed).unwrap();
    last.outcome = Outcome::Unsent;
    let end_ns = last.due_ns;
    assert_no(&shedding::judge_shed(&left), &["wrong decisions"]);
    left.traced.retain(|one| one.due_ns <= end_ns);
    let lines = shedding::judge_shed(&left);
    assert!(lines.iter().any(|line| line.what.starts_with("wrong decisions") && line.is_yes()));

    let mut path = LossPath::new(shedding::SERVICE_NS, 5);
    let refused = simulated(&format!("{load} -c 50"), &[], |at_ns| path.departure_ns(at_ns));
    assert_all_yes(&shedding::judge_refused(&refused));
}

#[test]
fn what_is_missing_in_one_of_the_books_is_found() {
    let evidence = fifo_run("-R 50 -c 2 -t 1 -d 5s", 10 * MS, &[]);
    let judge = |evidence: &Evidence| fifo::judge(evidence, 10 * MS, "sim");
    let mut lost = evidence.clone();
    lost.traced.remove(7);
    assert_no(&judge(&lost), &["requests in the loader's trace", "contradictions"]);
    let mut lost = evidence.clone();
    lost.log.entries.remove(7);
    assert_no(&judge(&lost), &["requests in the server's log"]);
    // Impossible times: a response before its request.
    let mut early = evidence;
    early.traced[7].first_byte_ns -= 20 * MS;
    assert_no(&judge(&early), &["contradictions"]);
}

#[test]
fn a_request_is_expected_by_what_the_log_has_of_those_before() {
    let base = fifo_run("-R 50 -c 2 -t 1 -d 5s", 10 * MS, &[]);
    let expected_ms = |evidence: &Evidence| -> Vec<f64> {
        let expected = evidence.expected_ns(queue(FifoPath::new(10 * MS)));
        expected.iter().map(|ns| ns / MS as f64).collect()
    };
    assert!(expected_ms(&base).iter().all(|&ms| ms == 10.0));
    // The loader is paused when request 50 is due, and 51 and 52 fall due meanwhile.
    let loader = [(995 * MS, 1_045 * MS)];
    let evidence = paused(base.clone(), &loader, &[], FifoPath::new(10 * MS));
    let responses = evidence.responses_ns();
    assert_eq!(
        responses[50..56].iter().map(|ns| ns / MS as f64).collect::<Vec<_>>(),
        [55.0, 45.0, 35.0, 25.0, 15.0, 10.0]
    );
    // Those that the pause touched were not expected to be late; those that came to the queue that it left behind were.
    let expected = expected_ms(&evidence);
    assert_eq!(expected[50..56], [10.0, 45.0, 35.0, 25.0, 15.0, 10.0]);
    let touched = evidence.touched();
    let of_touched = touched.iter().enumerate().filter(|(_, touched)| **touched);
    assert_eq!(of_touched.map(|(rank, _)| rank).collect::<Vec<_>>(), [50, 51]);
}

/// Times in which the machine pauses a process: `count` of them in each second of `run_s`, of 1 to 8 ms.
fn pauses(run_s: u64, count: u64, seed: u64) -> Vec<(u64, u64)> {
    let each = |n: u64| {
        let mixed = (n + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let from_ns = n * (1000 * MS / count) + mixed % (300 * MS / count);
        (from_ns, from_ns + (1 + mixed % 8) * MS)
    };
    (1..run_s * count).map(each).collect()
}

/// The same run on a machine that paused the loader and the server at these times.
fn paused(
    mut evidence: Evidence,
    loader: &[(u64, u64)],
    server: &[(u64, u64)],
    mut path: FifoPath,
) -> Evidence {
    let machine = Machine { loader, server };
    let only = |pauses| Machine { loader: pauses, server: &[] };
    let places = evidence.plan.connections.count as usize;
    let mut done: Vec<u64> = Vec::new();
    let sent = evidence.traced.iter_mut().filter(|one| one.was_sent());
    for (one, entry) in sent.zip(&mut evidence.log.entries) {
        let free_ns = done.len().checked_sub(places).map_or(0, |before| done[before]);
        one.ready_ns = one.due_ns.max(free_ns);
        one.sent_ns = only(loader).arrival_ns(one.ready_ns);
        entry.arrival_ns = machine.arrival_ns(one.ready_ns);
        entry.computed_ns = path.departure_ns(entry.arrival_ns);
        entry.departed_ns = only(server).arrival_ns(entry.computed_ns);
        one.done_ns = machine.done_ns(entry.departed_ns);
        one.first_byte_ns = one.done_ns;
        done.push(one.done_ns);
    }
    evidence.record.machines[0].held_up = loader.to_vec();
    evidence.log.held_up_ns = server.to_vec();
    evidence
}

/// The same run as reported by a loader that takes every response for so much later than it was read.
fn read_late(mut evidence: Evidence, late_ns: u64) -> Evidence {
    for one in evidence.traced.iter_mut().filter(|one| one.was_sent()) {
        (one.first_byte_ns, one.done_ns) = (one.first_byte_ns + late_ns, one.done_ns + late_ns);
    }
    evidence
}

/// The queues of the checks, on a machine that pauses both processes `count` times a second: the true run and each
/// falsified one, and how to judge them.
fn on_a_machine_that_pauses(
    count: u64,
    judged: impl Fn(&dyn Fn(&Evidence) -> Vec<Line>, Evidence),
) {
    let with = |evidence: Evidence, path: FifoPath| {
        let run_s = evidence.record.window_ns / 1_000_000_000;
        paused(evidence, &pauses(run_s, count, 1), &pauses(run_s, count, 77), path)
    };
    let stalls = [(1_500 * MS, 2_500 * MS)];
    let path = FifoPath::new(stall::SERVICE_NS).with_stalls(stalls);
    judged(
        &stall::judge,
        with(fifo_run("-R 1000 -c 20 -t 1 -d 6s", stall::SERVICE_NS, &stalls), path),
    );
    let path = FifoPath::new(10 * MS);
    for rate in [30, 50, 70] {
        let load = format!("-R {rate} --arrivals poisson -c 2 -t 1 -d 60s");
        let judge = |evidence: &Evidence| fifo::judge(evidence, 10 * MS, "sim");
        judged(&judge, with(fifo_run(&load, 10 * MS, &[]), path.clone()));
    }
    let load = "-R 200 -c 8 -t 1 -d 5s --drain 1s";
    judged(&overload::judge, with(fifo_run(load, 10 * MS, &[]), path));
}

#[test]
fn pauses_of_the_machine_are_no_fault_and_hide_none() {
    on_a_machine_that_pauses(10, |judge, evidence| {
        let lines = judge(&evidence);
        assert_all_yes(&lines);
        let touched = lines.iter().find(|line| line.what == "requests touched by a pause").unwrap();
        assert!((0.01..0.6).contains(&touched.measured), "{touched:?}");
        let wrong = judge(&counted_from_the_sending(evidence.clone()));
        assert_no(&wrong, &["response time mean", "response time off its own path"]);
        // No exact line says no; those that depend on time have to.
        let wrong = judge(&read_late(evidence, 2 * MS));
        assert!(!wrong.iter().any(Line::is_contradiction));
        for beginning in ["response time off its own path", "responses read after they left"] {
            let line = wrong.iter().find(|line| line.what.starts_with(beginning)).unwrap();
            assert_eq!(line.answer, Answer::No, "{line:?}");
            assert!(line.detail.as_ref().unwrap().starts_with("the machine paused "), "{line:?}");
        }
    });
}

#[test]
fn a_machine_that_pauses_too_much_is_no_answer_but_to_exact_lines() {
    let load = "-R 200 -c 200 -t 1 -d 5s";
    let evidence = simulated(load, &[], Some);
    let of = |evidence: &Evidence| delays::judge(evidence, 0);
    // 4 of 5 ms.
    let all: Vec<(u64, u64)> = (0..1000).map(|n| (n * 5 * MS, n * 5 * MS + 4 * MS)).collect();
    let evidence = paused(evidence, &all, &[], FifoPath::new(0));
    // What holds for all requests holds, whatever touched them.
    assert_all_yes(&of(&evidence));
    let (held, rest): (Vec<Line>, Vec<Line>) =
        of(&read_late(evidence.clone(), MS)).into_iter().partition(Line::is_yes);
    // The books, and the server's punctuality.
    assert_eq!((held.len(), held.iter().filter(|line| line.exact).count()), (4, 3), "{held:?}");
    assert_eq!(rest.len(), 2);
    for line in rest {
        assert_eq!(line.answer, Answer::CannotTell, "{line:?}");
        let told = "the machine paused 1,000 times, for up to 4 ms";
        assert_eq!(line.detail.as_deref(), Some(told));
    }
    let mut lost = evidence;
    lost.traced.remove(7);
    assert_eq!(Line::worst(&of(&lost)), Answer::No);
}

/// A run on simulated time against a target that sends events at these times and leaves a log of them.
fn simulated_events(load: &str, times: Times) -> Parted {
    let plan = plan(&format!("{load} --stream sse"), "http://127.0.0.1:80/").unwrap();
    let log = Rc::new(RefCell::new(PartLog::default()));
    let entries = Rc::clone(&log);
    let mut stream = 0;
    let server = move |at_ns: u64, _: u64, _: u64| {
        let mut all =
            vec![(at_ns, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec())];
        for index in 0..times.count {
            let due_ns = at_ns + times.due_ns(index);
            let event = format!("data: {{\"seq\":{index},\"due_ns\":{due_ns}}}\n\n");
            all.push((due_ns, format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()));
            let (departed_ns, scenario) = (due_ns, "sse_events");
            let entry = PartEntry { due_ns, departed_ns, stream, index, scenario };
            entries.borrow_mut().entries.push(entry);
        }
        all.push((at_ns + times.whole_ns(), b"0\r\n\r\n".to_vec()));
        stream += 1;
        Reaction::Answers(all)
    };
    let mut kept = Kept::default();
    let reactor = SimReactor::new(server, Link::default());
    let record = drive_observed(&plan, reactor, &Control::default(), &mut kept);
    let log = log.borrow().clone();
    let sent = log.entries.len() as u64;
    let evidence = Evidence::new(plan, record, kept.0, responses(&log, times));
    let counted = Counted { requests: sent / times.count, received: 0, sent };
    Parted { evidence, log, counted }
}

/// The same run on a machine that paused the loader and the target at these times.
fn paused_events(
    mut parted: Parted,
    loader: &[(u64, u64)],
    server: &[(u64, u64)],
    times: Times,
) -> Parted {
    let machine = Machine { loader, server };
    let only = |pauses| Machine { loader: pauses, server: &[] };
    let Evidence { record, traced, log, .. } = &mut parted.evidence;
    let all = record.total.streams.as_deref_mut().unwrap();
    all.coalesced = 0;
    for figure in [&mut all.first_part, &mut all.gap, &mut all.last_part, &mut all.longest_gap] {
        figure.clear();
    }
    parted.log.entries.clear();
    for (stream, one) in (0..).zip(traced) {
        one.sent_ns = only(loader).arrival_ns(one.due_ns);
        let arrival_ns = machine.arrival_ns(one.due_ns);
        let part = |index| {
            let due_ns = arrival_ns + times.due_ns(index);
            let (departed_ns, scenario) = (only(server).arrival_ns(due_ns), "sse_events");
            PartEntry { due_ns, departed_ns, stream, index, scenario }
        };
        let parts: Vec<PartEntry> = (0..times.count).map(part).collect();
        let read: Vec<u64> = parts.iter().map(|part| machine.done_ns(part.departed_ns)).collect();
        let (first_ns, last_ns) = (read[0], read[read.len() - 1]);
        all.first_part.record(first_ns - one.due_ns);
        all.last_part.record(last_ns - one.due_ns);
        let (gaps, none): (Vec<u64>, Vec<u64>) =
            read.windows(2).map(|two| two[1] - two[0]).partition(|&gap_ns| gap_ns > 0);
        gaps.iter().for_each(|&gap_ns| all.gap.record(gap_ns));
        all.longest_gap.record(*gaps.iter().max().unwrap());
        all.coalesced += none.len() as u64;
        (one.first_byte_ns, one.done_ns) = (first_ns, last_ns);
        parted.log.entries.extend(parts);
    }
    record.machines[0].held_up = loader.to_vec();
    parted.log.held_up_ns = server.to_vec();
    *log = responses(&parted.log, times);
    parted
}

#[test]
fn pauses_between_events_are_no_fault_and_hide_none() {
    for (times, judge) in [
        (events::TIMES, events::judge as fn(&Parted, &str) -> Vec<Line>),
        (gaps::TIMES, gaps::judge),
    ] {
        let parted = simulated_events("-R 100 -c 50 -t 1 -d 2s", times);
        let parted = paused_events(parted, &pauses(3, 10, 1), &pauses(3, 10, 77), times);
        assert_all_yes(&judge(&parted, "sim"));
        // A loader that takes each event for 2 ms later than it was read.
        let mut wrong = parted;
        wrong.evidence = read_late(wrong.evidence, 2 * MS);
        let due = wrong.evidence.schedule();
        let firsts = wrong.log.entries.iter().filter(|part| part.index == 0);
        let late = firsts.zip(due).map(|(part, due_ns)| part.departed_ns - due_ns + 2 * MS);
        let late: Vec<u64> = late.collect();
        let all = figures(&mut wrong);
        all.first_part.clear();
        late.into_iter().for_each(|ns| all.first_part.record(ns));
        let lines = judge(&wrong, "sim");
        for beginning in ["first event p50, off the", "response time off its own path"] {
            let line = lines.iter().find(|line| line.what.starts_with(beginning)).unwrap();
            assert_eq!(line.answer, Answer::No, "{line:?}");
        }
        assert!(!lines.iter().any(Line::is_contradiction));
    }
}

#[test]
fn tokens_are_judged() {
    let load = format!("-R 100 -c 50 -t 1 -d 2s {}", tokens::RULES);
    let parted = simulated_events(&load, tokens::TIMES);
    assert_all_yes(&tokens::judge(&parted, "sim"));
    // The first event taken for the first token, and every event for one.
    let mut wrong = parted.clone();
    let all = figures(&mut wrong);
    (all.first_token, all.token_gap) = (all.first_part.clone(), all.gap.clone());
    let lines = tokens::judge(&wrong, "sim");
    assert_no(&lines, &["time to first token", "gaps of tokens"]);
    // The number of events taken for that of tokens.
    let mut wrong = parted;
    let all = figures(&mut wrong);
    all.time_per_token = all.token_gap.clone();
    all.tokens -= 1;
    assert_no(&tokens::judge(&wrong, "sim"), &["time per output token", "tokens, as the last"]);
}

fn figures(parted: &mut Parted) -> &mut StreamCounts {
    parted.evidence.record.total.streams.as_deref_mut().unwrap()
}

#[test]
fn events_are_judged() {
    let parted = simulated_events("-R 100 -c 50 -t 1 -d 2s", events::TIMES);
    assert_all_yes(&events::judge(&parted, "sim"));
    // An event that was not read, and one that another response has too.
    let mut lost = parted.clone();
    lost.evidence.record.total.parts.count -= 1;
    assert_no(&events::judge(&lost, "sim"), &["events read"]);
    let mut early = parted.clone();
    early.log.entries[13].due_ns -= MS;
    assert_no(&events::judge(&early, "sim"), &["events due at other times"]);
    // The first byte taken for the first event.
    let mut wrong = parted;
    let all = figures(&mut wrong);
    all.first_part = all.first_byte.clone();
    wrong.evidence.record.total.parts.count += 1;
    let lines = events::judge(&wrong, "sim");
    assert_no(&lines, &["first event: t₀, p50", "first event p99, off the"]);
}

#[test]
fn events_that_wait_for_a_connection_are_judged() {
    let parted = simulated_events(events::CROWDED, events::TIMES);
    assert_all_yes(&events::judge_crowded(&parted));
    let mut wrong = parted;
    wrong.evidence = counted_from_the_sending(wrong.evidence);
    let all = figures(&mut wrong);
    all.first_part.clear();
    (0..20).for_each(|_| all.first_part.record(events::TIMES.due_ns(0)));
    let lines = events::judge_crowded(&wrong);
    assert_no(&lines, &["first event of those that wait", "first event p99", "contradictions"]);
}

#[test]
fn gaps_are_judged() {
    let times = gaps::TIMES;
    assert_eq!((times.longest_gap_ns(), times.together()), (105 * MS, 9));
    let parted = simulated_events("-R 100 -c 50 -t 1 -d 1s", times);
    assert_all_yes(&gaps::judge(&parted, "sim"));
    // Loaders that record a gap between events that they have read together: the time of the parser, or none.
    for gap_ns in [900, 0] {
        let mut wrong = parted.clone();
        let all = figures(&mut wrong);
        (0..std::mem::take(&mut all.coalesced)).for_each(|_| all.gap.record(gap_ns));
        let lines = gaps::judge(&wrong, "sim");
        assert_no(&lines, &["gaps recorded of events that left together", "events read with"]);
        assert_eq!(
            lines.iter().any(|one| one.what == "gaps of zero" && !one.is_yes()),
            gap_ns == 0
        );
    }
    // A loader that does not see the stall.
    let mut wrong = parted;
    let all = figures(&mut wrong);
    let count = all.longest_gap.count();
    all.longest_gap.clear();
    (0..count).for_each(|_| all.longest_gap.record(10 * MS));
    all.coalesced -= 1;
    assert_no(&gaps::judge(&wrong, "sim"), &["longest gap, p50", "gaps, recorded or read"]);
}

#[test]
fn websockets_are_judged() {
    let parted = |evidence: Evidence| {
        let ledger = &evidence.record.total.ledger;
        let counted = Counted { requests: 1, received: ledger.sent, sent: ledger.ok };
        Parted { log: PartLog::default(), counted, evidence }
    };
    let echo = |at_ns| Some(at_ns + websocket::DELAY_NS);
    let echoed = parted(simulated("-R 400 -c 10 -t 1 -d 1s", &[], echo));
    assert_all_yes(&websocket::judge(&echoed, "sim"));
    let mut lost = echoed;
    lost.counted.received += 1;
    assert_no(&websocket::judge(&lost, "sim"), &["messages that the target received"]);

    let (rate, stall_ns) = (websocket::STALLED_RATE_PER_S, websocket::STALL_NS);
    let load = format!("-R {rate} -c 200 -t 1 -d 1s");
    let mut stalled = parted(simulated(&load, &[], |at_ns| Some(at_ns.max(stall_ns))));
    // Its messages are read when the stall is over.
    for entry in &mut stalled.evidence.log.entries {
        entry.arrival_ns = entry.computed_ns;
    }
    assert_all_yes(&websocket::judge_stall(&stalled));
    stalled.evidence = counted_from_the_sending(stalled.evidence);
    for one in &mut stalled.evidence.traced {
        (one.due_ns, one.ready_ns, one.sent_ns) = (one.done_ns, one.done_ns, one.done_ns);
    }
    let lines = websocket::judge_stall(&stalled);
    assert_no(&lines, &["response time max", "response time off", "contradictions"]);
}

#[test]
fn calls_are_judged() {
    let mut parted = simulated_events("-R 100 -c 50 -t 1 -d 2s", calls::TIMES);
    assert_all_yes(&calls::judge_stream(&parted));
    // Messages that a loader stamps when their call ends.
    let all = figures(&mut parted);
    let count = all.gap.count();
    all.gap.clear();
    (1..count).for_each(|_| all.gap.record(MS));
    assert_no(&calls::judge_stream(&parted), &["gap of messages: D, p50", "gap p50, off the"]);

    let echo = |at_ns| Some(at_ns + websocket::DELAY_NS);
    let evidence = simulated("-R 500 -c 10 -t 1 -n 50", &[], echo);
    let counted = Counted { requests: 50, received: 50, sent: 50 };
    let mut called = Parted { log: PartLog::default(), counted, evidence };
    assert_all_yes(&calls::judge(&called));
    // Calls that failed and were taken for right ones.
    let wrong = calls::judge_statuses(&called);
    assert_no(&wrong, &["of these NOT_FOUND", "and OK"]);
    let ledger = &mut called.evidence.record.total.ledger;
    ledger.ok = 0;
    (0..50).for_each(|_| ledger.errors.add(ErrorKind::GrpcNotFound as usize, || ""));
    assert_all_yes(&calls::judge_statuses(&called));
}
