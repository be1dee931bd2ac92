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
mod losses;
mod member;
mod outcome;
mod results;
mod sending;
mod stages;
mod stored;

use std::collections::{BTreeMap, VecDeque};

use candor_plan::Plan;
use candor_record::{Merging, Stretch, Workers, wire};

use crate::file::DataFile;
use crate::grant::OperatorKey;
use crate::identity::{AgentName, Digest, RunKey};
use crate::message::{Beat, Command, Echo, Head, Message, Order, Phase, Segment};
use crate::offset::Exchange;
use crate::refusal::Refusal;
use crate::settlement::Item;
use crate::share::{Shares, Threads};
use crate::timings::{MOST_ROUND_TRIP_NS, PROBE_NS, Timings};
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

impl Settings {
    /// The number of the grant for an attempt: each is used once.
    fn nonce_of(&self, epoch: u32) -> [u8; 16] {
        (u128::from_le_bytes(self.nonce) ^ u128::from(epoch)).to_le_bytes()
    }
}

/// Progress that the host may show, and finally the outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Too few agents are free until now.
    Gathers(Void),
    /// Send this chunk of a data file to an agent: [`Message::Chunk`] with the bytes from `index` times
    /// [`PIECE_BYTES`](crate::codec::PIECE_BYTES) on. If the file cannot be read, [`Coordinator::handle_lost_file`].
    Piece {
        /// The agent.
        to: AgentName,
        /// The head of the message.
        head: Head,
        /// The file.
        file: DataFile,
        /// The number of the chunk.
        index: u32,
    },
    /// This much of the plan and its data files was sent to all agents.
    Sending {
        /// In percent.
        percent: u8,
    },
    /// The run has reached this stage.
    Stage(Stage),
    /// An agent has been silent for a while.
    Suspect(AgentName),
    /// The agent is heard again.
    HeardAgain(AgentName),
    /// Nothing is missing any more but the results of this agent, which is silent; it has some time to return.
    Awaits(AgentName),
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
    /// The data files of the plan.
    files: Vec<DataFile>,
    stage: Stage,
    since_ns: u64,
    began_ns: u64,
    /// The user knows which agents are missing.
    has_told: bool,
    /// When the user was told how much of the plan was sent.
    told_ns: u64,
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
    /// The user stopped the run in its course.
    is_interrupted: bool,
    /// The user waits for no agent that is away.
    is_forsaking: bool,
    /// When agents were told not to wait for responses.
    hurried_ns: Option<u64>,
    /// The outcome is not made of all results.
    keeps: bool,
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
            // Who made the plan has checked them.
            files: DataFile::all(&settings.plan).unwrap_or_default(),
            plan_bytes,
            settings,
            stage: Stage::Gathering,
            since_ns: now_ns,
            began_ns: now_ns,
            has_told: false,
            told_ns: now_ns,
            candidates: BTreeMap::new(),
            foreign: BTreeMap::new(),
            members: Vec::new(),
            places: BTreeMap::new(),
            merging: None,
            origin_ns: 0,
            is_stopping: false,
            is_interrupted: false,
            is_forsaking: false,
            hurried_ns: None,
            keeps: false,
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

    /// The attempt, of which there are several if other runs wanted the same agents.
    pub fn key(&self) -> RunKey {
        self.settings.key
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
            Message::Want { head, of, chunks } => self.handle_want(now_ns, from, head, of, &chunks),
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

    /// Stops the run; its results until now are the outcome. Agents that are away are not waited for.
    pub fn stop(&mut self, now_ns: u64) {
        self.is_interrupted |= self.stage == Stage::Running;
        self.is_forsaking = true;
        match self.stage {
            Stage::Running => self.stop_agents(now_ns),
            Stage::Settling => self.advance(now_ns),
            Stage::Over => {}
            _ => self.void(now_ns, Void::Stopped),
        }
    }

    /// Ends the run: agents wait for no response, and their results have a limited time to arrive.
    pub fn end_soon(&mut self, now_ns: u64) {
        self.stop(now_ns);
        if self.stage == Stage::Settling {
            self.hurried_ns.get_or_insert(now_ns);
            (0..self.members.len()).for_each(|at| self.reply(now_ns, at, None));
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
                let way_ns = self.members.iter().map(|one| one.round_trip_ns).max().unwrap_or(0);
                if is_quiet || lingered_ns >= self.settings.timings.linger_ns.saturating_add(way_ns)
                {
                    self.next_tick_ns = None;
                }
                return;
            }
            _ => {}
        }
        (0..self.members.len()).for_each(|at| self.look_after(now_ns, at));
        self.speak(now_ns);
        self.tell_progress(now_ns);
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
        if !self.hear(now_ns, at, beat.sent_ns) {
            return;
        }
        let given_ns = self.lease_ns(at);
        let member = &mut self.members[at];
        member.is_asked = false;
        if member.phase.is_none() && !self.is_recall {
            // Its first lease.
            member.granted_ns = now_ns.saturating_add(given_ns);
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
        self.reply(now_ns, at, Some(beat.sent_ns));
        self.advance(now_ns);
    }

    /// A message that an agent sent at `sent_ns` of its clock shows that it lives. Returns whether it is newer than
    /// all before.
    fn hear(&mut self, now_ns: u64, at: usize, sent_ns: u64) -> bool {
        let member = &mut self.members[at];
        if !member.silence.hear(now_ns, sent_ns) {
            return false;
        }
        let was_away = member.fate == Fate::Away && self.stage < Stage::Over;
        if was_away {
            (member.fate, member.progress_ns) = (Fate::Active, now_ns);
        }
        if std::mem::take(&mut member.is_suspect) || was_away {
            self.events.push_back(Event::HeardAgain(member.name.clone()));
        }
        true
    }

    /// The length of a lease: with the way of messages to this agent, which is taken to be long until it is
    /// measured.
    fn lease_ns(&self, at: usize) -> u64 {
        let member = &self.members[at];
        let round_trip_ns = match member.clock.exchanges() {
            0 => MOST_ROUND_TRIP_NS,
            _ => member.round_trip_ns,
        };
        self.settings.timings.lease_ns.saturating_add(round_trip_ns)
    }

    /// Sends an agent its order; as the reply to a beat this gives it a new lease.
    fn reply(&mut self, now_ns: u64, at: usize, beat_ns: Option<u64>) {
        let (command, lease_ns) = (self.command(at), self.lease_ns(at));
        let member = &mut self.members[at];
        let head = member.head(self.settings.key);
        // An agent that was away has stopped, and never gets a lease again; nor does one of a run that is recalled. One
        // that says that it has stopped is told what is missing.
        let is_past = member.was_away || self.is_recall;
        let is_over = member.is_lost() || is_past && !member.has_stopped();
        let beat_ns = beat_ns.filter(|_| !is_over);
        let has_ended = matches!(member.phase, Some(Phase::Delivering(_)));
        let message = match self.stage {
            Stage::Over if has_ended && self.keeps => Message::Keep { head },
            Stage::Over if has_ended => Message::Settled { head },
            _ => {
                if beat_ns.is_some() {
                    member.granted_ns = member.granted_ns.max(now_ns.saturating_add(lease_ns));
                }
                let order = Order { beat_ns, lease_ns, command, have: member.inbox.have() };
                Message::Lease { head, order }
            }
        };
        self.transmits.push_back((member.name.clone(), message));
    }

    fn command(&self, at: usize) -> Command {
        let member = &self.members[at];
        match self.stage {
            _ if self.hurried_ns.is_some() => Command::End,
            _ if self.is_stopping || member.is_lost() || member.was_away => Command::Stop,
            Stage::Preparing => Command::Prepare,
            Stage::Armed => member.go.map_or(Command::Hold, Command::Go),
            _ => Command::Hold,
        }
    }

    fn handle_echo(&mut self, now_ns: u64, from: &AgentName, head: Head, echo: Echo) {
        let Some(at) = self.place(from, head) else { return };
        let Echo { sent_ns, received_ns, replied_ns } = echo;
        let member = &mut self.members[at];
        if member.clock.add(&Exchange { sent_ns, received_ns, replied_ns, returned_ns: now_ns }) {
            let round_trip_ns = now_ns.saturating_sub(sent_ns).min(MOST_ROUND_TRIP_NS);
            member.round_trip_ns = member.round_trip_ns.max(round_trip_ns);
        }
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
        if self.members[at].is_open() && self.stage >= Stage::Armed && self.stage < Stage::Over {
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
            if let (Stage::Reserving, Refusal::Busy(other)) = (self.stage, &why) {
                return self.handle_busy(now_ns, at, *other);
            }
            let agent = self.members[at].name.clone();
            self.void(now_ns, Void::Refused { agent, why });
        } else {
            self.lose(now_ns, at, Loss::Refused(why));
        }
    }

    /// Sends the messages that are no replies: reservations, probes, orders to start, recalls.
    fn speak(&mut self, now_ns: u64) {
        let beat_ns = self.settings.timings.beat_ns;
        for at in 0..self.members.len() {
            let member = &self.members[at];
            if !member.is_active() {
                continue;
            }
            let since_asked_ns = now_ns.saturating_sub(member.asked_ns);
            let since_probed_ns = now_ns.saturating_sub(member.probed_ns);
            match self.stage {
                Stage::Reserving | Stage::Running | Stage::Settling
                    if member.is_asked && since_asked_ns >= beat_ns =>
                {
                    self.members[at].asked_ns = now_ns;
                    let member = &self.members[at];
                    self.transmits.push_back((member.name.clone(), member.request.clone()));
                }
                Stage::Clocking if member.clock.exchanges() < EXCHANGES => self.probe(now_ns, at),
                Stage::Armed if since_probed_ns >= PROBE_NS[0] => {
                    self.probe(now_ns, at);
                    if !self.members[at].has_order() {
                        self.reply(now_ns, at, None);
                    }
                }
                // The way of messages, before anything depends on it.
                Stage::Preparing if since_probed_ns >= PROBE_NS[1] => self.probe(now_ns, at),
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

    fn stop_agents(&mut self, now_ns: u64) {
        self.is_stopping = true;
        self.enter(now_ns, Stage::Settling);
        (0..self.members.len()).for_each(|at| self.reply(now_ns, at, None));
    }

    fn void(&mut self, now_ns: u64, why: Void) {
        let may_have_sent = self.is_recall || self.stage >= Stage::Armed;
        (self.is_stopping, self.keeps) = (true, may_have_sent);
        self.merging = None;
        self.enter(now_ns, Stage::Over);
        (0..self.members.len()).for_each(|at| self.reply(now_ns, at, None));
        let (verdict, keeps) = (Verdict::Void(why), self.keeps);
        let outcome = Outcome { verdict, losses: Vec::new(), record: None, may_have_sent, keeps };
        self.events.push_back(Event::Over(Box::new(outcome)));
    }
}
