//! The figures of all forms: responses, latency and errors, in wrk's sense of these words.

use hdrhistogram::Histogram as Hdr;

use candor_plan::Load;
use candor_report::document::Document;
use candor_report::document::counts::count_of;
use candor_report::document::latency::{DecodeError, Distribution};

pub(super) const NS_PER_US: f64 = 1e3;
const NS_PER_S: f64 = 1e9;

/// Responses and bytes of the measured window, and its length.
pub(super) struct Traffic {
    /// Complete responses with any status.
    pub(super) answers: u64,
    pub(super) bytes: u64,
    pub(super) seconds: f64,
}

impl Traffic {
    pub(super) fn of(document: &Document) -> Self {
        Traffic {
            answers: document.rate.answered_in_window,
            bytes: document.window_intervals().map(|one| one.bytes_received).sum(),
            seconds: document.time.window_ns as f64 / NS_PER_S,
        }
    }

    pub(super) fn answers_per_s(&self) -> f64 {
        self.per_s(self.answers)
    }

    pub(super) fn bytes_per_s(&self) -> f64 {
        self.per_s(self.bytes)
    }

    fn per_s(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }
}

/// Errors, in wrk's five words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Errors {
    /// Attempts to connect that failed.
    pub(super) connect: u64,
    /// Requests without a complete response: closed, reset, truncated or not HTTP.
    pub(super) read: u64,
    /// Requests that could not be written.
    pub(super) write: u64,
    /// Requests that were given up after the timeout.
    pub(super) timeout: u64,
    /// Responses with a status of 400 or above.
    pub(super) status: u64,
}

impl Errors {
    pub(super) fn of(document: &Document) -> Self {
        let sum = |kinds: &[&str]| kinds.iter().map(|kind| count_of(&document.errors, kind)).sum();
        let above_399 = document.statuses.iter().filter(|one| one.status > 399);
        Errors {
            connect: document.connect_errors.iter().map(|one| one.count).sum(),
            read: sum(&["closed", "truncated", "reset", "malformed", "body-limit", "aborted"]),
            write: sum(&["write"]),
            timeout: sum(&["timeout", "idle-timeout"]),
            // Of the responses of the window: those of the drain are none for wrk.
            status: above_399
                .map(|one| one.count)
                .sum::<u64>()
                .min(document.rate.answered_in_window),
        }
    }

    /// Whether there is any besides statuses.
    pub(super) fn has_socket_errors(&self) -> bool {
        self.connect + self.read + self.write + self.timeout > 0
    }
}

/// The latency of the form: from when a request was due in an open load, from when it was sent in a
/// closed one.
pub(super) fn latency(document: &Document) -> &Distribution {
    match document.plan.load {
        Load::Open(_) => &document.latencies.response,
        Load::Closed { .. } => &document.latencies.service,
    }
}

/// The largest value of wrk2's histograms: a day.
const DAY_US: u64 = 86_400_000_000;

/// The histogram in wrk2's form: microseconds, from 1 to a day, with the digits of the run.
pub(super) fn in_microseconds(
    distribution: &Distribution,
    hdr: &Hdr<u64>,
) -> Result<Hdr<u64>, DecodeError> {
    let mut all = Hdr::new_with_bounds(1, DAY_US, hdr.sigfig())
        .expect("bounds are constant, and the digits are those of a histogram");
    let min_ns = distribution.min_ns.unwrap_or(0);
    let max_ns = distribution.max_ns.unwrap_or(u64::MAX);
    for step in hdr.iter_recorded() {
        let ns = hdr.median_equivalent(step.value_iterated_to()).min(max_ns).max(min_ns);
        all.saturating_record_n(ns / NS_PER_US as u64, step.count_at_value());
    }
    Ok(all)
}
