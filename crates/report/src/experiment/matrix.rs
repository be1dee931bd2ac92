//! What the documents of matrices have in common: a suite's cells, each measured in several rounds, of
//! which one trial speaks for all.
//!
//! There are two: [`super::suite`], of servers, and [`super::clients`], of client libraries. What a
//! cell and a trial are is theirs; here is whose document it is, what was left out, and which
//! trial speaks.

use std::collections::HashMap;
use std::hash::Hash;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Host, Tool};

/// Which suite it is of, and by what, when and where it was measured. Its fields stand at the top of the
/// document itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heading {
    /// What made the document.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// The suite's name.
    pub name: String,
    /// What it is about, in the words of its author.
    pub about: String,
    /// The file of the suite.
    pub file: String,
    /// When the first trial began, RFC 3339, UTC; empty before.
    pub started_at: String,
    /// The machine of the loader, or of the drivers.
    pub host: Host,
    /// Cores of what is measured and of what measures it, in words.
    pub cores: String,
    /// Rounds of each cell.
    pub rounds: u64,
    /// Seed of the order, and of the runs.
    pub seed: u64,
    /// Identifies what was asked for; a directory is taken up again only by the same.
    pub fingerprint: String,
}

/// A combination that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// What it is about, such as `nginx, slow_client`.
    pub what: String,
    /// Why.
    pub why: String,
}

/// A trial that could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Which: server, scenario, protocol, load and round.
    pub trial: String,
    /// Why, and the remedy.
    pub why: String,
}

impl Heading {
    /// A trial of this matrix began then.
    pub fn began(&mut self, started_at: &str) {
        if self.started_at.is_empty() || *started_at < *self.started_at {
            started_at.clone_into(&mut self.started_at);
        }
    }
}

/// Things of the same key together, in the order in which keys come.
pub(crate) fn grouped<K: Eq + Hash + Clone, T>(
    all: impl Iterator<Item = (K, T)>,
) -> Vec<(K, Vec<T>)> {
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

/// The trial that speaks for a cell, and how far the rates of its trials lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MedianByRate {
    /// Its place.
    pub(super) place: u64,
    pub(super) rate_low_per_s: f64,
    pub(super) rate_high_per_s: f64,
}

/// Of trials that may speak, by their places, with their rates. `None` if there are none.
pub(super) fn median_by_rate(trials: impl Iterator<Item = (usize, f64)>) -> Option<MedianByRate> {
    let mut trials: Vec<(usize, f64)> = trials.collect();
    trials.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let (&(_, rate_low_per_s), &(_, rate_high_per_s)) = trials.first().zip(trials.last())?;
    // Of an even number the lower middle one: a real run, and not the better one.
    let (place, _) = trials[(trials.len() - 1) / 2];
    Some(MedianByRate { place: place as u64, rate_low_per_s, rate_high_per_s })
}
