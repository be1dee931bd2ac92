//! Servers that break rules: each gets its error, and no more memory than the limits.

use candor_protocol::h3::qpack::Error as Qpack;
use candor_protocol::h3::{Error, Limits, Settings};
use candor_protocol::{Event, Failure, Session as _, h2};
use candor_testkit::h3::Served;
use proptest::prelude::*;

use crate::support::*;

/// Where a server says something.
#[derive(Clone, Copy, Debug)]
enum On {
    /// The stream of the request.
    Request,
    /// The same, and ends it.
    RequestToItsEnd,
    /// Its control stream, behind the settings.
    Control,
    /// A stream that it opens.
    New,
}

/// What a session says to this, with a request on its way, and the code that the server is told.
fn said(on: On, bytes: &[u8]) -> (Vec<Event>, Option<u64>) {
    let limits = Limits { idle_frames: 50, ..Limits::default() };
    let settings = Settings { table_bytes: 256, limits, ..Settings::default() };
    let get = plan_request("GET", &[], b"");
    let mut pair = Pair::of(&[get], settings, |_, _| None).ready();
    pair.request([0]);
    pair.run_for(LATENCY_NS);
    let served = pair.server.connection();
    match on {
        On::Request => served.write(0, bytes),
        On::RequestToItsEnd => {
            served.write(0, bytes);
            served.finish(0);
        }
        On::Control => served.write(3, bytes),
        On::New => drop(served.open(bytes)),
    }
    // The longest of them needs several round trips.
    pair.run_for(20 * LATENCY_NS);
    (pair.take_events(), pair.told())
}

#[test]
fn an_error_of_the_connection_has_its_name_and_its_code_9114_8_1() {
    let head = frame(HEADERS, &section(&[(":status", "200")]));
    let twice = [&head[..], &frame(HEADERS, &section(&[("x", "y")])), &frame(DATA, b"z")].concat();
    let cut_off = &ok(b"alive")[..9];
    let unknown = [0x21, 0x00].repeat(60);
    let settings_twice = [0x06, 0x01, 0x06, 0x02];
    let table: Vec<(On, Vec<u8>, Error, u64)> = vec![
        (On::Request, frame(DATA, b"x"), Error::FrameUnexpected, 0x105),
        (On::Request, frame(4, b""), Error::FrameUnexpected, 0x105),
        (On::Request, frame(7, &[0]), Error::FrameUnexpected, 0x105),
        (On::Request, twice, Error::FrameUnexpected, 0x105),
        (On::Request, frame(5, &[0, 0, 0]), Error::Id, 0x108),
        (On::Request, frame(8, b""), Error::FrameOfH2, 0x105),
        (On::Request, vec![0x01, 0xbf, 0xff, 0xff, 0xff], Error::FrameTooLarge, 0x107),
        (On::RequestToItsEnd, cut_off.to_vec(), Error::FrameSize, 0x106),
        (On::RequestToItsEnd, vec![0x01], Error::FrameSize, 0x106),
        (On::Request, unknown.clone(), Error::Flood, 0x107),
        (On::Request, frame(HEADERS, &[]), Error::Qpack(Qpack::Integer), 0x200),
        (On::Request, frame(HEADERS, &[0, 0, 0xff, 0x24]), Error::Qpack(Qpack::Index), 0x200),
        (On::Control, frame(4, b""), Error::FrameUnexpected, 0x105),
        (On::Control, frame(0, b"x"), Error::FrameUnexpected, 0x105),
        (On::Control, frame(1, b"x"), Error::FrameUnexpected, 0x105),
        (On::Control, frame(0xd, &[0]), Error::FrameUnexpected, 0x105),
        (On::Control, frame(3, &[0]), Error::Id, 0x108),
        (On::Control, frame(7, &[1]), Error::Id, 0x108),
        (On::Control, frame(7, b""), Error::FrameSize, 0x106),
        (On::Control, [frame(7, &[4]), frame(7, &[8])].concat(), Error::Id, 0x108),
        (On::Control, unknown, Error::Flood, 0x107),
        (On::New, vec![0x00, 0x04, 0x00], Error::StreamCreation, 0x103),
        (On::New, vec![0x01, 0x00], Error::Id, 0x108),
        (On::New, vec![0x02, 0x3f, 0xe2, 0x01], Error::Qpack(Qpack::Capacity), 0x201),
        (On::New, vec![0x02, 0x00], Error::Qpack(Qpack::Instruction), 0x201),
        (On::New, vec![0x03, 0x80], Error::DecoderStream, 0x202),
        (On::New, vec![0x03, 0x01], Error::DecoderStream, 0x202),
        (On::New, [&[0x03, 0x7f][..], &[0xff; 10]].concat(), Error::DecoderStream, 0x202),
    ];
    for (on, bytes, error, code) in table {
        let (events, told) = said(on, &bytes);
        let failure = Failure::Malformed(error.clone().into());
        let last = events.iter().rfind(|event| !matches!(event, Event::RequestFailed { .. }));
        let failed = Event::Failed { id: None, failure };
        assert_eq!(last, Some(&failed), "{on:?} {bytes:02x?}: {events:?}");
        assert_eq!(told, Some(code), "{on:?} {bytes:02x?}");
    }
    for (payload, error) in [
        (&settings_twice[..], Error::Settings),
        (&[0x03, 0x00], Error::Settings),
        (&[0x06], Error::FrameSize),
    ] {
        let mut pair = Pair::of_gets(1, |_, _| None);
        pair.server.greeting = [vec![0x00], frame(4, payload)].concat();
        pair.run_for(4 * LATENCY_NS);
        let last = pair.take_events().pop();
        let failure = Failure::Malformed(error.into());
        assert_eq!(last, Some(Event::Failed { id: None, failure }), "{payload:?}");
    }
    let mut pair = Pair::of_gets(1, |_, _| None);
    pair.server.greeting = [vec![0x00], frame(7, &[0])].concat();
    pair.run_for(4 * LATENCY_NS);
    let failure = Failure::Malformed(Error::NoSettings.into());
    assert_eq!(pair.take_events().pop(), Some(Event::Failed { id: None, failure }));
}

#[test]
fn an_error_of_a_response_is_its_own_9114_4_1_2() {
    let head = |fields: &[(&str, &str)]| frame(HEADERS, &section(fields));
    let many = vec![("x-name", "a value of some length, again and again"); 1500];
    let large = [&[(":status", "200")][..], &many].concat();
    let interim = head(&[(":status", "100")]).repeat(101);
    let table: Vec<(Vec<u8>, Error)> = vec![
        (vec![], Error::NoResponse),
        (head(&[("server", "x")]), h2::Error::Status.into()),
        (head(&[(":status", "99")]), h2::Error::Status.into()),
        (head(&[(":status", "101")]), h2::Error::SwitchingProtocols.into()),
        (head(&[(":status", "200"), (":status", "200")]), h2::Error::PseudoField.into()),
        (head(&[(":status", "200"), ("X", "y")]), h2::Error::FieldName.into()),
        (head(&[(":status", "200"), ("x", "y\n")]), h2::Error::FieldValue.into()),
        (head(&[(":status", "200"), ("connection", "close")]), h2::Error::ConnectionField.into()),
        (head(&[(":status", "200"), ("content-length", "x")]), h2::Error::ContentLength.into()),
        (head(&large), h2::Error::HeaderListTooLarge.into()),
        (interim, h2::Error::Interim.into()),
        (
            [head(&[(":status", "200"), ("content-length", "1")]), frame(DATA, b"xy")].concat(),
            h2::Error::ContentLengthDiffers.into(),
        ),
        (
            [head(&[(":status", "204")]), frame(DATA, b"x")].concat(),
            h2::Error::UnexpectedBody.into(),
        ),
        (
            [head(&[(":status", "200")]), head(&[(":status", "200")])].concat(),
            h2::Error::PseudoField.into(),
        ),
    ];
    for (bytes, error) in table {
        let (events, told) = said(On::RequestToItsEnd, &bytes);
        let outcome: Vec<&Event> =
            events.iter().filter(|event| !matches!(event, Event::FirstByte(_))).collect();
        let expected = failed(0, Failure::Malformed(error.clone().into()));
        assert_eq!((outcome, told), (vec![&expected], None), "{error}");
    }
}

/// The server's control stream and its streams of QPACK end, or ours are not read.
#[test]
fn critical_streams_do_not_end_9114_6_2_1() {
    type Ends = fn(&mut Served, u64);
    let (resets, finishes): (Ends, Ends) = (|served, id| served.reset(id, 0x100), Served::finish);
    // Our control stream is 2, our decoder's 6, which a cancelled request opens; theirs begin at 3.
    let stops: Ends = |served, id| served.stop(id, 0x100);
    for (ends, id) in
        [(resets, 3), (finishes, 3), (resets, 7), (finishes, 7), (resets, 11), (finishes, 11)]
            .into_iter()
            .chain([(stops, 2), (stops, 6)])
    {
        let mut pair = Pair::of_gets(1, |_, _| None).ready();
        assert_eq!([0x02, 0x03].map(|kind| pair.server.connection().open(&[kind])), [7, 11]);
        pair.request([0]);
        pair.run_for(LATENCY_NS);
        assert!(pair.client.cancel(0));
        pair.run_for(LATENCY_NS);
        assert_eq!(pair.take_events(), []);
        ends(pair.server.connection(), id);
        pair.run_for(2 * LATENCY_NS);
        let failure = Failure::Malformed(Error::ClosedCritical.into());
        assert_eq!(pair.take_events(), [Event::Failed { id: None, failure }], "{id}");
        assert_eq!(pair.told(), Some(0x104), "{id}");
    }
}

#[test]
fn the_decoders_stream_may_cancel_a_stream_of_any_id_in_any_pieces_9204_4_4_2() {
    // The largest id that there is, 2^62 - 1, less what its first byte says.
    let id = [0x7f, 0xc0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f];
    let mut pair = Pair::of_gets(1, |_, _| Some(ok(b""))).ready();
    let stream = pair.server.connection().open(&[0x03]);
    for byte in [&id[..], &[0x44], &id].concat() {
        pair.server.connection().write(stream, &[byte]);
        pair.run_for(MS);
    }
    pair.request([0]);
    pair.run_for(3 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(0, 200, 0)]);
}

#[test]
fn streams_of_types_that_are_not_known_are_passed_over_and_counted() {
    let limits = Limits { idle_frames: 30, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let get = plan_request("GET", &[], b"");
    let mut pair = Pair::of(&[get], settings, |_, _| Some(ok(b""))).ready();
    for round in 0..31 {
        assert_eq!(pair.take_events(), [], "{round}");
        let id = pair.server.connection().open(&[0x21, 1, 2, 3]);
        pair.run_for(3 * LATENCY_NS);
        pair.server.connection().reset(id, 0x103);
        pair.run_for(10 * LATENCY_NS);
    }
    let failure = Failure::Malformed(Error::Flood.into());
    assert_eq!(pair.take_events(), [Event::Failed { id: None, failure }]);
}

/// A section that waits for an insert does not outlive its stream, and makes room for another.
#[test]
fn a_stream_whose_section_waits_may_be_reset() {
    let limits = Limits { blocked_streams: 1, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let get = plan_request("GET", &[], b"");
    let mut pair = Pair::of(&[get], settings, |_, _| None).ready();
    for id in 0..3 {
        pair.request([id]);
        pair.run_for(LATENCY_NS);
        let stream = u64::from(4 * id);
        pair.server.connection().write(stream, &frame(HEADERS, &[0x02, 0x00, 0x80]));
        pair.run_for(2 * LATENCY_NS);
        assert_eq!(pair.take_events(), []);
        pair.server.connection().reset(stream, 0x102);
        pair.run_for(2 * LATENCY_NS);
        assert_eq!(pair.take_events(), [failed(id, Failure::StreamReset(0x102))]);
    }
}

#[test]
fn more_sections_than_allowed_do_not_wait() {
    let limits = Limits { blocked_streams: 2, ..Limits::default() };
    let settings = Settings { streams: 3, limits, ..Settings::default() };
    let get = plan_request("GET", &[], b"");
    let mut pair = Pair::of(&[get], settings, |_, _| None).ready();
    pair.request(0..3);
    pair.run_for(LATENCY_NS);
    for id in [0, 4] {
        pair.server.connection().write(id, &frame(HEADERS, &[0x02, 0x00, 0x80]));
    }
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), []);
    pair.server.connection().write(8, &frame(HEADERS, &[0x02, 0x00, 0x80]));
    pair.run_for(2 * LATENCY_NS);
    let failure = Failure::Malformed(Error::Qpack(Qpack::Blocked).into());
    assert_eq!(pair.take_events(), [Event::Failed { id: None, failure }]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Any bytes on any stream: the request has at most one outcome, and nothing panics.
    #[test]
    fn any_bytes_have_an_outcome(
        on in prop::sample::select(vec![On::Request, On::RequestToItsEnd, On::Control, On::New]),
        head in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let head = if head { frame(HEADERS, &section(&[(":status", "200")])) } else { vec![] };
        let (events, _) = said(on, &[head, bytes].concat());
        let is_outcome = |event: &&Event| {
            matches!(event, Event::Done(_) | Event::RequestFailed { .. } | Event::Failed { .. })
        };
        prop_assert!(events.iter().filter(is_outcome).count() <= 2, "{:?}", events);
        let own = |event: &&Event| matches!(event, Event::Done(_) | Event::RequestFailed { .. });
        prop_assert!(events.iter().filter(own).count() <= 1, "{:?}", events);
        if let On::RequestToItsEnd = on {
            prop_assert!(events.iter().any(|event| is_outcome(&event)), "{:?}", events);
        }
    }
}
