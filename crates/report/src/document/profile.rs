//! A profiler that looked at the managed target while it was measured.
//!
//! Whoever started it fills this in. A profiled target is slower than it is by itself, so figures of
//! such a run compare with nothing: see [`Document::profiler`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Document;

/// What became of `--profile-command`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// The command as it was started, secrets redacted.
    pub command: Vec<String>,
    /// The profile's file; null: there is none.
    pub file: Option<String>,
    /// Its size.
    pub file_bytes: Option<u64>,
    /// The file of what it printed; null: it printed nothing.
    pub log: Option<String>,
    /// When it was started, in seconds since the measured window began; null: it was not.
    pub from_s: Option<f64>,
    /// When it was asked to end, or had ended by itself, in the same way.
    pub to_s: Option<f64>,
    /// What went wrong with it; null: nothing.
    pub problem: Option<String>,
    /// The last lines that it printed, if something went wrong.
    pub log_tail: Vec<String>,
}

/// Where the figures that a target offers of itself say that it profiles itself.
const OWN_KEY: &str = "profile";
/// What they say if it does not.
const OWN_NONE: &str = "none";

impl Document {
    /// Who profiled the target while it was measured: our command, or the target itself, which says
    /// so in its own figures. `None`: nobody, as far as that is known.
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
