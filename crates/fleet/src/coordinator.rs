//! The coordinator: divides a plan among agents, starts them at one time, and merges their results.
//!
//! ```text
//! Gathering → Reserving → Preparing → Clocking → Armed → Running → Settling → Over
//! ```
//!
//! A run is *complete* if every agent did its share, *degraded* if one was lost after the start, and
//! *void* if it did not start as planned. Every run ends: an agent that is silent for too long, or makes
//! no progress, is lost. A run whose coordinator died is recalled: another one begins with Settling.
//!
//! The reply to each beat has the whole order to an agent, so a lost reply needs no repetition.
//! Reservations, orders to start and probes of clocks are repeated. The coordinator wakes at a fixed
//! pace and then looks at every agent.

mod gather;
mod member;
mod outcome;
mod results;
mod stages;
mod stored;

use std::collections::{BTreeMap, VecDeque};

use candor_plan::Plan;
use candor_record::{Merging, Stretch, Workers, wire};

use crate::codec::PIECE_BYTES;
use crate::grant::OperatorKey;
use crate::lease::Standing;
use crate::message::{
    AgentName, Beat, Command, Digest, Echo, Head, Message, Order, Phase, RunKey, Segment,
};
use crate::offset::Exchange;
use crate::refusal::Refusal;
use crate::settlement::Item;
use crate::share::{Shares, Threads};
use crate::timings::{PROBE_NS, Timings};
use crate::{MS, policy::Demand};
use gather::Candidate;
use member::{Fate, Member};
pub use outcome::{Loss, Outcome, Verdict, Void};

/// From one look at all agents to the next.
const TICK_NS: u64 = 50 * MS;
/// The number of exchanges that read a clock before the start.
const EXCHANGES: u64 = 16;
/// How many intervals one agent may be ahead of another. Each of these is in memory once, merged.
const AHEAD: u32 = 64;

/// The settings of a coordinator.
#[derive(Debug)]
pub struct Settings {
    /// The attempt.
    pub key: RunKey,
    /// The plan.
    pub plan: Plan,
    /// How many measured requests, or users, of an open load have a row of data; `None`: all.
    pub rows: Option<u64>,
    /// The agents.
    pub wanted: Wanted,
    /// The threads of each agent.
    pub threads: Threads,
    /// What to do when an agent is lost.
    pub on_loss: OnLoss,
    /// The key that signs the grant.
    pub operator: OperatorKey,
    /// Random, for the grant.
    pub nonce: [u8; 16],
    /// When the grant expires, in seconds since 1970.
    pub expires_unix_s: u64,
    /// The times of the protocol.
    pub timings: Timings,
}

/// The agents that a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// This many of those that are free.
    Count(usize),
    /// These, each of them once.
    Named(Vec<AgentName>),
}

/// What to do when an agent is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// All agents stop.
    #[default]
    Stop,
    /// The others continue.
    Continue,
}

/// The stage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It waits for agents.
    Gathering,
    /// It asks them.
    Reserving,
    /// They prepare.
    Preparing,
    /// It reads their clocks.
    Clocking,
    /// They will start.
    Armed,
    /// They send.
    Running,
    /// It receives the rest of their results.
    Settling,
    /// There is an outcome.
    Over,
}

/// Progress that the host may show, and finally the outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The run has reached this stage.
    Stage(Stage),
    /// An agent has been silent for a while.
    Suspect(AgentName),
    /// The agent is heard again.
    HeardAgain(AgentName),
    /// An agent is lost, or has stopped by itself.
    Lost(AgentName, Loss),
    /// The run is over.
    Over(Box<Outcome>),
}

/// A coordinator. See the module, and the crate for how it is driven.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    plan_bytes: Vec<u8>,
    plan_digest: Digest,
    stage: Stage,
    since_ns: u64,
    candidates: BTreeMap<AgentName, Candidate>,
    /// Why messages could not be read, by agent.
    foreign: BTreeMap<AgentName, String>,
    members: Vec<Member>,
    places: BTreeMap<AgentName, usize>,
    merging: Option<Merging>,
    /// The origin of time, by the coordinator's clock.
    origin_ns: u64,
    /// Agents are told to stop.
    is_stopping: bool,
    /// The run's own coordinator died.
    is_recall: bool,
    /// The number of items that each agent may have delivered.
    most_items: u32,
    /// How long the run may take from its origin; `None`: the server decides that.
    longest_ns: Option<u64>,
    next_tick_ns: Option<u64>,
    transmits: VecDeque<(AgentName, Message)>,
    fetches: VecDeque<(AgentName, u64)>,
    events: VecDeque<Event>,
}

impl Coordinator {
    /// A coordinator of a run that begins now.
    pub fn new(settings: Settings, now_ns: u64) -> Self {
        let plan_bytes = wire::to_bytes(&settings.plan);
        let length_ns = Demand::of(&settings.plan, Workers::all(1)).duration_ns;
        let patience_ns = settings.plan.stop.drain_ns.saturating_add(settings.timings.overdue_ns);
        Coordinator {
            longest_ns: length_ns.map(|length_ns| length_ns.saturating_add(patience_ns)),
            plan_digest: Digest::of(&plan_bytes),
            plan_bytes,
            settings,
            stage: Stage::Gathering,
            since_ns: now_ns,
            candidates: BTreeMap::new(),
            foreign: BTreeMap::new(),
            members: Vec::new(),
            places: BTreeMap::new(),
            merging: None,
            origin_ns: 0,
            is_stopping: false,
            is_recall: false,
            most_items: AHEAD,
            next_tick_ns: Some(now_ns),
            transmits: VecDeque::new(),
            fetches: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// A coordinator that makes the result of a run whose own coordinator died, from the results that its
    /// agents kept, and those of silent agents that the broker's stream has.
    pub fn recall(settings: Settings, shares: Shares, now_ns: u64) -> Self {
        let mut coordinator = Coordinator { is_recall: true, ..Coordinator::new(settings, now_ns) };
        coordinator.recall_from(now_ns, shares);
        coordinator
    }

    /// The agents of the run with their lives and shares, known from [`Stage::Reserving`] on.
    pub fn shares(&self) -> Shares {
        self.members.iter().map(|one| (one.name.clone(), one.boot, one.workers)).collect()
    }

    /// The next message to send, and its receiver.
    pub fn poll_transmit(&mut self) -> Option<(AgentName, Message)> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Coordinator::handle_timeout`] is due; `None`: the run is over and has no more messages.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.next_tick_ns
    }

    /// The stage of the run.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The origin of time, by the coordinator's clock; known from [`Stage::Armed`] on.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// A message came from an agent; the transport has authenticated its name.
    pub fn handle_message(&mut self, now_ns: u64, from: &AgentName, message: Message) {
        if self.next_tick_ns.is_none() {
            return;
        }
        match message {
            Message::Hello(hello) => self.handle_hello(now_ns, from, hello),
            Message::Beat { head, beat } => self.handle_beat(now_ns, from, head, beat),
            Message::Want { head, chunks } => self.handle_want(from, head, &chunks),
            Message::Echo { head, echo } => self.handle_echo(now_ns, from, head, echo),
            Message::Segment { head, segment } => self.handle_segment(now_ns, from, head, segment),
            Message::Refused { head, why } => {
                if let Some(at) = self.place(from, head) {
                    self.handle_refused(now_ns, at, why);
                }
            }
            // Messages of coordinators.
            _ => {}
        }
    }

    /// An unreadable message came from an agent.
    pub fn handle_unreadable(&mut self, from: &AgentName, why: &crate::codec::CodecError) {
        if self.stage == Stage::Gathering && self.foreign.len() < gather::MOST {
            self.foreign.insert(from.clone(), why.to_string());
        }
    }

    /// Stops the run; its results until now are the outcome.
    pub fn stop(&mut self, now_ns: u64) {
        match self.stage {
            Stage::Running => self.stop_agents(now_ns),
            Stage::Settling | Stage::Over => {}
            _ => self.void(now_ns, Void::Stopped),
        }
    }

    /// Stops all agents at once. There is no result.
    pub fn kill(&mut self, now_ns: u64) {
        if self.stage != Stage::Over {
            let kill = Message::Kill { run: self.settings.key.run };
            let to = self.members.iter().map(|one| (one.name.clone(), kill.clone()));
            self.transmits.extend(to);
            self.void(now_ns, Void::Killed);
        }
    }

    /// The time of [`Coordinator::poll_timeout`] is here. `watch` gets the intervals that all agents have
    /// delivered.
    pub fn handle_timeout(&mut self, now_ns: u64, watch: &mut dyn FnMut(&Stretch<'_>)) {
        if self.next_tick_ns.is_none_or(|tick_ns| now_ns < tick_ns) {
            return;
        }
        self.next_tick_ns = Some(now_ns.saturating_add(TICK_NS));
        match self.stage {
            Stage::Gathering => self.gather(now_ns),
            Stage::Over => {
                let lingered_ns = now_ns.saturating_sub(self.since_ns);
                let is_quiet = self.members.iter().all(|one| one.gone.is_some() || one.is_lost());
                if is_quiet || lingered_ns >= self.settings.timings.linger_ns {
                    self.next_tick_ns = None;
                }
                return;
            }
            _ => {}
        }
        (0..self.members.len()).for_each(|at| self.look_after(now_ns, at));
        self.speak(now_ns);
        self.take_turns(now_ns);
        (0..self.members.len()).for_each(|at| self.fetch(now_ns, at));
        if let Some(merging) = &mut self.merging {
            merging.settle_with(watch);
        }
        self.advance(now_ns);
    }

    /// The member of this name and head.
    fn place(&self, from: &AgentName, head: Head) -> Option<usize> {
        let at = *self.places.get(from)?;
        (self.members[at].head(self.settings.key) == head).then_some(at)
    }

    fn handle_beat(&mut self, now_ns: u64, from: &AgentName, head: Head, beat: Beat) {
        let Some(at) = self.place(from, head) else { return };
        let member = &mut self.members[at];
        if !member.silence.hear(now_ns, beat.sent_ns) {
            return;
        }
        if std::mem::take(&mut member.is_suspect) {
            self.events.push_back(Event::HeardAgain(from.clone()));
        }
        // An honest agent never goes back, and one that does makes no progress.
        let (rank, known) = (beat.phase.rank(), member.phase.map(|known| known.rank()));
        if known.is_none_or(|known| rank > known) {
            member.progress_ns = now_ns;
        }
        if known.is_none_or(|known| rank >= known) {
            member.phase = Some(beat.phase);
        }
        match beat.phase {
            Phase::Lapsed => self.lapse(now_ns, at),
            Phase::Delivering(last) => self.handle_final(now_ns, at, &last),
            _ => {}
        }
        self.reply(at, Some(beat.sent_ns));
        self.advance(now_ns);
    }

    /// Sends an agent its order; as the reply to a beat this extends its lease.
    fn reply(&mut self, at: usize, beat_ns: Option<u64>) {
        let command = self.command(at);
        let member = &self.members[at];
        let head = member.head(self.settings.key);
        // A lost agent has stopped, and never gets a lease again; nor does one of a run that is recalled.
        let is_over = member.is_lost() || self.is_recall && !member.has_stopped();
        let beat_ns = beat_ns.filter(|_| !is_over);
        let message = match member.fate {
            Fate::Settled if self.stage == Stage::Over => Message::Settled { head },
            _ => Message::Lease {
                head,
                order: Order { beat_ns, command, have: member.inbox.have() },
            },
        };
        self.transmits.push_back((member.name.clone(), message));
    }

    fn command(&self, at: usize) -> Command {
        let member = &self.members[at];
        match self.stage {
            _ if self.is_stopping || member.is_lost() => Command::Stop,
            Stage::Preparing => Command::Prepare,
            Stage::Armed => member.go.map_or(Command::Hold, Command::Go),
            _ => Command::Hold,
        }
    }

    fn handle_want(&mut self, from: &AgentName, head: Head, chunks: &[u32]) {
        let Some(at) = self.place(from, head) else { return };
        for &index in chunks {
            let begins = (index as usize).saturating_mul(PIECE_BYTES);
            let Some(rest) = self.plan_bytes.get(begins..) else { continue };
            let bytes = rest[..rest.len().min(PIECE_BYTES)].to_vec();
            let chunk = Message::Chunk { head, index, bytes };
            self.transmits.push_back((self.members[at].name.clone(), chunk));
        }
    }

    fn handle_echo(&mut self, now_ns: u64, from: &AgentName, head: Head, echo: Echo) {
        let Some(at) = self.place(from, head) else { return };
        let Echo { sent_ns, received_ns, replied_ns } = echo;
        let member = &mut self.members[at];
        member.clock.add(&Exchange { sent_ns, received_ns, replied_ns, returned_ns: now_ns });
        if self.stage == Stage::Clocking && member.clock.exchanges() < EXCHANGES {
            self.probe(now_ns, at);
        }
    }

    fn probe(&mut self, now_ns: u64, at: usize) {
        let member = &mut self.members[at];
        member.probed_ns = now_ns;
        let probe = Message::Probe { head: member.head(self.settings.key), sent_ns: now_ns };
        self.transmits.push_back((member.name.clone(), probe));
    }

    fn handle_segment(&mut self, now_ns: u64, from: &AgentName, head: Head, segment: Segment) {
        let Some(at) = self.place(from, head) else { return };
        if self.members[at].is_active() && self.stage >= Stage::Armed && self.stage < Stage::Over {
            self.take(now_ns, at, Some(segment));
        }
    }

    /// Takes a segment of an agent, or continues with those that waited.
    fn take(&mut self, now_ns: u64, at: usize, segment: Option<Segment>) {
        let member = &mut self.members[at];
        let mut items = Vec::new();
        let mut complete = |item: Item| items.push(item);
        let taken = match segment {
            Some(segment) => member.inbox.take(segment, self.most_items, &mut complete),
            None => member.inbox.go_on(self.most_items, &mut complete),
        };
        if !items.is_empty() {
            member.progress_ns = now_ns;
        }
        let damaged = items.into_iter().find_map(|item| self.merge_item(at, item).err());
        if let Some(why) = damaged.or(taken.err().map(|error| error.to_string())) {
            return self.lose(now_ns, at, Loss::Damaged(why));
        }
        self.finish_member(now_ns, at);
    }

    fn handle_refused(&mut self, now_ns: u64, at: usize, why: Refusal) {
        if !self.members[at].is_active() || self.stage >= Stage::Over {
            return;
        }
        if self.stage < Stage::Running {
            let agent = self.members[at].name.clone();
            self.void(now_ns, Void::Refused { agent, why });
        } else {
            self.lose(now_ns, at, Loss::Refused(why));
        }
    }

    /// Loses an agent that has left the run, was silent for too long, or makes no progress.
    fn look_after(&mut self, now_ns: u64, at: usize) {
        let Timings { suspect_ns, lost_ns, gather_ns, .. } = self.settings.timings;
        let patience_ns = self.patience_ns();
        let is_fetching = self.is_fetching(now_ns, at);
        let member = &mut self.members[at];
        if !member.is_active() || self.stage == Stage::Over {
            return;
        }
        let standing = match (self.stage, member.phase) {
            // A reservation has a timeout of its own.
            (Stage::Reserving, None) => Standing::Heard,
            // An agent may need a while until it hears that it is recalled.
            (_, None) if self.is_recall => member.silence.standing(now_ns, suspect_ns, gather_ns),
            _ => member.silence.standing(now_ns, suspect_ns, lost_ns),
        };
        let silent = (standing == Standing::Lost).then_some(Loss::Silent);
        let is_measuring = matches!(self.stage, Stage::Running | Stage::Settling);
        match member.gone.clone().or(silent) {
            Some(why) if !is_fetching => self.lose(now_ns, at, why),
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

    /// Sends the messages that are no replies: reservations, probes, orders to start, recalls.
    fn speak(&mut self, now_ns: u64) {
        let beat_ns = self.settings.timings.beat_ns;
        for at in 0..self.members.len() {
            let member = &self.members[at];
            if !member.is_active() {
                continue;
            }
            let is_unheard = member.phase.is_none();
            let since_asked_ns = now_ns.saturating_sub(member.asked_ns);
            let since_probed_ns = now_ns.saturating_sub(member.probed_ns);
            match self.stage {
                Stage::Reserving | Stage::Settling if is_unheard && since_asked_ns >= beat_ns => {
                    self.members[at].asked_ns = now_ns;
                    let member = &self.members[at];
                    self.transmits.push_back((member.name.clone(), member.request.clone()));
                }
                Stage::Clocking if member.clock.exchanges() < EXCHANGES => self.probe(now_ns, at),
                Stage::Armed if since_probed_ns >= PROBE_NS[0] => {
                    self.probe(now_ns, at);
                    if !self.members[at].has_order() {
                        self.reply(at, None);
                    }
                }
                Stage::Running | Stage::Settling if since_probed_ns >= PROBE_NS[1] => {
                    self.probe(now_ns, at);
                }
                _ => {}
            }
        }
    }

    /// Keeps agents from getting too far ahead of the slowest, and continues with those that waited.
    fn take_turns(&mut self, now_ns: u64) {
        let active = self.members.iter().filter(|one| one.is_active());
        let least = active.map(|one| one.inbox.items()).min().unwrap_or(0);
        self.most_items = least.saturating_add(AHEAD).min(self.most_of_a_run());
        for at in 0..self.members.len() {
            if self.members[at].is_active() && self.members[at].inbox.is_waiting() {
                self.take(now_ns, at, None);
            }
        }
    }

    /// Loses an agent.
    fn lose(&mut self, now_ns: u64, at: usize, why: Loss) {
        if !self.members[at].is_active() || self.stage == Stage::Over {
            return;
        }
        let agent = self.members[at].name.clone();
        if self.stage < Stage::Running {
            return self.void(now_ns, Void::Lost { agent, why });
        }
        self.members[at].fate = Fate::Lost(why.clone());
        if let Some(merging) = &mut self.merging {
            merging.lost(at);
        }
        self.events.push_back(Event::Lost(agent, why));
        self.after_loss(now_ns);
    }

    /// An agent has stopped by itself; it delivers its results until then.
    fn lapse(&mut self, now_ns: u64, at: usize) {
        let member = &mut self.members[at];
        if member.is_active() && !std::mem::replace(&mut member.has_lapsed, true) {
            self.events.push_back(Event::Lost(member.name.clone(), Loss::Lapsed));
            self.after_loss(now_ns);
        }
    }

    fn after_loss(&mut self, now_ns: u64) {
        if self.settings.on_loss == OnLoss::Stop && self.stage == Stage::Running {
            self.stop_agents(now_ns);
        }
    }

    fn stop_agents(&mut self, now_ns: u64) {
        self.is_stopping = true;
        self.enter(now_ns, Stage::Settling);
        (0..self.members.len()).for_each(|at| self.reply(at, None));
    }

    fn void(&mut self, now_ns: u64, why: Void) {
        let may_have_sent = self.is_recall || self.stage >= Stage::Armed;
        self.is_stopping = true;
        self.merging = None;
        self.enter(now_ns, Stage::Over);
        (0..self.members.len()).for_each(|at| self.reply(at, None));
        let verdict = Verdict::Void(why);
        let outcome = Outcome { verdict, losses: Vec::new(), record: None, may_have_sent };
        self.events.push_back(Event::Over(Box::new(outcome)));
    }
}
