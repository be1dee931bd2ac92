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
#[derive(Debug, Default)]
pub(crate) struct HeldUp(Vec<(u64, u64)>);

impl HeldUp {
    /// A look began and ended.
    #[inline]
    pub(crate) fn note(&mut self, begun_ns: u64, ended_ns: u64) {
        if ended_ns.saturating_sub(begun_ns) >= LEAST_NS && self.0.len() < ROOM {
            self.0.push((begun_ns, ended_ns));
        }
    }

    /// What was noted.
    pub(crate) fn take(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_look_is_kept() {
        let mut held_up = HeldUp::default();
        for (begun_ns, ended_ns) in [(0, 2_000), (5_000, 105_000), (200_000, 9_000_000)] {
            held_up.note(begun_ns, ended_ns);
        }
        assert_eq!(held_up.take(), [(5_000, 105_000), (200_000, 9_000_000)]);
        assert_eq!(held_up.take(), []);
    }
}
