//! Conditions of the user that end a run early. This module compares them with each interval and stops the run; it
//! must not touch the record.

use std::sync::Arc;

use candor_engine::Course;
use candor_lab::Interrupt;
use candor_record::IntervalSummary;
use candor_report::AbortRule;
use candor_report::document::Judgement;

/// The conditions of a run.
pub(super) struct Abort {
    rules: Vec<AbortRule>,
    interrupt: Arc<Interrupt>,
    why: Option<Judgement>,
}

impl Abort {
    pub(super) fn new(rules: Vec<AbortRule>, interrupt: Arc<Interrupt>) -> Self {
        Abort { rules, interrupt, why: None }
    }

    /// An interval is over. The first condition that has held for its time stops the run; while the run drains,
    /// there is nothing to stop.
    pub(super) fn see(&mut self, interval: &IntervalSummary) {
        if self.why.is_some() {
            return;
        }
        let Some(run) = self.interrupt.run() else { return };
        if !matches!(run.course(), Course::Sending { .. }) {
            return;
        }
        for rule in &mut self.rules {
            let found = rule.see(interval);
            self.why = self.why.take().or(found);
        }
        if self.why.is_some() {
            run.stop();
        }
    }

    /// The conditions that were never judged.
    pub(super) fn unjudged(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter_map(AbortRule::unjudged)
    }

    /// Why the run was stopped.
    pub(super) fn take_why(&mut self) -> Option<Judgement> {
        self.why.take()
    }
}
