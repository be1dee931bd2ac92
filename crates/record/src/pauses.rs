//! The pauses of a machine, and the requests that they touched.
//!
//! A watcher adds pauses; each recorder keeps its slow requests until the pauses of their time are known, and then
//! counts those that a pause touched. Nothing here judges whether a pause was the cause.

/// The least response time of a request that a pause can touch, and the least length of a pause.
pub const LEAST_PAUSE_NS: u64 = 1_000_000;
/// The most pauses to keep: the latest.
const MOST: usize = 4096;

/// Times in which a machine paused, each from a beginning to an end, exclusive. They do not overlap, and are in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pauses(Vec<(u64, u64)>);

impl Pauses {
    /// Adds a pause. Those that overlap or meet are one.
    pub fn add(&mut self, mut from_ns: u64, mut to_ns: u64) {
        let first = self.0.partition_point(|(_, ends_ns)| *ends_ns < from_ns);
        let after = self.0.partition_point(|(begins_ns, _)| *begins_ns <= to_ns);
        for (begins_ns, ends_ns) in self.0.drain(first..after.max(first)) {
            (from_ns, to_ns) = (from_ns.min(begins_ns), to_ns.max(ends_ns));
        }
        self.0.insert(first, (from_ns, to_ns));
        if self.0.len() > MOST {
            self.0.remove(0);
        }
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a moment from `from_ns` until before `to_ns` was in a pause.
    pub fn touch(&self, from_ns: u64, to_ns: u64) -> bool {
        let next = self.0.partition_point(|(_, ends_ns)| *ends_ns <= from_ns);
        self.0.get(next).is_some_and(|(begins_ns, _)| *begins_ns < to_ns)
    }
}

/// Room for slow requests. They are judged when three quarters of it are full: the rest is for those that come until
/// then. A request for which there is no room counts as untouched.
const ROOM: usize = 16_384;

/// Requests that a pause may have touched, until the pauses of their time are known: when each was due, and done.
#[derive(Debug)]
pub(crate) struct SlowRequests(Vec<(u64, u64)>);

impl SlowRequests {
    pub(crate) fn new() -> Self {
        SlowRequests(Vec::with_capacity(ROOM))
    }

    /// Keeps one, if there is room.
    #[cold]
    pub(crate) fn keep(&mut self, due_ns: u64, done_ns: u64) {
        if self.0.len() < ROOM {
            self.0.push((due_ns, done_ns));
        }
    }

    /// Whether they are too many to wait for the end of their interval.
    #[inline]
    pub(crate) fn are_many(&self) -> bool {
        self.0.len() >= ROOM / 4 * 3
    }

    /// Forgets those that were done by `known_ns`, and calls `touched` for those that a pause touched.
    pub(crate) fn judge(
        &mut self,
        pauses: &Pauses,
        known_ns: u64,
        mut touched: impl FnMut(u64, u64),
    ) {
        self.0.retain(|&(due_ns, done_ns)| {
            let is_known = done_ns <= known_ns;
            if is_known && pauses.touch(due_ns, done_ns) {
                touched(due_ns, done_ns);
            }
            !is_known
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_touched_if_it_has_a_moment_in_a_pause() {
        let mut pauses = Pauses::default();
        assert!(!pauses.touch(0, u64::MAX));
        pauses.add(50, 60);
        pauses.add(20, 30);
        for (from_ns, to_ns, touched) in [
            (0, 20, false),
            (0, 21, true),
            (25, 26, true),
            (29, 40, true),
            (30, 50, false),
            (30, 51, true),
            (0, 100, true),
            (60, 100, false),
            (59, 100, true),
        ] {
            assert_eq!(pauses.touch(from_ns, to_ns), touched, "{from_ns} to {to_ns}");
        }
    }

    #[test]
    fn pauses_that_overlap_or_meet_are_one() {
        let all = |added: &[(u64, u64)]| {
            let mut pauses = Pauses::default();
            added.iter().for_each(|(from_ns, to_ns)| pauses.add(*from_ns, *to_ns));
            pauses.0
        };
        assert_eq!(all(&[(10, 20), (20, 30), (40, 50)]), [(10, 30), (40, 50)]);
        // Of several watchers, each of which reports when it wakes.
        assert_eq!(all(&[(10, 20), (40, 50), (15, 45)]), [(10, 50)]);
        assert_eq!(all(&[(40, 50), (10, 20), (22, 30)]), [(10, 20), (22, 30), (40, 50)]);
        assert_eq!(all(&[(10, 50), (20, 30)]), [(10, 50)]);
    }

    #[test]
    fn slow_requests_have_a_bounded_room() {
        let mut slow = SlowRequests::new();
        let room = slow.0.capacity();
        for at in 0..ROOM as u64 * 2 {
            assert_eq!(slow.are_many(), at >= ROOM as u64 * 3 / 4);
            slow.keep(at, at + 10);
        }
        assert_eq!((slow.0.len(), slow.0.capacity()), (ROOM, room));
        let mut pauses = Pauses::default();
        pauses.add(0, u64::MAX);
        let mut count = 0;
        slow.judge(&pauses, ROOM as u64 + 9, |_, _| count += 1);
        assert_eq!((count, slow.0.len(), slow.are_many()), (ROOM, 0, false));
        slow.keep(20, 30);
        slow.judge(&pauses, 29, |_, _| panic!("its pauses are not known"));
        assert_eq!(slow.0.len(), 1);
    }

    #[test]
    fn the_latest_are_kept() {
        let mut pauses = Pauses::default();
        (0..MOST as u64 + 10).for_each(|at| pauses.add(at * 10, at * 10 + 1));
        assert_eq!(pauses.0.len(), MOST);
        assert!(!pauses.touch(90, 91) && pauses.touch(100, 101));
    }
}
