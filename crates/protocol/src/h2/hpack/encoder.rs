//! From fields to header blocks, for requests that repeat.
//!
//! The costly part (finding names in the static table, Huffman code) is done once, in [`Fields`].
//! What is left for each block is to choose between a literal and an index. A field goes into
//! the dynamic table when a connection sends it for the second time, and stays: nothing is ever
//! evicted, so an index is the difference of two counters. Fields that never repeat, such as a
//! counter, never enter; what repeats shrinks to a byte.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::static_table::{self, Found};
use super::{DEFAULT_TABLE_BYTES, FIELD_OVERHEAD};
use crate::packing::{huffman, integer};

/// The most entries that are made in the dynamic table. Their indices fit in one byte.
const MOST_ENTRIES: usize = 64;

/// How many fields are remembered as sent once.
const REMEMBERED: usize = 32;

/// Literal without indexing, and never indexed (RFC 7541 6.2.2, 6.2.3).
const PLAIN: u8 = 0x00;
const NEVER: u8 = 0x10;
/// Literal with incremental indexing (RFC 7541 6.2.1).
const INDEXING: u8 = 0x40;
const INDEXED: u8 = 0x80;
const SIZE_UPDATE: u8 = 0x20;

/// The fields of a request, encoded as far as that is the same for every connection.
///
/// They can be cleared and pushed anew, as often as needed: a field that is what it was before in
/// its place is not encoded again, and one that differs is encoded in the memory it has.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    list: Vec<Field>,
    /// The fields there are; what stands behind them is left from before.
    used: usize,
}

#[derive(Debug, Clone)]
struct Field {
    name: Vec<u8>,
    value: Vec<u8>,
    /// Stands for name and value.
    tag: u64,
    kind: Kind,
    /// The name's index in the static table, or 0.
    name_index: u8,
    /// What follows the index: the name, if it has none, and the value. All of the field, if it
    /// is in the static table.
    strings: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// All of it is in the static table.
    Static,
    /// May be indexed.
    Literal,
    /// Must not be: a secret (RFC 7541 7.1.3).
    Secret,
}

impl Fields {
    /// Forgets all fields and keeps the memory.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds a field. A secret is never put into a table, here or further on.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        match self.list.get_mut(self.used) {
            Some(field) if field.name == name && field.value == value => {}
            Some(field) => field.set(name, value),
            None => self.list.push(Field::new(name, value)),
        }
        self.used += 1;
    }

    fn iter(&self) -> impl Iterator<Item = &Field> {
        self.list[..self.used].iter()
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.iter().map(Field::parts).eq(other.iter().map(Field::parts))
    }
}

impl Field {
    fn new(name: &[u8], value: &[u8]) -> Self {
        let mut field = Field {
            name: Vec::new(),
            value: Vec::new(),
            tag: 0,
            kind: Kind::Literal,
            name_index: 0,
            strings: Vec::new(),
        };
        field.set(name, value);
        field
    }

    fn set(&mut self, name: &[u8], value: &[u8]) {
        self.strings.clear();
        self.kind = if is_secret(name, value) { Kind::Secret } else { Kind::Literal };
        self.name_index = 0;
        match static_table::find(name, value) {
            Found::Both(index) => {
                self.kind = Kind::Static;
                self.strings.push(INDEXED | index);
            }
            Found::Name(index) => self.name_index = index,
            Found::Nothing => string(&mut self.strings, name),
        }
        if self.kind != Kind::Static {
            string(&mut self.strings, value);
        }
        // Two of a client's own fields with the same 64 bits are not a thing that happens.
        let mut hasher = DefaultHasher::new();
        (name, value).hash(&mut hasher);
        self.tag = hasher.finish();
        for (kept, new) in [(&mut self.name, name), (&mut self.value, value)] {
            kept.clear();
            kept.extend_from_slice(new);
        }
    }

    fn parts(&self) -> (&[u8], &[u8]) {
        (&self.name, &self.value)
    }

    /// By RFC 7541 4.1.
    fn size(&self) -> u32 {
        (self.name.len() + self.value.len() + FIELD_OVERHEAD) as u32
    }
}

/// Whether a field's value is worth guessing and short enough for it; the rule is nghttp2's.
fn is_secret(name: &[u8], value: &[u8]) -> bool {
    matches!(name, b"authorization" | b"proxy-authorization")
        || (name == b"cookie" && value.len() < 20)
}

/// Appends a string, in the shorter of its forms (RFC 7541 5.2).
fn string(out: &mut Vec<u8>, text: &[u8]) {
    let coded = huffman::encoded_length(text);
    if coded < text.len() {
        integer::write(out, 0x80, 7, coded as u32);
        huffman::encode(text, out);
    } else {
        integer::write(out, 0, 7, text.len() as u32);
        out.extend_from_slice(text);
    }
}

/// The sending side of one connection.
#[derive(Debug)]
pub struct Encoder {
    /// Fields in the dynamic table, oldest first.
    indexed: Vec<u64>,
    /// Their size by RFC 7541 4.1.
    size: u32,
    max: u32,
    /// No larger table is used, whatever the peer allows.
    most: u32,
    /// The table's size changed: the next block begins with the new one.
    resized: bool,
    /// Fields that were sent once, at the place their tag gives.
    seen: [u64; REMEMBERED],
    generation: u32,
}

impl Default for Encoder {
    fn default() -> Self {
        Encoder::new(DEFAULT_TABLE_BYTES)
    }
}

impl Encoder {
    /// An encoder that uses a table of `most` bytes, but no more than the default.
    pub fn new(most: u32) -> Self {
        let max = most.min(DEFAULT_TABLE_BYTES);
        Encoder {
            indexed: Vec::new(),
            size: 0,
            max,
            most: max,
            // Until it is told, the peer takes the default for granted.
            resized: max < DEFAULT_TABLE_BYTES,
            seen: [0; REMEMBERED],
            generation: 0,
        }
    }

    /// The peer's decoder has a table of `limit` bytes.
    pub fn set_limit(&mut self, limit: u32) {
        let max = limit.min(self.most);
        if max != self.max {
            self.max = max;
            self.resized = true;
            self.indexed.clear();
            self.size = 0;
            self.generation = self.generation.wrapping_add(1);
        }
    }

    /// Changes whenever the dynamic table does.
    #[inline]
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Appends a block of `fields`. True: the same fields give the same block as long as the
    /// generation stays the same.
    pub fn encode(&mut self, fields: &Fields, out: &mut Vec<u8>) -> bool {
        if std::mem::take(&mut self.resized) {
            // To nothing first: what we had is gone on both sides, and we count from 0 again.
            integer::write(out, SIZE_UPDATE, 5, 0u32);
            integer::write(out, SIZE_UPDATE, 5, self.max);
            self.encode_fields(fields, out);
            return false;
        }
        self.encode_fields(fields, out)
    }

    fn encode_fields(&mut self, fields: &Fields, out: &mut Vec<u8>) -> bool {
        let mut is_stable = true;
        for field in fields.iter() {
            let (pattern, prefix) = match field.kind {
                Kind::Static => {
                    out.extend_from_slice(&field.strings);
                    continue;
                }
                Kind::Secret => (NEVER, 4),
                Kind::Literal => {
                    if let Some(at) = self.indexed.iter().position(|&tag| tag == field.tag) {
                        let index = static_table::ENTRIES.len() + self.indexed.len() - at;
                        integer::write(out, INDEXED, 7, index as u32);
                        continue;
                    }
                    let has_room =
                        self.indexed.len() < MOST_ENTRIES && self.size + field.size() <= self.max;
                    is_stable &= !has_room;
                    if has_room && self.was_seen(field.tag) {
                        self.indexed.push(field.tag);
                        self.size += field.size();
                        self.generation = self.generation.wrapping_add(1);
                        (INDEXING, 6)
                    } else {
                        (PLAIN, 4)
                    }
                }
            };
            integer::write(out, pattern, prefix, u32::from(field.name_index));
            out.extend_from_slice(&field.strings);
        }
        is_stable
    }

    /// Whether a field was sent before; remembers that it is sent now.
    fn was_seen(&mut self, tag: u64) -> bool {
        let place = &mut self.seen[(tag >> 8) as usize % REMEMBERED];
        std::mem::replace(place, tag) == tag
    }
}
