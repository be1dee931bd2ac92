//! The ledger of users: what became of those who came, by journey.
//!
//! ```text
//! started = completed + failed (by step and reason) + unfinished
//! ```
//! It stands beside the ledger of requests and is counted independently of it: a step that failed is one request,
//! and the end of its user. Users count as measured when they came after the warm-up.
//!
//! Whom an open load's schedule has beside these did not begin, or is unaccounted for, because an agent was lost
//! ([`Interval`](crate::Interval)). Both are counts of the run: such users are not told apart by journey.

use serde::{Deserialize, Serialize};

use crate::add;
use crate::errors::ErrorKind;
use crate::figure::{Keyed, figures};
use crate::histogram::Histogram;

/// The most different failures of one journey that are kept apart: far more than steps of a plan that a person
/// writes can have. What goes beyond is counted with the last.
const MOST_FAILURES: usize = 1024;

/// Why a step failed, and with it the journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StepFailure {
    /// The request failed.
    Error(ErrorKind),
    /// The response did not have this one of the step's captures, by its place in the plan.
    Capture(u32),
    /// A variable that the step needs has no value, by its number in the plan. The step was not sent.
    Unset(u32),
    /// The value of a variable does not fit into the message of the step, by its number in the plan. The step was not
    /// sent.
    Unfit(u32),
    /// The step was due for longer than requests may wait. It was not sent.
    Shed,
}

/// How often a step failed for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// The request of the step, by its place in the plan.
    pub request: u32,
    /// Why.
    pub why: StepFailure,
    /// How often.
    pub count: u64,
}

figures! {
    /// The users of one journey.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct JourneyCounts {
        /// Users that came and began.
        pub started: u64,
        /// Users that came to the end.
        pub completed: u64,
        /// Users whose journey ended with a step that failed, by step and reason.
        pub failed: Vec<Failures> as ByKey,
        /// Users that were under way when the run ended.
        pub unfinished: u64,
        /// Steps that failed without an end of the journey, by step and reason.
        pub passed_over: Vec<Failures> as ByKey,
        /// From the arrival of a user to the last response, of those who completed.
        pub duration: Histogram,
        /// The same without the times that they thought.
        pub active: Histogram,
    }
}

impl JourneyCounts {
    /// Users whose journey ended with a step that failed.
    pub fn failures(&self) -> u64 {
        self.failed.iter().fold(0, |sum, one| sum.saturating_add(one.count))
    }

    /// Users who started and have an end.
    pub(crate) fn ends(&self) -> u64 {
        [self.completed, self.failures(), self.unfinished].into_iter().fold(0, u64::saturating_add)
    }

    /// Whether every user who started is accounted for.
    pub fn balances(&self) -> bool {
        self.started == self.ends()
    }
}

impl Keyed for Failures {
    const MOST: usize = MOST_FAILURES;

    fn is_alike(&self, other: &Self) -> bool {
        (self.request, self.why) == (other.request, other.why)
    }

    fn count(&mut self) -> &mut u64 {
        &mut self.count
    }

    fn collect(&mut self, more: Self) {
        add(&mut self.count, more.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Figure, count};

    fn failures(request: u32, why: StepFailure, count: u64) -> Failures {
        Failures { request, why, count }
    }

    #[test]
    fn failures_of_one_step_and_reason_are_one_line() {
        let mut list = Vec::new();
        for (request, why, n) in [
            (1, StepFailure::Capture(0), 2),
            (1, StepFailure::Capture(1), 3),
            (2, StepFailure::Error(ErrorKind::Timeout), 1),
            (1, StepFailure::Capture(0), 5),
        ] {
            count(&mut list, failures(request, why, n));
        }
        let expected = [
            failures(1, StepFailure::Capture(0), 7),
            failures(1, StepFailure::Capture(1), 3),
            failures(2, StepFailure::Error(ErrorKind::Timeout), 1),
        ];
        assert_eq!(list, expected);
    }

    #[test]
    fn the_list_of_failures_is_bounded_and_loses_nothing() {
        let mut list = Vec::new();
        for request in 0..2000 {
            count(&mut list, failures(request, StepFailure::Shed, 1));
        }
        assert_eq!(list.len(), MOST_FAILURES);
        assert_eq!(list.iter().map(|one| one.count).sum::<u64>(), 2000);
    }

    #[test]
    fn users_are_added_up_and_balance() {
        let mut one = JourneyCounts::new(3);
        one.started = 5;
        one.completed = 2;
        one.unfinished = 1;
        count(&mut one.failed, failures(0, StepFailure::Shed, 2));
        assert!(one.balances());
        one.duration.record(7);
        let mut sum = one.clone();
        sum.merge(&one);
        assert_eq!((sum.started, sum.failures(), sum.duration.count()), (10, 4, 2));
        assert!(sum.balances());
        sum.started += 1;
        assert!(!sum.balances());
        sum.clear();
        assert_eq!(sum, JourneyCounts::new(3));
    }
}
