//! The report as JSON.

use serde_json::json;

use super::Run;
use super::figures::{Figures, latency_ns, told};
use candor_report::document::latency::DecodeError;
use candor_report::document::rfc3339;

/// The report of a run.
pub fn report(run: &Run<'_>, pretty: bool) -> Result<String, DecodeError> {
    let (document, figures) = (run.document, Figures::of(run)?);
    let frequency = |count: u64| {
        count as f64 / figures.histogram.iter().map(|(_, n)| n).sum::<u64>().max(1) as f64
    };
    let buckets = figures.histogram.iter().map(
        |(mark, count)| json!({ "mark": mark, "count": count, "frequency": frequency(*count) }),
    );
    let percentiles = figures
        .percentiles
        .iter()
        .map(|(percentage, ns)| json!({ "percentage": percentage, "latency": ns }));
    let details = run.calls.iter().map(|call| {
        let (status, error) = told(document, call.outcome);
        json!({
            "timestamp": rfc3339(document.started_unix_ms + call.done_ns / 1_000_000),
            "latency": latency_ns(call),
            "error": error.unwrap_or_default(),
            "status": status,
        })
    });
    let mut report = json!({
        "date": document.started_at,
        "endReason": if document.plan.stop.count.is_some() { "normal" } else { "timeout" },
        "options": {
            "call": document.plan.work.requests().first().map(|one| one.path.trim_start_matches('/')),
            "host": document.plan.target.authority,
            "insecure": document.plan.target.tls.is_none(),
            "connections": document.plan.connections.count,
            "concurrency": u64::from(document.plan.connections.count) * u64::from(document.plan.connections.streams),
        },
        "count": figures.count,
        "total": figures.total_ns,
        "average": figures.average_ns,
        "fastest": figures.fastest_ns,
        "slowest": figures.slowest_ns,
        "rps": figures.per_s,
        "errorDistribution": figures.errors,
        "statusCodeDistribution": figures.statuses,
        "latencyDistribution": percentiles.collect::<Vec<_>>(),
        "histogram": buckets.collect::<Vec<_>>(),
        "details": details.collect::<Vec<_>>(),
    });
    if let Some(name) = run.name {
        report["name"] = name.into();
    }
    if let Some(tags) = run.tags {
        report["tags"] = tags.clone();
    }
    let text = if pretty { serde_json::to_string_pretty(&report) } else { Ok(report.to_string()) };
    // A value of JSON can be written.
    Ok(text.unwrap_or_default())
}
