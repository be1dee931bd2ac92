//! Where in a file rows begin: every row of a short file, every second, fourth, … of a long one.

/// Byte offsets of the rows whose number is a multiple of the stride.
#[derive(Debug)]
pub(crate) struct Index {
    offsets: Vec<u64>,
    /// A power of two.
    stride: u64,
    rows: u64,
    /// The most offsets, at least 2.
    most: usize,
}

impl Index {
    /// For at most so many offsets.
    pub(crate) fn new(most: usize) -> Self {
        Index { offsets: Vec::new(), stride: 1, rows: 0, most: most.max(2) }
    }

    /// Adds the next row.
    pub(crate) fn push(&mut self, offset: u64) {
        if self.rows.is_multiple_of(self.stride) {
            if self.offsets.len() == self.most {
                self.thin();
            }
            if self.rows.is_multiple_of(self.stride) {
                self.offsets.push(offset);
            }
        }
        self.rows += 1;
    }

    /// Removes every second offset.
    fn thin(&mut self) {
        let mut number = 0;
        self.offsets.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        self.stride *= 2;
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The last row at or before `row` whose offset is known, and the offset. None: there are no
    /// rows.
    pub(crate) fn before(&self, row: u64) -> Option<(u64, u64)> {
        let entry = row / self.stride;
        let offset = self.offsets.get(usize::try_from(entry).ok()?)?;
        Some((entry * self.stride, *offset))
    }

    /// The next offset after `row` that is known.
    pub(crate) fn after(&self, row: u64) -> Option<u64> {
        let entry = usize::try_from(row / self.stride + 1).ok()?;
        self.offsets.get(entry).copied()
    }

    /// Whether a row may begin at `offset`: false only if it is known to begin elsewhere.
    pub(crate) fn agrees(&self, row: u64, offset: u64) -> bool {
        !row.is_multiple_of(self.stride) || self.before(row) == Some((row, offset))
    }
}
