//! The coordinator: plans who does what, starts everybody at one time, and takes what they measured.
//!
//! ```text
//! Gathering → Reserving → Preparing → Clocking → Armed → Running → Settling → Over
//! Recalling ─────────────────────────────────────────────────────────┘
//! ```
//!
//! A run is *complete* if every agent did its share, *degraded* if one was lost after the start, and
//! *void* if it did not start as planned. It ends in any case: whoever is silent for too long, or
//! makes no progress, is lost.
//!
//! It answers each beat with all that it wants of an agent, so nothing has to be sent again but what
//! no beat asks for: reservations, orders to start, probes of clocks. It wakes at a fixed pace and
//! looks at every agent then.

mod gather;
mod member;
mod results;

use std::collections::{BTreeMap, VecDeque};

use candor_plan::Plan;
use candor_record::{Merging, RunRecord, Stretch, Workers, wire};

use crate::codec::PIECE_BYTES;
use crate::grant::OperatorKey;
use crate::lease::Standing;
use crate::message::{
    AgentName, Beat, Command, Digest, Echo, Go, Head, Message, Order, Phase, RunKey, Segment,
};
use crate::offset::Exchange;
use crate::refusal::Refusal;
use crate::settlement::Item;
use crate::share::{ShareError, Threads};
use crate::timings::{PROBE_NS, Timings};
use crate::{MS, policy::Demand};
use gather::Candidate;
use member::{Fate, Member};

/// From one look at everybody to the next.
const TICK_NS: u64 = 50 * MS;
/// Exchanges that read a clock before the start.
const EXCHANGES: u64 = 16;
/// Intervals that one agent may be ahead of another. Of each there is one in memory, merged.
const AHEAD: u32 = 64;

/// What a coordinator is for.
#[derive(Debug)]
pub struct Settings {
    /// The attempt.
    pub key: RunKey,
    /// What is to be run.
    pub plan: Plan,
    /// By whom.
    pub wanted: Wanted,
    /// How it is shared.
    pub threads: Threads,
    /// What becomes of the run when an agent is lost.
    pub on_loss: OnLoss,
    /// Whose grant the agents get.
    pub operator: OperatorKey,
    /// Random, for the grant.
    pub nonce: [u8; 16],
    /// When the grant expires, in seconds since 1970.
    pub expires_unix_s: u64,
    /// Times of the protocol.
    pub timings: Timings,
}

/// Which agents are to make a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// So many, whichever are free.
    Count(usize),
    /// These.
    Named(Vec<AgentName>),
}

/// What becomes of a run when an agent is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// All agents stop.
    #[default]
    Stop,
    /// The others go on.
    Continue,
}

/// Where a run is.
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
    /// They are going to start.
    Armed,
    /// They send.
    Running,
    /// It waits for agents that keep results of a run.
    Recalling,
    /// It takes what is left of their results.
    Settling,
    /// There is an outcome.
    Over,
}

/// What the host may want to show, and in the end the outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The run has come this far.
    Stage(Stage),
    /// Nothing was heard of an agent for a while.
    Suspect(AgentName),
    /// It is heard again.
    HeardAgain(AgentName),
    /// An agent is lost, or has stopped by itself.
    Lost(AgentName, Loss),
    /// The run is over.
    Over(Box<Outcome>),
}

/// Why an agent does no more, or did not do all of its share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It said nothing for so long that its lease is over.
    #[error("it was silent for longer than its lease")]
    Silent,
    /// It is another life of it that speaks.
    #[error("it was started anew")]
    Restarted,
    /// It is free, and knows nothing of the run.
    #[error("it gave the run up")]
    Dropped,
    /// It heard nothing of the coordinator, and stopped.
    #[error("it could not reach the coordinator and stopped by itself")]
    Lapsed,
    /// It refused to go on.
    #[error("{0}")]
    Refused(Refusal),
    /// What it sent cannot be used.
    #[error("its results are damaged: {0}")]
    Damaged(String),
    /// It is heard, and does not end or deliver.
    #[error("it did not deliver its results in time")]
    Overdue,
    /// It is not known who had this share.
    #[error("nobody has its results")]
    Unknown,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Void {
    /// Not enough agents were there in time.
    #[error(
        "{found} of {wanted} agents were there in time; start agents, or ask for fewer{others}"
    )]
    TooFewAgents {
        /// How many were wanted.
        wanted: usize,
        /// How many were there and free.
        found: usize,
        /// What else was heard, as the rest of the sentence.
        others: String,
    },
    /// The run cannot be split.
    #[error("{0}")]
    Share(#[from] ShareError),
    /// The grant would be too large.
    #[error("a grant for {0} agents is larger than a message; use fewer, or shorter names")]
    TooManyAgents(usize),
    /// An agent does not take part.
    #[error("agent {agent}: {why}")]
    Refused {
        /// Which.
        agent: AgentName,
        /// Why.
        why: Refusal,
    },
    /// An agent was lost before the start.
    #[error("agent {agent} was lost before the start: {why}")]
    Lost {
        /// Which.
        agent: AgentName,
        /// Why.
        why: Loss,
    },
    /// An agent did not get so far in time.
    #[error("agent {agent} was not {what} in time")]
    Late {
        /// Which.
        agent: AgentName,
        /// What it should have been.
        what: &'static str,
    },
    /// An agent built another plan of the same bytes.
    #[error("agent {0} built another plan; give all of them the same version")]
    OtherPlan(AgentName),
    /// An agent's results are not what it says that it sent.
    #[error("the results of agent {0} are not what it sent")]
    Damaged(AgentName),
    /// It was stopped before the start.
    #[error("it was stopped before it began")]
    Stopped,
    /// It was killed.
    #[error("it was killed")]
    Killed,
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every agent did its share.
    Complete,
    /// At least one did not.
    Degraded,
    /// It did not start as planned, and there is no result.
    Void(Void),
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it went.
    pub verdict: Verdict,
    /// The agents that did not do their share, why, and how many requests of the schedule are
    /// unaccounted for.
    pub losses: Vec<(AgentName, Loss, u64)>,
    /// What happened; `None` if it is void.
    pub record: Option<RunRecord>,
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
    /// What was heard and could not be read, by agent.
    foreign: BTreeMap<AgentName, String>,
    members: Vec<Member>,
    places: BTreeMap<AgentName, usize>,
    merging: Option<Merging>,
    /// The origin of time, by the coordinator's clock.
    origin_ns: u64,
    /// Agents are told to stop.
    is_stopping: bool,
    /// The number of items that each agent may have delivered.
    most_items: u32,
    /// How long the run may take from its origin; `None`: the server decides that.
    longest_ns: Option<u64>,
    next_tick_ns: Option<u64>,
    transmits: VecDeque<(AgentName, Message)>,
    events: VecDeque<Event>,
}

impl Coordinator {
    /// Of a run that begins now.
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
            most_items: AHEAD,
            next_tick_ns: Some(now_ns),
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Of a run whose coordinator died: takes the results that agents kept of it.
    pub fn recall(settings: Settings, now_ns: u64) -> Self {
        Coordinator { stage: Stage::Recalling, ..Coordinator::new(settings, now_ns) }
    }

    /// What to send next, and to whom.
    pub fn poll_transmit(&mut self) -> Option<(AgentName, Message)> {
        self.transmits.pop_front()
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Coordinator::handle_timeout`] is due; `None`: it is over, and has nothing more to say.
    pub fn poll_timeout(&self) -> Option<u64> {
        self.next_tick_ns
    }

    /// Where the run is.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The origin of time, by the coordinator's clock; known from [`Stage::Armed`] on.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// A message came from an agent, by the name that the transport has proved.
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
            // A coordinator's own.
            _ => {}
        }
    }

    /// Something came from an agent that cannot be read.
    pub fn handle_unreadable(&mut self, from: &AgentName, why: &crate::codec::CodecError) {
        if self.stage == Stage::Gathering && self.foreign.len() < gather::MOST {
            self.foreign.insert(from.clone(), why.to_string());
        }
    }

    /// The user wants it to stop: what was measured is a result.
    pub fn stop(&mut self, now_ns: u64) {
        match self.stage {
            Stage::Running => self.stop_agents(now_ns),
            Stage::Settling | Stage::Recalling | Stage::Over => {}
            _ => self.void(now_ns, Void::Stopped),
        }
    }

    /// Stops everybody at once. There is no result.
    pub fn kill(&mut self, now_ns: u64) {
        if self.stage != Stage::Over {
            let kill = Message::Kill { run: self.settings.key.run };
            let to = self.members.iter().map(|one| (one.name.clone(), kill.clone()));
            self.transmits.extend(to);
            self.void(now_ns, Void::Killed);
        }
    }

    /// The time of [`Coordinator::poll_timeout`] is here. Intervals that all agents have delivered are
    /// shown to `watch`.
    pub fn handle_timeout(&mut self, now_ns: u64, watch: &mut dyn FnMut(&Stretch<'_>)) {
        if self.next_tick_ns.is_none_or(|tick_ns| now_ns < tick_ns) {
            return;
        }
        self.next_tick_ns = Some(now_ns.saturating_add(TICK_NS));
        match self.stage {
            Stage::Gathering => self.gather(now_ns),
            Stage::Recalling => self.gather_kept(now_ns),
            Stage::Over => {
                let lingered_ns = now_ns.saturating_sub(self.since_ns);
                let is_quiet = self.members.iter().all(|one| one.is_gone || one.is_lost());
                if is_quiet || lingered_ns >= self.settings.timings.linger_ns {
                    self.next_tick_ns = None;
                }
                return;
            }
            _ => {}
        }
        self.look_after_members(now_ns);
        self.speak(now_ns);
        self.take_turns(now_ns);
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
            Phase::Delivering(last) => {
                if last.lapsed {
                    self.lapse(now_ns, at);
                }
                self.finish_member(now_ns, at);
            }
            _ => {}
        }
        self.reply(at, Some(beat.sent_ns));
        self.advance(now_ns);
    }

    /// Says all that is wanted of an agent; in reply to a beat, its lease is extended.
    fn reply(&mut self, at: usize, beat_ns: Option<u64>) {
        let command = self.command(at);
        let member = &self.members[at];
        let head = member.head(self.settings.key);
        // Who is lost has stopped, and never gets time again.
        let beat_ns = beat_ns.filter(|_| !member.is_lost());
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

    /// Takes a segment of an agent, or goes on with those that waited.
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

    /// Whoever was silent for too long, or makes no progress, is lost.
    fn look_after_members(&mut self, now_ns: u64) {
        let Timings { suspect_ns, lost_ns, .. } = self.settings.timings;
        let patience_ns = self.patience_ns();
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            if !member.is_active() || self.stage == Stage::Over {
                continue;
            }
            // Who was asked and has not agreed has a time of its own.
            let standing = match (self.stage, member.phase) {
                (Stage::Reserving, None) => Standing::Heard,
                _ => member.silence.standing(now_ns, suspect_ns, lost_ns),
            };
            let is_measuring = matches!(self.stage, Stage::Running | Stage::Settling);
            match standing {
                Standing::Lost => self.lose(now_ns, at, Loss::Silent),
                Standing::Suspect if !member.is_suspect => {
                    member.is_suspect = true;
                    self.events.push_back(Event::Suspect(member.name.clone()));
                }
                _ if is_measuring && now_ns > member.progress_ns.saturating_add(patience_ns) => {
                    self.lose(now_ns, at, Loss::Overdue);
                }
                _ => {}
            }
        }
    }

    /// How long an agent may go without a new interval or another phase. The warm-up is one interval,
    /// and there may be none in the drain.
    fn patience_ns(&self) -> u64 {
        let plan = &self.settings.plan;
        let interval_ns = plan.recording.interval_ns.max(plan.recording.warm_up_ns);
        let longest_ns = interval_ns.saturating_add(plan.stop.drain_ns);
        longest_ns.saturating_mul(2).saturating_add(self.settings.timings.overdue_ns)
    }

    /// Sends what no beat asks for: reservations, probes, orders to start, recalls.
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

    /// Nobody gets too far ahead of the slowest; those who waited go on.
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

    /// Goes on to the next stage, if everybody is ready for it or its time is over.
    fn advance(&mut self, now_ns: u64) {
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
                Some(agent) if is_due(times.prepare_ns) => {
                    self.void(now_ns, Void::Late { agent, what: "prepared" });
                }
                Some(_) => {}
            },
            Stage::Clocking => {
                let all = first(|one| one.clock.exchanges() >= EXCHANGES).is_none();
                match first(|one| one.clock.exchanges() > 0) {
                    None if all || is_due(times.clock_ns) => self.arm(now_ns),
                    Some(agent) if is_due(times.clock_ns) => {
                        self.void(now_ns, Void::Late { agent, what: "asked for its clock" });
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
            Stage::Settling if !self.members.iter().any(Member::is_active) => self.end(now_ns),
            _ => {}
        }
    }

    fn enter(&mut self, now_ns: u64, stage: Stage) {
        (self.stage, self.since_ns) = (stage, now_ns);
        self.events.push_back(Event::Stage(stage));
        match stage {
            Stage::Preparing | Stage::Armed => {
                (0..self.members.len()).for_each(|at| self.reply(at, None));
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

    /// Gives everybody the origin of time, each by its own clock.
    fn arm(&mut self, now_ns: u64) {
        let origin_ns = now_ns.saturating_add(self.settings.timings.lead_ns);
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            let reading = member.clock.at(origin_ns);
            let own =
                reading.and_then(|one| origin_ns.checked_add_signed(one.offset_ns).zip(Some(one)));
            let Some((own_ns, reading)) = own else {
                let agent = member.name.clone();
                return self.void(now_ns, Void::Late { agent, what: "asked for its clock" });
            };
            let (offset_ns, bound_ns) = (reading.offset_ns, reading.bound_ns);
            member.go = Some(Go { origin_ns: own_ns, offset_ns, bound_ns });
        }
        self.origin_ns = origin_ns;
        self.enter(now_ns, Stage::Armed);
    }

    /// Whether the run goes on for much longer than its plan.
    fn is_overdue(&self, now_ns: u64) -> bool {
        self.longest_ns.is_some_and(|longest_ns| now_ns > self.origin_ns.saturating_add(longest_ns))
    }

    /// The most items that an agent of the run can have: its intervals, one for the warm-up, and its
    /// record, with two intervals that are shorter than the others.
    fn most_of_a_run(&self) -> u32 {
        self.longest_ns.map_or(u32::MAX, |longest_ns| {
            let intervals = longest_ns / self.settings.plan.recording.interval_ns.max(1);
            u32::try_from(intervals).unwrap_or(u32::MAX).saturating_add(4)
        })
    }

    /// An agent is lost for the run.
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

    /// An agent has stopped before its time; what it measured until then comes.
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
        self.is_stopping = true;
        self.merging = None;
        self.enter(now_ns, Stage::Over);
        (0..self.members.len()).for_each(|at| self.reply(at, None));
        let outcome = Outcome { verdict: Verdict::Void(why), losses: Vec::new(), record: None };
        self.events.push_back(Event::Over(Box::new(outcome)));
    }
}
