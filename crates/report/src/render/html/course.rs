//! The course of a run, cut into as many slices as a chart can show.
//!
//! A slice is an interval, or several in a row where there are too many: then counts are summed,
//! histograms added, and of figures that cannot be put together (percentiles without their
//! histogram) the highest stands for all. Which it is, the page says.

use candor_plan::units::fmt_plural;
use hdrhistogram::Histogram as Hdr;

use crate::document::Document;
use crate::document::intervals::{Brief, IntervalRow};
use crate::document::latency::{self, DecodeError};

/// Slices at most: one for every three pixels of a wide chart.
const MOST: usize = 240;

/// The slices of a run's measured window.
pub(super) struct Course {
    pub(super) slices: Vec<Slice>,
    /// Intervals in a slice.
    pub(super) together: usize,
}

/// Some of a run's time.
pub(super) struct Slice {
    pub(super) start_s: f64,
    pub(super) end_s: f64,
    /// Counts summed; levels (connections, backlog, in flight) as they were at the end.
    pub(super) sum: Sum,
    /// Response times of the slice.
    pub(super) response: Hdr<u64>,
    pub(super) service: Brief,
    pub(super) send_lag: Brief,
}

/// What was counted in a slice.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) sent: u64,
    pub(super) ok: u64,
    pub(super) errors: u64,
    pub(super) answered: u64,
    pub(super) shed: u64,
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    pub(super) connections: u64,
    pub(super) backlog: u64,
    pub(super) in_flight: u64,
}

impl Course {
    pub(super) fn of(document: &Document) -> Result<Course, DecodeError> {
        // The drain is shorter than an interval, and nothing is asked for in it.
        let intervals: Vec<&IntervalRow> = document.window_intervals().collect();
        let together = intervals.len().div_ceil(MOST).max(1);
        let slices = intervals.chunks(together).map(Slice::of).collect::<Result<_, _>>()?;
        Ok(Course { slices, together })
    }

    /// From when to when; `None` if nothing was measured.
    pub(super) fn span_s(&self) -> Option<(f64, f64)> {
        Some((self.slices.first()?.start_s, self.slices.last()?.end_s))
    }

    /// A figure of each slice at its middle.
    pub(super) fn points(&self, figure: impl Fn(&Slice) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
        self.slices.iter().map(|one| ((one.start_s + one.end_s) / 2.0, figure(one))).collect()
    }

    /// What a point of a chart stands for, if it is not an interval.
    pub(super) fn note(&self) -> Option<String> {
        (self.together > 1).then(|| {
            format!(
                "Each point stands for {}: rates are means, percentiles of service time and send lag \
                 the highest of them.",
                fmt_plural(self.together as u64, "interval")
            )
        })
    }
}

impl Slice {
    fn of(rows: &[&IntervalRow]) -> Result<Slice, DecodeError> {
        let (first, last) = (rows[0], rows[rows.len() - 1]);
        let mut response = latency::decode(&first.response_hdr)?;
        for row in &rows[1..] {
            let more = latency::decode(&row.response_hdr)?;
            response.add(more).map_err(|error| DecodeError::of(&error))?;
        }
        let sum = |count: fn(&IntervalRow) -> u64| {
            rows.iter().fold(0u64, |sum, row| sum.saturating_add(count(row)))
        };
        Ok(Slice {
            start_s: first.start_ns as f64 / 1e9,
            end_s: last.end_ns as f64 / 1e9,
            sum: Sum {
                sent: sum(|row| row.sent),
                ok: sum(|row| row.ok),
                errors: sum(|row| row.errors),
                answered: sum(|row| row.answered),
                shed: sum(|row| row.shed),
                bytes_sent: sum(|row| row.bytes_sent),
                bytes_received: sum(|row| row.bytes_received),
                connections: last.connections,
                backlog: last.backlog,
                in_flight: last.in_flight,
            },
            response,
            service: highest(rows.iter().map(|row| &row.service)),
            send_lag: highest(rows.iter().map(|row| &row.send_lag)),
        })
    }

    /// So many a second.
    pub(super) fn per_s(&self, count: u64) -> Option<f64> {
        let length_s = self.end_s - self.start_s;
        (length_s > 0.0).then(|| count as f64 / length_s)
    }

    /// A percentile of its response times, if there are enough of them.
    pub(super) fn response_ns(&self, q: f64) -> Option<f64> {
        let enough = latency::enough_samples(self.response.len(), q);
        enough.then(|| self.response.value_at_quantile(q) as f64)
    }

    /// The longest response time.
    pub(super) fn longest_ns(&self) -> Option<f64> {
        (!self.response.is_empty()).then(|| self.response.max() as f64)
    }
}

fn highest<'a>(briefs: impl Iterator<Item = &'a Brief>) -> Brief {
    let mut all = Brief::default();
    for one in briefs {
        all.count = all.count.saturating_add(one.count);
        all.p50_ns = all.p50_ns.max(one.p50_ns);
        all.p99_ns = all.p99_ns.max(one.p99_ns);
        all.max_ns = all.max_ns.max(one.max_ns);
    }
    all
}
