//! What pages of matrices have in common: whose they are, what is missing, how they are read and made.

use candor_plan::units::fmt_plural;

use super::found::{LINE, counted};
use super::{again, made_by};
use crate::page::chart::{COLOURS, Points, Series};
use crate::page::{Depth, Page, Section};
use candor_report::Tone;
use candor_report::experiment::matrix::{FailedTrial, Heading, Note, grouped};
use candor_report::shorten;

/// Charts of a kind at most; what is beyond is in the tables and in the documents of the trials.
pub(super) const MOST_CHARTS: usize = 12;

/// How to read the line at the end of a bar.
pub(super) const WHISKERS: &str =
    "The line at the end of a bar is from the lowest to the highest of all rounds.";

/// What a suite is about, when it was measured, and how much of it is there.
pub(super) fn page(
    depth: Depth,
    title: &str,
    heading: &Heading,
    complete: bool,
    (made, all): (u64, u64),
) -> Page {
    let name =
        if depth == Depth::Short { shorten(&heading.name, 60) } else { heading.name.clone() };
    let mut page = Page::new(depth, format!("{title}: {name}"));
    let Heading { tool, started_at, seed, rounds, .. } = heading;
    match depth {
        Depth::Short => page.header.text(shorten(&heading.about, LINE)),
        _ => page.header.text(&heading.about),
    }
    let trials =
        if complete { format!(" · {}", fmt_plural(made, "trial")) } else { String::new() };
    page.header.remark(format!(
        "{} {}{} · {} in random order · seed {seed}{trials}",
        tool.name,
        tool.version,
        // Nothing has begun if all checks failed.
        if started_at.is_empty() { String::new() } else { format!(" · {started_at}") },
        fmt_plural(*rounds, "round")
    ));
    if !complete {
        let sentence =
            format!("{made} of {all} trials are done. Run the same command again for the rest.");
        page.header.standing(Tone::Doubtful, "NOT COMPLETE", sentence);
    }
    page
}

/// What could not be made, and what was left out: a line each, and folded what a line has no room for, such as the
/// names of all scenarios that a server does not support.
pub(super) fn missing(section: &mut Section, failures: &[FailedTrial], notes: &[Note]) {
    section.facts(failures.iter().map(|one| ("Failed", one.line())));
    let omitted = || notes.iter().map(|one| format!("{}: {}", one.what, one.why));
    section.facts(omitted().map(|line| ("Left out", shorten(&line, LINE))));
    section.details("Everything that was left out", |section| {
        section.facts(omitted().filter(|line| line.chars().count() > LINE).map(|line| ("", line)));
    });
}

/// The same in a line each.
pub(super) fn missing_shortly(section: &mut Section, failures: &[FailedTrial], notes: &[Note]) {
    counted(section, "Failed", None, 1, failures.iter().map(FailedTrial::line));
    counted(
        section,
        "Left out",
        None,
        1,
        notes.iter().map(|one| format!("{}: {}", one.what, one.why)),
    );
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
        "{} per cell: each round runs every cell once, in random order (seed {}); {each}",
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

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::Style;

    #[test]
    fn a_long_omission_is_one_line_and_folded() {
        let names = (0..43).map(|n| format!("scenario_{n}")).collect::<Vec<_>>().join(", ");
        let why = format!("does not support 43 scenarios: {names}");
        let notes = [Note { what: "one".to_owned(), why }];
        let page = |depth| {
            let mut page = Page::new(depth, String::new());
            missing(page.section("doubts", ""), &[], &notes);
            page
        };
        let text = page(Depth::Terminal).text(Style::PLAIN);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 1, "{text}");
        assert!(lines[0].contains("one: does not support 43 scenarios: scenario_0"), "{text}");
        let html = page(Depth::Full).html();
        let (shown, folded) = html.split_once("<details>").unwrap();
        assert!(!shown.contains("scenario_42") && folded.contains("scenario_42"), "{html}");
    }
}
