//! A trial: one measured run, and the interface to its runner.
//!
//! Every experiment is a sequence of trials, each chosen by the results before. Choosing them is
//! pure; making them takes seconds and a server.

use std::time::{SystemTime, UNIX_EPOCH};

use candor_plan::Plan;
use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_share};
use candor_report::Document;
use candor_report::document::EndReason;
use candor_report::experiment::trial::Trial;

use crate::error::LabError;

/// Makes runs. The real one uses the engine and a managed target's sampler; tests use a function
/// from plans to documents (a simulated server with a known closed form).
pub trait Runner {
    /// One run of `plan`. `variant` selects one of several targets (0 if there is only one).
    fn run(&mut self, variant: usize, plan: &Plan) -> Result<Document, LabError>;

    /// The time since the experiment began, in nanoseconds.
    fn elapsed_ns(&self) -> u64;
}

/// The steps ahead when a step of an experiment begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Steps after this one; `None`: it depends on the results.
    pub steps: Option<u64>,
    /// The next of them by name, as far as their order is known.
    pub next: Vec<String>,
    /// The most time that is left for all of them and this one, in nanoseconds, if the experiment is bounded by time.
    pub most_ns: Option<u64>,
}

/// Observes an experiment.
pub trait Progress {
    /// A run begins: its description in a few words, e.g. `64 connections, closed loop`, and the
    /// steps ahead.
    fn begins(&mut self, what: &str, ahead: &Ahead) {
        let _ = (what, ahead);
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

/// No observer.
impl Progress for () {}

/// An experiment of several variants or cells, as far as it came.
#[derive(Debug)]
pub struct Outcome<D> {
    /// The document of all finished trials.
    pub document: D,
    /// Why it ended before all trials were made.
    pub stopped: Option<LabError>,
}

/// Now, in milliseconds since 1970: when a trial begins.
pub fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Why there can be no further run after that of `document`, if so.
pub(crate) fn why_no_more(document: &Document) -> Option<String> {
    let target_ended = document.target.as_ref().and_then(|target| target.ended.clone());
    match (document.end.reason, target_ended) {
        (EndReason::Interrupted, _) => Some("interrupted".to_owned()),
        (_, Some(how)) => Some(format!("the target ended {how} during the run")),
        (EndReason::GaveUp, None) => {
            Some("no response came any more: the target is gone".to_owned())
        }
        (EndReason::AgentLost, None) => Some("an agent of the fleet was lost".to_owned()),
        (EndReason::DataFailed, None) => Some("a data file changed".to_owned()),
        (EndReason::ScriptFailed, None) => Some("the script failed".to_owned()),
        _ => None,
    }
}

/// A run in half a sentence.
pub(crate) fn in_words(trial: &Trial) -> String {
    let rate = trial.figures.rate_per_s.map_or("nothing".to_owned(), fmt_per_second);
    let p99 = trial.figures.response.p99_ns;
    let p99 = p99.map_or(String::new(), |p99_ns| format!(", p99 {}", fmt_duration_ns(p99_ns)));
    let failed = trial.figures.errors_share.filter(|_| trial.figures.fails());
    let failed = failed.map_or(String::new(), |share| format!(", {} failed", fmt_share(share)));
    let notes = match (trial.held, trial.disturbed) {
        (true, false) => "",
        (true, true) => " (machine paused)",
        (false, false) => " (saturated)",
        (false, true) => " (saturated, paused)",
    };
    format!("{rate}{p99}{failed}{notes}")
}
