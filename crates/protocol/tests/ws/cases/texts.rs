//! Group 6: UTF-8. The sequences are those of Markus Kuhn's UTF-8 decoder stress test.

use candor_protocol::ws::Error;

use super::{Case, Ending};
use crate::support::*;

/// A word in Greek.
const KOSME: &[u8] = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5";

pub(super) fn utf8() -> Vec<Case> {
    let hello = "Hello-µ@ßöäüàá-UTF-8!!".as_bytes();
    let valid = |id, message: &[u8], parts: &[&[u8]]| {
        let script = fragments(TEXT, parts.iter().copied());
        Case::new(id, script, Ending::Open).echoes([message])
    };
    let octets = |message: &'static [u8]| message.chunks(1).collect::<Vec<&[u8]>>();
    let middle = b"middle frame payload";
    let surrogate: &[u8] = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited";
    let beyond: &[u8] = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4\x90\x80\x80edited";
    let fails = |id, script, at| Case::new(id, script, Ending::Failed(Error::Utf8, at));
    // Frames of their own, or one frame in pieces: the header is with the first.
    let in_frames = |cuts: [usize; 2]| {
        let (start, rest) = beyond.split_at(cuts[0]);
        let (middle, last) = rest.split_at(cuts[1] - cuts[0]);
        fragments(TEXT, [start, middle, last])
    };
    let in_pieces = |cuts: [usize; 2]| {
        let frame = frame(FIN | TEXT, beyond);
        vec![
            frame[..2 + cuts[0]].to_vec(),
            frame[2 + cuts[0]..2 + cuts[1]].to_vec(),
            frame[2 + cuts[1]..].to_vec(),
        ]
    };
    let mut cases = vec![
        valid("6.1.1", b"", &[b""]),
        valid("6.1.2", b"", &[b"", b"", b""]),
        valid("6.1.3", middle, &[b"", middle, b""]),
        valid("6.2.1", hello, &[hello]),
        valid("6.2.2", hello, &[&hello[..13], &hello[13..]]),
        valid("6.2.3", hello, &octets(hello)),
        valid("6.2.4", KOSME, &octets(KOSME)),
        fails("6.3.1", vec![frame(FIN | TEXT, surrogate)], 0),
        // With the second byte of the surrogate.
        fails("6.3.2", fragments(TEXT, octets(surrogate)), 12),
        fails("6.4.1", in_frames([11, 15]), 1),
        fails("6.4.2", in_frames([12, 13]), 1),
        fails("6.4.3", in_pieces([11, 15]), 1),
        fails("6.4.4", in_pieces([12, 13]), 1),
    ];
    for (group, sequences) in (5..).zip(sequences()) {
        for (number, (is_valid, text)) in (1..).zip(sequences) {
            let id = format!("6.{group}.{number}");
            let script = vec![frame(FIN | TEXT, &text)];
            cases.push(match is_valid {
                true => Case::new(&id, script, Ending::Open).echoes([&text]),
                false => Case::new(&id, script, Ending::Failed(Error::Utf8, 0)),
            });
        }
    }
    cases
}

type Sequences = Vec<(bool, Vec<u8>)>;

fn all<const N: usize>(is_valid: bool, texts: [&[u8]; N]) -> Sequences {
    texts.iter().map(|text| (is_valid, text.to_vec())).collect()
}

/// The groups 6.5 to 6.23.
fn sequences() -> Vec<Sequences> {
    // Where a prefix ends between two characters.
    let ends = [2, 5, 7, 9, 11];
    let prefixes = (1..=KOSME.len()).map(|end| (ends.contains(&end), KOSME[..end].to_vec()));
    let unexpected: Vec<u8> = (0x80..0xbf).collect();
    let lonely = |from: u8, to: u8| (false, (from..to).flat_map(|byte| [byte, b' ']).collect());
    let missing: [&[u8]; 10] = [
        b"\xc0",
        b"\xe0\x80",
        b"\xf0\x80\x80",
        b"\xf8\x80\x80\x80",
        b"\xfc\x80\x80\x80\x80",
        b"\xdf",
        b"\xef\xbf",
        b"\xf7\xbf\xbf",
        b"\xfb\xbf\xbf\xbf",
        b"\xfd\xbf\xbf\xbf\xbf",
    ];
    let mut characters = all(true, [b"\xef\xbf\xbe", b"\xef\xbf\xbf"]);
    for first in 0xf0..=0xf4 {
        for second in [0x8f, 0x9f, 0xaf, 0xbf] {
            // Overlong, or beyond U+10FFFF.
            if (first, second) == (0xf0, 0x8f) || (first == 0xf4 && second != 0x8f) {
                continue;
            }
            characters.extend([0xbe, 0xbf].map(|last| (true, vec![first, second, 0xbf, last])));
        }
    }
    vec![
        all(
            true,
            [
                b"hello$world",
                b"hello\xc2\xa2world",
                b"hello\xe2\x82\xacworld",
                b"hello\xf0\xa4\xad\xa2world",
                KOSME,
            ],
        ),
        prefixes.collect(),
        all(true, [b"\x00", b"\xc2\x80", b"\xe0\xa0\x80", b"\xf0\x90\x80\x80"]),
        all(false, [b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"]),
        all(true, [b"\x7f", b"\xdf\xbf", b"\xef\xbf\xbf", b"\xf4\x8f\xbf\xbf"]),
        all(false, [b"\xf7\xbf\xbf\xbf", b"\xfb\xbf\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf\xbf"]),
        [
            all(true, [b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xf4\x8f\xbf\xbf"]),
            all(false, [b"\xf4\x90\x80\x80"]),
        ]
        .concat(),
        all(
            false,
            [
                b"\x80",
                b"\xbf",
                b"\x80\xbf",
                b"\x80\xbf\x80",
                b"\x80\xbf\x80\xbf",
                b"\x80\xbf\x80\xbf\x80",
                b"\x80\xbf\x80\xbf\x80\xbf",
                &unexpected,
            ],
        ),
        vec![
            lonely(0xc0, 0xdf),
            lonely(0xe0, 0xef),
            lonely(0xf0, 0xf7),
            lonely(0xf8, 0xfb),
            lonely(0xfc, 0xfd),
        ],
        all(false, missing),
        all(false, [&missing.concat()]),
        all(false, [b"\xfe", b"\xff", b"\xfe\xfe\xff\xff"]),
        all(
            false,
            [
                b"\xc0\xaf",
                b"\xe0\x80\xaf",
                b"\xf0\x80\x80\xaf",
                b"\xf8\x80\x80\x80\xaf",
                b"\xfc\x80\x80\x80\x80\xaf",
            ],
        ),
        all(
            false,
            [
                b"\xc1\xbf",
                b"\xe0\x9f\xbf",
                b"\xf0\x8f\xbf\xbf",
                b"\xf8\x87\xbf\xbf\xbf",
                b"\xfc\x83\xbf\xbf\xbf\xbf",
            ],
        ),
        all(
            false,
            [
                b"\xc0\x80",
                b"\xe0\x80\x80",
                b"\xf0\x80\x80\x80",
                b"\xf8\x80\x80\x80\x80",
                b"\xfc\x80\x80\x80\x80\x80",
            ],
        ),
        all(
            false,
            [
                b"\xed\xa0\x80",
                b"\xed\xad\xbf",
                b"\xed\xae\x80",
                b"\xed\xaf\xbf",
                b"\xed\xb0\x80",
                b"\xed\xbe\x80",
                b"\xed\xbf\xbf",
            ],
        ),
        all(
            false,
            [
                b"\xed\xa0\x80\xed\xb0\x80",
                b"\xed\xa0\x80\xed\xbf\xbf",
                b"\xed\xad\xbf\xed\xb0\x80",
                b"\xed\xad\xbf\xed\xbf\xbf",
                b"\xed\xae\x80\xed\xb0\x80",
                b"\xed\xae\x80\xed\xbf\xbf",
                b"\xed\xaf\xbf\xed\xb0\x80",
                b"\xed\xaf\xbf\xed\xbf\xbf",
            ],
        ),
        characters,
        all(
            true,
            [
                b"\xef\xbf\xb9",
                b"\xef\xbf\xba",
                b"\xef\xbf\xbb",
                b"\xef\xbf\xbc",
                b"\xef\xbf\xbd",
                b"\xef\xbf\xbe",
                b"\xef\xbf\xbf",
            ],
        ),
    ]
}
