//! What is told of a run while it goes on: one value for each thing that happens, a line each.
//!
//! A line stands by itself, and says of what kind it is. What only the whole run tells, such as its
//! percentiles, is in its document.

use candor_record::IntervalSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counts::LedgerCounts;
use super::{Document, Ending, Facts, Tool, time};
use crate::verdicts::Verdict;

/// The value of [`Line::Begin`]'s `format` that this version writes.
pub const FORMAT: &str = "candor.live/1";

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The first: whose lines these are.
    Begin {
        /// `candor.live/1`. Kinds and fields may be added under the same number.
        format: String,
        /// What writes the lines.
        tool: Tool,
        /// When, RFC 3339, UTC.
        started_at: String,
        /// What is run, in words.
        load: String,
    },
    /// An interval of the measured window or the drain is over.
    Interval(Box<IntervalSummary>),
    /// A finding that is new: of what has happened so far, or of the whole run.
    Verdict {
        /// When, from the beginning of the run.
        at_ns: u64,
        /// The finding.
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// The last.
    End {
        /// Why.
        end: Ending,
        /// Length of the run.
        elapsed_ns: u64,
        /// Where its requests ended.
        ledger: LedgerCounts,
        /// Ids of the findings that hold at the end.
        verdicts: Vec<String>,
        /// Lines before this one that nobody took in time.
        dropped_lines: u64,
    },
}

impl Line {
    /// The first line of a run that is `load`, in words.
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
            dropped_lines,
        }
    }
}
