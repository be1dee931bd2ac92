//! HTTP client libraries: clients × pools × concurrencies, each in several rounds, from one file to one
//! directory.
//!
//! [`file`] reads a suite, [`matrix`] says what of it is measured, [`run`] measures it by way of a
//! [`Bench`], and keeps every trial as it is made. [`managed`] is the bench that starts the
//! server and, for each trial, a driver: [`driver`] is one as a process, [`protocol`] what its lines
//! mean, and [`judge`] holds its counts against the server's. What comes out is the document
//! `candor.clients/1`; its renderings are crate report's.

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
pub use run::{Outcome, run};

/// Directories of client libraries: a document for each trial, and what the server and the drivers
/// printed.
pub const KIND: Kind = Kind {
    command: "candor clients",
    document: "clients.json",
    format: FORMAT,
    foreign: "it is not empty, and not of client libraries",
};

/// Makes one trial. Tests have one that knows its answers.
pub trait Bench {
    /// The cell once, with a driver that was started for it.
    fn trial(&mut self, cell: &CellPlan, asked: &model::Asked) -> Result<Measured, Trouble>;
}

/// What a trial measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// When it began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// What the driver counted.
    pub answer: Answer,
    /// What the server counted meanwhile.
    pub server_answered: u64,
    /// CPU time of the driver and all that it started, over the whole cell.
    pub cpu_s: f64,
}
