//! The seam for scripts: what a thread asks of one, and what it does with the responses.
//!
//! The engine knows no script language. The caller of a run with a script hands in one [`Script`]
//! for each thread; a run without scripts has none and pays for none. A script must not do I/O on
//! the engine's connections; it makes requests as text, is shown responses, and may pause a
//! connection or stop its thread.

mod callers;

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use candor_pace::Share;
use candor_plan::Request;
use candor_protocol::made::Batch;
use candor_protocol::{Capture, CaptureRoom, Captured, Outgoing, RequestId};
use candor_record::EndReason;

use self::callers::Callers;
pub use super::filling::DataRows;
use super::filling::{Filling, Owner};
use crate::flight::{Departure, Ended};

/// A worker has room for this number of the longest bodies that are kept for a script.
const BODIES_AT_A_TIME: usize = 16;

/// One thread's script.
pub trait Script: Send {
    /// The one request that it sends always, in the place of the plan's; `None`: the plan's, or
    /// requests that it makes.
    fn request(&self) -> Option<&Request>;

    /// Where its thread connects to, in the place of the plan's target.
    fn destination(&self) -> Option<Destination>;

    /// Which of the functions below are to be called at all.
    fn calls(&self) -> Calls;

    /// The longest body that is kept for [`Script::answer`], in bytes.
    fn body_limit(&self) -> u64;

    /// Is given the rows of the plan's data sets before the run, if the plan has any.
    fn take_rows(&mut self, rows: DataRows);

    /// Makes the next requests: all of them have the user of this call.
    fn make(&mut self, whose: Whose, batch: &mut Batch) -> Result<Next, Failed>;

    /// Is shown a response, of the user whose request it responds to.
    fn answer(&mut self, whose: Whose, status: u16, answer: Captured<'_>) -> Result<Next, Failed>;

    /// How long a connection pauses before its next requests.
    fn delay_ns(&mut self, whose: Whose) -> Result<u64, Failed>;

    /// Every request of this user has its outcome, and nothing more is called for it. Users of a closed load do
    /// not leave.
    fn leave(&mut self, user: u64);

    /// The engine cannot do what the script asks for: after an upgrade to HTTP/2 a script neither makes
    /// requests nor reads responses.
    fn refuse_upgrade(&mut self);
}

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose {
    /// The connection, numbered from 0 in its thread. One that replaces another has its number.
    pub connection: u32,
    /// The user, numbered from 0 in the whole load. In a closed load each connection is a user; in an open one each
    /// call of [`Script::make`] has a new user, whose number is the index of the first request made.
    pub user: u64,
}

/// Where a thread connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The name that was looked up; lists of allowed hosts are asked for it.
    pub host: String,
    /// What it resolved to.
    pub address: SocketAddr,
}

/// Which functions a script has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    /// [`Script::make`].
    pub make: bool,
    /// [`Script::answer`].
    pub answer: bool,
    /// [`Script::delay_ns`], in a closed load.
    pub delay: bool,
}

/// What a thread does after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It goes on.
    Go,
    /// It sends what was made, and then nothing more.
    Stop,
}

/// The script failed; it knows itself why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// Where each thread finds its script.
#[derive(Default)]
pub struct Scripts(Vec<Mutex<Option<Box<dyn Script>>>>);

impl std::fmt::Debug for Scripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scripts of {} threads", self.0.len())
    }
}

impl Scripts {
    /// One for each thread, in order.
    pub fn new(scripts: impl IntoIterator<Item = Box<dyn Script>>) -> Self {
        Scripts(scripts.into_iter().map(|one| Mutex::new(Some(one))).collect())
    }

    pub(crate) fn take(&self, worker: u32) -> Option<Scripted> {
        let seat = self.0.get(worker as usize)?;
        seat.lock().unwrap_or_else(PoisonError::into_inner).take().map(Scripted::new)
    }

    pub(crate) fn destination(&self, worker: u32) -> Option<Destination> {
        let seat = self.0.get(worker as usize)?.lock().unwrap_or_else(PoisonError::into_inner);
        seat.as_ref()?.destination()
    }
}

/// A script in its worker.
pub(crate) struct Scripted {
    script: Box<dyn Script>,
    calls: Calls,
    /// What it made last.
    batch: Batch,
    /// What the plan's requests are filled with where it makes none.
    filling: Option<Filling>,
    /// It asked for an end, or failed.
    end: Option<EndReason>,
    callers: Callers,
}

impl Scripted {
    pub(crate) fn new(script: Box<dyn Script>) -> Self {
        let calls = script.calls();
        let callers = Callers::default();
        Scripted { script, calls, batch: Batch::new(0), filling: None, end: None, callers }
    }

    pub(crate) fn request(&self) -> Option<&Request> {
        self.script.request()
    }

    /// What it needs to know of the load before the run: in a closed one the share of which each connection is a user.
    pub(crate) fn begin(
        &mut self,
        closed: Option<Share>,
        rows: Option<DataRows>,
        filling: Option<Filling>,
    ) {
        match closed {
            Some(share) => self.callers = Callers::of_closed_load(share),
            None => self.calls.delay = false,
        }
        if let Some(rows) = rows {
            self.script.take_rows(rows);
        }
        self.filling = filling;
    }

    /// The request of a departure: the next one of what was made last, or the first one of what is made now. `None`:
    /// there is nothing more to send.
    pub(crate) fn write(&mut self, departure: &Departure) -> Option<Outgoing<'_>> {
        let Departure { request, index, .. } = *departure;
        if !self.calls.make {
            return match &mut self.filling {
                Some(filling) if filling.has(request) => {
                    filling.write(request, Owner { index, ..Owner::default() })
                }
                _ => Some(Outgoing::Listed(request)),
            };
        }
        if self.batch.left() == 0 {
            self.make(departure)?;
        }
        self.batch.take().map(Outgoing::Made)
    }

    /// Fills the batch, for a user whose first request departs like this.
    fn make(&mut self, first: &Departure) -> Option<()> {
        if self.end.is_some() {
            return None;
        }
        let user = self.callers.number(first.connection, first.index);
        let whose = Whose { connection: first.connection, user };
        let outcome = self.script.make(whose, &mut self.batch);
        self.note(outcome);
        outcome.ok()?;
        self.callers.begin(user, self.batch.left());
        Some(())
    }

    /// Whether there are more requests in what was made last.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.batch.left() > 0
    }

    /// They are not sent: nothing more is.
    #[cold]
    pub(crate) fn drop_more(&mut self) {
        self.batch.clear();
    }

    /// Whether its calls may take long.
    #[inline]
    pub(crate) fn is_slow(&self) -> bool {
        self.calls.make
    }

    /// The request that was written last departs.
    #[inline]
    pub(crate) fn departed(&mut self, id: RequestId, departure: &Departure) {
        if self.calls.make {
            self.callers.depart(id, departure.connection, departure.index);
        }
    }

    /// A request has an outcome; the script is shown the response, if it was kept for that.
    pub(crate) fn ended(&mut self, ended: &Ended<'_>, captured: Option<Capture>) {
        let connection = ended.flight.connection;
        let user = self.callers.of_request(ended.id, connection, ended.flight.index);
        if let Some(captured) = captured.filter(|_| self.calls.answer && self.end.is_none()) {
            let whose = Whose { connection, user };
            let outcome = self.script.answer(whose, ended.status, captured.get());
            self.note(outcome);
        }
        self.end_request(user);
    }

    /// Why it ends the run, if it does.
    #[inline]
    pub(crate) fn end(&self) -> Option<EndReason> {
        let has_failed = self.filling.as_ref().is_some_and(Filling::has_failed);
        self.end.or(has_failed.then_some(EndReason::DataFailed))
    }

    fn end_request(&mut self, user: u64) {
        if self.callers.has_left(user) {
            self.script.leave(user);
        }
    }

    /// Where the worker's sessions keep responses for it, if it reads any.
    pub(crate) fn capture_room(&self) -> Option<CaptureRoom> {
        let most = usize::try_from(self.script.body_limit()).unwrap_or(usize::MAX);
        self.calls.answer.then(|| CaptureRoom::new(most, BODIES_AT_A_TIME))
    }

    /// Whether it pauses connections.
    pub(crate) fn delays(&self) -> bool {
        self.calls.delay
    }

    /// How long to pause. Not inlined: every place that is offered comes past the call.
    #[inline(never)]
    pub(crate) fn delay_ns(&mut self, connection: u32) -> u64 {
        if !self.calls.delay || self.end.is_some() {
            return 0;
        }
        let user = self.callers.number(connection, 0);
        self.script.delay_ns(Whose { connection, user }).unwrap_or_else(|failed| {
            self.note(Err(failed));
            0
        })
    }

    /// A connection takes no requests that are made, and keeps no responses.
    #[cold]
    pub(crate) fn refuse_upgrade(&mut self) {
        if !(self.calls.make || self.calls.answer) {
            return;
        }
        self.script.refuse_upgrade();
        self.end = Some(EndReason::ScriptFailed);
    }

    fn note(&mut self, outcome: Result<Next, Failed>) {
        match outcome {
            Ok(Next::Go) => {}
            Ok(Next::Stop) => self.end = self.end.or(Some(EndReason::Stopped)),
            Err(Failed) => self.end = Some(EndReason::ScriptFailed),
        }
    }
}
