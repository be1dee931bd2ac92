//! Histograms from files: decodes HdrHistogram's compressed V2 encoding.
//!
//! The bytes are untrusted. This module checks bounds and digits before it allocates counts, and
//! places one by one as it unpacks them, so a claimed length is never allocated. It accepts only
//! encodings that [`Encoded::of_hdr`] writes, with at most 27 MiB of counts. All numbers are big-endian:
//!
//! ```text
//! 0x1c849314, length of what follows, then zlib of:
//!   0x1c849313                cookie: V2
//!   length of the counts      in bytes
//!   0                         normalising index offset
//!   significant digits
//!   lowest, highest value     eight bytes each
//!   ratio of integer to double, 1.0
//!   counts                    each a zigzag LEB128 number of up to nine bytes: a count, or, negative,
//!                             a number of places without samples
//! ```

use std::fmt;
use std::io::{BufReader, Read, Take};

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::bufread::ZlibDecoder;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{HIGHEST_NS, Histogram, Layout};

const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
const COOKIE: u32 = 0x1c84_9313;
/// The most samples; no run has more.
const MOST_SAMPLES: u64 = i64::MAX as u64;

/// Why bytes are not a histogram of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncodingError {
    /// They are not compressed in zlib's format, or end too early.
    Packing(String),
    /// They do not begin with the cookie of a compressed V2 histogram.
    Cookie(u32),
    /// A field of the header that no histogram of ours has: its name, its value, the allowed
    /// values.
    Header(&'static str, u64, &'static str),
    /// There are samples above the highest value.
    TooLong,
    /// There are more samples than can be counted.
    TooMany,
}

impl fmt::Display for EncodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodingError::Packing(why) => write!(f, "it cannot be unpacked: {why}"),
            EncodingError::Cookie(cookie) => {
                write!(f, "it begins with {cookie:#010x} and not like a compressed V2 histogram")
            }
            EncodingError::Header(name, value, bound) => {
                write!(f, "its {name} is {value} and must be {bound}")
            }
            EncodingError::TooLong => f.write_str("it has samples above its highest value"),
            EncodingError::TooMany => f.write_str("it has more samples than can be counted"),
        }
    }
}

impl std::error::Error for EncodingError {}

/// Bytes, in base64 in text: mostly a histogram in HdrHistogram's compressed V2 encoding. The
/// content is checked when it is decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transparent))]
pub struct Encoded(#[cfg_attr(feature = "schema", schemars(with = "String"))] pub Vec<u8>);

impl Encoded {
    /// The encoding of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        Encoded::of_hdr(&histogram.hdr())
    }

    /// The encoding of a histogram of the library, of any bounds.
    pub fn of_hdr(hdr: &Hdr<u64>) -> Self {
        let mut bytes = Vec::new();
        let written = V2DeflateSerializer::new().serialize(hdr, &mut bytes);
        written.expect("writing to memory does not fail");
        // Every interval of a run keeps one of these.
        bytes.shrink_to_fit();
        Encoded(bytes)
    }

    /// The histogram of these bytes.
    pub fn decode(&self) -> Result<Hdr<u64>, EncodingError> {
        decode_v2(&self.0)
    }

    /// Adds the samples of these bytes to `sum`, without an intermediate histogram. After an error,
    /// `sum` may contain some of them.
    pub fn add_to(&self, sum: &mut Hdr<u64>) -> Result<(), EncodingError> {
        Opened::open(&self.0)?.add_to(sum)
    }
}

impl fmt::Display for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Base64Display::new(&self.0, &BASE64).fmt(f)
    }
}

impl Serialize for Encoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Encoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer).map(Encoded);
        }
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text).map(Encoded).map_err(D::Error::custom)
    }
}

/// The histogram of these bytes.
fn decode_v2(bytes: &[u8]) -> Result<Hdr<u64>, EncodingError> {
    let encoded = Opened::open(bytes)?;
    let mut hdr = Hdr::new_with_bounds(1, HIGHEST_NS, encoded.layout.digits)
        .expect("bounds are constant and the digits were checked");
    encoded.add_to(&mut hdr)?;
    Ok(hdr)
}

/// An encoding with a checked header.
struct Opened<'a> {
    layout: Layout,
    /// The counts, limited to their stated length.
    counts: Take<Unpacker<'a>>,
}

type Unpacker<'a> = BufReader<ZlibDecoder<&'a [u8]>>;

impl<'a> Opened<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, EncodingError> {
        let mut packed = bytes;
        expect_cookie(number(&mut packed)?, COMPRESSED_COOKIE)?;
        let _length = number(&mut packed)?;
        let mut unpacked = BufReader::new(ZlibDecoder::new(packed));
        expect_cookie(number(&mut unpacked)?, COOKIE)?;
        let length = number(&mut unpacked)?;
        let offset = number(&mut unpacked)?;
        let digits = number(&mut unpacked)?;
        let lowest = long_number(&mut unpacked)?;
        let highest = long_number(&mut unpacked)?;
        let _ratio = long_number(&mut unpacked)?;
        let header = |name, value, bound, holds: bool| match holds {
            true => Ok(()),
            false => Err(EncodingError::Header(name, value, bound)),
        };
        header("index offset", offset.into(), "0", offset == 0)?;
        header("number of digits", digits.into(), "1 to 5", (1..=5).contains(&digits))?;
        header("lowest value", lowest, "1", lowest == 1)?;
        header("highest value", highest, "3600000000000 (one hour in ns)", highest == HIGHEST_NS)?;
        let digits = u8::try_from(digits).unwrap_or(u8::MAX);
        Ok(Opened { layout: Layout::new(digits), counts: unpacked.take(length.into()) })
    }

    fn add_to(mut self, sum: &mut Hdr<u64>) -> Result<(), EncodingError> {
        let places = self.layout.places() as u64;
        let mut index = 0u64;
        while let Some(number) = self.zigzag()? {
            // Zero is also a count: of one place without samples.
            let Ok(count) = u64::try_from(number) else {
                index = index.saturating_add(number.unsigned_abs());
                continue;
            };
            if count > 0 {
                if index >= places {
                    return Err(EncodingError::TooLong);
                }
                if sum.len().saturating_add(count) > MOST_SAMPLES {
                    return Err(EncodingError::TooMany);
                }
                sum.saturating_record_n(self.layout.values(index as usize).0, count);
            }
            index = index.saturating_add(1);
        }
        Ok(())
    }

    /// The next number; `None` after the last.
    fn zigzag(&mut self) -> Result<Option<i64>, EncodingError> {
        let mut value = 0u64;
        for at in 0..9 {
            let mut byte = [0];
            let byte = match self.counts.read(&mut byte).map_err(|error| packing(&error))? {
                0 if at == 0 && self.counts.limit() == 0 => return Ok(None),
                0 => return Err(EncodingError::Packing("counts are missing".to_owned())),
                _ => u64::from(byte[0]),
            };
            // The ninth byte has eight bits of the number, all others seven.
            if at == 8 || byte < 0x80 {
                value |= byte << (7 * at);
                break;
            }
            value |= (byte & 0x7f) << (7 * at);
        }
        Ok(Some((value >> 1) as i64 ^ -((value & 1) as i64)))
    }
}

fn packing(error: &std::io::Error) -> EncodingError {
    EncodingError::Packing(error.to_string())
}

fn expect_cookie(cookie: u32, expected: u32) -> Result<(), EncodingError> {
    if cookie == expected { Ok(()) } else { Err(EncodingError::Cookie(cookie)) }
}

fn number(from: &mut impl Read) -> Result<u32, EncodingError> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes).map_err(|error| packing(&error))?;
    Ok(u32::from_be_bytes(bytes))
}

fn long_number(from: &mut impl Read) -> Result<u64, EncodingError> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes).map_err(|error| packing(&error))?;
    Ok(u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    use super::*;

    /// An encoding with this header and these bytes of counts.
    fn packed(length: u32, digits: u32, bounds: (u64, u64), counts: &[u8]) -> Vec<u8> {
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
        for number in [COOKIE, length, 0, digits] {
            packer.write_all(&number.to_be_bytes()).unwrap();
        }
        for number in [bounds.0, bounds.1, 1f64.to_bits()] {
            packer.write_all(&number.to_be_bytes()).unwrap();
        }
        packer.write_all(counts).unwrap();
        let packed = packer.finish().unwrap();
        let head = [COMPRESSED_COOKIE, packed.len() as u32].map(u32::to_be_bytes);
        [head.concat(), packed].concat()
    }

    const OURS: (u64, u64) = (1, HIGHEST_NS);

    #[test]
    fn what_is_no_histogram_of_ours_is_refused_before_it_has_memory() {
        for (bytes, said) in [
            // Claims of 4 GiB of counts.
            (packed(u32::MAX, 3, OURS, &[]), "counts are missing"),
            (packed(u32::MAX, 3, OURS, &[2]), "counts are missing"),
            (packed(1, 3, OURS, &[0xff]), "counts are missing"),
            (packed(9, 9, OURS, &[2]), "number of digits is 9 and must be 1 to 5"),
            (packed(9, 0, OURS, &[2]), "number of digits is 0"),
            (packed(9, 3, (0, HIGHEST_NS), &[2]), "lowest value is 0"),
            (packed(9, 5, (1, u64::MAX), &[2]), "highest value is 18446744073709551615"),
            // A jump beyond the last place, and a sample there.
            (packed(4, 3, OURS, &[0xff, 0xff, 0x7f, 2]), "samples above its highest value"),
            (packed(18, 3, OURS, &[[0xfe; 9], [0xfe; 9]].concat()), "more samples"),
            (vec![], "cannot be unpacked"),
            (vec![0; 40], "begins with 0x00000000"),
        ] {
            let error = decode_v2(&bytes).unwrap_err().to_string();
            assert!(error.contains(said), "{error}, not {said}");
        }
        assert_eq!(decode_v2(&packed(0, 3, OURS, &[])).unwrap().len(), 0);
    }

    proptest! {
        #[test]
        fn it_is_what_the_library_reads(
            digits in 1u8..=5,
            values in prop::collection::vec((0u32..64, any::<u64>()), 0..200),
        ) {
            let mut ours = Histogram::new(digits);
            values.iter().for_each(|&(bits, value)| ours.record(value >> bits));
            let bytes = Encoded::of(&ours).0;
            let theirs: Hdr<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            let decoded = decode_v2(&bytes).unwrap();
            prop_assert_eq!(&decoded, &theirs);
            let mut twice = decoded;
            Encoded(bytes).add_to(&mut twice).unwrap();
            let mut sum = theirs.clone();
            sum.add(&theirs).unwrap();
            prop_assert_eq!(twice, sum);
        }

        #[test]
        fn no_bytes_make_it_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            digits in 0u32..7,
        ) {
            let _ = decode_v2(&bytes);
            let _ = decode_v2(&packed(bytes.len() as u32, digits, OURS, &bytes));
        }
    }
}
