//! The page of a sweep: latency against rate, and both latencies of each rate.

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};

use super::curve::{self, Point};
use super::{again, made_by, or_nothing, time, trials};
use crate::page::{Column, Depth, Page, Table};
use candor_report::Tone;
use candor_report::experiment::figures::{Figures, Percentiles};
use candor_report::experiment::sweep::{Row, Sweep};
use candor_report::findings;

/// The page of a sweep.
pub fn page(sweep: &Sweep, depth: Depth) -> Page {
    let mut page = Page::new(depth, format!("Sweep of {}", trials::subject(&sweep.subject)));
    let peak = match (sweep.peak_per_s, &sweep.peak_from) {
        (Some(peak), Some(from)) => format!(" · peak {} ({from})", fmt_per_second(peak)),
        (Some(peak), None) => format!(" · peak {}", fmt_per_second(peak)),
        _ => String::new(),
    };
    page.header.remark(format!(
        "{} {} · {} · {} in random order, {}{peak}",
        sweep.tool.name,
        sweep.tool.version,
        sweep.started_at,
        fmt_plural(sweep.rounds.into(), "round"),
        fmt_plural(sweep.plan.connections.count.into(), "connection")
    ));
    let cores = trials::who_had(&sweep.subject.cores, &sweep.subject.loader_cores);
    page.header.remark(cores.unwrap_or_default());
    if let Some(why) = &sweep.partial {
        page.header.standing(Tone::Doubtful, "NOT DONE", format!("The sweep is not done: {why}."));
    }
    held(&mut page, sweep);
    if let Some(knee) = &sweep.knee {
        let (low, high) = (fmt_per_second(knee.low_per_s), fmt_per_second(knee.high_per_s));
        let rest = fmt_duration_ns(knee.at_rest_ns);
        page.header.text(format!(
            "The knee is between {low} and {high} (95 % interval of {}): there {} is twice its {rest} at the lowest rate.",
            fmt_plural(knee.rounds, "round"),
            knee.percentile
        ));
    }
    let points: Vec<Point<'_>> = sweep
        .rows
        .iter()
        .filter_map(|row| {
            let (shown, all) = (&row.shown()?.figures, &row.trials);
            Some(Point { rate_per_s: row.rate_per_s, shown, all })
        })
        .collect();
    let latency = page.section("latency", "Latency");
    latency.beyond_short(|latency| {
        latency.chart(curve::against_rate(&points, Vec::new(), &["p99"]));
    });
    for (id, title, pick) in [
        ("response", "Response time by percentile", RESPONSE),
        ("service", "Service time by percentile", SERVICE),
    ] {
        latency.chart(curve::by_percentile(id, title, &points, pick));
    }
    let rates = page.section("rates", "Each rate");
    let shown = |table| if depth == Depth::Short { in_short(table) } else { table };
    rates.headed("Response time (due → done)", shown(table(sweep, RESPONSE)));
    rates.headed("Service time (sent → done)", shown(table(sweep, SERVICE)));
    notes(sweep).into_iter().for_each(|note| rates.remark(note));
    again(&mut page, [("Seed", sweep.seed.to_string())], &sweep.host, &sweep.arguments);
    made_by(&mut page, &sweep.tool, &sweep.format);
    page
}

/// Which rates were held, and what became of the tail from the lowest to the highest of them.
fn held(page: &mut Page, sweep: &Sweep) {
    let rows: Vec<(&Row, &Figures)> =
        sweep.rows.iter().filter_map(|row| Some((row, &row.shown()?.figures))).collect();
    let (failed, others): (Vec<_>, Vec<_>) = rows.iter().partition(|(row, _)| row.nothing_worked());
    let (held, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|(row, _)| row.is_held());
    let (saturated, failing): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|(row, _)| row.saturated);
    // Runs too short for p99 have a median.
    let has_tail = held.iter().all(|(_, figures)| figures.response.p99_ns.is_some());
    let name = if has_tail { "p99" } else { "p50" };
    let tail = |(row, figures): &(&Row, &Figures)| {
        let Percentiles { p99_ns, p50_ns, .. } = figures.response;
        let ns = if has_tail { p99_ns } else { p50_ns };
        format!("{} at {}", time(ns), fmt_per_second(row.rate_per_s))
    };
    let of = rows.len();
    let rates = |count: usize| match count == of {
        true if of == 1 => "The only rate".to_owned(),
        true => format!("All {of} rates"),
        false => format!("{count} of {of} rates"),
    };
    let tails = match &held[..] {
        [] => None,
        [only] => Some(tail(only)),
        [first, .., last] => Some(format!("{}, {}", tail(first), tail(last))),
    };
    if let Some(tails) = tails {
        let sentence = format!("{}: {name} {tails}.", rates(held.len()));
        page.header.standing(Tone::Good, "HELD", sentence);
    }
    let why = |(row, figures): &(&Row, &Figures)| {
        format!("{} ({})", fmt_per_second(row.rate_per_s), figures.failures)
    };
    let all: Vec<String> = failed.iter().map(why).collect();
    if !all.is_empty() {
        let list = findings::list(&all);
        let sentence = format!("{}: no request succeeded at {list}.", rates(all.len()));
        page.header.standing(Tone::Bad, "FAILED", sentence);
    }
    let achieved = |(row, figures): &(&Row, &Figures)| {
        let achieved = or_nothing(figures.rate_per_s, fmt_per_second);
        let rate = fmt_per_second(row.rate_per_s);
        match figures.failures.as_str() {
            "" => format!("{rate} ({achieved} achieved)"),
            failures => format!("{rate} ({achieved} achieved; {failures})"),
        }
    };
    let kinds = [(Tone::Bad, "ERRORS", failing), (Tone::Doubtful, "SATURATED", saturated)];
    for (tone, word, rows) in kinds.into_iter().filter(|(.., rows)| !rows.is_empty()) {
        let all: Vec<String> = rows.iter().map(achieved).collect();
        let sentence = format!("{}: {}.", rates(all.len()), findings::list(&all));
        page.header.standing(tone, word, sentence);
    }
}

const RESPONSE: fn(&Figures) -> &Percentiles = |figures| &figures.response;
const SERVICE: fn(&Figures) -> &Percentiles = |figures| &figures.service;

fn table(sweep: &Sweep, pick: fn(&Figures) -> &Percentiles) -> Table {
    let mut shown = sweep.rows.iter().filter_map(Row::shown);
    let has_target = shown.any(|trial| trial.figures.target_cpu_share.is_some());
    let mut columns: Vec<_> = ["rate", "of peak", "achieved"].map(Column::figures).into();
    columns.extend(trials::percentiles());
    columns.extend(["p99 of all runs", "failed"].map(Column::figures));
    columns.extend(has_target.then(|| Column::figures("target CPU")));
    columns.push(Column::words(""));
    let mut table = Table::new(columns);
    for row in &sweep.rows {
        let Some(trial) = row.shown() else { continue };
        let figures = &trial.figures;
        let all = row.trials.iter().filter_map(|trial| pick(&trial.figures).p99_ns);
        let ends = all.clone().min().zip(all.max());
        let mut cells = vec![
            fmt_per_second(row.rate_per_s),
            or_nothing(row.fraction, fmt_share),
            or_nothing(figures.rate_per_s, fmt_per_second),
        ];
        cells.extend(pick(figures).named().map(|(_, ns)| time(ns)));
        cells.push(or_nothing(ends, |(low, high)| {
            format!("{}–{}", fmt_duration_ns(low), fmt_duration_ns(high))
        }));
        cells.push(or_nothing(figures.failed_share, fmt_share));
        cells.extend(has_target.then(|| or_nothing(figures.target_cpu_share, fmt_share)));
        let mark = match row.saturated {
            _ if row.nothing_worked() => "(failed)",
            _ if row.is_held() => "",
            true => "(saturated)",
            false => "(errors)",
        };
        cells.push(mark.to_owned());
        table.row(cells);
    }
    table.without_unknown("p99");
    table
}

/// The columns that a short page has room for.
fn in_short(mut table: Table) -> Table {
    for left_out in ["p99 of all runs", "p99.99", "p99.9", "p95", "p90", "p75", "mean"] {
        if let Some(at) = table.columns.iter().position(|column| column.name == left_out) {
            table.without(at..at + 1);
        }
    }
    table
}

fn notes(sweep: &Sweep) -> Vec<String> {
    let mut notes = vec![
        "Each row is one run, the middle one of its rate by p99; all runs are in the document and \
         in the CSV."
            .to_owned(),
    ];
    if sweep.rows.iter().any(|row| row.saturated && !row.nothing_worked()) {
        notes.push(
            "(saturated): less than 99 % of the rate was achieved, so response times grow with \
             the length of the run."
                .to_owned(),
        );
    }
    if sweep.rows.iter().any(|row| row.fails() && !row.nothing_worked()) {
        notes.push(
            "(errors): more than 1 % of the requests failed, so the rate was not held.".to_owned(),
        );
    }
    let runs = || sweep.rows.iter().flat_map(|row| &row.trials);
    notes.extend(trials::remarks(runs().map(|trial| &trial.figures)).map(str::to_owned));
    let findings = trials::loader_findings(runs());
    if !findings.is_empty() {
        notes.push(format!(
            "The loader may have made some of these numbers ({}): see the CSV and the runs.",
            findings.join(", ")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::Style;
    use candor_report::testing::experiments::sample_sweep;

    use crate::ci::Checks;

    #[test]
    fn a_rate_with_errors_is_not_held_and_their_kind_is_told() {
        let mut sweep = sample_sweep();
        sweep.rows.truncate(1);
        let text = |sweep: &Sweep| page(sweep, Depth::Full).text(Style::PLAIN);
        assert!(text(&sweep).contains("The only rate: p99"), "{}", text(&sweep));
        let fail = |sweep: &mut Sweep, share: f64, held: bool| {
            for trial in &mut sweep.rows[0].trials {
                trial.figures.errors_share = Some(share);
                trial.figures.failures = "98 × status 503".to_owned();
                trial.held = held;
            }
            sweep.rows[0].settle();
            (sweep.rows[0].is_held(), sweep.rows[0].saturated, text(sweep))
        };
        let (held, saturated, _) = fail(&mut sweep, 0.01, true);
        assert!(held && !saturated, "1 % may fail");
        // More than half of them fail a run, too.
        for (share, run_held) in [(0.065, true), (0.6, false)] {
            let (held, saturated, text) = fail(&mut sweep, share, run_held);
            assert!(!held && !saturated);
            let junit = Checks::of_sweep(&sweep).in_form("junit").unwrap();
            let failure = "of the requests failed (98 × status 503)";
            assert!(junit.contains("<failure") && junit.contains(failure), "{junit}");
            assert!(
                text.contains("ERRORS") && text.contains("achieved; 98 × status 503)"),
                "{text}"
            );
            assert!(text.contains("(errors)") && !text.contains("HELD"), "{text}");
        }
        let (held, saturated, text) = fail(&mut sweep, 0.065, false);
        assert!(!held && saturated && text.contains("(saturated)"), "{text}");
    }

    #[test]
    fn a_rate_at_which_nothing_succeeds_is_not_saturated() {
        let mut sweep = sample_sweep();
        sweep.rows.iter_mut().for_each(|row| {
            row.trials.iter_mut().for_each(|trial| {
                let figures = &mut trial.figures;
                (figures.scheduled, figures.ok, figures.failed) = (500, 0, 500);
                figures.failures = "500 × status 503".to_owned();
                trial.held = false;
            })
        });
        sweep.rows.iter_mut().for_each(Row::settle);
        let text = page(&sweep, Depth::Full).text(Style::PLAIN);
        assert!(text.contains("FAILED") && text.contains("(500 × status 503)"), "{text}");
        assert!(text.contains("(failed)"), "{text}");
        assert!(!text.to_lowercase().contains("saturated"), "{text}");
    }
}
