//! How the credentials of a run were taken, before it and beside it. They are no part of any interval.

use serde::{Deserialize, Serialize};

/// How often the credential of one target was taken, and how long that took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CredentialCounts {
    /// The target, by its name.
    pub target: String,
    /// Where it comes from: `oauth2`, `cmd` or `file`.
    pub kind: String,
    /// How often it was taken, before the run too.
    pub taken: u64,
    /// How often it could not be.
    pub failed: u64,
    /// How long taking it took, all times together, failed ones too.
    pub took_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// Why it could not be taken the last time that it failed.
    pub problem: Option<String>,
}
