//! A run by a fleet: drives the coordinator between its link and its clock until there is an outcome.
//!
//! It runs on the thread that would otherwise collect the intervals of a run, and shows them to the same
//! observer. It decides nothing: what a silence, a refusal or a loss means is the state machine's.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_engine::{Control, EngineError, Observer, monotonic_ns};
use candor_files::is_private;
use candor_fleet::codec::PIECE_BYTES;
use candor_fleet::coordinator::{
    Coordinator, Event, OnLoss, Outcome, Settings, Stage, Verdict, Void,
};
use candor_fleet::{
    AgentName, DataFile, Hasher, Head, MOST_DATA_BYTES, Message, RunId, RunKey, Threads, Timings,
    in_one_line,
};
use candor_fleet_nats::{Arrival, Link};
use candor_lab::{LabError, alternatives};
use candor_plan::Plan;
use candor_plan::units::fmt_plural;
use candor_plan::words::quoted;
use candor_record::RunRecord;

use super::{Fleet, OPERATOR, Open, folder, outdated, runs};
use crate::console;

/// How long a grant may wait to be used.
const GRANT_S: u64 = 120;
/// The longest wait for a message, after which signals are heard.
const TURN: Duration = Duration::from_millis(20);

impl Fleet {
    /// Makes a run of `plan` on the agents, and returns its merged record.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, LabError> {
        observer.prepares(plan);
        let rows = candor_engine::rows_limit(plan)?;
        let plan = &*alternatives::follow(plan, control)?;
        let (plan, files) = &naming(plan, control)?;
        // The lists of this machine count too, as far as the name is known here.
        match candor_engine::public_addresses(plan.targets()) {
            Ok(public) => {
                public.iter().for_each(|(host, addresses)| observer.goes_public(host, addresses));
            }
            Err(EngineError::Resolve { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let id = RunId(folder::random().map_err(|error| failed(&error))?);
        let settings = self.settings(RunKey { run: id, epoch: 0 }, plan, rows)?;
        let coordinator = Coordinator::new(settings, monotonic_ns());
        let sent = Sent { plan, rows, files };
        self.drive(coordinator, id, (plan, Some(sent)), control, observer)
    }

    /// Makes the record of a run whose own coordinator died, from what agents and the broker's stream have.
    pub(crate) fn recall(&self, open: &Open, control: &Control) -> Result<RunRecord, LabError> {
        let settings = self.settings(open.key, &open.plan, open.rows)?;
        let coordinator = Coordinator::recall(settings, open.shares.clone(), monotonic_ns());
        self.drive(coordinator, open.key.run, (&open.plan, None), control, &mut ())
    }

    fn settings(&self, key: RunKey, plan: &Plan, rows: Option<u64>) -> Result<Settings, LabError> {
        Ok(Settings {
            key,
            plan: plan.clone(),
            rows,
            wanted: self.wanted.clone(),
            threads: Threads::ByCores,
            on_loss: self.on_loss,
            operator: self.operator.key(),
            nonce: folder::random().map_err(|error| failed(&error))?,
            expires_unix_s: folder::unix_s().saturating_add(GRANT_S),
            timings: Timings::default(),
        })
    }

    fn drive(
        &self,
        coordinator: Coordinator,
        id: RunId,
        (plan, sent): (&Plan, Option<Sent<'_>>),
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, LabError> {
        let link =
            Link::of_coordinator(&self.operator.broker, id).map_err(|error| failed(&error))?;
        // With journeys the schedule is one of users.
        let what = if plan.work.journeys().is_empty() { "request" } else { "user" };
        let driven = Driven {
            fleet: self,
            coordinator,
            link,
            id,
            sent,
            kept: None,
            has_begun: false,
            stops: 0,
            is_away: false,
            troubles: BTreeSet::new(),
        };
        let Outcome { verdict, losses, record, may_have_sent, .. } =
            driven.drive(control, observer);
        let lost = losses.iter().filter(|(_, _, unaccounted)| *unaccounted > 0);
        for (agent, _, unaccounted) in lost {
            console::say(format_args!(
                "candor: agent {agent}: {} unaccounted for",
                fmt_plural(*unaccounted, what)
            ));
        }
        match (verdict, record) {
            (Verdict::Void(why), _) if may_have_sent => Err(failed(&format_args!(
                "{why}; agents may have sent requests before they stopped"
            ))),
            (Verdict::Void(why), _) => Err(failed(&why)),
            (_, Some(record)) => {
                Ok(RunRecord { alternatives: alternatives::found(plan), ..record })
            }
            (_, None) => Err(LabError::Fleet("it has no record".to_owned())),
        }
    }
}

/// The plan as agents are sent it, which says by their content which data files it has, and these files.
fn naming(plan: &Plan, control: &Control) -> Result<(Plan, Vec<(DataFile, Source)>), LabError> {
    let mut left = MOST_DATA_BYTES;
    let mut files = Vec::new();
    for set in &plan.data {
        let path = set.file.clone();
        let of_file = |error: std::io::Error| failed(&format!("{}: {error}", path.display()));
        let mut file = File::open(&path).map_err(of_file)?;
        let (mut hasher, mut bytes) = (Hasher::default(), 0);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = file.read(&mut piece).map_err(of_file)?;
            if read == 0 {
                break;
            }
            if control.is_stopping() {
                return Err(failed(&"it was stopped before the start"));
            }
            hasher.update(&piece[..read]);
            bytes += read as u64;
            left = left.checked_sub(read as u64).ok_or_else(|| {
                let path = path.display();
                failed(&format!("{path}: agents are sent up to 1 GiB of data; take fewer rows"))
            })?;
        }
        let named = DataFile { digest: hasher.digest(), bytes };
        files.push((named, Source { path, file }));
    }
    let naming = plan.with(|parts| {
        for (set, (file, _)) in parts.data.iter_mut().zip(&files) {
            set.content = Some(file.content());
        }
    });
    Ok((naming.map_err(|error| failed(&error))?, files))
}

fn failed(error: &dyn std::fmt::Display) -> LabError {
    // Much of it is the text of other machines.
    LabError::Fleet(in_one_line(&error.to_string()))
}

/// What agents are sent.
#[derive(Clone, Copy)]
struct Sent<'a> {
    plan: &'a Plan,
    /// How many of its requests, or users, have a row of data.
    rows: Option<u64>,
    files: &'a [(DataFile, Source)],
}

/// A data file of this machine.
struct Source {
    path: PathBuf,
    file: File,
}

/// A coordinator with its link.
struct Driven<'a> {
    fleet: &'a Fleet,
    coordinator: Coordinator,
    link: Link<RunId>,
    id: RunId,
    /// What agents of a run that is made now are sent; `None`: its results are recalled.
    sent: Option<Sent<'a>>,
    /// What a recall needs if this process dies, besides the results.
    kept: Option<runs::Kept>,
    has_begun: bool,
    /// How many stops it was told.
    stops: u8,
    /// The broker cannot be reached.
    is_away: bool,
    /// Problems of the broker that were reported.
    troubles: BTreeSet<String>,
}

impl Driven<'_> {
    fn drive(mut self, control: &Control, observer: &mut dyn Observer) -> Outcome {
        let mut outcome = None;
        self.make_stream();
        while let Some(due_ns) = self.coordinator.poll_timeout() {
            self.hear_stops(control);
            if due_ns <= monotonic_ns() {
                self.coordinator
                    .handle_timeout(monotonic_ns(), &mut |stretch| observer.stretch(stretch));
            }
            while let Some((to, message)) = self.coordinator.poll_transmit() {
                self.link.send(&to, &message);
            }
            while let Some((agent, after)) = self.coordinator.poll_fetch() {
                self.link.fetch(agent, after);
            }
            while let Some(event) = self.coordinator.poll_event() {
                match event {
                    Event::Over(over) => outcome = Some(*over),
                    event => self.tell(event, control, observer),
                }
            }
            let left = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
            if let Some(arrival) = self.link.recv(left.min(TURN)) {
                self.take(arrival, observer);
            }
        }
        let outcome: Outcome = outcome.expect("a coordinator ends with an outcome");
        match (outcome.record.is_some(), outcome.keeps) {
            (true, false) => self.link.forget(),
            (true, true) if self.sent.is_some() => self.leave_open(observer),
            _ => {}
        }
        outcome
    }

    /// The record lacks results that agents may still have; asking again later may get them.
    fn leave_open(&mut self, observer: &mut dyn Observer) {
        if let Some(kept) = self.kept.take() {
            kept.stay();
            let folder = &self.fleet.operator.folder;
            let operator = match folder == Path::new(OPERATOR) {
                true => String::new(),
                false => format!(" --operator {}", quoted(&folder.to_string_lossy())),
            };
            let text = format!(
                "agents keep results that this one lacks; once they are heard, `candor fleet report {}{operator}` makes it again",
                self.id
            );
            say(observer, &text);
        }
    }

    /// A run has a copy of its results at the broker, which may be a new one after each connection.
    fn make_stream(&self) {
        if self.sent.is_some() {
            self.link.make_stream();
        }
    }

    /// The first signal stops the run, the second one waits for no response.
    fn hear_stops(&mut self, control: &Control) {
        if control.is_stopping() && self.stops == 0 {
            self.stops = 1;
            self.coordinator.stop(monotonic_ns());
        }
        if control.is_impatient() && self.stops == 1 {
            self.stops = 2;
            self.coordinator.end_soon(monotonic_ns());
        }
    }

    fn take(&mut self, arrival: Arrival, observer: &mut dyn Observer) {
        match arrival {
            Arrival::Message { from: Some(from), message } => {
                self.coordinator.handle_message(monotonic_ns(), &from, *message);
            }
            Arrival::Unreadable { from: Some(from), why } => {
                self.coordinator.handle_unreadable(&from, &why);
            }
            // Only agents can send to a coordinator.
            Arrival::Message { from: None, .. } | Arrival::Unreadable { from: None, .. } => {}
            Arrival::Stored { agent, after, found } => {
                let found = found.map(|(number, message)| (number, message.map(|one| *one)));
                self.coordinator.handle_stored(monotonic_ns(), &agent, after, found);
            }
            Arrival::Stream(Ok(())) => {}
            Arrival::Stream(Err(why)) => self.say_once(
                observer,
                format!("the broker keeps no copy of results, agents alone keep them: {why}"),
            ),
            Arrival::Connected if !self.is_away => {}
            Arrival::Connected => {
                self.is_away = false;
                self.make_stream();
                say(observer, "the broker is back");
            }
            Arrival::Disconnected => {
                self.is_away = true;
                say(observer, "the broker cannot be reached; trying again");
            }
            Arrival::Outdated(version) if !self.fleet.operator.broker.is_on_this_machine() => {
                self.say_once(observer, outdated(&version));
            }
            Arrival::Outdated(_) => {}
            Arrival::Trouble(why) => self.say_once(observer, format!("the broker says: {why}")),
        }
    }

    /// Sends a chunk of a data file.
    fn send_piece(&mut self, to: &AgentName, head: Head, file: DataFile, index: u32) {
        let files = self.sent.map_or(&[][..], |sent| sent.files);
        let Some((_, source)) = files.iter().find(|(one, _)| *one == file) else { return };
        let begins = u64::from(index) * PIECE_BYTES as u64;
        let length = file.bytes.saturating_sub(begins).min(PIECE_BYTES as u64);
        let mut bytes = vec![0; length as usize];
        match source.file.read_exact_at(&mut bytes, begins) {
            Ok(()) => {
                self.link.send(to, &Message::Chunk { head, of: file.digest, index, bytes });
            }
            Err(error) => {
                let why = format!("{}: {error}", source.path.display());
                self.coordinator.handle_lost_file(monotonic_ns(), why);
            }
        }
    }

    fn say_once(&mut self, observer: &mut dyn Observer, line: String) {
        if self.troubles.len() < 16 && !self.troubles.contains(&line) {
            say(observer, &line);
            self.troubles.insert(line);
        }
    }

    /// If this process dies, `candor fleet report` needs plan and shares.
    fn keep(&mut self) {
        let Some(Sent { plan, rows, .. }) = self.sent else { return };
        let folder = &self.fleet.operator.folder;
        // That of an attempt before is no more.
        self.kept = None;
        // The whole fleet ends with this process.
        if is_private(folder) {
            return;
        }
        let shares = self.coordinator.shares();
        match runs::Kept::keep(folder, self.coordinator.key(), plan, rows, &shares) {
            Ok(kept) => self.kept = Some(kept),
            Err(error) => console::say(format_args!(
                "candor: the plan is not kept in {}: {error}; `candor fleet report` will not know this run",
                folder.display()
            )),
        }
    }

    fn tell(&mut self, event: Event, control: &Control, observer: &mut dyn Observer) {
        match event {
            Event::Stage(Stage::Reserving) => self.keep(),
            Event::Stage(Stage::Armed) => {
                // The whole fleet is one sender to those who look on.
                control.will_send(1);
                control.begins(self.coordinator.origin_ns());
                observer.begins(self.coordinator.origin_ns());
                self.has_begun = true;
            }
            Event::Stage(Stage::Settling) if self.has_begun => control.has_sent(),
            Event::Stage(_) | Event::Over(_) => {}
            Event::Gathers(Void::TooFewAgents { wanted, found, others }) => {
                say(observer, &format!("{found} of {wanted} agents are free until now{others}"));
            }
            Event::Gathers(_) => {}
            Event::Piece { to, head, file, index } => self.send_piece(&to, head, file, index),
            Event::Sending { percent } => {
                say(
                    observer,
                    &format!("{percent} % of the plan and its data are sent to the agents"),
                );
            }
            Event::Awaits(agent) => say(
                observer,
                &format!(
                    "agent {agent} is silent and may keep results: it is waited for; Ctrl-C ends this"
                ),
            ),
            Event::Suspect(agent) => {
                say(observer, &format!("agent {agent} has been silent for a while"));
            }
            Event::HeardAgain(agent) => {
                say(observer, &format!("agent {agent} is heard again"));
            }
            Event::Lost(agent, why) => {
                let then = match self.fleet.on_loss {
                    // Those of a recall have ended.
                    _ if self.sent.is_none() => "",
                    OnLoss::Stop => "; all agents stop",
                    OnLoss::Continue => "; the others continue",
                };
                say(observer, &format!("agent {agent} is lost: {why}{then}"));
            }
        }
    }
}

/// Says something to the user and to a live view, which has the terminal for itself.
fn say(observer: &mut dyn Observer, line: &str) {
    let line = &in_one_line(line);
    console::say(format_args!("candor: {line}"));
    observer.notice(line);
}
