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
pub(super) struct Course<'a> {
    pub(super) slices: Vec<Slice<'a>>,
    /// Intervals in a slice.
    pub(super) together: usize,
}

/// Some of a run's time.
pub(super) struct Slice<'a> {
    intervals: Vec<&'a IntervalRow>,
    pub(super) start_s: f64,
    pub(super) end_s: f64,
    /// Counts summed; levels (connections, backlog, in flight) as they were at the end.
    pub(super) sum: Sum,
    pub(super) response: Timed,
    pub(super) service: Brief,
    pub(super) send_lag: Brief,
}

/// The response times of a slice. Their histogram is not kept: it may have 27 MiB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub(super) count: u64,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
    /// If there are enough of them.
    pub(super) p50_ns: Option<f64>,
    pub(super) p99_ns: Option<f64>,
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

impl<'a> Course<'a> {
    pub(super) fn of(document: &'a Document) -> Result<Self, DecodeError> {
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

impl<'a> Slice<'a> {
    fn of(rows: &[&'a IntervalRow]) -> Result<Self, DecodeError> {
        let (first, last) = (rows[0], rows[rows.len() - 1]);
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
            response: Timed::of(&histogram(rows)?),
            intervals: rows.to_vec(),
            service: highest(rows.iter().map(|row| &row.service)),
            send_lag: highest(rows.iter().map(|row| &row.send_lag)),
        })
    }

    /// So many a second.
    pub(super) fn per_s(&self, count: u64) -> Option<f64> {
        let length_s = self.end_s - self.start_s;
        (length_s > 0.0).then(|| count as f64 / length_s)
    }

    /// The histogram of its response times, made anew.
    pub(super) fn histogram(&self) -> Result<Hdr<u64>, DecodeError> {
        histogram(&self.intervals)
    }

    /// The longest response time.
    pub(super) fn longest_ns(&self) -> Option<f64> {
        (self.response.count > 0).then_some(self.response.max_ns as f64)
    }
}

impl Timed {
    fn of(histogram: &Hdr<u64>) -> Self {
        let count = histogram.len();
        let at = |q: f64| {
            latency::enough_samples(count, q).then(|| histogram.value_at_quantile(q) as f64)
        };
        let (min_ns, max_ns) = (histogram.min(), histogram.max());
        Timed { count, min_ns, max_ns, p50_ns: at(0.5), p99_ns: at(0.99) }
    }
}

/// The response times of intervals together.
fn histogram(rows: &[&IntervalRow]) -> Result<Hdr<u64>, DecodeError> {
    let mut sum = latency::decode(&rows[0].response_hdr)?;
    for row in &rows[1..] {
        latency::add(&row.response_hdr, &mut sum)?;
    }
    Ok(sum)
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
