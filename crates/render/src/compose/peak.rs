//! The page of a peak: the answer in sentences, latency against rate, and every load that was tried.

use candor_plan::describe;
use candor_plan::units::{fmt_per_second, fmt_plural};

use super::curve::{self, Point};
use super::{again, made_by, trials};
use crate::page::axis::{Axis, Unit};
use crate::page::chart::{Across, Chart, Mark, Points, Series, from_zero};
use crate::page::{Block, Column, Depth, Figure, NOTHING, Page, Table};
use candor_report::Tone;
use candor_report::experiment::peak::{Confidence, Peak, Step, StepOutcome, Who};
use candor_report::experiment::trial::Trial;

/// The page of a peak.
pub fn page(peak: &Peak, depth: Depth) -> Page {
    let sought = match peak.objectives.as_slice() {
        [] => "the highest throughput".to_owned(),
        objectives => format!("the highest rate with {}", objectives.join(" and ")),
    };
    let mut page =
        Page::new(depth, format!("Peak of {}: {sought}", trials::subject(&peak.subject)));
    let header = &mut page.header;
    header.remark(format!("{} {} · {}", peak.tool.name, peak.tool.version, peak.started_at));
    let cores = trials::who_had(&peak.subject.cores, &peak.subject.loader_cores);
    header.remark(cores.unwrap_or_default());
    let (tone, word) = match peak.answer.map(|answer| answer.confidence) {
        _ if peak.nothing_worked() => (Tone::Bad, "FAILED"),
        _ if peak.partial.is_some() => (Tone::Doubtful, "NOT DONE"),
        _ if peak.cannot_tell.is_some() => (Tone::Doubtful, "CANNOT TELL"),
        None => (Tone::Bad, "NO ANSWER"),
        Some(Confidence::Good | Confidence::Fair) if peak.limit.who == Who::Connections => {
            (Tone::Doubtful, "LOWER BOUND")
        }
        Some(Confidence::Good) => (Tone::Good, "CONFIRMED"),
        Some(Confidence::Fair) => (Tone::Doubtful, "WIDE"),
        Some(Confidence::Poor) => (Tone::Doubtful, "CANNOT TELL"),
    };
    let mut sentences = peak.sentences.iter();
    header.standing(tone, word, sentences.next().map_or("", String::as_str));
    sentences.for_each(|sentence| header.text(sentence));
    if peak.limit.who == Who::Connections {
        header.text("→ Leave -c out, so that more are tried, or raise --most-connections.");
    }
    let runs = peak.steps.iter().flat_map(|step| &step.trials).map(|trial| &trial.figures);
    trials::remarks(runs).for_each(|remark| header.text(remark));
    header.blocks.push(Block::Figures(figures(peak)));
    page.section("rates", "Latency against rate").chart(against_rate(peak));
    page.section("ceiling", "Closed loop").chart(ceiling(peak));
    page.section("steps", "Every load").beyond_short(|section| {
        section.table(table(peak));
        notes(peak).into_iter().for_each(|note| section.remark(note));
    });
    let mut facts = vec![("Load", describe::load(&peak.plan))];
    facts.extend(peak.objectives.iter().map(|one| ("Objective", one.clone())));
    facts.push(("Limit", peak.limit.why.clone()));
    again(&mut page, facts, &peak.host, &peak.arguments);
    made_by(&mut page, &peak.tool, &peak.format);
    page
}

fn figures(peak: &Peak) -> Vec<Figure> {
    let nothing = || (NOTHING.to_owned(), "not found".to_owned());
    let (rate, sure) = peak.answer.map_or_else(nothing, |answer| {
        let ends = match (answer.low_per_s, answer.high_per_s) {
            (Some(low), Some(high)) => {
                format!("95 % interval {} to {}", fmt_per_second(low), fmt_per_second(high))
            }
            (Some(_), None) => "or higher: no upper end is confirmed".to_owned(),
            _ if !peak.objectives.is_empty() => {
                return (NOTHING.to_owned(), "no rate is confirmed".to_owned());
            }
            _ => "not confirmed".to_owned(),
        };
        (fmt_per_second(answer.rate_per_s), ends)
    });
    let (ceiling, connections) = peak.ceiling.map_or_else(nothing, |ceiling| {
        let with = fmt_plural(ceiling.connections.into(), "connection");
        (fmt_per_second(ceiling.rate_per_s), format!("closed loop, {with}"))
    });
    let who = match peak.limit.who {
        Who::Loader => "loader",
        Who::TargetCpu => "target's CPU",
        Who::Target => "target",
        Who::Connections => "connections",
        Who::Unknown => "unknown",
    };
    let why = match peak.limit.who {
        Who::Connections => "as far as known: more were not tried",
        _ => "what kept it from more",
    };
    vec![
        Figure("Peak", rate, sure),
        Figure("Ceiling", ceiling, connections),
        Figure("Limit", who.to_owned(), why.to_owned()),
    ]
}

/// In text p99, or what few samples leave of it.
fn against_rate(peak: &Peak) -> Chart {
    let points: Vec<Point<'_>> = peak
        .curve()
        .into_iter()
        .filter_map(|step| {
            let (rate_per_s, shown) = (step.rate_per_s?, &step.representative()?.figures);
            Some(Point { rate_per_s, shown, all: &step.trials })
        })
        .collect();
    let mark = |at: f64, label: &str| Mark { across: Across::Up, at, label: label.to_owned() };
    let is_told = peak.objectives.is_empty() || peak.is_confirmed();
    let marks = peak.answer.filter(|_| is_told).map(|answer| mark(answer.rate_per_s, "peak"));
    curve::against_rate(&points, marks.into_iter().collect(), &["p99", "p90", "p50"])
}

/// What more connections brought.
fn ceiling(peak: &Peak) -> Chart {
    let closed = peak.steps.iter().filter(|step| step.rate_per_s.is_none());
    let mut runs: Points = closed
        .flat_map(|step| {
            step.trials.iter().map(|run| (step.connections.into(), run.figures.rate_per_s))
        })
        .collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = runs.iter().map(|(at, _)| *at).fold(1.0, f64::max);
    let series = [Series::scatter("runs", 0, runs)];
    let x = Axis::log("connections", Unit::Count, 1.0, most).with_room();
    let y = from_zero("a second", Unit::Rate, &series);
    Chart::new("connections", "Throughput by connections", x, y)
        .about("Correct responses per second of every run of the closed loop.")
        .all(series)
}

/// Closed loops, then open loads from the lowest rate.
fn table(peak: &Peak) -> Table {
    let mut runs = peak.steps.iter().flat_map(|step| &step.trials);
    let has_target = runs.any(|trial| trial.figures.target_cpu_share.is_some());
    let columns = ["load", "conns", "runs"].map(Column::figures).into_iter();
    let columns = std::iter::once(Column::words("")).chain(columns);
    let columns = columns.chain(trials::columns(has_target));
    let mut table = Table::new(columns.chain([Column::words("")]));
    let closed = peak.steps.iter().filter(|step| step.rate_per_s.is_none());
    for step in closed.chain(peak.curve()) {
        let Some(trial) = step.representative() else { continue };
        let cells = [
            step.phase.word().to_owned(),
            step.rate_per_s.map_or("closed".to_owned(), fmt_per_second),
            step.connections.to_string(),
            step.trials.len().to_string(),
        ];
        let cells = cells.into_iter().chain(trials::cells(trial, has_target));
        table.row(cells.chain([judged(step)]));
    }
    table
}

/// Which run a row shows, and why a figure may be missing in it.
fn notes(peak: &Peak) -> Vec<String> {
    let mut notes = vec![
        "Each row is one run: of those that count the middle one by p99, in a closed loop by rate."
            .to_owned(),
    ];
    let shown = peak.curve().into_iter().filter_map(|step| Some((step, step.representative()?)));
    let lacks = |(step, trial): &(&Step, &Trial)| {
        step.met().is_some() && trial.figures.response.p99_ns.is_none()
    };
    if shown.into_iter().any(|one| lacks(&one)) {
        notes.push(
            "– in p99: the run had too few independent requests for an interval of it; the objective is \
             judged by the run's own percentile, and repetitions make up for its noise."
                .to_owned(),
        );
    }
    notes
}

/// How often the objectives were met, and what may have made the figures.
fn judged(step: &Step) -> String {
    let counted = step.counted().len();
    let met = step.met().map(|met| format!("met in {met} of {counted}"));
    let mut words = vec![met.unwrap_or_default()];
    // How the outcome is told without the runs' own, in documents of older versions, and if the rate was not held.
    if words[0].is_empty() || step.outcome == StepOutcome::NotHeld {
        words.push(step.outcome.word().to_owned());
    }
    words.extend(trials::loader_findings(step.trials.iter()).into_iter().map(str::to_owned));
    let disturbed = step.trials.iter().filter(|trial| trial.disturbed).count();
    match (disturbed, step.trials.len() - counted) {
        (0, _) => {}
        (_, 0) => words.push(format!("{disturbed} disturbed")),
        (_, left_out) => words.push(format!("{disturbed} disturbed, {left_out} of them left out")),
    }
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::Style;
    use candor_report::testing::experiments::sample_peak;

    #[test]
    fn what_is_not_confirmed_is_no_peak() {
        let mut peak = sample_peak();
        let told = |peak: &Peak| {
            let Figure(_, rate, sure) = figures(peak).swap_remove(0);
            (rate, sure, against_rate(peak).marks.len())
        };
        let interval = "95 % interval 700/s to 720/s".to_owned();
        assert_eq!(told(&peak), ("700/s".to_owned(), interval, 1));
        peak.answer.as_mut().unwrap().low_per_s = None;
        let nothing = (NOTHING.to_owned(), "no rate is confirmed".to_owned(), 0);
        assert_eq!(told(&peak), nothing);
        // A throughput was measured, if not often enough for an interval.
        peak.objectives.clear();
        assert_eq!(told(&peak), ("700/s".to_owned(), "not confirmed".to_owned(), 1));
    }

    #[test]
    fn a_peak_of_few_connections_is_a_lower_bound() {
        let mut peak = sample_peak();
        peak.limit.who = Who::Connections;
        let text = page(&peak, Depth::Short).text(Style::PLAIN);
        assert!(text.contains("LOWER BOUND") && !text.contains("CONFIRMED"), "{text}");
        assert!(text.contains("Leave -c out"), "{text}");
        let Figure(_, limit, why) = figures(&peak).swap_remove(2);
        assert_eq!(
            (limit.as_str(), why.as_str()),
            ("connections", "as far as known: more were not tried")
        );
        // What is not certain stays so.
        peak.cannot_tell = Some("the runs differ too much".to_owned());
        assert!(page(&peak, Depth::Short).text(Style::PLAIN).contains("CANNOT TELL"));
    }

    #[test]
    fn a_row_counts_the_runs_that_count() {
        let mut step = sample_peak().steps.remove(2);
        let run = |disturbed, met| Trial { disturbed, met: Some(met), ..step.trials[0].clone() };
        step.trials = vec![
            run(true, true),
            run(true, false),
            run(false, true),
            run(true, false),
            run(true, false),
        ];
        assert_eq!((step.met(), step.counted().len()), (Some(1), 2));
        assert_eq!(judged(&step), "met in 1 of 2, 4 disturbed, 3 of them left out");
    }

    #[test]
    fn a_percentile_that_is_missing_is_explained() {
        let mut peak = sample_peak();
        assert_eq!(notes(&peak).len(), 1);
        peak.steps[2].trials[0].figures.response.p99_ns = None;
        assert!(page(&peak, Depth::Full).text(Style::PLAIN).contains("too few independent"));
    }
}
