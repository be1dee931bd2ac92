//! The dynamic table of the receiving side (RFC 7541 2.3.2 and 4, RFC 9204 3.2).
//!
//! Entries lie one after the other in one piece of memory, so that neither adding nor evicting
//! allocates once the table has its size.

use std::collections::VecDeque;

use super::FIELD_OVERHEAD;

#[derive(Debug)]
pub(crate) struct Table {
    /// Newest first.
    entries: VecDeque<Entry>,
    bytes: Vec<u8>,
    /// By RFC 7541 4.1: bytes and overhead of all entries.
    size: usize,
    max: usize,
    /// Counts changes, so that others can tell whether an index still means the same.
    generation: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    name: usize,
    value: usize,
}

impl Entry {
    fn size(&self) -> usize {
        self.name + self.value + FIELD_OVERHEAD
    }
}

impl Table {
    /// An empty table of `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Table { entries: VecDeque::new(), bytes: Vec::new(), size: 0, max, generation: 0 }
    }

    /// Name and value of the entry that was added last (0), the one before that (1) and so on.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(index)?;
        let (name, rest) = self.bytes[entry.start..].split_at(entry.name);
        Some((name, &rest[..entry.value]))
    }

    /// Adds an entry, for which old ones may have to go; one that is larger than the table
    /// empties it (RFC 7541 4.4).
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.generation += 1;
        let entry = Entry { start: 0, name: name.len(), value: value.len() };
        if entry.size() > self.max {
            self.evict(0);
            return;
        }
        self.evict(self.max - entry.size());
        let start = self.make_room(name.len() + value.len());
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += entry.size();
        self.entries.push_front(Entry { start, ..entry });
    }

    /// The peer's encoder keeps to `max` bytes from now on.
    pub(crate) fn resize(&mut self, max: usize) {
        self.generation += 1;
        self.max = max;
        self.evict(max);
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// It will be changed before it is used again.
    pub(crate) fn touch(&mut self) {
        self.generation += 1;
    }

    /// Evicts the oldest entries until no more than `size` is left.
    fn evict(&mut self, size: usize) {
        while self.size > size
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.size();
        }
    }

    /// Moves what is alive to the front when twice the table has been used. Returns where the
    /// next entry begins.
    fn make_room(&mut self, wanted: usize) -> usize {
        if self.bytes.len() + wanted > 2 * self.max {
            let gone = self.entries.back().map_or(self.bytes.len(), |oldest| oldest.start);
            self.bytes.drain(..gone);
            for entry in &mut self.entries {
                entry.start -= gone;
            }
        }
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_moving_and_memory_is_bounded() {
        let mut table = Table::new(200);
        for n in 0..10_000u32 {
            let (name, value) = (format!("name-{n}"), format!("{n}"));
            table.insert(name.as_bytes(), value.as_bytes());
            for back in 0..3.min(n) {
                let expected = (format!("name-{}", n - back), format!("{}", n - back));
                let got = table.get(back as usize).unwrap();
                assert_eq!(got, (expected.0.as_bytes(), expected.1.as_bytes()));
            }
            assert!(table.size <= 200 && table.bytes.len() <= 400);
        }
        table.insert(&[b'x'; 200], b"");
        assert_eq!(table.get(0), None);
        assert_eq!(table.size, 0);
    }
}
