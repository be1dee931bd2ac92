//! Lines about a running run: one for each event.
//!
//! A line is complete in itself and has its kind. Figures of the whole run, e.g. its percentiles,
//! are in its document.

use candor_record::{IntervalSummary, OfMachine};
use serde::{Deserialize, Serialize};

use super::counts::LedgerCounts;
use super::{Document, Ending, Facts, Judgement, Tool, Verdict, time};

/// The value of [`Line::Begin`]'s `format` that this version writes.
pub const FORMAT: &str = "candor.live/1";

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The first line: the identity of the run.
    Begin {
        /// `candor.live/1`. Kinds and fields may be added under the same number.
        format: String,
        /// The program that writes the lines.
        tool: Tool,
        /// When the run began, RFC 3339, UTC.
        started_at: String,
        /// The load, in words.
        load: String,
    },
    /// An interval of the measured window or the drain is over.
    Interval {
        /// Over all workers.
        #[serde(flatten)]
        summary: Box<IntervalSummary>,
        /// Each machine of a fleet that has a part in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        machines: Vec<OfMachine>,
    },
    /// A new finding, about the run so far or about the whole run.
    Verdict {
        /// When, from the beginning of the run.
        at_ns: u64,
        /// The finding.
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// The last line.
    End {
        /// Why.
        end: Ending,
        /// Length of the run.
        elapsed_ns: u64,
        /// The ledger.
        ledger: LedgerCounts,
        /// Ids of the findings at the end.
        verdicts: Vec<String>,
        /// The objectives and their outcomes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        expectations: Vec<Judgement>,
        /// Earlier lines that were dropped because the reader was too slow.
        dropped_lines: u64,
    },
}

impl Line {
    /// The first line of a run with this `load`.
    pub fn begin(facts: &Facts, load: String) -> Self {
        Line::Begin {
            format: FORMAT.to_owned(),
            tool: Tool::of(facts),
            started_at: time::rfc3339(facts.started_unix_ms),
            load,
        }
    }

    /// The last line of a run with this document.
    pub fn end(document: &Document, dropped_lines: u64) -> Self {
        Line::End {
            end: document.end,
            elapsed_ns: document.time.elapsed_ns,
            ledger: document.ledger,
            verdicts: document.verdicts.iter().map(|one| one.id.clone()).collect(),
            expectations: document.expectations.clone(),
            dropped_lines,
        }
    }
}
