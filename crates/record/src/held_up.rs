//! Stalls of a thread that never sleeps, caused by the machine and detected by the thread itself.
//!
//! A thread that polls for events and never waits runs all the time. A turn of its loop does its
//! work, then polls once, with one system call that does not wait, and handles the events. There
//! are two signs of a stall:
//!
//! - A turn took longer than the thread ran, by its own CPU time: the hypervisor or another thread
//!   had its core. The thread's own work is never counted, however long it takes, because its CPU
//!   time advances while it computes and while it is in a system call. (If the hypervisor reports
//!   the time that it takes from the core, the kernel excludes that from a thread's CPU time:
//!   `CONFIG_PARAVIRT_TIME_ACCOUNTING`.)
//! - A poll took long. It contains no work of the thread, so whatever the CPU time says, the cause
//!   was an interrupt, or a hypervisor that does not report the time it takes.
//!
//! Readings of two clocks come in and pairs of times go out; this module draws no conclusions. The
//! loader's workers and the truth server use it. `candor verify` takes the stalls into account in
//! its expectations. The report computes from the polls without events how busy a thread was that
//! never sleeps.

/// The shortest stall: shorter ones cannot be distinguished from the time between two readings, and
/// do not matter.
const LEAST_NS: u64 = 100_000;
/// The most stalls to keep; a thread with more of them cannot measure anything.
const ROOM: usize = 1 << 16;

/// The stalls of a thread, in order.
#[derive(Debug, Default)]
pub struct HeldUp {
    /// The current turn; `None`: unknown.
    turn: Option<Turn>,
    /// Since when the thread has been polling without finding events.
    looks_since_ns: Option<u64>,
    spun_ns: u64,
    noted: Vec<(u64, u64)>,
}

#[derive(Debug)]
struct Turn {
    began_ns: u64,
    /// The thread's CPU time at its beginning.
    cpu_ns: u64,
    /// When the turn before began: the events that this turn handles came, or fell due, after that.
    since_ns: u64,
}

impl HeldUp {
    /// A turn of the loop begins at `at_ns`, with the thread's CPU time at `cpu_ns`; the one before
    /// it is over.
    ///
    /// If that one was stalled, the recorded time begins with the turn before that one, in which
    /// the events came that were handled late. It ends when the stalled turn would have been over
    /// without work of its own.
    #[inline]
    pub fn turn(&mut self, at_ns: u64, cpu_ns: u64) {
        let mut since_ns = at_ns;
        self.spun_ns += self.looks_since_ns.map_or(0, |from_ns| at_ns.saturating_sub(from_ns));
        let was_held_up = self.looked(at_ns).is_some();
        if let Some(turn) = self.turn.take() {
            let ran_ns = cpu_ns.saturating_sub(turn.cpu_ns);
            let took_ns = at_ns.saturating_sub(turn.began_ns);
            if !was_held_up && took_ns.saturating_sub(ran_ns) >= LEAST_NS {
                self.note(turn.since_ns, at_ns - ran_ns);
            }
            // Events that wait because of our own long turn do not wait because of a stall.
            since_ns = turn.began_ns.max(at_ns.saturating_sub(LEAST_NS));
        }
        self.turn = Some(Turn { began_ns: at_ns, cpu_ns, since_ns });
    }

    /// A turn begins, and stalls are not recorded: only the time of polling is.
    #[inline]
    pub fn unwatched_turn(&mut self, at_ns: u64) {
        let looks_since_ns = self.looks_since_ns.take();
        self.spun_ns += looks_since_ns.map_or(0, |from_ns| at_ns.saturating_sub(from_ns));
    }

    /// The work of the turn is done, and the thread polls for events until it calls
    /// [`found`](Self::found), or until the next turn.
    #[inline]
    pub fn looks(&mut self, at_ns: u64) {
        self.looks_since_ns = Some(at_ns);
    }

    /// The poll has found events. `cpu_ns` is called only if it took long.
    #[inline]
    pub fn found(&mut self, at_ns: u64, cpu_ns: impl FnOnce() -> u64) {
        if let Some(since_ns) = self.looked(at_ns) {
            // The handling of these events is judged separately.
            self.turn = Some(Turn { began_ns: at_ns, cpu_ns: cpu_ns(), since_ns });
        }
    }

    /// The poll has found events and may have handled them, which is the thread's own work.
    #[inline]
    pub fn stops_looking(&mut self) {
        self.looks_since_ns = None;
    }

    /// A poll is over. If it was stalled: since when the events came that it delayed.
    #[inline]
    fn looked(&mut self, at_ns: u64) -> Option<u64> {
        let looks_since_ns = self.looks_since_ns.take()?;
        let took_ns = at_ns.saturating_sub(looks_since_ns);
        (took_ns >= LEAST_NS).then(|| self.note_look(looks_since_ns, at_ns))
    }

    #[cold]
    fn note_look(&mut self, looks_since_ns: u64, at_ns: u64) -> u64 {
        // As after a long turn: the work before the poll is the thread's own.
        let turn_since_ns = self.turn.as_ref().map_or(looks_since_ns, |turn| turn.since_ns);
        let since_ns = turn_since_ns.max(looks_since_ns.saturating_sub(LEAST_NS));
        self.note(since_ns, at_ns);
        since_ns
    }

    /// The current turn may wait for another thread of ours, which is not a stall.
    #[inline]
    pub fn leave_out(&mut self) {
        self.turn = None;
    }

    /// How long the thread has polled without finding events so far.
    pub fn spun_ns(&self) -> u64 {
        self.spun_ns
    }

    #[cold]
    fn note(&mut self, from_ns: u64, to_ns: u64) {
        // Adjacent stalls are joined.
        if let Some(last) = self.noted.last_mut().filter(|last| last.1 >= from_ns) {
            last.1 = last.1.max(to_ns);
        } else if self.noted.len() < ROOM {
            self.noted.push((from_ns, to_ns));
        }
    }

    /// Takes the recorded stalls.
    pub fn take(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.noted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// The stalls of a thread with these turns, each given by its length and by the CPU time in it.
    fn noted(turns: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut held_up = HeldUp::default();
        let (mut at_ns, mut cpu_ns) = (10 * MS, 3 * MS);
        held_up.turn(at_ns, cpu_ns);
        for (took_ns, ran_ns) in turns {
            (at_ns, cpu_ns) = (at_ns + took_ns, cpu_ns + ran_ns);
            held_up.turn(at_ns, cpu_ns);
        }
        let noted = held_up.take();
        assert_eq!(held_up.take(), []);
        noted.iter().map(|(from_ns, to_ns)| (from_ns - 10 * MS, to_ns - 10 * MS)).collect()
    }

    #[test]
    fn a_thread_that_runs_is_not_held_up_however_long_it_takes() {
        assert_eq!(noted(&[(2 * US, 2 * US), (500 * MS, 500 * MS), (2 * US, 2 * US)]), []);
        // The two clocks are not read at the same instant.
        assert_eq!(noted(&[(2 * US, 3 * US), (MS, MS - 99 * US), (2 * US, US)]), []);
    }

    #[test]
    fn a_turn_without_cpu_time_is_noted_from_the_turn_before() {
        let short = (2 * US, 2 * US);
        assert_eq!(noted(&[short, short, (5 * MS, 0), short]), [(2 * US, 4 * US + 5 * MS)]);
        assert_eq!(noted(&[short, (100 * US, 0)]), [(0, 102 * US)]);
        // There is no turn before the first.
        assert_eq!(noted(&[(5 * MS, 0), short]), [(0, 5 * MS)]);
    }

    #[test]
    fn what_a_thread_did_itself_is_not_in_it() {
        let short = (2 * US, 2 * US);
        // The thread ran for 3 of the 5 ms, so events that waited for more than 2 ms waited for its
        // own work.
        assert_eq!(noted(&[short, short, (5 * MS, 3 * MS)]), [(2 * US, 4 * US + 2 * MS)]);
        // The 20 ms of work in the turn before do not excuse the next one.
        let (before, late) = ((20 * MS, 20 * MS), (MS, 0));
        assert_eq!(
            noted(&[short, before, late]),
            [(2 * US + 20 * MS - LEAST_NS, 2 * US + 21 * MS)]
        );
    }

    #[test]
    fn times_that_touch_are_one() {
        let (short, late) = ((2 * US, 2 * US), (MS, US));
        assert_eq!(noted(&[short, late, late]), [(0, 2 * US + 2 * MS - US)]);
        let between = [short, late, short, short, short, late];
        let second_ns = (MS + 6 * US, 2 * MS + 8 * US - US);
        assert_eq!(noted(&between), [(0, 2 * US + MS - US), second_ns]);
    }

    #[test]
    fn nothing_is_known_of_a_turn_that_is_left_out() {
        let mut held_up = HeldUp::default();
        held_up.turn(MS, 0);
        held_up.turn(2 * MS, MS);
        held_up.leave_out();
        held_up.turn(9 * MS, MS);
        held_up.turn(10 * MS, MS);
        // Nor does the next one know when the turn before began.
        assert_eq!(held_up.take(), [(9 * MS, 10 * MS)]);
    }

    #[test]
    fn a_long_look_is_noted_whatever_ran() {
        let mut held_up = HeldUp::default();
        held_up.turn(0, 0);
        held_up.looks(US);
        held_up.turn(2 * US, 2 * US);
        // No events, and the CPU time advanced.
        held_up.looks(3 * US);
        held_up.turn(5 * MS, 5 * MS);
        assert_eq!(held_up.spun_ns(), US + 5 * MS - 3 * US);
        held_up.looks(5 * MS + US);
        held_up.turn(5 * MS + 2 * US, 5 * MS + 2 * US);
        assert_eq!(held_up.take(), [(0, 5 * MS)]);

        // Events: handling them is the thread's own work, and so is the work before.
        held_up.looks(9 * MS);
        held_up.found(11 * MS, || 11 * MS);
        held_up.turn(20 * MS, 20 * MS);
        assert_eq!(held_up.take(), [(9 * MS - LEAST_NS, 11 * MS)]);
        // Unless it is stalled meanwhile.
        held_up.looks(21 * MS);
        held_up.found(22 * MS, || 22 * MS);
        held_up.turn(26 * MS, 23 * MS);
        assert_eq!(held_up.take(), [(21 * MS - LEAST_NS, 25 * MS)]);
    }

    #[test]
    fn a_short_look_is_no_excuse_and_not_asked_about() {
        let mut held_up = HeldUp::default();
        let spun_ns = held_up.spun_ns();
        held_up.turn(0, 0);
        held_up.looks(US);
        held_up.found(100 * US, || unreachable!("a system call for nothing"));
        held_up.turn(7 * MS, 7 * MS);
        held_up.found(9 * MS, || unreachable!("it did not look"));
        held_up.turn(9 * MS, 9 * MS);
        assert_eq!(held_up.take(), []);
        assert_eq!(held_up.spun_ns(), spun_ns);
        // A poll is judged even if its turn is unknown.
        held_up.leave_out();
        held_up.looks(10 * MS);
        held_up.turn(12 * MS, 9 * MS);
        assert_eq!(held_up.take(), [(10 * MS, 12 * MS)]);
    }

    #[test]
    fn what_nobody_asks_for_is_not_noted_but_for_how_long_it_looked() {
        let mut held_up = HeldUp::default();
        held_up.looks(0);
        held_up.unwatched_turn(5 * MS);
        held_up.unwatched_turn(9 * MS);
        held_up.looks(9 * MS);
        held_up.stops_looking();
        held_up.unwatched_turn(20 * MS);
        assert_eq!((held_up.spun_ns(), held_up.take()), (5 * MS, vec![]));
    }

    #[test]
    fn there_is_room_for_so_many() {
        let mut held_up = HeldUp::default();
        for turn in 0..3 * ROOM as u64 {
            // Every second turn is stalled; the others take as long, but run.
            held_up.turn(turn * MS, turn / 2 * MS);
        }
        let noted = held_up.take();
        assert_eq!(noted.len(), ROOM);
        assert!(noted.windows(2).all(|two| two[0].1 < two[1].0));
    }
}
