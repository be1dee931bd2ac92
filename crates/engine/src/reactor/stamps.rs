//! What is known of the kernel's time stamps on one connection, and which send a stamp means.
//!
//! The kernel numbers the bytes of a connection and stamps the last byte of each call that sent.
//! Calls are kept with the position at which they ended, so that a stamp finds its call by its
//! number: also when several requests left in one call, or one in several. A second stamp of the
//! same call is that of a retransmission, and is ignored. Two calls whose bytes left in one
//! segment have one stamp, the later call's; the earlier has none, and none is made up for it.
//!
//! Nothing here asks the kernel anything; [`super::stamped`] does.

use std::collections::VecDeque;

/// Calls that are remembered. A request whose response comes after more calls than this has no stamp.
const CALLS: usize = 256;

/// The stamps of one connection.
#[derive(Debug, Clone, Default)]
pub struct StampLog {
    /// Bytes sent.
    position: u64,
    calls: VecDeque<Call>,
    unstamped: u64,
    arrived_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Call {
    /// Position after its last byte.
    end: u64,
    left_ns: Option<u64>,
}

/// What [`StampLog`]s of a reactor have in common.
#[derive(Debug, Clone, Default)]
pub struct StampFacts {
    /// Connections with stamps.
    pub connections: u64,
    /// Connections whose socket refused.
    pub refused: u64,
    /// Why, the first time.
    pub refusal: Option<String>,
    /// Reads without a stamp, where every read has one.
    pub unstamped: u64,
    /// Times that the realtime clock was set.
    pub clock_steps: u64,
    /// How much a converted stamp can be off.
    pub conversion_error_ns: u64,
}

impl StampLog {
    /// A call sent `bytes`.
    pub fn sent(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        if self.calls.len() == CALLS
            && let Some(forgotten) = self.calls.pop_front()
        {
            self.unstamped -= u64::from(forgotten.left_ns.is_none());
        }
        self.position += bytes as u64;
        self.unstamped += 1;
        self.calls.push_back(Call { end: self.position, left_ns: None });
    }

    /// Where the last call ended.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether a call awaits its stamp.
    pub fn awaits_stamp(&self) -> bool {
        self.unstamped > 0
    }

    /// The kernel stamped the byte that it numbers `number`, counting from 0 and modulo 2³².
    pub fn left(&mut self, number: u32, at_ns: u64) {
        // The newest position that ends in this number and was sent.
        let Some(last) = self.position.checked_sub(1) else { return };
        let back = (last as u32).wrapping_sub(number);
        let Some(byte) = last.checked_sub(u64::from(back)) else { return };
        if let Some(call) = self.call_mut(byte + 1)
            && call.left_ns.is_none()
        {
            call.left_ns = Some(at_ns);
            self.unstamped -= 1;
        }
    }

    /// When the bytes of the call that ended at `end` had left.
    pub fn left_ns(&self, end: u64) -> Option<u64> {
        let at = self.calls.binary_search_by_key(&end, |call| call.end).ok()?;
        self.calls[at].left_ns
    }

    /// What was read last had arrived at this time, the last segment of it.
    pub fn arrived(&mut self, at_ns: Option<u64>) {
        self.arrived_ns = at_ns;
    }

    /// When the last segment of what was read last had arrived.
    pub fn arrived_ns(&self) -> Option<u64> {
        self.arrived_ns
    }

    fn call_mut(&mut self, end: u64) -> Option<&mut Call> {
        let at = self.calls.binary_search_by_key(&end, |call| call.end).ok()?;
        self.calls.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_finds_its_call_and_the_first_one_counts() {
        let mut log = StampLog::default();
        // Two requests in one call, then one in two calls.
        log.sent(100);
        log.sent(30);
        log.sent(20);
        assert_eq!(log.position(), 150);
        log.left(99, 1_000);
        log.left(149, 3_000);
        assert!(log.awaits_stamp(), "the second call's segment was merged into the third's");
        assert_eq!(log.left_ns(100), Some(1_000));
        assert_eq!(log.left_ns(130), None);
        assert_eq!(log.left_ns(150), Some(3_000));
        log.left(99, 9_000);
        assert_eq!(log.left_ns(100), Some(1_000), "a retransmission changes nothing");
        log.left(98, 5_000);
        log.left(150, 5_000);
        assert_eq!(log.left_ns(99), None, "nothing ended there");
        log.left(129, 2_000);
        assert!(!log.awaits_stamp());
        log.sent(0);
        assert!(!log.awaits_stamp());
    }

    #[test]
    fn numbers_go_round() {
        let mut log = StampLog::default();
        let mut sent = 0u64;
        for n in 0..20_000u64 {
            log.sent(1_000_000);
            sent += 1_000_000;
            log.left((sent - 1) as u32, n);
            assert_eq!(log.left_ns(sent), Some(n));
        }
        assert!(sent > 4 * (1 << 32));
        assert!(log.calls.len() == CALLS && !log.awaits_stamp());
    }

    #[test]
    fn what_was_forgotten_awaits_nothing() {
        let mut log = StampLog::default();
        (0..CALLS * 3).for_each(|_| log.sent(1));
        assert_eq!(log.unstamped, CALLS as u64);
        log.left(0, 7);
        assert_eq!(log.left_ns(1), None);
    }
}
