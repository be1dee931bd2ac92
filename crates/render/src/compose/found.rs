//! Findings at the head of a page, and what a short page of an experiment has room for.

use candor_plan::units::fmt_plural;

use crate::page::{Depth, Page, Section, Table};
use candor_report::Tone;
use candor_report::findings::{Finding, Kind};
use candor_report::shorten;

/// Findings that a page opens with; the others are behind a line that opens them.
const MOST: usize = 7;
/// What a short page has: lines of findings, lines of one of them, characters of a line of text, and of one
/// of a table.
const LINES: usize = 10;
const LINES_EACH: usize = 3;
pub(super) const LINE: usize = 85;
const ROW: usize = 96;
/// Characters that a name in the margin has.
const MARGIN: usize = 12;
/// Rows of its table, characters of a name in it, of the name of a row.
const ROWS: usize = 8;
const NAME: usize = 16;
const ROW_NAME: usize = 28;

/// The findings, in the header.
pub(super) fn found(page: &mut Page, depth: Depth, findings: &[Finding]) {
    let section = &mut page.header;
    let (first, rest) = findings.split_at(findings.len().min(MOST));
    if depth != Depth::Short {
        first.iter().for_each(|one| standing(section, one.kind, &one.sentence));
        let more = fmt_plural(rest.len() as u64, "more finding");
        match depth {
            _ if rest.is_empty() => {}
            Depth::Full => section.details(more, |section| {
                rest.iter().for_each(|one| standing(section, one.kind, &one.sentence));
            }),
            _ => rest.iter().for_each(|one| standing(section, one.kind, &one.sentence)),
        }
        return;
    }
    let told = in_lines(first.iter().map(|one| (one.kind, one.sentence.as_str())));
    let left = findings.len() - told.len();
    told.iter().for_each(|(kind, sentence)| standing(section, *kind, sentence));
    if left > 0 {
        section.remark(format!("and {}", fmt_plural(left as u64, "more finding")));
    }
}

/// As many of these as a short page has room for, each as long as it may be.
pub(super) fn in_lines<'a, T>(all: impl Iterator<Item = (T, &'a str)>) -> Vec<(T, String)> {
    let mut used = 0;
    let short = all.map(|(what, text)| (what, shorten(text, LINES_EACH * LINE)));
    let fits = short.take_while(|(_, text)| {
        used += text.chars().count().div_ceil(LINE);
        used <= LINES
    });
    fits.collect()
}

fn standing(section: &mut Section, kind: Kind, sentence: &str) {
    let (tone, word) = match kind {
        Kind::Broken => (Tone::Bad, "BROKEN"),
        Kind::Slowed => (Tone::Bad, "SLOWED"),
        Kind::Ahead => (Tone::Good, "AHEAD"),
        Kind::Bound => (Tone::Doubtful, "LOWER BOUND"),
        Kind::Level => (Tone::Strong, "LEVEL"),
        Kind::Unclear => (Tone::Strong, "NOT CLEAR"),
        Kind::Saturated => (Tone::Doubtful, "SATURATED"),
        Kind::Frugal => (Tone::Good, "LEAST CPU"),
        Kind::Reached => (Tone::Strong, "REACHED"),
    };
    section.standing(tone, word, sentence);
}

/// The one table of a short page: as many rows and columns as there is room for. The first column has the
/// names of rows; `things` is what the other columns are of.
pub(super) fn compact(section: &mut Section, mut table: Table, rows: &str, things: &str) {
    let left_rows = table.rows.len().saturating_sub(ROWS);
    table.rows.truncate(ROWS);
    for row in &mut table.rows {
        row[0] = shorten(&row[0], ROW_NAME);
    }
    for column in &mut table.columns {
        column.name = shorten(&column.name, NAME);
    }
    let width = |table: &Table, at: usize| {
        let cells = table.rows.iter().map(|row| &row[at]).chain([&table.columns[at].name]);
        cells.map(|text| text.chars().count()).max().unwrap_or(0) + 2
    };
    let mut room = ROW;
    let fits = (0..table.columns.len())
        .take_while(|&at| {
            let width = width(&table, at);
            let fits = at < 2 || width <= room;
            room = room.saturating_sub(width);
            fits
        })
        .count();
    let left_columns = table.columns.len() - fits;
    table.columns.truncate(fits);
    table.rows.iter_mut().for_each(|row| row.truncate(fits));
    section.table(table);
    let left =
        [(left_rows, rows), (left_columns, things)].into_iter().filter(|(left, _)| *left > 0);
    let left: Vec<_> = left.map(|(left, what)| fmt_plural(left as u64, what)).collect();
    if !left.is_empty() {
        section.remark(format!("and {}", left.join(", ")));
    }
}

/// A list of things of a kind: as many as have room on these lines, and how many more.
pub(super) fn counted(
    section: &mut Section,
    name: &'static str,
    tone: Option<Tone>,
    lines: usize,
    things: impl Iterator<Item = String>,
) {
    let things: Vec<String> = things.collect();
    // A long name stands before the text and not in the margin.
    let room = (lines * LINE).saturating_sub(name.len().saturating_sub(MARGIN));
    let behind = |told: usize| match things.len() - told {
        0 => String::new(),
        left => format!("; and {left} more"),
    };
    let told = |count: usize| things[..count].join("; ") + &behind(count);
    let most = (2..=things.len().min(MOST)).rev().map(told);
    let text = most.into_iter().find(|text| text.chars().count() <= room).or_else(|| {
        let (first, behind) = (things.first()?, behind(1));
        Some(shorten(first, room.saturating_sub(behind.chars().count())) + &behind)
    });
    section.fact(name, tone, text.unwrap_or_default());
}
