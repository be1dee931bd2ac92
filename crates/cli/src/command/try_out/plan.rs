//! The plan of a try: each request once, one after the other.

use candor_engine::{Control, EngineError, Part};
use candor_plan::{Parts, Plan, PlanError, Think, Work};
use candor_record::Workers;

/// A run of a try: all requests of a plan without journeys, or a user of one journey.
pub(super) struct Trial {
    pub(super) plan: Plan,
    pub(super) part: Part,
    /// The steps as the plan has them.
    pub(super) journey: Option<candor_plan::Journey>,
}

/// The values of a run's rows: of each request, or of the one user, for each data set those of its columns.
pub(super) type Rows = Vec<Vec<Vec<Vec<u8>>>>;

/// The runs of a try.
pub(super) fn trials(plan: &Plan) -> Result<Vec<Trial>, PlanError> {
    if plan.work.journeys().is_empty() && !plan.others.is_empty() {
        // Each target has requests of its own; a user goes from one to the next.
        let plan = plan.with(|parts| parts.walk_once(&[]))?;
        return Ok(vec![Trial { plan, part: part(0, 1), journey: None }]);
    }
    if plan.work.journeys().is_empty() {
        let count = plan.work.requests().len() as u64;
        let plan = plan.with(|parts| {
            parts.look_once(count, 1);
            if let Work::Requests(requests) = &mut parts.work {
                parts.work = std::mem::take(&mut requests.list).into();
            }
        })?;
        return Ok(vec![Trial { plan, part: part(0, 1), journey: None }]);
    }
    let users = plan.work.journeys().len() as u32;
    let trial = |number: u32| {
        let journey = plan.work.journeys()[number as usize].clone();
        let plan = plan.with(|parts| {
            parts.look_once(users.into(), users);
            only(parts, number as usize);
        })?;
        // Number n is the n-th user of the run, with its row of data, and takes the n-th journey.
        Ok(Trial { plan, part: part(number, users), journey: Some(journey) })
    };
    (0..users).map(trial).collect()
}

/// The rows of each trial.
pub(super) fn rows(
    plan: &Plan,
    trials: &[Trial],
    control: &Control,
) -> Result<Vec<Rows>, EngineError> {
    if plan.data.is_empty() {
        return Ok(vec![Rows::new(); trials.len()]);
    }
    match plan.work.journeys().is_empty() && plan.others.is_empty() {
        true => Ok(vec![candor_engine::rows(plan, plan.work.requests().len() as u64, control)?]),
        false => {
            let rows = candor_engine::rows(plan, trials.len() as u64, control)?;
            Ok(rows.into_iter().map(|row| vec![row]).collect())
        }
    }
}

/// Worker `number` of a run.
fn part(number: u32, of: u32) -> Part {
    Part { workers: Workers { first: number, count: 1, of }, begins_at_ns: 0 }
}

/// Leaves out all journeys but one, and their requests.
fn only(parts: &mut Parts, number: usize) {
    let Work::Journeys(journeys) = &mut parts.work else { return };
    let mut journey = journeys.list.swap_remove(number);
    let list = std::mem::take(&mut journeys.requests);
    for (place, step) in journey.steps.iter_mut().enumerate() {
        journeys.requests.push(list[step.request as usize].clone());
        step.request = place as u32;
        step.think = Think::None;
        (step.repeat, step.once, step.ending) = ((1, 1), false, false);
    }
    journeys.list = vec![journey];
}
