//! A result that is a part of a run, and how parts come to a whole.
//!
//! A part carries its record whole, as bytes, because what a document says of a run does not add up:
//! percentiles of parts are no percentiles of the whole.

use candor_record::{Encoded, RunRecord, Workers, wire};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which part of a run a result is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Its workers.
    pub workers: Workers,
    /// All that is known of it, in a form of candor's own, base64.
    pub record: Encoded,
}

impl Part {
    /// `None`: the record is of a whole run.
    pub(super) fn of(record: &RunRecord) -> Option<Self> {
        (!record.of.is_all())
            .then(|| Part { workers: record.of, record: Encoded(wire::to_bytes(record)) })
    }
}
