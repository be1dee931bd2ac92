//! The trace as bytes: `candor.trace/1`, as described in docs/trace.md.
//!
//! ```text
//! file    = MAGIC frame*
//! frame   = length of the payload (u32, little endian), CRC-32 of it (the same), payload
//! payload = kind (one byte), then for
//!           0 head:     seed, rule (text), names of the plan's requests (count, texts)
//!           1 requests: count, requests
//!           2 end:      origin, traced, not traced, dropped
//! ```
//! Numbers are LEB128, texts have their length before them. The head is the first frame and the end
//! the last one, so a file without an end was cut off; every frame before the cut is complete and
//! can be read by itself. This module does no I/O: it writes frames into a buffer, and reads them
//! from a payload whose length the caller takes from [`FrameHead`].

mod numbers;
mod requests;

use super::{TraceCounts, Traced};
use numbers::{put, put_text, take, take_text};

/// The first bytes of a trace.
pub const MAGIC: &[u8; 15] = b"candor.trace/1\n";

/// Bytes of the head before a payload.
pub const FRAME_HEAD_BYTES: usize = 8;

/// The longest payload; a frame that claims more is damaged.
pub const LONGEST_PAYLOAD_BYTES: usize = 1 << 26;

/// The most requests in one frame.
const FRAME_REQUESTS: usize = 4096;

/// The most names, and the longest name, in a head; more means damage. A name is repeated in every
/// row of its requests.
const MOST_NAMES: u64 = 1 << 20;
const LONGEST_NAME_BYTES: usize = 4 << 10;

const HEAD: u8 = 0;
const REQUESTS: u8 = 1;
const END: u8 = 2;

/// The head of a trace, which a reader needs before the first request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The run's seed.
    pub seed: u64,
    /// Which requests are traced: `all`, `1/N`, or a number.
    pub rule: String,
    /// Names of the plan's requests, indexed by [`Traced::request`].
    pub names: Vec<String>,
}

/// The end of a trace, known when the run is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct End {
    /// The origin of all times on the loader's monotonic clock.
    pub origin_monotonic_ns: u64,
    /// How many requests were traced and not traced.
    pub counts: TraceCounts,
}

/// One decoded frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The first one.
    Head(Head),
    /// Some requests.
    Requests(Vec<Traced>),
    /// The last one.
    End(End),
}

/// Why a trace cannot be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The length of a frame is impossible.
    Length,
    /// A payload is not the one that was written: its checksum differs.
    Checksum,
    /// The checksum of a payload is right, but this version cannot decode it.
    Meaning,
}

/// The head before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Bytes of the payload.
    pub length: usize,
    checksum: u32,
}

impl FrameHead {
    /// Reads it.
    pub fn parse(bytes: [u8; FRAME_HEAD_BYTES]) -> Result<Self, Damage> {
        let [a, b, c, d, e, f, g, h] = bytes;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let checksum = u32::from_le_bytes([e, f, g, h]);
        match length {
            1..=LONGEST_PAYLOAD_BYTES => Ok(FrameHead { length, checksum }),
            _ => Err(Damage::Length),
        }
    }

    /// The frame with this payload.
    pub fn frame(self, payload: &[u8]) -> Result<Frame, Damage> {
        if payload.len() != self.length || crc32(payload) != self.checksum {
            return Err(Damage::Checksum);
        }
        parse_payload(payload).ok_or(Damage::Meaning)
    }
}

/// Appends the beginning of a trace.
pub fn put_head(out: &mut Vec<u8>, head: &Head) {
    out.extend_from_slice(MAGIC);
    framed(out, HEAD, |out| {
        put(out, head.seed);
        put_text(out, &head.rule);
        put(out, head.names.len() as u64);
        for name in &head.names {
            put_text(out, &name[..name.floor_char_boundary(LONGEST_NAME_BYTES)]);
        }
    });
}

/// Appends some requests.
pub fn put_requests(out: &mut Vec<u8>, all: &[Traced]) {
    for some in all.chunks(FRAME_REQUESTS) {
        framed(out, REQUESTS, |out| requests::put_all(out, some));
    }
}

/// Appends the end of a trace.
pub fn put_end(out: &mut Vec<u8>, end: &End) {
    framed(out, END, |out| {
        let TraceCounts { traced, not_traced, dropped } = end.counts;
        for number in [end.origin_monotonic_ns, traced, not_traced, dropped] {
            put(out, number);
        }
    });
}

fn framed(out: &mut Vec<u8>, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
    out.push(kind);
    payload(out);
    let body = start + FRAME_HEAD_BYTES;
    let length = (out.len() - body) as u32;
    let checksum = crc32(&out[body..]);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..body].copy_from_slice(&checksum.to_le_bytes());
}

/// Decodes a payload without a look at its checksum; `None` if it is invalid.
pub fn parse_payload(payload: &[u8]) -> Option<Frame> {
    let (&kind, mut rest) = payload.split_first()?;
    let input = &mut rest;
    let frame = match kind {
        HEAD => {
            let name = |input: &mut &[u8]| {
                take_text(input).filter(|name| name.len() <= LONGEST_NAME_BYTES)
            };
            let (seed, rule, count) = (take(input)?, name(input)?, take(input)?);
            let count = Some(count).filter(|&count| count <= MOST_NAMES)?;
            let names = (0..count).map(|_| name(input)).collect::<Option<_>>()?;
            Frame::Head(Head { seed, rule, names })
        }
        REQUESTS => Frame::Requests(requests::take_all(input, FRAME_REQUESTS)?),
        END => {
            let origin_monotonic_ns = take(input)?;
            let (traced, not_traced, dropped) = (take(input)?, take(input)?, take(input)?);
            let counts = TraceCounts { traced, not_traced, dropped };
            Frame::End(End { origin_monotonic_ns, counts })
        }
        _ => return None,
    };
    rest.is_empty().then_some(frame)
}

/// The CRC-32 of zlib and Ethernet (ISO 3309), with the reversed polynomial 0xEDB88320.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut n = 0;
        while n < 256 {
            let mut value = n as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { 0xEDB8_8320 ^ (value >> 1) } else { value >> 1 };
                bit += 1;
            }
            table[n] = value;
            n += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
