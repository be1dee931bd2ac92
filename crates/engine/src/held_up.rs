//! When a worker that never sleeps was held up: the machine, seen from the very thread that loads.
//!
//! With `--pacing spin` a worker looks for events again and again. A look takes a microsecond; one
//! that takes a hundred was no look, but somebody else who had the core: the hypervisor, the kernel,
//! another process. `candor verify` enters these times into what it expects. Times come in, pairs of
//! times go out; nothing here decides anything.

/// Shorter ones are not told from a look.
const LEAST_NS: u64 = 100_000;
/// What is kept at most; a worker that is held up more often is no instrument.
const ROOM: usize = 1 << 16;

/// The times in which a thread was held up, in order.
///
/// There are two ways to see one. Between two readings of the clock it did nothing but look, however
/// many steps of the loop are between them. Or a single call that sends or reads took that long.
/// What the thread itself does between calls is never counted here: that takes as long as it takes,
/// and is the loader's own.
#[derive(Debug, Default)]
pub(crate) struct HeldUp {
    is_wanted: bool,
    noted: Vec<(u64, u64)>,
    /// Since when it has done nothing but look; `None`: it did something.
    looking_since_ns: Option<u64>,
    /// When the last two looks began: what a call handles came, or fell due, after the earlier one.
    looks_ns: [u64; 2],
}

impl HeldUp {
    /// Of a thread that never sleeps; of any other nothing is known.
    pub(crate) fn of_a_thread_that_spins(is_wanted: bool) -> Self {
        HeldUp { is_wanted, ..HeldUp::default() }
    }

    /// Whether calls are to be told by [`HeldUp::call`].
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// A look begins.
    #[inline]
    pub(crate) fn look_begins(&mut self, at_ns: u64) {
        self.passes(at_ns);
        self.looking_since_ns = Some(at_ns);
        self.looks_ns = [self.looks_ns[1], at_ns];
    }

    /// The loop goes on. Says nothing unless it did nothing but look.
    #[inline]
    pub(crate) fn passes(&mut self, at_ns: u64) {
        let Some(since_ns) = self.looking_since_ns else { return };
        self.looking_since_ns = Some(at_ns);
        if at_ns.saturating_sub(since_ns) >= LEAST_NS {
            self.note(since_ns, at_ns);
        }
    }

    /// Something else than looking is done from here to the next look.
    #[inline]
    pub(crate) fn works(&mut self) {
        self.looking_since_ns = None;
    }

    /// A call that sends or reads began and ended. What was to leave by it, or had come, did so
    /// before it.
    #[inline]
    pub(crate) fn call(&mut self, begun_ns: u64, ended_ns: u64) {
        if ended_ns.saturating_sub(begun_ns) >= LEAST_NS {
            self.note(self.looks_ns[0], ended_ns);
        }
    }

    #[cold]
    fn note(&mut self, from_ns: u64, to_ns: u64) {
        // Times that touch are one time.
        if let Some(last) = self.noted.last_mut().filter(|last| last.1 >= from_ns) {
            last.1 = to_ns;
        } else if self.noted.len() < ROOM {
            self.noted.push((from_ns, to_ns));
        }
    }

    /// What was noted.
    pub(crate) fn take(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.noted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_look_is_kept() {
        let mut held_up = HeldUp::default();
        for (begun_ns, ended_ns) in [(0, 2_000), (5_000, 105_000), (200_000, 9_000_000)] {
            held_up.look_begins(begun_ns);
            held_up.passes(ended_ns);
            held_up.works();
        }
        assert_eq!(held_up.take(), [(5_000, 105_000), (200_000, 9_000_000)]);
        assert_eq!(held_up.take(), []);
    }

    #[test]
    fn between_two_looks_it_is_held_up_as_well() {
        let mut held_up = HeldUp::default();
        held_up.passes(1_000_000);
        held_up.look_begins(2_000_000);
        held_up.passes(2_001_000);
        // Before it could see whether anything is due.
        held_up.passes(3_000_000);
        held_up.look_begins(3_000_500);
        held_up.passes(3_001_000);
        // What it does meanwhile may take as long as this.
        held_up.works();
        held_up.passes(3_900_000);
        held_up.look_begins(3_950_000);
        assert_eq!(held_up.take(), [(2_001_000, 3_000_000)]);
    }

    #[test]
    fn a_call_holds_up_what_it_was_made_for() {
        let mut held_up = HeldUp::of_a_thread_that_spins(true);
        held_up.look_begins(10_000);
        held_up.passes(11_000);
        held_up.look_begins(12_000);
        held_up.passes(13_000);
        held_up.works();
        held_up.call(13_500, 23_500);
        held_up.call(24_000, 1_024_000);
        held_up.call(1_024_500, 2_024_500);
        assert_eq!(held_up.take(), [(10_000, 2_024_500)]);
    }
}
