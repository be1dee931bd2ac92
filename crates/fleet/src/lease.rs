//! The lease: how long an agent may send load without a reply from its coordinator.
//!
//! It counts from the agent's own sending of the beat that a reply belongs to, never from the
//! reply's arrival, so a late reply gives no more time. A coordinator that replies at time t knows
//! that the agent stops before t + lease unless it replies again, whether or not the reply arrives,
//! and without comparing clocks.
//!
//! The two clocks may run at different speeds. For a lease of 5 s the coordinator waits `lost_ns`,
//! 6 s, which is enough for clocks that differ by a sixth.
//!
//! A beat and its reply take a round trip, so a lease of an agent that is far away is longer by the measured
//! one, up to [`MOST_ROUND_TRIP_NS`](crate::timings::MOST_ROUND_TRIP_NS). Before it is measured, it is taken to be
//! that long: nothing is sent then.

/// An agent's permission to send until some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The agent's own time that it counts from.
    from_ns: u64,
    length_ns: u64,
}

impl Lease {
    /// The first lease of an agent that agrees now.
    pub fn new(now_ns: u64, length_ns: u64) -> Self {
        Lease { from_ns: now_ns, length_ns }
    }

    /// A reply to the beat sent at `beat_ns` has come, with a lease of this length. Returns whether
    /// the reply counts: one to an older beat, or to a beat of the future, to which no honest
    /// coordinator replies, changes nothing.
    pub fn renew(&mut self, now_ns: u64, beat_ns: u64, length_ns: u64) -> bool {
        let is_newer = (self.from_ns..=now_ns).contains(&beat_ns);
        if is_newer {
            *self = Lease::new(beat_ns, length_ns);
        }
        is_newer
    }

    /// How long it lasts from the beat that it counts from.
    pub fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// The end: nothing may be sent at this time or later.
    pub fn until_ns(&self) -> u64 {
        self.from_ns.saturating_add(self.length_ns)
    }

    /// Whether it is over.
    pub fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.until_ns()
    }
}

/// A coordinator's view of an agent that is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was heard recently.
    Heard,
    /// It may have stopped.
    Suspect,
    /// It has certainly stopped.
    Lost,
}

/// The coordinator's side: how long an agent has been silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    heard_ns: u64,
    /// When the newest beat was sent, by the agent's clock.
    beat_ns: Option<u64>,
}

impl Silence {
    /// For an agent that is expected to speak from now on.
    pub fn new(now_ns: u64) -> Self {
        Silence { heard_ns: now_ns, beat_ns: None }
    }

    /// Takes a beat sent at `beat_ns` of the agent's clock. Returns whether it is newer than all
    /// before; an older one is no sign of life.
    pub fn hear(&mut self, now_ns: u64, beat_ns: u64) -> bool {
        let is_newer = self.beat_ns.is_none_or(|known| beat_ns > known);
        if is_newer {
            (self.heard_ns, self.beat_ns) = (now_ns, Some(beat_ns));
        }
        is_newer
    }

    /// Whether a message sent at `sent_ns` of the agent's clock is newer than its last beat.
    pub fn is_before(&self, sent_ns: u64) -> bool {
        self.beat_ns.is_some_and(|known| sent_ns > known)
    }

    /// For how long nothing was heard.
    pub fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.heard_ns)
    }

    /// The agent's standing.
    pub fn standing(&self, now_ns: u64, suspect_ns: u64, lost_ns: u64) -> Standing {
        match self.silent_ns(now_ns) {
            silent_ns if silent_ns >= lost_ns => Standing::Lost,
            silent_ns if silent_ns >= suspect_ns => Standing::Suspect,
            _ => Standing::Heard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_counts_from_the_sending() {
        let mut lease = Lease::new(100, 50);
        assert_eq!((lease.until_ns(), lease.is_over(149), lease.is_over(150)), (150, false, true));
        // The reply was under way for 39.
        assert!(lease.renew(149, 110, 50) && lease.until_ns() == 160);
        // Replies to older beats, and to those of the future, change nothing.
        assert!(!lease.renew(150, 105, 50) && !lease.renew(150, 151, 50));
        assert_eq!(lease.until_ns(), 160);
        // A later reply may give less.
        assert!(lease.renew(150, 120, 30) && lease.until_ns() == 150);
    }

    #[test]
    fn old_beats_are_not_signs_of_life() {
        let mut silence = Silence::new(1_000);
        assert!(silence.hear(1_100, 7) && !silence.hear(1_900, 7) && !silence.hear(1_900, 6));
        let standing = |now_ns| silence.standing(now_ns, 200, 600);
        assert_eq!(standing(1_299), Standing::Heard);
        assert_eq!(standing(1_300), Standing::Suspect);
        assert_eq!(standing(1_700), Standing::Lost);
        assert!(silence.is_before(8) && !silence.is_before(7));
    }
}
