//! What renderings of peaks and sweeps have in common: a run as cells of a table and as a row of
//! CSV, and what was measured.

use std::fmt::Write as _;

use candor_plan::units::{fmt_bytes, fmt_duration_ns, fmt_per_second, fmt_share};

use super::table::Align;
use crate::experiment::figures::Figures;
use crate::experiment::trial::{Subject, Trial};
use crate::render::csv::quoted;
use crate::render::visible;

/// Characters of a line of text.
const WIDTH: usize = 96;

/// Said of an experiment with runs whose target was profiled.
pub(in crate::render) const PROFILED: &str =
    "Profiled: figures are not comparable. Targets were profiled while they were measured.";

/// Said of an experiment with runs whose targets were not asked who they are.
pub(in crate::render) const UNVERIFIED: &str =
    "Not verified: certificates were not checked (--insecure), so any server could have responded.";

/// What is to be known of all of these runs together.
pub(in crate::render) fn remarks<'a>(
    runs: impl Iterator<Item = &'a Figures> + Clone,
) -> impl Iterator<Item = &'static str> {
    let profiled = runs.clone().any(Figures::is_profiled).then_some(PROFILED);
    let unverified = runs.clone().any(Figures::is_unverified).then_some(UNVERIFIED);
    profiled.into_iter().chain(unverified)
}

/// What was measured.
pub(super) fn subject(subject: &Subject) -> String {
    let note = subject.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    match subject.command.as_slice() {
        [] => format!("{}{note}", subject.url),
        command => format!("{} at {}{note}", command.join(" "), subject.url),
    }
}

/// Who had which cores, if that is known.
pub(super) fn cores(subject: &Subject) -> Option<String> {
    let list = |cores: &[u64]| cores.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let (its, ours) = (&subject.cores, &subject.loader_cores);
    (!its.is_empty() && !ours.is_empty())
        .then(|| format!("target on cores {}; loader on {}", list(its), list(ours)))
}

/// Columns of a run.
pub(super) fn columns(has_target: bool) -> Vec<(String, Align)> {
    let mut names =
        vec!["achieved", "p50", "p99", "p99.9", "max", "service p99", "failed", "loader CPU"];
    if has_target {
        names.extend(["target CPU", "req/CPU s", "RSS"]);
    }
    names.into_iter().map(|name| (name.to_owned(), Align::Right)).collect()
}

/// A run in those columns.
pub(super) fn cells(trial: &Trial, has_target: bool) -> Vec<String> {
    let figures = &trial.figures;
    let mut cells = vec![
        figures.rate_per_s.map_or(nothing(), fmt_per_second),
        time(figures.response.p50_ns),
        time(figures.response.p99_ns),
        time(figures.response.p999_ns),
        time(figures.response.max_ns),
        time(figures.service.p99_ns),
        figures.failed_share.map_or(nothing(), fmt_share),
        figures.loader_cpu_share.map_or(nothing(), fmt_share),
    ];
    if has_target {
        cells.extend([
            figures.target_cpu_share.map_or(nothing(), fmt_share),
            figures.requests_per_cpu_s.map_or(nothing(), |per_s| fmt_per_second(per_s.round())),
            figures.rss_peak_bytes.map_or(nothing(), fmt_bytes),
        ]);
    }
    cells
}

/// A time, or a dash.
pub(super) fn time(ns: Option<u64>) -> String {
    ns.map_or(nothing(), fmt_duration_ns)
}

fn nothing() -> String {
    "–".to_owned()
}

/// The columns of [`csv_row`].
pub(super) const CSV_COLUMNS: &str = "name,connections,asked_per_s,achieved_per_s,held,\
    response_p50_ns,response_p75_ns,response_p90_ns,response_p99_ns,response_p999_ns,\
    response_p9999_ns,response_max_ns,service_p50_ns,service_p75_ns,service_p90_ns,service_p99_ns,\
    service_p999_ns,service_p9999_ns,service_max_ns,failed,failed_share,disturbed,\
    loader_cpu_share,target_cpu_share,requests_per_target_cpu_s,target_rss_peak_bytes";

/// A run as a row of CSV (RFC 4180).
pub(super) fn csv_row(trial: &Trial) -> String {
    let figures = &trial.figures;
    let mut row = format!("{},{}", quoted(&trial.name), figures.connections);
    let mut put = |field: Option<String>| {
        let _ = write!(row, ",{}", field.unwrap_or_default());
    };
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    put(number(figures.asked_per_s));
    put(number(figures.rate_per_s));
    put(Some(u8::from(trial.held).to_string()));
    for percentiles in [&figures.response, &figures.service] {
        for (_, ns) in percentiles.named() {
            put(ns.map(|ns| ns.to_string()));
        }
    }
    put(Some(figures.failed.to_string()));
    put(number(figures.failed_share));
    put(Some(u8::from(trial.disturbed).to_string()));
    put(number(figures.loader_cpu_share));
    put(number(figures.target_cpu_share));
    put(number(figures.requests_per_cpu_s));
    put(figures.rss_peak_bytes.map(|bytes| bytes.to_string()));
    row
}

/// Lines of no more than a page's width.
pub(super) fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in visible(text).split_whitespace() {
        let line = lines.last_mut().expect("there is one from the beginning");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}
