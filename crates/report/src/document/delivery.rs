//! How a request left, if not in one go with the length of its body in front.

use candor_plan::Delivery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a request left. What does not apply is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliverySummary {
    /// Its body left in chunks of so many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// It left in so many pieces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<u32>,
    /// From one piece to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece_gap_ns: Option<u64>,
    /// Its body waited for a 100 (Continue), for so long at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_timeout_ns: Option<u64>,
    /// It broke off after so many bytes of its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_off_after_bytes: Option<u64>,
}

impl DeliverySummary {
    /// `None`: in one go.
    pub(super) fn of(delivery: &Delivery) -> Option<Self> {
        (*delivery != Delivery::default()).then(|| DeliverySummary {
            chunk_bytes: delivery.chunk_bytes,
            pieces: delivery.pieces.map(|pieces| pieces.count),
            piece_gap_ns: delivery.pieces.map(|pieces| pieces.gap_ns),
            continue_timeout_ns: delivery.continue_ns,
            break_off_after_bytes: delivery.break_off_after,
        })
    }
}
