//! The run, or its single calls, in InfluxDB's line protocol.

use std::fmt::Write;

use super::Run;
use super::figures::{Figures, latency_ns, told};
use candor_report::document::latency::DecodeError;
use candor_report::visible;

/// A tag of the run: its name, and its value as it is written.
pub type Tag = (&'static str, String);

/// One point of the run.
pub fn summary(run: &Run<'_>, tags: &[Tag]) -> Result<String, DecodeError> {
    let figures = Figures::of(run)?;
    let errors: u64 = figures.errors.values().sum();
    let mut out = format!("ghz_run,{},errors={errors},has_errors={}", joined(tags), errors > 0);
    // Writing to a string does not fail, here and below.
    let _ = write!(
        out,
        " count={},total={},average={},fastest={},slowest={},rps={:.2}",
        figures.count,
        figures.total_ns,
        figures.average_ns,
        figures.fastest_ns,
        figures.slowest_ns,
        figures.per_s
    );
    for (percentage, name) in [(50, "median"), (95, "p95")] {
        if let Some((_, ns)) = figures.percentiles.iter().find(|(one, _)| *one == percentage) {
            let _ = write!(out, ",{name}={ns}");
        }
    }
    let end_ns = started_ns(run) + u128::from(run.document.time.elapsed_ns);
    let _ = write!(out, ",errors={errors} {end_ns}");
    Ok(out)
}

/// A point of each call.
pub fn details(run: &Run<'_>, tags: &[Tag]) -> String {
    let tags = joined(tags);
    let mut out = String::new();
    for call in run.calls {
        let (status, error) = told(run.document, call.outcome);
        let (has_error, error) = (error.is_some(), clean(&error.unwrap_or_default()));
        let _ = writeln!(
            out,
            "ghz_detail,{tags},hasError={has_error} latency={},error=\"{error}\",status=\"{status}\" {}",
            latency_ns(call),
            started_ns(run) + u128::from(call.done_ns)
        );
    }
    out
}

fn started_ns(run: &Run<'_>) -> u128 {
    u128::from(run.document.started_unix_ms) * 1_000_000
}

fn joined(tags: &[Tag]) -> String {
    let all: Vec<String> = tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
    all.join(",")
}

/// A text as a value of a tag, in quotes.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", clean(text))
}

/// JSON as a value of a tag.
pub fn json(text: &str) -> String {
    clean(&serde_json::Value::from(text).to_string())
}

/// Without what would end a value: ghz writes a backslash in front.
fn clean(text: &str) -> String {
    visible(text).replace(' ', "\\ ").replace(',', "\\,").replace('=', "\\=")
}
