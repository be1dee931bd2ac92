//! Numbers that cannot be true: a ledger that does not balance, figures that contradict each other.
//! Each is a bug in this program, so there is no threshold to tune.

use candor_plan::units::{fmt_count, fmt_duration_ns};
use candor_plan::{Arrivals, Load};
use candor_record::{ErrorKind, IntervalSummary, StatusCount, contradiction};

use super::{Finding, Severity};
use crate::document::counts::{LedgerCounts, RequestRow, count_of};
use crate::document::latency::Distribution;
use crate::document::users::JourneyRow;
use crate::document::{Document, EndReason};

const REMEDY: &str = "Do not use these numbers; keep the result file and report the fault.";

/// `scheduled = sent + shed + unsent + unaccounted` and `sent = ok + broken off + errors + unfinished`.
pub(super) fn ledger(document: &Document) -> Option<Finding> {
    let (name, ledger) = [("measured", &document.ledger), ("warm-up", &document.warm_up)]
        .into_iter()
        .find(|(_, ledger)| !ledger.balances())?;
    let LedgerCounts { scheduled, sent, .. } = *ledger;
    Some(Finding {
        severity: Severity::Invalid,
        sentence: format!(
            "The {name} ledger does not balance: {} scheduled against {} accounted for, {} sent \
             against {} with an outcome.",
            fmt_count(scheduled),
            fmt_count(ledger.scheduled_parts()),
            fmt_count(sent),
            fmt_count(ledger.sent_parts())
        ),
        evidence: vec![
            ("scheduled", scheduled as f64),
            ("scheduled_parts", ledger.scheduled_parts() as f64),
            ("sent", sent as f64),
            ("sent_parts", ledger.sent_parts() as f64),
        ],
        remedy: REMEDY,
    })
}

/// The rate of false alarms: one correct run in a million.
const SCHEDULE_ALARMS: f64 = 1e-6;
/// Due times are rounded to a nanosecond, so a gap is off by at most two; the rest allows for
/// floating-point rounding in the sum of the rates.
const SCHEDULE_SLACK_NS: f64 = 10.0;

/// The gaps between due times are not those of the asked process.
pub(super) fn schedule(document: &Document) -> Option<Finding> {
    let realised = document.realised.as_ref()?;
    let (sentence, evidence) = match (realised.largest_deviation_ns, realised.p) {
        (Some(off_ns), _) if off_ns > SCHEDULE_SLACK_NS => (
            format!("Requests were not due evenly: a gap is off by {off_ns:.0} ns."),
            ("largest_deviation_ns", off_ns),
        ),
        (_, Some(p)) if p < SCHEDULE_ALARMS => {
            (format!("Gaps between due times are not exponential (p = {p:.1e})."), ("p", p))
        }
        _ => return None,
    };
    Some(Finding {
        severity: Severity::Invalid,
        sentence,
        evidence: vec![evidence, ("gaps", realised.gaps as f64)],
        remedy: REMEDY,
    })
}

/// All other contradictions: one verdict with the first of them as its sentence.
pub(super) fn impossible(document: &Document) -> Option<Finding> {
    let mut found = Vec::new();
    contradictions(document, &mut found);
    let first = found.first()?.clone();
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(Finding {
        severity: Severity::Invalid,
        sentence: format!("The figures contradict each other: {first}{more}."),
        evidence: vec![("contradictions", found.len() as f64)],
        remedy: REMEDY,
    })
}

fn contradictions(document: &Document, found: &mut Vec<String>) {
    extremes(document, found);
    orders(document, found);
    floor(document, found);
    counts(document, found);
    rows(document, found);
    rates(document, found);
}

/// Within each distribution: min ≤ percentiles in order ≤ max ≤ length of the run (but for
/// connect times).
fn extremes(document: &Document, found: &mut Vec<String>) {
    for (name, distribution) in document.latencies.named() {
        let Distribution { count, min_ns, max_ns, mean_ns, stdev_ns, .. } = distribution;
        let (Some(min_ns), Some(max_ns), Some(mean_ns)) = (min_ns, max_ns, mean_ns) else {
            if *count > 0 {
                found.push(format!("{name} has {count} samples and no extremes"));
            }
            continue;
        };
        let mut ascending = vec![*min_ns];
        ascending.extend(distribution.percentiles_ns.values().flatten());
        ascending.push(*max_ns);
        if !ascending.is_sorted() {
            found.push(format!("the percentiles of {name} do not ascend from minimum to maximum"));
        }
        // Connections are opened before the time of the run begins, and may take longer than the
        // run.
        if name != "connect" && *max_ns > document.time.elapsed_ns {
            found.push(format!("the longest {name} time is longer than the run"));
        }
        // The mean is a quotient of exact sums; its rounding may exceed an extreme.
        let slack = *mean_ns * 1e-12;
        if !(*min_ns as f64 - slack <= *mean_ns && *mean_ns <= *max_ns as f64 + slack) {
            found.push(format!("the mean {name} time is outside of the extremes"));
        }
        if !stdev_ns.is_some_and(f64::is_finite) {
            found.push(format!("the deviation of {name} is not a number"));
        }
    }
}

/// Between distributions of the same requests: where each request has a figure that is at most another one, so have
/// all requests, rank by rank.
fn orders(document: &Document, found: &mut Vec<String>) {
    let latencies = &document.latencies;
    for ((less_name, less), (more_name, more)) in [
        (("first byte", &latencies.first_byte), ("service time", &latencies.service)),
        (("service time", &latencies.service), ("response time", &latencies.response)),
    ] {
        let ends = [less.min_ns.zip(more.min_ns), less.max_ns.zip(more.max_ns)];
        let percentiles = less.percentiles_ns.iter().map(|(name, less_ns)| {
            let more_ns = more.percentile_ns(name);
            less_ns.zip(more_ns)
        });
        let exact = ends.into_iter().chain(percentiles).flatten();
        let is_late = exact.into_iter().any(|(less_ns, more_ns)| less_ns > more_ns);
        let means = less.mean_ns.zip(more.mean_ns);
        if is_late || means.is_some_and(|(less_ns, more_ns)| less_ns > more_ns * (1.0 + 1e-12)) {
            found.push(format!("the {less_name} comes after the {more_name}"));
        }
    }
}

/// How far the rates of the loader's and the target's clocks may differ: one part in this many.
const CLOCKS: u64 = 1000;

/// Against what the target says of itself: no response is complete before it can be.
fn floor(document: &Document, found: &mut Vec<String>) {
    if let Some((least_ns, delay_ns)) =
        document.latencies.service.min_ns.zip(document.target_delay_ns)
        && least_ns < delay_ns - delay_ns / CLOCKS
    {
        let [least, delay] = [least_ns, delay_ns].map(fmt_duration_ns);
        found.push(format!("a response took {least}, and the target's own delay is {delay}"));
    }
}

/// Each row has the ledger of its time, and all of them together are the run.
fn rows(document: &Document, found: &mut Vec<String>) {
    let rows = &document.intervals;
    if let Some((index, how)) = contradiction(rows, document.warm_up.sent) {
        found.push(format!("interval {index}: {how}"));
    }
    // What a lost agent had is in no row.
    if rows.iter().any(|row| !row.missing.is_empty()) {
        return;
    }
    let LedgerCounts { shed, unsent, broken_off, errors, unfinished, .. } = document.ledger;
    let sum =
        |column: fn(&IntervalSummary) -> u64| rows.iter().map(column).fold(0, u64::saturating_add);
    // An agent that was lost at the end of the last row is missing from none. What it had in flight then is unfinished,
    // and that is no row's.
    let mut agents = document.machines.iter().filter_map(|one| one.agent.as_ref());
    let is_any_lost = agents.any(|agent| agent.lost.is_some());
    let in_rows = sum(|row| row.unfinished);
    let closed = if is_any_lost { unfinished.saturating_sub(in_rows) } else { 0 };
    let columns = [
        ("shed", sum(|row| row.shed), shed),
        ("unsent", sum(|row| row.unsent), unsent),
        ("broken off", sum(|row| row.broken_off), broken_off),
        ("failed", sum(|row| row.errors), errors),
        ("unfinished", in_rows.saturating_add(closed), unfinished),
        ("touched by pauses", sum(|row| row.touched), document.latencies.touched),
    ];
    for (what, sum, total) in columns {
        if sum != total {
            found.push(format!("requests {what} by interval and in all: {sum} against {total}"));
        }
    }
    let opened = document.connections.opened;
    if rows.iter().any(|row| row.connections > opened) {
        found.push(format!("more connections at once than the {opened} that were opened"));
    }
}

/// Between counts: what must be equal.
fn counts(document: &Document, found: &mut Vec<String>) {
    let ledger = &document.ledger;
    let mut equal = |what: &str, left: u64, right: u64| {
        if left != right {
            found.push(format!("{what}: {left} against {right}"));
        }
    };
    let latencies = &document.latencies;
    for (name, distribution) in
        latencies.named().into_iter().filter(|(name, _)| !matches!(*name, "connect" | "censored"))
    {
        equal(&format!("{name} samples and requests ok"), distribution.count, ledger.ok);
    }
    if let Some(untouched) = &latencies.untouched {
        let all = latencies.touched.saturating_add(untouched.count);
        equal("requests touched and untouched, and requests ok", all, ledger.ok);
    }
    let failed = |of: fn(ErrorKind) -> bool| {
        let kinds = ErrorKind::ALL.into_iter().filter(|kind| of(*kind));
        kinds.map(|kind| count_of(&document.errors, kind.id())).fold(ledger.ok, u64::saturating_add)
    };
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let by_status = |all: &[StatusCount]| sum(&mut all.iter().map(|one| one.count));
    // Messages have no status.
    let is_websocket = document.plan.wire.websocket().is_some();
    let with_status = if is_websocket { 0 } else { failed(ErrorKind::has_status) };
    equal("responses by status and in the ledger", by_status(&document.statuses), with_status);
    let by_kind = sum(&mut document.errors.iter().map(|one| one.count));
    equal("errors by kind and in the ledger", by_kind, ledger.errors);
    let intervals = &document.intervals;
    let in_intervals = |pick: fn(&IntervalSummary) -> u64| sum(&mut intervals.iter().map(pick));
    equal("requests sent by interval and in the ledger", in_intervals(|one| one.sent), ledger.sent);
    equal("requests ok by interval and in the ledger", in_intervals(|one| one.ok), ledger.ok);
    if !document.requests.is_empty() {
        let in_rows = |pick: fn(&RequestRow) -> u64| sum(&mut document.requests.iter().map(pick));
        equal("requests sent by kind and in the ledger", in_rows(|row| row.sent), ledger.sent);
        equal("requests ok by kind and in the ledger", in_rows(|row| row.ok), ledger.ok);
        equal("errors by request and in the ledger", in_rows(|row| row.errors), ledger.errors);
    }
    // A recorder closes its last interval no later than the end of the drain.
    let drain_ns = document.plan.stop.drain_ns.saturating_add(document.time.window_ns);
    let last_ns = document.time.warm_up_ns.saturating_add(drain_ns);
    if intervals.iter().any(|one| one.ok > 0 && one.start_ns > last_ns) {
        found.push("an interval with responses begins after the end of the drain".to_owned());
    }
    let replies = document.parts.count.saturating_sub(document.parts.unasked);
    let messages = ledger.sent.saturating_add(document.warm_up.sent);
    // A reply of several messages has as many parts.
    let has_streams = document.plan.work.requests().iter().any(|one| one.stream.is_some());
    if document.plan.wire.websocket().is_some() && !has_streams && replies > messages {
        found.push(format!("{replies} replies to {messages} messages"));
    }
    let heard = by_status(&document.broken_off_statuses);
    if heard > ledger.broken_off {
        let broken_off = ledger.broken_off;
        found.push(format!("{heard} responses to {broken_off} requests that were broken off"));
    }
    let answered = failed(ErrorKind::is_whole);
    if document.rate.answered_in_window > answered {
        found.push(format!(
            "more responses within the window ({}) than at all ({answered})",
            document.rate.answered_in_window
        ));
    }
    for one in document.users.iter().flat_map(|users| &users.journeys) {
        if !one.balances() {
            let JourneyRow { name, started, completed, failed, unfinished, .. } = one;
            found.push(format!(
                "users of {name}: {started} started against {completed} completed, {failed} failed and {unfinished} unfinished"
            ));
        }
    }
    // With journeys the count is one of users.
    if let Some(asked) = document.plan.stop.count.filter(|_| document.users.is_none()) {
        let scheduled = ledger.scheduled;
        // A duration or a schedule may end a run before its count, but nothing can in a closed load
        // that ended by its count. A part of a run has its share.
        let exactly = document.end.reason == EndReason::Count
            && document.part.is_none()
            && document.plan.stop.duration_ns.is_none()
            && !document.plan.load.is_open();
        if scheduled > asked || (exactly && scheduled < asked) {
            found.push(format!("{scheduled} requests scheduled where {asked} were asked for"));
        }
    }
}

/// Between rates and counts: rate × window = count; parts of the mean add up; the schedule was
/// kept.
fn rates(document: &Document, found: &mut Vec<String>) {
    let rate = &document.rate;
    let rated_s = document.rated_s().unwrap_or(0.0);
    let per_window = |per_s: Option<f64>| per_s.map(|per_s| per_s * rated_s);
    for (name, product, counted) in [
        ("achieved", per_window(rate.achieved_per_s), rate.answered_in_window),
        ("scheduled", per_window(rate.scheduled_per_s), document.ledger.scheduled),
    ] {
        if product
            .is_some_and(|product| product.is_nan() || (product - counted as f64).abs() >= 0.5)
        {
            found.push(format!("the {name} rate times the window is not the count"));
        }
    }
    let latencies = &document.latencies;
    let parts = [&latencies.queue_wait, &latencies.send_lag, &latencies.service];
    let blocked_ns = latencies.blocked.as_ref().map_or(0.0, |blocked| {
        blocked.by.total_ns() as f64 / latencies.response.count.max(1) as f64
    });
    if let (Some(response_ns), Some(parts_ns)) =
        (latencies.response.mean_ns, parts.iter().map(|part| part.mean_ns).sum::<Option<f64>>())
        && (response_ns - parts_ns - blocked_ns).abs() > 1.0 + response_ns * 1e-9
    {
        let parts = "queue wait + send lag + blocked + service time";
        found.push(format!("mean response time is not {parts}"));
    }
    if let Some(blocked) = &latencies.blocked {
        let by_time = blocked.time.mean_ns.unwrap_or(0.0) * blocked.time.count as f64;
        let by_cause = blocked.by.total_ns() as f64;
        if (by_time - by_cause).abs() > 1.0 + by_cause * 1e-9 {
            found.push("blocked time by cause is not blocked time in all".to_owned());
        }
    }
    if let Some(asked) = per_window(rate.asked_per_s)
        && document.end.reason == EndReason::Duration
    {
        let scheduled = document.ledger.scheduled as f64;
        if (scheduled - asked).abs() > schedule_slack(document, asked) {
            found.push(format!("{scheduled} requests scheduled where the plan has {asked:.0}"));
        }
    }
}

/// The tolerance of the number of scheduled requests: an arrival at each segment's edge, and six
/// standard deviations of a Poisson process.
fn schedule_slack(document: &Document, asked: f64) -> f64 {
    let load = &document.plan.load;
    let edges = 2.0 + 2.0 * load.segments().len() as f64;
    match load {
        Load::Open(open) if open.arrivals == Arrivals::Poisson => edges + 6.0 * asked.sqrt(),
        _ => edges,
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use crate::document::Severity;
    use crate::document::{Document, EndReason};
    use crate::testing;
    use candor_record::StatusCount;

    /// A request that was in flight at the end of the last row, when the agent was lost.
    #[test]
    fn what_an_agent_had_in_flight_when_it_was_lost_is_in_no_row() {
        let mut document = testing::fleet::degraded();
        let last = document.intervals.last_mut().unwrap();
        assert!(last.missing.is_empty());
        (last.sent, last.in_flight) = (last.sent + 1, last.in_flight + 1);
        let ledger = &mut document.ledger;
        (ledger.unaccounted, ledger.sent) = (ledger.unaccounted - 1, ledger.sent + 1);
        ledger.unfinished += 1;
        let verdict = found(&document, "impossible");
        assert!(verdict.is_none(), "{verdict:?}");
        let is_found = |document: &Document| {
            let verdict = found(document, "impossible").expect("a contradiction");
            assert!(verdict.sentence.contains("requests unfinished by interval"), "{verdict:?}");
        };
        document.machines[1].agent.as_mut().unwrap().lost = None;
        is_found(&document);
        let mut document = testing::fleet::degraded();
        let last = document.intervals.last_mut().unwrap();
        (last.sent, last.unfinished) = (last.sent + 1, last.unfinished + 1);
        document.ledger.sent += 1;
        is_found(&document);
    }

    #[test]
    fn a_lost_request_is_found() {
        let mut document = testing::healthy_open();
        assert!(found(&document, "ledger").is_none());
        document.ledger.scheduled += 1;
        let verdict = found(&document, "ledger").unwrap();
        assert_eq!(verdict.severity, Severity::Invalid);
        assert!(verdict.sentence.contains("6,001 scheduled against 6,000"), "{}", verdict.sentence);
        let mut document = testing::healthy_open();
        document.warm_up.ok -= 1;
        assert!(found(&document, "ledger").unwrap().sentence.contains("warm-up"));
    }

    /// Each contradiction separately, in an otherwise healthy document.
    #[test]
    fn every_contradiction_is_found() {
        type Spoil = fn(&mut Document);
        let spoils: [(&str, Spoil); 25] = [
            ("do not ascend", |d| d.latencies.response.min_ns = Some(9_007_199_254_740_991)),
            ("longer than the run", |d| d.latencies.service.max_ns = Some(u64::MAX)),
            ("outside of the extremes", |d| d.latencies.connect.mean_ns = Some(f64::NAN)),
            ("not a number", |d| d.latencies.send_lag.stdev_ns = Some(f64::NAN)),
            ("no extremes", |d| d.latencies.queue_wait.max_ns = None),
            ("samples and requests ok", |d| d.latencies.first_byte.count += 1),
            ("responses by status", |d| d.statuses[0].count += 1),
            ("requests that were broken off", |d| {
                d.broken_off_statuses.push(StatusCount { status: 400, count: 1 });
            }),
            ("touched by pauses by interval", |d| d.intervals[0].touched += 1),
            ("touched and untouched", |d| {
                d.latencies.untouched = Some(testing::distribution(&[500_000; 5_999]));
            }),
            ("sent by interval", |d| d.intervals[0].sent -= 1),
            ("ok by interval", |d| d.intervals[0].ok -= 1),
            ("after the end of the drain", |d| d.intervals[2].start_ns = u64::MAX),
            ("more responses within", |d| d.rate.answered_in_window += 100),
            ("rate times the window", |d| d.rate.achieved_per_s = Some(1e9)),
            ("not queue wait", |d| d.latencies.service.mean_ns = Some(500_000.0)),
            ("where the plan has", |d| d.rate.asked_per_s = Some(1900.0)),
            ("first byte comes after the service time", |d| {
                d.latencies.first_byte.mean_ns = d.latencies.service.mean_ns.map(|ns| ns + 1.0);
            }),
            ("service time comes after the response time", |d| {
                d.latencies.service.percentiles_ns.insert("p50".to_owned(), Some(501_000));
            }),
            ("the target's own delay is", |d| d.target_delay_ns = Some(5_000_000)),
            ("in flight is not what was sent", |d| {
                d.intervals[2].in_flight += d.warm_up.sent + 1;
            }),
            ("more outcomes than requests sent", |d| d.intervals[0].unfinished = 2_000),
            ("in flight on no connection", |d| d.intervals[0].connections = 0),
            ("requests shed by interval", |d| d.intervals[1].shed = 1),
            ("more connections at once than", |d| d.connections.opened = 3),
        ];
        for (what, spoil) in spoils {
            let mut document = testing::healthy_open();
            assert!(found(&document, "impossible").is_none());
            spoil(&mut document);
            let mut contradictions = Vec::new();
            super::contradictions(&document, &mut contradictions);
            assert!(
                contradictions.iter().any(|one| one.contains(what)),
                "{what}: {contradictions:?}"
            );
            let verdict = found(&document, "impossible").unwrap();
            assert_eq!(verdict.severity, Severity::Invalid);
        }
    }

    /// Gaps kept by the engine, correct and falsified ones.
    #[test]
    fn gaps_that_are_not_those_of_the_process_are_found() {
        use candor_plan::{Arrivals, Load};
        let mut run = testing::healthy_open_run();
        let mut with = |arrivals, gaps: &dyn Fn(u64) -> u64| {
            let Load::Open(open) = &mut run.plan.load else { panic!("an open load") };
            open.arrivals = arrivals;
            let mut record = run.record();
            // 2000/s over two workers: a millisecond each.
            let one = (0..500u64).map(|i| (i * 2_000_000, i * 2_000_000 + gaps(i))).collect();
            record.workers[0].gaps = one;
            let document = Document::new(&testing::facts(), &run.checked(), &record);
            assert!(document.realised.is_some());
            found(&document, "schedule").map(|one| one.sentence)
        };
        let even = |i: u64| 1_000_000 + i % 2;
        let exponential = |i: u64| {
            (-((i * 7919 % 500) as f64 + 0.5).mul_add(-1.0 / 500.0, 1.0).ln() * 1e6) as u64
        };
        assert_eq!(with(Arrivals::Constant, &even), None);
        assert!(
            with(Arrivals::Constant, &|i| 1_000_000 + i % 50).unwrap().contains("not due evenly")
        );
        assert_eq!(with(Arrivals::Poisson, &exponential), None);
        assert!(with(Arrivals::Poisson, &even).unwrap().contains("not exponential"));
    }

    #[test]
    fn a_connection_may_take_longer_than_the_run() {
        let mut document = testing::healthy_open();
        document.latencies.connect.max_ns = Some(document.time.elapsed_ns * 2);
        assert!(found(&document, "impossible").is_none());
    }

    #[test]
    fn rows_of_requests_and_counts_asked_for_must_add_up() {
        let mut document = testing::broken();
        assert!(found(&document, "impossible").is_none(), "{:?}", document.verdicts);
        document.requests[1].errors += 1;
        assert!(found(&document, "impossible").unwrap().sentence.contains("errors by request"));
        let mut document = testing::healthy_closed();
        document.end.reason = EndReason::Count;
        let mut with_count = |count, duration_ns| {
            document.plan.stop.count = Some(count);
            document.plan.stop.duration_ns = duration_ns;
            found(&document, "impossible").map(|one| one.sentence)
        };
        assert!(with_count(7, Some(1)).unwrap().contains("where 7 were asked"));
        assert!(with_count(1_000_000, None).is_some());
        assert!(with_count(1_000_000, Some(1)).is_none(), "the duration may have ended it");
        assert!(with_count(104_810, None).is_none());
        // Of a part it is the count of all.
        document.part = Some(crate::document::part::Part {
            workers: candor_record::Workers { first: 0, count: 1, of: 2 },
            record: candor_record::Encoded(Vec::new()),
        });
        document.plan.stop.count = Some(1_000_000);
        document.plan.stop.duration_ns = None;
        assert!(found(&document, "impossible").is_none());
    }
}
