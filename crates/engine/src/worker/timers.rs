//! The timers of a worker: what is to be done at which time, without a word from the reactor. One
//! queue, for everything that ends one by one.
//!
//! A timer is not taken back. It is looked at when its time has come, by its owner, who may find that
//! the time has moved on, or that the connection is another one by then, and puts it in again. So what
//! moves with every read (a silence, a session's timeout) costs the hot path nothing, and of what is
//! watched there is one timer for each connection, however many connections follow each other under a
//! key. Timeouts of requests are not here: they are all the same, so the request that was sent
//! first is due first, and the books know it.
//!
//! Knows no clock: times come in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::flight::Place;
use crate::reactor::Key;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Look after a connection.
    Watch(Watch),
    /// Try to connect again.
    Retry,
    /// A user has thought; the place is free, if the connection has this generation.
    Think(u32),
    /// Look whether delays move with acknowledgements; about no connection in particular.
    Acks,
    /// Look whether names have other addresses; about no connection in particular.
    Names,
}

/// What is looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watch {
    /// Whether an attempt to connect takes too long.
    Connect,
    /// Whether the connection is as old as it may become.
    Age,
    /// Whether nothing came for too long.
    Silence,
    /// Whether its session wants to be called.
    Session,
    /// Whether it takes no request.
    Stuck,
}

/// How many kinds of [`Watch`] there are.
const WATCHES: usize = 5;

/// One timer, and the connection that it is about. In the order of time, and of those of one time in
/// the order in which they were put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    at_ns: u64,
    number: u64,
    pub(super) key: Key,
    pub(super) timer: Timer,
}

impl Entry {
    /// The place that a user gives back after thinking.
    pub(super) fn place(&self, generation: u32) -> Place {
        Place { key: self.key, generation, since_ns: self.at_ns }
    }
}

/// The queue.
#[derive(Debug)]
pub(super) struct Timers {
    queue: BinaryHeap<Reverse<Entry>>,
    /// When the first is due.
    next_ns: u64,
    /// Timers put in, ever.
    number: u64,
    thinking: usize,
    /// For each connection, when it is looked after next; `u64::MAX`: no timer is there.
    watches: Vec<[u64; WATCHES]>,
}

impl Timers {
    /// For this number of connections.
    pub(super) fn new(keys: u32) -> Self {
        let watches = vec![[u64::MAX; WATCHES]; keys as usize];
        Timers { queue: BinaryHeap::new(), next_ns: u64::MAX, number: 0, thinking: 0, watches }
    }

    /// Puts a timer in.
    pub(super) fn add(&mut self, at_ns: u64, timer: Timer, key: Key) {
        self.thinking += usize::from(matches!(timer, Timer::Think(_)));
        self.number += 1;
        self.queue.push(Reverse(Entry { at_ns, number: self.number, key, timer }));
        self.next_ns = self.next_ns.min(at_ns);
    }

    /// Looks after a connection at this time, unless that is done earlier anyway.
    #[inline]
    pub(super) fn watch(&mut self, at_ns: u64, watch: Watch, key: Key) {
        let watched_ns = &mut self.watches[key as usize][watch as usize];
        if at_ns < *watched_ns {
            *watched_ns = at_ns;
            self.add(at_ns, Timer::Watch(watch), key);
        }
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
        while self.next_ns <= now_ns {
            let Reverse(entry) = self.queue.pop()?;
            self.next_ns = self.queue.peek().map_or(u64::MAX, |Reverse(next)| next.at_ns);
            match entry.timer {
                Timer::Watch(watch) => {
                    let watched_ns = &mut self.watches[entry.key as usize][watch as usize];
                    if *watched_ns != entry.at_ns {
                        // An earlier one came in its place.
                        continue;
                    }
                    *watched_ns = u64::MAX;
                }
                Timer::Think(_) => self.thinking -= 1,
                Timer::Retry | Timer::Acks | Timer::Names => {}
            }
            return Some(entry);
        }
        None
    }

    /// Time begins anew, `passed_ns` later than before.
    pub(super) fn set_origin(&mut self, passed_ns: u64) {
        let since =
            |at_ns: u64| if at_ns == u64::MAX { at_ns } else { at_ns.saturating_sub(passed_ns) };
        self.watches.iter_mut().flatten().for_each(|at_ns| *at_ns = since(*at_ns));
        let later =
            |Reverse(entry): Reverse<Entry>| Reverse(Entry { at_ns: since(entry.at_ns), ..entry });
        self.queue = std::mem::take(&mut self.queue).into_iter().map(later).collect();
        self.next_ns = self.queue.peek().map_or(u64::MAX, |Reverse(next)| next.at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::{Timer, Timers, Watch};

    fn keys(timers: &mut Timers, now_ns: u64) -> Vec<u32> {
        std::iter::from_fn(|| timers.take_due(now_ns)).map(|entry| entry.key).collect()
    }

    #[test]
    fn timers_come_at_their_times_and_equals_in_the_order_they_were_put_in() {
        let mut timers = Timers::new(6);
        assert_eq!(timers.next_ns(), u64::MAX);
        for (key, at_ns) in (0..).zip([50, 20, 50, 20, 0, 50]) {
            timers.add(at_ns, Timer::Retry, key);
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
        let mut timers = Timers::new(3);
        timers.add(5, Timer::Think(7), 1);
        timers.add(5, Timer::Retry, 2);
        assert!(timers.has_thinking());
        let place = timers.take_due(5).map(|entry| entry.place(7));
        assert_eq!(place.map(|place| (place.key, place.since_ns)), Some((1, 5)));
        assert!(!timers.has_thinking());
    }

    #[test]
    fn of_what_is_watched_there_is_one_timer_however_many_connections_follow_each_other() {
        let mut timers = Timers::new(2);
        for round in 0..1000 {
            for watch in [Watch::Connect, Watch::Age, Watch::Silence] {
                timers.watch(10_000 + round, watch, 1);
            }
        }
        assert_eq!(timers.len(), 3);
        // When it has come it can be put in again.
        assert_eq!(keys(&mut timers, 10_000), [1, 1, 1]);
        timers.watch(20_000, Watch::Age, 1);
        assert_eq!((timers.len(), timers.next_ns()), (1, 20_000));
    }

    #[test]
    fn an_earlier_time_counts_and_comes_once() {
        let mut timers = Timers::new(1);
        for at_ns in [500, 300, 400] {
            timers.watch(at_ns, Watch::Session, 0);
        }
        assert_eq!(keys(&mut timers, 299), [] as [u32; 0]);
        assert_eq!(keys(&mut timers, 300), [0]);
        assert!(keys(&mut timers, 1000).is_empty());
        assert_eq!(timers.len(), 0);
    }

    #[test]
    fn the_run_begins_a_time_of_its_own() {
        let mut timers = Timers::new(4);
        timers.watch(1_300, Watch::Session, 2);
        timers.watch(900, Watch::Session, 3);
        timers.set_origin(1_000);
        assert_eq!(timers.next_ns(), 0);
        assert_eq!(keys(&mut timers, 299), [3]);
        assert_eq!(keys(&mut timers, 300), [2]);
        timers.watch(400, Watch::Session, 2);
        assert_eq!(keys(&mut timers, 400), [2]);
    }
}
