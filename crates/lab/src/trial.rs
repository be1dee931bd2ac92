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
