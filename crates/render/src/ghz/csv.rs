//! The single calls as lines.

use std::fmt::Write;

use super::Run;
use super::figures::{latency_ns, told};
use candor_report::visible;

/// The calls of a run: milliseconds, status, error.
pub fn csv(run: &Run<'_>) -> String {
    let mut out = "\nduration (ms),status,error".to_owned();
    for call in run.calls {
        let (status, error) = told(run.document, call.outcome);
        let (ms, error) = (latency_ns(call) as f64 / 1e6, error.unwrap_or_default());
        // Writing to a string does not fail.
        let _ = write!(out, "\n{ms:.2},{status},{}", visible(&error));
    }
    out.push('\n');
    out
}
