//! When waiting users are due: a timer wheel, in which putting one in and taking the next are O(1), however many
//! users think at once.
//!
//! Times are exact. The wheel has slots of 65 µs, 64 of each width, each width 64 times the one before; a slot is
//! emptied into the *ready* ones, which are sorted by their time, when nothing earlier is left. So only those of one
//! slot are ever sorted.
//!
//! Knows no clock: times come in.

use std::collections::VecDeque;

use crate::flight::{NOBODY, UserKey};

/// The width of the finest slots, as a power of two in nanoseconds.
const FINEST_BITS: u32 = 16;
/// Slots of each width, as a power of two.
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Enough for every time that 64 bits can hold.
const LEVELS: usize = ((64 - FINEST_BITS) / SLOT_BITS) as usize;

/// A user in the wheel.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    due_ns: u64,
    next: UserKey,
}

/// Users that wait for a time.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Of each user of the table.
    waiting: Vec<Waiting>,
    /// The first user of each slot.
    slots: [[UserKey; SLOTS]; LEVELS],
    /// Which slots of each level have users.
    taken: [u64; LEVELS],
    /// The slots of the finest level up to this one, exclusive, have been emptied.
    passed: u64,
    /// In the order of their times; all that are due before the end of the passed slots.
    ready: VecDeque<(u64, UserKey)>,
    /// How many are in the slots.
    in_slots: usize,
    /// The users of one slot, while they are sorted.
    sorting: Vec<(u64, UserKey)>,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Wheel {
            waiting: Vec::new(),
            slots: [[NOBODY; SLOTS]; LEVELS],
            taken: [0; LEVELS],
            passed: 0,
            ready: VecDeque::new(),
            in_slots: 0,
            sorting: Vec::new(),
        }
    }

    /// How many wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.in_slots + self.ready.len()
    }

    /// Puts a user in that does not wait. Of those due at one time, the first put in is the first out.
    pub(super) fn put(&mut self, due_ns: u64, user: UserKey) {
        let tick = due_ns >> FINEST_BITS;
        if tick < self.passed {
            let at = self.ready.partition_point(|(other_ns, _)| *other_ns <= due_ns);
            return self.ready.insert(at, (due_ns, user));
        }
        let number = user as usize;
        if self.waiting.len() <= number {
            self.waiting.resize(number + 1, Waiting { due_ns: 0, next: NOBODY });
        }
        self.link(tick, due_ns, user);
        self.in_slots += 1;
    }

    fn link(&mut self, tick: u64, due_ns: u64, user: UserKey) {
        // The highest digit in which the times differ says how far away it is.
        let differs = (tick ^ self.passed) | 1;
        let level = ((63 - differs.leading_zeros()) / SLOT_BITS) as usize;
        let slot = (tick >> (level as u32 * SLOT_BITS)) as usize % SLOTS;
        let first = &mut self.slots[level][slot];
        self.waiting[user as usize] = Waiting { due_ns, next: *first };
        *first = user;
        self.taken[level] |= 1 << slot;
    }

    /// The user that is due first, and when.
    pub(super) fn first(&mut self) -> Option<(u64, UserKey)> {
        if self.ready.is_empty() && self.in_slots > 0 {
            self.advance();
        }
        self.ready.front().copied()
    }

    /// Takes the user that [`Wheel::first`] shows.
    pub(super) fn take(&mut self) -> Option<UserKey> {
        self.ready.pop_front().map(|(_, user)| user)
    }

    /// How many are due at `now_ns`.
    pub(super) fn due(&mut self, now_ns: u64) -> u64 {
        while self.in_slots > 0 && self.passed <= now_ns >> FINEST_BITS {
            if !self.pass_up_to(now_ns >> FINEST_BITS) {
                break;
            }
        }
        self.ready.partition_point(|(due_ns, _)| *due_ns <= now_ns) as u64
    }

    /// Empties the first slot that has users.
    fn advance(&mut self) {
        self.pass_up_to(u64::MAX >> FINEST_BITS);
    }

    /// Empties the first slot that has users, if it begins no later than `tick`.
    fn pass_up_to(&mut self, tick: u64) -> bool {
        loop {
            let Some((level, slot, begin)) = self.first_slot() else { return false };
            if begin > tick {
                return false;
            }
            if level > 0 {
                self.passed = begin;
                self.spread(level, slot);
                continue;
            }
            self.sort_slot(slot);
            self.passed = begin + 1;
            // Whoever is put in from now on must find those before in slots of the same width.
            for level in (1..LEVELS).rev() {
                let shift = level as u32 * SLOT_BITS;
                if self.passed.trailing_zeros() >= shift {
                    self.spread(level, (self.passed >> shift) as usize % SLOTS);
                }
            }
            return true;
        }
    }

    /// Takes the users of a slot, the last put in first.
    fn empty(&mut self, level: usize, slot: usize) {
        self.sorting.clear();
        self.taken[level] &= !(1 << slot);
        let mut user = std::mem::replace(&mut self.slots[level][slot], NOBODY);
        while user != NOBODY {
            let Waiting { due_ns, next } = self.waiting[user as usize];
            self.sorting.push((due_ns, user));
            user = next;
        }
    }

    /// Makes the users of one of the finest slots ready.
    fn sort_slot(&mut self, slot: usize) {
        self.empty(0, slot);
        self.in_slots -= self.sorting.len();
        self.sorting.reverse();
        self.sorting.sort_by_key(|(due_ns, _)| *due_ns);
        self.ready.extend(self.sorting.drain(..));
    }

    /// Spreads the users of a coarse slot, which begins now, over finer ones.
    fn spread(&mut self, level: usize, slot: usize) {
        self.empty(level, slot);
        while let Some((due_ns, user)) = self.sorting.pop() {
            self.link(due_ns >> FINEST_BITS, due_ns, user);
        }
    }

    /// The first slot that has users: its level, its place, and where it begins.
    fn first_slot(&self) -> Option<(usize, usize, u64)> {
        for (level, taken) in self.taken.iter().enumerate() {
            let shift = level as u32 * SLOT_BITS;
            let position = (self.passed >> shift) as usize % SLOTS;
            let ahead = taken >> position << position;
            if ahead != 0 {
                let slot = ahead.trailing_zeros() as usize;
                let above = self.passed >> shift >> SLOT_BITS << SLOT_BITS;
                return Some((level, slot, (above | slot as u64) << shift));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use candor_pace::draw;

    use super::*;

    fn drain(wheel: &mut Wheel) -> Vec<(u64, UserKey)> {
        std::iter::from_fn(|| wheel.first().inspect(|_| assert!(wheel.take().is_some()))).collect()
    }

    #[test]
    fn users_come_in_the_order_of_their_times_and_equals_as_they_were_put_in() {
        let mut wheel = Wheel::new();
        let times =
            [5_000_000_000, 1, 70_000, 5_000_000_000, 1, 69_999, u64::MAX, 3_600_000_000_000];
        for (user, due_ns) in (0..).zip(times) {
            wheel.put(due_ns, user);
        }
        assert_eq!(wheel.len(), 8);
        let expected = [
            (1, 1),
            (1, 4),
            (69_999, 5),
            (70_000, 2),
            (5_000_000_000, 0),
            (5_000_000_000, 3),
            (3_600_000_000_000, 7),
            (u64::MAX, 6),
        ];
        assert_eq!(drain(&mut wheel), expected);
        assert_eq!((wheel.len(), wheel.first()), (0, None));
    }

    #[test]
    fn those_that_are_due_are_counted_at_any_time() {
        let mut wheel = Wheel::new();
        for user in 0..1000 {
            wheel.put(u64::from(user) * 1_000_000, user);
        }
        for ms in [0, 1, 63, 64, 500, 998] {
            assert_eq!(wheel.due(ms * 1_000_000), ms + 1, "{ms}");
            assert_eq!(wheel.due(ms * 1_000_000 + 999_999), ms + 1, "{ms}");
        }
        assert_eq!((wheel.due(u64::MAX), wheel.len()), (1000, 1000));
    }

    /// Against a heap: random times, of all magnitudes, put in and taken as in a run, where what comes is never
    /// due before what was taken last.
    #[test]
    fn it_does_what_a_heap_does() {
        for seed in 0..50 {
            let mut wheel = Wheel::new();
            let mut heap = BinaryHeap::new();
            let (mut now_ns, mut number) = (0u64, 0u64);
            let mut free: Vec<UserKey> = (0..200).rev().collect();
            for step in 0..20_000 {
                let random = draw(seed, 1, step);
                if !random.is_multiple_of(3)
                    && let Some(user) = free.pop()
                {
                    let width = draw(seed, 2, step) % 45;
                    let due_ns = now_ns + draw(seed, 3, step) % (1 << width);
                    wheel.put(due_ns, user);
                    heap.push(Reverse((due_ns, number, user)));
                    number += 1;
                } else if let Some(Reverse((due_ns, _, user))) = heap.pop() {
                    assert_eq!(wheel.first(), Some((due_ns, user)), "seed {seed}, step {step}");
                    assert_eq!(wheel.take(), Some(user));
                    now_ns = due_ns;
                    free.push(user);
                }
                if random % 64 == 5 {
                    let until_ns = now_ns + random % 10_000_000;
                    let due = heap.iter().filter(|Reverse((due_ns, ..))| *due_ns <= until_ns);
                    assert_eq!(wheel.due(until_ns), due.count() as u64, "seed {seed}, step {step}");
                }
            }
            assert_eq!(wheel.len(), heap.len());
        }
    }
}
