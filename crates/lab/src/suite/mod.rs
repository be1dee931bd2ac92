//! Suites: servers × scenarios × protocols × loads, each in several rounds, from one file to one
//! directory.
//!
//! [`file`] reads a suite, [`matrix`] says what of it is measured, [`run`] measures it by way of a
//! [`Bench`], and [`store`] keeps every trial as it is made, so that an interruption costs the trial
//! that was going on and nothing else. [`managed`] is the bench that starts servers. What comes out
//! is the document `candor.suite/1`; its renderings are crate report's.

pub mod content;
mod each;
pub mod file;
pub mod managed;
pub mod matrix;
pub mod model;
pub mod run;
pub mod store;

use std::time::Duration;

use candor_plan::Options;
use candor_report::Document;
use candor_report::experiment::figures::Figures;

use crate::error::LabError;

pub use matrix::{CellPlan, Matrix, Selection, expand};
pub use model::Suite;
pub use run::{About, Outcome, run};
pub use store::Store;

/// Makes one trial: brings the cell's server up, runs, and takes it down again. Tests have one that
/// knows its answers.
pub trait Bench {
    /// The run of this round, of `options`, which have everything but the URL, against the cell's
    /// server.
    fn trial(
        &mut self,
        cell: &CellPlan,
        round: u64,
        options: Options,
    ) -> Result<Document, LabError>;
}

/// Sees a suite while it goes on.
pub trait Watcher {
    /// A trial begins: which, its number, of how many, and how long all that are left will take.
    fn begins(&mut self, trial: &str, number: u64, of: u64, left: Duration) {
        let _ = (trial, number, of, left);
    }

    /// It is over.
    fn done(&mut self, trial: &str, figures: &Figures) {
        let _ = (trial, figures);
    }

    /// It could not be made.
    fn failed(&mut self, trial: &str, why: &str) {
        let _ = (trial, why);
    }

    /// Something worth a line.
    fn note(&mut self, line: &str) {
        let _ = line;
    }
}

/// Nobody looks.
impl Watcher for () {}
