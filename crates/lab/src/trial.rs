//! A trial: one measured run, and who makes it.
//!
//! Every experiment is a sequence of trials, chosen by what came out of those before. Here is the
//! seam between the choosing, which is pure, and the making, which takes seconds and a server.

use candor_plan::Plan;
use candor_report::Document;

use crate::error::LabError;

/// Makes runs. The real one is the engine's, with a managed target's sampler beside it; tests use
/// a function from plans to documents (a simulated server with a known closed form).
pub trait Runner {
    /// One run of `plan`. `variant` says against which of several targets (0 if there is one).
    fn run(&mut self, variant: usize, plan: &Plan) -> Result<Document, LabError>;
}

/// Sees an experiment while it goes on.
pub trait Progress {
    /// A run begins: what it is, in a few words such as `64 connections, closed loop`.
    fn begins(&mut self, what: &str) {
        let _ = what;
    }

    /// The same run is over, in half a sentence.
    fn done(&mut self, what: &str, outcome: &str) {
        let _ = (what, outcome);
    }

    /// Its result, under a name that no other run of the experiment has.
    fn result(&mut self, name: &str, document: &Document) {
        let _ = (name, document);
    }
}

/// Nobody looks.
impl Progress for () {}
