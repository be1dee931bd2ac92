//! Where requests of a run went by Alt-Svc. It is known before the run, and no part of any interval.

use serde::{Deserialize, Serialize};

/// The alternative that the origin of one target named (RFC 7838).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alternative {
    /// The target, by its name.
    pub target: String,
    /// Where its origin was asked, over TCP: `HOST:PORT`.
    pub origin: String,
    /// Where its requests went, over UDP: `HOST:PORT`.
    pub endpoint: String,
}
