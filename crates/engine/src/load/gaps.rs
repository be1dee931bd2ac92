//! A sample of the gaps between due times, as they were taken from the schedule.
//!
//! What was sent is to be the process that was asked for. Every so often a due time is kept
//! together with the one after it; when there are many, every other is dropped and the step
//! doubled. So a run of any length leaves between half and all of the places filled, evenly over
//! the run, and the hot path compares one number.

/// Pairs that are kept at most.
const MOST: usize = 512;

/// Pairs of due times that follow each other.
#[derive(Debug)]
pub(crate) struct Gaps {
    pairs: Vec<(u64, u64)>,
    step: u64,
    /// The number of the request at which the next pair begins, from 1.
    next: u64,
}

impl Gaps {
    pub(crate) fn new() -> Self {
        Gaps { pairs: Vec::with_capacity(MOST), step: 1, next: 1 }
    }

    /// Whether a pair begins with request number `taken`, counted from 1.
    #[inline]
    pub(crate) fn wants(&self, taken: u64) -> bool {
        taken == self.next
    }

    /// Keeps a pair.
    #[cold]
    pub(crate) fn keep(&mut self, due_ns: u64, following_ns: u64) {
        if self.pairs.len() == MOST {
            let mut index = 0;
            self.pairs.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.step *= 2;
        }
        self.pairs.push((due_ns, following_ns));
        self.next += self.step;
    }

    /// What was kept.
    pub(crate) fn take(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_bounded_and_even_over_the_run() {
        for total in [0u64, 1, 511, 512, 513, 10_000, 1_000_000] {
            let mut gaps = Gaps::new();
            for number in 1..=total {
                if gaps.wants(number) {
                    gaps.keep(number * 10, number * 10 + 10);
                }
            }
            let pairs = gaps.take();
            assert!(
                pairs.len() <= MOST && pairs.len() as u64 >= total.min(MOST as u64 / 2),
                "{total}"
            );
            let steps: Vec<u64> = pairs.windows(2).map(|two| two[1].0 - two[0].0).collect();
            // One step may be longer: where the step doubled between an odd and an even place.
            let even = steps.iter().filter(|step| **step == steps[0]).count();
            assert!(even + 1 >= steps.len(), "{total}: {steps:?}");
        }
    }
}
