//! ghz's output in its form and with our figures.
//!
//! Scrapers read it: every line, label, tab and blank is as in the original. Candor's further findings belong on the
//! standard error. Latency counts from when a call was due.

pub mod influx;
pub mod json;
pub mod summary;

mod csv;
mod figures;

use candor_record::Traced;
use candor_record::trace::Outcome;
use candor_report::Document;
use serde_json::Value;

pub use csv::csv;

/// A run, and what of it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Its document.
    pub document: &'a Document,
    /// Its name.
    pub name: Option<&'a str>,
    /// Its tags.
    pub tags: Option<&'a Value>,
    /// Single calls, in the order of their ends ([`ended`]).
    pub calls: &'a [Traced],
    /// Figures are of these calls alone; otherwise of the document.
    pub chosen: bool,
    /// Latencies are those of errors too. For chosen calls.
    pub count_errors: bool,
}

impl<'a> Run<'a> {
    /// The run of a document.
    pub fn of(document: &'a Document) -> Self {
        let (name, tags, calls, chosen, count_errors) = (None, None, &[][..], false, false);
        Run { document, name, tags, calls, chosen, count_errors }
    }
}

/// The calls among these that have a response or an error, in the order of their ends, without the first `skipped`.
pub fn ended(mut calls: Vec<Traced>, skipped: u64) -> Vec<Traced> {
    calls.retain(|call| matches!(call.outcome, Outcome::Ok | Outcome::Failed(_)));
    calls.sort_by_key(|call| call.done_ns);
    calls.drain(..calls.len().min(skipped as usize));
    calls
}

#[cfg(test)]
mod tests;
