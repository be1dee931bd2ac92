//! What one system call has read of a UDP socket, handed out message by message.
//!
//! A message is a datagram, or several that the kernel put together. What a caller leaves for later, because other
//! connections are to have their turn, is kept for it; what a socket leaves behind that is closed is forgotten. Nothing here
//! waits, and no descriptor is kept.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::clock::Clock;
use super::{Key, Received, Segments, scm, socket};

/// Messages that are read at once.
pub(super) const MESSAGES: usize = 8;
/// The longest that there is.
pub(super) const MESSAGE_BYTES: usize = 64 << 10;

/// The messages of one call, of one socket.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    /// Room for each; none before the first call.
    buffer: Vec<u8>,
    found: [(usize, Segments); MESSAGES],
    count: usize,
    next: usize,
    /// The last call found datagrams that the kernel had put together: the next one reads one message, so that what is
    /// left for later takes little room.
    singly: bool,
    /// The last call found as many as it might.
    may_be_more: bool,
    key: Key,
    at_ns: u64,
    /// Messages that were left for later, by their sockets.
    kept: BTreeMap<Key, VecDeque<(Vec<u8>, Segments)>>,
    /// One of them, handed out.
    again: Vec<u8>,
}

impl Arrived {
    /// The next message of a socket. There is more unless the kernel said that there is not: readiness is told once.
    pub(super) fn next(
        &mut self,
        key: Key,
        fd: &OwnedFd,
        clock: &mut Clock,
    ) -> (Received<'_>, Segments) {
        if self.key != key {
            self.keep();
        }
        if let Some((bytes, segments)) = self.kept(key) {
            self.again = bytes;
            let at_ns = clock.now_ns();
            return (Received::Bytes { bytes: &self.again, at_ns, more: true }, segments);
        }
        if self.next == self.count {
            self.buffer.resize(MESSAGES * MESSAGE_BYTES, 0);
            (self.key, self.next, self.count) = (key, 0, 0);
            let most = if self.singly { 1 } else { MESSAGES };
            match scm::receive_datagrams(fd, &mut self.buffer, &mut self.found[..most]) {
                Ok(count) => {
                    (self.count, self.may_be_more) = (count, count == most);
                    let mut found = self.found[..count].iter();
                    self.singly = found.any(|&(bytes, segments)| segments.count(bytes) > 1);
                }
                Err(Errno::AGAIN) => {
                    clock.time_passed();
                    return (Received::Nothing, Segments::default());
                }
                Err(errno) => {
                    let (error, at_ns) = (socket::io_failure(errno), clock.now_ns());
                    return (Received::Failed { error, at_ns }, Segments::default());
                }
            }
            self.at_ns = clock.now_ns();
        }
        let (length, segments) = self.found[self.next];
        let bytes = &self.buffer[self.next * MESSAGE_BYTES..][..length];
        self.next += 1;
        let more = self.next < self.count || self.may_be_more;
        (Received::Bytes { bytes, at_ns: self.at_ns, more }, segments)
    }

    /// Puts away what is left.
    fn keep(&mut self) {
        for at in self.next..self.count {
            let (length, segments) = self.found[at];
            let bytes = self.buffer[at * MESSAGE_BYTES..][..length].to_vec();
            self.kept.entry(self.key).or_default().push_back((bytes, segments));
        }
        self.next = self.count;
    }

    fn kept(&mut self, key: Key) -> Option<(Vec<u8>, Segments)> {
        let queue = self.kept.get_mut(&key)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            self.kept.remove(&key);
        }
        first
    }

    /// The socket is no more.
    pub(super) fn forget(&mut self, key: Key) {
        self.kept.remove(&key);
        if self.key == key {
            self.next = self.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::datagram::tests::pair;
    use super::*;

    /// The bytes of the next message, and whether there is more.
    fn next(arrived: &mut Arrived, key: Key, fd: &OwnedFd) -> Option<(Vec<u8>, bool)> {
        match arrived.next(key, fd, &mut Clock::default()).0 {
            Received::Bytes { bytes, more, .. } => Some((bytes.to_vec(), more)),
            Received::Nothing => None,
            other => panic!("{other:?}"),
        }
    }

    fn say(peer: &OwnedFd, texts: std::ops::Range<u8>) {
        for text in texts {
            rustix::io::write(peer, &[text; 3]).unwrap();
        }
    }

    #[test]
    fn the_end_of_what_is_there_is_known_without_a_call() {
        let (ours, peer) = pair("127.0.0.1");
        let mut arrived = Arrived::default();
        assert_eq!(next(&mut arrived, 1, &ours), None);
        say(&peer, 0..3);
        for text in 0..3 {
            assert_eq!(next(&mut arrived, 1, &ours), Some((vec![text; 3], text < 2)));
        }
        // As many as are read at once: whether there are more, only the kernel knows.
        say(&peer, 0..MESSAGES as u8);
        for text in 0..MESSAGES as u8 {
            assert_eq!(next(&mut arrived, 1, &ours), Some((vec![text; 3], true)));
        }
        assert_eq!(next(&mut arrived, 1, &ours), None);
    }

    #[test]
    fn one_message_is_read_after_one_that_was_put_together() {
        let (ours, peer) = pair("127.0.0.1");
        let mut arrived = Arrived::default();
        let together = |bytes: &[u8]| {
            let slices = [std::io::IoSlice::new(bytes)];
            assert_eq!(scm::send_segmented(&peer, &slices, 1000), Ok(bytes.len()));
        };
        let length = |arrived: &mut Arrived| {
            next(arrived, 1, &ours).map(|(bytes, more)| (bytes.len(), more))
        };
        for _ in 0..4 {
            together(&[7; 20_000]);
        }
        // All four are here by one call, and nothing is left but what it has brought.
        for left in (0..4).rev() {
            assert_eq!(length(&mut arrived), Some((20_000, left > 0)));
        }
        for _ in 0..4 {
            together(&[8; 20_000]);
        }
        // Another socket's turn, and nothing of this one has to be kept for it.
        assert_eq!(length(&mut arrived), Some((20_000, true)));
        assert_eq!(next(&mut arrived, 2, &pair("127.0.0.1").0), None);
        assert!(arrived.kept.is_empty());
        for _ in 0..3 {
            assert_eq!(length(&mut arrived), Some((20_000, true)));
        }
        assert_eq!(length(&mut arrived), None);
    }

    #[test]
    fn what_is_left_for_later_is_kept_in_order_until_its_socket_is_closed() {
        let (one, other) = (pair("127.0.0.1"), pair("127.0.0.1"));
        let mut arrived = Arrived::default();
        say(&one.1, 0..5);
        say(&other.1, 10..13);
        assert_eq!(next(&mut arrived, 1, &one.0), Some((vec![0; 3], true)));
        assert_eq!(next(&mut arrived, 2, &other.0), Some((vec![10; 3], true)));
        assert_eq!(next(&mut arrived, 1, &one.0), Some((vec![1; 3], true)));
        say(&one.1, 5..6);
        for text in 2..5 {
            assert_eq!(next(&mut arrived, 1, &one.0), Some((vec![text; 3], true)));
        }
        assert_eq!(next(&mut arrived, 1, &one.0), Some((vec![5; 3], false)));
        assert_eq!(next(&mut arrived, 2, &other.0), Some((vec![11; 3], true)));
        say(&one.1, 6..9);
        assert_eq!(next(&mut arrived, 1, &one.0), Some((vec![6; 3], true)));
        // Of a socket that has the same key later, there is nothing; the other's are there still.
        arrived.forget(1);
        assert_eq!(next(&mut arrived, 1, &one.0), None);
        assert_eq!(next(&mut arrived, 2, &other.0), Some((vec![12; 3], true)));
        arrived.forget(2);
        assert_eq!(next(&mut arrived, 2, &other.0), None);
    }
}
