//! The page of a comparison.

use super::super::axis::{Axis, Unit};
use super::super::chart::{Across, Chart, Dot, Mark, Series};
use super::super::page::{Page, Section, Tone};
use super::super::svg::COLOURS;
use super::{again, made_by};
use crate::experiment::comparison::{Comparison, Conclusion, Finding, Metric};
use crate::render::experiment::comparison as plain;

/// The page of a comparison.
pub fn render(comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison.variants.iter().map(|one| one.name.as_str()).collect();
    let mut page = Page::new(&format!("Comparison of {}", names.join(" and ")));
    let header = page.header();
    header.text(&plain::headline(comparison));
    header.remark(&format!(
        "{} {} · {} · seed {}",
        comparison.tool.name, comparison.tool.version, comparison.started_at, comparison.seed
    ));
    for variant in 1..comparison.variants.len() {
        let conclusion = comparison.primary_of(variant).map(|one| one.conclusion);
        let (tone, word) = match conclusion {
            Some(Conclusion::Better) => (Tone::Good, "BETTER"),
            Some(Conclusion::Worse) => (Tone::Bad, "WORSE"),
            Some(Conclusion::Noise) => (Tone::Plain, "NO DIFFERENCE"),
            Some(Conclusion::TooFew) | None => (Tone::Doubtful, "TOO FEW"),
        };
        header.standing(tone, word, &plain::sentence(comparison, variant));
    }
    for line in plain::footer(comparison) {
        header.remark(&line);
    }
    page.section("changes", "Changes", |section| {
        section.chart(&changes(comparison));
        for variant in 1..comparison.variants.len() {
            if comparison.variants.len() > 2 {
                section.heading(&comparison.variants[variant].name);
            }
            section.table(&(&plain::table(comparison, variant)).into());
        }
    });
    page.section("rounds", "Every round", |section| rounds(section, comparison));
    page.section("again", "How it was done", |section| {
        let variants = comparison.variants.iter();
        let facts = variants.map(|one| ("Compared", plain::named(&one.name, &one.source)));
        again(section, &comparison.host, &comparison.arguments, facts.collect());
    });
    made_by(&mut page, &comparison.tool, &comparison.format);
    page.finish()
}

/// The change of every metric with its interval, against the first variant.
fn changes(comparison: &Comparison) -> Chart {
    let known = |metric: &Metric| {
        let mut findings = comparison.findings.iter();
        findings.any(|one| one.metric == *metric && one.change.is_some())
    };
    let metrics: Vec<Metric> = Metric::ALL.into_iter().filter(known).collect();
    let variants = comparison.variants.len().min(COLOURS + 1);
    // Side by side, so that intervals do not lie on each other.
    let beside = |variant: usize| (variant as f64 - variants as f64 / 2.0) * 0.12;
    let dot = |variant: usize, finding: &Finding| {
        let place = metrics.iter().position(|one| *one == finding.metric)?;
        let change = finding.change?;
        Some(Dot {
            at: place as f64 + beside(variant),
            value: change.estimate,
            low: Some(change.low).filter(|end| end.is_finite()),
            high: Some(change.high).filter(|end| end.is_finite()),
        })
    };
    let series: Vec<Series> = (1..variants)
        .map(|variant| {
            let dots = comparison.of_variant(variant).filter_map(|one| dot(variant, one));
            Series::dots(comparison.variants[variant].name.clone(), variant - 1, dots)
        })
        .collect();
    let ends = comparison.findings.iter().filter_map(|one| one.change);
    let y = Axis::changes("change", ends.flat_map(|one| [one.low, one.high]));
    let x = Axis::things("metric", metrics.iter().map(|one| one.name().to_owned()).collect());
    let baseline = comparison.variants.first().map_or("", |one| one.name.as_str());
    let mut chart = Chart::new("changes-chart", "Change of each metric", x, y).about(format!(
        "Against {baseline}, each with its interval. One that does not reach the line is a difference; \
         more of a rate is better, more of anything else is worse."
    ));
    chart.marks.push(Mark { across: Across::Along, at: 0.0, label: "no change".to_owned() });
    series.into_iter().fold(chart, Chart::series)
}

/// The figures of every run, in the order of rounds.
fn rounds(section: &mut Section, comparison: &Comparison) {
    let mut metrics = vec![(comparison.primary, "primary")];
    let others = [(Metric::Rate, "rate-rounds"), (Metric::P99, "p99-rounds")];
    metrics.extend(others.into_iter().filter(|(metric, _)| *metric != comparison.primary));
    for (metric, id) in metrics {
        let series: Vec<Series> = comparison
            .variants
            .iter()
            .take(COLOURS)
            .enumerate()
            .map(|(n, variant)| {
                let trials = variant.trials.iter();
                let figure = trials.map(|one| (one.round as f64, metric.of(&one.figures)));
                Series::line(
                    variant.name.clone(),
                    n,
                    figure.map(|(at, one)| (at, one.map(|value| in_unit(metric, value)))),
                )
            })
            .collect();
        let rounds = series.iter().flat_map(|one| &one.at).map(|at| at.0).fold(1.0, f64::max);
        let highest = series.iter().map(Series::highest).fold(0.0, f64::max);
        let (unit, name) = match metric {
            Metric::Rate => (Unit::Rate, "a second"),
            Metric::Errors => (Unit::Share, "of the requests"),
            _ => (Unit::Duration, "time"),
        };
        let x = Axis::span("round", Unit::Count, 0.0, rounds + 1.0);
        let y = Axis::linear(name, unit, highest * 1.05);
        let chart = Chart::new(id, &format!("{} in every round", metric.name()), x, y)
            .about("What changes from round to round for all alike is the machine; what stays apart is them.");
        section.chart(&series.into_iter().fold(chart, Chart::series));
    }
}

/// CPU time of a request comes in microseconds; axes of time have nanoseconds.
fn in_unit(metric: Metric, value: f64) -> f64 {
    if metric == Metric::Cpu { value * 1000.0 } else { value }
}
