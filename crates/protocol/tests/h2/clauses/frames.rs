//! The form of frames, and blocks in several of them (RFC 9113 4, 6).

use candor_protocol::h2::{Error, Settings, hpack};
use candor_protocol::{Event, Outgoing, Session as _};

use crate::support::*;

#[test]
fn frames_of_wrong_form_are_refused() {
    for (bytes, error) in [
        (frame(DATA, 0, 0, b"x"), Error::FrameStream),
        (frame(HEADERS, END_HEADERS, 0, OK), Error::FrameStream),
        (frame(PRIORITY, 0, 0, &[0; 5]), Error::FrameStream),
        (frame(PRIORITY, 0, 7, &[0; 4]), Error::FrameSize),
        (frame(RST_STREAM, 0, 0, &[0; 4]), Error::FrameStream),
        (frame(RST_STREAM, 0, 1, &[0; 3]), Error::FrameSize),
        (frame(PING, 0, 1, &[0; 8]), Error::FrameStream),
        (frame(PING, 0, 0, &[0; 7]), Error::FrameSize),
        (frame(GOAWAY, 0, 1, &[0; 8]), Error::FrameStream),
        (frame(GOAWAY, 0, 0, &[0; 7]), Error::FrameSize),
        (frame(WINDOW_UPDATE, 0, 1, &[0; 3]), Error::FrameSize),
        (frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x88]), Error::Push),
        (frame(CONTINUATION, END_HEADERS, 1, OK), Error::Continuation),
        (frame(DATA, 0, 1, &[0; 16_385]), Error::FrameSize),
        (frame(HEADERS, PADDED, 1, &[1, 0x88][..1]), Error::Padding),
        (frame(HEADERS, WITH_PRIORITY, 1, &[0; 4]), Error::FrameSize),
        (headers(1, &[0xff]), Error::Hpack(hpack::Error::Integer)),
        (headers(1, &[0xbe]), Error::Hpack(hpack::Error::Index)),
        (headers(1, &[0x80]), Error::Hpack(hpack::Error::Index)),
        (headers(1, &[0x88, 0x20]), Error::Hpack(hpack::Error::TableSize)),
        (headers(1, &[0x3f, 0xe2, 0x1f]), Error::Hpack(hpack::Error::TableSize)),
    ] {
        assert_broken(&mut started(1), &bytes, error);
    }
    let padded = [headers(1, OK), frame(DATA, PADDED, 1, &[1, b'x'])].concat();
    assert_eq!(feed(&mut started(1), &padded), [Event::FirstByte(0)]);
    let padded = [headers(1, OK), frame(DATA, PADDED, 1, &[2, b'x'])].concat();
    assert_broken(&mut started(1), &padded, Error::Padding);
    assert_refused(&mut started(1), &frame(PRIORITY, 0, 1, &[0; 4]), 0, Error::PriorityLength);
}

#[test]
fn unknown_frames_and_priorities_are_ignored() {
    let mut session = started(1);
    let input = [
        frame(0x42, 0xff, 9, &[1; 1000]),
        frame(0xff, 0, 0, b""),
        frame(PRIORITY, 0, 9, &[0; 5]),
        frame(PING, ACK, 0, &[0; 8]),
        frame(
            HEADERS,
            END_HEADERS | END_STREAM | PADDED | WITH_PRIORITY,
            1,
            &[2, 0, 0, 0, 3, 9, 0x88, 0, 0],
        ),
    ];
    assert_eq!(feed(&mut session, &input.concat()), answered(0, 200, 0));
    assert_eq!(transmit(&mut session), b"");
}

#[test]
fn a_header_block_may_be_cut_anywhere_and_nothing_may_come_between_6_10() {
    let block = [OK, &literal("server", "x")[..]].concat();
    for first in 0..=block.len() {
        for second in first..=block.len() {
            let input = [
                frame(HEADERS, END_STREAM, 1, &block[..first]),
                frame(CONTINUATION, 0, 1, &block[first..second]),
                frame(CONTINUATION, END_HEADERS, 1, &block[second..]),
            ];
            assert_eq!(feed(&mut started(1), &input.concat()), answered(0, 200, 0));
        }
    }
    for between in [
        frame(PING, 0, 0, &[0; 8]),
        data(1, b""),
        frame(0x42, 0, 0, b""),
        frame(CONTINUATION, END_HEADERS, 3, OK),
        headers(1, OK),
    ] {
        let input = [frame(HEADERS, 0, 1, b""), between].concat();
        assert_broken(&mut started(2), &input, Error::Continuation);
    }
}

#[test]
fn a_large_request_goes_on_in_continuation_frames() {
    let long = "!".repeat(20_000);
    let request = plan_request("GET", &[("x-long", &long)], b"");
    let requests = [candor_protocol::h2::prepare(&request, "http", "example")];
    let mut session = ready_with(&requests, Settings::default());
    session.handle_request(0, Outgoing::Listed(0));
    let frames = frames(&transmit(&mut session));
    assert_eq!(frames.iter().map(|f| f.kind).collect::<Vec<_>>(), [HEADERS, CONTINUATION]);
    assert_eq!(frames.iter().map(|f| f.flags).collect::<Vec<_>>(), [END_STREAM, END_HEADERS]);
    let block: Vec<u8> = frames.iter().flat_map(|frame| frame.payload.clone()).collect();
    let mut last = Vec::new();
    let take = |_: &[u8], value: &[u8]| last = value.to_vec();
    hpack::Decoder::default().decode(&block, take).unwrap();
    assert_eq!(last, long.as_bytes());
}

#[test]
fn a_tunnel_is_not_asked_for_more_8_5() {
    let mut session = ready_with(&[prepared("CONNECT", b"")], Settings::default());
    session.handle_request(0, Outgoing::Listed(0));
    transmit(&mut session);
    assert_eq!(feed(&mut session, &headers(1, OK)), answered(0, 200, 0));
    assert_eq!(payload_of(&frames(&transmit(&mut session)), RST_STREAM), [8u32.to_be_bytes()]);
    assert_eq!(feed(&mut session, &data(1, b"tunnelled")), []);
}
