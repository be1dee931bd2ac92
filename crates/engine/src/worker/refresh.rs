//! Names that are resolved again during the run: a worker takes what they resolve to now, and leaves the addresses that
//! are gone.
//!
//! Others resolve names ([`crate::run`]). A worker looks a few times a second, or as often as names are resolved, and
//! waits for nothing. Connections to an address that is gone take no further request, as if their share was used up.

use candor_protocol::Protocol;

use super::connect::Loss;
use super::connection::State;
use super::timers::Timer;
use super::{Stage, Worker};
use crate::reactor::Reactor;

/// From one look to the next, at most.
const LOOK_NS: u64 = 250_000_000;

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// The run begins.
    pub(super) fn watch_names(&mut self) {
        if let Some(every_ns) = self.own.dns_refresh_ns {
            self.timers.add(every_ns.min(LOOK_NS), Timer::Names, 0);
        }
    }

    /// Takes what names were resolved to meanwhile.
    #[cold]
    pub(super) fn look_at_names(&mut self, now_ns: u64) {
        let Some(every_ns) = self.own.dns_refresh_ns else { return };
        if self.stage != Stage::Running {
            return;
        }
        if self.reactor.refresh() {
            let reactor = &self.reactor;
            self.pool.know_addresses(
                |target| reactor.addresses(target),
                |target, address| reactor.is_gone(target, address),
            );
            if let Some(addresses) = &mut self.books.addresses {
                addresses.know(reactor, now_ns);
            }
            self.has_astray = true;
        }
        if self.has_astray {
            self.has_astray = self.leave_gone(now_ns);
        }
        self.timers.add(now_ns.saturating_add(every_ns.min(LOOK_NS)), Timer::Names, 0);
    }

    /// Replaces idle connections to addresses that are gone, and winds the others down. Whether some are left.
    fn leave_gone(&mut self, now_ns: u64) -> bool {
        let mut any_left = false;
        for key in 0..self.own.max_connections {
            let (state, is_idle) = {
                let connection = &self.pool[key];
                (connection.state, connection.account.outstanding == 0)
            };
            if state == State::Absent || !self.pool.is_astray(key) {
                continue;
            }
            match state {
                State::Open if is_idle => self.lose(key, Loss::Retired, now_ns),
                State::Open => {
                    self.pool.wind_down(key);
                    any_left = true;
                }
                // It is looked at again when it is made.
                _ => any_left = true,
            }
        }
        any_left
    }
}
