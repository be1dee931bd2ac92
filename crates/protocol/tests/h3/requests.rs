//! Requests and their responses: times, bodies both ways, streams, made requests.

use candor_plan::{BodyExpect, Expect, StatusSet};
use candor_protocol::h3::{Error, Settings};
use candor_protocol::made::Batch;
use candor_protocol::{Abilities, Event, Failure, Outgoing, Session as _, h2};
use proptest::prelude::*;

use crate::support::*;

#[test]
fn a_handshake_takes_a_round_trip_and_a_response_another() {
    let mut pair = Pair::of_gets(1, |_, _| Some(ok(b"alive")));
    assert_eq!(pair.client.free_places(), 0);
    pair.run_for(2 * LATENCY_NS);
    let ready = Event::Ready(Abilities { multiplexes: true, takes_made: true });
    let [(secured_ns, Event::Secured(facts)), (ready_ns, said)] = &pair.events[..] else {
        panic!("{:?}", pair.events);
    };
    assert_eq!((*secured_ns, *ready_ns, said), (2 * LATENCY_NS, 2 * LATENCY_NS, &ready));
    assert_eq!((&*facts.alpn, &*facts.version, facts.resumed), ("h3", "TLSv1.3", false));
    assert!(facts.cipher.contains("AES") && !facts.group.is_empty(), "{facts:?}");
    pair.events.clear();
    pair.run_for(30 * MS);
    assert_eq!(pair.take_events(), []);
    assert_eq!(pair.client.free_places(), 1);
    let sent_ns = pair.now_ns;
    pair.request([7]);
    assert_eq!(pair.client.free_places(), 0);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.started, [(sent_ns, 7)]);
    assert_eq!(pair.events, [(sent_ns + 2 * LATENCY_NS, done(7, 200, 5))]);
    assert_eq!((pair.server.requests, pair.client.free_places()), (1, 1));
}

#[test]
fn many_requests_share_a_connection_and_each_leaves_once_whatever_is_lost() {
    for (seed, every) in [(1, u64::MAX), (2, 9), (3, 5)] {
        let mut pair = Pair::of_gets(20, |_, _| Some(ok(&[7; 3000]))).ready();
        pair.loses = Box::new(move |n| n % every == seed);
        let (mut next, mut ended) = (0, Vec::new());
        while ended.len() < 200 {
            let places = pair.client.free_places().min(200 - next);
            pair.request(next..next + places);
            next += places;
            pair.run_for(LATENCY_NS);
            for event in pair.take_events() {
                match event {
                    // What was lost of them is there at once: more streams, parts of responses.
                    Event::FirstByte(_) | Event::Changed => {}
                    Event::Done(answer) => {
                        assert_eq!((answer.body_bytes, answer.expected), (3000, Ok(())));
                        ended.push(answer.id);
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert!(pair.now_ns < 1_000_000 * MS, "{} of 200", ended.len());
        }
        let mut started: Vec<u32> = pair.started.iter().map(|(_, id)| *id).collect();
        started.sort_unstable();
        ended.sort_unstable();
        assert!(started.iter().copied().eq(0..200), "{started:?}");
        assert_eq!((ended, pair.server.requests), (started, 200));
    }
}

#[test]
fn a_request_that_has_to_wait_for_the_window_is_not_sent() {
    // The first flight of a connection has room for ten datagrams or so; no body comes before its request.
    let body = shared(100_000);
    let request = plan_request("POST", &[], &body);
    let settings = Settings { streams: 3, ..Settings::default() };
    let mut pair = Pair::of(&[request], settings, |_, _| Some(ok(b""))).ready();
    let begin_ns = pair.now_ns;
    pair.request(0..3);
    pair.run_for(30 * LATENCY_NS);
    assert_eq!(pair.started.len(), 3);
    assert_eq!(pair.started[0], (begin_ns, 0));
    assert!(pair.started.iter().all(|(at_ns, _)| *at_ns < pair.events[0].0), "{:?}", pair.started);
    assert_eq!(pair.events.len(), 3, "{:?}", pair.events);
}

#[test]
fn a_body_goes_up_whole_within_the_windows_of_the_server() {
    let body = shared(300_000);
    let request = plan_request("POST", &[("X-Any", "Value")], &body);
    let wanted = body.clone();
    let mut server = candor_testkit::h3::Server::new(
        &["example.com"],
        &["h3"],
        |transport| {
            transport.stream_receive_window(20_000_u32.into()).receive_window(30_000_u32.into());
        },
        move |_, request| {
            // The frame of the fields, and that of the body.
            let body = &request[request.len() - wanted.len()..];
            assert_eq!(body, &wanted[..]);
            Some(ok(b"got it"))
        },
    );
    server.greeting = candor_testkit::h3::SETTINGS.to_vec();
    let session = session(only(&server), &[request], Settings::default());
    let mut pair = Pair::new(session, server).ready();
    pair.request([3]);
    pair.run_for(3_000 * MS);
    assert_eq!(pair.take_events(), [done(3, 200, 6)]);
    assert_eq!(pair.started.len(), 1);
}

#[test]
fn a_response_before_the_end_of_the_body_is_a_response() {
    let request = plan_request("POST", &[], &shared(1 << 20));
    let mut pair = Pair::of(&[request], Settings::default(), |_, _| None).ready();
    pair.request([0]);
    pair.run_for(LATENCY_NS);
    let served = pair.server.connection();
    served.write(0, &ok(b"no"));
    served.finish(0);
    served.stop(0, 0x100);
    pair.run_for(4 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(0, 200, 2)]);
    assert_eq!(pair.client.free_places(), 1);
}

#[test]
fn the_server_says_how_many_streams_there_are() {
    let server = candor_testkit::h3::Server::new(
        &["example.com"],
        &["h3"],
        |transport| {
            transport.max_concurrent_bidi_streams(2_u32.into());
        },
        |_, _| None,
    );
    let settings = Settings { streams: 10, ..Settings::default() };
    let session = session(only(&server), &[plan_request("GET", &[], b"")], settings);
    let mut pair = Pair::new(session, server).ready();
    assert_eq!(pair.client.free_places(), 2);
    pair.request(0..2);
    pair.run_for(LATENCY_NS);
    assert_eq!(pair.client.free_places(), 0);
    pair.server.connection().quic.set_max_concurrent_streams(quinn_proto::Dir::Bi, 5_u32.into());
    let served = pair.server.connection();
    served.write(0, &ok(b""));
    served.finish(0);
    pair.run_for(10 * LATENCY_NS);
    let events = pair.take_events();
    assert!(events.contains(&done(0, 200, 0)) && events.contains(&Event::Changed), "{events:?}");
    assert_eq!(pair.client.free_places(), 4);
}

#[test]
fn interim_responses_trailers_and_unknown_frames_are_passed_over() {
    let bytes = [
        frame(0x21, b"of a type that is not known"),
        frame(HEADERS, &section(&[(":status", "103"), ("link", "</a>")])),
        frame(0x40 - 1, b""),
        frame(HEADERS, &section(&[(":status", "200")])),
        frame(DATA, b"al"),
        frame(DATA, b""),
        frame(0x21, b"again"),
        frame(DATA, b"ive"),
        frame(HEADERS, &section(&[("x-check", "sum")])),
        frame(0x21, b"and again"),
    ]
    .concat();
    let mut pair = Pair::of_gets(1, move |_, _| Some(bytes.clone())).ready();
    pair.request([0]);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(0, 200, 5)]);
}

#[test]
fn responses_without_a_body_have_none() {
    for (method, status, head, events) in [
        ("HEAD", "200", vec![("content-length", "7")], vec![done(0, 200, 0)]),
        ("GET", "204", vec![], vec![done(0, 204, 0)]),
        ("GET", "304", vec![("content-length", "7")], vec![done(0, 304, 0)]),
        (
            "GET",
            "200",
            vec![("content-length", "7")],
            vec![failed(0, refused(h2::Error::ContentLengthDiffers))],
        ),
    ] {
        let fields = [vec![(":status", status)], head].concat();
        let bytes = frame(HEADERS, &section(&fields));
        let answers = move |_: u64, _: &[u8]| Some(bytes.clone());
        let request = plan_request(method, &[], b"");
        let mut pair = Pair::of(&[request], Settings::default(), answers).ready();
        pair.request([0]);
        pair.run_for(2 * LATENCY_NS);
        assert_eq!(pair.take_events(), events, "{method} {status}");
    }
}

fn refused(error: h2::Error) -> Failure {
    Failure::Malformed(Error::Response(error).into())
}

#[test]
fn a_cancelled_request_leaves_the_connection_alone() {
    let mut pair = Pair::of_gets(2, |_, _| None).ready();
    pair.request(0..2);
    pair.run_for(LATENCY_NS);
    assert!(pair.client.cancel(0));
    assert_eq!(pair.client.free_places(), 1);
    let served = pair.server.connection();
    for id in [0, 4] {
        served.write(id, &ok(b"late"));
        served.finish(id);
    }
    pair.run_for(3 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(1, 200, 4)]);
    let given_up = pair.server.connection().given_up.clone();
    assert!(given_up.is_empty() || given_up == [(0, 0x10c)], "{given_up:?}");
    pair.request([2]);
    pair.run_for(LATENCY_NS);
    pair.server.connection().write(8, &ok(b""));
    pair.server.connection().finish(8);
    pair.run_for(LATENCY_NS);
    assert_eq!(pair.take_events(), [done(2, 200, 0)]);
}

#[test]
fn a_request_that_is_taken_back_before_it_left_was_never_sent() {
    let mut pair = Pair::of_gets(2, |_, _| Some(ok(b""))).ready();
    pair.request(0..2);
    assert!(pair.client.cancel(0));
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(1, 200, 0)]);
    assert_eq!(pair.started.iter().map(|(_, id)| *id).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_made_request_is_sent_as_it_was_made() {
    let mut pair = Pair::of_gets(1, |_, request| {
        let expected = section(&[
            (":method", "PUT"),
            (":scheme", "https"),
            (":path", "/b?c"),
            (":authority", "other"),
            ("x-y", "Z"),
            ("content-length", "3"),
        ]);
        assert_eq!(request, [frame(HEADERS, &expected), frame(DATA, b"abc")].concat());
        Some(ok(b""))
    })
    .ready();
    let mut batch = Batch::new(0);
    let text = "PUT /b?c HTTP/1.1\r\nHost: other\r\nConnection: close\r\nX-Y: Z\r\nContent-Length: 3\r\n\r\nabc";
    batch.fill(text.as_bytes()).unwrap();
    pair.client.handle_request(5, Outgoing::Made(batch.take().unwrap()));
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(5, 200, 0)]);
}

#[test]
fn a_response_is_compared_with_the_expected_one() {
    let mut request = plan_request("GET", &[], b"");
    request.expect =
        Expect { status: StatusSet::below_400(), body: BodyExpect::Exact(b"alive"[..].into()) };
    let answers = |id: u64, _: &[u8]| {
        Some(match id {
            0 => ok(b"alive"),
            4 => ok(b"alivE"),
            _ => frame(HEADERS, &section(&[(":status", "503")])),
        })
    };
    let settings = Settings { streams: 3, ..Settings::default() };
    let mut pair = Pair::of(&[request], settings, answers).ready();
    pair.request(0..3);
    pair.run_for(2 * LATENCY_NS);
    let expected: Vec<String> = pair
        .take_events()
        .into_iter()
        .map(|event| match event {
            Event::Done(answer) => format!("{} {:?}", answer.id, answer.expected),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(expected, ["0 Ok(())", "1 Err(Content { offset: 4 })", "2 Err(Status(503))"]);
}

#[test]
fn a_section_may_wait_for_its_instructions_and_what_follows_waits_too() {
    let mut pair = Pair::of_gets(2, |_, _| None).ready();
    pair.request(0..2);
    pair.run_for(LATENCY_NS);
    let served = pair.server.connection();
    // A required insert count of 1; the entry; 200 and a body.
    let section = [0x02, 0x00, 0x80, 0xd9];
    for id in [0, 4] {
        served.write(id, &[frame(HEADERS, &section), frame(DATA, b"alive")].concat());
        served.finish(id);
    }
    let encoder = served.open(&[0x02]);
    pair.run_for(4 * LATENCY_NS);
    assert_eq!(pair.take_events(), []);
    // A table of 100 bytes, and `server: x` in it.
    pair.server.connection().write(encoder, &[0x3f, 0x45, 0xff, 0x1d, 0x01, b'x']);
    pair.run_for(4 * LATENCY_NS);
    let mut events = pair.take_events();
    events.sort_by_key(|event| format!("{event:?}"));
    // `server` before `:status` is wrong, and is known now.
    let wrong = refused(h2::Error::PseudoField);
    assert_eq!(events, [failed(0, wrong.clone()), failed(1, wrong)]);
    // The acknowledgements of both, and of the insert: on the decoder's stream.
    let told = pair.server.connection().streams.clone();
    let decoder: Vec<u8> = told.into_values().find(|bytes| bytes.first() == Some(&3)).unwrap();
    assert_eq!(decoder.len(), 1 + 2 + 2 + 1, "{decoder:02x?}");
}

/// A stream that is given up, by either side, is told to the server's encoder (RFC 9204 2.2.2.2), as soon as there may be a
/// stream to say it on.
#[test]
fn streams_that_are_given_up_are_told_when_there_may_be_a_stream_for_it() {
    let server = candor_testkit::h3::Server::new(
        &["example.com"],
        &["h3"],
        |transport| {
            transport.max_concurrent_uni_streams(1_u32.into());
        },
        |_, _| None,
    );
    let settings = Settings { streams: 3, ..Settings::default() };
    let session = session(only(&server), &[plan_request("GET", &[], b"")], settings);
    let mut pair = Pair::new(session, server).ready();
    pair.request(0..3);
    pair.run_for(LATENCY_NS);
    assert!(pair.client.cancel(1));
    pair.server.connection().reset(8, 0x102);
    pair.run_for(4 * LATENCY_NS);
    assert_eq!(pair.take_events(), [failed(2, Failure::StreamReset(0x102))]);
    let served = pair.server.connection();
    assert!(!served.streams.contains_key(&6), "{:?}", served.streams);
    served.quic.set_max_concurrent_streams(quinn_proto::Dir::Uni, 3_u32.into());
    served.write(0, &ok(b""));
    served.finish(0);
    pair.run_for(4 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(0, 200, 0)]);
    assert_eq!(pair.server.connection().streams[&6], [0x03, 0x44, 0x48]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// A response in pieces is the same response.
    #[test]
    fn a_cut_changes_nothing(cut in 1usize..60, fields in 0usize..4, body in 0usize..200) {
        let names = ["x-a", "server", "vary", "x-some-longer-name"];
        let mut all = vec![(":status", "200")];
        all.extend(names[..fields].iter().map(|name| (*name, "value")));
        let body: Vec<u8> = (0..body).map(|n| n as u8).collect();
        let bytes = [
            frame(0x21, b"unknown"),
            frame(HEADERS, &section(&[(":status", "100")])),
            frame(HEADERS, &section(&all)),
            frame(DATA, &body),
            frame(HEADERS, &section(&[("x-sum", "1")])),
        ]
        .concat();
        let mut pair = Pair::of_gets(1, |_, _| None).ready();
        pair.request([0]);
        pair.run_for(LATENCY_NS);
        for part in bytes.chunks(cut) {
            pair.server.connection().write(0, part);
            pair.run_for(MS);
        }
        pair.server.connection().finish(0);
        pair.run_for(4 * LATENCY_NS);
        let events = pair.take_events();
        prop_assert_eq!(events.last(), Some(&done(0, 200, body.len() as u64)));
        prop_assert!(events.len() <= 2 && (events.len() == 1 || events[0] == Event::FirstByte(0)));
    }
}
