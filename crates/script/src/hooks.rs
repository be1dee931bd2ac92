//! A thread's script, as the engine calls it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use candor_engine::script::{Calls, DataRows, Destination, Failed, Next, Script, Whose};
use candor_plan::Request;
use candor_protocol::Captured;
use candor_protocol::made::Batch;
use mlua::{Lua, Table, Value};

use crate::error::ScriptError;
use crate::raw::Hot;
use crate::seat::Seat;
use crate::thread::Shared;

/// The first failure of any thread.
pub(crate) type FirstFailure = Arc<Mutex<Option<ScriptError>>>;

/// One thread's script.
pub(crate) struct Hooks {
    pub(crate) hot: Hot,
    pub(crate) seat: Arc<Seat>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) request: Option<Request>,
    pub(crate) calls: Calls,
    pub(crate) body_limit: u64,
    pub(crate) failure: FirstFailure,
    /// The states of users, by their places.
    pub(crate) states: Table,
    /// Keeps the state open.
    pub(crate) _lua: Lua,
}

impl Hooks {
    /// The step after a call with this outcome.
    #[inline]
    fn after(&self, function: &'static str, outcome: Result<(), String>) -> Result<Next, Failed> {
        self.seat.leave();
        match outcome {
            Ok(()) if self.shared.stopped.load(Ordering::Relaxed) => Ok(Next::Stop),
            Ok(()) => Ok(Next::Go),
            Err(message) => Err(self.fail(match self.seat.is_late() {
                true => ScriptError::Late { function: Some(function), message },
                false => ScriptError::Call { function, message },
            })),
        }
    }

    #[cold]
    fn fail(&self, error: ScriptError) -> Failed {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        Failed
    }
}

impl Script for Hooks {
    fn request(&self) -> Option<&Request> {
        self.request.as_ref()
    }

    fn destination(&self) -> Option<Destination> {
        self.shared.destination()
    }

    fn calls(&self) -> Calls {
        self.calls
    }

    fn body_limit(&self) -> u64 {
        self.body_limit
    }

    fn take_rows(&mut self, rows: DataRows) {
        self.shared.users.take_rows(rows);
    }

    fn make(&mut self, whose: Whose, batch: &mut Batch) -> Result<Next, Failed> {
        self.shared.call_for(whose);
        self.seat.enter();
        let made = self.hot.request(|text| batch.fill(text));
        let outcome = made.and_then(|filled| {
            filled.map_err(|error| format!("its result cannot be sent: {error}"))
        });
        self.after("request", outcome)
    }

    fn answer(&mut self, whose: Whose, status: u16, answer: Captured<'_>) -> Result<Next, Failed> {
        self.shared.call_for(whose);
        self.seat.enter();
        let outcome = self.hot.response(status, answer);
        self.after("response", outcome)
    }

    fn delay_ns(&mut self, whose: Whose) -> Result<u64, Failed> {
        self.shared.call_for(whose);
        self.seat.enter();
        let delay = self.hot.delay();
        let delay_ms = delay.as_ref().copied().unwrap_or(0.0);
        self.after("delay", delay.map(|_| ()))?;
        Ok((delay_ms * 1e6) as u64)
    }

    #[inline]
    fn leave(&mut self, user: u64) {
        if self.shared.users.have_state() {
            let states = &self.states;
            self.shared.users.leave(user, |place| states.raw_set(place, Value::Nil).is_ok());
        }
    }

    fn refuse_upgrade(&mut self) {
        self.fail(ScriptError::Upgrade);
    }
}
