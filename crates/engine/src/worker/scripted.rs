//! What a worker does for its script, if it has one.
//!
//! Everything here is behind one look at an option that plain runs have empty.

use candor_protocol::made::Made;
use candor_protocol::{Outgoing, Protocol, RequestId};
use candor_record::EndReason;

use super::{Stage, Worker};
use crate::books::Departure;
use crate::control::Control;
use crate::reactor::{Key, Reactor};
use crate::script::Scripted;

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Gives the worker its script, before it prepares.
    pub(crate) fn follow(&mut self, script: Option<Scripted>) {
        let Some(mut script) = script else { return };
        if self.dispatch.is_closed() {
            script.close_load(self.own.share);
        }
        if script.calls.make {
            self.books.failed = Some(Vec::new());
        }
        self.script = Some(Box::new(script));
    }

    /// Looks whether a connection that was just established can do what the script wants.
    pub(super) fn check_script(&mut self, key: Key) {
        let Some(script) = &mut self.script else { return };
        let abilities = self.pool[key].account.abilities;
        if (script.calls.make || script.calls.answer) && !abilities.takes_made {
            script.refuse_upgrade();
        }
    }

    /// Whether the script makes the requests.
    #[inline]
    pub(super) fn is_made(&self) -> bool {
        self.script.as_ref().is_some_and(|script| script.calls.make)
    }

    /// Hands over what the script makes next: one request, or several that share a connection and
    /// the time at which the first of them is due. False: there is nothing.
    ///
    /// Where requests are streams, each of several has a place and a due time of its own: what is
    /// left of them is for the places that come next.
    ///
    /// Not inlined: plain requests go the same way, and would save its registers.
    #[inline(never)]
    pub(super) fn hand_over_made(&mut self, first: Departure) -> bool {
        let Some(mut script) = self.script.take() else { return false };
        // The numbers of requests that have failed are given to others from here on.
        if let Some(failed) = self.books.failed.as_mut().filter(|failed| !failed.is_empty()) {
            script.forget(failed);
        }
        if self.pool[first.connection].account.abilities.multiplexes {
            let made_any = script.batch.left() > 0 || script.make(first);
            if let Some(made) = script.batch.take().filter(|_| made_any) {
                let id = self.hand_over_one(first, &made);
                id.into_iter().for_each(|id| script.depart(id, first));
                self.pool[first.connection].offered -= 1;
            }
            self.script = Some(script);
            return made_any;
        }
        let made_any = script.make(first);
        let mut departure = first;
        let mut is_first = true;
        while made_any && let Some(made) = script.batch.take() {
            if !std::mem::replace(&mut is_first, false) {
                match self.dispatch.another(first) {
                    Some(next) => departure = next,
                    None => break,
                }
            }
            let id = self.hand_over_one(departure, &made);
            id.into_iter().for_each(|id| script.depart(id, departure));
        }
        self.script = Some(script);
        if made_any {
            self.pool[first.connection].offered -= 1;
        }
        made_any
    }

    /// Its number in flight.
    fn hand_over_one(&mut self, departure: Departure, made: &Made<'_>) -> Option<RequestId> {
        let key = departure.connection;
        let connection = &mut self.pool[key];
        let session = connection.session.as_mut()?;
        let id = self.books.depart(departure, &mut connection.account.flights);
        session.handle_request(id, Outgoing::Made(made));
        self.handed_over(departure);
        Some(id)
    }

    /// How long the script wants a connection to pause now. In an open load the schedule decides.
    #[inline]
    pub(super) fn script_delay_ns(&mut self, key: Key) -> u64 {
        match &mut self.script {
            Some(script) if self.stage == Stage::Running && self.dispatch.is_closed() => {
                script.delay_ns(key)
            }
            _ => 0,
        }
    }

    /// A script pauses a connection before its first request too.
    pub(super) fn delay_first_places(&mut self) {
        if !self.script.as_ref().is_some_and(|script| script.calls.delay) {
            return;
        }
        for place in self.pool.take_all() {
            let pause_ns = self.script_delay_ns(place.key);
            if pause_ns > 0 {
                self.think(place.since_ns.saturating_add(pause_ns), place);
            } else {
                self.pool.free(place);
            }
        }
    }

    /// Whether the script ends this worker's run. One that failed ends everybody's.
    #[inline]
    pub(super) fn script_end(&self, control: &Control) -> Option<EndReason> {
        let end = self.script.as_ref()?.end?;
        if end == EndReason::ScriptFailed && !control.is_stopping() {
            control.stop();
        }
        Some(end)
    }
}
