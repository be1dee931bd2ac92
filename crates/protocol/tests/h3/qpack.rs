//! Header compression against RFC 9204's examples and against the output of ls-qpack.

use candor_protocol::h3::qpack::{Block, Decoder, Error, Section};
use proptest::prelude::*;

type List = Vec<(Vec<u8>, Vec<u8>)>;

const ACKNOWLEDGED: Section = Section::Read { acknowledge: true };
const PLAIN: Section = Section::Read { acknowledge: false };

fn decode(decoder: &mut Decoder, section: &[u8]) -> Result<(Section, List), Error> {
    let mut list = List::new();
    let read = decoder.decode(section, |name, value| list.push((name.to_vec(), value.to_vec())))?;
    Ok((read, list))
}

fn list(fields: &[(&str, &str)]) -> List {
    fields.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

/// What the encoder's stream of RFC 9204 appendix B says, step by step.
const SAID: [&str; 4] = [
    "3fbd 01c0 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d c10c 2f73 616d 706c 652f 7061 7468",
    "4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565",
    "02",
    "810d 6375 7374 6f6d 2d76 616c 7565 32",
];
const HOST: (&str, &str) = (":authority", "www.example.com");

/// RFC 9204 B, with the stream of instructions in pieces of `cut` bytes.
fn the_examples_of_9204_b(cut: usize) {
    let mut decoder = Decoder::new(220);
    let say = |decoder: &mut Decoder, step: usize| {
        bytes(SAID[step]).chunks(cut).for_each(|part| decoder.handle_instructions(part).unwrap());
        decoder.take_untold()
    };
    let first = bytes("0000 510b 2f69 6e64 6578 2e68 746d 6c");
    let read = decode(&mut decoder, &first);
    assert_eq!(read, Ok((PLAIN, list(&[(":path", "/index.html")]))));
    let second = bytes("0381 1011");
    assert_eq!(decode(&mut decoder, &second), Ok((Section::Waits, vec![])));
    assert_eq!(say(&mut decoder, 0), 2);
    let fields = list(&[HOST, (":path", "/sample/path")]);
    assert_eq!(decode(&mut decoder, &second), Ok((ACKNOWLEDGED, fields)));
    assert_eq!(say(&mut decoder, 1), 1);
    let third = bytes("0500 80c1 81");
    assert_eq!(decode(&mut decoder, &third), Ok((Section::Waits, vec![])));
    assert_eq!(say(&mut decoder, 2), 1);
    let fields = list(&[HOST, (":path", "/"), ("custom-key", "custom-value")]);
    assert_eq!(decode(&mut decoder, &third), Ok((ACKNOWLEDGED, fields)));
    let generation = decoder.generation();
    assert_eq!(say(&mut decoder, 3), 1);
    assert_ne!(decoder.generation(), generation);
    // The first entry was evicted.
    assert_eq!(decode(&mut decoder, &bytes("0381 10")), Err(Error::Index));
    let newest = list(&[("custom-key", "custom-value2")]);
    assert_eq!(decode(&mut decoder, &bytes("0600 80")), Ok((ACKNOWLEDGED, newest)));
}

#[test]
fn the_examples_of_9204_b_whole_and_byte_by_byte() {
    [1, 2, 7, 1000].into_iter().for_each(the_examples_of_9204_b);
}

#[test]
fn ls_qpack_is_understood_whole_and_byte_by_byte() {
    let text = include_str!("data/ls-qpack.txt");
    for cut in [1, 3, usize::MAX] {
        let mut decoder = Decoder::new(0);
        let (mut expected, mut read, mut acknowledged) = (List::new(), List::new(), 0);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (what, rest) = line.split_once(' ').unwrap();
            if what == "field" {
                let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                expected.push((bytes(name), bytes(value)));
                continue;
            }
            assert_eq!(read, expected, "before {line}");
            match what {
                "table" => decoder = Decoder::new(rest.parse().unwrap()),
                "say" => {
                    let said = bytes(rest);
                    let parts = said.chunks(cut.min(said.len()));
                    parts.for_each(|part| decoder.handle_instructions(part).unwrap());
                }
                _ => {
                    let (section, all) =
                        decode(&mut decoder, &bytes(rest.split_once(' ').unwrap().1)).unwrap();
                    acknowledged += u32::from(section == ACKNOWLEDGED);
                    (read, expected) = (all, List::new());
                }
            }
        }
        assert_eq!(read, expected);
        assert!(acknowledged > 10, "{acknowledged}");
    }
}

#[test]
fn what_is_not_a_section_is_refused() {
    for (section, error) in [
        ("", Error::Integer),
        ("00", Error::Integer),
        ("00ff", Error::Integer),
        ("0100", Error::Prefix),
        ("0000 ff24", Error::Index),
        ("0000 80", Error::Index),
        ("0000 10", Error::Index),
        ("0000 5f", Error::Integer),
        ("0000 5105 61", Error::String),
        ("0000 5182 ffff", Error::Huffman),
        ("0080", Error::Prefix),
    ] {
        assert_eq!(decode(&mut Decoder::new(0), &bytes(section)), Err(error), "{section}");
    }
    // An insert count beyond what the limit of the table can have.
    assert_eq!(decode(&mut Decoder::new(64), &bytes("0500")), Err(Error::Prefix));
    assert_eq!(decode(&mut Decoder::new(64), &bytes("0400")), Err(Error::Prefix));
}

#[test]
fn what_is_not_an_instruction_is_refused() {
    let table = [
        ("3f e2 01", Error::Capacity),
        ("3f ff ff ff ff ff", Error::Instruction),
        ("3f 45 80", Error::Instruction),
        ("3f 45 00", Error::Instruction),
        ("c0 01 61", Error::Capacity),
        ("3f 02 c0 17 6161 6161 6161 6161 6161 6161 6161 6161 6161 6161 6161 61", Error::Capacity),
        ("3f 45 ff 24 00", Error::Instruction),
        ("3f 45 c0 82 ff ff", Error::Instruction),
    ];
    for (said, error) in table {
        let mut decoder = Decoder::new(256);
        let all = bytes(said);
        let whole = decoder.handle_instructions(&all);
        let mut decoder = Decoder::new(256);
        let each = all.iter().try_for_each(|byte| decoder.handle_instructions(&[*byte]));
        assert_eq!(each, whole, "{said}");
        assert_eq!(whole, Err(error), "{said}");
    }
    // What is longer than any entry is not waited for.
    let mut decoder = Decoder::new(256);
    assert_eq!(decoder.handle_instructions(&bytes("5f ff 7f")), Ok(()));
    assert_eq!(decoder.handle_instructions(&[0x61; 900]), Ok(()));
    assert_eq!(decoder.handle_instructions(&[0x61; 900]), Err(Error::Instruction));
}

#[test]
fn a_request_refers_to_the_static_table_and_marks_secrets() {
    let mut block = Block::default();
    for (name, value) in [
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/"),
        ("accept", "text/x"),
        ("x-y", "z"),
        ("authorization", "ab"),
        ("cookie", "a=b"),
    ] {
        block.push(name.as_bytes(), value.as_bytes());
    }
    // As ls-qpack writes it, but for the marks of both secrets.
    let expected = "0000 d1d7c1 5f0e85497ca58f3f 23782d79017a 7f45026162 7503613d62";
    assert_eq!(block.bytes(), bytes(expected));
    block.clear();
    assert_eq!(block, Block::default());
}

proptest! {
    /// What is encoded reads back.
    #[test]
    fn fields_read_back(
        fields in prop::collection::vec(
            (prop::sample::select(vec![":path", "accept", "cookie", "x-any", ":status"]), "[ -~]{0,40}"),
            0..10,
        ),
    ) {
        let mut block = Block::default();
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        fields.iter().for_each(|(name, value)| block.push(name.as_bytes(), value.as_bytes()));
        let read = decode(&mut Decoder::new(4096), block.bytes());
        prop_assert_eq!(read, Ok((PLAIN, list(&fields))));
    }

    /// Any bytes: no panic, and pieces of instructions are as the whole.
    #[test]
    fn any_bytes_are_read_or_refused(
        said in prop::collection::vec(any::<u8>(), 0..60),
        section in prop::collection::vec(any::<u8>(), 0..40),
        cut in 1usize..20,
    ) {
        let (mut whole, mut cut_up) = (Decoder::new(256), Decoder::new(256));
        let one = whole.handle_instructions(&said);
        let many = said.chunks(cut).try_for_each(|part| cut_up.handle_instructions(part));
        prop_assert_eq!(&one, &many);
        if one.is_ok() {
            prop_assert_eq!(decode(&mut whole, &section), decode(&mut cut_up, &section));
        }
    }
}
