//! The profiler of a managed target during the measurement.
//!
//! The starter of the profiler fills this in. A profiled target is slower, so the figures of such a
//! run are not comparable: see [`Document::profiler`].

use serde::{Deserialize, Serialize};

use super::Document;

/// The outcome of `--profile-command`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Profile {
    /// The command, secrets redacted.
    pub command: Vec<String>,
    /// The profile's file; null if there is none.
    pub file: Option<String>,
    /// Its size.
    pub file_bytes: Option<u64>,
    /// The file of its output; null without output.
    pub log: Option<String>,
    /// When it was started, in seconds since the measured window began; null if it was not.
    pub from_s: Option<f64>,
    /// When it was asked to end, or ended by itself, in the same unit.
    pub to_s: Option<f64>,
    /// Its failure; null if there was none.
    pub problem: Option<String>,
    /// The last lines of its output, if it failed.
    pub log_tail: Vec<String>,
}

/// The key by which a target's own figures announce that it profiles itself.
const OWN_KEY: &str = "profile";
/// The value if it does not.
const OWN_NONE: &str = "none";

impl Document {
    /// The profiler of the target during the measurement: our command, or the target itself, by its
    /// own figures. `None` if no profiler is known.
    pub fn profiler(&self) -> Option<String> {
        let ours = self.profile.as_ref().filter(|profile| profile.from_s.is_some());
        if let Some(profile) = ours {
            return Some(profile.command.first().cloned().unwrap_or_default());
        }
        let stats = &self.target.as_ref()?.stats;
        let own = stats.iter().find_map(|sample| sample.json.get(OWN_KEY)?.as_str());
        own.filter(|kind| *kind != OWN_NONE).map(|kind| format!("{kind}, its own"))
    }
}
