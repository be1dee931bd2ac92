//! The figures behind h2load's words: outcomes of requests, length of the run, bytes on the wire.

use super::units;
use candor_plan::Segment;
use candor_report::document::Document;
use candor_report::document::counts::count_of;

const NS_PER_S: f64 = 1e9;

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A number of requests.
    Count,
    /// A duration.
    Timed,
    /// A timing script.
    Script,
}

impl Mode {
    pub(super) fn of(document: &Document) -> Self {
        let segments = document.plan.load.segments();
        let is_replay = |one: &Segment| matches!(one, Segment::Replay { .. });
        match (&document.plan.stop.duration_ns, segments.iter().any(is_replay)) {
            (_, true) => Mode::Script,
            (Some(_), false) => Mode::Timed,
            (None, false) => Mode::Count,
        }
    }
}

/// The line `requests:`. `done` have an outcome; `succeeded` got a 2xx or 3xx, and all others that are
/// done `failed`: `errored` got no complete response, `timeout` of these took too long.
pub(super) fn requests(document: &Document) -> String {
    let ledger = &document.ledger;
    // In a run for a duration, the requests that were made.
    let total = match Mode::of(document) {
        Mode::Timed => ledger.scheduled,
        Mode::Count | Mode::Script => total(document),
    };
    let done = ledger.ok + ledger.errors;
    let [_, _, success, redirect, ..] = status_classes(document);
    let succeeded = success + redirect;
    let answered: u64 = document.statuses.iter().map(|one| one.count).sum();
    let late = ["timeout", "idle-timeout"].map(|kind| count_of(&document.errors, kind));
    let timeout: u64 = late.iter().sum();
    format!(
        "requests: {total} total, {} started, {done} done, {succeeded} succeeded, {} failed, {} errored, {timeout} timeout\n",
        ledger.sent,
        done.saturating_sub(succeeded),
        done.saturating_sub(answered),
    )
}

/// The number of requests of the plan; if only a duration ends the run, those that it made.
pub(super) fn total(document: &Document) -> u64 {
    let of_script = document.plan.load.segments().iter().find_map(|segment| match segment {
        Segment::Replay { offsets_ns, .. } => Some(offsets_ns.count()),
        _ => None,
    });
    of_script.or(document.plan.stop.count).unwrap_or(document.ledger.scheduled)
}

/// Complete responses by the first digit of their status.
pub(super) fn status_classes(document: &Document) -> [u64; 10] {
    let mut classes = [0; 10];
    for one in &document.statuses {
        classes[usize::from(one.status / 100).min(9)] += one.count;
    }
    classes
}

/// The length of the run, and the responses and bytes in it.
pub(super) struct Pace {
    /// The whole run, in seconds.
    pub(super) run_s: f64,
    pub(super) answers_per_s: f64,
    pub(super) bytes_per_s: f64,
}

impl Pace {
    pub(super) fn of(document: &Document) -> Self {
        let seconds = |ns: u64| ns as f64 / NS_PER_S;
        let window_s = seconds(document.time.window_ns);
        // The last responses of a script come after its last request, and count as well.
        let (run_s, measured_s, intervals, answers): (f64, f64, Vec<_>, u64) =
            match Mode::of(document) {
                Mode::Script => {
                    let all: Vec<_> = document.intervals.iter().collect();
                    let answers = all.iter().map(|one| one.answered).sum();
                    let elapsed_s = seconds(document.time.elapsed_ns);
                    (elapsed_s, elapsed_s, all, answers)
                }
                Mode::Timed | Mode::Count => (
                    seconds(document.time.warm_up_ns) + window_s,
                    window_s,
                    document.window_intervals().collect(),
                    document.rate.answered_in_window,
                ),
            };
        let bytes: u64 = intervals.iter().map(|one| one.bytes_received).sum();
        let per_s = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
        Pace { run_s, answers_per_s: per_s(answers), bytes_per_s: per_s(bytes) }
    }
}

/// The line `traffic:`, about the bytes on the wire in the whole run.
pub(super) fn traffic(document: &Document) -> String {
    let bytes = &document.bytes;
    // Over HTTP/1.1, all bytes but bodies count as headers.
    let headers = match bytes.headers {
        0 => bytes.received.saturating_sub(bytes.bodies),
        headers => headers,
    };
    let savings = match bytes.headers > 0 && bytes.headers_decoded > 0 {
        true => 1.0 - bytes.headers as f64 / bytes.headers_decoded as f64,
        false => 0.0,
    };
    let [total, headers, data] =
        [bytes.received, headers, bytes.bodies].map(|n| format!("{}B ({n})", units::size(n)));
    format!(
        "traffic: {total} total, {headers} headers (space savings {:.2}%), {data} data\n",
        savings * 100.0
    )
}

/// Whether connections are opened at a rate during the run.
pub(super) fn is_rate_mode(document: &Document) -> bool {
    document.plan.connections.during_run()
}

/// Whether the load is open: then latency counts from the due time.
pub(super) fn is_open(document: &Document) -> bool {
    document.plan.load.is_open()
}
