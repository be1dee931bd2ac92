//! Every trial of a suite, one row each (RFC 4180). docs/suites.md describes the columns; a test
//! checks that none is missing.

use super::{flag, float, table, whole, with_representative};
use candor_report::experiment::suite::{Cell, SATURATED_BELOW, Suite, Trial};

/// The names of the columns, separated by commas, with units.
pub const COLUMNS: &str = "suite,server,scenario,protocol,load,of_peak,round,representative,usable,started_at,\
    window_s,connections,connections_least,in_flight_most,opened,asked_per_s,rate_per_s,\
    achieved_share,scheduled,ok,failed,failures,response_mean_ns,response_p50_ns,response_p75_ns,\
    response_p90_ns,response_p95_ns,response_p99_ns,response_p999_ns,response_p9999_ns,response_max_ns,\
    service_mean_ns,service_p50_ns,service_p75_ns,service_p90_ns,service_p95_ns,service_p99_ns,service_p999_ns,\
    service_p9999_ns,service_max_ns,loader_cpu_share,target_cpu_share,\
    target_cpu_us_per_request,requests_per_cpu_s,rss_peak_bytes,runtime_memory_peak_bytes,\
    scheduler_utilization,warnings,saturated,file";

/// The trials.
pub fn csv(suite: &Suite) -> String {
    let rows = suite.cells.iter().flat_map(|cell| {
        let trials = with_representative(&cell.trials, cell.representative);
        trials.map(move |(trial, represents)| row(suite, cell, trial, represents))
    });
    table(COLUMNS, rows)
}

fn row(suite: &Suite, cell: &Cell, trial: &Trial, represents: bool) -> Vec<String> {
    let figures = &trial.figures;
    let saturated = figures.achieved_share.map(|share| flag(share < SATURATED_BELOW));
    let mut fields = vec![
        suite.heading.name.clone(),
        cell.server.clone(),
        cell.scenario.clone(),
        cell.protocol.clone(),
        cell.load.clone(),
        float(cell.of_peak),
        trial.round.to_string(),
        flag(represents),
        flag(!figures.unusable),
        trial.started_at.clone(),
        format!("{:.6}", figures.window_s),
        figures.connections.to_string(),
        figures.connections_least.to_string(),
        figures.in_flight_most.to_string(),
        figures.opened.to_string(),
        float(figures.asked_per_s),
        float(figures.rate_per_s),
        float(figures.achieved_share),
        figures.scheduled.to_string(),
        figures.ok.to_string(),
        figures.failed.to_string(),
        figures.failures.clone(),
    ];
    for percentiles in [&figures.response, &figures.service] {
        fields.extend(percentiles.named().map(|(_, ns)| whole(ns)));
    }
    fields.extend([
        float(figures.loader_cpu_share),
        float(figures.target_cpu_share),
        float(figures.target_cpu_us),
        float(figures.requests_per_cpu_s),
        whole(figures.rss_peak_bytes),
        whole(figures.runtime_memory_peak_bytes),
        float(figures.scheduler_utilization),
        figures.warnings.join(" "),
        saturated.unwrap_or_default(),
        trial.file.clone(),
    ]);
    fields
}
