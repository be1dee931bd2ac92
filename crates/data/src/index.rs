//! Where in a file rows begin: every row of a short file, every second, fourth, … of a long one.

/// Byte offsets of the rows whose number is a multiple of the stride.
///
/// Four bytes for each: offsets only grow, so their upper halves are known from the few entries at
/// which these change.
#[derive(Debug)]
pub(crate) struct Index {
    /// The lower 32 bits of the offsets.
    lower: Vec<u32>,
    /// For each step of the upper 32 bits, the first entry after it.
    steps: Vec<usize>,
    /// A power of two.
    stride: u64,
    rows: u64,
    /// The most entries, at least 2.
    most: usize,
}

impl Index {
    /// For at most this many entries.
    pub(crate) fn new(most: usize) -> Self {
        Index { lower: Vec::new(), steps: Vec::new(), stride: 1, rows: 0, most: most.max(2) }
    }

    /// Adds the next row. Its offset is larger than that of the row before.
    pub(crate) fn push(&mut self, offset: u64) {
        if self.rows.is_multiple_of(self.stride) && self.lower.len() == self.most {
            self.thin();
        }
        if self.rows.is_multiple_of(self.stride) {
            let upper = usize::try_from(offset >> 32).unwrap_or(usize::MAX);
            self.steps.resize(upper, self.lower.len());
            self.lower.push(offset as u32);
        }
        self.rows += 1;
    }

    /// Removes every second entry.
    fn thin(&mut self) {
        let mut number = 0;
        self.lower.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        for entry in &mut self.steps {
            *entry = entry.div_ceil(2);
        }
        self.stride *= 2;
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The last row at or before `row` whose offset is known, and the offset. None: there is no such
    /// row.
    pub(crate) fn before(&self, row: u64) -> Option<(u64, u64)> {
        let entry = row / self.stride;
        Some((entry * self.stride, self.offset(entry)?))
    }

    /// The next offset after `row` that is known.
    pub(crate) fn after(&self, row: u64) -> Option<u64> {
        self.offset(row / self.stride + 1)
    }

    /// Whether a row may begin at `offset`: false only if it is known to begin elsewhere.
    pub(crate) fn agrees(&self, row: u64, offset: u64) -> bool {
        !row.is_multiple_of(self.stride) || self.before(row) == Some((row, offset))
    }

    fn offset(&self, entry: u64) -> Option<u64> {
        let entry = usize::try_from(entry).ok()?;
        let lower = *self.lower.get(entry)?;
        let upper = self.steps.partition_point(|first| *first <= entry);
        Some((upper as u64) << 32 | u64::from(lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Gaps of up to three steps of the upper half.
        #[test]
        fn offsets_are_those_that_were_added(
            gaps in prop::collection::vec(prop_oneof![1..100u64, 1..3u64 << 32], 1..60),
            most in 0..40usize,
        ) {
            let mut index = Index::new(most);
            let mut offsets = Vec::new();
            for gap in gaps {
                offsets.push(offsets.last().unwrap_or(&0) + gap);
                index.push(offsets[offsets.len() - 1]);
            }
            prop_assert!(index.lower.len() <= most.max(2));
            prop_assert_eq!(index.rows(), offsets.len() as u64);
            let is_dense = offsets.len() <= most.max(2);
            prop_assert_eq!(is_dense, index.stride == 1);
            for row in 0..offsets.len() as u64 {
                let known = row / index.stride * index.stride;
                prop_assert_eq!(index.before(row), Some((known, offsets[known as usize])));
                let next = offsets.get((known + index.stride) as usize).copied();
                prop_assert_eq!(index.after(row), next);
                prop_assert!(index.agrees(row, offsets[row as usize]));
                prop_assert_eq!(index.agrees(row, 0), row != known);
            }
        }
    }
}
