//! Credentials of requests: taken before a run begins, and taken anew beside it before they expire.
//!
//! Each has a thread of its own, which asks a token server ([`server`]), runs a command ([`command`]) or reads a file, and
//! gives the engine what requests have from then on. A credential that cannot be taken at first keeps the run from
//! beginning; later the old one stays, the caller is told, and it is tried again, less and less often. Nothing here is
//! on the measured path, and every attempt is bounded in time and memory.

mod command;
mod server;
mod value;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use candor_engine::{Control, EngineError};
use candor_plan::redact::Hidden;
use candor_plan::{Credential, CredentialSource, Plan};
use candor_record::CredentialCounts;

use self::server::Server;
use self::value::{Fault, Taken};
use crate::error::LabError;
use crate::question::{MOST_BYTES, PATIENCE};

/// Nothing is taken more often than this, whatever a server says.
const LEAST: Duration = Duration::from_millis(250);
/// The longest pause after a failure.
const MOST_PAUSE: Duration = Duration::from_secs(30);
/// The longest time before its end at which a credential is taken anew.
const MOST_AHEAD: Duration = Duration::from_secs(60);
/// From one look at a file to the next.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// From one look for a signal to the next, before the run.
const TURN: Duration = Duration::from_millis(20);

/// What the caller is told while credentials are taken.
#[derive(Debug)]
pub enum Said<'a> {
    /// This text is secret from now on.
    Secret(&'a str),
    /// A sentence about a credential that could not be taken anew.
    Notice(&'a str),
}

/// Hears what is said; from other threads too.
pub type Hear = fn(Said<'_>);

/// The credentials of a run.
#[derive(Debug)]
pub struct Credentials {
    keepers: Vec<(Arc<Shared>, JoinHandle<()>)>,
}

impl Credentials {
    /// Takes the credentials of `plan`, and keeps them until [`Credentials::finish`]; `None`: it has none. `control` is
    /// the run's, which has them from now on; a stop of it ends the wait for them.
    ///
    /// # Errors
    /// One of them cannot be taken.
    pub fn take(plan: &Plan, control: &Control, hear: Hear) -> Result<Option<Self>, LabError> {
        let of_targets = plan.targets().zip(0..);
        let with = of_targets.filter_map(|(target, number)| {
            let taken = target.auth.as_ref().filter(|one| one.is_taken())?;
            Some(Holder::new(plan, number, &target.name, taken, hear))
        });
        let holders = with.collect::<Result<Vec<_>, _>>()?;
        if holders.is_empty() {
            return Ok(None);
        }
        let all = Arc::new(candor_engine::Credentials::new(plan.targets().count()));
        let mut taken = Credentials { keepers: Vec::new() };
        let (tell, told) = channel();
        let mut missing = holders.len();
        for holder in holders {
            let shared = Arc::new(Shared::new(holder.counts()));
            let (own, all, tell) = (Arc::clone(&shared), Arc::clone(&all), tell.clone());
            let keeper = thread::Builder::new().spawn(move || keep(holder, &own, &all, tell));
            let keeper = keeper.map_err(|error| no_thread(&error))?;
            taken.keepers.push((shared, keeper));
        }
        drop(tell);
        while missing > 0 {
            match told.recv_timeout(TURN) {
                Ok(first) => {
                    first?;
                    missing -= 1;
                }
                Err(RecvTimeoutError::Timeout) if !control.is_stopping() => {}
                Err(_) => return Err(LabError::Interrupted),
            }
        }
        control.give(all);
        Ok(Some(taken))
    }

    /// Ends the renewals, and says how they went.
    pub fn finish(mut self) -> Vec<CredentialCounts> {
        let keepers = self.end();
        keepers.iter().map(|shared| shared.lock().counts.clone()).collect()
    }

    fn end(&mut self) -> Vec<Arc<Shared>> {
        self.keepers.iter().for_each(|(shared, _)| shared.end());
        let keepers = self.keepers.drain(..);
        let ended = keepers.map(|(shared, thread)| {
            // A panic of the thread was reported on the standard error.
            let _ = thread.join();
            shared
        });
        ended.collect()
    }
}

impl Drop for Credentials {
    fn drop(&mut self) {
        self.end();
    }
}

fn no_thread(error: &std::io::Error) -> LabError {
    EngineError::System { what: "start a thread", reason: error.to_string() }.into()
}

/// What the thread of a credential shares with who waits for it.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    is_over: bool,
    counts: CredentialCounts,
    /// The request to a server that is under way.
    asking: Option<Arc<Control>>,
}

impl Shared {
    fn new(counts: CredentialCounts) -> Self {
        let state = State { is_over: false, counts, asking: None };
        Shared { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        // The second stop is at once.
        state.asking.iter().for_each(|asking| (0..2).for_each(|_| asking.stop()));
        drop(state);
        self.changed.notify_all();
    }

    fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// The control of a request, which ends with the run; `None`: that is over.
    fn begin_to_ask(&self) -> Option<Arc<Control>> {
        let mut state = self.lock();
        let control = Arc::new(Control::default());
        state.asking = Some(Arc::clone(&control));
        (!state.is_over).then_some(control)
    }

    /// Waits for so long; false: the run is over.
    fn wait(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.lock();
        while !state.is_over {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

/// How one credential is taken.
struct Holder {
    target: String,
    number: usize,
    credential: Credential,
    server: Option<Server>,
    /// Of the file, when it was read.
    seen: Option<value::Stamp>,
    /// What no error may have in it, should a server repeat it.
    hidden: Hidden,
    hear: Hear,
}

impl Holder {
    fn new(
        plan: &Plan,
        number: usize,
        target: &str,
        credential: &Credential,
        hear: Hear,
    ) -> Result<Self, LabError> {
        let server = match &credential.from {
            CredentialSource::Oauth2 { server, id, secret, scope } => {
                Some(Server::new(plan, server, id, secret, scope.as_deref())?)
            }
            _ => None,
        };
        let (target, credential) = (target.to_owned(), credential.clone());
        let hidden = Hidden::of(plan);
        Ok(Holder { target, number, credential, server, seen: None, hidden, hear })
    }

    fn counts(&self) -> CredentialCounts {
        let (target, kind) = (self.target.clone(), self.credential.kind().to_owned());
        CredentialCounts { target, kind, ..CredentialCounts::default() }
    }

    /// Takes it once.
    fn take(&mut self, shared: &Shared) -> Result<Taken, LabError> {
        let begun = Instant::now();
        let taken = match (&mut self.server, &self.credential.from) {
            (Some(server), _) => server.take(shared),
            (None, CredentialSource::Command(words)) => {
                command::run(words, shared).and_then(|said| Taken::read(&said))
            }
            (None, CredentialSource::File(path)) => {
                self.seen = value::stamp(path);
                value::of_file(path)
            }
            // A key that signs is not taken, and each of the others has a server.
            (None, CredentialSource::Oauth2 { .. } | CredentialSource::AwsSigv4(_)) => {
                Err("it has no server".to_owned().into())
            }
        };
        let took_ns = begun.elapsed().as_nanos().min(u64::MAX.into()) as u64;
        let mut state = shared.lock();
        let is_over = state.is_over;
        let counts = &mut state.counts;
        if !is_over {
            counts.took_ns = counts.took_ns.saturating_add(took_ns);
            counts.longest_ns = counts.longest_ns.max(took_ns);
        }
        match taken {
            Ok(taken) => {
                counts.taken += 1;
                drop(state);
                let token = &taken.field[taken.token_at..];
                for token in [token].into_iter().chain(taken.refresh.as_deref()) {
                    self.hidden.add(token.as_bytes());
                    (self.hear)(Said::Secret(token));
                }
                Ok(taken)
            }
            // The run has ended it.
            Err(_) if is_over => Err(LabError::Interrupted),
            Err(fault) => {
                counts.failed += 1;
                let problem = self.hidden.text(&fault.to_string()).into_owned();
                counts.problem = Some(problem.clone());
                Err(match fault {
                    // That a host is not allowed is no affair of the credential.
                    Fault::Engine(error) if error.is_usage() => error.into(),
                    _ => {
                        let (target, kind) = (self.target.clone(), self.credential.kind());
                        LabError::Credential { target, kind, problem }
                    }
                })
            }
        }
    }

    /// When it is taken anew, from when it was begun to be taken; `None`: when its file changes, or never.
    fn due(&self, taken: &Taken) -> Option<Duration> {
        let said = taken.lives.map(|lives| lives - (lives / 3).min(MOST_AHEAD));
        let every = self.credential.every_ns.map(Duration::from_nanos);
        every.or(said).map(|due| due.max(LEAST))
    }
}

/// Takes a credential, says how that went the first time, and takes it anew until the run is over.
fn keep(
    mut holder: Holder,
    shared: &Shared,
    all: &candor_engine::Credentials,
    first: Sender<Result<(), LabError>>,
) {
    let mut begun = Instant::now();
    let mut taken = match holder.take(shared) {
        Ok(taken) => taken,
        Err(error) => return drop(first.send(Err(error))),
    };
    all.put(holder.number, taken.field.as_bytes());
    // Who asked for it waits for all of them.
    let _ = first.send(Ok(()));
    let mut failures = 0u32;
    while wait(&holder, shared, begun, &taken, failures) {
        let again = Instant::now();
        match holder.take(shared) {
            Ok(new) => {
                (begun, taken, failures) = (again, new, 0);
                all.put(holder.number, taken.field.as_bytes());
            }
            Err(LabError::Interrupted) => return,
            Err(error) => {
                if failures == 0 {
                    let line = format!("{error}; the old one stays, and it is tried again");
                    (holder.hear)(Said::Notice(&line));
                }
                failures = failures.saturating_add(1);
            }
        }
    }
}

/// Waits until a credential is to be taken anew; false: the run is over.
fn wait(holder: &Holder, shared: &Shared, begun: Instant, taken: &Taken, failures: u32) -> bool {
    if failures > 0 {
        return shared.wait((LEAST * (1 << (failures - 1).min(16))).min(MOST_PAUSE));
    }
    if let CredentialSource::File(path) = &holder.credential.from {
        while shared.wait(LOOK_AGAIN) {
            if value::stamp(path) != holder.seen {
                return true;
            }
        }
        return false;
    }
    match holder.due(taken) {
        Some(due) => shared.wait((begun + due).saturating_duration_since(Instant::now())),
        // Until the run is over.
        None => shared.wait(Duration::from_secs(u32::MAX.into())),
    }
}

#[cfg(test)]
mod tests;
