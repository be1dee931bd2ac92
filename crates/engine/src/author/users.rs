//! Users: who is under way, what each of them does next, and when.
//!
//! A user comes (by a schedule, or when the one before is done), runs the steps of one journey, and leaves. Which
//! journey, how often a step is made and how long is thought before it are pure functions of the plan and the user's
//! index, so that they are the same for any number of threads and machines; what is captured is the server's affair.
//!
//! This module knows no protocol and no clock, and of connections only which user's own is where ([`owning`]). It says
//! which step is due, writes its request, is told what became of it, and enters users into the recorder. A step that is
//! due and a user who comes wait in one order, that of their due times; where there are several targets, each has its
//! own ([`queues`]). Who has come and was given no connection yet is not under way, and takes no memory.

mod ending;
mod owning;
mod plan;
mod queues;
mod reconnect;
mod redirects;
mod returning;
mod taking;
mod wheel;

use std::collections::VecDeque;

use candor_memory::{Memory, Sites};
use candor_pace::{Due, Picker, draw};
use candor_plan::journey::Variables;
use candor_plan::url::HttpUrl;
use candor_plan::{Load, OnFailure, Plan, Target};
use candor_protocol::grpc::Bodies;
use candor_protocol::{Capture, CaptureRoom, Keep, Outgoing};
use candor_record::{Phase, Recorder, StepFailure};

use self::owning::Own;
use self::plan::{Journey, Step, journeys, steps};
pub(crate) use self::plan::{codings, kept};
use self::queues::Queues;
use self::reconnect::{Seat, Stream, reconnects};
pub(crate) use self::redirects::Followed;
use self::redirects::{Redirects, Sent};
use self::returning::Returning;
use self::wheel::Wheel;
use super::filling::{Cookies, Filling, Owner};
use crate::flight::{Ended, NeverSent, Place, UserKey};
use crate::load::share::{WorkerPlan, part};
use crate::load::{Closed, Open, phase_at};

/// Users at a time in an open load, unless the plan has a limit of its own.
const MOST_USERS: u32 = 1_000_000;
/// The longest body that captures look into, in bytes.
pub(crate) const MOST_BODY_BYTES: usize = 1 << 20;
/// A worker has room for this number of the longest bodies at a time.
pub(crate) const BODIES_AT_A_TIME: usize = 16;
/// Keeps what is drawn for users independent of everything else that is drawn from the seed.
const STREAM: u64 = 0x7573_6572; // "user"

/// The users of one worker.
pub(crate) struct Users {
    arrivals: Arrivals,
    /// Users under way are at most so many.
    most: usize,
    journeys: Vec<Journey>,
    /// For each request of the plan.
    steps: Vec<Step>,
    picker: Picker,
    /// Nobody comes any more.
    is_over: bool,
    /// The capture that failed of the request whose outcome comes next.
    lacking: Option<u32>,
    /// Whoever has an outcome goes on with its last steps alone.
    is_ending: bool,
    /// How many are at those.
    ending: usize,
    table: Vec<User>,
    free: Vec<UserKey>,
    wheel: Wheel,
    /// Where steps go to several targets, those that are due.
    queues: Option<Queues>,
    /// Whether each has a connection of its own.
    owns: bool,
    /// Steps that are due and wait for the connection of their user, or to their target.
    waiting: u64,
    /// Connections whose users have left.
    let_go: Vec<Place>,
    /// Where steps are made once.
    returning: Option<Returning>,
    /// Where steps may be redirected.
    redirects: Option<Box<Redirects>>,
    filling: Option<Filling>,
    have_cookies: bool,
    /// Of the plan's targets.
    sites: Sites,
    variables: usize,
    bodies: Bodies,
    /// What events say about the next request, where users go on with streams.
    resumes: Option<CaptureRoom>,
    reconnect: bool,
    seed: u64,
    warm_up_ns: u64,
}

/// Who comes when.
enum Arrivals {
    /// A schedule decides; where first steps go to several targets, each has its part of it.
    Open(Box<[Open]>),
    /// Each of those who come: all at the beginning, and one for each that leaves.
    Closed { closed: Closed, seats: VecDeque<Seat> },
}

/// One user under way, or a place in the table for one.
struct User {
    index: u64,
    /// Its index when it came for the first time.
    first: u64,
    /// Of the steps that are made once, those that were.
    made_once: Box<[bool]>,
    /// Of the journeys, those that it has begun, where something is done about them when the run is over.
    begun: Box<[bool]>,
    arrived_ns: u64,
    thought_ns: u64,
    /// The step that is due or under way, by its request.
    request: u32,
    /// How often this step was made before.
    made: u32,
    /// How often it is made after this time.
    left: u32,
    journey: u32,
    phase: Phase,
    state: State,
    memory: Memory,
    own: Own,
    /// The path of the last request, for cookies and redirects.
    path: Vec<u8>,
    /// And its method.
    sent: Sent,
    stream: Stream,
}

/// Where a user is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is none.
    Gone,
    /// Nothing was sent for it.
    Come,
    /// Under way.
    Started,
    /// The run is over, and it makes its last steps.
    Ending,
}

/// A step that may leave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) user: UserKey,
    pub(crate) index: u64,
    pub(crate) request: u32,
}

/// What is due first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// Somebody comes.
    Arrival(Due),
    /// A step of a user under way.
    Step(u64, UserKey),
}

impl First {
    pub(crate) fn due_ns(self) -> u64 {
        match self {
            First::Arrival(due) => due.due_ns,
            First::Step(due_ns, _) => due_ns,
        }
    }
}

/// Of a step and somebody who comes, whatever is due first.
fn sooner(step: Option<First>, arrival: Option<Due>) -> Option<First> {
    match (step, arrival.map(First::Arrival)) {
        (Some(step), Some(arrival)) if arrival.due_ns() < step.due_ns() => Some(arrival),
        (None, arrival) => arrival,
        (step, _) => step,
    }
}

/// The part in which somebody comes first.
fn earliest(parts: &mut [Open]) -> Option<&mut Open> {
    parts.iter_mut().min_by_key(|part| part.peek().map_or(u64::MAX, |due| due.due_ns))
}

impl Users {
    /// The users of a worker. `filling` has what their requests are filled with.
    pub(crate) fn new(plan: &Plan, own: &WorkerPlan, filling: Option<Filling>) -> Self {
        let share = own.share;
        let of = |total: u32| part(total.into(), share.worker, share.workers);
        let url = |target: &Target| HttpUrl::parse(&target.url).map(|url| url.host);
        let hosts: Vec<_> =
            plan.targets().map(|one| (url(one).unwrap_or_default(), one.tls.is_some())).collect();
        let picker = Picker::new(&plan.work, plan.seed);
        let queues = Queues::new(plan);
        let (arrivals, most) = match &plan.load {
            Load::Closed { .. } => {
                let of_places =
                    u64::from(own.targets[0].count) * u64::from(plan.connections.places());
                let users = plan.work.users().map_or(of_places, of);
                let seats = std::iter::repeat_with(Seat::default).take(users as usize).collect();
                (Arrivals::Closed { closed: Closed::new(plan, own), seats }, users)
            }
            Load::Open(load) => {
                let parts = match &queues {
                    None => [Open::new(load, plan, own)].into(),
                    Some(queues) => {
                        let first =
                            |one: &candor_plan::Journey| queues.target_of(one.steps[0].request);
                        let targets = plan.work.journeys().iter().map(first).collect();
                        Open::parts(load, plan, own, &picker, &targets)
                    }
                };
                (Arrivals::Open(parts), of(plan.work.users().unwrap_or(MOST_USERS)).max(1))
            }
        };
        Users {
            arrivals,
            most: most as usize,
            journeys: journeys(plan),
            steps: steps(plan),
            picker,
            is_over: false,
            lacking: None,
            is_ending: false,
            ending: 0,
            table: Vec::new(),
            free: Vec::new(),
            wheel: Wheel::new(),
            queues,
            owns: plan.connections.own,
            waiting: 0,
            let_go: Vec::new(),
            returning: Returning::of(plan),
            redirects: Redirects::of(plan),
            filling,
            have_cookies: plan.work.journeys().iter().any(|one| one.cookies),
            sites: Sites::new(hosts.iter().map(|(host, is_https)| (host.as_str(), *is_https))),
            variables: Variables::of(plan.work.journeys()).names().len(),
            bodies: Bodies::of(plan),
            resumes: None,
            reconnect: reconnects(plan),
            seed: plan.seed,
            warm_up_ns: own.warm_up_ns,
        }
    }

    /// Where sessions keep the responses that captures and cookies are taken from, if any are.
    pub(crate) fn capture_room(plan: &Plan) -> Option<CaptureRoom> {
        let room = |kept| {
            CaptureRoom::for_requests(kept, codings(plan), MOST_BODY_BYTES, BODIES_AT_A_TIME)
        };
        let kept = kept(plan).or_else(|| reconnects(plan).then(|| [Keep::Nothing].into()));
        kept.map(room)
    }

    /// Whether any of them keeps cookies, which expire.
    #[inline]
    pub(crate) fn have_cookies(&self) -> bool {
        self.have_cookies
    }

    /// Whether a row of data could not be read.
    pub(crate) fn has_failed(&self) -> bool {
        self.filling.as_ref().is_some_and(Filling::has_failed)
    }

    /// The schedule, in an open load; of several parts the one in which somebody comes next.
    pub(crate) fn open(&mut self) -> Option<&mut Open> {
        match &mut self.arrivals {
            Arrivals::Open(parts) => earliest(parts),
            Arrivals::Closed { .. } => None,
        }
    }

    /// What decides in a closed load.
    pub(crate) fn closed(&mut self) -> Option<&mut Closed> {
        match &mut self.arrivals {
            Arrivals::Open(_) => None,
            Arrivals::Closed { closed, .. } => Some(closed),
        }
    }

    /// Whether somebody thinks, and will be due later.
    pub(crate) fn has_thinking(&mut self, now_ns: u64) -> bool {
        self.wheel.first().is_some_and(|(due_ns, _)| due_ns > now_ns)
    }

    /// Whether nobody is under way, and nobody comes any more.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.under_way() == 0
            && match &self.arrivals {
                Arrivals::Open(parts) => parts.iter().all(|part| part.peek().is_none()),
                Arrivals::Closed { closed, seats } => seats.is_empty() || closed.is_exhausted(),
            }
    }

    /// Nobody comes any more.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }

    /// Steps that are due at `now_ns` and have not left, and users who have come by then.
    #[cold]
    pub(crate) fn backlog(&mut self, now_ns: u64) -> u64 {
        let steps = self.wheel.due(now_ns);
        let come = match &mut self.arrivals {
            Arrivals::Open(parts) => parts.iter_mut().map(|part| part.backlog(now_ns)).sum(),
            Arrivals::Closed { .. } => 0,
        };
        self.waiting + steps + come
    }

    /// Whether somebody may come.
    fn has_room(&self) -> bool {
        !self.is_over && self.under_way() < self.most
    }

    /// What is due first: a step, or somebody who comes, if there is room for one more.
    pub(crate) fn first(&mut self) -> Option<First> {
        let step = self.wheel.first().map(|(due_ns, user)| First::Step(due_ns, user));
        let has_room = self.has_room();
        let arrival = match &self.arrivals {
            _ if !has_room => None,
            Arrivals::Open(parts) => parts[0].peek(),
            Arrivals::Closed { closed, .. } if closed.is_exhausted() => None,
            // Its index is known when it comes.
            Arrivals::Closed { seats, .. } => {
                seats.front().map(|seat| Due { index: 0, due_ns: seat.due_ns })
            }
        };
        sooner(step, arrival)
    }

    /// Somebody who comes has come.
    fn take_arrival(&mut self, due: Due) {
        let part = match &self.queues {
            None => 0,
            Some(queues) => usize::from(queues.target_of(self.first_request(due.index))),
        };
        if let Arrivals::Open(parts) = &mut self.arrivals {
            parts[part].take();
        }
    }

    /// A step that was the first to leave is due no more.
    fn take_step(&mut self, key: UserKey) {
        match &mut self.queues {
            None => {
                self.wheel.take();
            }
            Some(queues) => {
                queues.take(self.table[key as usize].request);
                self.waiting -= 1;
            }
        }
    }

    /// Drops what [`Users::first`] shows, because it is too old.
    pub(crate) fn shed(&mut self, first: First, now_ns: u64, recorder: &mut Recorder) -> NeverSent {
        let phase = self.phase(first.due_ns());
        match first {
            First::Arrival(due) => {
                self.take_arrival(due);
                recorder.users_not_begun(now_ns, u64::from(phase == Phase::Measured));
                NeverSent { due, request: self.first_request(due.index), phase }
            }
            First::Step(due_ns, key) => {
                self.take_step(key);
                let User { index, request, .. } = self.table[key as usize];
                self.fail(key, StepFailure::Shed, now_ns, recorder);
                NeverSent { due: Due { index, due_ns }, request, phase }
            }
        }
    }

    /// The first step of the journey of whoever comes with this index.
    pub(crate) fn first_request(&self, index: u64) -> u32 {
        self.journeys[self.picker.pick(index)].first
    }

    /// Takes what [`Users::first`] shows: it has a place. `None`: whoever came makes no step now.
    pub(crate) fn take(
        &mut self,
        first: First,
        now_ns: u64,
        recorder: &mut Recorder,
    ) -> Option<Leaving> {
        let key = match first {
            First::Step(_, key) => {
                self.take_step(key);
                key
            }
            First::Arrival(due) => {
                let key = self.admit(due, recorder)?;
                // Before the first step nobody thinks: it is due at once, before every other.
                self.wheel.first().filter(|one| *one == (due.due_ns, key))?;
                self.wheel.take();
                key
            }
        };
        self.take_place(key);
        let user = &mut self.table[key as usize];
        user.start(now_ns, recorder);
        user.stream.note_request(user.phase, now_ns, recorder);
        Some(Leaving { user: key, index: user.index, request: user.request })
    }

    /// Somebody comes. `None`: and is gone already.
    pub(crate) fn admit(&mut self, due: Due, recorder: &mut Recorder) -> Option<UserKey> {
        let ((index, phase), seat) = match &mut self.arrivals {
            Arrivals::Open(_) => {
                self.take_arrival(due);
                ((due.index, self.phase(due.due_ns)), Seat::default())
            }
            Arrivals::Closed { closed, seats } => {
                let seat = seats.pop_front().unwrap_or_default();
                (closed.take(due.due_ns)?, seat)
            }
        };
        let key = self.seat(seat.before, index);
        recorder.set_users(self.under_way() as u64);
        let journey = self.picker.pick(index) as u32;
        let user = &mut self.table[key as usize];
        (user.index, user.phase, user.journey) = (index, phase, journey);
        (user.arrived_ns, user.thought_ns) = (due.due_ns, 0);
        (user.state, user.stream) = (State::Come, seat.stream);
        let first = self.journeys[journey as usize].first;
        self.go_to(key, Some(first), due.due_ns, recorder).then_some(key)
    }

    /// The request of a step, with the values of its user, `now_s` seconds after 1970; `None`: a row of data cannot be
    /// read.
    pub(crate) fn write(&mut self, request: u32, key: UserKey, now_s: u64) -> Option<Outgoing<'_>> {
        if !self.filling.as_ref().is_some_and(|filling| filling.has(request)) {
            self.note_listed(request, key);
            return Some(Outgoing::Listed(request));
        }
        let filling = self.filling.as_mut()?;
        let user = &mut self.table[key as usize];
        let with_cookies = self.journeys[user.journey as usize].cookies;
        let site = self.queues.as_ref().map_or(0, |queues| queues.target_of(request));
        let cookies = with_cookies.then_some(Cookies { now_s, site: (&self.sites, site) });
        let owner = Owner { cookies, ..user.owner() };
        let made = filling.fill(request, owner)?;
        if with_cookies || self.redirects.is_some() {
            user.path.clear();
            user.path.extend_from_slice(made.path());
            user.sent = Sent::of(made.method());
        }
        Some(Outgoing::Made(made))
    }

    /// A step has an outcome: takes what it is to take from the response, and the user goes on or leaves. It is `now_s`
    /// seconds after 1970.
    pub(crate) fn ended(
        &mut self,
        ended: &Ended<'_>,
        captured: Option<Capture>,
        now_s: u64,
        recorder: &mut Recorder,
    ) {
        let user = ended.flight.user;
        self.note_stream(ended);
        let seen = self.redirects.as_mut().and_then(|redirects| redirects.take_seen());
        let captured = seen.or(captured);
        if let Some(captured) = captured {
            self.read((ended.flight, ended.status, true), &captured, now_s);
        }
        let lacking = self.lacking.take().map(StepFailure::Capture);
        match ended.error {
            None if self.is_led(ended.flight) => match self.is_interrupted(user) {
                true => self.interrupt(user, ended.at_ns, recorder),
                false => self.go_after(user, ended.at_ns),
            },
            Some(kind) => {
                let why = lacking.unwrap_or(StepFailure::Error(kind));
                self.fail(user, why, ended.at_ns, recorder);
            }
            None => self.go_on(user, ended.at_ns, recorder),
        }
    }

    /// A step is done: its user makes it again, or the next one, or leaves.
    fn go_on(&mut self, key: UserKey, at_ns: u64, recorder: &mut Recorder) {
        let user = &mut self.table[key as usize];
        let step = &self.steps[user.request as usize];
        if user.left == 0 {
            step.once.iter().for_each(|number| user.made_once[*number] = true);
            self.go_to(key, step.next, at_ns, recorder);
            return;
        }
        user.request = step.hops.as_ref().map_or(user.request, |hops| hops.first);
        user.left -= 1;
        user.made += 1;
        match self.unfit(key) {
            Some(variable) => self.fail(key, StepFailure::Unfit(variable), at_ns, recorder),
            None => self.think(key, at_ns, recorder),
        }
    }

    /// A step failed: its user leaves, or goes on with the next.
    fn fail(&mut self, key: UserKey, why: StepFailure, at_ns: u64, recorder: &mut Recorder) {
        if let Some(next) = self.note_failure(key, why, at_ns, recorder) {
            self.go_to(key, next, at_ns, recorder);
        }
    }

    /// Enters a step that failed. `None`: its user has left.
    fn note_failure(
        &mut self,
        key: UserKey,
        why: StepFailure,
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> Option<Option<u32>> {
        let user = &mut self.table[key as usize];
        user.start(at_ns, recorder);
        let ends = self.journeys[user.journey as usize].on_failure == OnFailure::End
            && user.state != State::Ending;
        if user.phase == Phase::Measured {
            recorder.step_failed(at_ns, user.journey, (user.request, why), ends);
        }
        if ends {
            self.leave(key, at_ns, recorder);
            return None;
        }
        Some(self.steps[user.request as usize].next)
    }

    /// Goes on to the first step from `next` on that is to be made, if any. False: the user is gone.
    fn go_to(
        &mut self,
        key: UserKey,
        mut next: Option<u32>,
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> bool {
        while let Some(request) = next {
            let step = &self.steps[request as usize];
            let user = &mut self.table[key as usize];
            (user.request, user.made, next) = (request, 0, step.next);
            let (low, high) = step.repeat;
            let span = u128::from(high - low) + 1;
            let count =
                low + candor_pace::below(span, draw_for(self.seed, user, Purpose::Repeat)) as u32;
            let was_made = step.once.is_some_and(|number| user.made_once[number]);
            if count == 0 || was_made || !is_met(step, user, self.filling.as_mut()) {
                continue;
            }
            let is_unset = |variable: &&u32| user.memory.value(**variable).is_none();
            let unset = step.needs.iter().find(is_unset).copied().map(StepFailure::Unset);
            if let Some(why) = unset.or_else(|| self.unfit(key).map(StepFailure::Unfit)) {
                match self.note_failure(key, why, at_ns, recorder) {
                    None => return false,
                    Some(_) => continue,
                }
            }
            self.table[key as usize].left = count - 1;
            self.think(key, at_ns, recorder);
            return true;
        }
        let user = &mut self.table[key as usize];
        if user.state == State::Ending {
            return self.go_on_ending(key, at_ns, recorder);
        }
        user.start(at_ns, recorder);
        if user.phase == Phase::Measured {
            let took_ns = at_ns.saturating_sub(user.arrived_ns);
            recorder.user_completed(at_ns, user.journey, took_ns, user.thought_ns);
        }
        self.leave(key, at_ns, recorder);
        false
    }

    /// The variable whose value does not fit into the message of the present step, if any does not. What the server
    /// said decides, so the step fails, and not the run.
    fn unfit(&mut self, key: UserKey) -> Option<u32> {
        let user = &self.table[key as usize];
        let filling = self.filling.as_mut().filter(|filling| filling.has_messages(user.request))?;
        let needs_any = !self.steps[user.request as usize].needs.is_empty();
        if needs_any { filling.unfit(user.request, user.owner()) } else { None }
    }

    /// The present step is due when the user has thought.
    fn think(&mut self, key: UserKey, at_ns: u64, recorder: &mut Recorder) {
        if self.is_interrupted(key) {
            return self.interrupt(key, at_ns, recorder);
        }
        let user = &mut self.table[key as usize];
        // Before the first step nobody thinks, and when the run is over nobody does.
        let think_ns = match user.state {
            State::Come | State::Ending => 0,
            _ => {
                let bits = draw_for(self.seed, user, Purpose::Think);
                plan::think_ns(self.steps[user.request as usize].think, bits)
            }
        };
        user.thought_ns = user.thought_ns.saturating_add(think_ns);
        self.wheel.put(at_ns.saturating_add(think_ns), key);
    }

    /// Whether requests that are due at this time count.
    pub(crate) fn phase(&self, due_ns: u64) -> Phase {
        phase_at(due_ns, self.warm_up_ns)
    }
}

impl User {
    /// A place in the table.
    fn nobody(variables: usize) -> Self {
        User {
            index: 0,
            first: 0,
            made_once: [].into(),
            begun: [].into(),
            arrived_ns: 0,
            thought_ns: 0,
            request: 0,
            made: 0,
            left: 0,
            journey: 0,
            phase: Phase::WarmUp,
            state: State::Gone,
            memory: Memory::new(variables),
            own: Own::NOTHING,
            path: Vec::new(),
            sent: Sent::default(),
            stream: Stream::default(),
        }
    }

    /// The first step leaves, or would have.
    fn start(&mut self, at_ns: u64, recorder: &mut Recorder) {
        if self.state == State::Come {
            self.state = State::Started;
            if let Some(begun) = self.begun.get_mut(self.journey as usize) {
                *begun = true;
            }
            if self.phase == Phase::Measured {
                recorder.user_started(at_ns, self.journey);
            }
        }
    }

    fn owner(&self) -> Owner<'_> {
        let (memory, last_event_id) = (Some(&self.memory), &self.stream.last_id[..]);
        let User { index, first, made, .. } = *self;
        Owner { index, first, repetition: made, memory, cookies: None, last_event_id }
    }
}

/// What is drawn for a user.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Repeat,
    Think,
}

/// Random bits for this step of a user.
fn draw_for(seed: u64, user: &User, purpose: Purpose) -> u64 {
    let of_user = draw(seed, STREAM + purpose as u64, user.index);
    draw(of_user, user.request.into(), user.made.into())
}

/// Whether a step is to be made.
fn is_met(step: &Step, user: &User, filling: Option<&mut Filling>) -> bool {
    let (Some(when), Some(filling)) = (&step.when, filling) else { return true };
    !filling.text(when, user.owner()).is_empty()
}
