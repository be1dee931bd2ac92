//! HdrHistogram's V1 encoding, compressed, in base64: what yicwang's wrk2 prints as `hist`.
//!
//! Java's HdrHistogram and the C library read it; the Rust crate writes and reads V2 only. All
//! numbers are big-endian:
//!
//! ```text
//! 0x1c849382, length of what follows, then zlib of:
//!   0x1c849381                cookie: V1, eight bytes a count
//!   length of the counts      in bytes; the fork counts these 40 bytes too, and is read
//!   0                         normalising index offset
//!   significant digits
//!   lowest, highest value     eight bytes each
//!   ratio of integer to double, 1.0
//!   counts                    eight bytes each, up to the last that is not zero
//! ```
//!
//! The index of a count is the histogram's own: the first bucket has one count for each of its
//! sub-buckets, every other one for the upper half of them, with twice the width each time.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hdrhistogram::Histogram as Hdr;

const COMPRESSED_COOKIE: u32 = 0x1c84_9382;
const COOKIE: u32 = 0x1c84_9381;
const HEADER_BYTES: usize = 40;
const COUNT_BYTES: usize = 8;

/// No histogram of up to five digits over all of 64 bits is larger.
const LONGEST_BYTES: u64 = 64 << 20;

/// Why a text is not a V1 histogram.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum V1Error {
    /// Not base64, or not zlib inside.
    #[error("not a compressed histogram ({0})")]
    Packing(String),
    /// Too short, or of another length than it says.
    #[error("the histogram is cut off or has bytes left over")]
    Length,
    /// Another encoding.
    #[error("the cookie is {0:#010x}, and {1:#010x} is that of V1 with eight bytes a count")]
    Cookie(u32, u32),
    /// A header that no histogram has.
    #[error("the histogram's header makes no sense: {0}")]
    Header(String),
    /// A count that is negative or beyond the range.
    #[error("count {0} of the histogram is negative or beyond its range")]
    Count(usize),
}

/// The histogram as text.
pub fn encode(hdr: &Hdr<u64>) -> String {
    let layout = Layout { lowest: hdr.low(), digits: hdr.sigfig() };
    let mut counts: Vec<u64> = Vec::new();
    for step in hdr.iter_recorded() {
        let index = layout.index_of(step.value_iterated_to());
        counts.resize(index + 1, 0);
        counts[index] = step.count_at_value();
    }
    let mut payload = Vec::with_capacity(HEADER_BYTES + counts.len() * COUNT_BYTES);
    payload.extend(COOKIE.to_be_bytes());
    payload.extend(((counts.len() * COUNT_BYTES) as u32).to_be_bytes());
    payload.extend(0u32.to_be_bytes());
    payload.extend(u32::from(hdr.sigfig()).to_be_bytes());
    payload.extend(hdr.low().to_be_bytes());
    payload.extend(hdr.high().to_be_bytes());
    payload.extend(1f64.to_be_bytes());
    payload.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = packer.write_all(&payload).and_then(|()| packer.finish());
    let packed = packed.expect("writing to memory does not fail");
    let mut bytes = COMPRESSED_COOKIE.to_be_bytes().to_vec();
    bytes.extend((packed.len() as u32).to_be_bytes());
    bytes.extend(packed);
    BASE64.encode(bytes)
}

/// The histogram of a text.
pub fn decode(text: &str) -> Result<Hdr<u64>, V1Error> {
    let packing = |error: &dyn std::fmt::Display| V1Error::Packing(error.to_string());
    let bytes = BASE64.decode(text.trim()).map_err(|error| packing(&error))?;
    let mut outer = Fields(&bytes);
    outer.expect_cookie(COMPRESSED_COOKIE)?;
    if outer.u32()? as usize != outer.0.len() {
        return Err(V1Error::Length);
    }
    let mut payload = Vec::new();
    let mut unpacker = ZlibDecoder::new(outer.0).take(LONGEST_BYTES);
    unpacker.read_to_end(&mut payload).map_err(|error| packing(&error))?;

    let mut fields = Fields(&payload);
    fields.expect_cookie(COOKIE)?;
    let length = fields.u32()? as usize;
    let offset = fields.u32()?;
    let digits = fields.u32()?;
    let (lowest, highest) = (fields.u64()?, fields.u64()?);
    let _ratio = fields.u64()?;
    let wrong = |what: String| V1Error::Header(what);
    if offset != 0 {
        return Err(wrong(format!("an index offset of {offset}")));
    }
    let digits = u8::try_from(digits).map_err(|_| wrong(format!("{digits} digits")))?;
    let mut hdr =
        Hdr::new_with_bounds(lowest, highest, digits).map_err(|error| wrong(error.to_string()))?;
    let counts_bytes = fields.0.len();
    let is_length = length == counts_bytes || length == counts_bytes + HEADER_BYTES;
    if !is_length || !counts_bytes.is_multiple_of(COUNT_BYTES) {
        return Err(V1Error::Length);
    }
    let layout = Layout { lowest, digits };
    for index in 0..counts_bytes / COUNT_BYTES {
        let count = fields.u64()?;
        if count > 0 {
            let value = layout.value_at(index).filter(|_| i64::try_from(count).is_ok());
            let value = value.ok_or(V1Error::Count(index))?;
            hdr.record_n(value, count).map_err(|_| V1Error::Count(index))?;
        }
    }
    Ok(hdr)
}

/// Bytes that are read from the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], V1Error> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(V1Error::Length)?;
        self.0 = rest;
        Ok(*first)
    }

    fn u32(&mut self) -> Result<u32, V1Error> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, V1Error> {
        self.take().map(u64::from_be_bytes)
    }

    fn expect_cookie(&mut self, expected: u32) -> Result<(), V1Error> {
        match self.u32()? {
            cookie if cookie == expected => Ok(()),
            cookie => Err(V1Error::Cookie(cookie, expected)),
        }
    }
}

/// Where the count of a value stands.
#[derive(Debug, Clone, Copy)]
struct Layout {
    lowest: u64,
    digits: u8,
}

impl Layout {
    /// log2 of the width of the first sub-buckets.
    fn unit_bits(self) -> u32 {
        self.lowest.max(1).ilog2()
    }

    /// log2 of half of the sub-buckets in a bucket: enough of them to tell two units of the last
    /// digit apart.
    fn half_bits(self) -> u32 {
        let sub_buckets = (2 * 10u64.pow(u32::from(self.digits.min(5)))).next_power_of_two();
        sub_buckets.ilog2() - 1
    }

    fn index_of(self, value: u64) -> usize {
        let (unit_bits, half_bits) = (self.unit_bits(), self.half_bits());
        let scaled = value >> unit_bits;
        let bucket = (scaled | 1).ilog2().saturating_sub(half_bits);
        let sub_bucket = scaled >> bucket;
        ((u64::from(bucket) << half_bits) + sub_bucket) as usize
    }

    /// The lowest value of a count; `None` above 64 bits.
    fn value_at(self, index: usize) -> Option<u64> {
        let (unit_bits, half_bits) = (self.unit_bits(), self.half_bits());
        let half = 1u64 << half_bits;
        let index = index as u64;
        let bucket = (index >> half_bits).saturating_sub(1);
        let sub_bucket = if bucket == 0 { index } else { (index & (half - 1)) + half };
        let bits = u32::try_from(bucket).ok()?.checked_add(unit_bits)?;
        (bits < u64::BITS && sub_bucket.leading_zeros() >= bits).then(|| sub_bucket << bits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// From the README of yicwang's wrk2: 20 s at 30 a second, two digits, of which the last ten
    /// seconds were recorded.
    const EXAMPLE: &str = "HISTggAAAL94nO3SywnCUBBA0clLYkS3LrUCi0grlqJgBxZnG5agYGZz5WGEgJt7QIb55P1wf71dIo7neCtTbF6/3eF+ivERkiRJkiRJkiRJkiRJkiT9S1Opt1PskWfcTLHDXF+pb1Ev6GdcY44x+wUx+y3qgXrGnG8QC+ZSh3xV2Y/n5f0S7zmgn/Pch+9XMMfv+G65zoA878/vAv0eOd+L6xXkrAdy1mv4v/2Ws17rz8Vzzt1/qf1+tfR5ll7vY/0nEdkGJg==";

    #[test]
    fn the_example_of_the_fork_decodes() {
        let hdr = decode(EXAMPLE).unwrap();
        assert_eq!((hdr.low(), hdr.high(), hdr.sigfig()), (1, 86_400_000_000, 2));
        assert_eq!(hdr.len(), 300);
        // Its counts by index, unpacked by hand: the first is 1 at 1239, the last 1 at 1386.
        let first = (1239 % 128 + 128) << (1239 / 128 - 1);
        let last = (1386 % 128 + 128) << (1386 / 128 - 1);
        assert_eq!(
            (hdr.lowest_equivalent(hdr.min()), hdr.lowest_equivalent(hdr.max())),
            (first, last)
        );
        assert_eq!(hdr.count_at((1246 % 128 + 128) << 8), 10);
        let again = decode(&encode(&hdr)).unwrap();
        assert_eq!(again, hdr);
    }

    #[test]
    fn the_layout_is_that_of_the_histogram() {
        for (lowest, digits) in [(1, 1), (1, 2), (1, 3), (1, 5), (1000, 3), (1 << 20, 4)] {
            let layout = Layout { lowest, digits };
            let hdr = Hdr::<u64>::new_with_bounds(lowest, u64::MAX / 2, digits).unwrap();
            let mut value = 0u64;
            let mut index = 0;
            // Every equivalent range of values has the next index, and begins with its value.
            while index < 20_000 {
                assert_eq!(layout.index_of(value), index, "{lowest} {digits} {value}");
                assert_eq!(layout.value_at(index), Some(value));
                let next = hdr.next_non_equivalent(value);
                assert_eq!(layout.index_of(next - 1), index);
                (value, index) = (next, index + 1);
                if value > u64::MAX / 4 {
                    break;
                }
            }
        }
    }

    #[test]
    fn what_is_no_v1_histogram_is_refused() {
        let mut hdr = Hdr::<u64>::new_with_bounds(1, 1_000_000, 3).unwrap();
        hdr.record(17).unwrap();
        let bytes = BASE64.decode(encode(&hdr)).unwrap();
        assert!(matches!(decode("?"), Err(V1Error::Packing(_))));
        assert!(matches!(decode(""), Err(V1Error::Length)));
        for cut in [0, 3, 7, 8, bytes.len() - 1] {
            assert!(decode(&BASE64.encode(&bytes[..cut])).is_err(), "{cut}");
        }
        let mut v2 = bytes.clone();
        v2[3] = 0x84;
        assert!(matches!(decode(&BASE64.encode(&v2)), Err(V1Error::Cookie(0x1c849384, _))));
        // A payload of our own, packed as it should be.
        let packed = |edit: &dyn Fn(&mut Vec<u8>)| {
            let mut payload = Vec::new();
            ZlibDecoder::new(&bytes[8..]).read_to_end(&mut payload).unwrap();
            edit(&mut payload);
            let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&payload).unwrap();
            let packed = packer.finish().unwrap();
            let mut all = COMPRESSED_COOKIE.to_be_bytes().to_vec();
            all.extend((packed.len() as u32).to_be_bytes());
            all.extend(packed);
            BASE64.encode(all)
        };
        assert_eq!(decode(&packed(&|_| {})).as_ref(), Ok(&hdr));
        let set = |at: usize, byte: u8| packed(&move |payload: &mut Vec<u8>| payload[at] = byte);
        assert!(matches!(decode(&set(3, 0x83)), Err(V1Error::Cookie(..))));
        assert_eq!(decode(&set(7, 1)).unwrap_err(), V1Error::Length);
        assert!(matches!(decode(&set(11, 1)), Err(V1Error::Header(_))));
        assert!(matches!(decode(&set(15, 9)), Err(V1Error::Header(_))));
        assert!(matches!(decode(&set(23, 0)), Err(V1Error::Header(_))));
        let last = HEADER_BYTES + 17 * COUNT_BYTES;
        assert_eq!(decode(&set(last, 0x80)).unwrap_err(), V1Error::Count(17));
        let beyond = packed(&|payload| {
            payload.resize(HEADER_BYTES + 100_000 * COUNT_BYTES, 1);
            payload[4..8].copy_from_slice(&800_000u32.to_be_bytes());
        });
        assert!(matches!(decode(&beyond), Err(V1Error::Count(_))));
    }

    proptest! {
        #[test]
        fn what_was_recorded_comes_back(
            digits in 1u8..=4,
            values in prop::collection::vec((0u64..40, 1u64..1000), 0..60),
            lowest in 1u64..2000,
        ) {
            let mut hdr = Hdr::<u64>::new_with_bounds(lowest, 86_400_000_000, digits).unwrap();
            for (bits, count) in values {
                hdr.saturating_record_n((1u64 << bits).wrapping_mul(count) >> 3, count);
            }
            let again = decode(&encode(&hdr)).unwrap();
            let counts = |hdr: &Hdr<u64>| -> Vec<(u64, u64)> {
                hdr.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
            };
            prop_assert_eq!(counts(&again), counts(&hdr));
            prop_assert_eq!((again.low(), again.high(), again.sigfig()), (hdr.low(), hdr.high(), digits));
        }

        #[test]
        fn no_text_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&BASE64.encode(&bytes));
            let mut all = COMPRESSED_COOKIE.to_be_bytes().to_vec();
            let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&COOKIE.to_be_bytes()).unwrap();
            packer.write_all(&bytes).unwrap();
            let packed = packer.finish().unwrap();
            all.extend((packed.len() as u32).to_be_bytes());
            all.extend(packed);
            let _ = decode(&BASE64.encode(&all));
        }
    }
}
