//! The page of a peak.

use candor_plan::describe;
use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural};

use super::super::axis::{Axis, Unit};
use super::super::chart::{Across, Chart, Mark, Series};
use super::super::page::{Page, Tone};
use super::curve::{self, Point};
use super::{again, made_by};
use crate::experiment::peak::{Confidence, Peak, Who};
use crate::render::experiment::peak as plain;
use crate::render::words::NOTHING;

/// The page of a peak.
pub fn render(peak: &Peak) -> String {
    let headline = plain::headline(peak);
    let mut lines = headline.iter().map(String::as_str);
    let mut page = Page::new(lines.next().unwrap_or("Peak"));
    let header = page.header();
    lines.for_each(|line| header.remark(line));
    let (tone, word) = match (&peak.answer, &peak.partial) {
        (_, Some(_)) => (Tone::Doubtful, "NOT DONE"),
        (None, None) => (Tone::Bad, "NO ANSWER"),
        (Some(answer), None) => match answer.confidence {
            Confidence::Good => (Tone::Good, "SURE"),
            Confidence::Fair => (Tone::Doubtful, "FAIR"),
            Confidence::Poor => (Tone::Doubtful, "POOR"),
        },
    };
    let said = plain::said(peak);
    let (first, others) = said.split_first().map_or(("", &[][..]), |(one, rest)| (one, rest));
    header.standing(tone, word, first);
    others.iter().for_each(|sentence| header.text(sentence));
    header.figures(&figures(peak));
    page.section("rates", "Latency against rate", |section| section.chart(&against_rate(peak)));
    page.section("ceiling", "Closed loop", |section| section.chart(&ceiling(peak)));
    page.section("steps", "Every load that was tried", |section| {
        section.table(&(&plain::table(peak)).into());
    });
    page.section("again", "How it was done", |section| {
        let mut facts = vec![("Load", describe::load(&peak.plan))];
        facts.extend(peak.objectives.iter().map(|one| ("Objective", one.clone())));
        facts.push(("Limit", peak.limit.why.clone()));
        again(section, &peak.host, &peak.arguments, facts);
    });
    made_by(&mut page, &peak.tool, &peak.format);
    page.finish()
}

fn figures(peak: &Peak) -> [(&'static str, String, String); 4] {
    let nothing = || (NOTHING.to_owned(), "not found".to_owned());
    let end = |per_s: Option<f64>| per_s.map_or("not known".to_owned(), fmt_per_second);
    let (rate, sure) = peak.answer.map_or_else(nothing, |answer| {
        let ends = format!("between {} and {}", end(answer.low_per_s), end(answer.high_per_s));
        (fmt_per_second(answer.rate_per_s), ends)
    });
    let (ceiling, connections) = peak.ceiling.map_or_else(nothing, |ceiling| {
        let with = fmt_plural(ceiling.connections.into(), "connection");
        (fmt_per_second(ceiling.rate_per_s), format!("closed loop, {with}"))
    });
    let (knee, twice) = peak.knee.as_ref().map_or_else(nothing, |knee| {
        let rest = fmt_duration_ns(knee.at_rest_ns);
        let twice = format!("there {} is twice its {rest} at rest", knee.percentile);
        (fmt_per_second(knee.rate_per_s), twice)
    });
    let who = match peak.limit.who {
        Who::Loader => "loader",
        Who::TargetCpu => "target's CPU",
        Who::Target => "target",
        Who::Unknown => "unknown",
    };
    [
        ("Peak", rate, sure),
        ("Ceiling", ceiling, connections),
        ("Knee", knee, twice),
        ("Limit", who.to_owned(), "what kept it from more".to_owned()),
    ]
}

fn against_rate(peak: &Peak) -> Chart {
    let points: Vec<Point<'_>> = peak
        .curve()
        .into_iter()
        .filter_map(|step| {
            Some(Point {
                rate_per_s: step.rate_per_s?,
                shown: &step.representative()?.figures,
                all: step.trials.iter().map(|trial| &trial.figures).collect(),
            })
        })
        .collect();
    let mark = |at: f64, label: &str| Mark { across: Across::Up, at, label: label.to_owned() };
    let mut marks = Vec::new();
    marks.extend(peak.knee.as_ref().map(|knee| mark(knee.rate_per_s, "knee")));
    marks.extend(peak.answer.map(|answer| mark(answer.rate_per_s, "peak")));
    curve::against_rate(&points, marks)
}

/// What more connections brought.
fn ceiling(peak: &Peak) -> Chart {
    let closed = peak.steps.iter().filter(|step| step.rate_per_s.is_none());
    let mut runs: Vec<(f64, Option<f64>)> = closed
        .flat_map(|step| {
            step.trials.iter().map(|run| (step.connections.into(), run.figures.rate_per_s))
        })
        .collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = runs.iter().map(|(at, _)| *at).fold(1.0, f64::max);
    let highest = runs.iter().filter_map(|(_, rate)| *rate).fold(0.0, f64::max);
    let x = Axis::log("connections", Unit::Count, 1.0, most);
    let y = Axis::linear("a second", Unit::Rate, highest * 1.05);
    Chart::new("connections", "Throughput by connections", x, y)
        .about("Right answers a second of every run of the closed loop.")
        .series(Series::scatter("runs", 0, runs))
}
