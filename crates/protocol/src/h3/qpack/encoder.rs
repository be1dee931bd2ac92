//! From fields to field sections, for requests that repeat (RFC 9204 4.5).
//!
//! A section refers to the static table and to nothing else. It is encoded once for all connections, never waits for an
//! instruction, and costs a copy each time that it is sent. Whether the bytes that an entry in the dynamic table would save
//! are worth their bookkeeping is for a profile to say.

use super::static_table::{self, Found};
use crate::packing::{huffman, integer};

/// Neither inserts nor a base: no reference to the dynamic table (RFC 9204 4.5.1).
const PREFIX: [u8; 2] = [0, 0];
/// Indexed field line in the static table (RFC 9204 4.5.2).
const INDEXED: u8 = 0xc0;
/// Literal with the name of an entry of the static table, and the same that must not be indexed (RFC 9204 4.5.4).
const NAMED: u8 = 0x50;
const NAMED_NEVER: u8 = 0x70;
/// Literal with a literal name, and the same that must not be indexed (RFC 9204 4.5.6).
const LITERAL: u8 = 0x20;
const LITERAL_NEVER: u8 = 0x30;

/// The field section of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block(Vec<u8>);

impl Default for Block {
    fn default() -> Self {
        Block(PREFIX.to_vec())
    }
}

impl Block {
    /// Forgets all fields and keeps the memory.
    pub fn clear(&mut self) {
        self.0.truncate(PREFIX.len());
    }

    /// Adds a field, whose name is in lower case. A secret is marked, so that whoever forwards it keeps it out of tables.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let out = &mut self.0;
        let is_secret = is_secret(name, value);
        match static_table::find(name, value) {
            Found::Both(index) => return integer::write(out, INDEXED, 6, index),
            Found::Name(index) => {
                integer::write(out, if is_secret { NAMED_NEVER } else { NAMED }, 4, index);
            }
            Found::Nothing => {
                string(out, if is_secret { LITERAL_NEVER } else { LITERAL }, 3, name);
            }
        }
        string(out, 0, 7, value);
    }

    /// The section.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// As over HTTP/2 (RFC 9204 7.1.3).
fn is_secret(name: &[u8], value: &[u8]) -> bool {
    matches!(name, b"authorization" | b"proxy-authorization")
        || (name == b"cookie" && value.len() < 20)
}

/// Appends a string, in the shorter of its forms (RFC 9204 4.1.2).
fn string(out: &mut Vec<u8>, pattern: u8, prefix: u32, text: &[u8]) {
    let coded = huffman::encoded_length(text);
    if coded < text.len() {
        integer::write(out, pattern | 1 << prefix, prefix, coded as u32);
        huffman::encode(text, out);
    } else {
        integer::write(out, pattern, prefix, text.len() as u32);
        out.extend_from_slice(text);
    }
}
