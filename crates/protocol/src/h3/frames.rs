//! Frames, settings and the integers of both (RFC 9114 7, RFC 9000 16), without a word about what they mean. Servers of ours
//! read and write the same.

use std::borrow::Cow;

use super::error::Error;

/// Types of frames (RFC 9114 7.2 and 11.2.1).
pub mod kind {
    /// A part of a body.
    pub const DATA: u64 = 0x0;
    /// A field section.
    pub const HEADERS: u64 = 0x1;
    /// No push, after all.
    pub const CANCEL_PUSH: u64 = 0x3;
    /// The settings of a side.
    pub const SETTINGS: u64 = 0x4;
    /// A push to come.
    pub const PUSH_PROMISE: u64 = 0x5;
    /// The end of new requests.
    pub const GOAWAY: u64 = 0x7;
    /// The pushes that are allowed.
    pub const MAX_PUSH_ID: u64 = 0xd;

    /// Whether it was a type of HTTP/2, which must not come (RFC 9114 7.2.8).
    pub(crate) fn is_of_h2(kind: u64) -> bool {
        matches!(kind, 0x2 | 0x6 | 0x8 | 0x9)
    }
}

/// Types of unidirectional streams (RFC 9114 6.2, RFC 9204 4.2).
pub mod stream {
    /// Of settings and GOAWAY.
    pub const CONTROL: u64 = 0x0;
    /// Of a push.
    pub const PUSH: u64 = 0x1;
    /// Of instructions for the peer's table.
    pub const ENCODER: u64 = 0x2;
    /// Of what the peer's table is told.
    pub const DECODER: u64 = 0x3;
}

/// Settings (RFC 9114 7.2.4.1, RFC 9204 5, RFC 9220 3).
pub mod setting {
    pub(crate) const QPACK_MAX_TABLE_CAPACITY: u64 = 0x1;
    /// The fields that are taken, decoded.
    pub const MAX_FIELD_SECTION_SIZE: u64 = 0x6;
    pub(crate) const QPACK_BLOCKED_STREAMS: u64 = 0x7;
    /// 1: extended CONNECT is taken.
    pub const ENABLE_CONNECT_PROTOCOL: u64 = 0x8;

    /// Whether it was a setting of HTTP/2, which must not come (RFC 9114 7.2.4.1).
    pub(crate) fn is_of_h2(id: u64) -> bool {
        matches!(id, 0x2..=0x5)
    }
}

/// The longest type and length.
const HEADER_BYTES: usize = 16;

/// Takes an integer from the front of `bytes`; `None`: it is not whole.
#[inline]
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let first = *bytes.first()?;
    let (number, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    *bytes = rest;
    let value = number.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    Some(value & (u64::MAX >> (66 - 8 * number.len())))
}

/// Appends an integer, which is below 2^62.
pub fn write_varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Appends a frame's type and length.
pub fn write_header(out: &mut Vec<u8>, kind: u64, length: usize) {
    write_varint(out, kind);
    write_varint(out, length as u64);
}

/// The settings in a payload, one after the other; an error: the last of them is not whole.
pub(super) fn settings(mut payload: &[u8]) -> impl Iterator<Item = Result<(u64, u64), Error>> {
    std::iter::from_fn(move || {
        if payload.is_empty() {
            return None;
        }
        let one = varint(&mut payload).and_then(|id| Some((id, varint(&mut payload)?)));
        if one.is_none() {
            payload = &[];
        }
        Some(one.ok_or(Error::FrameSize))
    })
}

/// What the frames of a stream bring.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes of a DATA frame, as they came.
    Data(&'a [u8]),
    /// The header of a DATA frame without any.
    EmptyData,
    /// The header of a frame of a type that is not known, which is passed over.
    Unknown,
    /// Any other frame, whole.
    Frame(u64, Cow<'a, [u8]>),
}

/// Cuts a stream into frames, however the stream was cut.
#[derive(Debug, Default)]
pub struct Frames {
    /// A type and a length that are not whole.
    header: Vec<u8>,
    at: At,
    /// The payload that has come of a frame that is not whole.
    payload: Vec<u8>,
}

/// Where in a frame the stream is.
#[derive(Debug, Clone, Copy, Default)]
enum At {
    #[default]
    Header,
    Data(u64),
    Skipped(u64),
    Payload(u64, usize),
}

impl Frames {
    /// The next piece of `input`; `None`: all of it is consumed. Payloads of other frames than DATA have at most `most`
    /// bytes.
    pub fn next<'a>(
        &mut self,
        input: &mut &'a [u8],
        most: usize,
    ) -> Result<Option<Piece<'a>>, Error> {
        loop {
            if input.is_empty() {
                // A frame without a payload is whole with its header.
                let At::Payload(kind, 0) = self.at else { return Ok(None) };
                self.at = At::Header;
                return Ok(Some(Piece::Frame(kind, Cow::Borrowed(&[]))));
            }
            match self.at {
                At::Header => {
                    let Some((kind, length)) = self.read_header(input) else { return Ok(None) };
                    match kind {
                        kind::DATA if length == 0 => return Ok(Some(Piece::EmptyData)),
                        kind::DATA => self.at = At::Data(length),
                        kind::HEADERS
                        | kind::CANCEL_PUSH
                        | kind::SETTINGS
                        | kind::PUSH_PROMISE
                        | kind::GOAWAY
                        | kind::MAX_PUSH_ID => {
                            let fits =
                                usize::try_from(length).ok().filter(|length| *length <= most);
                            self.at = At::Payload(kind, fits.ok_or(Error::FrameTooLarge)?);
                        }
                        kind if kind::is_of_h2(kind) => return Err(Error::FrameOfH2),
                        _ => {
                            self.at = if length == 0 { At::Header } else { At::Skipped(length) };
                            return Ok(Some(Piece::Unknown));
                        }
                    }
                }
                At::Data(left) => {
                    let bytes = take(input, left);
                    let left = left - bytes.len() as u64;
                    self.at = if left == 0 { At::Header } else { At::Data(left) };
                    return Ok(Some(Piece::Data(bytes)));
                }
                At::Skipped(left) => {
                    let left = left - take(input, left).len() as u64;
                    self.at = if left == 0 { At::Header } else { At::Skipped(left) };
                }
                At::Payload(kind, length) => {
                    let missing = length - self.payload.len();
                    let bytes = take(input, missing as u64);
                    let is_whole = bytes.len() == missing;
                    if is_whole && self.payload.is_empty() {
                        self.at = At::Header;
                        return Ok(Some(Piece::Frame(kind, Cow::Borrowed(bytes))));
                    }
                    self.payload.extend_from_slice(bytes);
                    if is_whole {
                        self.at = At::Header;
                        let payload = std::mem::take(&mut self.payload);
                        return Ok(Some(Piece::Frame(kind, Cow::Owned(payload))));
                    }
                }
            }
        }
    }

    /// Whether the stream may end here (RFC 9114 7.1).
    pub fn is_between(&self) -> bool {
        matches!(self.at, At::Header) && self.header.is_empty()
    }

    fn read_header(&mut self, input: &mut &[u8]) -> Option<(u64, u64)> {
        let read = |mut bytes: &[u8]| {
            let before = bytes.len();
            let header = (varint(&mut bytes)?, varint(&mut bytes)?);
            Some((header, before - bytes.len()))
        };
        let known = self.header.len();
        if known == 0
            && let Some((header, length)) = read(input)
        {
            *input = &input[length..];
            return Some(header);
        }
        self.header.extend_from_slice(&input[..input.len().min(HEADER_BYTES - known)]);
        let found = read(&self.header);
        match found {
            Some((header, length)) => {
                *input = &input[length - known..];
                self.header = Vec::new();
                Some(header)
            }
            // Both integers fit in the room for them, so there is more to come.
            None => {
                *input = &[];
                None
            }
        }
    }
}

/// Takes up to `most` bytes from the front.
fn take<'a>(input: &mut &'a [u8], most: u64) -> &'a [u8] {
    let length = usize::try_from(most).map_or(input.len(), |most| most.min(input.len()));
    let (taken, rest) = input.split_at(length);
    *input = rest;
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 9000 A.1.
    #[test]
    fn the_examples_of_9000_a_1() {
        let table: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (mut bytes, value) in table {
            assert_eq!(varint(&mut bytes), Some(value));
            assert!(bytes.is_empty());
        }
        assert_eq!(varint(&mut &[0x40][..]), None);
        assert_eq!(varint(&mut &[][..]), None);
    }

    fn pieces(all: &[&[u8]], most: usize) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let (mut frames, mut found) = (Frames::default(), Vec::<(u64, Vec<u8>)>::new());
        for mut input in all.iter().copied() {
            while let Some(piece) = frames.next(&mut input, most)? {
                match (piece, found.last_mut()) {
                    (Piece::Data(bytes), Some((kind::DATA, before))) => before.extend(bytes),
                    (Piece::Data(bytes), _) => found.push((kind::DATA, bytes.to_vec())),
                    (Piece::EmptyData, _) => found.push((kind::DATA, Vec::new())),
                    (Piece::Unknown, _) => found.push((u64::MAX, Vec::new())),
                    (Piece::Frame(kind, payload), _) => found.push((kind, payload.to_vec())),
                }
            }
        }
        found.push((u64::from(frames.is_between()), Vec::new()));
        Ok(found)
    }

    #[test]
    fn frames_that_must_not_come_or_are_too_large_are_refused_9114_7() {
        assert_eq!(pieces(&[&[0x6, 0]], 10), Err(Error::FrameOfH2));
        assert_eq!(pieces(&[&[0x1, 11]], 10), Err(Error::FrameTooLarge));
        assert_eq!(pieces(&[&[0x1, 0]], 10).unwrap(), [(1, vec![]), (1, vec![])]);
        assert_eq!(pieces(&[&[0x4, 2, 7]], 10).unwrap(), [(0, vec![])]);
    }

    proptest! {
        #[test]
        fn integers_read_back(value in 0..1u64 << 62) {
            let mut out = Vec::new();
            write_varint(&mut out, value);
            prop_assert_eq!(varint(&mut &out[..]), Some(value));
            prop_assert_eq!(varint(&mut &out[..out.len() - 1]), None);
        }

        /// Whole and byte by byte, frames are the same.
        #[test]
        fn a_cut_changes_nothing(
            list in prop::collection::vec((0u64..0x50, prop::collection::vec(any::<u8>(), 0..70)), 0..6),
            cut in 1usize..40,
        ) {
            let mut bytes = Vec::new();
            for (kind, payload) in &list {
                write_header(&mut bytes, *kind, payload.len());
                bytes.extend_from_slice(payload);
            }
            let cuts: Vec<&[u8]> = bytes.chunks(cut).collect();
            let each: Vec<&[u8]> = bytes.chunks(1).collect();
            let whole = pieces(&[&bytes], 64);
            prop_assert_eq!(&pieces(&cuts, 64), &whole);
            prop_assert_eq!(&pieces(&each, 64), &whole);
        }
    }
}
