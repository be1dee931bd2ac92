//! What a managed target used while it was measured, and how it ended if it did.
//!
//! Taken of its whole process tree, in the measured window only. Whoever started the target fills
//! this in; a run against a server of somebody else's has none.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Resources of a managed target in the measured window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// Its name.
    pub name: Option<String>,
    /// How it was started, secrets redacted.
    pub command: Vec<String>,
    /// What it said of itself when it was ready, such as `protocol`, `version` and its runtime: the keys of
    /// its port file in lower case. Left out where it said nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub announced: BTreeMap<String, String>,
    /// The cores it could use.
    pub cores: Vec<u64>,
    /// The cores of the loader meanwhile.
    pub loader_cores: Vec<u64>,
    /// The course of it, every 100 ms or, in long runs, so thinned out that few hundreds are left.
    pub samples: Vec<ResourceSample>,
    /// CPU time by wall time over the window, 1 for a whole core; null if it was not sampled.
    pub cpu_share_mean: Option<f64>,
    /// The highest of a sample.
    pub cpu_share_max: Option<f64>,
    /// The highest resident memory of a sample, all processes. What they share counts in each.
    pub rss_peak_bytes: Option<u64>,
    /// CPU seconds in the window, all processes.
    pub cpu_s: Option<f64>,
    /// Answers within the window by CPU seconds of the target.
    pub requests_per_cpu_s: Option<f64>,
    /// The target's own figures, where it offers some.
    pub stats: Vec<StatsSample>,
    /// How it ended, if it did so in mid-run.
    pub ended: Option<String>,
    /// The last lines of its log, if it ended in mid-run.
    pub log_tail: Vec<String>,
}

impl Resources {
    /// Seconds since the measured window began, and the share of time since the look before in
    /// which the schedulers of the target's runtime worked, in the mean over them: what the target
    /// says as `scheduler_utilization_mean`, or of each as `scheduler_utilization`.
    pub fn utilization(&self) -> impl Iterator<Item = (f64, f64)> {
        let share = |json: &serde_json::Value| match json.get("scheduler_utilization_mean") {
            Some(mean) => mean.as_f64(),
            None => {
                let each = json.get("scheduler_utilization")?.as_array()?;
                let sum: f64 = each.iter().filter_map(serde_json::Value::as_f64).sum();
                (!each.is_empty()).then(|| sum / each.len() as f64)
            }
        };
        self.stats.iter().filter_map(move |look| Some((look.at_s, share(&look.json)?)))
    }
}

/// A target's process tree at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceSample {
    /// Seconds since the measured window began.
    pub at_s: f64,
    /// CPU time by wall time since the sample before, 1 for a whole core.
    pub cpu_share: f64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Open files.
    pub open_files: u64,
    /// Times that a thread waited, since the window began.
    pub voluntary_switches: u64,
    /// Times that a thread lost its core, since the window began.
    pub involuntary_switches: u64,
    /// Processes.
    pub processes: u64,
}

/// The document that a target offers of itself (`STATS=` in its port file), at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsSample {
    /// Seconds since the measured window began.
    pub at_s: f64,
    /// What it answered.
    pub json: serde_json::Value,
}
