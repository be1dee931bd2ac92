//! From header blocks to fields (RFC 7541 3 and 6).

use super::static_table;
use super::{DEFAULT_TABLE_BYTES, FIELD_OVERHEAD};
use crate::packing::{Table, huffman, integer};

/// Why a block cannot be decoded. The connection cannot go on: both sides may think differently
/// of the dynamic table now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// An integer is cut off or too large (RFC 7541 5.1).
    #[error("an integer in a header block is cut off or too large")]
    Integer,
    /// A string is longer than the block (RFC 7541 5.2).
    #[error("a string in a header block is longer than the block")]
    String,
    /// A string's Huffman code is not valid (RFC 7541 5.2).
    #[error("a string in a header block is not valid Huffman code")]
    Huffman,
    /// An index that no entry has (RFC 7541 2.3.3).
    #[error("a header block refers to an entry that its tables do not have")]
    Index,
    /// A new size of the dynamic table after the first field, or above the limit (RFC 7541 4.2,
    /// 6.3).
    #[error("a header block sets the dynamic table's size in the wrong place or above the limit")]
    TableSize,
    /// The limit was lowered, and the peer did not lower the table's size (RFC 7541 4.2).
    #[error("a header block does not begin with the smaller table size that was asked for")]
    TableSizeMissing,
}

/// The receiving side of one connection.
///
/// A server that sends the same block again and again may add the same fields to the dynamic table
/// each time (nginx does). What such a block says is known, and what it adds matters only when a
/// later block refers to it: [`Decoder::repeat`] counts it, and the count is carried out before
/// the table is used again. More repetitions than fill the table change nothing, so that costs no
/// more than decoding a few blocks, however many there were.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// The block that was decoded last refers to no entry of the dynamic table, and does not
    /// resize it.
    stands_alone: bool,
    /// A block that came again, and how often what it adds was not added yet.
    repeated: Vec<u8>,
    repetitions: usize,
    /// The largest size the peer may choose for the table.
    limit: usize,
    /// Strings that are not in the block as they are.
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::new(DEFAULT_TABLE_BYTES)
    }
}

impl Decoder {
    /// A decoder whose peer may use a table of `limit` bytes.
    pub fn new(limit: u32) -> Self {
        Decoder {
            table: Table::new(DEFAULT_TABLE_BYTES as usize),
            stands_alone: false,
            repeated: Vec::new(),
            repetitions: 0,
            limit: limit as usize,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// From the next block on the peer may use a table of `limit` bytes, and must say so if it
    /// used a larger one.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = limit as usize;
    }

    /// Changes whenever the dynamic table does: a block that means something now means the same
    /// as long as this stays the same.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.table.generation()
    }

    /// Whether the block that was decoded last means the same whatever is in the dynamic table,
    /// so that it may be given to [`Decoder::repeat`].
    #[inline]
    pub fn stands_alone(&self) -> bool {
        self.stands_alone
    }

    /// Whether a block has to begin with a new size of the table: then none is like one before.
    #[inline]
    pub fn expects_resize(&self) -> bool {
        self.table.max() > self.limit
    }

    /// The same as decoding `block`, which was decoded before without an error and stands alone.
    #[inline]
    pub fn repeat(&mut self, block: &[u8]) {
        if self.repetitions == 0 || self.repeated != block {
            self.carry_out();
            self.repeated.clear();
            self.repeated.extend_from_slice(block);
        }
        self.repetitions += 1;
        self.table.touch();
    }

    /// Adds to the table what repeated blocks add.
    fn carry_out(&mut self) {
        // Each repetition that adds something adds an entry, and so many entries are all there is
        // room for.
        let enough = self.table.max() / FIELD_OVERHEAD + 1;
        let block = std::mem::take(&mut self.repeated);
        for _ in 0..std::mem::take(&mut self.repetitions).min(enough) {
            // It was decoded before, without an error.
            let _ = self.read(&mut &block[..], &mut |_, _| {});
        }
        self.repeated = block;
    }

    /// Reads one whole block and hands each field, name and value, to `take`.
    pub fn decode(
        &mut self,
        mut block: &[u8],
        mut take: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Error> {
        self.carry_out();
        self.stands_alone = true;
        let block = &mut block;
        while let [first, ..] = *block
            && first & 0xe0 == 0x20
        {
            self.stands_alone = false;
            let size = integer::read(block, 5).ok_or(Error::Integer)? as usize;
            if size > self.limit {
                return Err(Error::TableSize);
            }
            self.table.resize(size);
        }
        if self.expects_resize() {
            return Err(Error::TableSizeMissing);
        }
        self.read(block, &mut take)
    }

    /// Reads the fields of a block.
    fn read(
        &mut self,
        block: &mut &[u8],
        take: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Error> {
        while let [first, ..] = *block {
            match first {
                0x80.. => {
                    let index = integer::read(block, 7).ok_or(Error::Integer)?;
                    self.stands_alone &= is_static(index);
                    let (name, value) = self.entry(index)?;
                    take(name, value);
                }
                0x40.. => {
                    self.literal(block, 6)?;
                    self.table.insert(&self.name, &self.value);
                    take(&self.name, &self.value);
                }
                0x20.. => return Err(Error::TableSize),
                _ => {
                    self.literal(block, 4)?;
                    take(&self.name, &self.value);
                }
            }
        }
        Ok(())
    }

    /// Reads a literal field (RFC 7541 6.2) to `self.name` and `self.value`.
    fn literal(&mut self, block: &mut &[u8], prefix: u32) -> Result<(), Error> {
        let index = integer::read(block, prefix).ok_or(Error::Integer)?;
        self.stands_alone &= is_static(index);
        self.name.clear();
        if index == 0 {
            string(block, &mut self.name)?;
        } else {
            let mut name = std::mem::take(&mut self.name);
            let found = self.entry(index).map(|(known, _)| name.extend_from_slice(known));
            self.name = name;
            found?;
        }
        self.value.clear();
        string(block, &mut self.value)
    }

    /// The entry of both tables at `index` (RFC 7541 2.3.3).
    #[inline]
    fn entry(&self, index: u32) -> Result<(&[u8], &[u8]), Error> {
        let index = (index as usize).checked_sub(1).ok_or(Error::Index)?;
        match static_table::ENTRIES.get(index) {
            Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
            None => self.table.get(index - static_table::ENTRIES.len()).ok_or(Error::Index),
        }
    }
}

/// Whether an index, or none (0), is not of the dynamic table.
fn is_static(index: u32) -> bool {
    index as usize <= static_table::ENTRIES.len()
}

/// Reads a string (RFC 7541 5.2) and appends it to `out`.
fn string(block: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let is_huffman = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer::read(block, 7).ok_or(Error::Integer)? as usize;
    let (text, rest) = block.split_at_checked(length).ok_or(Error::String)?;
    *block = rest;
    if is_huffman {
        huffman::decode(text, out).ok_or(Error::Huffman)
    } else {
        out.extend_from_slice(text);
        Ok(())
    }
}
