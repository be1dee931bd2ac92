//! From one stage of a run to the next.

use super::member::Member;
use super::{Coordinator, EXCHANGES, Event, Stage, Void};
use crate::message::{Go, Phase};

impl Coordinator {
    /// Enters the next stage if all agents are ready for it; voids or stops the run if its time is over.
    pub(super) fn advance(&mut self, now_ns: u64) {
        let times = self.settings.timings;
        let is_due = |length_ns: u64| now_ns.saturating_sub(self.since_ns) >= length_ns;
        let first = |is_ready: fn(&Member) -> bool| {
            self.members.iter().find(|one| !is_ready(one)).map(|one| one.name.clone())
        };
        match self.stage {
            Stage::Reserving => match first(|one| one.phase.is_some()) {
                None => self.enter(now_ns, Stage::Preparing),
                Some(agent) if is_due(times.reserve_ns) => {
                    self.void(now_ns, Void::Late { agent, what: "reserved" });
                }
                Some(_) => {}
            },
            Stage::Preparing => match first(Member::is_prepared) {
                None => self.check_plans(now_ns),
                // As long as one of them gets on, the others may wait for the same network.
                Some(agent) if is_due(times.prepare_ns) && !self.progresses(now_ns) => {
                    self.void(now_ns, Void::Late { agent, what: "prepared" });
                }
                Some(_) => {}
            },
            Stage::Clocking => {
                let all = first(|one| one.clock.exchanges() >= EXCHANGES).is_none();
                match first(|one| one.clock.exchanges() > 0) {
                    None if all || is_due(times.clock_ns) => self.arm(now_ns),
                    Some(agent) if is_due(times.clock_ns) => {
                        self.void(now_ns, Void::Late { agent, what: "synchronised" });
                    }
                    _ => {}
                }
            }
            Stage::Armed if now_ns >= self.origin_ns => match first(Member::has_order) {
                None => self.enter(now_ns, Stage::Running),
                Some(agent) => self.void(now_ns, Void::Late { agent, what: "armed" }),
            },
            Stage::Running => {
                if self.members.iter().all(|one| !one.is_active() || one.has_stopped()) {
                    self.enter(now_ns, Stage::Settling);
                } else if self.is_overdue(now_ns) {
                    self.stop_agents(now_ns);
                }
            }
            Stage::Settling if !self.members.iter().any(Member::is_active) => {
                let awaited = self.members.iter().position(|one| self.is_awaited(now_ns, one));
                let Some(at) = awaited else { return self.end(now_ns) };
                let member = &mut self.members[at];
                if !std::mem::replace(&mut member.is_awaited, true) {
                    self.events.push_back(Event::Awaits(member.name.clone()));
                }
            }
            _ => {}
        }
    }

    /// Whether a chunk of the plan arrived, or an agent reached another phase, within the time for preparations.
    fn progresses(&self, now_ns: u64) -> bool {
        let progress_ns = self.members.iter().map(|one| one.progress_ns).max().unwrap_or(0);
        now_ns.saturating_sub(progress_ns) < self.settings.timings.prepare_ns
    }

    pub(super) fn enter(&mut self, now_ns: u64, stage: Stage) {
        (self.stage, self.since_ns) = (stage, now_ns);
        self.events.push_back(Event::Stage(stage));
        match stage {
            Stage::Preparing | Stage::Armed => {
                (0..self.members.len()).for_each(|at| self.reply(now_ns, at, None));
            }
            Stage::Clocking => (0..self.members.len()).for_each(|at| self.probe(now_ns, at)),
            Stage::Running => {
                self.members.iter_mut().for_each(|one| one.progress_ns = now_ns);
            }
            _ => {}
        }
    }

    fn check_plans(&mut self, now_ns: u64) {
        let is_other = |one: &&Member| match one.phase {
            Some(Phase::Prepared { plan, .. }) => plan != self.plan_digest,
            _ => false,
        };
        match self.members.iter().find(is_other).map(|one| one.name.clone()) {
            Some(agent) => self.void(now_ns, Void::OtherPlan(agent)),
            None => self.enter(now_ns, Stage::Clocking),
        }
    }

    /// Gives each agent the origin of time by its own clock.
    fn arm(&mut self, now_ns: u64) {
        // The order has to arrive, and that it did.
        let way_ns = self.members.iter().map(|one| one.round_trip_ns).max().unwrap_or(0);
        let lead_ns = self.settings.timings.lead_ns.saturating_add(2 * way_ns);
        let origin_ns = now_ns.saturating_add(lead_ns);
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            let reading = member.clock.at(origin_ns);
            let own =
                reading.and_then(|one| origin_ns.checked_add_signed(one.offset_ns).zip(Some(one)));
            let Some((own_ns, reading)) = own else {
                let agent = member.name.clone();
                return self.void(now_ns, Void::Late { agent, what: "synchronised" });
            };
            let (offset_ns, bound_ns) = (reading.offset_ns, reading.bound_ns);
            member.go = Some(Go { origin_ns: own_ns, offset_ns, bound_ns });
        }
        self.origin_ns = origin_ns;
        self.enter(now_ns, Stage::Armed);
    }

    /// Whether the run takes much longer than its plan.
    fn is_overdue(&self, now_ns: u64) -> bool {
        self.longest_ns.is_some_and(|longest_ns| now_ns > self.origin_ns.saturating_add(longest_ns))
    }

    /// The most items of an agent: full intervals, the warm-up, the record, and two short intervals at
    /// the ends of window and drain.
    pub(super) fn most_of_a_run(&self) -> u32 {
        self.longest_ns.map_or(u32::MAX, |longest_ns| {
            let intervals = longest_ns / self.settings.plan.recording.interval_ns.max(1);
            u32::try_from(intervals).unwrap_or(u32::MAX).saturating_add(4)
        })
    }
}
