//! Results that no coordinator took: kept within bounds until a coordinator recalls them.

use std::collections::VecDeque;

use crate::audit::What;
use crate::codec::MOST_KEPT;
use crate::message::{Head, Kept};

use super::{Agent, Now, Run, Stage};

/// Runs whose results are kept, the oldest first.
#[derive(Debug)]
pub(super) struct Store {
    runs: VecDeque<Run>,
    most_bytes: u64,
}

impl Store {
    pub(super) fn new(most_bytes: u64) -> Self {
        Store { runs: VecDeque::new(), most_bytes }
    }

    pub(super) fn list(&self) -> Vec<Kept> {
        let kept = |run: &Run| Kept { key: run.head.key, workers: run.workers, plan: run.plan };
        self.runs.iter().map(kept).collect()
    }

    /// Keeps a run. Returns the runs that there is no more room for, the oldest first; the newest one is
    /// always kept.
    fn keep(&mut self, run: Run) -> Vec<Run> {
        self.runs.push_back(run);
        let bytes = |runs: &VecDeque<Run>| runs.iter().map(|one| one.outbox.bytes()).sum::<u64>();
        let mut forgotten = Vec::new();
        while self.runs.len() > 1
            && (self.runs.len() > MOST_KEPT || bytes(&self.runs) > self.most_bytes)
        {
            forgotten.extend(self.runs.pop_front());
        }
        forgotten
    }
}

impl Agent {
    /// The coordinator is silent: the agent keeps the results and is free.
    pub(super) fn keep_results(&mut self, now: Now) {
        self.audit(now, What::Kept, String::new());
        let Some(run) = self.run.take() else { return };
        for one in self.kept.keep(*run) {
            self.line(now, one.head.key, What::Forgotten, String::new());
        }
    }

    /// A coordinator recalls results; an agent that is free delivers those that it kept.
    pub(super) fn handle_recall(&mut self, now: Now, head: Head) {
        if let Some(run) = self.own(head) {
            run.heard_ns = now.ns;
            return;
        }
        let place = self.kept.runs.iter().position(|run| run.head == head);
        if let (None, Some(place)) = (&self.run, place)
            && let Some(mut run) = self.kept.runs.remove(place)
        {
            debug_assert!(matches!(run.stage, Stage::Delivering), "only complete results are kept");
            run.heard_ns = now.ns;
            self.run = Some(Box::new(run));
            self.beat(now.ns);
        }
    }
}
