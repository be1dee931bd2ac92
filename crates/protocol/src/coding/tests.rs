use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

const TEXT: &str = r#"{"token":"abc","items":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]}"#;
/// The text as Node's zlib writes it.
const BROTLI_HEX: &str = "1b4a00f89d07b68decf3e66182b17556927598d85e9f64d1e94a91ad3118c3612c04f16e3d8926bb80240\
                          5500416b22b38f2ab4092a21996e3f1312893c5e670797cfc0f";
/// 16 MiB of zeros as Node's zlib writes them.
const BROTLI_ZEROS_HEX: &str = "cbffff3ff82700e2b14020f7fe2ffffffff04f00c4611180eefd1f";
/// The text as the zstd command writes it, with a checksum.
const ZSTD_HEX: &str = "28b52ffd0468050200b2040f1290cf01b6ee18820162d7f2c123686c67c68899a53eea9fbee9973ee98fbee8773ff4d3d1cfcdcbc9c7c5fb61296027bc111c3cd7800214ca7a010e00b8f16bb4";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|one| !one.is_whitespace()).collect();
    let byte = |two: &[char]| u8::from_str_radix(&two.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// A body in each coding, deflate with and without the format of zlib.
fn all() -> [(&'static str, Vec<u8>); 5] {
    let text = TEXT.as_bytes();
    [
        ("gzip", gzip(text)),
        ("deflate", zlib(text)),
        ("deflate", deflate(text)),
        ("br", bytes(BROTLI_HEX)),
        ("zstd", bytes(ZSTD_HEX)),
    ]
}

/// What a body that comes in these pieces decodes to.
fn decoded<'a>(
    name: &'static str,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<u8>, Undecoded> {
    let mut decoder = Decoder::new(name)?;
    let mut out = Vec::new();
    for piece in pieces {
        decoder.handle(piece, &mut |plain| {
            assert!(plain.len() <= PIECE_BYTES);
            out.extend_from_slice(plain);
            Ok(())
        })?;
    }
    assert_eq!(decoder.finish()?, out.len() as u64);
    Ok(out)
}

#[test]
fn a_body_decodes_to_the_same_whole_and_byte_by_byte() {
    for (name, body) in all() {
        assert_eq!(decoded(name, [&body[..]]).unwrap(), TEXT.as_bytes(), "{name}");
        assert_eq!(decoded(name, body.chunks(1)).unwrap(), TEXT.as_bytes(), "{name}");
    }
    // Beyond the pieces that are decoded at a time, and beyond blocks.
    let long: Vec<u8> = (0u32..100_000).flat_map(|n| n.to_string().into_bytes()).collect();
    let zstd =
        ruzstd::encoding::compress_to_vec(&long[..], ruzstd::encoding::CompressionLevel::Fastest);
    let long_ones = [
        ("gzip", gzip(&long)),
        ("deflate", zlib(&long)),
        ("deflate", deflate(&long)),
        ("zstd", zstd),
    ];
    for (name, body) in long_ones {
        assert_eq!(decoded(name, [&body[..]]).unwrap(), long, "{name}");
        assert_eq!(decoded(name, body.chunks(7)).unwrap(), long, "{name}");
    }
}

#[test]
fn members_and_frames_follow_each_other() {
    for (name, body) in all() {
        let twice = [&body[..], &body[..]].concat();
        let expected = match name {
            "br" | "deflate" => Err(Undecoded::Trailing(name)),
            _ => Ok(TEXT.repeat(2).into_bytes()),
        };
        assert_eq!(decoded(name, [&twice[..]]), expected);
        assert_eq!(decoded(name, twice.chunks(1)), expected);
    }
    let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3], &bytes(ZSTD_HEX)[..]].concat();
    assert_eq!(decoded("zstd", skipped.chunks(1)).unwrap(), TEXT.as_bytes());
}

#[test]
fn a_gzip_header_has_a_name_a_comment_and_more() {
    let plain = gzip(TEXT.as_bytes());
    let mut body = plain[..10].to_vec();
    body[3] = 4 | 8 | 16 | 2;
    body.extend_from_slice(b"\x03\x00abcname\0comment\0\x00\x00");
    body.extend_from_slice(&plain[10..]);
    assert_eq!(decoded("gzip", body.chunks(1)).unwrap(), TEXT.as_bytes());
    let mut endless = plain[..10].to_vec();
    endless[3] = 8;
    endless.resize(MOST_GZIP_HEAD_BYTES + 1, b'x');
    assert_eq!(decoded("gzip", endless.chunks(100)), Err(Undecoded::Damaged("gzip")));
}

#[test]
fn what_ends_early_and_what_goes_on_have_names() {
    for (name, body) in all() {
        for end in 1..body.len() {
            let cut = decoded(name, [&body[..end]]);
            assert_eq!(cut, Err(Undecoded::Truncated(name)), "{end} bytes of {name}");
        }
        let longer = [&body[..], b"<html>"].concat();
        assert_eq!(decoded(name, [&longer[..]]), Err(Undecoded::Trailing(name)));
        assert_eq!(decoded(name, longer.chunks(1)), Err(Undecoded::Trailing(name)));
        assert_eq!(decoded(name, [&b"\xffhtml"[..]]), Err(Undecoded::Damaged(name)));
    }
    // The checksum is wrong, and nothing else.
    for (name, at) in [("gzip", 8), ("gzip", 1), ("deflate", 1), ("zstd", 1)] {
        let (_, mut body) = all().into_iter().find(|(one, _)| *one == name).unwrap();
        let at = body.len() - at;
        body[at] ^= 1;
        assert_eq!(decoded(name, [&body[..]]), Err(Undecoded::Damaged(name)));
    }
}

/// 100 kB of zstd that are 3.3 GB of zeros: blocks that repeat a byte.
fn zstd_bomb() -> Vec<u8> {
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x50];
    let block = (128u32 << 10 << 3) | 1 << 1;
    for _ in 0..25_000 {
        bomb.extend_from_slice(&block.to_le_bytes()[..3]);
        bomb.push(0);
    }
    bomb
}

#[test]
fn a_bomb_is_given_up_at_once() {
    let zeros = vec![0; 64 << 20];
    let (gzipped, raw) = (gzip(&zeros), deflate(&zeros));
    let bombs = [
        ("gzip", gzipped),
        ("deflate", raw),
        ("br", bytes(BROTLI_ZEROS_HEX)),
        ("zstd", zstd_bomb()),
    ];
    for (name, bomb) in bombs {
        let mut decoder = Decoder::new(name).unwrap();
        let mut came = 0;
        let outcome = bomb.chunks(1 << 10).try_for_each(|piece| {
            decoder.handle(piece, &mut |plain| {
                came += plain.len();
                Ok(())
            })
        });
        assert_eq!(outcome, Err(Undecoded::Ratio), "{name}");
        // A decoder of zstd keeps its window back.
        assert!(came <= 2 << 20, "{name}: {came}");
    }
    let wide = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x78, 1, 0, 0];
    assert_eq!(decoded("zstd", [&wide[..]]), Err(Undecoded::Window));
}

#[test]
fn damaged_bodies_end_in_a_name() {
    for (name, body) in all() {
        for at in 0..body.len() {
            for bit in 0..8 {
                let mut damaged = body.clone();
                damaged[at] ^= 1 << bit;
                let whole = decoded(name, [&damaged[..]]);
                assert_eq!(decoded(name, damaged.chunks(1)), whole, "{name}, byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn names_are_those_of_one_coding() {
    let name = |values: &[&str]| super::name(values.iter().map(|one| one.as_bytes()));
    assert_eq!(name(&[]), None);
    assert_eq!(name(&["", "identity"]), None);
    assert_eq!(name(&["GZip"]), Some("gzip"));
    assert_eq!(name(&[" br ,identity"]), Some("br"));
    assert_eq!(name(&["gzip", "br"]), Some("of several"));
    assert_eq!(name(&["rot13"]), Some("of another kind"));
    for other in ["compress", "of several", "of another kind"] {
        assert_eq!(Decoder::new(other).unwrap_err(), Undecoded::Unasked(other));
    }
}
