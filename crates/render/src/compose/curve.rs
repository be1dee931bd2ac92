//! Latency against rate, and latency by percentile at several rates.

use crate::page::axis::{Axis, Unit};
use crate::page::chart::{COLOURS, Chart, Mark, Series, of_values};
use candor_report::experiment::figures::{Figures, Percentiles};
use candor_report::experiment::trial::Trial;

/// An open load that was measured.
pub(super) struct Point<'a> {
    pub(super) rate_per_s: f64,
    /// The run that stands for it.
    pub(super) shown: &'a Figures,
    /// All of them.
    pub(super) all: &'a [Trial],
}

/// What percentiles stand at, as 1/(1-q).
const ODDS: [(&str, f64); 6] =
    [("p50", 2.0), ("p75", 4.0), ("p90", 10.0), ("p99", 100.0), ("p99.9", 1e3), ("p99.99", 1e4)];

/// Percentiles of the response time against the rate; rates ascend. In text the first of `plotted` that
/// there is.
pub(super) fn against_rate(
    points: &[Point<'_>],
    marks: Vec<Mark>,
    plotted: &'static [&'static str],
) -> Chart {
    let ns = |ns: Option<u64>| ns.map(|ns| ns as f64);
    let line = |name: &str, colour, pick: fn(&Figures) -> Option<u64>| {
        let values = points.iter().map(|one| (one.rate_per_s, ns(pick(one.shown))));
        Series::line(name, colour, values)
    };
    let every = points.iter().flat_map(|one| {
        one.all.iter().map(move |trial| (one.rate_per_s, ns(trial.figures.response.p99_ns)))
    });
    let series = [
        line("p50", 0, |figures| figures.response.p50_ns),
        line("p90", 5, |figures| figures.response.p90_ns).hidden(),
        line("p99", 1, |figures| figures.response.p99_ns),
        line("p99.9", 3, |figures| figures.response.p999_ns),
        line("service p99", 2, |figures| figures.service.p99_ns).hidden(),
        Series::scatter("p99 of every run", 4, every),
    ];
    let highest = points.iter().map(|one| one.rate_per_s).fold(0.0, f64::max);
    let x = Axis::linear("rate asked for", Unit::Rate, highest * 1.02);
    let y = of_values(&series);
    let chart = Chart::new("against", "Latency against rate", x, y).about(
        "Response time, from when a request was due, at each rate of open load. Where it bends up, \
         requests begin to wait for each other.",
    );
    Chart { marks, plotted, ..chart.all(series) }
}

/// A curve of percentiles for each rate, as many as there are colours.
pub(super) fn by_percentile(
    id: &'static str,
    title: &str,
    points: &[Point<'_>],
    pick: fn(&Figures) -> &Percentiles,
) -> Chart {
    let curve = |(n, one): (usize, &Point<'_>)| {
        let named = pick(one.shown).named();
        let at = |name: &str| named.iter().find(|(known, _)| *known == name).and_then(|one| one.1);
        let values = ODDS.map(|(name, odds)| (odds, at(name).map(|ns| ns as f64)));
        Series::line(Unit::Rate.label(one.rate_per_s), n, values)
    };
    // Of many, those that are spread evenly from the lowest to the highest.
    let few = points.len().min(COLOURS);
    let chosen = (0..few).map(|n| &points[n * (points.len() - 1) / (few - 1).max(1)]);
    let series: Vec<Series> = chosen.enumerate().map(curve).collect();
    let x = Axis::percentiles(10_000);
    Chart::new(id, title, x, of_values(&series)).about("A curve for each rate.").all(series)
}
