//! Carries out the tasks of an agent: resolves names, and runs shares with the engine.
//!
//! A run has a thread of its own, which collects and hands over what the engine finishes; the agent's thread
//! hears of it in its next turn. Nothing here decides whether something may run.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use candor_engine::{Control, Course, Observer, Part, keep_to_cores};
use candor_fleet::agent::{Agent, Event, Now, read_plan, record_bytes};
use candor_fleet::{DataFile, Digest, Refusal, RunKey};
use candor_plan::Plan;
use candor_record::Workers;

use super::files::Files;
use crate::{console, scripting};

/// A report about a run.
struct Said {
    key: RunKey,
    what: What,
}

enum What {
    Read(Result<Box<Plan>, Refusal>),
    Found(Result<Vec<DataFile>, String>),
    Sealed(Result<(), String>),
    Resolved(Result<Vec<IpAddr>, String>),
    Connected(u32),
    Interval(Vec<u8>),
    Ended(Result<Vec<u8>, String>),
}

/// The run that is going on.
struct Active {
    key: RunKey,
    control: Arc<Control>,
    thread: JoinHandle<()>,
    /// The agent knows that it has sent everything.
    has_sent: bool,
}

/// Carries out the tasks of an agent.
pub(super) struct Host {
    cores: Vec<usize>,
    files: Files,
    active: Option<Active>,
    tell: Sender<Said>,
    said: Receiver<Said>,
}

impl Host {
    /// Runs may use these cores, and data files that are kept here.
    pub(super) fn new(cores: Vec<usize>, files: Files) -> Self {
        let (tell, said) = channel();
        Host { cores, files, active: None, tell, said }
    }

    /// Takes a task.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Resolve { key, host } => self.resolve(key, host),
            Event::Read { key, bytes, digest } => self.read(key, bytes, digest),
            Event::Find { key, files } => {
                let missing = self.files.missing(&files);
                self.tell(key, What::Found(missing));
            }
            Event::Piece { of, index, bytes, .. } => self.files.take(of, index, &bytes),
            Event::Seal { key, of } => self.seal(key, of),
            Event::Prepare { key, plan, workers } => self.prepare(key, &plan, workers),
            Event::Start { key, go } => {
                self.with(key, |control| control.begin_at(go.origin_ns));
            }
            Event::SendUntil { key, until_ns } => {
                self.with(key, |control| control.send_until(until_ns));
            }
            Event::Stop { key, at_once: false } => self.with(key, Control::stop),
            Event::Stop { key, at_once: true } => self.with(key, abandon),
            Event::Abandon { key } => {
                self.files.forget();
                self.with(key, abandon);
            }
            Event::Audit(_) => {}
        }
    }

    fn tell(&self, key: RunKey, what: What) {
        // The receiver is this one's own.
        let _ = self.tell.send(Said { key, what });
    }

    fn with(&self, key: RunKey, act: impl FnOnce(&Control)) {
        if let Some(active) = self.active.as_ref().filter(|one| one.key == key) {
            act(&active.control);
        }
    }

    /// Ends what is going on.
    pub(super) fn end(&mut self) {
        if let Some(active) = self.active.take() {
            abandon(&active.control);
            // A panic of the thread was reported on the standard error.
            let _ = active.thread.join();
        }
    }

    /// Resolves a name in a thread of its own, because that may take long.
    fn resolve(&self, key: RunKey, host: String) {
        let tell = self.tell.clone();
        thread::spawn(move || {
            let found = (host.as_str(), 0).to_socket_addrs();
            let found = found.map(|all| all.map(|one| one.ip()).collect());
            let what = What::Resolved(found.map_err(|error| format!("{host}: {error}")));
            let _ = tell.send(Said { key, what });
        });
    }

    /// Reads a plan in a thread of its own, because that may take long.
    fn read(&self, key: RunKey, bytes: Vec<u8>, digest: Digest) {
        let tell = self.tell.clone();
        thread::spawn(move || {
            let _ = tell.send(Said { key, what: What::Read(read_plan(&bytes, digest)) });
        });
    }

    /// Checks a data file in a thread of its own, because that may take long.
    fn seal(&mut self, key: RunKey, of: Digest) {
        let (tell, seal) = (self.tell.clone(), self.files.seal(of));
        thread::spawn(move || {
            let _ = tell.send(Said { key, what: What::Sealed(seal()) });
        });
    }

    fn prepare(&mut self, key: RunKey, plan: &Plan, workers: Workers) {
        // An abandoned run ends at once.
        self.end();
        // Of the plan's own paths none is opened.
        let plan = plan.with(|parts| {
            for set in &mut parts.data {
                if let Some(Ok(file)) = DataFile::of(set) {
                    set.file = self.files.path(file.digest);
                }
            }
        });
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => return self.tell(key, What::Ended(Err(error.to_string()))),
        };
        let control = Arc::new(Control::default());
        control.hold();
        let (tell, cores, own) = (self.tell.clone(), self.cores.clone(), Arc::clone(&control));
        let thread = thread::spawn(move || {
            // It has inherited the cores of the agent's thread.
            keep_to_cores(&cores);
            let ended = run(&plan, key, workers, &own, &tell);
            let _ = tell.send(Said { key, what: What::Ended(ended) });
        });
        self.active = Some(Active { key, control, thread, has_sent: false });
    }

    /// Reports to the agent what has happened since the last time.
    pub(super) fn report(&mut self, agent: &mut Agent, now: fn() -> Now) {
        while let Ok(Said { key, what }) = self.said.try_recv() {
            match what {
                What::Read(read) => agent.handle_read(now(), key, read),
                What::Found(missing) => agent.handle_found(now(), key, missing),
                What::Sealed(sealed) => agent.handle_sealed(now(), key, sealed),
                What::Resolved(Ok(found)) => agent.handle_resolved(now(), key, Ok(&found)),
                What::Resolved(Err(why)) => agent.handle_resolved(now(), key, Err(why)),
                What::Connected(count) => agent.handle_prepared(now(), key, Ok(count)),
                What::Interval(bytes) => agent.handle_interval(now(), key, &bytes),
                What::Ended(ended) => {
                    // A run that ends before it begins could not be prepared.
                    if let Err(why) = &ended {
                        agent.handle_prepared(now(), key, Err(why.clone()));
                    }
                    let ended = ended.as_deref().map_err(Clone::clone);
                    agent.handle_ended(now(), key, ended);
                }
            }
        }
        if let Some(active) = self.active.as_mut().filter(|one| !one.has_sent)
            && active.control.course() == Course::SentAll
        {
            active.has_sent = true;
            agent.handle_draining(now(), active.key);
        }
    }
}

/// The first stop ends a run in order, the second at once.
fn abandon(control: &Control) {
    control.stop();
    control.stop();
}

/// Runs a share to its end; returns the bytes of its record.
fn run(
    plan: &Plan,
    key: RunKey,
    workers: Workers,
    control: &Control,
    tell: &Sender<Said>,
) -> Result<Vec<u8>, String> {
    // Scripts are loaded for each thread of the whole run.
    let plan = plan.with(|parts| parts.threads.count = Some(workers.of));
    let plan = plan.map_err(|error| error.to_string())?;
    let part = Part { workers, begins_at_ns: 0 };
    let mut teller = Teller { key, tell };
    let made = scripting::run(&plan, part, control, &mut teller);
    let record = made.and_then(scripting::Scripted::record);
    record.map(|record| record_bytes(&record)).map_err(|error| crate::remedy::told(&error))
}

/// Hands over what the engine finishes.
struct Teller<'a> {
    key: RunKey,
    tell: &'a Sender<Said>,
}

impl Teller<'_> {
    fn tell(&self, what: What) {
        // The agent's thread outlives the run.
        let _ = self.tell.send(Said { key: self.key, what });
    }
}

impl Observer for Teller<'_> {
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        console::public_target(host, addresses);
    }

    fn connected(&mut self, established: u32) {
        self.tell(What::Connected(established));
    }

    fn takes_intervals(&self) -> bool {
        true
    }

    fn finished(&mut self, interval: Vec<u8>) {
        self.tell(What::Interval(interval));
    }
}
