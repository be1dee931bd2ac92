//! Requests of several connections that leave in one call.
//!
//! Their bytes are copied when they are put here, and the kernel has read them when the call
//! returns: no send waits for room. One that was not taken whole is told apart, and what is left
//! of it is its session's to offer again.

use std::io::IoSlice;

use rustix::io::Errno;

use super::connection::{Purpose, name};
use super::ring::Name;
use crate::reactor::Key;

/// Requests that leave in one call at most. Over loopback a send takes 3 to 4 µs, so that the last
/// of eight leaves some 25 µs after the time stamp of all of them. How long calls took is in the
/// report.
pub(super) const SENDS_AT_ONCE: usize = 8;
/// Room for the bytes of a call. What does not fit is sent by itself.
const BYTES: usize = 32 * 1024;

/// One connection's part of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) key: Key,
    pub(super) generation: u32,
    start: usize,
    pub(super) length: usize,
    /// How many bytes the kernel took, or why none.
    pub(super) taken: Result<usize, Errno>,
}

impl Part {
    pub(super) fn name(&self) -> Name {
        name(self.key, self.generation, Purpose::Send)
    }
}

/// What is put, and what came of what was put before.
#[derive(Debug)]
pub(super) struct Sends {
    bytes: Vec<u8>,
    put: Vec<Part>,
    /// The parts of the last call, and how many of them the worker has been told.
    gone: Vec<Part>,
    told: usize,
}

impl Sends {
    pub(super) fn new() -> Self {
        let parts = || Vec::with_capacity(SENDS_AT_ONCE);
        Sends { bytes: Vec::with_capacity(BYTES), put: parts(), gone: parts(), told: 0 }
    }

    /// Takes a copy, if there is room.
    #[inline]
    pub(super) fn put(&mut self, key: Key, generation: u32, slices: &[IoSlice<'_>]) -> bool {
        let length = slices.iter().map(|slice| slice.len()).sum();
        let start = self.bytes.len();
        if self.put.len() == SENDS_AT_ONCE || start + length > BYTES {
            return false;
        }
        for slice in slices {
            self.bytes.extend_from_slice(slice);
        }
        self.put.push(Part { key, generation, start, length, taken: Ok(length) });
        true
    }

    /// What is put now goes. What came of what went before was told, or does not matter.
    pub(super) fn go(&mut self) {
        std::mem::swap(&mut self.put, &mut self.gone);
        self.put.clear();
        self.told = 0;
    }

    /// The only part that goes, if there is one only.
    pub(super) fn only(&self) -> Option<(Key, &[u8])> {
        let [part] = &self.gone[..] else { return None };
        Some((part.key, self.bytes_of(part)))
    }

    /// It has gone, by itself.
    pub(super) fn only_went(&mut self, taken: Result<usize, Errno>) {
        self.gone[0].taken = taken;
        self.bytes.clear();
    }

    /// The parts that go, each with its bytes.
    pub(super) fn going(&self) -> impl Iterator<Item = (&Part, &[u8])> {
        self.gone.iter().map(|part| (part, self.bytes_of(part)))
    }

    fn bytes_of(&self, part: &Part) -> &[u8] {
        &self.bytes[part.start..part.start + part.length]
    }

    /// They have gone: nobody reads their bytes any more. `false`: somebody may, for ever.
    pub(super) fn went(&mut self, are_read: bool) {
        if !are_read {
            std::mem::forget(std::mem::replace(&mut self.bytes, Vec::with_capacity(BYTES)));
        }
        self.bytes.clear();
    }

    /// What became of a part that was not taken whole.
    #[cold]
    pub(super) fn fell_short(&mut self, name: Name, taken: Result<usize, Errno>) {
        if let Some(part) = self.gone.iter_mut().find(|part| part.name() == name) {
            part.taken = taken;
        }
    }

    /// The next part of the last call.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Part> {
        let part = self.gone.get(self.told)?;
        self.told += 1;
        Some(*part)
    }

    /// The connection is closed: what is put for it does not go.
    pub(super) fn forget(&mut self, key: Key) {
        self.put.retain(|part| part.key != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(sends: &mut Sends, key: Key, text: &str) -> bool {
        let (left, right) = text.as_bytes().split_at(text.len() / 2);
        sends.put(key, 3, &[IoSlice::new(left), IoSlice::new(right)])
    }

    #[test]
    fn parts_go_in_order_and_what_falls_short_is_told() {
        let mut sends = Sends::new();
        for (key, text) in [(4, "four"), (2, "second"), (9, "ninth")] {
            assert!(put(&mut sends, key, text));
        }
        sends.forget(4);
        sends.go();
        let going: Vec<_> = sends.going().map(|(part, bytes)| (part.key, bytes.to_vec())).collect();
        assert_eq!(going, [(2, b"second".to_vec()), (9, b"ninth".to_vec())]);
        sends.fell_short(name(9, 3, Purpose::Send), Ok(1));
        // Of another connection under the same key.
        sends.fell_short(name(2, 2, Purpose::Send), Err(Errno::PIPE));
        sends.went(true);
        // What is put meanwhile is not told with them.
        assert!(put(&mut sends, 3, "third") && put(&mut sends, 5, "fifth"));
        sends.forget(3);
        let told: Vec<_> = std::iter::from_fn(|| sends.next()).collect();
        assert_eq!(told.iter().map(|part| part.taken).collect::<Vec<_>>(), [Ok(6), Ok(1)]);
        sends.go();
        assert_eq!(sends.only(), Some((5, &b"fifth"[..])));
    }

    #[test]
    fn there_is_room_for_so_many() {
        let mut sends = Sends::new();
        assert!(!put(&mut sends, 0, &"x".repeat(BYTES + 1)));
        let fits = (0..100).filter(|key| put(&mut sends, *key, "x")).count();
        assert_eq!(fits, SENDS_AT_ONCE);
    }
}
