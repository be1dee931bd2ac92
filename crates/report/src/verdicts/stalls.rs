//! Times in which the target sent no responses.
//!
//! A stall leaves a mark on the distribution. In an open load, the waits of the requests due in it
//! spread evenly from its whole length to zero, so rate × half its length of them wait for more
//! than half of it. In a closed loop, each connection sends one request into it and then nothing,
//! so only as many requests as connections are slow, and the rest of the stall is missing from the
//! figures. A pause of the loader itself looks the same here; the hiccup watch distinguishes the
//! two.

use candor_plan::units::{fmt_count, fmt_duration_ns};

use super::{Finding, Severity};
use crate::document::Document;
use crate::document::hiccups::Hiccups;
use crate::document::latency::Distribution;

/// The shortest stall to report.
const STALL_FLOOR_NS: u64 = 100_000_000;
/// A stall is longer than the usual latency by this factor.
const STALL_FACTOR: u64 = 10;
/// The least share of the expected slow requests that must be slow.
const HELD_SHARE: f64 = 0.5;
/// The least ratio of the requests that waited for a tenth of a stall to those that waited for half of it; where they
/// are due evenly, it is 1.8.
const WAITED: f64 = 1.3;
/// A closed loop has omitted requests if a percentile would be larger by this factor.
const OMISSION_FACTOR: f64 = 2.0;

/// How many samples took longer than `limit_ns`.
fn longer(distribution: &Distribution, limit_ns: u64) -> u64 {
    distribution.decode().map_or(0, |hdr| hdr.count_between(limit_ns, u64::MAX))
}

/// The longest time, if it is far above the usual one and not the loader's own pause.
fn candidate(document: &Document, distribution: &Distribution) -> Option<u64> {
    let (longest_ns, usual_ns) =
        (distribution.max_ns?, distribution.interval_ns("p50")?.low_ns.unwrap_or(0));
    let ours_ns = document.hiccups().map(Hiccups::longest_ns).max().unwrap_or(0);
    let is_long = longest_ns >= STALL_FLOOR_NS && longest_ns >= usual_ns * STALL_FACTOR;
    (is_long && ours_ns < longest_ns / 2).then_some(longest_ns)
}

/// How many responses are missing where the slowest came, of those that came at the same pace elsewhere. Requests that
/// are slow by themselves leave no gap. `None`: there are slow ones all over the run.
fn missing(document: &Document, stall_ns: u64) -> Option<f64> {
    let all: Vec<_> = document.window_intervals().collect();
    let is_slow = |at: &usize| all[*at].service.max_ns.is_some_and(|ns| ns > stall_ns / 2);
    let length_ns = document.plan.recording.interval_ns.max(1);
    let before = (stall_ns / length_ns) as usize;
    let slow: Vec<usize> = (0..all.len()).filter(is_slow).collect();
    let is_near = |at: usize| slow.iter().any(|one| (at..=at + before).contains(one));
    let sum = |near: bool| {
        let some = (0..all.len()).filter(|at| is_near(*at) == near).map(|at| all[at]);
        some.fold((0.0, 0.0), |(count, ns), one| {
            (count + one.answered as f64, ns + one.end_ns.saturating_sub(one.start_ns) as f64)
        })
    };
    let ((near, near_ns), (elsewhere, elsewhere_ns)) = (sum(true), sum(false));
    (elsewhere > 0.0 && elsewhere_ns > 0.0).then(|| near_ns * elsewhere / elsewhere_ns - near)
}

/// The least number of stalls in which the slowest came.
fn stalls(document: &Document, stall_ns: u64) -> f64 {
    let is_slow = |ns: Option<u64>| ns.is_some_and(|ns| ns > stall_ns / 2);
    let intervals = document.window_intervals().filter(|one| is_slow(one.response.max_ns)).count();
    let each = stall_ns.div_ceil(document.plan.recording.interval_ns.max(1)) + 1;
    (intervals as u64 / each).max(1) as f64
}

/// A closed loop met a stall, and most of the requests that it would have delayed were never sent.
pub(super) fn coordinated_omission(document: &Document) -> Option<Finding> {
    if document.plan.load.is_open() {
        return None;
    }
    let service = &document.latencies.service;
    let stall_ns = candidate(document, service)?;
    let held = longer(service, stall_ns / 2);
    let places = u64::from(document.plan.connections.count);
    let per_s = document.rate.achieved_per_s?;
    let gap = missing(document, stall_ns)?;
    if (held as f64) < places as f64 * HELD_SHARE
        || gap < per_s * stall_ns as f64 / 1e9 * HELD_SHARE
    {
        return None;
    }
    // If a share f = S/T of the time is stalled, an even load has its p99 at S(1 − 0.01/f) (see the
    // closed form in the docs). Only the longest stall counts.
    let f = stall_ns as f64 / document.time.window_ns.max(1) as f64;
    let p99_ns = document.latencies.response.interval_ns("p99")?.low_ns.unwrap_or(0) as f64;
    let even_ns = stall_ns as f64 * (1.0 - 0.01 / f);
    if f <= 0.01 || even_ns < OMISSION_FACTOR * p99_ns.max(1.0) {
        return None;
    }
    Some(Finding {
        severity: Severity::Warning,
        sentence: format!(
            "The target stalled for about {} and this closed loop waited with it: {} requests show it. At a \
             fixed rate p99 would have been about {}.",
            fmt_duration_ns(stall_ns),
            fmt_count(held),
            fmt_duration_ns(even_ns as u64)
        ),
        evidence: vec![
            ("stall_ns", stall_ns as f64),
            ("held", held as f64),
            ("stalled_share", f),
            ("p99_low_ns", p99_ns),
            ("p99_sent_evenly_ns", even_ns),
        ],
        remedy: "Measure latency with --rate, at the rate that the target has to serve.",
    })
}

/// An open load met a stall of the server, which its figures show in full.
pub(super) fn target_stalled(document: &Document) -> Option<Finding> {
    if !document.plan.load.is_open() {
        return None;
    }
    let response = &document.latencies.response;
    let stall_ns = candidate(document, response)?;
    let due = document.rate.scheduled_per_s? * (stall_ns / 2) as f64 / 1e9;
    let held = longer(response, stall_ns / 2);
    // Those that are slow by themselves take as long as each other, and come all over the run.
    let waited = longer(response, stall_ns / 10);
    let due_in_all = due * stalls(document, stall_ns);
    // An overload looks the same, but lasts for the whole run.
    let share = stall_ns as f64 / document.time.window_ns.max(1) as f64;
    let lag_ns = document.latencies.send_lag.max_ns.unwrap_or(0);
    if due < 2.0
        || (held as f64) < due_in_all * HELD_SHARE
        || (waited as f64) < held as f64 * WAITED
        || share > 0.5
        || lag_ns > stall_ns / 2
        || super::rate::target_not_met(document).is_some()
    {
        return None;
    }
    Some(Finding {
        severity: Severity::Note,
        sentence: format!(
            "The target stalled for about {}: {} requests waited for over half of it; the loader was on \
             time (within {}).",
            fmt_duration_ns(stall_ns),
            fmt_count(held),
            fmt_duration_ns(lag_ns)
        ),
        evidence: vec![
            ("stall_ns", stall_ns as f64),
            ("held", held as f64),
            ("send_lag_max_ns", lag_ns as f64),
        ],
        remedy: "Check what the target did at that time; the percentiles include the stall.",
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::testing;
    use candor_record::Hiccup;

    use crate::testing::Outcome;

    const MS: u64 = 1_000_000;

    /// In 3 s, half a second without a response.
    #[test]
    fn a_closed_loop_that_met_a_stall() {
        let document = testing::stalled_closed(16);
        let verdict = found(&document, "coordinated-omission").unwrap();
        assert!(verdict.sentence.contains("about 500 ms"), "{}", verdict.sentence);
        assert_eq!(verdict.evidence["held"], 16.0);
        // S(1 − 0.01·T/S) = 0.5 − 0.03.
        assert!((verdict.evidence["p99_sent_evenly_ns"] - 470e6).abs() < 5e6, "{verdict:?}");
    }

    #[test]
    fn one_slow_request_of_many_connections_is_no_stall() {
        assert!(found(&testing::stalled_closed(1), "coordinated-omission").is_none());
        assert!(found(&testing::healthy_closed(), "coordinated-omission").is_none());
    }

    /// One of fifty takes 300 ms, all over the run, and the others are as fast as ever.
    #[test]
    fn requests_that_are_slow_by_themselves_are_no_stall() {
        for mut run in [testing::healthy_open_run(), testing::healthy_closed_run()] {
            for one in run.requests.iter_mut().step_by(50) {
                one.outcome = Outcome::Ok { service_ns: 300 * MS };
            }
            let document = run.document();
            let p999 = document.latencies.response.percentile_ns("p99").unwrap();
            assert!(p999 >= 290 * MS, "{p999}");
            for id in ["coordinated-omission", "target-stalled"] {
                assert!(found(&document, id).is_none(), "{id}");
            }
        }
    }

    #[test]
    fn a_pause_of_our_own_is_not_the_targets() {
        let ours = Hiccup { at_ns: 2000 * MS, late_ns: 500 * MS, waited_ns: 0, stolen_ns: 0 };
        for mut document in [testing::stalled_closed(16), testing::stalled_open()] {
            document.machines = testing::with_hiccup(ours).machines;
            for id in ["coordinated-omission", "target-stalled"] {
                assert!(found(&document, id).is_none(), "{id}");
            }
            assert!(found(&document, "host-hiccup").is_some());
        }
    }

    #[test]
    fn an_open_load_that_met_a_stall() {
        let mut document = testing::stalled_open();
        let verdict = found(&document, "target-stalled").unwrap();
        assert!(verdict.sentence.contains("about 500 ms"), "{}", verdict.sentence);
        assert!(found(&document, "coordinated-omission").is_none());
        document.latencies.send_lag.max_ns = Some(400 * MS);
        assert!(found(&document, "target-stalled").is_none(), "the loader was late itself");
    }
}
