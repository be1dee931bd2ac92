//! Merges the results of agents into the record of the run, and accounts for missing ones.

use candor_record::{Agent, CollectorSettings, EndReason, MergeError, RunRecord, Workers, wire};

use super::member::{Fate, Member};
use super::{Coordinator, Event, Loss, Outcome, Settings, Stage, Verdict, Void};
use crate::message::{Final, Phase};
use crate::refusal::in_one_line;
use crate::settlement::{Item, ItemError};
use crate::share::planned;

impl Coordinator {
    pub(super) fn collecting(&self) -> CollectorSettings {
        let plan = &self.settings.plan;
        let of = self.members.first().map_or(1, |one| one.workers.of);
        CollectorSettings {
            digits: plan.recording.digits,
            requests: plan.work.requests().len(),
            journeys: plan.work.journeys().len(),
            warm_up_ns: plan.recording.warm_up_ns,
            connections_asked: plan.connections_in_all().0.into(),
            workers: Workers::all(of),
        }
    }

    /// Adds a complete item of an agent.
    pub(super) fn merge_item(&mut self, at: usize, item: Item) -> Result<(), String> {
        let Some(merging) = &mut self.merging else { return Ok(()) };
        let merged = match item {
            Item::Interval(bytes) => merging.deliver(at, &bytes),
            Item::Record(bytes) => {
                let record: RunRecord =
                    wire::from_bytes(&bytes).map_err(|error| error.to_string())?;
                if record.machines.len() != 1 {
                    return Err("its record is not of one machine".to_owned());
                }
                let end_ns = record.workers.iter().map(|one| one.window_end_ns).max();
                self.members[at].window_end_ns = end_ns;
                merging.ended(at, record)
            }
        };
        merged.map_err(|error| match error {
            MergeError::Damaged(_, why) => why,
            _ => "they are not those of a part of this run".to_owned(),
        })
    }

    /// An agent has ended, with these results.
    pub(super) fn handle_final(&mut self, now_ns: u64, at: usize, last: &Final) {
        if last.lapsed {
            self.lapse(now_ns, at);
        }
        self.finish_member(now_ns, at);
    }

    /// Settles an agent whose results are all here.
    pub(super) fn finish_member(&mut self, now_ns: u64, at: usize) {
        let member = &mut self.members[at];
        let Some(Phase::Delivering(last)) = member.phase else { return };
        if !member.is_open() || self.stage == Stage::Over {
            return;
        }
        match member.inbox.is_complete(&last) {
            Ok(true) => {
                member.fate = Fate::Settled;
                self.advance(now_ns);
            }
            Ok(false) => {}
            // Merged intervals cannot be taken out again.
            Err(ItemError::Digest) => {
                let agent = member.name.clone();
                self.void(now_ns, Void::Damaged(agent));
            }
            Err(error) => self.lose(now_ns, at, Loss::Damaged(error.to_string())),
        }
    }

    /// Ends a run of which nothing more will arrive.
    pub(super) fn end(&mut self, now_ns: u64) {
        let has_nothing = |one: &Member| one.fate != Fate::Settled && one.inbox.items() == 0;
        if self.is_recall && self.members.iter().all(has_nothing) {
            return self.void(now_ns, Void::NothingKept);
        }
        let Some(mut merging) = self.merging.take() else { return };
        let is_missing = |one: &Member| match &one.fate {
            Fate::Away => true,
            Fate::Lost(why) => matches!(why, Loss::Unawaited | Loss::Overdue),
            Fate::Active | Fate::Settled => false,
        };
        // A run is recalled once.
        self.keeps = !self.is_recall && self.members.iter().any(is_missing);
        // A run that was stopped ended with the last agent that stopped because it was told to.
        let has_obeyed = |one: &&Member| one.fate == Fate::Settled && !one.has_lapsed;
        let stop_ns = self.members.iter().filter(has_obeyed).filter_map(|one| one.window_end_ns);
        let stop_ns = stop_ns.max().filter(|_| self.is_stopping);
        // Rows of data end the schedule as a count does.
        let Settings { plan, rows, .. } = &self.settings;
        let limited = rows.and_then(|_| plan.with(|parts| parts.stop.count = *rows).ok());
        let plan = limited.as_ref().unwrap_or(plan);
        let mut losses = Vec::new();
        for (at, member) in self.members.iter().enumerate() {
            let why = match &member.fate {
                Fate::Away => Some(Loss::Silent),
                Fate::Lost(why) => Some(why.clone()),
                _ if member.has_lapsed => Some(Loss::Lapsed),
                // The others stopped because of it, although it did its share.
                _ if member.was_away && self.is_stopping && !self.is_interrupted => {
                    Some(Loss::Silent)
                }
                _ => None,
            };
            if member.fate == Fate::Away {
                // It may have delivered something since it was lost.
                merging.lost(at, EndReason::AgentLost);
            }
            let start = member.clock.at(self.origin_ns).zip(member.go);
            let agent = Agent {
                name: member.name.to_string(),
                clock_bound_ns: start.map(|(reading, go)| {
                    let exact_ns = self.origin_ns.saturating_add_signed(reading.offset_ns);
                    go.origin_ns.abs_diff(exact_ns).saturating_add(reading.bound_ns)
                }),
                clock_drift_ppb: (member.clock.drift())
                    .filter(|drift| drift.bound_ppb <= drift.ppb.unsigned_abs().max(1000))
                    .map(|drift| drift.ppb),
                lost: None,
            };
            let words = why.as_ref().map(|why| in_one_line(&why.to_string()));
            merging.describe(at, &agent, words.as_deref());
            if let Some(why) = why {
                // One that did not hear of the stop may have sent until its lease was over.
                let lease_ns = match member.fate {
                    Fate::Settled => 0,
                    _ => member.granted_ns.saturating_sub(self.origin_ns),
                };
                let planned = planned(plan, member.workers, stop_ns.map(|ns| ns.max(lease_ns)));
                losses.push((member.name.clone(), why, merging.close(at, planned)));
            }
        }
        let verdict = if losses.is_empty() { Verdict::Complete } else { Verdict::Degraded };
        self.enter(now_ns, Stage::Over);
        for at in 0..self.members.len() {
            self.reply(now_ns, at, None);
        }
        let mut record = merging.finish();
        if self.is_interrupted {
            record.end = EndReason::Interrupted;
        }
        let keeps = self.keeps;
        let record = Some(record);
        let outcome = Outcome { verdict, losses, record, may_have_sent: true, keeps };
        self.events.push_back(Event::Over(Box::new(outcome)));
    }
}
