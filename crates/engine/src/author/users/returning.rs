//! Users who leave, and those who come again: in a closed load with steps that are made once, a user has several
//! iterations, and what such a step captured stays from one to the next.
//!
//! Who comes again has a new number in the load, by which its journey is chosen and values are drawn, and the row of
//! data that it had where a step made once has values of it.

use candor_plan::Plan;
use candor_plan::journey::Variables;
use candor_record::Recorder;

use super::{State, User, Users};
use crate::flight::UserKey;

/// What stays of users who come again.
#[derive(Debug)]
pub(super) struct Returning {
    /// Of each variable, whether a step that is made once captures it.
    pub(super) kept: Box<[bool]>,
    /// How many steps are made once, in their turn.
    steps: usize,
    /// How many journeys there are, where some steps are made when the run is over.
    pub(super) journeys: usize,
    /// Users between two iterations.
    pub(super) resting: usize,
}

impl Returning {
    /// `None`: no step of the plan is made once.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let variables = Variables::of(plan.work.journeys());
        let mut kept = vec![false; variables.names().len()];
        let all = plan.work.journeys().iter().flat_map(|one| &one.steps);
        let mut steps = 0;
        for step in all.filter(|step| step.once) {
            steps += usize::from(step.redirect.is_none());
            let captured = step.captures.iter().filter_map(|one| variables.number(&one.variable));
            captured.for_each(|variable| kept[variable] = true);
        }
        let ends = plan.work.journeys().iter().flat_map(|one| &one.steps).any(|step| step.ending);
        let journeys = if ends { plan.work.journeys().len() } else { 0 };
        let any = steps + journeys > 0;
        any.then(|| Returning { kept: kept.into(), steps, journeys, resting: 0 })
    }
}

impl Users {
    /// Users who came and are not gone.
    pub(crate) fn under_way(&self) -> usize {
        let resting = self.returning.as_ref().map_or(0, |returning| returning.resting);
        self.table.len() - self.free.len() - resting
    }

    /// The place in the table for a user with this number, who had one before or is new.
    pub(super) fn seat(&mut self, before: Option<UserKey>, index: u64) -> UserKey {
        if let (Some(key), Some(returning)) = (before, &mut self.returning) {
            returning.resting -= 1;
            return key;
        }
        let key = self.free.pop().unwrap_or_else(|| {
            self.table.push(User::nobody(self.variables));
            (self.table.len() - 1) as UserKey
        });
        let user = &mut self.table[key as usize];
        user.first = index;
        if let Some(returning) = &self.returning {
            user.made_once = vec![false; returning.steps].into();
            user.begun = vec![false; returning.journeys].into();
        }
        key
    }

    /// A user is gone. In a closed load the next one comes, or the same again.
    pub(super) fn leave(&mut self, key: UserKey, at_ns: u64, recorder: &mut Recorder) {
        self.let_go(key);
        let user = &mut self.table[key as usize];
        user.state = State::Gone;
        let again = match &mut self.returning {
            Some(returning) => {
                user.memory.keep(&returning.kept);
                returning.resting += 1;
                Some(key)
            }
            None => {
                user.memory.clear();
                self.free.push(key);
                None
            }
        };
        if self.is_ending {
            return self.end_user(key, at_ns, recorder);
        }
        let user = &mut self.table[key as usize];
        let (least_ns, stream) = (user.arrived_ns + 1, std::mem::take(&mut user.stream));
        self.come_again(again, stream, at_ns, least_ns);
        recorder.set_users(self.under_way() as u64);
    }
}
