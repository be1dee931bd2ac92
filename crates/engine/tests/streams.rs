//! Streams of events on simulated time: event k at t₀ + k·D, so that every figure is known to the nanosecond.

use std::collections::BTreeSet;

use crate::common::*;
use candor_engine::{Control, drive};
use candor_plan::{
    Arrivals, Goodput, Journey, Journeys, ModelApi, OnFailure, Parts, Step, StreamForm, Streaming,
    Tokens, Work,
};
use candor_record::{ErrorKind, Histogram, RunRecord, StreamCounts};
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer};

/// The head comes after this, the first event after `T0`, one more after each `D`.
const HEAD: u64 = 10 * MS;
const T0: u64 = 30 * MS;
const D: u64 = 21 * MS;
/// Events of a response.
const N: u64 = 6;
/// The last event, and with it the end of the response.
const WHOLE: u64 = T0 + (N - 1) * D;

fn chunk(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

fn head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec()
}

/// Event k of `text` after T0 + k·D, the end of the body with the last.
fn events(at_ns: u64, text: &str) -> Vec<(u64, Vec<u8>)> {
    let one = |k: u64| (at_ns + T0 + k * D, chunk(text));
    let mut all = vec![(at_ns + HEAD, head())];
    all.extend((0..N).map(one));
    if let Some((_, last)) = all.last_mut() {
        last.extend_from_slice(b"0\r\n\r\n");
    }
    all
}

fn streaming() -> impl SimServer {
    |at_ns: u64, _: u64, _: u64| Reaction::Answers(events(at_ns, "data: x\n\n"))
}

fn sse() -> Streaming {
    Streaming::new(StreamForm::Sse)
}

fn of(mut plan: Parts, stream: Streaming) -> Parts {
    plan.work.requests_mut()[0].stream = Some(stream);
    plan
}

/// `count` requests one after the other on one connection.
fn few(count: u64, stream: Streaming) -> Parts {
    let mut plan = of(plan(1, closed(0), 10 * S), stream);
    plan.stop.count = Some(count);
    plan
}

fn run(plan: &Parts, server: impl SimServer) -> RunRecord {
    let plan = checked(plan);
    let record = drive(&plan, SimReactor::new(server, Link::default()), &Control::default());
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    record
}

fn streams(record: &RunRecord) -> &StreamCounts {
    record.total.streams.as_ref().expect("events came")
}

/// All samples have this value.
fn assert_all(histogram: &Histogram, count: u64, value: u64) {
    let ends = (histogram.count(), histogram.min_ns(), histogram.max_ns());
    assert_eq!(ends, (count, Some(value), Some(value)));
}

#[test]
fn every_event_comes_at_its_time() {
    let plan = of(plan(50, open(100, Arrivals::Constant), 10 * S), sse());
    let record = run(&plan, streaming());
    let streams = streams(&record);
    assert_eq!(record.total.ledger.ok, 1000);
    assert_all(&streams.first_byte, 1000, HEAD);
    assert_all(&streams.first_part, 1000, T0);
    assert_all(&streams.gap, 1000 * (N - 1), D);
    assert_all(&streams.last_part, 1000, WHOLE);
    assert_all(&streams.longest_gap, 1000, D);
    assert_all(&streams.parts, 1000, N);
    assert_eq!((streams.coalesced, streams.unbegun, streams.tokens), (0, 0, 0));
    assert_eq!((record.total.parts.count, record.total.parts.bytes), (1000 * N, 1000 * N));
    assert_all(&record.total.latencies.response, 1000, WHOLE);
    // Little: 100/s · 135 ms are in flight, of which the oldest ends half a gap before the boundary.
    let in_flight: BTreeSet<u64> =
        record.intervals[1..10].iter().map(|one| one.in_flight).collect();
    assert_eq!(in_flight, [100 * WHOLE / S].into());
}

#[test]
fn times_count_from_when_the_request_was_due() {
    // One connection, a request due each 100 ms: the second waits 35 ms, the third 70 ms.
    let mut plan = of(plan(1, open(10, Arrivals::Constant), 10 * S), sse());
    plan.stop.count = Some(3);
    let record = run(&plan, streaming());
    let streams = streams(&record);
    for (histogram, least) in
        [(&streams.first_byte, HEAD), (&streams.first_part, T0), (&streams.last_part, WHOLE)]
    {
        assert_eq!((histogram.min_ns(), histogram.max_ns()), (Some(least), Some(least + 70 * MS)));
        assert_eq!(histogram.sum_ns(), u128::from(3 * least + 105 * MS));
    }
    assert_all(&streams.gap, 3 * (N - 1), D);
}

#[test]
fn events_of_one_read_have_no_gap_and_are_counted() {
    let server =
        |at_ns: u64, _: u64, _: u64| Reaction::Answers(events(at_ns, "data: x\n\ndata: y\n\n"));
    let record = run(&few(4, sse()), server);
    let streams = streams(&record);
    assert_all(&streams.gap, 4 * (N - 1), D);
    assert_eq!(streams.coalesced, 4 * N);
    assert_all(&streams.parts, 4, 2 * N);
    // All in one read: no gap is known, and none is the longest.
    let server = |at_ns: u64, _: u64, _: u64| {
        let all = events(0, "data: x\n\n").into_iter().flat_map(|(_, bytes)| bytes);
        Reaction::Answer { at_ns: at_ns + T0, bytes: all.collect() }
    };
    let record = run(&few(4, Streaming { tokens: Some(Tokens::Events), ..sse() }), server);
    let streams = self::streams(&record);
    assert_eq!((streams.gap.count(), streams.longest_gap.count()), (0, 0));
    assert_eq!(streams.coalesced, 4 * (N - 1));
    assert_all(&streams.first_part, 4, T0);
    assert_all(&streams.last_part, 4, T0);
    assert_eq!((streams.tokens, streams.time_per_token.count()), (4 * N, 0));
}

#[test]
fn comments_are_no_events() {
    let server = |at_ns: u64, _: u64, _: u64| {
        let mut all = events(at_ns, "data: x\n\n");
        let pings: Vec<_> =
            all[1..].iter().map(|(ns, _)| (ns - 7 * MS, chunk(": ping\n\n"))).collect();
        all.extend(pings);
        all.sort_by_key(|(ns, _)| *ns);
        Reaction::Answers(all)
    };
    let record = run(&few(4, sse()), server);
    let streams = streams(&record);
    assert_all(&streams.first_part, 4, T0);
    assert_all(&streams.gap, 4 * (N - 1), D);
    assert_all(&streams.parts, 4, N);
}

#[test]
fn tokens_are_events_or_what_an_event_says() {
    let counted = Streaming { tokens: Some(Tokens::Events), ..sse() };
    let record = run(&few(4, counted), streaming());
    assert_all(&streams(&record).tokens_of_one, 4, N);
    assert_all(&streams(&record).time_per_token, 4, D);
    let at = Tokens::At("json:$.n".to_owned());
    let server =
        |at_ns: u64, _: u64, _: u64| Reaction::Answers(events(at_ns, "data: {\"n\":16}\n\n"));
    let record = run(&few(4, Streaming { tokens: Some(at), ..sse() }), server);
    assert_eq!(streams(&record).tokens, 4 * 16);
    // (last − first) / (tokens − 1) = 105 ms / 15
    assert_all(&streams(&record).time_per_token, 4, 7 * MS);
}

/// The role comes at once, then tokens, then the usage: only tokens have the times of tokens.
#[test]
fn tokens_have_times_of_their_own() {
    let chat = |ns: u64, delta: &str| {
        (ns, chunk(&format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n")))
    };
    let server = move |at_ns: u64, _: u64, _: u64| {
        let token = |k: u64| chat(at_ns + T0 + k * D, "{\"content\":\"x\"}");
        let mut all = vec![(at_ns + HEAD, head())];
        all.push(chat(at_ns + 2 * HEAD, "{\"role\":\"assistant\",\"content\":\"\"}"));
        all.extend((0..N).map(token));
        let usage = "data: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":15}}\n\n";
        let end = [chunk(usage), chunk("data: [DONE]\n\n"), b"0\r\n\r\n".to_vec()].concat();
        all.push((at_ns + WHOLE + D, end));
        Reaction::Answers(all)
    };
    let record = run(&few(4, ModelApi::OpenaiChat.streaming()), server);
    assert_eq!(record.total.ledger.ok, 4);
    let streams = streams(&record);
    assert_all(&streams.first_part, 4, 2 * HEAD);
    assert_all(&streams.first_token, 4, T0);
    assert_all(&streams.token_gap, 4 * (N - 1), D);
    assert_all(&streams.parts, 4, N + 2);
    assert_all(&streams.tokens_of_one, 4, 15);
    assert_all(&streams.time_per_token, 4, (N - 1) * D / 14);
    assert_eq!((streams.tokens, streams.input_tokens), (4 * 15, 4 * 5));
    assert_eq!((streams.coalesced, streams.tokens_coalesced), (0, 0));
}

/// Response n of 20 begins n ms later than the first one, and its gaps are n ms longer: each limit has its own share,
/// and together they have the least of these.
#[test]
fn good_responses_are_under_every_limit() {
    let good = |limits: &str, count: u64| {
        let mut served = 0;
        let server = move |at_ns: u64, _: u64, _: u64| {
            let late_ns = served * MS;
            served += 1;
            let mut all = vec![(at_ns + HEAD, head())];
            all.extend(
                (0..N).map(|k| (at_ns + T0 + late_ns + k * (D + late_ns), chunk("data: x\n\n"))),
            );
            if let Some((_, last)) = all.last_mut() {
                last.extend_from_slice(b"0\r\n\r\n");
            }
            Reaction::Answers(all)
        };
        let mut plan = few(count, Streaming { tokens: Some(Tokens::Events), ..sse() });
        let limits: Goodput = limits.parse().unwrap();
        plan.recording.goodput = Some(limits);
        let record = run(&plan, server);
        assert_eq!(record.total.ledger.ok, count);
        assert_eq!(record.intervals.iter().map(|one| one.good).sum::<u64>(), record.total.good);
        record.total.good
    };
    // n: T0 + n ms < limit; D + n ms < limit; and in all T0 + 5·D + 6·n ms < limit, with T0 = 30 ms, D = 21 ms.
    for (limits, wanted) in [
        ("response<135ms", 0),
        ("response<165ms", 5),
        ("response<166ms", 6),
        ("ttft<37ms", 7),
        ("first-event<37ms", 7),
        ("itl<29ms", 8),
        ("gap<29ms", 8),
        ("tpot<30ms", 9),
        ("ttft<37ms,tpot<30ms,response<165ms", 5),
        ("ttft<37ms,tpot<30ms,response<1s", 7),
        ("ttft<1s,itl<1s,tpot<1s,response<1s,gap<1s,first-event<1s", 20),
    ] {
        assert_eq!(good(limits, 20), wanted, "{limits}");
    }
}

/// What failed is not good, and neither is what had no token; a limit does not hold for requests without its figure.
#[test]
fn failed_and_empty_responses_are_not_good() {
    let limits = |text: &str| Some(text.parse::<Goodput>().unwrap());
    let mut plan = few(4, Streaming { token: vec!["json:$.text".to_owned()], ..sse() });
    plan.recording.goodput = limits("ttft<1s");
    let record = run(&plan, streaming());
    assert_eq!((record.total.ledger.ok, record.total.good), (4, 0), "no event was a token");
    plan.recording.goodput = limits("tpot<1s,itl<1s");
    assert_eq!(run(&plan, streaming()).total.good, 4, "no gap is known to be too long");
    plan.work.requests_mut()[0].stream = Some(Streaming { error: Some("^x$".to_owned()), ..sse() });
    plan.recording.goodput = limits("first-event<1s");
    let record = run(&plan, streaming());
    assert_eq!((record.total.ledger.error(ErrorKind::StreamError), record.total.good), (4, 0));
    // Without streams the response time alone is held to a limit, and the warm-up is none of it.
    let mut plain = self::plan(1, open(100, Arrivals::Constant), 2 * S);
    plain.recording.warm_up_ns = S;
    plain.recording.goodput = limits("response<30ms");
    let answers = || {
        let mut served = 0u64;
        move |at_ns: u64, _: u64, _: u64| {
            served += 1;
            let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
            let took_ns = if served.is_multiple_of(4) { 5 * MS } else { 2 * MS };
            Reaction::Answer { at_ns: at_ns + took_ns, bytes }
        }
    };
    let record = run(&plain, answers());
    assert_eq!((record.total.ledger.ok, record.total.good), (200, 200));
    plain.recording.goodput = limits("response<5ms");
    assert_eq!(run(&plain, answers()).total.good, 150, "every fourth takes as long as the limit");
}

#[test]
fn a_stream_that_ends_in_the_middle_is_an_error_of_its_own() {
    let mut served = 0;
    let server = move |at_ns: u64, _: u64, _: u64| {
        served += 1;
        let bytes = if served == 1 { [head(), chunk("data: x\n\n")].concat() } else { head() };
        Reaction::AnswerAndClose { at_ns: at_ns + T0, bytes }
    };
    let record = run(&few(2, sse()), server);
    let ledger = &record.total.ledger;
    assert_eq!(ledger.error(ErrorKind::StreamCut), 1);
    assert_eq!(ledger.error(ErrorKind::Truncated), 1, "it had not begun");
    // What is known of it counts, and it is no stream that ended.
    assert_all(&streams(&record).first_part, 1, T0);
    assert_eq!(streams(&record).parts.count(), 0);
}

#[test]
fn error_events_and_missing_ends_have_kinds_of_their_own() {
    let named = Streaming { error: Some("^x$".to_owned()), ..sse() };
    let record = run(&few(3, named), streaming());
    assert_eq!(record.total.ledger.error(ErrorKind::StreamError), 3);
    assert_eq!(record.total.connections.opened, 1, "the connection goes on");
    // Each begins anew, though all three have the number of the first.
    assert_all(&streams(&record).first_part, 3, T0);
    assert_all(&streams(&record).gap, 3 * (N - 1), D);
    let ended = Streaming { end: Some("[DONE]".to_owned()), ..sse() };
    let record = run(&few(3, ended.clone()), streaming());
    assert_eq!(record.total.ledger.error(ErrorKind::StreamUnended), 3);
    let server = |at_ns: u64, _: u64, _: u64| {
        let mut all = events(at_ns, "data: x\n\n");
        if let Some((_, last)) = all.last_mut() {
            *last = [chunk("data: [DONE]\n\n"), b"0\r\n\r\n".to_vec()].concat();
        }
        Reaction::Answers(all)
    };
    let record = run(&few(3, ended), server);
    assert_eq!(record.total.ledger.ok, 3);
    assert_all(&streams(&record).parts, 3, N - 1);
    assert_all(&streams(&record).last_part, 3, WHOLE - D);
}

#[test]
fn an_endless_event_is_given_up_where_rules_read_it() {
    let server = |at_ns: u64, _: u64, _: u64| Reaction::Endless {
        at_ns: at_ns + T0,
        bytes: b"HTTP/1.1 200 OK\r\n\r\ndata: x\n\ndata: ".to_vec(),
        block: vec![b'x'; 4096],
        read_ns: MS,
    };
    let mut plan = few(2, Streaming { end: Some("end".to_owned()), ..sse() });
    plan.timeouts.request_ns = S;
    let record = run(&plan, server);
    assert_eq!(record.total.ledger.error(ErrorKind::BodyLimit), 2);
    // Without a rule nothing of it is kept, and the timeout ends it.
    plan.work.requests_mut()[0].stream = Some(sse());
    let record = run(&plan, server);
    assert_eq!(record.total.ledger.error(ErrorKind::Timeout), 2);
    assert_eq!(streams(&record).unbegun, 0);
}

#[test]
fn a_stream_that_never_begins_is_counted() {
    let mut served = 0;
    let server = move |at_ns: u64, _: u64, _: u64| {
        served += 1;
        let bytes = if served == 1 { head() } else { [head(), chunk("data: x\n\n")].concat() };
        Reaction::Answer { at_ns: at_ns + T0, bytes }
    };
    let mut plan = few(2, sse());
    plan.timeouts.request_ns = S;
    let record = run(&plan, server);
    assert_eq!(record.total.ledger.error(ErrorKind::Timeout), 2);
    assert_eq!(streams(&record).unbegun, 1);
    assert_eq!(streams(&record).first_part.count(), 1);
}

#[test]
fn the_warm_up_is_left_out_and_plain_plans_have_no_streams() {
    let mut plan = of(plan(1, closed(0), 10 * S), sse());
    plan.recording.warm_up_ns = 2 * S;
    let record = run(&plan, streaming());
    assert!(record.total.warm_up.ok > 0);
    assert_eq!(streams(&record).first_part.count(), record.total.ledger.sent);
    assert_eq!(streams(&record).parts.count(), record.total.ledger.ok);
    let plain = run(&self::plan(1, closed(0), S), streaming());
    assert_eq!((plain.total.streams, plain.total.parts.count), (None, 0));
}

/// When each request came, and with which Last-Event-ID.
type Asked = std::rc::Rc<std::cell::RefCell<Vec<(u64, Option<String>)>>>;

/// A server whose answers are by the number of the request, and that notes what it was asked.
struct Feed<F> {
    asked: Asked,
    answer: F,
}

impl<F: FnMut(usize, u64) -> Reaction> SimServer for Feed<F> {
    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        Reaction::Never
    }

    fn text(&mut self, at_ns: u64, _: u64, _: u64, request: &[u8]) -> Reaction {
        let text = String::from_utf8_lossy(request);
        let id = text.lines().find_map(|line| line.strip_prefix("Last-Event-ID: "));
        let number = self.asked.borrow().len();
        self.asked.borrow_mut().push((at_ns, id.map(str::to_owned)));
        (self.answer)(number, at_ns)
    }
}

/// A run of `users` users who go on with their streams, and what the server was asked. `change` the plan before.
fn reconnecting(
    users: u32,
    change: impl FnOnce(&mut Parts),
    answer: impl FnMut(usize, u64) -> Reaction,
) -> (RunRecord, Vec<(u64, Option<String>)>) {
    let mut plan = of(plan(users, closed(0), 10 * S), Streaming { reconnect: true, ..sse() });
    let step = Step::plain(0);
    let journey = Journey {
        name: "stream".to_owned(),
        weight: 1,
        steps: vec![step],
        cookies: false,
        on_failure: OnFailure::End,
    };
    let requests = plan.work.requests().to_vec();
    plan.work =
        Work::Journeys(Journeys { list: vec![journey], requests, users: None, order: None });
    change(&mut plan);
    let asked = Asked::default();
    let record = run(&plan, Feed { asked: asked.clone(), answer });
    (record, asked.take())
}

fn id(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The ids and times of WHATWG HTML 9.2.6, each response 10 ms after its request; the last one says that it is over.
#[test]
fn a_user_goes_on_with_its_stream_as_the_standard_says() {
    let bodies = [
        "retry: 500\nid: 1\ndata: a\n\n",
        "data: no id leaves the last one\n\n",
        "id: x\0y\nretry: 5s\nretry:\ndata: neither is one\n\nid: 2\ndata: its event does not end",
        "id\ndata: an empty one is none\n\n",
        "id: 7\n\ndata: an event without data has an id, and this one is cut\n\n",
        "retry: 0\ndata: at once\n\n",
    ];
    let (record, asked) = reconnecting(
        1,
        |_| (),
        |number, at_ns| {
            let at_ns = at_ns + 10 * MS;
            let Some(body) = bodies.get(number) else {
                return Reaction::Answer {
                    at_ns,
                    bytes: b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
                };
            };
            let bytes = [head(), chunk(body)].concat();
            match number {
                4 => Reaction::AnswerAndClose { at_ns, bytes },
                _ => Reaction::Answer { at_ns, bytes: [bytes, b"0\r\n\r\n".to_vec()].concat() },
            }
        },
    );
    let wanted = [(0, None), (510, id("1")), (1020, id("1")), (1530, id("1")), (2040, None)];
    let wanted = wanted.into_iter().chain([(2550, id("7")), (2560, id("7"))]);
    assert_eq!(asked, wanted.map(|(ms, id)| (ms * MS, id)).collect::<Vec<_>>());
    let ledger = &record.total.ledger;
    assert_eq!((ledger.sent, ledger.ok, ledger.error(ErrorKind::StreamCut)), (7, 6, 1));
    let reconnect = &streams(&record).reconnect;
    let ends = (reconnect.count(), reconnect.min_ns(), reconnect.max_ns());
    assert_eq!(ends, (6, Some(0), Some(500 * MS)));
    assert_eq!(reconnect.sum_ns(), u128::from(5 * 500 * MS));
}

/// Of several users each has an id of its own, and waits for 3 s; what a timeout ends is gone on with too.
#[test]
fn users_wait_for_three_seconds_unless_the_server_says_another_time() {
    let (record, asked) = reconnecting(
        2,
        |_| (),
        |number, at_ns| Reaction::Answer {
            at_ns: at_ns + 10 * MS * (1 + number as u64 % 2),
            bytes: [
                head(),
                chunk(&format!("id: {}\ndata: a\n\n", number % 2)),
                b"0\r\n\r\n".to_vec(),
            ]
            .concat(),
        },
    );
    // One ends after 10 ms, the other one after 20 ms.
    let of = |user: &str| {
        let own = asked.iter().filter(|(_, last)| last.as_deref() == Some(user));
        own.map(|(at_ns, _)| at_ns / MS).collect::<Vec<_>>()
    };
    assert_eq!((of("0"), of("1")), (vec![3010, 6020, 9030], vec![3020, 6040, 9060]));
    assert_eq!(streams(&record).reconnect.count(), 6);
    let silent = |_: usize, at_ns: u64| Reaction::Answer {
        at_ns: at_ns + 10 * MS,
        bytes: [head(), chunk("id: 9\ndata: a\n\n")].concat(),
    };
    let (record, asked) = reconnecting(1, |plan| plan.timeouts.request_ns = S, silent);
    assert_eq!(asked, [(0, None), (4 * S, id("9")), (8 * S, id("9"))]);
    assert_eq!(record.total.ledger.error(ErrorKind::Timeout), 3);
    // Longer than an hour is an hour: in this run nobody comes again.
    let late = |_: usize, at_ns: u64| Reaction::Answer {
        at_ns: at_ns + 10 * MS,
        bytes: [head(), chunk("retry: 99999999999999999999\ndata: a\n\n"), b"0\r\n\r\n".to_vec()]
            .concat(),
    };
    assert_eq!(reconnecting(1, |_| (), late).1.len(), 1);
}
