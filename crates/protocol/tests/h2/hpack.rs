//! Header compression against RFC 7541's examples and against other encoders' output.

use candor_protocol::h2::hpack::{Decoder, Encoder, Error, Fields};

use proptest::prelude::*;

type List = Vec<(Vec<u8>, Vec<u8>)>;

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<List, Error> {
    let mut list = List::new();
    decoder.decode(block, |name, value| list.push((name.to_vec(), value.to_vec())))?;
    Ok(list)
}

fn list(fields: &[(&str, &str)]) -> List {
    fields.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// RFC 7541 C.2: one field each.
#[test]
fn the_examples_of_7541_c_2() {
    for (block, field) in [
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            ("custom-key", "custom-header"),
        ),
        ("040c 2f73 616d 706c 652f 7061 7468", (":path", "/sample/path")),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", ("password", "secret")),
        ("82", (":method", "GET")),
    ] {
        assert_eq!(decode(&mut Decoder::default(), &bytes(block)), Ok(list(&[field])));
    }
}

/// RFC 7541 C.3 (plain) and C.4 (Huffman): requests that share a table.
#[test]
fn the_examples_of_7541_c_3_and_c_4() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let huffman = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    let host = (":authority", "www.example.com");
    let expected = [
        list(&[(":method", "GET"), (":scheme", "http"), (":path", "/"), host]),
        list(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            host,
            ("cache-control", "no-cache"),
        ]),
        list(&[
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/index.html"),
            host,
            ("custom-key", "custom-value"),
        ]),
    ];
    for blocks in [plain, huffman] {
        let mut decoder = Decoder::default();
        for (block, expected) in blocks.iter().zip(&expected) {
            assert_eq!(decode(&mut decoder, &bytes(block)).as_ref(), Ok(expected));
        }
    }
}

/// RFC 7541 C.5 (plain) and C.6 (Huffman): answers with evictions from a table of 256 bytes.
#[test]
fn the_examples_of_7541_c_5_and_c_6() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
         2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70
         6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d
         54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049
         5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e
         3d31",
    ];
    let huffman = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
         77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f
         9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    let date = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
    let location = ("location", "https://www.example.com");
    let private = ("cache-control", "private");
    let expected = [
        list(&[(":status", "302"), private, date, location]),
        list(&[(":status", "307"), private, date, location]),
        list(&[
            (":status", "200"),
            private,
            ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
            location,
            ("content-encoding", "gzip"),
            ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
        ]),
    ];
    for blocks in [plain, huffman] {
        let mut decoder = Decoder::default();
        // Size update to 256: 0x3f and 225.
        assert_eq!(decode(&mut decoder, &[0x3f, 0xe1, 0x01]), Ok(vec![]));
        for (block, expected) in blocks.iter().zip(&expected) {
            assert_eq!(decode(&mut decoder, &bytes(block)).as_ref(), Ok(expected));
        }
    }
}

/// Stories of other encoders' making; CANDOR_HPACK_STORIES names a folder with more of them.
#[test]
fn every_story_is_read_in_order_and_written_back() {
    let mut folders = vec![format!("{}/tests/h2/data", env!("CARGO_MANIFEST_DIR"))];
    folders.extend(std::env::var("CANDOR_HPACK_STORIES"));
    let (mut stories, mut blocks) = (0, 0);
    for folder in folders {
        for encoder in std::fs::read_dir(&folder).unwrap() {
            let encoder = encoder.unwrap().path();
            if !encoder.is_dir() {
                continue;
            }
            for story in std::fs::read_dir(encoder).unwrap() {
                let path = story.unwrap().path();
                blocks += read_story(&path);
                stories += 1;
            }
        }
    }
    assert!(stories >= 6 && blocks > 100);
}

fn read_story(path: &std::path::Path) -> usize {
    let story: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut decoder = Decoder::default();
    let (mut encoder, mut back) = (Encoder::default(), Decoder::default());
    let cases = story["cases"].as_array().unwrap();
    for case in cases {
        let expected: List = case["headers"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|field| field.as_object().unwrap())
            .map(|(name, value)| (name.clone().into(), value.as_str().unwrap().into()))
            .collect();
        if let Some(size) = case["header_table_size"].as_u64() {
            decoder.set_limit(size as u32);
            encoder.set_limit(size as u32);
        }
        if let Some(wire) = case["wire"].as_str() {
            let got = decode(&mut decoder, &bytes(wire));
            assert_eq!(got.as_ref(), Ok(&expected), "{path:?}, {}", case["seqno"]);
        }
        let mut fields = Fields::default();
        for (name, value) in &expected {
            fields.push(name, value);
        }
        // Three times: as literals, entering the table, from the table.
        for _ in 0..3 {
            let mut block = Vec::new();
            encoder.encode(&fields, &mut block);
            assert_eq!(decode(&mut back, &block).as_ref(), Ok(&expected), "{path:?}");
        }
    }
    cases.len()
}

#[test]
fn a_lowered_limit_must_be_taken_up_7541_4_2() {
    let mut decoder = Decoder::default();
    decoder.set_limit(100);
    assert_eq!(decode(&mut decoder, &[0x88]), Err(Error::TableSizeMissing));
    let mut decoder = Decoder::default();
    decoder.set_limit(100);
    assert_eq!(decode(&mut decoder, &[0x3f, 0x45, 0x88]), Ok(list(&[(":status", "200")])));
    assert_eq!(decode(&mut decoder, &[0x3f, 0x46, 0x88]), Err(Error::TableSize));
}

#[test]
fn the_encoder_keeps_to_the_peers_limit_and_says_so() {
    let mut fields = Fields::default();
    fields.push(b"x-name", b"value");
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    let mut encode = |encoder: &mut Encoder| {
        let mut block = Vec::new();
        let stable = encoder.encode(&fields, &mut block);
        assert_eq!(decode(&mut decoder, &block), Ok(list(&[("x-name", "value")])));
        (block, stable)
    };
    let literal = encode(&mut encoder);
    assert!(!literal.1);
    assert_eq!(encode(&mut encoder).0[0], 0x40);
    assert_eq!(encode(&mut encoder), (vec![0xbe], true));
    // Down to nothing and up again: what was in the table is gone.
    encoder.set_limit(0);
    encoder.set_limit(5000);
    assert_eq!(encode(&mut encoder).0[..4], [0x20, 0x3f, 0xe1, 0x1f]);
    assert_eq!(encode(&mut encoder), (vec![0xbe], true));
    // No room for it.
    encoder.set_limit(40);
    assert_eq!(encode(&mut encoder).0[..2], [0x20, 0x3f]);
    assert_eq!(encode(&mut encoder), (literal.0, true));
}

proptest! {
    /// Repeating a block is the same as decoding it again, whatever comes before and after.
    #[test]
    fn a_repeated_block_adds_what_it_added(order in prop::collection::vec((0usize..8, 1usize..150), 1..30)) {
        let huge = [&b"\x40\x01x\x7f\xa1\x1f"[..], &[b'y'; 4128]].concat();
        let blocks: [&[u8]; 8] = [
            b"\x88\x40\x02id\x03abc\x5f\x02ok",
            b"\x88\x0f\x0d\x017",
            b"\x88\x40\x03foo\x03bar",
            b"\xbe",
            b"\xbf\x7e\x01v",
            b"\x3f\x45\x88",
            b"\x3f\xe1\x1f\x88\x40\x01a\x01b",
            &huge,
        ];
        let (mut plain, mut lazy) = (Decoder::default(), Decoder::default());
        for (which, times) in order {
            for time in 0..times {
                let expected = decode(&mut plain, blocks[which]);
                if time > 0 && lazy.stands_alone() && expected.is_ok() {
                    lazy.repeat(blocks[which]);
                } else {
                    prop_assert_eq!(&decode(&mut lazy, blocks[which]), &expected);
                }
                prop_assert!(time > 0 || lazy.stands_alone() == plain.stands_alone());
            }
        }
    }
}
