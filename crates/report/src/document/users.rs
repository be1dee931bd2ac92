//! Users and their journeys: the ledger of users, and the rows of their steps.

use candor_plan::journey::{Variables, step_of};
use candor_plan::{Parts, Step};
use candor_record::{Failures, JourneyCounts, RunRecord, StepCounts, StepFailure};
use serde::{Deserialize, Serialize};

use super::counts::is_zero;
use super::latency::Distribution;
use super::{StatusCount, asked_per_s, rated_s};

/// The users of a run with journeys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Users {
    /// Mean of the planned arrivals per second over the window; null in a closed load.
    pub asked_per_s: Option<f64>,
    /// Users who began in the measured window, per second.
    pub started_per_s: Option<f64>,
    /// Users that the schedule had for a lost agent, and of whom its results say nothing. They are in no journey's
    /// count. Absent if zero.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unaccounted: u64,
    /// Each journey.
    pub journeys: Vec<JourneyRow>,
}

/// A journey: what became of its users, each in exactly one place, and how long they took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JourneyRow {
    /// Its name.
    pub name: String,
    /// Users who began, after the warm-up.
    pub started: u64,
    /// Users who came to the end.
    pub completed: u64,
    /// Users whose journey ended with a step that failed.
    pub failed: u64,
    /// Users who were under way when the run ended.
    pub unfinished: u64,
    /// Those who came to the end, per second of the measured window.
    pub completed_per_s: Option<f64>,
    /// The steps that failed and ended a journey, by step and reason.
    pub failures: Vec<StepFailures>,
    /// The steps that failed without ending it, by step and reason.
    pub passed_over: Vec<StepFailures>,
    /// From arrival to the last response, of those who came to the end.
    pub duration: Distribution,
    /// The same without the times that they thought.
    pub active: Distribution,
}

/// How often a step failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepFailures {
    /// The step.
    pub step: String,
    /// The kind of error of its request; or `capture`: its response did not have a value; `unset`: a variable
    /// had no value, and it was not sent; `unfit`: one had a value that does not fit into its message, and it was not
    /// sent; `shed`: it was due for too long, and was not sent.
    pub reason: String,
    /// The variable, of `capture`, `unset` and `unfit`.
    pub variable: Option<String>,
    /// How often.
    pub count: u64,
}

/// The figures of a step besides those of every request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepRow {
    /// Complete responses by status.
    pub statuses: Vec<StatusCount>,
    /// sent → done.
    pub service: Distribution,
    /// due → ready: no connection was free.
    pub queue_wait: Distribution,
    /// ready → sent: the loader was late.
    pub send_lag: Distribution,
}

impl Users {
    pub(super) fn of(plan: &Parts, record: &RunRecord) -> Option<Self> {
        let rated_s = rated_s(&plan.load, record.warm_up_ns, record.window_ns);
        let per_s = |count: u64| Some(count as f64 / rated_s?);
        let counts = &record.total.journeys;
        let started = counts.iter().fold(0u64, |sum, one| sum.saturating_add(one.started));
        let variables = Variables::of(plan.work.journeys());
        let failures = |one: &Failures| StepFailures::of(plan, &variables, one);
        let row = |(journey, counts): (&candor_plan::Journey, &JourneyCounts)| JourneyRow {
            name: journey.name.clone(),
            started: counts.started,
            completed: counts.completed,
            failed: counts.failures(),
            unfinished: counts.unfinished,
            completed_per_s: per_s(counts.completed),
            failures: counts.failed.iter().map(failures).collect(),
            passed_over: counts.passed_over.iter().map(failures).collect(),
            duration: Distribution::of(&counts.duration),
            active: Distribution::of(&counts.active),
        };
        (plan.work.has_users()).then(|| Users {
            asked_per_s: asked_per_s(plan, record),
            started_per_s: per_s(started),
            unaccounted: record.total.users_unaccounted,
            journeys: plan.work.journeys().iter().zip(counts).map(row).collect(),
        })
    }
}

impl JourneyRow {
    /// Whether every user who began is accounted for.
    pub fn balances(&self) -> bool {
        let ends = [self.completed, self.failed, self.unfinished];
        self.started == ends.into_iter().fold(0, u64::saturating_add)
    }
}

impl StepFailures {
    /// Parts of other processes may name what the plan does not have.
    fn of(plan: &Parts, variables: &Variables<'_>, failures: &Failures) -> Self {
        let Failures { request, why, count } = *failures;
        let step = plan.work.requests().get(request as usize).map(|one| one.name.clone());
        let named =
            |number: u32| variables.names().get(number as usize).map(|name| (*name).to_owned());
        let captured = |step: &Step, capture: u32| {
            step.captures.get(capture as usize).map(|one| one.variable.clone())
        };
        let (reason, variable) = match why {
            StepFailure::Error(kind) => (kind.id(), None),
            StepFailure::Capture(capture) => {
                let step = step_of(plan.work.journeys(), request);
                ("capture", step.and_then(|(_, step)| captured(step, capture)))
            }
            StepFailure::Unset(variable) => ("unset", named(variable)),
            StepFailure::Unfit(variable) => ("unfit", named(variable)),
            StepFailure::Shed => ("shed", None),
        };
        let step = step.unwrap_or_else(|| format!("request {request}"));
        StepFailures { step, reason: reason.to_owned(), variable, count }
    }
}

impl StepRow {
    pub(super) fn of(counts: &StepCounts) -> Self {
        StepRow {
            statuses: super::counts::statuses(&counts.statuses),
            service: Distribution::of(&counts.service),
            queue_wait: Distribution::of(&counts.queue_wait),
            send_lag: Distribution::of(&counts.send_lag),
        }
    }
}
