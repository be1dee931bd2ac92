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
/// Between two readings of the clock in which it did nothing but look, however many steps of the
/// loop are between them. What it did beside that, sending and reading, is never counted here: that
/// takes as long as it takes, and is the loader's own.
#[derive(Debug, Default)]
pub(crate) struct HeldUp {
    noted: Vec<(u64, u64)>,
    /// Since when it has done nothing but look; `None`: it did something.
    looking_since_ns: Option<u64>,
}

impl HeldUp {
    /// A look begins or ends.
    #[inline]
    pub(crate) fn looks(&mut self, at_ns: u64) {
        self.passes(at_ns);
        self.looking_since_ns = Some(at_ns);
    }

    /// The loop goes on. Says nothing unless it looked before.
    #[inline]
    pub(crate) fn passes(&mut self, at_ns: u64) {
        let Some(since_ns) = self.looking_since_ns else { return };
        self.looking_since_ns = Some(at_ns);
        if at_ns.saturating_sub(since_ns) >= LEAST_NS && self.noted.len() < ROOM {
            self.noted.push((since_ns, at_ns));
        }
    }

    /// Something else than looking is done from here to the next look.
    #[inline]
    pub(crate) fn works(&mut self) {
        self.looking_since_ns = None;
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
            held_up.looks(begun_ns);
            held_up.looks(ended_ns);
            held_up.works();
        }
        assert_eq!(held_up.take(), [(5_000, 105_000), (200_000, 9_000_000)]);
        assert_eq!(held_up.take(), []);
    }

    #[test]
    fn between_two_looks_it_is_held_up_as_well() {
        let mut held_up = HeldUp::default();
        held_up.passes(1_000_000);
        held_up.looks(2_000_000);
        held_up.looks(2_001_000);
        // Before it could see whether anything is due.
        held_up.passes(3_000_000);
        held_up.looks(3_000_500);
        held_up.looks(3_001_000);
        // What it sends meanwhile may take as long as this.
        held_up.works();
        held_up.passes(3_900_000);
        held_up.looks(3_950_000);
        assert_eq!(held_up.take(), [(2_001_000, 3_000_000)]);
    }
}
