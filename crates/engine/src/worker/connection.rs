//! One connection as its worker sees it.

use candor_protocol::{Abilities, Session};

use crate::author::Author;
use crate::books::Came;
use crate::books::chain::Chain;
use crate::flight::{NOBODY, UserKey};
use crate::reactor::Ready;

/// What one connection may read, or write, before the others: as much as one read takes.
pub(crate) const SHARE_BYTES: usize = 128 * 1024;

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none, and none is being made.
    Absent,
    /// An attempt is going on since this time.
    Connecting { since_ns: u64 },
    /// The system connected it after `connect_ns`; the session's handshake is going on.
    Handshaking { since_ns: u64, connect_ns: u64 },
    /// Established.
    Open,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    pub(crate) state: State,
    /// Present while the state is open or handshaking.
    pub(crate) session: Option<S>,
    /// Counts the connections under this key, so that a place of a former one is known.
    pub(crate) generation: u32,
    /// The number of its target.
    pub(crate) target: u16,
    /// Which of the target's addresses it goes to.
    pub(crate) address: u32,
    /// The turn of its present or last attempt.
    pub(crate) turn: u32,
    /// The attempt failed: the next one is for the next address.
    pub(crate) moves_on: bool,
    /// Requests handed to the session, ever.
    pub(crate) taken: u64,
    pub(crate) account: Account,
    /// The user that it was made for, who may be gone; `NOBODY`: it is shared.
    pub(crate) owner: UserKey,
    /// The wait after which the first of them was handed over, by the worker's count of waits.
    pub(crate) asked_after: u64,
    /// The kernel took less than was offered: the rest waits for room.
    pub(crate) blocked: bool,
    /// It took no request when it was looked at last, after it had taken this many.
    pub(crate) stuck_at: Option<u64>,
    /// What it had no more time for in its turn.
    pub(crate) postponed: Option<Ready>,
    /// Places that were offered and have no request yet.
    pub(crate) offered: u32,
    /// Those of them that came up while blocked.
    pub(crate) parked: u32,
    /// When the last byte was read; with a time-out of silence also when the first request in flight was sent.
    pub(crate) last_byte_ns: u64,
    /// When it was established, or the run began, if that was later.
    pub(crate) opened_ns: u64,
    /// What it may read before the others.
    pub(crate) share_bytes: usize,
    /// How many of its next reads are timed.
    pub(crate) watched: u8,
}

/// What events of its session change.
#[derive(Debug)]
pub(crate) struct Account {
    /// Its requests in flight.
    pub(crate) flights: Chain,
    /// How many those are.
    pub(crate) outstanding: u32,
    /// Attempts and connections in a row that brought no response.
    pub(crate) fruitless: u32,
    /// Responses in the measured window, over all connections under this key.
    pub(crate) answered: u64,
    /// What its session said it can do.
    pub(crate) abilities: Abilities,
    /// The request in flight is not written any further.
    pub(crate) broken_off: bool,
    /// Since when it was being made, and how long that took, until its TLS is made too.
    pub(crate) securing: Option<(u64, u64)>,
}

impl Default for Account {
    fn default() -> Self {
        Account {
            flights: Chain::default(),
            outstanding: 0,
            fruitless: 0,
            answered: 0,
            abilities: Abilities { multiplexes: false, takes_made: false },
            broken_off: false,
            securing: None,
        }
    }
}

impl Account {
    /// Where an outcome without a response comes.
    pub(crate) fn came<'a>(&'a mut self, author: &'a mut Author, at_ns: u64) -> Came<'a> {
        Came { chain: &mut self.flights, author, session: None, at_ns }
    }
}

impl<S> Default for Connection<S> {
    fn default() -> Self {
        Connection {
            state: State::Absent,
            session: None,
            generation: 0,
            target: 0,
            address: 0,
            turn: 0,
            moves_on: false,
            taken: 0,
            account: Account::default(),
            owner: NOBODY,
            asked_after: 0,
            blocked: false,
            stuck_at: None,
            postponed: None,
            offered: 0,
            parked: 0,
            last_byte_ns: 0,
            opened_ns: 0,
            share_bytes: SHARE_BYTES,
            watched: 0,
        }
    }
}

impl<S: Session> Connection<S> {
    /// It was handed a request, after this number of waits. Whether that is the only one in flight.
    #[inline(always)]
    pub(crate) fn was_given_one(&mut self, waits: u64) -> bool {
        self.taken += 1;
        self.account.outstanding += 1;
        let is_only = self.account.outstanding == 1;
        if is_only {
            self.asked_after = waits;
        }
        is_only
    }

    /// Whether no request may be handed to it now.
    pub(crate) fn takes_none(&self) -> bool {
        self.blocked || self.session.as_ref().is_none_or(|session| session.free_places() == 0)
    }
}

/// How long to wait before the next attempt, after `fruitless` ones in a row. Starts at once,
/// then doubles from 10 ms to 250 ms: a server that comes back is used within a quarter of a
/// second, and one that does not costs four attempts a second and connection.
pub(crate) fn back_off_ns(fruitless: u32) -> u64 {
    const FIRST_NS: u64 = 10_000_000;
    const MOST_NS: u64 = 250_000_000;
    match fruitless {
        0 => 0,
        n => (FIRST_NS << (n - 1).min(8)).min(MOST_NS),
    }
}

#[cfg(test)]
mod tests {
    use super::back_off_ns;

    #[test]
    fn back_off_starts_at_once_and_is_bounded() {
        let all: Vec<u64> = (0..8).map(|n| back_off_ns(n) / 1_000_000).collect();
        assert_eq!(all, [0, 10, 20, 40, 80, 160, 250, 250]);
        assert_eq!(back_off_ns(u32::MAX), 250_000_000);
    }
}
