//! The document of a suite: servers × scenarios × protocols × loads, each in several rounds.
//!
//! Crate `lab` makes it from the result documents of the trials, which stay beside it as files; it
//! has the figures that tables and pages need. A *cell* is one combination, a *trial* one run of a
//! cell. Each cell is represented by one trial: the one with the median rate, as a whole row, with
//! the spread over trials beside it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::matrix::{FailedTrial, Heading, Note, median_by_rate};
use crate::read::{self, ReadError, Saved};

/// The value of [`Suite::format`] that this version writes.
pub const FORMAT: &str = "candor.suite/1";

/// The results of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Suite {
    /// `candor.suite/1`. Fields may be added under the same number.
    pub format: String,
    /// The suite, and how it was measured.
    #[serde(flatten)]
    pub heading: Heading,
    /// Servers, in the order of the tables.
    pub servers: Vec<Server>,
    /// Scenarios, in the order of the tables.
    pub scenarios: Vec<Scenario>,
    /// Loads, in the order of the tables.
    pub loads: Vec<Load>,
    /// The combinations, measured or still to be measured.
    pub cells: Vec<Cell>,
    /// Omitted combinations, with the reasons.
    pub notes: Vec<Note>,
    /// Failed trials, the latest failure of each.
    pub failures: Vec<FailedTrial>,
    /// Whether every trial was made or failed for good.
    pub complete: bool,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its source: `embedded`, a command, or a URL.
    pub source: String,
    /// A description, or its version.
    pub about: String,
    /// Its announcements in every trial: its version, its runtime. Omitted if there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub announced: BTreeMap<String, String>,
}

impl Server {
    /// Adds the announcements of a trial, and drops those that differ from earlier trials. `is_first` for
    /// the first trial.
    pub fn heard(&mut self, announced: &BTreeMap<String, String>, is_first: bool) {
        match is_first {
            true => self.announced.clone_from(announced),
            false => self.announced.retain(|key, value| announced.get(key) == Some(value)),
        }
    }
}

/// A scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Its subject.
    pub about: String,
}

/// A load of the suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Load {
    /// Its name.
    pub name: String,
    /// In words.
    pub about: String,
    /// Open load: shares of the cell's own peak; empty for a closed load, or for fixed rates.
    pub of_peak: Vec<f64>,
}

/// One combination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cell {
    /// Name of the server.
    pub server: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The protocol: `h1`, `h2`, `h1-tls`, `h2-tls`, `h3`.
    pub protocol: String,
    /// Name of the load.
    pub load: String,
    /// Share of the cell's peak; null if the load has none.
    pub of_peak: Option<f64>,
    /// Whether its servers are meant to refuse some of the connections, so that failed requests are no fault of theirs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses: bool,
    /// That peak, in correct responses per second.
    pub peak_per_s: Option<f64>,
    /// Its rounds, if different from the suite's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    /// Its trials, by round.
    pub trials: Vec<Trial>,
    /// The index of the representative: the median by rate. Null without usable trials.
    pub representative: Option<u64>,
    /// The spread of all usable trials; null without one.
    pub spread: Option<Spread>,
}

/// One run of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// Its round, from 1.
    pub round: u64,
    /// Its result document, from the suite's directory.
    pub file: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// Its figures.
    pub figures: Figures,
    /// Complete responses per second in each interval of the window.
    pub per_second: Vec<f64>,
    /// The utilisation of the schedulers of the server's runtime, if it reports it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub utilization: Vec<Utilization>,
    /// Requests by kind, if the scenario has several.
    pub kinds: Vec<Kind>,
}

/// The utilisation of the schedulers of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Utilization {
    /// Seconds since the measured window began.
    pub at_s: f64,
    /// Busy share of the time since the sample before, as the mean over all schedulers, in [0, 1].
    pub share: f64,
}

/// One request of a scenario with several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// How many got the expected response.
    pub ok: u64,
    /// The median of its response times.
    pub p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub p99_ns: Option<u64>,
}

/// The lowest and the highest of a cell's usable trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spread {
    /// The lowest rate.
    pub rate_low_per_s: f64,
    /// The highest rate.
    pub rate_high_per_s: f64,
    /// The lowest 99th percentile of the response time; null if no trial has one.
    pub p99_low_ns: Option<u64>,
    /// The highest.
    pub p99_high_ns: Option<u64>,
}

/// The share of the asked rate below which a row is marked as saturated.
pub const SATURATED_BELOW: f64 = 0.99;

/// Protocols in the order of tables, with their names.
pub const PROTOCOLS: [(&str, &str); 5] = [
    ("h1", "HTTP/1.1"),
    ("h2", "HTTP/2"),
    ("h1-tls", "HTTP/1.1 over TLS"),
    ("h2-tls", "HTTP/2 over TLS"),
    ("h3", "HTTP/3"),
];

/// The name of a protocol, or what it is called here.
pub fn protocol_name(protocol: &str) -> &str {
    PROTOCOLS.iter().find(|(id, _)| *id == protocol).map_or(protocol, |(_, name)| name)
}

impl Cell {
    /// Name of the combination: `hello h1 nginx closed`, with the share of the peak if it has one.
    pub fn name(&self) -> String {
        let share = self.of_peak.map(|share| format!(" {:.0}%", share * 100.0)).unwrap_or_default();
        format!("{} {} {} {}{share}", self.scenario, self.protocol, self.server, self.load)
    }

    /// Whether it is the same combination.
    pub fn is_same(&self, other: &Cell) -> bool {
        let Cell { server, scenario, protocol, load, of_peak, .. } = other;
        [&self.server, &self.scenario, &self.protocol, &self.load]
            == [server, scenario, protocol, load]
            && self.of_peak == *of_peak
    }

    /// The trial that represents the cell.
    pub fn speaker(&self) -> Option<&Trial> {
        self.trials.get(usize::try_from(self.representative?).ok()?)
    }

    /// Puts the trials in order of rounds, and chooses the representative and the spread.
    pub fn settle(&mut self) {
        self.trials.sort_by_key(|one| one.round);
        let usable = || {
            let figures = self.trials.iter().map(|one| &one.figures).enumerate();
            figures.filter(|(_, figures)| figures.rate_per_s.is_some() && !figures.unusable)
        };
        let median = median_by_rate(usable().filter_map(|(at, one)| Some((at, one.rate_per_s?))));
        let p99: Vec<u64> = usable().filter_map(|(_, one)| one.response.p99_ns).collect();
        self.spread = median.map(|median| Spread {
            rate_low_per_s: median.rate_low_per_s,
            rate_high_per_s: median.rate_high_per_s,
            p99_low_ns: p99.iter().min().copied(),
            p99_high_ns: p99.iter().max().copied(),
        });
        self.representative = median.map(|median| median.place);
    }
}

impl Saved for Suite {
    const FORMAT: &'static str = FORMAT;
    const KNOWN: Option<&'static [&'static str]> =
        Some(&["servers", "scenarios", "loads", "cells", "notes", "failures"]);

    fn check(&self) -> Result<(), String> {
        let rows = self.scenarios.len().saturating_mul(self.loads.len().max(1));
        let combinations = rows.saturating_mul(self.servers.len());
        super::at_most("combinations of server, scenario and load", combinations, 50_000)?;
        super::at_most("cells", self.cells.len(), 20_000)
    }
}

impl Suite {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        read::read(text)
    }

    /// The number of existing trials, and of all trials.
    pub fn progress(&self) -> (u64, u64) {
        let rounds = |cell: &Cell| cell.rounds.unwrap_or(self.heading.rounds);
        let made = self.cells.iter().map(|cell| cell.trials.len() as u64).sum();
        (made, self.cells.iter().map(rounds).fold(0, u64::saturating_add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(round: u64, rate_per_s: f64, unusable: bool) -> Trial {
        let figures = Figures { rate_per_s: Some(rate_per_s), unusable, ..Figures::default() };
        Trial {
            round,
            file: String::new(),
            started_at: String::new(),
            figures,
            per_second: Vec::new(),
            utilization: Vec::new(),
            kinds: Vec::new(),
        }
    }

    fn settled(trials: Vec<Trial>) -> Cell {
        let mut cell = Cell {
            server: "s".to_owned(),
            scenario: "hello".to_owned(),
            protocol: "h1".to_owned(),
            load: "closed".to_owned(),
            of_peak: Some(0.95),
            refuses: false,
            peak_per_s: None,
            rounds: None,
            trials,
            representative: None,
            spread: None,
        };
        cell.settle();
        cell
    }

    #[test]
    fn the_median_by_rate_speaks_as_a_whole_row() {
        let cell =
            settled(vec![trial(3, 30.0, false), trial(1, 10.0, false), trial(2, 50.0, false)]);
        assert_eq!(cell.speaker().unwrap().round, 3);
        let spread = cell.spread.unwrap();
        assert_eq!((spread.rate_low_per_s, spread.rate_high_per_s), (10.0, 50.0));
        assert_eq!(cell.name(), "hello h1 s closed 95%");
        // Of two, the lower one; never an invalid one.
        let two = settled(vec![trial(1, 10.0, false), trial(2, 20.0, false), trial(3, 1.0, true)]);
        assert_eq!(two.speaker().unwrap().round, 1);
        assert_eq!(settled(vec![trial(1, 9.0, true)]).speaker(), None);
        assert_eq!(settled(Vec::new()).spread, None);
    }
}
