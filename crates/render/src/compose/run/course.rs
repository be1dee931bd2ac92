//! The course of a run, cut into as many slices as a chart can show.
//!
//! A slice is an interval, or several in a row if there are too many: then counts are summed,
//! histograms added, and of figures that cannot be merged (percentiles without their histogram) the
//! highest is shown. The page states that.

use candor_plan::units::fmt_plural;
use candor_record::{IntervalSummary, value_at_rank};
use candor_stats::Quantile;
use hdrhistogram::Histogram as Hdr;

use crate::page::chart::Points;
use candor_report::document::Document;
use candor_report::document::latency::{self, DecodeError};

/// The most slices: one for every three pixels of a wide chart.
const MOST: usize = 240;

/// The slices of a run's measured window.
pub(super) struct Course<'a> {
    pub(super) slices: Vec<Slice<'a>>,
    /// Intervals in a slice.
    together: usize,
}

/// A slice of a run.
pub(super) struct Slice<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) response: Timed,
}

/// Consecutive intervals, at least one.
pub(super) struct Rows<'a>(Vec<&'a IntervalSummary>);

/// The response times of a slice. Their histogram is not kept, because it may have 27 MiB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub(super) count: u64,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
    /// The median, if there are enough samples.
    pub(super) p50_ns: Option<f64>,
    pub(super) p99_ns: Option<f64>,
}

impl<'a> Course<'a> {
    pub(super) fn of(document: &'a Document) -> Result<Self, DecodeError> {
        // The drain is often shorter than an interval, and has no asked rate.
        let intervals: Vec<&IntervalSummary> = document.window_intervals().collect();
        let together = intervals.len().div_ceil(MOST).max(1);
        let slices = Rows::chunks(&intervals, together).map(|rows| -> Result<_, DecodeError> {
            let response = Timed::of(&rows.histogram()?);
            Ok(Slice { rows, response })
        });
        Ok(Course { slices: slices.collect::<Result<_, _>>()?, together })
    }

    /// Beginning and end; `None` if nothing was measured.
    pub(super) fn span_s(&self) -> Option<(f64, f64)> {
        Some((self.slices.first()?.rows.start_s(), self.slices.last()?.rows.end_s()))
    }

    /// A figure of each slice at its middle.
    pub(super) fn points(&self, figure: impl Fn(&Slice) -> Option<f64>) -> Points {
        self.slices.iter().map(|one| (one.rows.middle_s(), figure(one))).collect()
    }

    /// A note about the points of charts, if they are not single intervals.
    pub(super) fn note(&self) -> Option<String> {
        (self.together > 1).then(|| {
            format!(
                "Each point covers {}: rates are means, percentiles of service time and send \
                 lag are the highest values.",
                fmt_plural(self.together as u64, "interval")
            )
        })
    }
}

impl<'a> Rows<'a> {
    /// Groups of this many intervals; the last may have fewer.
    pub(super) fn chunks(
        intervals: &[&'a IntervalSummary],
        each: usize,
    ) -> impl Iterator<Item = Rows<'a>> {
        intervals.chunks(each).map(|rows| Rows(rows.to_vec()))
    }

    pub(super) fn first(&self) -> &'a IntervalSummary {
        self.0[0]
    }

    /// Levels (connections, backlog, in flight) are those at the end.
    pub(super) fn last(&self) -> &'a IntervalSummary {
        self.0[self.0.len() - 1]
    }

    pub(super) fn start_s(&self) -> f64 {
        self.first().start_ns as f64 / 1e9
    }

    pub(super) fn end_s(&self) -> f64 {
        self.last().end_ns as f64 / 1e9
    }

    pub(super) fn middle_s(&self) -> f64 {
        (self.start_s() + self.end_s()) / 2.0
    }

    pub(super) fn sum(&self, count: fn(&IntervalSummary) -> u64) -> u64 {
        self.0.iter().fold(0, |sum, row| sum.saturating_add(count(row)))
    }

    /// A count per second.
    pub(super) fn per_s(&self, count: fn(&IntervalSummary) -> u64) -> Option<f64> {
        let length_s = self.end_s() - self.start_s();
        (length_s > 0.0).then(|| self.sum(count) as f64 / length_s)
    }

    pub(super) fn highest(&self, figure: impl Fn(&IntervalSummary) -> Option<u64>) -> Option<u64> {
        self.0.iter().filter_map(|row| figure(row)).max()
    }

    /// The histogram of their response times, newly merged.
    pub(super) fn histogram(&self) -> Result<Hdr<u64>, DecodeError> {
        let mut sum = self.0[0].response_hdr.decode()?;
        for row in &self.0[1..] {
            row.response_hdr.add_to(&mut sum)?;
        }
        Ok(sum)
    }
}

impl Timed {
    fn of(histogram: &Hdr<u64>) -> Self {
        let count = histogram.len();
        let at = |q: Quantile| {
            let enough = latency::enough_samples(count, q);
            enough.then(|| value_at_rank(histogram, q.rank(count)) as f64)
        };
        let (min_ns, max_ns) = (histogram.min(), histogram.max());
        Timed { count, min_ns, max_ns, p50_ns: at(Quantile::P50), p99_ns: at(Quantile::P99) }
    }

    /// The longest response time, if there is one.
    pub(super) fn longest_ns(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max_ns as f64)
    }
}
