//! Pages of results that were kept: a list, two of them beside each other, and what became of their figures.

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};
use candor_report::Tone;
use candor_report::experiment::history::{
    Entry, FALSE_ALARMS, FEWEST, KINDS, Kind, Line, Trend, Unit, trends,
};
use candor_report::findings;

use super::or_nothing;
use crate::page::axis::{self, Axis};
use crate::page::chart::{Across, Chart, Mark, Series, from_zero};
use crate::page::{Column, Depth, NOTHING, Page, Table};

/// All results, a row for each.
pub fn list(entries: &[Entry], depth: Depth) -> Page {
    let mut page = Page::new(depth, fmt_plural(entries.len() as u64, "result"));
    let mut table = Table::new(
        ["result", "began", "plan", "machine"]
            .map(Column::words)
            .into_iter()
            .chain(["rate", "p50", "p99", "failed"].map(Column::figures))
            .chain(["tags", "findings"].map(Column::words)),
    );
    for entry in entries {
        let figures = &entry.trial.figures;
        table.row([
            entry.file().to_owned(),
            entry.started_at.clone(),
            entry.plan.clone(),
            entry.machine.clone(),
            or_nothing(figures.rate_per_s, fmt_per_second),
            or_nothing(figures.response.p50_ns, fmt_duration_ns),
            or_nothing(figures.response.p99_ns, fmt_duration_ns),
            or_nothing(figures.failed_share, fmt_share),
            tags(entry),
            figures.warnings.join(", "),
        ]);
    }
    page.section("results", "Results").table(table);
    page
}

/// Two results beside each other.
pub fn difference(a: &Entry, b: &Entry, depth: Depth) -> Page {
    let mut page = Page::new(depth, format!("{} and {}", a.file(), b.file()));
    let mut table = Table::new(
        std::iter::once(Column::words("figure")).chain(["A", "B", "B by A"].map(Column::figures)),
    );
    for kind in KINDS {
        let (one, other) = (kind.of(a), kind.of(b));
        let change = one.zip(other).map(|(one, other)| by(kind, one, other));
        let value = |value: Option<f64>| or_nothing(value, |value| shown(kind, value));
        table.row([kind.name.to_owned(), value(one), value(other), or_nothing(change, |it| it)]);
    }
    let section = page.section("figures", "Figures");
    section.facts([("A", about(a)), ("B", about(b))]);
    section.table(table);
    for (what, is_other) in [("plan", a.plan != b.plan), ("machine", a.machine != b.machine)] {
        if is_other {
            let sentence =
                format!("A and B have another {what}: their figures are not comparable.");
            page.header.standing(Tone::Doubtful, "APART", sentence);
        }
    }
    page.header.remark(
        "Two single runs differ by chance, too; candor compare measures by how much, in rounds.",
    );
    page
}

/// What became of the figures of each plan on each machine; of `only`, if given.
pub fn trend(entries: &[Entry], only: Option<&str>, depth: Depth) -> Page {
    let mut page =
        Page::new(depth, format!("Trend of {}", fmt_plural(entries.len() as u64, "result")));
    let mut all = trends(entries);
    if let Some(only) = only {
        all.iter_mut().for_each(|one| one.lines.retain(|line| line.kind.name == only));
    }
    let changed: usize = all.iter().flat_map(|one| &one.lines).map(|one| one.changes.len()).sum();
    let longest = all.iter().flat_map(|one| &one.lines).map(|line| line.values.len()).max();
    match changed {
        0 if longest.is_none_or(|longest| longest < FEWEST) => page.header.standing(
            Tone::Doubtful,
            "TOO FEW",
            format!(
                "A trend needs {FEWEST} results of one plan on one machine that can be compared."
            ),
        ),
        0 => page.header.standing(Tone::Good, "STEADY", "No figure has changed."),
        changed => page.header.standing(
            Tone::Doubtful,
            "CHANGED",
            format!("{} of a level.", fmt_plural(changed as u64, "change")),
        ),
    }
    page.header.remark(format!(
        "A figure that has not changed shows a change in at most {} of all cases, each time that one looks. Results of \
         other plans and other machines are never compared.",
        fmt_share(FALSE_ALARMS)
    ));
    let section = page.section("trends", "Trends");
    for (n, one) in all.iter().enumerate() {
        let (Some(first), Some(last)) = (one.entries.first(), one.entries.last()) else { continue };
        section.heading(format!(
            "{} (plan {}, machine {})",
            last.subject.url, last.plan, last.machine
        ));
        section.remark(format!(
            "{}, from {} to {}",
            fmt_plural(one.entries.len() as u64, "result"),
            first.started_at,
            last.started_at
        ));
        let others = all.iter().filter(|other| other.entries[0].plan == last.plan).count() - 1;
        if others > 0 {
            section.remark(format!(
                "There are results of this plan from {}: they are apart.",
                fmt_plural(others as u64, "other machine")
            ));
        }
        section.table(table(one));
        for line in &one.lines {
            section.full(|section| section.chart(chart(n, one, line)));
        }
    }
    page
}

fn table(trend: &Trend<'_>) -> Table {
    let mut table = Table::new(
        std::iter::once(Column::words("figure"))
            .chain(["results", "first", "last"].map(Column::figures))
            .chain(std::iter::once(Column::words("changes"))),
    );
    for line in &trend.lines {
        let change = |one: &candor_report::experiment::history::Step| {
            let entry = trend.entries[one.entry];
            let tags = tags(entry);
            let tags = if tags.is_empty() { tags } else { format!(" ({tags})") };
            format!("{} from {}{tags}", signed(line.kind, one.change), entry.started_at)
        };
        let value =
            |at: Option<&(usize, f64)>| or_nothing(at, |(_, value)| shown(line.kind, *value));
        let changes: Vec<String> = line.changes.iter().map(change).collect();
        table.row([
            line.kind.name.to_owned(),
            line.values.len().to_string(),
            value(line.values.first()),
            value(line.values.last()),
            if changes.is_empty() { NOTHING.to_owned() } else { findings::list(&changes) },
        ]);
    }
    table
}

fn chart(trend_number: usize, trend: &Trend<'_>, line: &Line) -> Chart {
    let points = line.values.iter().map(|(at, value)| (*at as f64, Some(*value)));
    let series = Series::scatter(line.kind.name, 0, points);
    let unit = match line.kind.unit {
        Unit::PerSecond => axis::Unit::Rate,
        Unit::Nanoseconds => axis::Unit::Duration,
        Unit::Share => axis::Unit::Share,
    };
    let names = trend.entries.iter().map(|one| one.started_at.clone()).collect();
    let y = from_zero(line.kind.name, unit, std::slice::from_ref(&series));
    let id = format!("trend-{trend_number}-{}", line.kind.name.replace('.', "-"));
    let mut chart = Chart::new(id, line.kind.name, Axis::things("result", names), y);
    chart.marks = line
        .changes
        .iter()
        .map(|one| Mark {
            across: Across::Up,
            at: one.entry as f64 - 0.5,
            label: signed(line.kind, one.change),
        })
        .collect();
    chart.series(series)
}

fn about(entry: &Entry) -> String {
    let tags = tags(entry);
    let tags = if tags.is_empty() { tags } else { format!(" · {tags}") };
    format!("{} · {}{tags}", entry.started_at, entry.subject.url)
}

fn tags(entry: &Entry) -> String {
    let all: Vec<String> =
        entry.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
    all.join(" ")
}

fn shown(kind: Kind, value: f64) -> String {
    match kind.unit {
        Unit::PerSecond => fmt_per_second(value),
        Unit::Nanoseconds => fmt_duration_ns(value.max(0.0) as u64),
        Unit::Share => fmt_share(value),
    }
}

fn by(kind: Kind, one: f64, other: f64) -> String {
    match kind.unit {
        Unit::Share => signed(kind, other - one),
        _ if one > 0.0 => signed(kind, other / one - 1.0),
        _ => NOTHING.to_owned(),
    }
}

/// `+4.1 %`; of a share, which changes by a difference, in points: `+4.1 pt`.
fn signed(kind: Kind, change: f64) -> String {
    let percent = axis::Unit::Change.label(change);
    match kind.unit {
        Unit::Share => percent.replace('%', "pt"),
        _ => percent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_change_in_points_and_everything_else_in_per_cent() {
        let change = |name: &str, one, other| {
            by(*KINDS.iter().find(|kind| kind.name == name).unwrap(), one, other)
        };
        assert_eq!(change("failed", 0.25, 0.11), "-14 pt");
        assert_eq!(change("failed", 0.0, 0.003), "+0.3 pt");
        assert_eq!(change("rate", 25.0, 11.0), "-56 %");
        assert_eq!(change("response-p99", 1.0, 24.4), "+2,340 %");
    }
}
