//! The part of a run, in its result.
//!
//! It contains its whole record as bytes, because the figures of documents do not add up: percentiles of
//! the whole do not follow from those of parts. [`merge`](crate::merge) has the whole.

use candor_record::{Encoded, RunRecord, Workers, wire};
use serde::{Deserialize, Serialize};

/// The part of a run that a result covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// Its workers.
    pub workers: Workers,
    /// Its record in candor's own encoding, base64.
    pub record: Encoded,
}

impl Part {
    /// `None` for the record of a whole run.
    pub(super) fn of(record: &RunRecord) -> Option<Self> {
        (!record.of.is_all())
            .then(|| Part { workers: record.of, record: Encoded(wire::to_bytes(record)) })
    }
}
