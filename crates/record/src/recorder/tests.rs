use super::*;
use crate::errors::{ConnectErrorKind, LossKind};

#[test]
fn a_window_does_not_end_before_its_last_interval_began() {
    let mut recorder = Recorder::new(RecorderSettings {
        digits: 3,
        interval_ns: 1000,
        warm_up_ns: 0,
        window_end_ns: None,
        drain_ns: u64::MAX,
        requests: 1,
        journeys: 0,
    });
    // An event just after a boundary, then a stop with a time from just before it.
    recorder.sent(1001, Phase::Measured, 0);
    recorder.end_window(998);
    recorder.finish(1500, 0);
    let mut ends_ns = 0;
    while let Some(interval) = recorder.take_finished() {
        assert_eq!(interval.start_ns, ends_ns, "intervals meet");
        assert!(interval.end_ns >= interval.start_ns, "and do not go back");
        ends_ns = interval.end_ns;
    }
    assert_eq!(ends_ns, 1500);
}

fn settings(window_end_ns: Option<u64>, drain_ns: u64) -> RecorderSettings {
    RecorderSettings {
        digits: 3,
        interval_ns: 1000,
        warm_up_ns: 0,
        window_end_ns,
        drain_ns,
        requests: 1,
        journeys: 0,
    }
}

/// Merging intervals relies on positions that increase.
#[test]
fn a_window_that_ends_in_the_warm_up_ends_the_warm_up() {
    for until_ns in [900, 1500, 4200] {
        let warm = RecorderSettings { warm_up_ns: 2000, ..settings(Some(5000), 3000) };
        let mut recorder = Recorder::new(warm);
        recorder.sent(300, Phase::WarmUp, 0);
        recorder.end_window(700);
        recorder.unfinished(until_ns, Phase::WarmUp, until_ns - 300);
        recorder.finish(until_ns, 0);
        let finished: Vec<_> = std::iter::from_fn(|| recorder.take_finished()).collect();
        assert_eq!((finished[0].index, finished[0].end_ns), (None, 700));
        assert!(finished.windows(2).all(|pair| pair[0].index < pair[1].index), "{until_ns}");
        let unfinished: u64 = finished.iter().map(|one| one.warm_up.unfinished).sum();
        assert_eq!(unfinished, 1);
    }
}

#[test]
fn what_happens_before_the_run_happens_at_its_beginning() {
    let mut recorder = Recorder::before_run(settings(Some(2000), 0));
    // A clock that counts from the start of the machine.
    recorder.connected(1 << 50, 7);
    recorder.goaway(1 << 51, 0, 0);
    recorder.begin_run();
    recorder.goaway(1500, 0, 0);
    recorder.finish(2000, 0);
    let finished: Vec<_> = std::iter::from_fn(|| recorder.take_finished()).collect();
    let goaways = |interval: &Interval| -> u64 {
        interval.connections.goaways.iter().map(|one| one.count).sum()
    };
    assert_eq!(finished[0].connections.opened, 1);
    assert_eq!(finished.iter().map(goaways).collect::<Vec<_>>(), [1, 1, 0]);
}

#[test]
fn a_target_that_takes_no_connection_is_unavailable_from_the_end_of_the_last_one() {
    let mut recorder = Recorder::before_run(settings(Some(4000), 0));
    // A clock that counts from the start of the machine.
    recorder.connect_failed(1 << 50, ConnectErrorKind::Refused, || "");
    recorder.connected(1 << 51, 7);
    recorder.connected(1 << 51, 7);
    recorder.begin_run();
    let lost = Disconnect::Lost(LossKind::Reset);
    recorder.disconnected(500, lost, || "");
    recorder.connect_failed(600, ConnectErrorKind::Refused, || "");
    recorder.connected(700, 7);
    // One connection was there all the time. Those that are replaced are no absence, nor is a lack of ports.
    recorder.disconnected(800, Disconnect::Retired, || "");
    recorder.disconnected(800, Disconnect::ByServer, || "");
    recorder.connect_failed(850, ConnectErrorKind::PortsExhausted, || "");
    recorder.connected(900, 7);
    recorder.disconnected(1500, lost, || "");
    recorder.connect_failed(1600, ConnectErrorKind::Refused, || "");
    recorder.connect_failed(2100, ConnectErrorKind::Refused, || "");
    recorder.connected(2250, 7);
    recorder.disconnected(3000, lost, || "");
    recorder.connect_failed(3500, ConnectErrorKind::Timeout, || "");
    recorder.finish(4000, 0);
    let finished = std::iter::from_fn(|| recorder.take_finished());
    let of = |one: Interval| (one.connections.refused_ns, one.connections.availability());
    let found: Vec<_> = finished.map(of).take(4).collect();
    assert_eq!(found, [(0, Some(1.0)), (500, Some(0.5)), (250, Some(0.75)), (1000, Some(0.0))]);
}

/// Packets to it are dropped: no attempt fails within the run.
#[test]
fn a_target_that_does_not_respond_to_attempts_is_unavailable_too() {
    const S: u64 = 1_000_000_000;
    let absent = |why: Disconnect| -> u64 {
        let seconds = RecorderSettings { interval_ns: S, ..settings(Some(4 * S), 0) };
        let mut recorder = Recorder::new(seconds);
        recorder.connected(1, 1);
        recorder.disconnected(3 * S / 2, why, || "");
        recorder.finish(4 * S, 0);
        let finished = std::iter::from_fn(|| recorder.take_finished());
        finished.map(|one| one.connections.refused_ns).sum()
    };
    assert_eq!(absent(Disconnect::Lost(LossKind::Reset)), 5 * S / 2);
    assert_eq!(absent(Disconnect::ByServer), 5 * S / 2);
    assert_eq!(absent(Disconnect::Retired), 0, "a user may have left");
    assert_eq!(absent(Disconnect::RunOver), 0);
}

#[test]
fn close_codes_are_counted_one_by_one_up_to_a_limit() {
    let mut recorder = Recorder::new(settings(Some(2000), 0));
    [1000, 1001, 1000].into_iter().for_each(|code| recorder.close_frame(1, code, ""));
    (4000..4100).for_each(|code| recorder.close_frame(2, code, &format!("reason {}", code / 2)));
    recorder.finish(2000, 0);
    let finished: Vec<_> = std::iter::from_fn(|| recorder.take_finished()).collect();
    let codes = &finished[0].connections.close_codes;
    assert_eq!(codes[..2], [(1000, 2), (1001, 1)]);
    // The last collects its own and 86 others.
    assert_eq!((codes.len(), codes[15]), (16, (4099, 87)));
    // Of reasons the first are kept.
    let reasons = &finished[0].connections.close_reasons;
    let [first, .., last] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!((reasons.len(), first.code, last.code, last.count), (16, 4000, 4015, 1));
    assert_eq!((&*first.reason, &*last.reason), ("reason 2000", "reason 2007"));
}

#[test]
fn a_time_far_beyond_the_drain_makes_no_intervals() {
    let mut recorder = Recorder::new(settings(Some(2000), 1500));
    recorder.sent(1, Phase::Measured, 0);
    recorder.unfinished(1 << 60, Phase::Measured, 1 << 60);
    recorder.finish(1 << 60, 0);
    let finished: Vec<_> = std::iter::from_fn(|| recorder.take_finished()).collect();
    let bounds: Vec<_> = finished.iter().map(|one| (one.start_ns, one.end_ns)).collect();
    assert_eq!(bounds, [(0, 1000), (1000, 2000), (2000, 3000), (3000, 1 << 60)]);
    assert_eq!(finished[3].ledger.unfinished, 1);
}

const MS: u64 = 1_000_000;

/// A recorder of intervals of a second.
fn of_seconds(warm_up_ns: u64) -> Recorder {
    let seconds = RecorderSettings { interval_ns: 1000 * MS, ..settings(Some(4000 * MS), 0) };
    Recorder::new(RecorderSettings { warm_up_ns, ..seconds })
}

/// A request with the expected response.
fn done(recorder: &mut Recorder, due_ns: u64, done_ns: u64, phase: Phase) {
    recorder.ok(&Sample::done_at(done_ns, due_ns, phase));
}

fn pauses(all: &[(u64, u64)]) -> Pauses {
    let mut pauses = Pauses::default();
    all.iter().for_each(|(from_ns, to_ns)| pauses.add(*from_ns, *to_ns));
    pauses
}

/// The touched requests of each interval, by their response times.
fn touched(recorder: &mut Recorder, end_ns: u64) -> Vec<Vec<u64>> {
    recorder.finish(end_ns, 0);
    let finished = std::iter::from_fn(|| recorder.take_finished());
    let times = |one: Interval| match one.touched {
        Some(touched) => touched.recorded().flat_map(|(ns, n)| vec![ns; n as usize]).collect(),
        None => Vec::new(),
    };
    finished.map(times).collect()
}

#[test]
fn measured_requests_of_a_millisecond_or_more_are_touched_by_the_pauses_in_them() {
    let mut recorder = of_seconds(100 * MS);
    let paused = pauses(&[(90 * MS, 105 * MS), (200 * MS, 210 * MS), (300 * MS, 301 * MS)]);
    done(&mut recorder, 90 * MS, 108 * MS, Phase::WarmUp);
    for (due_ns, done_ns) in [
        (100 * MS, 102 * MS),     // in the first
        (199 * MS, 200 * MS),     // done as the second began
        (198 * MS, 200 * MS + 1), // just after it
        (200 * MS, 201 * MS - 1), // too short
        (209 * MS, 210 * MS),     // its last moment
        (210 * MS, 214 * MS),     // due when it was over
        (190 * MS, 310 * MS),     // with both others in it, and counted once
    ] {
        done(&mut recorder, due_ns, done_ns, Phase::Measured);
    }
    recorder.judge(&paused, u64::MAX);
    recorder.judge(&paused, u64::MAX);
    let alike = |ns| Histogram::new(3).lowest_alike(ns);
    let expected = [MS, 2 * MS, 2 * MS + 1, 120 * MS].map(alike).to_vec();
    assert_eq!(touched(&mut recorder, 400 * MS), [vec![], expected]);
}

/// The watcher may report a pause a little after the requests are done.
#[test]
fn the_latest_requests_wait_until_their_pauses_are_known() {
    let mut recorder = of_seconds(0);
    done(&mut recorder, 970 * MS, 979 * MS, Phase::Measured);
    done(&mut recorder, 970 * MS, 980 * MS, Phase::Measured);
    done(&mut recorder, 970 * MS, 981 * MS, Phase::Measured);
    recorder.advance(1000 * MS);
    recorder.judge(&pauses(&[(975 * MS, 976 * MS)]), 980 * MS);
    // Later ones do not enter an interval that was over, though it is still here.
    done(&mut recorder, 970 * MS, 1001 * MS, Phase::Measured);
    let first = recorder.take_finished().and_then(|one| one.touched);
    assert_eq!(first.map(|one| one.count()), Some(2));
    recorder.judge(&pauses(&[(975 * MS, 976 * MS)]), 2000 * MS);
    assert_eq!(touched(&mut recorder, 1500 * MS).concat().len(), 2);
}

#[test]
fn an_interval_that_was_recycled_has_no_touched_requests() {
    let mut recorder = of_seconds(0);
    for second in 0..4 {
        let at_ns = second * 1000 * MS;
        done(&mut recorder, at_ns, at_ns + 2 * MS, Phase::Measured);
        recorder.advance(at_ns + 1000 * MS);
        recorder.judge(&pauses(&[(0, 3 * MS)]), u64::MAX);
        let interval = recorder.take_finished().unwrap();
        assert_eq!(interval.touched.is_some(), second == 0);
        recorder.recycle(interval);
    }
}
