//! From a suite to its cells: which clients with how many callers and connections.
//!
//! A missing client is a note if it comes from the matrix, and an error if the user named it: silence
//! would look like a result. The caller finds out whether it is installed; this module starts nothing.

use std::time::Duration;

use candor_report::experiment::matrix::{FailedTrial, Note};

use super::model::{Asked, Client, Pools, Suite};
use super::protocol::Described;
use crate::error::LabError;
use crate::matrix::names::pick;

/// The user's selection from a suite; `None`: the suite's own values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Clients by name.
    pub clients: Option<Vec<String>>,
    /// Connections instead of the suite's.
    pub pools: Option<Pools>,
    /// Callers instead of the suite's.
    pub concurrencies: Option<Vec<u64>>,
    /// Rounds instead of the suite's.
    pub rounds: Option<u64>,
    /// Windows instead of the suite's.
    pub duration: Option<Duration>,
    /// Warm-ups instead of the suite's.
    pub warm_up: Option<Duration>,
    /// Timeouts instead of the suite's.
    pub timeout: Option<Duration>,
    /// The embedded target instead of the suite's server.
    pub embedded: bool,
}

/// One combination to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPlan {
    /// The client.
    pub client: Client,
    /// Connections that it may keep.
    pub pool: u64,
    /// Callers.
    pub concurrency: u64,
}

/// Why a client cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// It is not installed.
    Missing(String),
    /// It is installed but does not work.
    Broken(String),
}

/// A client's description, or the reason why it cannot be measured.
pub type Found = Result<Described, Absent>;

/// A client that can be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// The client.
    pub client: Client,
    /// The driver's description of itself.
    pub described: Described,
}

/// The cells of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Clients that are measured, in the order of tables.
    pub clients: Vec<Present>,
    /// Cells in the order of tables.
    pub cells: Vec<CellPlan>,
    /// Clients and cells that were left out.
    pub notes: Vec<Note>,
    /// Clients that are installed but do not work.
    pub failures: Vec<FailedTrial>,
    /// Rounds of each cell.
    pub rounds: u64,
    /// Connections, in words.
    pub pools: String,
    /// The request of every cell.
    pub asked: Asked,
}

impl CellPlan {
    /// Its trials' names begin with this; it is unique within a suite.
    pub fn key(&self) -> String {
        format!("{}.p{}.c{}", self.client.name, self.pool, self.concurrency)
    }
}

/// Combines the selection into cells. `find` describes a client, or returns why it cannot be
/// measured here; an outer error ends everything.
pub fn expand(
    suite: &Suite,
    selection: &Selection,
    find: &mut dyn FnMut(&Client) -> Result<Found, LabError>,
) -> Result<Matrix, LabError> {
    let (mut clients, mut notes, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for client in chosen(suite, selection)? {
        let what = client.name.clone();
        match find(client)? {
            Ok(described) => clients.push(Present { client: client.clone(), described }),
            Err(Absent::Missing(why) | Absent::Broken(why)) if selection.clients.is_some() => {
                return Err(LabError::Usage(format!("{what}: {}", with_needs(client, why))));
            }
            Err(Absent::Missing(why)) => notes.push(Note { what, why: with_needs(client, why) }),
            Err(Absent::Broken(why)) => failures.push(FailedTrial { trial: what, why }),
        }
    }
    let pools = selection.pools.as_ref().unwrap_or(&suite.pools);
    let concurrencies = selection.concurrencies.as_ref().unwrap_or(&suite.concurrencies);
    let mut cells = Vec::new();
    for present in &clients {
        for &concurrency in concurrencies {
            let mut sizes = pools.with(concurrency);
            if present.client.is_null {
                // A null client has no connections, so one pool size is enough.
                sizes.truncate(1);
            }
            cells.extend(sizes.into_iter().map(|pool| CellPlan {
                client: present.client.clone(),
                pool,
                concurrency,
            }));
        }
    }
    if cells.is_empty() {
        let notes = notes.iter().map(|one| format!("{}: {}", one.what, one.why));
        let broken = failures.iter().map(|one| format!("{}: {}", one.trial, one.why));
        return Err(LabError::Usage(format!(
            "no client of the suite {} can be measured here: {}",
            suite.head.name,
            notes.chain(broken).collect::<Vec<_>>().join("; ")
        )));
    }
    let Asked { warm_up, duration, timeout, .. } = suite.asked;
    let mut asked = Asked {
        warm_up: selection.warm_up.unwrap_or(warm_up),
        duration: selection.duration.unwrap_or(duration),
        timeout: selection.timeout.unwrap_or(timeout),
        ..suite.asked.clone()
    };
    if selection.embedded {
        (asked.path, asked.expect_status, asked.expect_body_bytes) = super::file::of_embedded();
    }
    Ok(Matrix {
        clients,
        cells,
        notes,
        failures,
        rounds: selection.rounds.unwrap_or(suite.head.rounds),
        pools: pools.to_string(),
        asked,
    })
}

fn with_needs(client: &Client, why: String) -> String {
    match client.needs.as_str() {
        "" => why,
        needs => format!("{why} (it needs {needs})"),
    }
}

fn chosen<'s>(suite: &'s Suite, selection: &Selection) -> Result<Vec<&'s Client>, LabError> {
    let Some(names) = &selection.clients else { return Ok(suite.clients.iter().collect()) };
    pick(names, &suite.clients, |one| &one.name, "client")
}
