//! How often to connect: the pace of attempts under `--connect-rate`.
//!
//! Pure: times come in, a permission goes out. An attempt that could not be made earlier does not
//! earn the right to a second one: what this is for is that connections do *not* come at once.

/// Spaces attempts evenly.
#[derive(Debug)]
pub(crate) struct ConnectPace {
    /// From one attempt to the next; 0: no pace.
    gap_ns: u64,
    /// No attempt before this time.
    next_ns: u64,
}

impl ConnectPace {
    pub(crate) fn new(gap_ns: u64) -> Self {
        ConnectPace { gap_ns, next_ns: 0 }
    }

    /// Whether an attempt may be made now; if so, it is taken for made.
    pub(crate) fn take(&mut self, now_ns: u64) -> bool {
        if self.gap_ns == 0 {
            return true;
        }
        if now_ns < self.next_ns {
            return false;
        }
        // Late by less than a gap: the pace is kept. Later: it begins anew.
        let since_ns = if now_ns - self.next_ns < self.gap_ns { self.next_ns } else { now_ns };
        self.next_ns = since_ns.saturating_add(self.gap_ns);
        true
    }

    /// When the next attempt may be made.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Time begins anew, `passed_ns` later than before.
    pub(crate) fn set_origin(&mut self, passed_ns: u64) {
        self.next_ns = self.next_ns.saturating_sub(passed_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::ConnectPace;

    /// Attempts made in `until_ns`, with a look every `look_ns`.
    fn attempts(pace: &mut ConnectPace, look_ns: usize, until_ns: u64) -> u64 {
        (0..until_ns).step_by(look_ns).map(|now_ns| u64::from(pace.take(now_ns))).sum()
    }

    #[test]
    fn attempts_keep_the_rate_whenever_one_looks() {
        assert_eq!(attempts(&mut ConnectPace::new(1000), 1, 100_000), 100);
        assert_eq!(attempts(&mut ConnectPace::new(1000), 7, 100_000), 100);
        assert_eq!(attempts(&mut ConnectPace::new(1000), 999, 100_000), 100);
    }

    #[test]
    fn a_pause_is_not_made_up_for() {
        let mut pace = ConnectPace::new(1000);
        assert!(pace.take(0) && !pace.take(999) && pace.take(50_000));
        assert!(!pace.take(50_999) && pace.take(51_000));
    }

    #[test]
    fn without_a_rate_there_is_no_pace() {
        let mut pace = ConnectPace::new(0);
        assert!((0..1000).all(|_| pace.take(5)));
    }
}
