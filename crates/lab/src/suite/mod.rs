//! Suites: servers × scenarios × protocols × loads, each in several rounds, from one file to one
//! directory.
//!
//! [`file`] reads a suite, [`matrix`] selects the cells to measure, [`run`] measures them through a
//! [`Bench`] and saves every trial at once, so that an interruption costs only the current one.
//! [`managed`] is the bench that starts servers; [`meaning`] asks them, by [`probe`], what cannot be asked of every
//! response. The result is the document `candor.suite/1`, which
//! crate report renders.

pub mod content;
mod each;
pub mod file;
pub mod managed;
pub mod matrix;
pub mod meaning;
pub mod model;
pub mod probe;
pub mod run;

use candor_plan::Options;
use candor_report::Document;
use candor_report::experiment::suite::FORMAT;

use crate::error::LabError;
use crate::matrix::Kind;

pub use matrix::{CellPlan, Matrix, Selection, expand};
pub use model::Suite;
pub use run::run;

/// Directories of suites: a result document for each trial, what servers printed, and their profiles.
pub const KIND: Kind = Kind {
    command: "candor bench",
    document: "suite.json",
    format: FORMAT,
    foreign: "it is not empty, and no suite's",
};

/// Makes one trial: starts the cell's server, runs, and stops the server. Tests have a bench with
/// known results.
pub trait Bench {
    /// The run of this round against the cell's server. `options` have everything but the URL.
    fn trial(
        &mut self,
        cell: &CellPlan,
        round: u64,
        options: Options,
    ) -> Result<Document, LabError>;
}
