//! Probe timeouts (RFC 9002 6.2): after a black hole of a known length they are as many as their doubling gives, after anything
//! else as many as quinn-proto's log has.

use std::sync::atomic::Ordering;

use candor_protocol::h3::Settings;
use candor_protocol::{Event, Outgoing, Session as _};
use candor_record::PathCounts;
use proptest::prelude::*;

use crate::support::*;

/// With the peer's delay of acknowledgements, 25 ms, and the least variance, 1 ms: the timeout of a settled round trip, and
/// that of the first one, which is taken for 333 ms with half of it as its variance (RFC 9002 6.2.1 and 6.2.2).
const SETTLED_NS: u64 = 2 * LATENCY_NS + 26 * MS;
const FIRST_NS: u64 = 999 * MS;

/// Of requests with this body, which are answered with as many bytes.
fn pair(bytes: usize, streams: u32) -> Pair {
    let settings = Settings { streams, ..Settings::default() };
    let post = plan_request("POST", &[], &shared(bytes));
    Pair::of(&[post], settings, move |_, _| Some(ok(&shared(bytes))))
}

impl Pair {
    /// One request after the other.
    fn in_turn(&mut self, count: u32) {
        for id in 0..count {
            self.client.handle_request(id, Outgoing::Listed(0));
            self.run_for(4 * LATENCY_NS);
        }
        self.assert_done(count);
    }

    fn assert_done(&mut self, count: u32) {
        let events = self.take_events();
        let done = events.iter().filter(|event| matches!(event, Event::Done(_))).count();
        assert_eq!(done as u32, count, "{events:?}");
    }

    /// Nothing arrives for so long.
    fn black_hole(&mut self, ns: u64) {
        self.loses = Box::new(|_| true);
        self.run_for(ns);
        self.loses = Box::new(|_| false);
        self.run_for(20_000 * MS);
    }

    /// The counts of the path, with as many probe timeouts as the log has.
    fn counts(&mut self) -> PathCounts {
        self.client.handle_close();
        let counts =
            std::iter::from_fn(|| self.client.poll_event()).find_map(|event| match event {
                Event::Path(path) => Some(path.counts),
                _ => None,
            });
        let counts = counts.unwrap();
        assert_eq!(counts.probe_timeouts, self.probe_timeouts.load(Ordering::Relaxed));
        counts
    }
}

/// They expire at 1, 3, 7, ... times the first one, until a probe arrives.
fn expected(black_hole_ns: u64, first_ns: u64) -> u64 {
    (1..).find(|count| ((1 << count) - 1) * first_ns > black_hole_ns).unwrap()
}

#[test]
fn a_black_hole_has_the_timeouts_of_its_length_9002_6_2_1() {
    for (ms, count) in [(40, 1), (100, 2), (200, 3), (500, 4), (1_000, 5), (2_500, 6)] {
        assert_eq!(expected(ms * MS, SETTLED_NS), count);
        let mut pair = pair(0, 1).ready();
        pair.in_turn(30);
        pair.request([0]);
        pair.black_hole(ms * MS);
        pair.assert_done(1);
        assert_eq!(pair.counts().probe_timeouts, count, "{ms} ms");
    }
}

#[test]
fn a_black_hole_before_the_handshake_has_those_of_the_first_round_trip_9002_6_2_2() {
    for (ms, count) in [(500, 1), (2_000, 2), (5_000, 3)] {
        assert_eq!(expected(ms * MS, FIRST_NS), count);
        let mut pair = pair(0, 1);
        pair.black_hole(ms * MS);
        pair.in_turn(3);
        assert_eq!(pair.counts().probe_timeouts, count, "{ms} ms");
    }
}

/// A black hole in the middle of an upload, with a full congestion window and a pacer.
#[test]
fn probes_leave_when_the_congestion_window_is_full() {
    for ms in [300, 1_000] {
        let mut pair = pair(300_000, 2).ready();
        pair.request(0..2);
        pair.run_for(3 * LATENCY_NS);
        pair.black_hole(ms * MS);
        pair.assert_done(2);
        assert!(pair.counts().probe_timeouts >= 2, "{ms} ms");
    }
}

/// Pacing, delayed acknowledgements and losses have timers too.
#[test]
fn other_timers_are_none() {
    // By the log, some four runs of a hundred have a probe timeout that is one.
    let has_none = |_: &u32| {
        let mut paced = pair(200_000, 1).ready();
        paced.request([0]);
        paced.run_for(20_000 * MS);
        paced.assert_done(1);
        paced.counts().probe_timeouts == 0
    };
    let none = (0..20).filter(has_none).count();
    assert!(none >= 12, "{none}");

    // Events that come one by one are acknowledged late.
    let mut slow = Pair::of_gets(1, |_, _| None).ready();
    slow.request([0]);
    slow.run_for(2 * LATENCY_NS);
    slow.server.connection().write(0, &frame(HEADERS, &section(&[(":status", "200")])));
    for _ in 0..50 {
        slow.server.connection().write(0, &frame(DATA, b"x"));
        slow.run_for(100 * MS);
    }
    assert_eq!(slow.counts().probe_timeouts, 0);

    // One datagram of many, by what came behind it or by time.
    let (mut lost, mut none) = (0, 0);
    for n in 0..60 {
        let mut pair = pair(40_000, 1).ready();
        let first = pair.sent;
        pair.loses = Box::new(move |number| number == first + n);
        pair.request([0]);
        pair.run_for(20_000 * MS);
        pair.assert_done(1);
        let counts = pair.counts();
        lost += counts.lost;
        none += u32::from(counts.lost > 0 && counts.probe_timeouts == 0);
    }
    assert!(lost >= 20 && none >= 10, "{lost} {none}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever is lost, in whichever direction, there are as many as the log has.
    #[test]
    fn they_are_those_of_the_log(
        bytes in prop::sample::select(vec![0usize, 100, 5_000, 80_000]),
        lost in prop::collection::vec(any::<bool>(), 1..40),
        from in 0u64..60,
        streams in 1u32..5,
    ) {
        let mut pair = pair(bytes, streams);
        pair.loses = Box::new(move |number| {
            let at = number.checked_sub(from).and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| lost.get(at).copied()).unwrap_or(false)
        });
        pair.run_for(10_000 * MS);
        // One that has not come so far has no path.
        prop_assume!(pair.events.iter().any(|(_, event)| matches!(event, Event::Ready(_))));
        for id in 0..20 {
            if pair.client.free_places() > 0 {
                pair.request([id]);
            }
            pair.run_for(u64::from(id) * 7 * MS);
        }
        pair.run_for(20_000 * MS);
        pair.counts();
    }
}
