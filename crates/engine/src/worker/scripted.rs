//! What a worker does for its script, if it has one, beside its requests: pauses.
//!
//! Everything here is behind one look at the author.

use candor_protocol::Protocol;

use super::{Stage, Worker};
use crate::reactor::{Key, Reactor};

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Looks whether a connection that was just established can do what the script wants.
    pub(super) fn check_script(&mut self, key: Key) {
        let abilities = self.pool[key].account.abilities;
        if let Some(script) = self.dispatch.author.script().filter(|_| !abilities.takes_made) {
            script.refuse_upgrade();
        }
    }

    /// How long the script wants a connection to pause now. In an open load the schedule decides.
    #[inline]
    pub(super) fn script_delay_ns(&mut self, key: Key) -> u64 {
        match self.dispatch.author.script() {
            Some(script) if self.stage == Stage::Running => script.delay_ns(key),
            _ => 0,
        }
    }

    /// A script pauses a connection before its first request too.
    pub(super) fn delay_first_places(&mut self) {
        if !self.dispatch.author.script().is_some_and(|script| script.delays()) {
            return;
        }
        for place in self.pool.take_all() {
            let pause_ns = self.script_delay_ns(place.key);
            if pause_ns > 0 {
                self.think(place.since_ns.saturating_add(pause_ns), place);
            } else {
                self.pool.free(place, 1);
            }
        }
    }
}
