//! Steps that are due and go to several targets: a queue for each, so that who waits for a place at one target keeps
//! nobody from another.
//!
//! A step is in the wheel until it is due, then in the queue of its target, in the order of due times. Users who come
//! stay in their part of the schedule, as long as it is open; in a closed load they are few and come at once.

use std::collections::VecDeque;

use candor_pace::Due;
use candor_plan::Plan;
use candor_record::Recorder;

use super::{Arrivals, First, Users, sooner};
use crate::flight::UserKey;

/// Users of a closed load who may come at once before something else is looked at.
const COME_AT_ONCE: u32 = 1000;

/// Due steps by their targets.
#[derive(Debug)]
pub(super) struct Queues {
    /// The target of each request of the plan.
    targets: Box<[u16]>,
    due: Box<[VecDeque<(u64, UserKey)>]>,
}

impl Queues {
    /// `None` where there is one target.
    pub(super) fn new(plan: &Plan) -> Option<Self> {
        let count = plan.targets().count();
        (count > 1).then(|| Queues {
            targets: plan.work.requests().iter().map(|one| one.target as u16).collect(),
            due: (0..count).map(|_| VecDeque::new()).collect(),
        })
    }

    /// The target of a request of the plan.
    pub(super) fn target_of(&self, request: u32) -> u16 {
        self.targets[request as usize]
    }

    /// Takes the first in the queue of a request's target.
    pub(super) fn take(&mut self, request: u32) {
        let target = self.target_of(request);
        self.due[usize::from(target)].pop_front();
    }

    fn put(&mut self, due_ns: u64, user: UserKey, request: u32) {
        let target = self.target_of(request);
        let queue = &mut self.due[usize::from(target)];
        let at = queue.partition_point(|(other_ns, _)| *other_ns <= due_ns);
        queue.insert(at, (due_ns, user));
    }
}

impl Users {
    /// Whether steps go to several targets.
    #[inline]
    pub(crate) fn has_queues(&self) -> bool {
        self.queues.is_some()
    }

    /// Puts what has become due into the queue of its target.
    pub(crate) fn queue_due(&mut self, now_ns: u64, recorder: &mut Recorder) {
        for _ in 0..COME_AT_ONCE {
            let Some(due_ns) = self.closed_arrival_ns().filter(|due_ns| *due_ns <= now_ns) else {
                break;
            };
            self.admit(Due { index: 0, due_ns }, recorder);
        }
        let Some(queues) = &mut self.queues else { return };
        while let Some((due_ns, user)) = self.wheel.first().filter(|(due_ns, _)| *due_ns <= now_ns)
        {
            self.wheel.take();
            queues.put(due_ns, user, self.table[user as usize].request);
            self.waiting += 1;
        }
    }

    /// When somebody comes next in a closed load, if there is room.
    fn closed_arrival_ns(&self) -> Option<u64> {
        match &self.arrivals {
            Arrivals::Closed { closed, seats } if self.has_room() && !closed.is_exhausted() => {
                seats.front().map(|seat| seat.due_ns)
            }
            _ => None,
        }
    }

    /// When the next step is to be put into a queue.
    pub(crate) fn next_to_queue_ns(&mut self) -> Option<u64> {
        let come_ns = self.closed_arrival_ns();
        let step_ns = self.wheel.first().map(|(due_ns, _)| due_ns);
        come_ns.into_iter().chain(step_ns).min()
    }

    /// What is first at a target: a step in its queue, or somebody whose first step goes there.
    pub(crate) fn first_of(&self, target: u16) -> Option<First> {
        let at = usize::from(target);
        let front = self.queues.as_ref().and_then(|queues| queues.due[at].front());
        let step = front.map(|&(due_ns, user)| First::Step(due_ns, user));
        let arrival = match &self.arrivals {
            Arrivals::Open(parts) if self.has_room() => parts[at].peek(),
            _ => None,
        };
        sooner(step, arrival)
    }

    /// When that is due, at each target.
    pub(crate) fn queues_due_ns(&self) -> impl Iterator<Item = Option<u64>> {
        let targets = self.queues.as_ref().map_or(0, |queues| queues.due.len());
        (0..targets).map(|at| self.first_of(at as u16).map(First::due_ns))
    }

    /// What is due at a target and has not left, of what is in its queue and of who comes.
    pub(crate) fn backlog_of(&mut self, target: u16, now_ns: u64) -> u64 {
        let at = usize::from(target);
        let Some(queues) = &self.queues else { return self.backlog(now_ns) };
        let steps = queues.due[at].len() as u64;
        let come = match &mut self.arrivals {
            Arrivals::Open(parts) => parts[at].backlog(now_ns),
            Arrivals::Closed { .. } => 0,
        };
        steps + come
    }

    /// The run is over: what is in the queues is due, as it was.
    pub(super) fn empty_queues(&mut self) {
        let Some(queues) = &mut self.queues else { return };
        for (due_ns, user) in queues.due.iter_mut().flat_map(|queue| queue.drain(..)) {
            self.waiting -= 1;
            self.wheel.put(due_ns, user);
        }
    }
}
