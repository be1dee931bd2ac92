//! The timers of a worker: what is to be done at which time, without a word from the reactor. One
//! queue, for everything that ends one by one.
//!
//! A timer is not taken back. It is looked at when its time has come, by its owner, who may find that
//! the connection is another one by then (its generation tells), or that the time has moved on, and
//! puts it in again. So what moves with every read (a silence, a session's timeout) costs the hot path
//! nothing. Timeouts of requests are not here: they are all the same, so the request that was sent
//! first is due first, and the books know it.
//!
//! Knows no clock: times come in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::connection::Place;
use crate::reactor::Key;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// A connection is not made yet: give it up.
    Connect,
    /// A connection is as old as it may become.
    Age,
    /// Nothing may have come for too long on a connection.
    Silence,
    /// A session wants to be called.
    Session,
    /// Try to connect again.
    Retry,
    /// A user has thought; the place is free.
    Think,
}

/// One timer, and the connection that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) at_ns: u64,
    pub(super) timer: Timer,
    pub(super) key: Key,
    pub(super) generation: u32,
}

impl Entry {
    /// The place that a user gives back after thinking.
    pub(super) fn place(&self) -> Place {
        Place { key: self.key, generation: self.generation, since_ns: self.at_ns }
    }
}

/// In the order of time, and of those of one time in the order in which they were put in.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    at_ns: u64,
    number: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Queued(Order, Entry);

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// The queue.
#[derive(Debug)]
pub(super) struct Timers {
    queue: BinaryHeap<Reverse<Queued>>,
    /// When the first is due.
    next_ns: u64,
    /// Timers put in, ever.
    number: u64,
    thinking: usize,
}

impl Default for Timers {
    fn default() -> Self {
        Timers { queue: BinaryHeap::new(), next_ns: u64::MAX, number: 0, thinking: 0 }
    }
}

impl Timers {
    /// Puts a timer in.
    pub(super) fn add(&mut self, entry: Entry) {
        self.thinking += usize::from(entry.timer == Timer::Think);
        self.number += 1;
        let order = Order { at_ns: entry.at_ns, number: self.number };
        self.queue.push(Reverse(Queued(order, entry)));
        self.next_ns = self.next_ns.min(entry.at_ns);
    }

    /// When to look again; `u64::MAX`: there is none.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// How many there are: a bound for one round of looking.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether a user is thinking.
    pub(super) fn has_thinking(&self) -> bool {
        self.thinking > 0
    }

    /// Takes the first whose time has come.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<Entry> {
        if self.next_ns > now_ns {
            return None;
        }
        let Reverse(Queued(_, entry)) = self.queue.pop()?;
        self.next_ns = self.queue.peek().map_or(u64::MAX, |Reverse(Queued(order, _))| order.at_ns);
        self.thinking -= usize::from(entry.timer == Timer::Think);
        Some(entry)
    }

    /// Time begins anew, `passed_ns` later than before; connections are as old as the run.
    pub(super) fn set_origin(&mut self, passed_ns: u64, lifetime_ns: u64) {
        for Reverse(Queued(order, entry)) in std::mem::take(&mut self.queue) {
            let at_ns = match entry.timer {
                Timer::Age => lifetime_ns,
                _ => entry.at_ns.saturating_sub(passed_ns),
            };
            self.queue.push(Reverse(Queued(Order { at_ns, ..order }, Entry { at_ns, ..entry })));
        }
        self.next_ns = self.queue.peek().map_or(u64::MAX, |Reverse(Queued(order, _))| order.at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Timer, Timers};

    fn entry(at_ns: u64, timer: Timer, key: u32) -> Entry {
        Entry { at_ns, timer, key, generation: 0 }
    }

    fn keys(timers: &mut Timers, now_ns: u64) -> Vec<u32> {
        std::iter::from_fn(|| timers.take_due(now_ns)).map(|entry| entry.key).collect()
    }

    #[test]
    fn timers_come_at_their_times_and_equals_in_the_order_they_were_put_in() {
        let mut timers = Timers::default();
        assert_eq!(timers.next_ns(), u64::MAX);
        for (key, at_ns) in [50, 20, 50, 20, 0, 50].into_iter().enumerate() {
            timers.add(entry(at_ns, Timer::Retry, key as u32));
        }
        assert_eq!(timers.next_ns(), 0);
        assert_eq!(keys(&mut timers, 0), [4]);
        assert_eq!(timers.next_ns(), 20);
        assert!(keys(&mut timers, 19).is_empty());
        assert_eq!(keys(&mut timers, 49), [1, 3]);
        assert_eq!(keys(&mut timers, 1000), [0, 2, 5]);
        assert_eq!((timers.next_ns(), timers.len()), (u64::MAX, 0));
    }

    #[test]
    fn users_who_think_are_counted() {
        let mut timers = Timers::default();
        timers.add(entry(5, Timer::Think, 1));
        timers.add(entry(5, Timer::Retry, 2));
        assert!(timers.has_thinking());
        assert_eq!(timers.take_due(5).map(|entry| entry.place().since_ns), Some(5));
        assert!(!timers.has_thinking());
    }

    #[test]
    fn the_run_begins_a_time_of_its_own() {
        let mut timers = Timers::default();
        timers.add(entry(1_000, Timer::Age, 1));
        timers.add(entry(1_300, Timer::Session, 2));
        timers.add(entry(900, Timer::Session, 3));
        timers.set_origin(1_000, 700);
        assert_eq!(timers.next_ns(), 0);
        assert_eq!(keys(&mut timers, 299), [3]);
        assert_eq!(keys(&mut timers, 300), [2]);
        assert!(keys(&mut timers, 699).is_empty());
        assert_eq!(keys(&mut timers, 700), [1]);
    }
}
