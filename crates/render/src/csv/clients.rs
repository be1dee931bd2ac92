//! Every trial of a matrix of client libraries, one row each (RFC 4180). docs/clients.md describes
//! the columns; a test checks that none is missing.

use super::{flag, float, table, whole, with_representative};
use candor_report::experiment::clients::{Cell, Client, Clients, Trial};

/// The names of the columns, separated by commas, with units.
pub const COLUMNS: &str = "suite,client,library,version,runtime,null,pool,concurrency,round,representative,\
    counts_agree,started_at,window_s,rate_per_s,ok,failed,failed_share,timeout,pool_timeout,\
    refused,closed,status,body,crash,other,p50_ns,p99_ns,p999_ns,max_ns,requests,outside,\
    server_answered,cpu_s,cpu_us_per_request,overhead_us_per_request,file";

/// Kinds of errors with columns, in order.
const KINDS: [&str; 8] =
    ["timeout", "pool-timeout", "refused", "closed", "status", "body", "crash", "other"];

/// The trials.
pub fn csv(clients: &Clients) -> String {
    let rows = clients.cells.iter().flat_map(|cell| {
        let trials = with_representative(&cell.trials, cell.representative);
        trials.map(move |(trial, represents)| row(clients, cell, trial, represents))
    });
    table(COLUMNS, rows)
}

fn row(clients: &Clients, cell: &Cell, trial: &Trial, represents: bool) -> Vec<String> {
    let client = clients.client(&cell.client);
    let text = |pick: fn(&Client) -> &String| client.map(pick).cloned().unwrap_or_default();
    let mut fields = vec![
        clients.heading.name.clone(),
        cell.client.clone(),
        text(|one| &one.library),
        text(|one| &one.version),
        text(|one| &one.runtime),
        flag(client.is_some_and(|one| one.is_null)),
        cell.pool.to_string(),
        cell.concurrency.to_string(),
        trial.round.to_string(),
        flag(represents),
        flag(trial.agrees()),
        trial.started_at.clone(),
        format!("{:.6}", trial.window_s),
        format!("{:.4}", trial.rate_per_s),
        trial.ok.to_string(),
        trial.failed().to_string(),
        float(trial.failed_share),
    ];
    fields.extend(KINDS.map(|kind| {
        let known = trial.errors.iter().find(|one| one.kind == kind);
        known.map_or(0, |one| one.count).to_string()
    }));
    let latency = &trial.latency;
    fields.extend([latency.p50_ns, latency.p99_ns, latency.p999_ns, latency.max_ns].map(whole));
    fields.extend([
        trial.requests.to_string(),
        trial.outside.to_string(),
        trial.server_answered.to_string(),
        format!("{:.4}", trial.cpu_s),
        float(trial.cpu_us_per_request),
        float(clients.overhead_us(cell)),
        trial.file.clone(),
    ]);
    fields
}
