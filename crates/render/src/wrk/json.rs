//! The object that yicwang's fork of wrk2 prints with `-e`, as valid JSON in every case: the
//! original forgets a comma before `http_error`, and omits statuses if no socket failed.

use std::fmt::Write;

use super::figures::{Errors, Traffic, in_microseconds, latency};
use super::units;
use crate::v1;
use candor_record::Encoded;
use candor_report::document::Document;
use candor_report::document::latency::DecodeError;

/// HdrHistogram's encoding of `hist`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistFormat {
    /// The original's, which libraries in Java and C read.
    V1,
    /// The one that Python's library reads.
    V2,
}

/// The object, with the original's line breaks. `hist` is the latency in microseconds.
pub fn report(document: &Document, format: HistFormat) -> Result<String, DecodeError> {
    let traffic = Traffic::of(document);
    let latency = latency(document);
    let hdr = in_microseconds(latency, &latency.decode()?)?;
    let hist = match format {
        HistFormat::V1 => v1::encode(&hdr),
        HistFormat::V2 => Encoded::of_hdr(&hdr).to_string(),
    };
    let mut text = "{\n".to_owned();
    if let Some(errors) = errors(&Errors::of(document)) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "\"errors\": {errors},");
    }
    let _ = writeln!(
        text,
        "\"total_req\": {}, \"rps\": {:.2}, \"rx_bps\": \"{}B\",",
        traffic.answers,
        traffic.answers_per_s(),
        units::binary(traffic.bytes_per_s())
    );
    let _ = writeln!(text, "\"hist\": \"{hist}\"\n}}");
    Ok(text)
}

/// Those that occurred, if any.
fn errors(errors: &Errors) -> Option<String> {
    let Errors { connect, read, write, timeout, status } = *errors;
    let named = [
        ("connect", connect),
        ("read", read),
        ("write", write),
        ("timeout", timeout),
        ("http_error", status),
    ];
    let fields: Vec<String> = named
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("\"{name}\": {count}"))
        .collect();
    (!fields.is_empty()).then(|| format!("{{{}}}", fields.join(", ")))
}
