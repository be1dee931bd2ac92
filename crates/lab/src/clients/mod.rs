//! HTTP client libraries: clients × pools × concurrencies, each in several rounds, from one file to one
//! directory.
//!
//! [`file`] reads a suite, [`matrix`] selects the cells to measure, [`run`] measures them through a
//! [`Bench`] and saves every trial at once. [`managed`] is the bench that starts the server and,
//! for each trial, a driver: [`driver`] handles its process, [`protocol`] its lines, and [`judge`]
//! compares its counts with the server's. The result is the document `candor.clients/1`, which
//! crate report renders.

mod driver;
pub mod file;
pub mod judge;
pub mod managed;
pub mod matrix;
pub mod model;
pub mod protocol;
pub mod run;

use crate::matrix::{Kind, Trouble};
use candor_report::experiment::clients::FORMAT;
use protocol::Answer;

pub use managed::Managed;
pub use matrix::{CellPlan, Matrix, Selection, expand};
pub use model::Suite;
pub use run::run;

/// Directories of client libraries: a document for each trial, and the output of the server and the
/// drivers.
pub const KIND: Kind = Kind {
    command: "candor clients",
    document: "clients.json",
    format: FORMAT,
    foreign: "it is not empty, and not of client libraries",
};

/// Makes one trial. Tests have a bench with known results.
pub trait Bench {
    /// Measures the cell once, with a driver of its own.
    fn trial(&mut self, cell: &CellPlan, asked: &model::Asked) -> Result<Measured, Trouble>;
}

/// The figures of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// When it began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The driver's counts.
    pub answer: Answer,
    /// The server's count for the same time.
    pub server_answered: u64,
    /// CPU time of the driver and all of its processes, over the whole cell.
    pub cpu_s: f64,
}
