//! Decoded values, one after the other: of a row, or of all rows of a small file.

/// Values in one text. Empty at first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Values {
    text: Vec<u8>,
    /// Where each value ends in the text.
    ends: Vec<u32>,
}

/// A length of [`Values`] that they can return to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    text: usize,
    ends: usize,
}

impl Values {
    /// Adds to the value that is being written.
    #[inline]
    pub(crate) fn write(&mut self, part: &[u8]) {
        self.text.extend_from_slice(part);
    }

    /// Ends the value that is being written. The text of a table in memory, and that of a row, have
    /// far less than 4 GiB.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.ends.push(self.text.len() as u32);
    }

    /// The value with this number; empty if there is none.
    #[inline]
    pub(crate) fn value(&self, number: usize) -> &[u8] {
        let Some(&end) = self.ends.get(number) else { return &[] };
        let start = match number {
            0 => 0,
            _ => self.ends[number - 1],
        };
        &self.text[start as usize..end as usize]
    }

    /// What was written since a mark, if no value has ended since.
    pub(crate) fn unfinished(&self, mark: Mark) -> &[u8] {
        &self.text[mark.text..]
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { text: self.text.len(), ends: self.ends.len() }
    }

    pub(crate) fn return_to(&mut self, mark: Mark) {
        self.text.truncate(mark.text);
        self.ends.truncate(mark.ends);
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// The memory that they need, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * size_of::<u32>()
    }

    /// Gives back memory that they do not need.
    pub(crate) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}
