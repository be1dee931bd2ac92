//! The lease: how long an agent may send load without hearing of its coordinator.
//!
//! It is counted from the agent's own sending of the beat that was answered, never from a reply's
//! arrival: a reply that was under way for long gives no more time. So whoever answers at time t
//! knows that the agent stops before t + lease, whatever becomes of the reply, and knows it without
//! comparing clocks.
//!
//! The two clocks may go at different speeds. The coordinator waits `lost_ns`, 6 s, for a lease of
//! 5 s: enough for clocks that differ by a sixth.

/// How long one agent may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    length_ns: u64,
    until_ns: u64,
}

impl Lease {
    /// A first one, for an agent that agrees now.
    pub fn new(now_ns: u64, length_ns: u64) -> Self {
        Lease { length_ns, until_ns: now_ns.saturating_add(length_ns) }
    }

    /// The beat that was sent at `beat_ns` was answered. True: it lasts longer now. A beat of the
    /// future, which no honest coordinator answers, changes nothing.
    pub fn extend(&mut self, now_ns: u64, beat_ns: u64) -> bool {
        let until_ns = beat_ns.saturating_add(self.length_ns);
        let longer = beat_ns <= now_ns && until_ns > self.until_ns;
        if longer {
            self.until_ns = until_ns;
        }
        longer
    }

    /// Nothing may be sent at this time or later.
    pub fn until_ns(&self) -> u64 {
        self.until_ns
    }

    /// Whether it is over.
    pub fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.until_ns
    }
}

/// What a coordinator thinks of an agent that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is there.
    Heard,
    /// It may be gone.
    Suspect,
    /// It is gone, and has stopped.
    Lost,
}

/// The coordinator's end: how long an agent was silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    heard_ns: u64,
    /// The newest beat that came, by the agent's clock.
    beat_ns: Option<u64>,
}

impl Silence {
    /// Of an agent that is expected to speak from now on.
    pub fn new(now_ns: u64) -> Self {
        Silence { heard_ns: now_ns, beat_ns: None }
    }

    /// A beat came that was sent at `beat_ns` of the agent's clock. False: it is no newer than one
    /// that came before, and says nothing.
    pub fn hear(&mut self, now_ns: u64, beat_ns: u64) -> bool {
        let is_newer = self.beat_ns.is_none_or(|known| beat_ns > known);
        if is_newer {
            (self.heard_ns, self.beat_ns) = (now_ns, Some(beat_ns));
        }
        is_newer
    }

    /// Whether something that the agent sent at `sent_ns` of its clock is newer than its last beat.
    pub fn is_before(&self, sent_ns: u64) -> bool {
        self.beat_ns.is_some_and(|known| sent_ns > known)
    }

    /// What to think of it.
    pub fn standing(&self, now_ns: u64, suspect_ns: u64, lost_ns: u64) -> Standing {
        match now_ns.saturating_sub(self.heard_ns) {
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
        assert!(lease.extend(149, 110) && lease.until_ns() == 160);
        // Replies to older beats, and to those of the future, change nothing.
        assert!(!lease.extend(150, 105) && !lease.extend(150, 151) && lease.until_ns() == 160);
        assert!(!lease.extend(u64::MAX, 110));
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
