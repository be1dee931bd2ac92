//! From field sections to fields, and the table that the server's instructions fill (RFC 9204 4.3 and 4.5).
//!
//! The server has no more of our memory than the limit that we announced. What it sends of an instruction that is not
//! complete is kept until the rest comes, up to the longest instruction that could be carried out.

use super::static_table;
use crate::packing::{FIELD_OVERHEAD, Table, huffman, integer};

/// Why a section or an instruction cannot be read. The connection cannot go on: both sides may think differently of the
/// dynamic table now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Error {
    /// An integer is cut off or too large (RFC 9204 4.1.1).
    #[error("an integer in a field section is cut off or too large")]
    Integer,
    /// A string is longer than the section (RFC 9204 4.1.2).
    #[error("a string in a field section is longer than the section")]
    String,
    /// A string's Huffman code is not valid (RFC 9204 4.1.2).
    #[error("a string in a field section is not valid Huffman code")]
    Huffman,
    /// An index that no entry has, or one that the section did not announce (RFC 9204 2.2.1, 3.2).
    #[error("a field section refers to an entry that its tables do not have")]
    Index,
    /// A required insert count or a base that cannot be (RFC 9204 4.5.1).
    #[error("a field section begins with an insert count or a base that cannot be")]
    Prefix,
    /// More sections wait for inserts than we take (RFC 9204 2.1.2).
    #[error("more field sections wait for inserts into the dynamic table than the limit allows")]
    Blocked,
    /// An instruction is not one, or is longer than the table (RFC 9204 4.3).
    #[error("an instruction for the dynamic table is not valid")]
    Instruction,
    /// A table larger than we announced, or an entry larger than the table (RFC 9204 3.2.2, 3.2.3).
    #[error("an instruction needs a larger dynamic table than the limit allows")]
    Capacity,
}

/// What became of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// It was read. `acknowledge`: it referred to the dynamic table, and the server waits for word of that (RFC 9204 4.4.1).
    Read {
        /// Whether to acknowledge it.
        acknowledge: bool,
    },
    /// Inserts that it needs have not come yet: it is to be given again when they have.
    Waits,
}

/// The receiving side of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// Inserts so far.
    inserts: u64,
    /// Of those, the ones that the server does not know that we have.
    untold: u64,
    /// The largest table that the server may choose.
    limit: usize,
    /// An instruction that came in part.
    partial: Vec<u8>,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// What a section's indices count from.
#[derive(Clone, Copy)]
struct Base {
    /// Entries from here on are not the section's.
    required: u64,
    base: u64,
}

impl Decoder {
    /// A decoder whose peer may use a table of `limit` bytes.
    pub fn new(limit: u32) -> Self {
        Decoder {
            table: Table::new(0),
            inserts: 0,
            untold: 0,
            limit: limit as usize,
            partial: Vec::new(),
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Changes with every insert: a section that means something now means the same as long as this stays the same.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.table.generation()
    }

    /// Takes the inserts that the server is to be told of (RFC 9204 4.4.3).
    pub fn take_untold(&mut self) -> u64 {
        std::mem::take(&mut self.untold)
    }

    /// Takes the next bytes of the server's instructions.
    pub fn handle_instructions(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut all = std::mem::take(&mut self.partial);
        let mut rest = if all.is_empty() {
            bytes
        } else {
            all.extend_from_slice(bytes);
            &all
        };
        while !rest.is_empty() {
            let mut after = rest;
            if !self.carry_out(&mut after)? {
                break;
            }
            rest = after;
        }
        // Huffman code is up to 30 bits a byte, and there are two lengths of up to six bytes each.
        if rest.len() > 4 * self.limit + 16 {
            return Err(Error::Instruction);
        }
        self.partial = rest.to_vec();
        Ok(())
    }

    /// Carries out the first instruction, if it is whole.
    fn carry_out(&mut self, rest: &mut &[u8]) -> Result<bool, Error> {
        let Some(&first) = rest.first() else { return Ok(false) };
        match first {
            // Insert with name reference (RFC 9204 4.3.2).
            0x80.. => {
                let Some(index) = part(rest, 6)? else { return Ok(false) };
                self.name.clear();
                let mut name = std::mem::take(&mut self.name);
                let found = match first & 0x40 {
                    0 => self.newest(index.into()).map(|(known, _)| name.extend_from_slice(known)),
                    _ => static_entry(index).map(|(known, _)| name.extend_from_slice(known)),
                };
                self.name = name;
                found.map_err(|_| Error::Instruction)?;
                self.insert_value(rest)
            }
            // Insert with literal name (RFC 9204 4.3.3).
            0x40.. => {
                self.name.clear();
                let mut name = std::mem::take(&mut self.name);
                let whole = part_string(rest, 5, &mut name);
                self.name = name;
                Ok(whole? && self.insert_value(rest)?)
            }
            // Set Dynamic Table Capacity (RFC 9204 4.3.1).
            0x20.. => {
                let Some(capacity) = part(rest, 5)? else { return Ok(false) };
                if capacity as usize > self.limit {
                    return Err(Error::Capacity);
                }
                self.table.resize(capacity as usize);
                Ok(true)
            }
            // Duplicate (RFC 9204 4.3.4).
            _ => {
                let Some(index) = part(rest, 5)? else { return Ok(false) };
                let found = self.newest(index.into()).map_err(|_| Error::Instruction)?;
                let (name, value) = (found.0.to_vec(), found.1.to_vec());
                (self.name, self.value) = (name, value);
                self.insert()?;
                Ok(true)
            }
        }
    }

    /// Reads the value of an entry whose name is known, and inserts it.
    fn insert_value(&mut self, rest: &mut &[u8]) -> Result<bool, Error> {
        self.value.clear();
        if !part_string(rest, 7, &mut self.value)? {
            return Ok(false);
        }
        self.insert()?;
        Ok(true)
    }

    fn insert(&mut self) -> Result<(), Error> {
        if self.name.len() + self.value.len() + FIELD_OVERHEAD > self.table.max() {
            return Err(Error::Capacity);
        }
        self.table.insert(&self.name, &self.value);
        self.inserts += 1;
        self.untold += 1;
        Ok(())
    }

    /// The entry that was inserted `back` before the newest.
    fn newest(&self, back: u64) -> Result<(&[u8], &[u8]), Error> {
        usize::try_from(back).ok().and_then(|back| self.table.get(back)).ok_or(Error::Index)
    }

    /// Reads one whole section and hands each field, name and value, to `take`.
    pub fn decode(
        &mut self,
        mut section: &[u8],
        mut take: impl FnMut(&[u8], &[u8]),
    ) -> Result<Section, Error> {
        let section = &mut section;
        let required = self.required(integer::read(section, 8).ok_or(Error::Integer)?)?;
        let is_below = section.first().ok_or(Error::Integer)? & 0x80 != 0;
        let delta = u64::from(integer::read(section, 7).ok_or(Error::Integer)?);
        // RFC 9204 4.5.1.2.
        let base = match is_below {
            true => required.checked_sub(delta + 1).ok_or(Error::Prefix)?,
            false => required + delta,
        };
        if required > self.inserts {
            return Ok(Section::Waits);
        }
        let base = Base { required, base };
        while let [first, ..] = *section {
            match first {
                // Indexed field line (RFC 9204 4.5.2).
                0x80.. => {
                    let index = integer::read(section, 6).ok_or(Error::Integer)?;
                    let (name, value) = match first & 0x40 {
                        0 => self.before(base, index)?,
                        _ => static_entry(index)?,
                    };
                    take(name, value);
                }
                // Literal field line with name reference (RFC 9204 4.5.4).
                0x40.. => {
                    let index = integer::read(section, 4).ok_or(Error::Integer)?;
                    self.value.clear();
                    let mut value = std::mem::take(&mut self.value);
                    let read = string(section, 7, &mut value);
                    self.value = value;
                    read?;
                    let (name, _) = match first & 0x10 {
                        0 => self.before(base, index)?,
                        _ => static_entry(index)?,
                    };
                    take(name, &self.value);
                }
                // Literal field line with literal name (RFC 9204 4.5.6).
                0x20.. => {
                    self.name.clear();
                    self.value.clear();
                    string(section, 3, &mut self.name)?;
                    string(section, 7, &mut self.value)?;
                    take(&self.name, &self.value);
                }
                // Indexed field line with post-base index (RFC 9204 4.5.3).
                0x10.. => {
                    let index = integer::read(section, 4).ok_or(Error::Integer)?;
                    let (name, value) = self.after(base, index)?;
                    take(name, value);
                }
                // Literal field line with post-base name reference (RFC 9204 4.5.5).
                _ => {
                    let index = integer::read(section, 3).ok_or(Error::Integer)?;
                    self.value.clear();
                    let mut value = std::mem::take(&mut self.value);
                    let read = string(section, 7, &mut value);
                    self.value = value;
                    read?;
                    let (name, _) = self.after(base, index)?;
                    take(name, &self.value);
                }
            }
        }
        Ok(Section::Read { acknowledge: required > 0 })
    }

    /// The required insert count that stands in a section as `encoded` (RFC 9204 4.5.1.1).
    fn required(&self, encoded: u32) -> Result<u64, Error> {
        let encoded = u64::from(encoded);
        if encoded == 0 {
            return Ok(0);
        }
        let most_entries = (self.limit / FIELD_OVERHEAD) as u64;
        let full_range = 2 * most_entries;
        if encoded > full_range {
            return Err(Error::Prefix);
        }
        let most = self.inserts + most_entries;
        let wrapped = most / full_range * full_range;
        let mut required = wrapped + encoded - 1;
        if required > most {
            required = required.checked_sub(full_range).ok_or(Error::Prefix)?;
        }
        if required == 0 { Err(Error::Prefix) } else { Ok(required) }
    }

    /// The entry `index` before the base.
    fn before(&self, base: Base, index: u32) -> Result<(&[u8], &[u8]), Error> {
        let at = base.base.checked_sub(u64::from(index) + 1).ok_or(Error::Index)?;
        self.absolute(base, at)
    }

    /// The entry `index` from the base on.
    fn after(&self, base: Base, index: u32) -> Result<(&[u8], &[u8]), Error> {
        self.absolute(base, base.base + u64::from(index))
    }

    fn absolute(&self, base: Base, at: u64) -> Result<(&[u8], &[u8]), Error> {
        if at >= base.required {
            return Err(Error::Index);
        }
        self.newest(self.inserts - 1 - at)
    }
}

fn static_entry(index: u32) -> Result<(&'static [u8], &'static [u8]), Error> {
    let (name, value) = static_table::ENTRIES.get(index as usize).ok_or(Error::Index)?;
    Ok((name.as_bytes(), value.as_bytes()))
}

/// Reads a string whose first byte's low `prefix` bits are of its length, and the bit above says whether it is Huffman
/// code, and appends it to `out`.
fn string(block: &mut &[u8], prefix: u32, out: &mut Vec<u8>) -> Result<(), Error> {
    let is_huffman = block.first().is_some_and(|first| first & 1 << prefix != 0);
    let length = integer::read(block, prefix).ok_or(Error::Integer)? as usize;
    let (text, rest) = block.split_at_checked(length).ok_or(Error::String)?;
    *block = rest;
    if is_huffman {
        huffman::decode(text, out).ok_or(Error::Huffman)
    } else {
        out.extend_from_slice(text);
        Ok(())
    }
}

/// Reads an integer of an instruction; `None`: the rest of it has not come.
fn part(rest: &mut &[u8], prefix: u32) -> Result<Option<u32>, Error> {
    let is_cut_off = integer::is_cut_off(rest, prefix);
    match integer::read(rest, prefix) {
        None if is_cut_off => Ok(None),
        None => Err(Error::Instruction),
        found => Ok(found),
    }
}

/// The same for a string. Whether it was whole.
fn part_string(rest: &mut &[u8], prefix: u32, out: &mut Vec<u8>) -> Result<bool, Error> {
    let mut after = *rest;
    let Some(length) = part(&mut after, prefix)? else { return Ok(false) };
    if after.len() < length as usize {
        return Ok(false);
    }
    string(rest, prefix, out).map_err(|_| Error::Instruction).map(|()| true)
}
