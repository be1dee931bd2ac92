//! The runs of peaks, sweeps and comparisons, and results that were kept.

use super::{flag, table, whole};
use candor_report::experiment::comparison::{Comparison, Metric};
use candor_report::experiment::history::Entry;
use candor_report::experiment::peak::Peak;
use candor_report::experiment::sweep::Sweep;
use candor_report::experiment::trial::Trial;

/// The columns of [`row`].
const COLUMNS: &str = "name,connections,asked_per_s,achieved_per_s,held,response_mean_ns,response_p50_ns,response_p75_ns,\
    response_p90_ns,response_p95_ns,response_p99_ns,response_p999_ns,response_p9999_ns,response_max_ns,\
    service_mean_ns,service_p50_ns,service_p75_ns,service_p90_ns,service_p95_ns,service_p99_ns,service_p999_ns,\
    service_p9999_ns,service_max_ns,failed,failed_share,disturbed,loader_cpu_share,\
    target_cpu_share,requests_per_target_cpu_s,target_rss_peak_bytes";

/// Every run of a peak.
pub fn peak(peak: &Peak) -> String {
    let rows = peak.steps.iter().zip(0..).flat_map(|(step, at)| {
        let own = move |trial: &Trial| {
            let met = trial.met.map(flag).unwrap_or_default();
            [i32::to_string(&at), step.phase.word().into(), step.outcome.word().into(), met]
        };
        step.trials.iter().map(move |trial| row(own(trial), trial))
    });
    table(&format!("step,phase,outcome,met,{COLUMNS}"), rows)
}

/// Every run of a sweep.
pub fn sweep(sweep: &Sweep) -> String {
    let rows = sweep.rows.iter().flat_map(|rate| {
        rate.trials.iter().zip(0..).map(move |(trial, at)| {
            let shown = flag(rate.representative == Some(at));
            let round = (at + 1).to_string();
            row([rate.rate_per_s.to_string(), number(rate.fraction), round, shown], trial)
        })
    });
    table(&format!("rate_per_s,fraction,round,shown,{COLUMNS}"), rows)
}

/// Every run of a comparison.
pub fn comparison(comparison: &Comparison) -> String {
    let columns = "variant,round,position,rate_per_s,p50_ns,p90_ns,p99_ns,p999_ns,error_share,\
                   target_cpu_us_per_request,usable,file";
    let rows = comparison.variants.iter().flat_map(|variant| {
        variant.trials.iter().map(|trial| {
            let own = [variant.name.clone(), trial.round.to_string(), trial.position.to_string()];
            let mut row = Vec::from(own);
            row.extend(Metric::ALL.map(|metric| number(metric.of(&trial.figures))));
            row.extend([flag(!trial.figures.unusable), trial.file.clone().unwrap_or_default()]);
            row
        })
    });
    table(columns, rows)
}

/// Every result that was kept.
pub fn history(entries: &[Entry]) -> String {
    let rows = entries.iter().map(|one| {
        let tags: Vec<String> =
            one.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let own = [&one.started_at, &one.plan, &one.machine, &one.subject.url, &tags.join(" ")]
            .map(String::clone);
        row(own, &one.trial)
    });
    table(&format!("began,plan,machine,url,tags,{COLUMNS}"), rows)
}

/// A run, after the columns of its step.
fn row<const N: usize>(own: [String; N], trial: &Trial) -> Vec<String> {
    let figures = &trial.figures;
    let mut row = Vec::from(own);
    row.extend([
        trial.name.clone(),
        figures.connections.to_string(),
        number(figures.asked_per_s),
        number(figures.rate_per_s),
        flag(trial.held),
    ]);
    for percentiles in [&figures.response, &figures.service] {
        row.extend(percentiles.named().map(|(_, ns)| whole(ns)));
    }
    row.extend([
        figures.failed.to_string(),
        number(figures.failed_share),
        flag(trial.disturbed),
        number(figures.loader_cpu_share),
        number(figures.target_cpu_share),
        number(figures.requests_per_cpu_s),
        whole(figures.rss_peak_bytes),
    ]);
    row
}

/// With all of its digits.
fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
