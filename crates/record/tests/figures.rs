//! What becomes of each figure of an interval: added over workers, followed by a later stretch, emptied, compared, and
//! written as bytes.

use std::collections::BTreeSet;

use candor_record::kernel::KernelTimes;
use candor_record::{
    BlockedCounts, CloseReason, CollectorSettings, ConnectErrorKind, DeviationKind, ErrorKind,
    Failures, GoAways, Handshake, Histogram, Interval, Ledger, LossKind, Merging, Paths,
    StatusCount, StepFailure, StreamCounts, Workers, wire,
};
use proptest::prelude::*;
use serde_json::Value;

const DIGITS: u8 = 2;
const REQUESTS: usize = 2;
const JOURNEYS: usize = 2;

/// Numbers that depend on a seed alone, from 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 54) + 1
    }

    fn fill(&mut self, counts: &mut [&mut u64]) {
        counts.iter_mut().for_each(|count| **count = self.next());
    }

    fn record(&mut self, histograms: &mut [&mut Histogram]) {
        histograms.iter_mut().for_each(|one| (0..3).for_each(|_| one.record(self.next() * 997)));
    }

    fn ledger(&mut self, ledger: &mut Ledger) {
        let Ledger { scheduled, sent, shed, unsent, ok, broken_off, .. } = ledger;
        self.fill(&mut [scheduled, sent, shed, unsent, ok, broken_off]);
        self.fill(&mut [&mut ledger.unfinished, &mut ledger.unaccounted]);
        ledger.errors.add(ErrorKind::Timeout as usize, || "late");
        ledger.errors.add((self.next() % 3) as usize, || "odd");
    }

    fn statuses(&mut self) -> Vec<StatusCount> {
        let status = 200 + (self.next() % 4) as u16;
        vec![
            StatusCount { status, count: self.next() },
            StatusCount { status: status + 1, count: 1 },
        ]
    }
}

fn empty() -> Interval {
    Interval::new(DIGITS, REQUESTS, JOURNEYS)
}

/// An interval whose figures all have a value.
fn filled(seed: u64) -> Interval {
    let mut numbers = Numbers(seed.wrapping_mul(7_919));
    let mut one = Interval { index: Some(3), ..empty() };
    let n = &mut numbers;
    n.fill(&mut [&mut one.start_ns, &mut one.end_ns]);
    n.ledger(&mut one.ledger);
    n.ledger(&mut one.warm_up);
    let times = &mut one.latencies;
    n.record(&mut [&mut times.response, &mut times.queue_wait, &mut times.send_lag]);
    n.record(&mut [&mut times.service, &mut times.first_byte]);
    n.record(&mut [&mut one.censored, &mut one.connect, &mut one.handshake, &mut one.secured]);
    let mut blocked = Box::new(BlockedCounts::new(DIGITS));
    n.record(&mut [&mut blocked.time]);
    n.fill(&mut [&mut blocked.by.congestion_ns, &mut blocked.by.flow_control_ns]);
    one.blocked = Some(blocked);
    let mut touched = Histogram::new(DIGITS);
    n.record(&mut [&mut touched]);
    one.touched = Some(Box::new(touched));
    one.statuses = n.statuses();
    one.broken_off_statuses = n.statuses();
    one.deviations.add(DeviationKind::Folded as usize, || "folded");
    let bytes = &mut one.bytes;
    n.fill(&mut [&mut bytes.sent, &mut bytes.received, &mut bytes.bodies]);
    n.fill(&mut [&mut bytes.headers, &mut bytes.headers_decoded]);
    n.fill(&mut [&mut bytes.coded, &mut bytes.decoded]);
    let parts = &mut one.parts;
    n.fill(&mut [&mut parts.count, &mut parts.bytes, &mut parts.unasked]);
    n.fill(&mut [&mut one.acks.tried, &mut one.acks.moved]);
    let mut streams = Box::new(StreamCounts::new(DIGITS));
    let all = &mut *streams;
    n.record(&mut [&mut all.first_byte, &mut all.first_part, &mut all.gap, &mut all.last_part]);
    n.record(&mut [&mut all.longest_gap, &mut all.parts, &mut all.tokens_of_one]);
    n.record(&mut [&mut all.time_per_token, &mut all.first_token, &mut all.token_gap]);
    n.fill(&mut [&mut all.coalesced, &mut all.unbegun, &mut all.tokens]);
    n.fill(&mut [&mut all.tokens_coalesced, &mut all.input_tokens]);
    one.streams = Some(streams);
    let datagrams = &mut one.datagrams;
    n.fill(&mut [&mut datagrams.sent, &mut datagrams.received]);
    n.fill(&mut [&mut datagrams.congested, &mut datagrams.dropped]);
    let mut paths = Box::new(Paths::new(DIGITS));
    n.record(&mut [&mut paths.rtt, &mut paths.least_rtt]);
    let counts = &mut paths.counts;
    n.fill(&mut [&mut counts.connections, &mut counts.packets, &mut counts.lost]);
    n.fill(&mut [&mut counts.lost_bytes, &mut counts.congestion_events, &mut counts.black_holes]);
    n.fill(&mut [&mut counts.window_bytes, &mut counts.datagram_bytes]);
    n.fill(&mut [&mut counts.stopped_by_window, &mut counts.probe_timeouts]);
    one.paths = Some(paths);
    let connections = &mut one.connections;
    n.fill(&mut [&mut connections.established, &mut connections.opened, &mut connections.retired]);
    n.fill(&mut [&mut connections.closed_by_server, &mut connections.refused_ns]);
    n.fill(&mut [&mut connections.watched_ns]);
    connections.lost.add(LossKind::Reset as usize, || "reset");
    connections.failed.add(ConnectErrorKind::Refused as usize, || "refused");
    let handshake = Handshake {
        version: "TLSv1.3".into(),
        cipher: "TLS13_AES_256_GCM_SHA384".into(),
        group: "X25519".into(),
        alpn: "h2".into(),
        resumed: n.next().is_multiple_of(2),
        early_data: None,
        retried: n.next().is_multiple_of(2),
    };
    connections.handshakes = vec![(handshake, n.next())];
    let code = (n.next() % 3) as u32;
    connections.goaways = vec![GoAways { code, count: n.next(), last_stream: code }];
    connections.close_codes = vec![(1000 + (n.next() % 3) as u16, n.next())];
    let (code, reason) = (1000 + (n.next() % 3) as u16, "gone".into());
    connections.close_reasons = vec![CloseReason { code, reason, count: n.next() }];
    n.fill(&mut [&mut one.backlog, &mut one.in_flight, &mut one.users]);
    n.fill(&mut [&mut one.users_not_begun, &mut one.users_unaccounted]);
    for request in &mut one.requests {
        n.fill(&mut [&mut request.sent, &mut request.ok, &mut request.errors]);
        request.response.iter_mut().for_each(|response| n.record(&mut [response]));
        let step = request.step.as_mut().expect("the plan has journeys");
        n.record(&mut [&mut step.service, &mut step.queue_wait, &mut step.send_lag]);
        step.statuses = n.statuses();
    }
    for journey in &mut one.journeys {
        n.fill(&mut [&mut journey.started, &mut journey.completed, &mut journey.unfinished]);
        n.record(&mut [&mut journey.duration, &mut journey.active]);
        let failures = |request| Failures { request, why: StepFailure::Shed, count: 2 };
        journey.failed = vec![failures((n.next() % 3) as u32)];
        journey.passed_over = vec![failures((n.next() % 3) as u32)];
    }
    (0..3).for_each(|_| one.rates.record(n.next()));
    one
}

type Merge = fn(&mut Interval, &Interval);

fn sum(merge: Merge, one: &Interval, other: &Interval) -> Interval {
    let mut sum = one.clone();
    merge(&mut sum, other);
    sum
}

/// Lists of counts by key are in the order in which the keys came.
fn sorted(mut one: Interval) -> Interval {
    one.statuses.sort_by_key(|one| one.status);
    one.broken_off_statuses.sort_by_key(|one| one.status);
    one.connections.handshakes.sort();
    one.connections.goaways.sort_by_key(|one| one.code);
    one.connections.close_codes.sort();
    one.connections.close_reasons.sort();
    for step in one.requests.iter_mut().filter_map(|one| one.step.as_mut()) {
        step.statuses.sort_by_key(|one| one.status);
    }
    for journey in &mut one.journeys {
        journey.failed.sort_by_key(|one| one.request);
        journey.passed_over.sort_by_key(|one| one.request);
    }
    one
}

/// The places of the numbers in a value that are above zero, with their sum.
fn numbers(value: &Value, path: &str, found: &mut Vec<(String, u128)>) {
    match value {
        Value::Number(number) => {
            let number = number.to_string().parse().unwrap_or(0);
            found.extend((number > 0).then(|| (path.to_owned(), number)));
        }
        Value::Array(list) => {
            // A list that was longer is another place.
            let path = format!("{path}[]");
            list.iter().for_each(|one| numbers(one, &path, found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, one)| numbers(one, &format!("{path}.{name}"), found));
        }
        _ => {}
    }
}

fn places(one: &Interval) -> BTreeSet<String> {
    let mut found = Vec::new();
    numbers(&serde_json::to_value(one).expect("it is a value"), "", &mut found);
    found.into_iter().map(|(path, _)| path).collect()
}

fn filled_at_random() -> impl Strategy<Value = Interval> {
    any::<u64>().prop_map(filled)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn merging_in_any_grouping_is_the_same(
        one in filled_at_random(), other in filled_at_random(), third in filled_at_random(),
    ) {
        for merge in [Interval::merge_worker as Merge, Interval::merge_later] {
            let left = sum(merge, &sum(merge, &one, &other), &third);
            let right = sum(merge, &one, &sum(merge, &other, &third));
            prop_assert_eq!(sorted(left), sorted(right));
        }
        let (worker, later) = (Interval::merge_worker, Interval::merge_later);
        let workers_first = sum(later, &sum(worker, &one, &other), &sum(worker, &third, &one));
        let time_first = sum(worker, &sum(later, &one, &third), &sum(later, &other, &one));
        prop_assert_eq!(sorted(workers_first), sorted(time_first));
    }

    #[test]
    fn workers_in_any_order_are_the_same(one in filled_at_random(), other in filled_at_random()) {
        let merge = Interval::merge_worker;
        let (left, right) = (sum(merge, &one, &other), sum(merge, &other, &one));
        // A code's last stream is the first one's.
        let bare = |mut one: Interval| {
            one.connections.goaways.iter_mut().for_each(|one| one.last_stream = 0);
            sorted(one)
        };
        prop_assert_eq!(bare(left), bare(right));
    }

    #[test]
    fn an_interval_that_was_emptied_is_a_new_one(one in filled_at_random()) {
        let mut cleared = one.clone();
        cleared.clear();
        let streams = Some(Box::new(StreamCounts::new(DIGITS)));
        let blocked = Some(Box::new(BlockedCounts::new(DIGITS)));
        let paths = Some(Box::new(Paths::new(DIGITS)));
        prop_assert_eq!(&cleared, &Interval { streams, blocked, paths, ..empty() });
        // It adds nothing, and whatever is added to it is all there is.
        for merge in [Interval::merge_worker as Merge, Interval::merge_later] {
            let (start_ns, index) = (one.start_ns, one.index);
            let into_empty = Interval { start_ns, index, ..cleared.clone() };
            prop_assert_eq!(&sum(merge, &into_empty, &one), &one);
        }
        prop_assert_eq!(&sum(Interval::merge_worker, &one, &cleared), &one);
    }
}

/// No field is forgotten: each figure of the one that is added can be found in the sum, and in the bytes.
#[test]
fn every_figure_is_merged_both_ways() {
    let one = filled(1);
    let found = places(&one);
    assert!(found.len() > 100, "{found:#?}");
    for merge in [Interval::merge_worker as Merge, Interval::merge_later] {
        let into_empty = sum(merge, &empty(), &one);
        let missing: Vec<_> = found.difference(&places(&into_empty)).cloned().collect();
        let kept = [".index", ".start_ns"];
        assert!(missing.iter().all(|path| kept.contains(&path.as_str())), "{missing:?}");
    }
    assert_eq!(wire::from_bytes::<Interval>(&wire::to_bytes(&one)).unwrap(), one);
}

#[test]
fn gauges_add_over_workers_and_keep_the_later_over_time() {
    let gauges =
        |one: &Interval| [one.backlog, one.in_flight, one.users, one.connections.established];
    let (one, other) = (filled(1), filled(2));
    let later = sum(Interval::merge_later, &one, &other);
    assert_eq!(gauges(&later), gauges(&other));
    let both = sum(Interval::merge_worker, &one, &other);
    let added: Vec<u64> = gauges(&one).iter().zip(gauges(&other)).map(|(a, b)| a + b).collect();
    assert_eq!(gauges(&both)[..], added);
    assert_eq!((later.start_ns, later.index), (one.start_ns, one.index));
    assert_eq!(both.start_ns, one.start_ns.max(other.start_ns));
    for sum in [&later, &both] {
        assert_eq!(sum.end_ns, one.end_ns.max(other.end_ns));
        assert_eq!(sum.ledger.sent, one.ledger.sent + other.ledger.sent);
    }
}

/// Bytes from elsewhere may have anything.
#[test]
fn intervals_of_another_shape_are_refused() {
    let is_taken = |one: &Interval| {
        let workers = Workers { first: 0, count: 1, of: 2 };
        let settings = CollectorSettings {
            digits: DIGITS,
            requests: REQUESTS,
            journeys: JOURNEYS,
            warm_up_ns: 0,
            connections_asked: 1,
            workers,
        };
        let mut merging = Merging::new(settings, &[workers]).unwrap();
        merging.deliver(0, &wire::to_bytes(one)).is_ok()
    };
    let with = |change: &dyn Fn(&mut Interval)| {
        let mut one = Interval { end_ns: u64::MAX, ..filled(1) };
        change(&mut one);
        is_taken(&one)
    };
    assert!(with(&|_| {}));
    // What comes with its first event may be missing, and nothing else.
    assert!(with(&|one| (one.streams, one.touched) = (None, None)));
    assert!(!with(&|one| one.requests[1].response = None));
    assert!(!with(&|one| one.requests[0].step = None));
    assert!(!with(&|one| drop(one.requests.pop())));
    assert!(!with(&|one| drop(one.journeys.pop())));
    assert!(!with(&|one| one.journeys.push(one.journeys[0].clone())));
    // Every histogram has the precision of the plan.
    type Part = fn(&mut Interval) -> &mut Histogram;
    macro_rules! parts {
        ($one:ident: $($part:expr),* $(,)?) => { [$({ (|$one| $part) as Part }),*] };
    }
    let histograms = parts![one:
        &mut one.latencies.response,
        &mut one.latencies.queue_wait,
        &mut one.latencies.send_lag,
        &mut one.latencies.service,
        &mut one.latencies.first_byte,
        one.touched.as_mut().unwrap(),
        &mut one.censored,
        &mut one.connect,
        &mut one.handshake,
        &mut one.secured,
        &mut one.streams.as_mut().unwrap().first_byte,
        &mut one.streams.as_mut().unwrap().token_gap,
        &mut one.streams.as_mut().unwrap().parts,
        one.requests[1].response.as_mut().unwrap(),
        &mut one.requests[0].step.as_mut().unwrap().service,
        &mut one.requests[0].step.as_mut().unwrap().queue_wait,
        &mut one.requests[1].step.as_mut().unwrap().send_lag,
        &mut one.journeys[0].duration,
        &mut one.journeys[1].active,
    ];
    for (at, part) in histograms.into_iter().enumerate() {
        assert!(!with(&|one| *part(one) = Histogram::new(DIGITS + 1)), "{at}");
        assert!(with(&|one| *part(one) = Histogram::new(DIGITS)), "{at}");
    }
    let all = with(&|one| {
        *one =
            Interval { index: Some(0), end_ns: 1, ..Interval::new(DIGITS + 1, REQUESTS, JOURNEYS) };
    });
    assert!(!all);
}

/// Other programs of this version read these bytes.
#[test]
fn the_bytes_of_figures_do_not_change() {
    // FNV-1a, to keep them short.
    let hash = |bytes: &[u8]| {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    let of = |bytes: &[u8]| (bytes.len(), hash(bytes));
    let mut kernel = KernelTimes::new(DIGITS);
    kernel.service.record(7);
    kernel.refusal = Some("no".to_owned());
    kernel.conversion_error_ns = 300;
    assert_eq!(wire::VERSION, 24);
    let all = [wire::to_bytes(&filled(1)), wire::to_bytes(&empty()), wire::to_bytes(&kernel)];
    let known = [
        (1096, 988_343_955_710_908_237),
        (429, 17_374_166_590_722_949_353),
        (70, 9_796_509_681_315_415_027),
    ];
    assert_eq!(all.map(|bytes| of(&bytes)), known);
}
