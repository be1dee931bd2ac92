//! HdrHistogram's compressed V1 encoding in base64, which yicwang's wrk2 prints as `hist`.
//!
//! Java's HdrHistogram and the C library read it; the Rust crate supports only V2. This module writes
//! it; only tests read it. All numbers are big-endian:
//!
//! ```text
//! 0x1c849382, length of what follows, then zlib of:
//!   0x1c849381                cookie: V1, eight bytes a count
//!   length of the counts      in bytes
//!   0                         normalising index offset
//!   significant digits
//!   lowest, highest value     eight bytes each
//!   ratio of integer to double, 1.0
//!   counts                    eight bytes each, up to the last that is not zero
//! ```
//!
//! The index of a count is the histogram's own: the first bucket has one count for each of its
//! sub-buckets, every other one for the upper half of them, with twice the width each time.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use hdrhistogram::Histogram as Hdr;

use super::hgrm::sub_buckets;

const COMPRESSED_COOKIE: u32 = 0x1c84_9382;
const COOKIE: u32 = 0x1c84_9381;
const HEADER_BYTES: usize = 40;
const COUNT_BYTES: usize = 8;

/// The histogram as text.
pub fn encode(hdr: &Hdr<u64>) -> String {
    let mut counts: Vec<u64> = Vec::new();
    for step in hdr.iter_recorded() {
        let index = index_of(hdr, step.value_iterated_to());
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

/// The index of the count of a value.
fn index_of(hdr: &Hdr<u64>, value: u64) -> usize {
    // log2 of the width of the first sub-buckets, and of half of their number.
    let unit_bits = hdr.low().max(1).ilog2();
    let half_bits = sub_buckets(hdr).ilog2() - 1;
    let scaled = value >> unit_bits;
    let bucket = (scaled | 1).ilog2().saturating_sub(half_bits);
    ((u64::from(bucket) << half_bits) + (scaled >> bucket)) as usize
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;
    use proptest::prelude::*;

    use super::*;

    /// From the README of yicwang's wrk2: 20 s at 30 a second, two digits, of which the last ten
    /// seconds were recorded.
    const EXAMPLE: &str = "HISTggAAAL94nO3SywnCUBBA0clLYkS3LrUCi0grlqJgBxZnG5agYGZz5WGEgJt7QIb55P1wf71dIo7neCtTbF6/3eF+ivERkiRJkiRJkiRJkiRJkiT9S1Opt1PskWfcTLHDXF+pb1Ev6GdcY44x+wUx+y3qgXrGnG8QC+ZSh3xV2Y/n5f0S7zmgn/Pch+9XMMfv+G65zoA878/vAv0eOd+L6xXkrAdy1mv4v/2Ws17rz8Vzzt1/qf1+tfR5ll7vY/0nEdkGJg==";

    /// The histogram of a text. The fork counts the 40 bytes of the header among those of the counts.
    pub(crate) fn decode(text: &str) -> Hdr<u64> {
        let bytes = BASE64.decode(text.trim()).expect("base64");
        let u32_at = |bytes: &[u8], at: usize| {
            u32::from_be_bytes(*bytes[at..].first_chunk().expect("a number"))
        };
        let u64_at = |bytes: &[u8], at: usize| {
            u64::from_be_bytes(*bytes[at..].first_chunk().expect("a number"))
        };
        assert_eq!(u32_at(&bytes, 0), COMPRESSED_COOKIE);
        assert_eq!(u32_at(&bytes, 4) as usize, bytes.len() - 8);
        let mut payload = Vec::new();
        ZlibDecoder::new(&bytes[8..]).read_to_end(&mut payload).expect("zlib");
        assert_eq!((u32_at(&payload, 0), u32_at(&payload, 8)), (COOKIE, 0));
        let length = payload.len() - HEADER_BYTES;
        assert!([length, payload.len()].contains(&(u32_at(&payload, 4) as usize)));
        assert_eq!(u64_at(&payload, 32), 1f64.to_bits());
        let (lowest, highest) = (u64_at(&payload, 16), u64_at(&payload, 24));
        let digits = u8::try_from(u32_at(&payload, 12)).expect("digits");
        let mut hdr = Hdr::new_with_bounds(lowest, highest, digits).expect("bounds");
        let mut value = 0;
        for at in (HEADER_BYTES..payload.len()).step_by(COUNT_BYTES) {
            // Every equivalent range of values has the next count.
            match u64_at(&payload, at) {
                0 => {}
                count => hdr.record_n(value, count).expect("a value in range"),
            }
            value = hdr.next_non_equivalent(value);
        }
        hdr
    }

    #[test]
    fn the_example_of_the_fork_decodes() {
        let hdr = decode(EXAMPLE);
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
        assert_eq!(decode(&encode(&hdr)), hdr);
    }

    #[test]
    fn the_layout_is_that_of_the_histogram() {
        for (lowest, digits) in [(1, 1), (1, 2), (1, 3), (1, 5), (1000, 3), (1 << 20, 4)] {
            let hdr = Hdr::<u64>::new_with_bounds(lowest, u64::MAX / 2, digits).unwrap();
            let mut value = 0u64;
            let mut index = 0;
            // Every equivalent range of values has the next index, and begins with its value.
            while index < 20_000 {
                assert_eq!(index_of(&hdr, value), index, "{lowest} {digits} {value}");
                let next = hdr.next_non_equivalent(value);
                assert_eq!(index_of(&hdr, next - 1), index);
                (value, index) = (next, index + 1);
                if value > u64::MAX / 4 {
                    break;
                }
            }
        }
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
            let again = decode(&encode(&hdr));
            let counts = |hdr: &Hdr<u64>| -> Vec<(u64, u64)> {
                hdr.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
            };
            prop_assert_eq!(counts(&again), counts(&hdr));
            prop_assert_eq!((again.low(), again.high(), again.sigfig()), (hdr.low(), hdr.high(), digits));
        }
    }
}
