//! Which of a target's addresses the next connection of a worker goes to.
//!
//! All in turn, without those where an attempt failed a moment ago and those that the name no longer has. An address
//! keeps its number for the whole run.
//!
//! Knows no clock: times come in.

/// An address is left out for this time after an attempt failed; then another one is made.
const DOWN_NS: u64 = 1_000_000_000;
/// An attempt that has not reached its address by then is given up for another address that works.
const NEXT_NS: u64 = 250_000_000;
/// The name no longer has this address: it is left out until it does.
const GONE: u64 = u64::MAX;

/// The addresses of a target.
#[derive(Debug)]
pub(super) struct Routes {
    /// Where the next connection goes, in the order of the addresses.
    next_turn: u64,
    /// Of each, until when it is left out, since an attempt failed, or [`GONE`]; empty: there is only one.
    left_out_until_ns: Vec<u64>,
    /// Whether one of them took a connection.
    is_reached: bool,
}

impl Routes {
    /// One address, until more are known. Workers begin with turns of their own, so that they begin with other addresses.
    pub(super) fn from_turn(next_turn: u64) -> Self {
        Routes { next_turn, left_out_until_ns: Vec::new(), is_reached: false }
    }

    /// How many addresses there are or were, and which of them are gone. The next turn is that of a new one.
    pub(super) fn know(&mut self, count: usize, is_gone: impl Fn(u32) -> bool) {
        let known = self.left_out_until_ns.len().max(1);
        if count < 2 {
            return;
        }
        self.left_out_until_ns.resize(count, 0);
        for (until_ns, address) in self.left_out_until_ns.iter_mut().zip(0..) {
            match is_gone(address) {
                true => *until_ns = GONE,
                false if *until_ns == GONE => *until_ns = 0,
                false => {}
            }
        }
        if self.is_reached && known < count {
            let count = count as u64;
            self.next_turn += count - self.next_turn % count + known as u64;
        }
    }

    /// Whether the name no longer has this address.
    pub(super) fn is_gone(&self, address: u32) -> bool {
        self.left_out_until_ns.get(address as usize) == Some(&GONE)
    }

    /// The address of the next attempt, and its turn: those after the turn that failed, or the next ones.
    pub(super) fn next(&mut self, failed: Option<u32>, now_ns: u64) -> (u32, u64) {
        let first = failed.map_or(self.next_turn, |turn| u64::from(turn.wrapping_add(1)));
        let count = self.left_out_until_ns.len() as u64;
        let until_ns = |turn: &u64| self.left_out_until_ns[(turn % count) as usize];
        let mut turns = first..first + count;
        // If all are left out, the one whose turn it is.
        let any = turns.clone().find(|turn| until_ns(turn) != GONE);
        let turn = turns.find(|turn| until_ns(turn) <= now_ns).or(any).unwrap_or(first);
        if failed.is_none() {
            self.next_turn = turn + 1;
        }
        (turn.checked_rem(count).unwrap_or(0) as u32, turn)
    }

    /// An address took a connection, or did not.
    pub(super) fn tried(&mut self, address: u32, is_reached: bool, now_ns: u64) {
        self.is_reached |= is_reached;
        let until_ns = self.left_out_until_ns.get_mut(address as usize);
        if let Some(until_ns) = until_ns.filter(|until_ns| **until_ns != GONE) {
            *until_ns = if is_reached { 0 } else { now_ns.saturating_add(DOWN_NS) };
        }
    }

    /// How long an attempt may take that has not reached its address, and how soon it is looked at again. Where there
    /// are others, and one of them works, not long (RFC 8305 5 begins with the next after a quarter of a second).
    pub(super) fn patience_ns(&self, limit_ns: u64) -> (u64, u64) {
        let mut there = self.left_out_until_ns.iter().filter(|until_ns| **until_ns != GONE);
        match (there.nth(1).is_some(), self.is_reached) {
            (false, _) => (limit_ns, limit_ns),
            (true, true) => (limit_ns.min(NEXT_NS), NEXT_NS),
            (true, false) => (limit_ns, NEXT_NS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = DOWN_NS;

    #[test]
    fn an_address_that_fails_is_left_out_for_a_while() {
        let mut routes = Routes::from_turn(0);
        routes.know(2, |_| false);
        assert_eq!([routes.next(None, 0), routes.next(None, 0)], [(0, 0), (1, 1)]);
        // Nothing is known of the other yet.
        routes.tried(0, false, 10);
        assert_eq!(routes.patience_ns(10 * S), (10 * S, S / 4));
        routes.tried(1, true, 10);
        assert_eq!(routes.patience_ns(10 * S), (S / 4, S / 4));
        // The turn of the first is passed over; after a failure the next address is tried.
        assert_eq!(routes.next(None, 20), (1, 3));
        assert_eq!(routes.next(Some(0), 20), (1, 1));
        // Both fail: the one whose turn it is.
        routes.tried(1, false, 30);
        assert_eq!(routes.next(None, 40), (0, 4));
        // Then each may be tried again.
        assert_eq!([routes.next(None, 30 + S), routes.next(None, 30 + S)], [(1, 5), (0, 6)]);
    }

    #[test]
    fn the_only_address_is_never_left_out() {
        let mut routes = Routes::from_turn(3);
        routes.know(1, |_| false);
        routes.tried(0, false, 10);
        assert_eq!([routes.next(None, 10), routes.next(Some(3), 10)], [(0, 3), (0, 4)]);
        assert_eq!(routes.patience_ns(S), (S, S));
    }

    #[test]
    fn the_next_turn_is_that_of_a_new_address_and_never_of_one_that_is_gone() {
        let mut routes = Routes::from_turn(0);
        routes.know(1, |_| false);
        routes.tried(0, true, 0);
        assert_eq!(routes.next(None, 0).0, 0);
        routes.know(3, |_| false);
        let next = |routes: &mut Routes, now_ns| routes.next(None, now_ns).0;
        assert_eq!([(); 4].map(|()| next(&mut routes, 0)), [1, 2, 0, 1]);
        // The first is gone, and what is tried there meanwhile changes nothing.
        routes.know(3, |address| address == 0);
        routes.tried(0, true, 0);
        assert_eq!([(); 3].map(|()| next(&mut routes, 0)), [2, 1, 2]);
        assert_eq!((routes.is_gone(0), routes.is_gone(1)), (true, false));
        // Of two that fail it is not the turn of the third.
        (1..3).for_each(|address| routes.tried(address, false, 10));
        assert!([(); 3].map(|()| next(&mut routes, 20)).iter().all(|address| *address != 0));
        // One is left: there is no other to be impatient for.
        routes.know(3, |address| address < 2);
        assert_eq!(routes.patience_ns(10 * S), (10 * S, 10 * S));
        // It is back, and may be tried at once.
        routes.know(3, |address| address != 0);
        assert_eq!((next(&mut routes, 20), routes.is_gone(0)), (0, false));
    }
}
