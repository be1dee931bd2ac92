//! When an agent is lost, what that means for the run, and how long a lost one is waited for.
//!
//! An agent is lost if it left the run, was silent for longer than its lease, or makes no progress.

use candor_record::EndReason;

use super::member::{Fate, Member};
use super::{Coordinator, Event, Loss, OnLoss, Stage, Void};
use crate::lease::Standing;
use crate::timings::Timings;

impl Coordinator {
    /// Loses an agent that has left the run, was silent for too long, or makes no progress.
    pub(super) fn look_after(&mut self, now_ns: u64, at: usize) {
        let Timings { suspect_ns, lost_ns, gather_ns, lease_ns, linger_ns, .. } =
            self.settings.timings;
        let patience_ns = self.patience_ns();
        let is_fetching = self.is_fetching(now_ns, at);
        let member = &mut self.members[at];
        let way_ns = member.round_trip_ns;
        let is_hurried = self.hurried_ns.is_some_and(|hurried_ns| {
            now_ns.saturating_sub(hurried_ns) >= linger_ns.saturating_add(way_ns)
        });
        if !member.is_active() || self.stage == Stage::Over {
            return;
        }
        let standing = match (self.stage, member.phase) {
            // A reservation has a timeout of its own.
            (Stage::Reserving, None) => Standing::Heard,
            // An agent may need a while until it hears that it is recalled.
            (_, None) if self.is_recall => member.silence.standing(now_ns, suspect_ns, gather_ns),
            _ => {
                let [suspect_ns, lost_ns] =
                    [suspect_ns, lost_ns].map(|ns| ns.saturating_add(way_ns));
                member.silence.standing(now_ns, suspect_ns, lost_ns)
            }
        };
        // The clocks may differ by their drift.
        let stopped_ns = member.granted_ns.saturating_add(lost_ns.saturating_sub(lease_ns));
        let silent = (standing == Standing::Lost && now_ns >= stopped_ns).then_some(Loss::Silent);
        let is_measuring = matches!(self.stage, Stage::Running | Stage::Settling);
        match member.gone.clone().or(silent) {
            Some(why) if !is_fetching => self.lose(now_ns, at, why),
            None if is_hurried => self.lose(now_ns, at, Loss::Unawaited),
            None if standing == Standing::Suspect && !member.is_suspect => {
                member.is_suspect = true;
                self.events.push_back(Event::Suspect(member.name.clone()));
            }
            _ if is_measuring && now_ns > member.progress_ns.saturating_add(patience_ns) => {
                self.lose(now_ns, at, Loss::Overdue);
            }
            _ => {}
        }
    }

    /// How long an agent may take until its next interval or phase. The warm-up is one interval, and the
    /// drain may have none.
    fn patience_ns(&self) -> u64 {
        let plan = &self.settings.plan;
        let interval_ns = plan.recording.interval_ns.max(plan.recording.warm_up_ns);
        let longest_ns = interval_ns.saturating_add(plan.stop.drain_ns);
        longest_ns.saturating_mul(2).saturating_add(self.settings.timings.overdue_ns)
    }

    /// Loses an agent.
    pub(super) fn lose(&mut self, now_ns: u64, at: usize, why: Loss) {
        if !self.members[at].is_active() || self.stage == Stage::Over {
            return;
        }
        let agent = self.members[at].name.clone();
        if self.stage < Stage::Running {
            return self.void(now_ns, Void::Lost { agent, why });
        }
        let member = &mut self.members[at];
        let end = match why {
            Loss::Unawaited => EndReason::Interrupted,
            _ => EndReason::AgentLost,
        };
        // What it keeps is still wanted.
        let is_away = why == Loss::Silent;
        member.was_away |= is_away;
        member.fate = if is_away { Fate::Away } else { Fate::Lost(why.clone()) };
        if let Some(merging) = &mut self.merging {
            merging.lost(at, end);
        }
        self.events.push_back(Event::Lost(agent, why));
        self.after_loss(now_ns);
    }

    /// Whether the results of this agent, which is away, are waited for: it has some time to return, and more if no
    /// agent is heard, because then the coordinator itself may be cut off.
    pub(super) fn is_awaited(&self, now_ns: u64, member: &Member) -> bool {
        let return_ns = self.settings.timings.return_ns;
        let is_unheard = |one: &Member| matches!(one.fate, Fate::Away | Fate::Lost(_));
        let times = if self.members.iter().all(is_unheard) { 2 } else { 1 };
        let time_ns = (times * return_ns).saturating_add(member.round_trip_ns);
        !self.is_forsaking
            && member.fate == Fate::Away
            && member.silence.silent_ns(now_ns) < time_ns
    }

    /// An agent has stopped by itself; it delivers its results until then.
    pub(super) fn lapse(&mut self, now_ns: u64, at: usize) {
        let member = &mut self.members[at];
        if member.is_active()
            && !std::mem::replace(&mut member.has_lapsed, true)
            && !member.was_away
        {
            self.events.push_back(Event::Lost(member.name.clone(), Loss::Lapsed));
            self.after_loss(now_ns);
        }
    }

    fn after_loss(&mut self, now_ns: u64) {
        if self.settings.on_loss == OnLoss::Stop && self.stage == Stage::Running {
            self.stop_agents(now_ns);
        }
    }
}
