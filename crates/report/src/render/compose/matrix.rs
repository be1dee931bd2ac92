//! What pages of matrices have in common: whose they are, what is missing, how they are read and made.

use candor_plan::units::fmt_plural;

use super::{again, made_by};
use crate::experiment::matrix::{Failure, Heading, Note};
use crate::render::page::chart::{COLOURS, Points, Series};
use crate::render::page::{Depth, NOTHING, Page, Section};
use crate::render::style::Tone;

/// Charts of a kind at most; what is beyond is in the tables and in the documents of the trials.
pub(super) const MOST_CHARTS: usize = 12;

/// What a suite is about, when it was measured, and how much of it is there.
pub(super) fn page(
    depth: Depth,
    title: &str,
    heading: &Heading,
    complete: bool,
    (made, all): (u64, u64),
) -> Page {
    let mut page = Page::new(depth, format!("{title}: {}", heading.name));
    let Heading { tool, started_at, seed, rounds, .. } = heading;
    page.header.text(&heading.about);
    page.header.remark(format!(
        "{} {} · {started_at} · {} in random order · seed {seed}",
        tool.name,
        tool.version,
        fmt_plural(*rounds, "round")
    ));
    let there = format!("{made} of {all} trials are there.");
    match complete {
        true => page.header.text(there),
        false => page.header.standing(
            Tone::Doubtful,
            "NOT COMPLETE",
            format!("{there} The command below goes on where it was interrupted."),
        ),
    }
    page
}

/// What could not be made, and what was left out.
pub(super) fn missing(section: &mut Section, failures: &[Failure], notes: &[Note]) {
    section.facts(failures.iter().map(|one| ("Failed", format!("{}: {}", one.trial, one.why))));
    section.facts(notes.iter().map(|one| ("Left out", format!("{}: {}", one.what, one.why))));
}

/// How to read the numbers, and how they were made: `each` says what every run had to itself.
pub(super) fn end(
    page: &mut Page,
    heading: &Heading,
    format: &str,
    reading: &[&'static str],
    each: &str,
    facts: impl IntoIterator<Item = (&'static str, String)>,
) {
    page.section("reading", "Reading the numbers")
        .full(|section| reading.iter().for_each(|remark| section.text(*remark)));
    let rounds = format!(
        "{} a cell, in rounds, the order within a round drawn at random (seed {}); {each}",
        fmt_plural(heading.rounds, "run"),
        heading.seed
    );
    let file = heading.file.clone();
    let all = [("Suite", file), ("Rounds", rounds), ("Cores", heading.cores.clone())];
    again(page, all.into_iter().chain(facts), &heading.host, &heading.arguments);
    made_by(page, &heading.tool, format);
}

/// What its author says of something, behind its name.
pub(super) fn in_brackets(about: &str) -> String {
    if about.is_empty() { String::new() } else { format!(" ({about})") }
}

/// Things of the same key together, in the order in which keys come.
pub(super) fn grouped<K: PartialEq, T>(all: impl Iterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, one) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, own)) => own.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    groups
}

/// A line for each name through its points from left to right, as many as there are colours.
pub(super) fn lines<'a>(
    points: impl Iterator<Item = (&'a str, (f64, Option<f64>))>,
) -> Vec<Series> {
    let line = |((name, mut own), colour): ((&str, Points), usize)| {
        own.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series::line(name, colour, own)
    };
    grouped(points).into_iter().zip(0..COLOURS).map(line).collect()
}

/// How far the lowest and the highest rate lie from this one at most, as a share of it.
pub(super) fn spread(rate: f64, ends: Option<(f64, f64)>) -> Option<f64> {
    let (low, high) = ends.filter(|_| rate > 0.0)?;
    Some((high - rate).max(rate - low) / rate)
}

/// Three digits that matter: `307 k`, `20.4 k`, `6.91 k`, `980`, `24.7`.
pub(super) fn short_rate(per_s: f64) -> String {
    match per_s {
        per_s if !per_s.is_finite() => NOTHING.to_owned(),
        per_s if per_s >= 999_500.0 => three_digits(per_s / 1e6) + " M",
        per_s if per_s >= 999.5 => three_digits(per_s / 1e3) + " k",
        per_s => three_digits(per_s),
    }
}

/// The significant digits of a number below a thousand.
pub(super) fn three_digits(value: f64) -> String {
    let decimals = if value >= 99.95 { 0 } else { 1 + usize::from(value < 9.995) };
    format!("{value:.decimals$}")
}
