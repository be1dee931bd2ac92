//! Servers that break rules in the middle of a stream of events or of a call: each has its outcome, the parts before it count,
//! and the other request of the connection goes on unless the rule is the connection's.

use candor_plan::{StreamForm, Streaming, Tokens};
use candor_protocol::expect::Mismatch;
use candor_protocol::grpc::{self, Limits};
use candor_protocol::h3::Error;
use candor_protocol::h3::qpack::Error as Qpack;
use candor_protocol::{Event, Failure, Session as _, h2};
use candor_record::ErrorKind;

use crate::ends::close;
use crate::parts::*;
use crate::support::*;

/// A kind of responses with parts.
struct Kind {
    name: &'static str,
    /// Two requests with a body of this length.
    start: Box<dyn Fn(usize) -> Pair>,
    head: Vec<u8>,
    /// The content of a part, which has a DATA frame to itself.
    part: &'static [u8],
    /// What makes the response a good one.
    trailers: Vec<u8>,
}

fn kinds() -> Vec<Kind> {
    let of_events = |name, stream: Streaming, part| Kind {
        name,
        start: Box::new(move |bytes| streaming_to(&shared(bytes), &stream)),
        head: head(&[]),
        part,
        trailers: Vec::new(),
    };
    let tokens = Streaming { tokens: Some(Tokens::Events), ..Streaming::new(StreamForm::Sse) };
    vec![
        of_events("sse", Streaming::new(StreamForm::Sse), b"data: a\n\n"),
        of_events("tokens", tokens, b"data: {}\n\n"),
        of_events("ndjson", Streaming::new(StreamForm::Ndjson), b"{}\n"),
        of_events("chunks", Streaming::new(StreamForm::Chunks), b"abc"),
        Kind {
            name: "calls",
            start: Box::new(|bytes| called_with(&shared(bytes), Limits::default(), None)),
            head: head(&[("content-type", "application/grpc")]),
            part: b"\0\0\0\0\x03abc",
            trailers: fields(&[("grpc-status", "0")]),
        },
    ]
}

impl Kind {
    fn begun(&self) -> Vec<u8> {
        [&self.head[..], &data(self.part), &data(self.part)].concat()
    }

    fn whole(&self) -> Vec<u8> {
        [&self.begun()[..], &self.trailers].concat()
    }

    /// What a stream that is reset with this code is.
    fn of_reset(&self, code: u32) -> Failure {
        match code {
            _ if self.name == "calls" => {
                let kind = match code {
                    0x107 => ErrorKind::GrpcResourceExhausted,
                    0x10b => ErrorKind::GrpcUnavailable,
                    0x10c => ErrorKind::GrpcCancelled,
                    0 | 0x100..=0x110 => ErrorKind::GrpcInternal,
                    _ => ErrorKind::GrpcUnknown,
                };
                Failure::Call { kind, message: "".into() }
            }
            0x10b => Failure::NotProcessed,
            code => Failure::StreamReset(code),
        }
    }

    /// The first request meets `act` and fails so, after this many parts; the second one is answered.
    fn meet(&self, what: &str, parts: u32, wanted: &Failure, act: impl FnOnce(&mut Pair)) {
        let mut pair = (self.start)(5);
        act(&mut pair);
        pair.run_for(20 * LATENCY_NS);
        let events = pair.take_events();
        let what = format!("{}: {what}: {events:?}", self.name);
        assert_eq!(count_parts(&events), parts, "{what}");
        let outcomes: Vec<_> = events.iter().filter(|event| is_outcome(event)).collect();
        let [Event::RequestFailed { id: 0, failure }] = outcomes[..] else { panic!("{what}") };
        match (failure, wanted) {
            // Not the words.
            (Failure::Call { kind, .. }, Failure::Call { kind: wanted, .. }) => {
                assert_eq!(kind, wanted, "{what}");
            }
            _ => assert_eq!(failure, wanted, "{what}"),
        }
        assert_eq!((pair.client.free_places(), pair.told()), (1, None), "{what}");
        let events = pair.ended(4, &self.whole());
        assert_eq!(outcome(&events, 1), Some(Ok(())), "{what}: {events:?}");
    }

    /// The first request meets `act`, and the connection fails, with this code.
    fn fail(&self, what: &str, (error, code): (Error, u64), act: impl FnOnce(&mut Pair)) {
        let mut pair = (self.start)(5);
        act(&mut pair);
        pair.run_for(20 * LATENCY_NS);
        let events = pair.take_events();
        let what = format!("{}: {what}: {events:?}", self.name);
        let outcomes: Vec<_> = events.iter().filter(|event| is_outcome(event)).collect();
        let failed = Event::Failed { id: None, failure: Failure::Malformed(error.into()) };
        assert_eq!((outcomes, pair.told()), (vec![&failed], Some(code)), "{what}");
    }
}

fn is_outcome(event: &Event) -> bool {
    matches!(event, Event::Done(_) | Event::RequestFailed { .. } | Event::Failed { .. })
}

fn count_parts(events: &[Event]) -> u32 {
    events.iter().map(|event| if let Event::Part(part) = event { part.count } else { 0 }).sum()
}

fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, &section(fields))
}

fn malformed(error: impl Into<Error>) -> Failure {
    Failure::Malformed(error.into().into())
}

fn writes(bytes: Vec<u8>) -> impl FnOnce(&mut Pair) {
    move |pair| pair.server.connection().write(0, &bytes)
}

fn ends(bytes: Vec<u8>) -> impl FnOnce(&mut Pair) {
    move |pair| {
        writes(bytes)(pair);
        pair.server.connection().finish(0);
    }
}

/// Resets the stream when this has come.
fn resets(bytes: Vec<u8>, code: u32) -> impl FnOnce(&mut Pair) {
    move |pair| {
        writes(bytes)(pair);
        pair.run_for(2 * LATENCY_NS);
        pair.server.connection().reset(0, code);
    }
}

#[test]
fn a_wrong_response_in_parts_fails_alone() {
    let many = vec![("x-name", "a value of some length, again and again"); 1500];
    for kind in kinds() {
        let both = (2 * kind.part.len()).to_string();
        let (less, more) = ((2 * kind.part.len() - 1).to_string(), format!("{both}0"));
        let sized = |length: &str, and: &[&[u8]]| {
            let mut all = fields(&[(":status", "200"), ("content-length", length)]);
            if kind.name == "calls" {
                all = head(&[("content-type", "application/grpc"), ("content-length", length)]);
            }
            all.extend(data(kind.part).repeat(2));
            all.extend(and.concat());
            all
        };
        let (behind, whole) = (|bytes: &[u8]| [&kind.begun()[..], bytes].concat(), kind.begun());
        let table: Vec<(&str, u32, h2::Error, Vec<u8>)> = vec![
            ("no status", 0, h2::Error::Status, [fields(&[("x", "y")]), data(b"z")].concat()),
            ("101", 0, h2::Error::SwitchingProtocols, fields(&[(":status", "101")])),
            ("100s", 0, h2::Error::Interim, fields(&[(":status", "103")]).repeat(101)),
            ("head too large", 0, h2::Error::HeaderListTooLarge, head(&many)),
            (
                "204",
                0,
                h2::Error::UnexpectedBody,
                [fields(&[(":status", "204")]), data(kind.part)].concat(),
            ),
            ("a second head", 2, h2::Error::PseudoField, behind(&whole)),
            ("trailers of no name", 2, h2::Error::FieldName, behind(&fields(&[("X", "y")]))),
            ("trailers too large", 2, h2::Error::HeaderListTooLarge, behind(&fields(&many))),
            ("more than announced", 1, h2::Error::ContentLengthDiffers, sized(&less, &[])),
            (
                "less than announced",
                2,
                h2::Error::ContentLengthDiffers,
                sized(&more, &[&kind.trailers]),
            ),
        ];
        for (what, parts, error, bytes) in table {
            kind.meet(what, parts, &malformed(error), ends(bytes));
        }
        kind.meet("nothing", 0, &malformed(Error::NoResponse), ends(Vec::new()));
    }
}

#[test]
fn a_wrong_frame_among_parts_fails_the_connection() {
    for kind in kinds() {
        let behind = |bytes: &[u8]| [&kind.begun()[..], bytes].concat();
        let trailers = fields(&[("x", "y")]);
        let unexpected = || (Error::FrameUnexpected, 0x105);
        let idle = IDLE_FRAMES as usize + 1;
        let table: Vec<(&str, (Error, u64), Vec<u8>)> = vec![
            ("data before its head", unexpected(), data(kind.part)),
            ("trailers twice", unexpected(), behind(&trailers.repeat(2))),
            ("data behind trailers", unexpected(), behind(&[&trailers[..], &data(b"z")].concat())),
            ("settings", unexpected(), behind(&frame(4, b""))),
            ("goaway", unexpected(), behind(&frame(7, &[0]))),
            ("a push", (Error::Id, 0x108), behind(&frame(5, &[0, 0, 0]))),
            ("a ping of HTTP/2", (Error::FrameOfH2, 0x105), behind(&frame(6, b"12345678"))),
            ("a frame cut off", (Error::FrameSize, 0x106), behind(&data(b"abc")[..3])),
            ("a header cut off", (Error::FrameSize, 0x106), behind(&[0x00])),
            ("trailers cut off", (Error::FrameSize, 0x106), behind(&trailers[..3])),
            (
                "trailers without end",
                (Error::FrameTooLarge, 0x107),
                behind(&[0x01, 0xbf, 0xff, 0xff, 0xff]),
            ),
            ("nothing, again and again", (Error::Flood, 0x107), behind(&data(b"").repeat(idle))),
            ("unknown frames", (Error::Flood, 0x107), behind(&[0x21, 0x00].repeat(idle))),
            (
                "no field section",
                (Error::Qpack(Qpack::Integer), 0x200),
                behind(&frame(HEADERS, b"")),
            ),
        ];
        for (what, error, bytes) in table {
            kind.fail(what, error, ends(bytes));
        }
    }
}

#[test]
fn a_stream_that_is_reset_in_the_middle_of_a_part_has_the_codes_outcome() {
    for kind in kinds() {
        for code in (0x100..=0x111).chain([0, 0x33, 0x200, u32::MAX]) {
            let half = [kind.begun(), data(kind.part)[..3].to_vec()].concat();
            kind.meet(&format!("{code:#x}"), 2, &kind.of_reset(code), resets(half, code));
        }
        // Its fields refer to what the server never says.
        let waits = frame(HEADERS, &[0x02, 0x00, 0x80]);
        kind.meet("a section that waits", 0, &kind.of_reset(0x10c), resets(waits, 0x10c));
        // It is complete, but that is not said.
        let whole = kind.whole();
        kind.meet("in the place of the end", 2, &kind.of_reset(0x100), resets(whole, 0x100));
    }
}

#[test]
fn a_connection_that_ends_among_parts_truncates_them() {
    for kind in kinds() {
        let mut pair = (kind.start)(5);
        pair.server.connection().write(0, &kind.begun());
        pair.run_for(2 * LATENCY_NS);
        close(&mut pair, 0x102);
        pair.run_for(2 * LATENCY_NS);
        let events = pair.take_events();
        assert_eq!((count_parts(&events), events.last()), (2, Some(&Event::End)), "{}", kind.name);
        let kinds: Vec<_> = pair
            .end()
            .into_iter()
            .map(|event| match event {
                Event::Failed { id: Some(id), failure } => (id, failure.words().0),
                other => panic!("{}: {other:?}", kind.name),
            })
            .collect();
        assert_eq!(kinds, [(0, ErrorKind::Truncated), (1, ErrorKind::Closed)], "{}", kind.name);
    }
}

/// GOAWAY among parts: what it allows goes on, the rest was not processed, and then the connection is over.
#[test]
fn goaway_among_parts_lets_go_on_what_it_allows() {
    for kind in kinds() {
        let mut pair = (kind.start)(5);
        pair.written(0, &kind.begun());
        pair.server.connection().write(3, &frame(7, &[4]));
        pair.run_for(2 * LATENCY_NS);
        let events = pair.take_events();
        let refused = failed(1, Failure::NotProcessed);
        assert!(events.contains(&refused) && pair.client.free_places() == 0, "{events:?}");
        let events = pair.ended(0, &[&data(kind.part)[..], &kind.trailers].concat());
        assert_eq!((count_parts(&events), outcome(&events, 0)), (1, Some(Ok(()))), "{events:?}");
        assert_eq!(events.last(), Some(&Event::Over), "{}", kind.name);
    }
}

/// A response without an end has no outcome until it is taken back, which the server is told.
#[test]
fn parts_without_an_end_are_told_until_the_request_is_taken_back() {
    for kind in kinds() {
        let mut pair = (kind.start)(5);
        pair.written(0, &kind.head);
        for second in 0..100 {
            pair.server.connection().write(0, &data(kind.part));
            pair.run_for(1_000 * MS);
            let events = pair.take_events();
            assert_eq!(count_parts(&events), 1, "{} {second}: {events:?}", kind.name);
            assert!(!events.iter().any(is_outcome), "{events:?}");
        }
        assert!(pair.client.cancel(0));
        pair.server.connection().write(0, &data(kind.part));
        pair.run_for(2 * LATENCY_NS);
        assert_eq!((pair.take_events(), pair.client.free_places()), (vec![], 1));
        assert_eq!(pair.server.connection().given_up, [(0, 0x10c)], "{}", kind.name);
    }
}

/// Content in frames of one byte is content: each of its parts is told, once, and none of it is a flood.
#[test]
fn frames_of_one_byte_make_no_difference() {
    for kind in kinds() {
        let mut pair = (kind.start)(5);
        let content = kind.part.repeat(1000);
        let parts = if kind.name == "chunks" { content.len() as u32 } else { 1000 };
        let mut bytes = kind.head.clone();
        for byte in &content {
            // One without any between each of them, and one that is not known.
            bytes.extend([data(b""), vec![0x21, 0x00], data(&[*byte])].concat());
        }
        bytes.extend(&kind.trailers);
        pair.server.connection().write(0, &bytes);
        pair.server.connection().finish(0);
        pair.run_for(60 * LATENCY_NS);
        let events = pair.take_events();
        assert_eq!(
            (count_parts(&events), outcome(&events, 0)),
            (parts, Some(Ok(()))),
            "{}",
            kind.name
        );
    }
}

/// A server that stops an upload has its say all the same, or none, in which case the request can be taken back.
#[test]
fn an_upload_that_is_stopped_has_the_response_that_comes() {
    for kind in kinds() {
        for (code, responds) in [(0x100, true), (0x10c, true), (0x102, true), (0x10c, false)] {
            let mut pair = (kind.start)(10 * WINDOW);
            pair.written(0, &kind.head);
            pair.server.connection().stop(0, code);
            pair.run_for(4 * LATENCY_NS);
            assert!(!pair.take_events().iter().any(is_outcome), "{} {code:#x}", kind.name);
            // What was not written is not, and the server is told.
            let came = pair.server.connection().quic.stats().frame_rx;
            assert_eq!(came.reset_stream, 1, "{} {code:#x}", kind.name);
            if !responds {
                assert!(pair.client.cancel(0) && pair.client.free_places() == 1);
                continue;
            }
            let events = pair.ended(0, &[&data(kind.part)[..], &kind.trailers].concat());
            assert_eq!(outcome(&events, 0), Some(Ok(())), "{} {code:#x} {events:?}", kind.name);
        }
    }
}

/// What only calls have: their status, and their messages.
#[test]
fn a_call_that_is_not_one_has_its_name() {
    let limits = Limits { max_message_bytes: 5, one_message: true, ..Limits::default() };
    let grpc = ("content-type", "application/grpc");
    let message = candor_grpc::framed(b"hello");
    let ok = fields(&[("grpc-status", "0")]);
    let with = |extra: &[(&str, &str)]| head(&[&[grpc], extra].concat());
    let of = |head: Vec<u8>, body: &[u8], end: &[u8]| [&head[..], &data(body), end].concat();
    let wrong = |error: grpc::Error| Failure::Malformed(error.into());
    let status = |kind| Failure::Call { kind, message: "".into() };
    let both = message.repeat(2);
    let long = candor_grpc::framed(b"longer");
    let status_of = |http: &str| fields(&[(":status", http), ("content-type", "text/html")]);
    let table: Vec<(&str, Failure, Vec<u8>)> = vec![
        ("no trailers", status(ErrorKind::GrpcNoStatus), of(with(&[]), &message, b"")),
        (
            "no status",
            status(ErrorKind::GrpcNoStatus),
            of(with(&[]), &message, &fields(&[("x", "y")])),
        ),
        (
            "an early status",
            status(ErrorKind::GrpcNoStatus),
            of(with(&[("grpc-status", "0")]), &message, b""),
        ),
        (
            "no number",
            wrong(grpc::Error::Status),
            of(with(&[]), &message, &fields(&[("grpc-status", "OK")])),
        ),
        (
            "two",
            wrong(grpc::Error::DoubledStatus),
            of(with(&[]), &message, &fields(&[("grpc-status", "0"), ("grpc-status", "0")])),
        ),
        (
            "in front and behind",
            wrong(grpc::Error::DoubledStatus),
            of(with(&[("grpc-status", "0")]), &message, &ok),
        ),
        (
            "a status of its own",
            status(ErrorKind::GrpcUnknown),
            of(with(&[]), &message, &fields(&[("grpc-status", "99")])),
        ),
        ("too long", wrong(grpc::Error::MessageTooLong(6)), of(with(&[]), &long, &ok)),
        (
            "announced too long",
            wrong(grpc::Error::MessageTooLong(u32::MAX)),
            of(with(&[]), b"\0\xff\xff\xff\xff", &ok),
        ),
        (
            "announced longer than sent",
            wrong(grpc::Error::CutMessage),
            of(with(&[]), &message[..7], &ok),
        ),
        ("cut in its length", wrong(grpc::Error::CutMessage), of(with(&[]), &message[..2], &ok)),
        ("one too many", wrong(grpc::Error::NotOneMessage(2)), of(with(&[]), &both, &ok)),
        ("none", wrong(grpc::Error::NotOneMessage(0)), [with(&[]), ok.clone()].concat()),
        (
            "compressed",
            wrong(grpc::Error::Compressed),
            of(with(&[("grpc-encoding", "gzip")]), b"\x01\0\0\0\x01x", &ok),
        ),
        (
            "compressed in secret",
            wrong(grpc::Error::CompressedWithoutEncoding),
            of(with(&[]), b"\x01\0\0\0\x01x", &ok),
        ),
        ("a wrong flag", wrong(grpc::Error::Flag(7)), of(with(&[]), b"\x07\0\0\0\x01x", &ok)),
        ("no type", wrong(grpc::Error::NoContentType), of(head(&[]), &message, &ok)),
        ("a page", wrong(grpc::Error::ContentType), of(status_of("200"), b"<html>", b"")),
        (
            "a page of an error",
            status(ErrorKind::GrpcUnavailable),
            of(status_of("503"), b"<html>", b""),
        ),
    ];
    for (what, wanted, bytes) in table {
        let mut pair = called(limits, None);
        let events = pair.ended(0, &bytes);
        let failure = events.iter().find_map(|event| match event {
            Event::RequestFailed { id: 0, failure } => Some(failure.clone()),
            _ => None,
        });
        match (&failure, &wanted) {
            (Some(Failure::Call { kind, .. }), Failure::Call { kind: wanted, .. }) => {
                assert_eq!(kind, wanted, "{what}");
            }
            _ => assert_eq!(failure, Some(wanted), "{what}: {events:?}"),
        }
        assert_eq!(
            events.iter().filter(|event| is_outcome(event)).count(),
            1,
            "{what}: {events:?}"
        );
        let events = pair.ended(4, &of(with(&[]), &message, &ok));
        assert_eq!(outcome(&events, 1), Some(Ok::<(), Mismatch>(())), "{what}: {events:?}");
    }
}
