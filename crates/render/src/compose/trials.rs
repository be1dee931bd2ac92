//! What pages of several runs have in common: what was measured, a run as cells of a table, and what is to
//! be known of all runs together.

use candor_plan::units::{fmt_bytes, fmt_per_second, fmt_share};

use super::{cores, or_nothing, time};
use crate::page::Column;
use candor_report::experiment::figures::{Figures, Percentiles};
use candor_report::experiment::trial::{Subject, Trial};

/// What is to be known of all of these runs together.
pub(super) fn remarks<'a>(
    runs: impl Iterator<Item = &'a Figures> + Clone,
) -> impl Iterator<Item = &'static str> {
    let profiled = runs.clone().any(Figures::is_profiled).then_some(
        "Profiled: figures are not comparable. Targets were profiled while they were measured.",
    );
    let unverified = runs.clone().any(Figures::is_unverified).then_some(
        "Not verified: certificates were not checked (--insecure), so any server could have responded.",
    );
    profiled.into_iter().chain(unverified)
}

/// Signs behind a rate: the share of requests that failed, and that there are warnings.
pub(super) fn marks(figures: &Figures) -> String {
    let failed = figures.failed_share.filter(|share| *share > 0.0);
    let failed = failed.map_or(String::new(), |share| format!(" ✗{}", fmt_share(share)));
    failed + if figures.warnings.is_empty() { "" } else { " †" }
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
pub(super) fn who_had(its: &[u64], ours: &[u64]) -> Option<String> {
    let core = if its.len() == 1 { "core" } else { "cores" };
    (!its.is_empty() && !ours.is_empty())
        .then(|| format!("target on {core} {}; loader on {}", cores(its), cores(ours)))
}

/// What the loader was found to have done to these runs, each once, in the order of the alphabet.
pub(super) fn loader_findings<'a>(runs: impl Iterator<Item = &'a Trial>) -> Vec<&'a str> {
    let findings = runs.flat_map(|trial| &trial.loader_findings).map(String::as_str);
    findings.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// A column for each percentile.
pub(super) fn percentiles() -> impl Iterator<Item = Column> {
    Percentiles::default().named().into_iter().map(|(name, _)| Column::figures(name))
}

/// A run as cells, each with the name of its column. The last are of a target that was watched.
fn row(figures: &Figures, has_target: bool) -> Vec<(&'static str, String)> {
    let mut cells = vec![
        ("achieved", or_nothing(figures.rate_per_s, fmt_per_second)),
        ("p50", time(figures.response.p50_ns)),
        ("p99", time(figures.response.p99_ns)),
        ("p99.9", time(figures.response.p999_ns)),
        ("max", time(figures.response.max_ns)),
        ("service p99", time(figures.service.p99_ns)),
        ("failed", or_nothing(figures.failed_share, fmt_share)),
        ("loader CPU", or_nothing(figures.loader_cpu_share, fmt_share)),
        ("target CPU", or_nothing(figures.target_cpu_share, fmt_share)),
        (
            "req/CPU s",
            or_nothing(figures.requests_per_cpu_s, |per_s| fmt_per_second(per_s.round())),
        ),
        ("RSS", or_nothing(figures.rss_peak_bytes, fmt_bytes)),
    ];
    cells.truncate(if has_target { 11 } else { 8 });
    cells
}

/// Columns of a run.
pub(super) fn columns(has_target: bool) -> impl Iterator<Item = Column> {
    row(&Figures::default(), has_target).into_iter().map(|(name, _)| Column::figures(name))
}

/// A run in those columns.
pub(super) fn cells(trial: &Trial, has_target: bool) -> impl Iterator<Item = String> {
    row(&trial.figures, has_target).into_iter().map(|(_, cell)| cell)
}
