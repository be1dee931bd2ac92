//! permessage-deflate (RFC 7692): negotiation, the examples of the RFC, and bombs. The peer is flate2 by itself.

use candor_protocol::ws::{Deflate, Error, Kind, Limits, Settings, Unnegotiated};
use candor_protocol::{Event, Failure, Session};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

use crate::support::*;

const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// A server's side.
pub(crate) struct Peer {
    compress: Compress,
    decompress: Decompress,
    forgets: bool,
}

impl Peer {
    pub(crate) fn new(forgets: bool) -> Self {
        let compress = Compress::new(Compression::new(6), false);
        Peer { compress, decompress: Decompress::new(false), forgets }
    }

    /// The content of a compressed message.
    pub(crate) fn inflate(&mut self, payload: &[u8]) -> Vec<u8> {
        if self.forgets {
            self.decompress = Decompress::new(false);
        }
        let input = [payload, &TAIL].concat();
        let mut out = Vec::with_capacity(1 << 20);
        let before = self.decompress.total_in();
        let flush = FlushDecompress::Sync;
        self.decompress.decompress_vec(&input, &mut out, flush).expect("DEFLATE");
        assert_eq!(self.decompress.total_in() - before, input.len() as u64);
        out
    }

    /// The payload of a compressed message.
    pub(crate) fn deflate(&mut self, content: &[u8]) -> Vec<u8> {
        if self.forgets {
            self.compress = Compress::new(Compression::new(6), false);
        }
        let mut out = Vec::with_capacity(content.len() * 2 + 1000);
        self.compress.compress_vec(content, &mut out, FlushCompress::Sync).expect("room");
        out.strip_suffix(&TAIL).expect("a flush").to_vec()
    }

    /// The frames of a compressed message, in fragments of so many bytes; 0: one.
    pub(crate) fn echo(&mut self, opcode: u8, content: &[u8], fragment: usize) -> Vec<u8> {
        let payload = self.deflate(content);
        let fragment = if fragment == 0 { payload.len() } else { fragment };
        fragments(opcode | RSV1, payload.chunks(fragment)).concat()
    }
}

fn settings(deflate: Deflate) -> Settings {
    Settings { deflate: Some(deflate), ..Settings::default() }
}

const AGREED: &str = "Sec-WebSocket-Extensions: permessage-deflate\r\n";

#[test]
fn the_examples_of_7692_7_2_3_are_read() {
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    for frames in [
        // 7.2.3.1: one block; and the same in two fragments.
        vec![frame(FIN | RSV1 | TEXT, &hello)],
        fragments(RSV1 | TEXT, [&hello[..3], &hello[3..]]),
        // 7.2.3.2: the second refers to the first; here after it.
        vec![
            frame(FIN | RSV1 | TEXT, &hello),
            frame(FIN | RSV1 | TEXT, &[0xf2, 0x00, 0x11, 0x00, 0x00]),
        ],
        // 7.2.3.3: without compression.
        vec![frame(
            FIN | RSV1 | TEXT,
            &[0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00],
        )],
        // 7.2.3.4: a final block; with the empty block behind it, and without.
        vec![frame(FIN | RSV1 | TEXT, &[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00])],
        vec![frame(FIN | RSV1 | TEXT, &[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00])],
        // 7.2.3.5: two blocks.
        vec![frame(
            FIN | RSV1 | TEXT,
            &[0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00],
        )],
        // 8 or more messages after one another, compressed and not.
        vec![frame(FIN | TEXT, b"Hello"), frame(FIN | RSV1 | TEXT, &hello)],
    ] {
        let count =
            frames.iter().filter(|frame| frame[0] & 0xf == TEXT && frame[0] & FIN != 0).count();
        let count = count.max(1);
        let table = vec![text("Hello"); count];
        let bytes = frames.concat();
        for piece in [1, 2, bytes.len()] {
            let in_flight = count as u32;
            let settings = Settings { in_flight, ..settings(Deflate::default()) };
            let mut session = open_with(&table, settings, AGREED);
            send_all(&mut session, in_flight);
            let events: Vec<Event> =
                bytes.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
            let done_of = |id| done(id, 5);
            let outcomes: Vec<Event> =
                events.into_iter().filter(|one| matches!(one, Event::Done(_))).collect();
            assert_eq!(outcomes, (0..in_flight).map(done_of).collect::<Vec<_>>(), "{bytes:x?}");
            session.handle_close();
            assert_eq!(payloads(&frames_of(&mut session), CLOSE), [1000u16.to_be_bytes()]);
        }
    }
}

fn frames_of(session: &mut candor_protocol::ws::Session) -> Vec<Frame> {
    frames(&transmit(session))
}

#[test]
fn a_fragment_and_a_control_frame_must_not_say_that_they_are_compressed_7692_6() {
    for wrong in [
        [frame(RSV1 | TEXT, &[0xf2]), frame(FIN | RSV1, &[0x48])].concat(),
        frame(FIN | RSV1 | PING, b""),
        frame(FIN | RSV1 | CLOSE, b""),
    ] {
        let mut session = open_with(&[], settings(Deflate::default()), AGREED);
        assert_eq!(feed(&mut session, &wrong).last(), Some(&broken(Error::ReservedBits)));
    }
    let mut session = open(&[], Settings::default());
    assert_eq!(feed(&mut session, &frame(FIN | RSV1 | TEXT, &[0])), [broken(Error::ReservedBits)]);
}

#[test]
fn the_offer_is_what_was_set() {
    let offer = |deflate| {
        let opening = candor_protocol::ws::Opening::new(&request(), "example", &settings(deflate));
        let setup = candor_protocol::ws::Setup::new([], settings(deflate));
        let mut session = candor_protocol::ws::Session::new(&opening, setup.into(), 1);
        let head = String::from_utf8(transmit(&mut session)).unwrap();
        head.split_once("Extensions: ").unwrap().1.split_once("\r\n").unwrap().0.to_owned()
    };
    assert_eq!(offer(Deflate::default()), "permessage-deflate; client_max_window_bits");
    let all = Deflate {
        client_no_context_takeover: true,
        server_no_context_takeover: true,
        client_max_window_bits: Some(Some(10)),
        server_max_window_bits: Some(9),
        level: 1,
    };
    assert_eq!(
        offer(all),
        "permessage-deflate; client_no_context_takeover; server_no_context_takeover; \
         client_max_window_bits=10; server_max_window_bits=9"
    );
    assert_eq!(
        offer(Deflate { client_max_window_bits: None, ..Deflate::default() }),
        "permessage-deflate"
    );
}

#[test]
fn what_was_not_offered_is_refused_7692_7_1() {
    let strict = Deflate {
        server_no_context_takeover: true,
        client_max_window_bits: Some(Some(10)),
        server_max_window_bits: Some(12),
        ..Deflate::default()
    };
    let closed = Deflate { client_max_window_bits: None, ..Deflate::default() };
    let ok = "permessage-deflate; server_no_context_takeover; server_max_window_bits=12";
    for (deflate, said, error) in [
        (Some(strict), ok, None),
        (
            Some(strict),
            "permessage-deflate;server_no_context_takeover;server_max_window_bits=\"8\" ;client_max_window_bits=10",
            None,
        ),
        (
            Some(strict),
            "permessage-deflate; server_max_window_bits=12",
            Some(Unnegotiated::Missing),
        ),
        (
            Some(strict),
            "permessage-deflate; server_no_context_takeover",
            Some(Unnegotiated::Missing),
        ),
        (
            Some(strict),
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=13",
            Some(Unnegotiated::Value),
        ),
        (Some(strict), "permessage-deflate; client_max_window_bits=11", Some(Unnegotiated::Value)),
        (
            Some(closed),
            "permessage-deflate; client_max_window_bits=10",
            Some(Unnegotiated::Parameter),
        ),
        (Some(closed), "permessage-deflate; client_no_context_takeover", None),
        (Some(closed), "permessage-deflate; server_max_window_bits=7", Some(Unnegotiated::Value)),
        (Some(closed), "permessage-deflate; server_max_window_bits=16", Some(Unnegotiated::Value)),
        (Some(closed), "permessage-deflate; server_max_window_bits=010", Some(Unnegotiated::Value)),
        (Some(closed), "permessage-deflate; server_max_window_bits", Some(Unnegotiated::Value)),
        (
            Some(closed),
            "permessage-deflate; client_no_context_takeover=1",
            Some(Unnegotiated::Value),
        ),
        (Some(closed), "permessage-deflate; mystery", Some(Unnegotiated::Parameter)),
        (
            Some(closed),
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            Some(Unnegotiated::Parameter),
        ),
        (Some(closed), "permessage-deflate, permessage-deflate", Some(Unnegotiated::Twice)),
        (Some(closed), "permessage-bzip2", Some(Unnegotiated::Extension)),
        (Some(closed), "; x", Some(Unnegotiated::Syntax)),
        (None, "permessage-deflate", Some(Unnegotiated::Extension)),
    ] {
        let (mut session, key) = asked(&[], Settings { deflate, ..Settings::default() });
        let lines = format!("Sec-WebSocket-Extensions: {said}\r\n");
        let events = feed(&mut session, switching(&key, &lines).as_bytes());
        let wanted = match error {
            None => READY,
            Some(error) => broken(Error::Extensions(error)),
        };
        assert_eq!(events, [wanted], "{said}");
    }
}

#[test]
fn a_small_window_of_ours_is_kept_to() {
    // A text that repeats after 1000 bytes: with a window of 512 there is nothing to refer to.
    let mut state = 1u64;
    let random: Vec<u8> = (0..1000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let payload = random.repeat(20);
    let length = |bits: u8| {
        let lines = format!(
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits={bits}\r\n"
        );
        let mut session =
            open_with(&[message(Kind::Binary, &payload)], settings(Deflate::default()), &lines);
        let sent = messages(&send_all(&mut session, 1));
        assert_eq!(Peer::new(false).inflate(&sent[0].1), payload);
        sent[0].1.len()
    };
    assert!(length(9) >= payload.len(), "{}", length(9));
    assert!(length(8) >= payload.len());
    assert!(length(15) < 2000, "{}", length(15));
}

#[test]
fn a_bomb_is_named_and_costs_no_memory() {
    // 64 MiB of zeros in 64 KiB.
    let limits = Limits { message_bytes: 1 << 20, ..Limits::default() };
    let mut peer = Peer::new(false);
    let bomb = peer.deflate(&vec![0; 64 << 20]);
    assert!(bomb.len() < 1 << 17, "{}", bomb.len());
    let settings = Settings { limits, ..settings(Deflate::default()) };
    let mut session = open_with(&[], settings, AGREED);
    let bytes = frame(FIN | RSV1 | BINARY, &bomb);
    let events: Vec<Event> = bytes.chunks(1400).flat_map(|part| feed(&mut session, part)).collect();
    assert_eq!(events, [broken(Error::InflatedTooLarge)]);
    assert_eq!(payloads(&frames_of(&mut session), CLOSE), [1009u16.to_be_bytes()]);
}

#[test]
fn what_is_no_deflate_is_named() {
    for wrong in [&[0x06][..], &[0xff; 20], b"Hello"] {
        let mut session = open_with(&[], settings(Deflate::default()), AGREED);
        let events = feed(&mut session, &frame(FIN | RSV1 | BINARY, wrong));
        let failure = Failure::Malformed(Error::Deflate.into());
        assert_eq!(events, [Event::Failed { id: None, failure }], "{wrong:x?}");
        assert_eq!(payloads(&frames_of(&mut session), CLOSE), [1007u16.to_be_bytes()]);
    }
}

#[test]
fn text_is_checked_after_inflating() {
    let mut session = open_with(&[], settings(Deflate::default()), AGREED);
    let payload = Peer::new(false).deflate(b"caf\xe9 au lait");
    assert_eq!(feed(&mut session, &frame(FIN | RSV1 | TEXT, &payload)), [broken(Error::Utf8)]);
}

#[test]
fn an_empty_message_leaves_uncompressed() {
    let mut session = open_with(&[text("")], settings(Deflate::default()), AGREED);
    let sent = send_all(&mut session, 1);
    assert_eq!((sent[0].first, sent[0].payload.len()), (FIN | TEXT, 0));
    // The server's may be an empty block.
    assert_eq!(feed(&mut session, &frame(FIN | RSV1 | TEXT, &[0])), [done(0, 0)]);
}
