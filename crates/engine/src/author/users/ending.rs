//! Users when the run is over: what of theirs was due and has not left, and the steps that each makes then, of every
//! journey that it has begun.

use candor_pace::Due;
use candor_record::{Phase, Recorder};

use super::{State, User, Users};
use crate::flight::{NeverSent, UserKey};

impl Users {
    /// Whether users have steps to make now that the run is over.
    pub(crate) fn are_ending(&self) -> bool {
        self.ending > 0
    }

    /// Whether whoever has an outcome goes on with such steps alone.
    pub(crate) fn have_ended(&self) -> bool {
        self.is_ending
    }

    /// The run is over: whoever has begun a journey makes the steps that are made then, and goes on with nothing else.
    /// Returns the steps that were due by `last_ns` and have not left.
    pub(crate) fn end_all(
        &mut self,
        last_ns: u64,
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> Vec<NeverSent> {
        if self.returning.as_ref().is_none_or(|returning| returning.journeys == 0) {
            return Vec::new();
        }
        self.is_ending = true;
        if self.waiting > 0 {
            self.empty_queues();
        }
        let mut unsent = Vec::new();
        let mut interrupted = Vec::new();
        while let Some((due_ns, key)) = self.wheel.first() {
            self.wheel.take();
            let User { index, request, .. } = self.table[key as usize];
            if due_ns <= last_ns {
                let due = Due { index, due_ns };
                unsent.push(NeverSent { due, request, phase: self.phase(due_ns) });
            }
            interrupted.push(key);
        }
        let resting = (0..).zip(&self.table).filter(|(_, user)| user.state == State::Gone);
        let resting: Vec<UserKey> = resting.map(|(key, _)| key).collect();
        resting.into_iter().for_each(|key| self.end_user(key, at_ns, recorder));
        interrupted.into_iter().for_each(|key| self.interrupt(key, at_ns, recorder));
        unsent
    }

    /// A user goes on with nothing of its iteration, because the run is over.
    pub(super) fn interrupt(&mut self, key: UserKey, at_ns: u64, recorder: &mut Recorder) {
        let user = &mut self.table[key as usize];
        if user.state == State::Started && user.phase == Phase::Measured {
            recorder.user_unfinished(at_ns, user.journey);
        }
        user.state = State::Gone;
        if let Some(returning) = &mut self.returning {
            user.memory.keep(&returning.kept);
            returning.resting += 1;
        }
        self.end_user(key, at_ns, recorder);
    }

    /// A user between two iterations has no other one: it begins with the steps of its end.
    pub(super) fn end_user(&mut self, key: UserKey, at_ns: u64, recorder: &mut Recorder) {
        let user = &mut self.table[key as usize];
        user.state = State::Ending;
        self.ending += 1;
        if let Some(returning) = &mut self.returning {
            returning.resting -= 1;
        }
        self.go_on_ending(key, at_ns, recorder);
    }

    /// Goes on with the steps of the next journey that the user has begun, if any is left. Whether one is due.
    pub(super) fn go_on_ending(
        &mut self,
        key: UserKey,
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> bool {
        let user = &mut self.table[key as usize];
        let begun = user.begun.iter_mut().zip(&self.journeys).enumerate();
        let mut left = begun.filter_map(|(number, (begun, journey))| {
            let is_left = std::mem::take(begun);
            journey.ending.filter(|_| is_left).map(|first| (number as u32, first))
        });
        if let Some((journey, first)) = left.next() {
            user.journey = journey;
            return self.go_to(key, Some(first), at_ns, recorder);
        }
        user.state = State::Gone;
        self.ending -= 1;
        if let Some(returning) = &mut self.returning {
            returning.resting += 1;
        }
        recorder.set_users(self.under_way() as u64);
        false
    }

    /// Whether the run is over, and the user is not at its last steps yet.
    pub(super) fn is_interrupted(&self, key: UserKey) -> bool {
        self.is_ending && self.table[key as usize].state != State::Ending
    }

    /// Takes the first step that was due by `last_ns`; its user stays where it is.
    pub(crate) fn take_unsent(&mut self, last_ns: u64) -> Option<NeverSent> {
        if self.waiting > 0 {
            self.stop_waiting();
            self.empty_queues();
        }
        let (due_ns, key) = self.wheel.first().filter(|(due_ns, _)| *due_ns <= last_ns)?;
        self.wheel.take();
        let User { index, request, .. } = self.table[key as usize];
        Some(NeverSent { due: Due { index, due_ns }, request, phase: self.phase(due_ns) })
    }

    /// Everybody who is under way stays so: the run is over.
    pub(crate) fn leave_unfinished(&mut self, at_ns: u64, recorder: &mut Recorder) {
        let is_open = self.open().is_some();
        for user in self.table.iter().filter(|user| user.phase == Phase::Measured) {
            match user.state {
                State::Started => recorder.user_unfinished(at_ns, user.journey),
                State::Come if is_open => recorder.users_not_begun(at_ns, 1),
                State::Come | State::Gone | State::Ending => {}
            }
        }
    }
}
