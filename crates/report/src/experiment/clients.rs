//! The document of a matrix of HTTP client libraries: clients × pools × concurrencies, each in several
//! rounds.
//!
//! Crate `lab` makes it from the replies of drivers, the server's own count and the system's accounting
//! of CPU time. A *cell* is one client with one pool and one concurrency, a *trial* one run of it. Each
//! cell is represented by one trial: the one with the median rate, among those whose counts agree with
//! the server's. A trial whose counts do not agree is shown as such, and never represents its cell.

use serde::{Deserialize, Serialize};

use super::figures::Percentiles;
use super::matrix::{FailedTrial, Heading, Note, median_by_rate};
use crate::document::latency::Distribution;
use crate::read::{self, ReadError, Saved};

/// The value of [`Clients::format`] that this version writes.
pub const FORMAT: &str = "candor.clients/1";
/// The value of [`TrialFile::format`] that this version writes.
pub const TRIAL_FORMAT: &str = "candor.clients-trial/1";

/// The results of a matrix of client libraries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Clients {
    /// `candor.clients/1`. Fields may be added under the same number.
    pub format: String,
    /// The suite, and how it was measured.
    #[serde(flatten)]
    pub heading: Heading,
    /// The server: `embedded`, or a command.
    pub server: String,
    /// The request of every cell.
    pub asked: Asked,
    /// The connections of cells: a rule, e.g. `concurrency + 1`, or sizes.
    pub pools: String,
    /// Clients, in the order of the tables.
    pub clients: Vec<Client>,
    /// The combinations, measured or still to be measured.
    pub cells: Vec<Cell>,
    /// Omitted clients, with the reasons.
    pub notes: Vec<Note>,
    /// Failed trials, the latest failure of each.
    pub failures: Vec<FailedTrial>,
    /// Whether every trial was made or failed for good.
    pub complete: bool,
}

/// The settings that all cells share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Asked {
    /// Path of every request; null means the one that the server announces.
    pub path: Option<String>,
    /// Length of the warm-up.
    pub warm_up_ns: u64,
    /// Length of the window.
    pub duration_ns: u64,
    /// Timeout of a request.
    pub timeout_ns: u64,
    /// The status of a correct response.
    pub expect_status: u16,
    /// The length of its body; null means any.
    pub expect_body_bytes: Option<u64>,
}

/// A client library behind its driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Client {
    /// Its name in the suite.
    pub name: String,
    /// A description by the suite's author.
    pub about: String,
    /// The driver's command, secrets redacted.
    pub command: Vec<String>,
    /// The library, as the driver names it.
    pub library: String,
    /// The library's version.
    pub version: String,
    /// The runtime of the driver.
    pub runtime: String,
    /// Whether it sends nothing: its cost is the driver's own share.
    pub is_null: bool,
    /// The null client of the same driver.
    pub null_client: Option<String>,
}

/// One combination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cell {
    /// Name of the client.
    pub client: String,
    /// Connections that the library may keep.
    pub pool: u64,
    /// Callers, each in a closed loop.
    pub concurrency: u64,
    /// Its trials, by round.
    pub trials: Vec<Trial>,
    /// The index of the representative: the median by rate among trials whose counts agree. Null
    /// without one.
    pub representative: Option<u64>,
    /// The spread of all trials whose counts agree; null without one.
    pub spread: Option<Spread>,
}

/// The lowest and the highest rate of a cell's trials whose counts agree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spread {
    /// The lowest rate.
    pub rate_low_per_s: f64,
    /// The highest rate.
    pub rate_high_per_s: f64,
}

/// One run of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// Its round, from 1.
    pub round: u64,
    /// Its file, from the suite's directory.
    pub file: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// Length of the window.
    pub window_s: f64,
    /// Correct responses per second over the window.
    pub rate_per_s: f64,
    /// Requests that ended in the window with the expected response.
    pub ok: u64,
    /// Other requests that ended in the window, by kind, the most frequent first.
    pub errors: Vec<ErrorCount>,
    /// The share of those among all that ended in the window, in [0, 1]; null if there are none.
    pub failed_share: Option<f64>,
    /// Latencies of the correct responses in the window, from the call of the library to its
    /// return.
    pub latency: Percentiles,
    /// Requests that ended in the warm-up, or after the window if they had begun in it.
    pub outside: u64,
    /// All requests of the cell, in the window and outside of it, by the driver's count.
    pub requests: u64,
    /// Responses that the server counted in the same time.
    pub server_answered: u64,
    /// The disagreement of the two counts; null if they agree.
    pub disagreement: Option<String>,
    /// CPU time of the driver and all of its processes, user and kernel, over the whole cell.
    pub cpu_s: f64,
    /// The same divided by all requests of the cell, in microseconds; null without requests.
    pub cpu_us_per_request: Option<f64>,
}

/// Errors of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorCount {
    /// The kind, as in docs/drivers.md.
    pub kind: String,
    /// How many ended in the window.
    pub count: u64,
    /// An example.
    pub example: Option<String>,
}

/// A trial with all of its latencies, kept in a separate file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrialFile {
    /// `candor.clients-trial/1`. Fields may be added under the same number.
    pub format: String,
    /// Name of the client.
    pub client: String,
    /// Connections that the library may keep.
    pub pool: u64,
    /// Callers.
    pub concurrency: u64,
    /// Its figures.
    pub trial: Trial,
    /// Its latencies.
    pub latency: Distribution,
}

impl Trial {
    /// Whether the driver's and the server's counts describe the same requests.
    pub fn agrees(&self) -> bool {
        self.disagreement.is_none()
    }

    /// Requests that ended in the window without the expected response.
    pub fn failed(&self) -> u64 {
        self.errors.iter().fold(0, |sum, one| sum.saturating_add(one.count))
    }
}

impl Saved for TrialFile {
    const FORMAT: &'static str = TRIAL_FORMAT;

    fn check(&self) -> Result<(), String> {
        self.latency.check("latency")
    }
}

impl TrialFile {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        read::read(text)
    }
}

impl Cell {
    /// Name of the combination: `httpc pool 65 concurrency 64`.
    pub fn name(&self) -> String {
        format!("{} pool {} concurrency {}", self.client, self.pool, self.concurrency)
    }

    /// The trial that represents the cell.
    pub fn speaker(&self) -> Option<&Trial> {
        self.trials.get(usize::try_from(self.representative?).ok()?)
    }

    /// Trials whose counts do not agree with the server's.
    pub fn wrong(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|one| !one.agrees())
    }

    /// Puts the trials in order of rounds, and chooses the representative and the spread.
    pub fn settle(&mut self) {
        self.trials.sort_by_key(|one| one.round);
        let trials = self.trials.iter().enumerate().filter(|(_, one)| one.agrees());
        let median = median_by_rate(trials.map(|(at, one)| (at, one.rate_per_s)));
        self.spread = median.map(|median| Spread {
            rate_low_per_s: median.rate_low_per_s,
            rate_high_per_s: median.rate_high_per_s,
        });
        self.representative = median.map(|median| median.place);
    }
}

impl Saved for Clients {
    const FORMAT: &'static str = FORMAT;
    const KNOWN: Option<&'static [&'static str]> =
        Some(&["asked", "clients", "cells", "notes", "failures"]);

    fn check(&self) -> Result<(), String> {
        let combinations = self.clients.len().saturating_mul(self.cells.len());
        super::at_most("combinations of client and cell", combinations, 200_000)?;
        super::at_most("cells", self.cells.len(), 20_000)
    }
}

impl Clients {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        read::read(text)
    }

    /// The client of this name.
    pub fn client(&self, name: &str) -> Option<&Client> {
        self.clients.iter().find(|one| one.name == name)
    }

    /// The driver's own cost in a cell, in CPU microseconds per request: that of its null client
    /// with as many callers. `None` without a measured null client.
    pub fn overhead_us(&self, cell: &Cell) -> Option<f64> {
        let null = self.client(&cell.client)?.null_client.as_ref()?;
        let of = |one: &&Cell| one.client == *null && one.concurrency == cell.concurrency;
        self.cells.iter().find(of)?.speaker()?.cpu_us_per_request
    }

    /// The number of existing trials, and of all trials.
    pub fn progress(&self) -> (u64, u64) {
        let made = self.cells.iter().map(|cell| cell.trials.len() as u64).sum();
        (made, self.heading.rounds.saturating_mul(self.cells.len() as u64))
    }

    /// The number of trials whose counts do not agree with the server's.
    pub fn wrong(&self) -> u64 {
        self.cells.iter().map(|one| one.wrong().count() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clients::{sample, trial};

    #[test]
    fn a_trial_whose_counts_disagree_never_speaks() {
        let wrong =
            |round, rate| Trial { disagreement: Some("1, not 2".to_owned()), ..trial(round, rate) };
        let settled = |trials| {
            let mut cell = Cell { trials, ..sample().cells[0].clone() };
            cell.settle();
            cell
        };
        let cell = settled(vec![trial(3, 30.0), trial(1, 10.0), wrong(2, 50.0), trial(4, 20.0)]);
        assert_eq!(cell.speaker().unwrap().round, 4);
        let spread = cell.spread.unwrap();
        assert_eq!((spread.rate_low_per_s, spread.rate_high_per_s), (10.0, 30.0));
        assert_eq!(cell.wrong().count(), 1);
        // Of two, the lower one.
        assert_eq!(settled(vec![trial(1, 20.0), trial(2, 10.0)]).speaker().unwrap().round, 2);
        let none = settled(vec![wrong(1, 10.0)]);
        assert_eq!((none.speaker(), none.spread), (None, None));
    }

    #[test]
    fn overhead_is_the_null_clients_at_the_same_concurrency() {
        let clients = sample();
        let of = |client: &str, concurrency| {
            let is_it = |one: &&Cell| one.client == client && one.concurrency == concurrency;
            clients.overhead_us(clients.cells.iter().find(is_it).unwrap())
        };
        assert_eq!(of("httpc", 4), Some(1.5));
        assert_eq!(of("urllib3", 4), None, "the suite names no null client of it");
        assert_eq!(of("erlang-null", 4), None);
    }
}
