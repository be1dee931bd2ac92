//! The examples of RFC 6455, to the byte, and masks.

use candor_protocol::ws::{Kind, Masks, Settings, accept_of, mask};
use candor_protocol::{Event, Outgoing, Session as _};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::*;

#[test]
fn accept_of_6455_1_3() {
    assert_eq!(accept_of(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[test]
fn a_masked_text_of_6455_5_7() {
    let mut payload = *b"Hello";
    mask([0x37, 0xfa, 0x21, 0x3d], &mut payload);
    assert_eq!(payload, [0x7f, 0x9f, 0x4d, 0x51, 0x58]);
}

#[test]
fn frames_of_a_server_of_6455_5_7() {
    let unmasked_text = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    let fragmented = [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f];
    let ping = [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    let mut binary_256 = vec![0x82, 0x7e, 0x01, 0x00];
    binary_256.extend([7; 256]);
    let mut binary_64k = vec![0x82, 0x7f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00];
    binary_64k.extend([7; 65_536]);
    for (bytes, length) in
        [(&unmasked_text[..], 5), (&fragmented, 5), (&binary_256, 256), (&binary_64k, 65_536)]
    {
        let mut session = open(&[], Settings::default());
        assert_eq!(feed(&mut session, bytes), [parts(1, length)]);
    }
    let mut session = open(&[], Settings::default());
    assert_eq!(feed(&mut session, &ping), []);
    let pong = frames(&transmit(&mut session));
    assert_eq!((pong[0].first, &pong[0].payload[..]), (0x8a, &b"Hello"[..]));
}

#[test]
fn frames_of_a_client_have_the_lengths_of_6455_5_2() {
    for (length, header) in [
        (0usize, vec![0x82, 0x80]),
        (125, vec![0x82, 0xfd]),
        (126, vec![0x82, 0xfe, 0x00, 0x7e]),
        (65_535, vec![0x82, 0xfe, 0xff, 0xff]),
        (65_536, vec![0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let mut session = open(&[message(Kind::Binary, &vec![9; length])], Settings::default());
        session.handle_request(0, Outgoing::Listed(0));
        let bytes = transmit(&mut session);
        assert_eq!(bytes[..header.len()], header);
        assert_eq!(bytes.len(), header.len() + 4 + length);
    }
}

/// SplitMix64 in closed form: number n of a seed, without those before it.
fn number(seed: u64, n: u64) -> u64 {
    let z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[test]
fn each_frame_has_a_fresh_mask_in_closed_form() {
    // The first output of the reference implementation for seed 0.
    assert_eq!(Masks::new(0).next_number(), 0xe220_a839_7b1d_cdaf);
    let mut session = open(&[text("x")], Settings { in_flight: 1000, ..Settings::default() });
    for id in 0..1000 {
        session.handle_request(id, Outgoing::Listed(0));
    }
    // The seed is 7, and two numbers are the key.
    let wanted: Vec<[u8; 4]> =
        (3..1003).map(|n| ((number(7, n) >> 32) as u32).to_be_bytes()).collect();
    let got: Vec<[u8; 4]> =
        frames(&transmit(&mut session)).iter().map(|frame| frame.mask).collect();
    assert_eq!(got, wanted);
    let different: std::collections::HashSet<_> = got.iter().collect();
    assert_eq!(different.len(), 1000);
}

#[test]
fn keys_of_different_seeds_differ() {
    let settings = Settings::default();
    let opening = candor_protocol::ws::Opening::new(&request(), "example", &settings);
    let setup = std::sync::Arc::new(candor_protocol::ws::Setup::new([], settings));
    let head = |seed| {
        let mut session = candor_protocol::ws::Session::new(&opening, setup.clone(), seed);
        transmit(&mut session)
    };
    assert_eq!(head(1), head(1));
    assert_ne!(head(1), head(2));
}

proptest! {
    #[test]
    fn masking_is_byte_by_byte_and_its_own_inverse(
        key in any::<[u8; 4]>(),
        payload in vec(any::<u8>(), 0..300),
    ) {
        let mut masked = payload.clone();
        mask(key, &mut masked);
        let wanted: Vec<u8> =
            payload.iter().zip(key.iter().cycle()).map(|(byte, with)| byte ^ with).collect();
        prop_assert_eq!(&masked, &wanted);
        mask(key, &mut masked);
        prop_assert_eq!(masked, payload);
    }
}

#[test]
fn first_bytes_are_told_where_a_message_is_cut() {
    let mut session = open(&[text("Hello")], Settings::default());
    send_all(&mut session, 1);
    let bytes = frame(FIN | TEXT, b"Hello");
    let told: Vec<Vec<Event>> = bytes.chunks(1).map(|part| feed(&mut session, part)).collect();
    assert_eq!(told[0], []);
    assert_eq!(told[1], [Event::FirstByte(0)]);
    assert_eq!(told[6], [done(0, 5)]);
    assert!(told[2..6].iter().all(Vec::is_empty));
}
