//! The common parts of the documents of matrices: a suite's cells, each measured in several rounds and
//! represented by one trial.
//!
//! There are two: [`super::suite`], of servers, and [`super::clients`], of client libraries. They
//! define cells and trials; this module has the heading, the omissions, and the choice of the
//! representative.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::document::{Host, Tool};

/// The suite, and how, when and where it was measured. Its fields are at the top level of the document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Heading {
    /// The program that made the document.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// The suite's name.
    pub name: String,
    /// The author's description.
    pub about: String,
    /// The file of the suite.
    pub file: String,
    /// When the first trial began, RFC 3339, UTC; empty before.
    pub started_at: String,
    /// The machine of the loader, or of the drivers.
    pub host: Host,
    /// Cores of the measured and of the measuring side, in words.
    pub cores: String,
    /// Rounds of each cell.
    pub rounds: u64,
    /// Seed of the order, and of the runs.
    pub seed: u64,
    /// Identifies suite and options; only the same ones resume a directory.
    pub fingerprint: String,
}

/// An omitted combination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Note {
    /// The combination, e.g. `nginx, slow_client`.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// A failed trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedTrial {
    /// Its server, scenario, protocol, load and round.
    pub trial: String,
    /// The reason and the remedy.
    pub why: String,
}

impl FailedTrial {
    /// Trial and reason in one line; a reason may end with the last lines of a log.
    pub fn line(&self) -> String {
        format!("{}: {}", self.trial, self.reason())
    }

    /// The reason in one line.
    pub fn reason(&self) -> String {
        self.why.lines().map(str::trim).collect::<Vec<_>>().join(" · ")
    }
}

impl Heading {
    /// Records the start of a trial.
    pub fn began(&mut self, started_at: &str) {
        if self.started_at.is_empty() || *started_at < *self.started_at {
            started_at.clone_into(&mut self.started_at);
        }
    }
}

/// Groups items by key, in the order in which the keys first appear.
pub fn grouped<K: Eq + Hash + Clone, T>(all: impl Iterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (key, one) in all {
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, own)) => own.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    groups
}

/// The representative of a cell, and the spread of the rates of its trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MedianByRate {
    /// Its place.
    pub(super) place: u64,
    pub(super) rate_low_per_s: f64,
    pub(super) rate_high_per_s: f64,
}

/// From usable trials, given by index and rate. `None` if there are none.
pub(super) fn median_by_rate(trials: impl Iterator<Item = (usize, f64)>) -> Option<MedianByRate> {
    let mut trials: Vec<(usize, f64)> = trials.collect();
    trials.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let (&(_, rate_low_per_s), &(_, rate_high_per_s)) = trials.first().zip(trials.last())?;
    // With an even number, the lower middle one: an actual run, and not the better one.
    let (place, _) = trials[(trials.len() - 1) / 2];
    Some(MedianByRate { place: place as u64, rate_low_per_s, rate_high_per_s })
}

#[cfg(test)]
mod tests {
    use super::FailedTrial;

    #[test]
    fn a_failure_with_the_end_of_a_log_is_one_line() {
        let why = "it ended; the last lines of its output:\n  a\n  b".to_owned();
        let failure = FailedTrial { trial: "hello h1 x".to_owned(), why };
        let line = "hello h1 x: it ended; the last lines of its output: · a · b";
        assert_eq!(failure.line(), line);
    }
}
