//! The resources that a managed target used during the measurement, and how it ended, if it did.
//!
//! They cover its whole process tree, in the measured window only. The starter of the target fills
//! this in; a run against another server has none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Resources of a managed target in the measured window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Resources {
    /// Its name.
    pub name: Option<String>,
    /// Its command, secrets redacted.
    pub command: Vec<String>,
    /// Its announcements when it was ready, e.g. `protocol`, `version` and its runtime: the keys of its
    /// port file in lower case. Omitted if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub announced: BTreeMap<String, String>,
    /// The cores it could use.
    pub cores: Vec<u64>,
    /// The cores of the loader in this run.
    pub loader_cores: Vec<u64>,
    /// The time series, every 100 ms; in long runs, thinned out to a few hundred samples.
    pub samples: Vec<ResourceSample>,
    /// CPU time divided by wall time over the window, 1 for a whole core; null if it was not
    /// sampled.
    pub cpu_share_mean: Option<f64>,
    /// The highest value of a sample.
    pub cpu_share_max: Option<f64>,
    /// The highest resident memory of a sample, over all processes. Shared memory counts in each
    /// process.
    pub rss_peak_bytes: Option<u64>,
    /// CPU seconds in the window, all processes.
    pub cpu_s: Option<f64>,
    /// Responses within the window divided by the target's CPU seconds.
    pub requests_per_cpu_s: Option<f64>,
    /// The target's own figures, if it offers them.
    pub stats: Vec<StatsSample>,
    /// How it ended, if it ended during the run.
    pub ended: Option<String>,
    /// The last lines of its log, if it ended during the run.
    pub log_tail: Vec<String>,
}

impl Resources {
    /// The utilisation of the schedulers of the target's runtime: seconds since the measured window
    /// began, and the mean share of time since the sample before in which they worked. The target
    /// reports it as `scheduler_utilization_mean`, or for each as `scheduler_utilization`.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResourceSample {
    /// Seconds since the measured window began.
    pub at_s: f64,
    /// CPU time divided by wall time since the sample before, 1 for a whole core.
    pub cpu_share: f64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Threads.
    pub threads: u64,
    /// Open files.
    pub open_files: u64,
    /// Number of waits of threads since the window began.
    pub voluntary_switches: u64,
    /// Number of preemptions of threads since the window began.
    pub involuntary_switches: u64,
    /// Processes.
    pub processes: u64,
}

/// The target's document of its own figures (`STATS=` in its port file), at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatsSample {
    /// Seconds since the measured window began.
    pub at_s: f64,
    /// The document.
    pub json: serde_json::Value,
}
