//! When a thread that never sleeps was held up by the machine, seen from that very thread.
//!
//! A thread that looks for events again and again, and never waits for one, runs all the time. A
//! turn of its loop does what is to do, then looks once, which is one system call that does not
//! wait, and handles what it found. Two things in it are somebody else's doing:
//!
//! - More time passed in a turn than the thread ran, by its own CPU time: the hypervisor, or another
//!   thread, had its core. Nothing that it does itself is counted, however long it takes: while it
//!   computes, and while it is in a system call, its CPU time goes on. (The kernel leaves out of a
//!   thread's CPU time what the hypervisor took from the core, where that says so:
//!   `CONFIG_PARAVIRT_TIME_ACCOUNTING`.)
//! - A look took long. There is nothing of the thread's own in it, so whatever its CPU time says,
//!   that was an interrupt, or a hypervisor that does not say what it took.
//!
//! Readings of two clocks come in, pairs of times go out, and nothing here decides anything.
//! The loader's workers and the truth server each have one; `candor verify` enters what they note
//! into what it expects, and the report tells from the looks that found nothing how busy a thread
//! was that never sleeps.

/// Shorter ones are not told from the time between two readings, and do not matter.
const LEAST_NS: u64 = 100_000;
/// What is kept at most; a thread that is held up more often is no instrument.
const ROOM: usize = 1 << 16;

/// The times in which a thread was held up, in order.
#[derive(Debug, Default)]
pub struct HeldUp {
    /// The turn that is going on; `None`: nothing is known of it.
    turn: Option<Turn>,
    /// Since when it looks for events, and has found none yet.
    looks_since_ns: Option<u64>,
    spun_ns: u64,
    noted: Vec<(u64, u64)>,
}

#[derive(Debug)]
struct Turn {
    began_ns: u64,
    /// The thread's CPU time then.
    cpu_ns: u64,
    /// What it handles came, or fell due, after this: when the turn before it began.
    since_ns: u64,
}

impl HeldUp {
    /// A turn of the loop begins, at `at_ns` and with `cpu_ns` of CPU time spent by the thread, and
    /// the one before it is over.
    ///
    /// If that one was held up, what is noted begins with the turn before that one, in which came
    /// what was handled late, and lasts until it would have been over had it done nothing itself.
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
            // What a long turn of ours keeps waiting, it keeps waiting itself.
            since_ns = turn.began_ns.max(at_ns.saturating_sub(LEAST_NS));
        }
        self.turn = Some(Turn { began_ns: at_ns, cpu_ns, since_ns });
    }

    /// A turn begins, and nobody asks when the thread is held up: only how long it looks is kept.
    #[inline]
    pub fn unwatched_turn(&mut self, at_ns: u64) {
        let looks_since_ns = self.looks_since_ns.take();
        self.spun_ns += looks_since_ns.map_or(0, |from_ns| at_ns.saturating_sub(from_ns));
    }

    /// It has done what there was to do, and looks for events until it says that it has
    /// [`found`](Self::found) one, or until the next turn.
    #[inline]
    pub fn looks(&mut self, at_ns: u64) {
        self.looks_since_ns = Some(at_ns);
    }

    /// The look has found something. `cpu_ns` is asked only if it took long.
    #[inline]
    pub fn found(&mut self, at_ns: u64, cpu_ns: impl FnOnce() -> u64) {
        if let Some(since_ns) = self.looked(at_ns) {
            // What is handled now is judged by itself.
            self.turn = Some(Turn { began_ns: at_ns, cpu_ns: cpu_ns(), since_ns });
        }
    }

    /// The look has found something, and may have done something with it: that is the thread's own.
    #[inline]
    pub fn stops_looking(&mut self) {
        self.looks_since_ns = None;
    }

    /// A look is over. If it was held up, since when things came that it keeps waiting.
    #[inline]
    fn looked(&mut self, at_ns: u64) -> Option<u64> {
        let looks_since_ns = self.looks_since_ns.take()?;
        let took_ns = at_ns.saturating_sub(looks_since_ns);
        (took_ns >= LEAST_NS).then(|| self.note_look(looks_since_ns, at_ns))
    }

    #[cold]
    fn note_look(&mut self, looks_since_ns: u64, at_ns: u64) -> u64 {
        // As after a long turn: what was done before the look is the thread's own.
        let turn_since_ns = self.turn.as_ref().map_or(looks_since_ns, |turn| turn.since_ns);
        let since_ns = turn_since_ns.max(looks_since_ns.saturating_sub(LEAST_NS));
        self.note(since_ns, at_ns);
        since_ns
    }

    /// The turn that is going on may wait for something of our own: that is nobody else's doing.
    #[inline]
    pub fn leave_out(&mut self) {
        self.turn = None;
    }

    /// How long it looked for events, again and again, and found none, until now.
    pub fn spun_ns(&self) -> u64 {
        self.spun_ns
    }

    #[cold]
    fn note(&mut self, from_ns: u64, to_ns: u64) {
        // Times that touch are one time.
        if let Some(last) = self.noted.last_mut().filter(|last| last.1 >= from_ns) {
            last.1 = last.1.max(to_ns);
        } else if self.noted.len() < ROOM {
            self.noted.push((from_ns, to_ns));
        }
    }

    /// What was noted.
    pub fn take(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.noted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// Turns of a thread, each by how long it took and for how much of that the thread ran.
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
        // The two clocks are not read in the same instant.
        assert_eq!(noted(&[(2 * US, 3 * US), (MS, MS - 99 * US), (2 * US, US)]), []);
    }

    #[test]
    fn a_turn_without_cpu_time_is_noted_from_the_turn_before() {
        let short = (2 * US, 2 * US);
        assert_eq!(noted(&[short, short, (5 * MS, 0), short]), [(2 * US, 4 * US + 5 * MS)]);
        assert_eq!(noted(&[short, (100 * US, 0)]), [(0, 102 * US)]);
        // There was none before the first.
        assert_eq!(noted(&[(5 * MS, 0), short]), [(0, 5 * MS)]);
    }

    #[test]
    fn what_a_thread_did_itself_is_not_in_it() {
        let short = (2 * US, 2 * US);
        // It ran for 3 of the 5 ms: whoever waited for longer than 2 waited for it.
        assert_eq!(noted(&[short, short, (5 * MS, 3 * MS)]), [(2 * US, 4 * US + 2 * MS)]);
        // And what the turn before did itself for 20 ms is not the next one's excuse.
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
        // Nor does the next one know when the one before began.
        assert_eq!(held_up.take(), [(9 * MS, 10 * MS)]);
    }

    #[test]
    fn a_long_look_is_noted_whatever_ran() {
        let mut held_up = HeldUp::default();
        held_up.turn(0, 0);
        held_up.looks(US);
        held_up.turn(2 * US, 2 * US);
        // Nothing found, and the CPU time went on.
        held_up.looks(3 * US);
        held_up.turn(5 * MS, 5 * MS);
        assert_eq!(held_up.spun_ns(), US + 5 * MS - 3 * US);
        held_up.looks(5 * MS + US);
        held_up.turn(5 * MS + 2 * US, 5 * MS + 2 * US);
        assert_eq!(held_up.take(), [(0, 5 * MS)]);

        // Something found: what is done with it is the thread's own, and so is what it did before.
        held_up.looks(9 * MS);
        held_up.found(11 * MS, || 11 * MS);
        held_up.turn(20 * MS, 20 * MS);
        assert_eq!(held_up.take(), [(9 * MS - LEAST_NS, 11 * MS)]);
        // Unless it is held up in doing it.
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
        // A look is known also where the turn is not.
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
            // Held up in every second turn; the others take as long, and run.
            held_up.turn(turn * MS, turn / 2 * MS);
        }
        let noted = held_up.take();
        assert_eq!(noted.len(), ROOM);
        assert!(noted.windows(2).all(|two| two[0].1 < two[1].0));
    }
}
