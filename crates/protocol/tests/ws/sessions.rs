//! What a session says of requests, parts, pings and closing, on simulated time.

use std::num::NonZeroUsize;

use candor_plan::{BodyExpect, OwnReply, Request, StreamForm, Streaming};
use candor_protocol::expect::Mismatch;
use candor_protocol::made::Batch;
use candor_protocol::ws::{
    Error, Field, KeepAlive, Kind, Limits, Message, Replies, Rules, Session, Settings, Setup,
};
use candor_protocol::{
    CaptureRoom, CloseFrame, Event, Failure, NotKept, Outgoing, Part, PartKind, Session as _, parts,
};

use crate::support::*;

fn in_flight(in_flight: u32) -> Settings {
    Settings { in_flight, ..Settings::default() }
}

/// Matched by `"id":…,`.
fn by_id(in_flight: u32) -> Settings {
    let field = Field { prefix: b"\"id\":"[..].into(), delimiter: b',' };
    Settings { replies: Replies::Field(field), in_flight, ..Settings::default() }
}

fn reply(payload: &str) -> Vec<u8> {
    frame(FIN | TEXT, payload.as_bytes())
}

fn anything(payload: &str) -> Message {
    Message { expect: BodyExpect::Any, ..text(payload) }
}

#[test]
fn echoes_answer_in_order_and_places_are_bounded() {
    let mut session = open(&[anything("a"), anything("bb")], in_flight(2));
    assert_eq!(session.free_places(), 2);
    session.handle_request(10, Outgoing::Listed(0));
    session.handle_request(11, Outgoing::Listed(1));
    assert_eq!((session.free_places(), session.outstanding()), (0, 2));
    let (bytes, started) = transmit_started(&mut session);
    assert_eq!(started, [10, 11]);
    assert_eq!(messages(&frames(&bytes)), [(TEXT, b"a".to_vec()), (TEXT, b"bb".to_vec())]);
    let both = [reply("one"), reply("three")].concat();
    assert_eq!(feed(&mut session, &both), [done(10, 3), done(11, 5)]);
    assert_eq!(session.free_places(), 2);
}

#[test]
fn only_what_was_begun_is_answered() {
    let mut session = open(&[anything("a"), anything("b")], in_flight(2));
    session.handle_request(0, Outgoing::Listed(0));
    session.handle_request(1, Outgoing::Listed(1));
    assert_eq!(feed(&mut session, &reply("early")), [parts(1, 5)]);
    // One byte of the second.
    let (_, started, _) = transmit_some(&mut session, 8);
    assert_eq!(started, [0, 1]);
    let replies = [reply("x"), reply("yy"), reply("zzz"), reply("z")].concat();
    assert_eq!(feed(&mut session, &replies), [done(0, 1), done(1, 2), parts(2, 4)]);
}

/// A server greets, pings by a message, and pushes; and what has been read of a message decides nothing.
#[test]
fn rules_say_what_is_a_reply_and_what_is_answered() {
    let rules = || Rules::new(["welcome"], Some("^[^p]"), [("^2$", "3")]).unwrap();
    let table = [text("a"), anything("b")];
    let bytes = ["welcome", "2", "push", "x", "a", "push"].map(reply).concat();
    for piece in [1, 3, bytes.len()] {
        let (mut session, key) = asked_as(Setup::new(&table[..], in_flight(2)).ruled(rules()));
        assert_eq!(feed(&mut session, switching(&key, "").as_bytes()), [READY]);
        send_all(&mut session, 2);
        let events: Vec<Event> =
            bytes.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
        let done_as = |event: &Event| match event {
            Event::Done(answer) => Some((answer.id, answer.expected.is_ok())),
            _ => None,
        };
        // The first expects its own text.
        assert_eq!(events.iter().filter_map(done_as).collect::<Vec<_>>(), [(0, false), (1, true)]);
        assert_eq!(count_parts(&events), (4, 7 + 1 + 4 + 4));
        assert_eq!(messages(&frames(&transmit(&mut session))), [(TEXT, b"3".to_vec())]);
    }
    assert!(Rules::new(["("], None, []).is_err());
    assert!(Rules::new([], None, []).unwrap().is_none());
}

/// What is sent first leaves with the opening's end, and no request leaves before the server's word.
#[test]
fn a_session_takes_requests_when_the_server_says_so() {
    let rules = || {
        let rules = Rules::new([], None, [("^0$", "40")]).unwrap();
        Rules::and(rules, Some("^40"), [], false).unwrap()
    };
    for piece in [1, 100] {
        let setup = Setup::new([anything("a")], in_flight(2)).ruled(rules());
        let (mut session, key) = asked_as(setup.greeting(Some(anything("hello"))));
        let opening = switching(&key, "");
        assert_eq!(feed(&mut session, opening.as_bytes()), []);
        assert_eq!(session.free_places(), 0);
        assert_eq!(messages(&frames(&transmit(&mut session))), [(TEXT, b"hello".to_vec())]);
        let bytes = ["0", "x", "40!"].map(reply).concat();
        let events: Vec<Event> =
            bytes.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
        assert_eq!(events.iter().filter(|event| **event == READY).count(), 1);
        assert_eq!(count_parts(&events), (3, 5));
        assert_eq!(session.free_places(), 2);
        assert_eq!(messages(&frames(&transmit(&mut session))), [(TEXT, b"40".to_vec())]);
        send_all(&mut session, 1);
        assert_eq!(feed(&mut session, &reply("b")), [done(0, 1)]);
    }
    // Its word may come with the opening.
    let (mut session, key) = asked_as(Setup::new([anything("a")], in_flight(2)).ruled(rules()));
    let both = [switching(&key, "").as_bytes(), &reply("40")].concat();
    let events = feed(&mut session, &both);
    assert!(events.contains(&READY), "{events:?}");
    // A server that ends it before is not ready.
    let (mut session, key) = asked_as(Setup::new([anything("a")], in_flight(2)).ruled(rules()));
    feed(&mut session, switching(&key, "").as_bytes());
    let told = end(&mut session);
    let is_unready =
        |event: &Event| matches!(event, Event::Failed { id: None, failure: Failure::NotReady(_) });
    assert!(told.last().is_some_and(is_unready), "{told:?}");
}

#[test]
fn a_request_may_have_a_rule_of_its_own() {
    let own = [
        None,
        Some(OwnReply::Nothing),
        Some(OwnReply::With("^M".to_owned())),
        Some(OwnReply::Awaited("^W".to_owned())),
    ];
    let rules = || Rules::and(None, None, own.iter().map(Option::as_ref), false).unwrap();
    let table: Vec<Message> = ["a", "b", "c", ""].map(anything).into();
    let open = || {
        let (mut session, key) = asked_as(Setup::new(&table[..], in_flight(4)).ruled(rules()));
        assert_eq!(feed(&mut session, switching(&key, "").as_bytes()), [READY]);
        session
    };
    let mut session = open();
    let sent = send_all(&mut session, 4);
    // The one that waits sends no message.
    let texts = ["a", "b", "c"].map(|text| (TEXT, text.as_bytes().to_vec()));
    assert_eq!(messages(&sent), texts);
    assert_eq!(payloads(&sent, PONG), [b"".to_vec()]);
    assert_eq!(events(&mut session), [done(1, 0)]);
    let told = feed(&mut session, &["W1", "M2", "x"].map(reply).concat());
    assert_eq!(told, [done(3, 2), done(2, 2), done(0, 1)]);
    // What it waits for may have come before; it is used once.
    let mut session = open();
    assert_eq!(feed(&mut session, &reply("W")), [parts(1, 1)]);
    for (id, at_once) in [(5, true), (6, false)] {
        session.handle_request(id, Outgoing::Listed(3));
        transmit(&mut session);
        assert_eq!(events(&mut session), if at_once { vec![done(id, 0)] } else { vec![] });
    }
    assert_eq!(feed(&mut session, &reply("W")), [done(6, 1)]);
}

/// Each message is told when it has come, the last one ends the reply, and says how.
#[test]
fn a_reply_may_have_several_messages() {
    let mut stream = Streaming::new(StreamForm::Messages);
    stream.end = Some("(done|fail)".to_owned());
    stream.error = Some("fail".to_owned());
    let requests = [Request { stream: Some(stream), ..request() }];
    let table = parts::Rules::table(&requests, None).unwrap();
    let rules = || Rules::and(None, None, [], true).unwrap();
    let message = Message { payload: b"\"id\":1,"[..].into(), ..anything("") };
    let bytes = ["\"id\":9,x", "\"id\":1,xy", "\"id\":1,done", "\"id\":1,late"].map(reply).concat();
    let failing = ["\"id\":1,x", "\"id\":1,fail"].map(reply).concat();
    let part = |bytes| {
        Event::Part(Part { id: Some(0), kind: PartKind::Event, bytes, count: 1, tokens: 0 })
    };
    for piece in [1, 1000] {
        let run = |bytes: &[u8]| {
            let setup = Setup::new([message.clone()], by_id(2)).ruled(rules());
            let (mut session, key) = asked_as(setup);
            session.stream(&table);
            feed(&mut session, switching(&key, "").as_bytes());
            send_all(&mut session, 1);
            let told: Vec<Event> =
                bytes.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
            assert_eq!((session.outstanding(), session.free_places()), (0, 2));
            told
        };
        let told = run(&bytes);
        let own: Vec<&Event> =
            told.iter().filter(|one| !matches!(one, Event::Part(Part { id: None, .. }))).collect();
        assert_eq!(own, [&Event::FirstByte(0), &part(9), &done(0, 9 + 11)]);
        assert_eq!(count_parts(&told), (3, 8 + 9 + 11));
        let Some(Event::Done(answer)) = run(&failing).pop() else { panic!("no outcome") };
        assert_eq!(answer.expected, Err(Mismatch::ErrorEvent(2)));
    }
}

#[test]
fn an_echo_that_differs_is_a_mismatch() {
    let mut session = open(&[text("Hello"), text("Hello")], in_flight(2));
    send_all(&mut session, 2);
    let said = feed(&mut session, &[reply("Help!"), reply("Hell")].concat());
    let of = |event: &Event| match event {
        Event::Done(answer) => answer.expected,
        _ => panic!("{event:?}"),
    };
    assert_eq!(of(&said[0]), Err(Mismatch::Content { offset: 3 }));
    assert_eq!(of(&said[1]), Err(Mismatch::Length { got: 4, expected: 5 }));
}

#[test]
fn a_field_matches_in_any_order_and_the_oldest_of_equals() {
    let table = [r#"{"id":1,"a"}"#, r#"{"id":2,"b"}"#, r#"{"id":1,"a"}"#, "no field"].map(anything);
    let mut session = open(&table, by_id(4));
    send_all(&mut session, 4);
    let said =
        [r#"["id":2,]"#, r#"["id":3,]"#, r#"["id":1"#, r#"["id":1,..]"#, r#"x"#, r#"["id":1,]"#];
    let bytes = said.map(reply).concat();
    let lengths = said.map(|one| one.len() as u64);
    // `"id":1` at the end has the rest of the message as its field.
    let wanted =
        [done(1, lengths[0]), done(0, lengths[2]), done(2, lengths[3]), done(3, lengths[4])];
    for piece in [1, bytes.len()] {
        let mut session = open(&table, by_id(4));
        send_all(&mut session, 4);
        let events: Vec<Event> =
            bytes.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
        let outcomes: Vec<Event> =
            events.iter().filter(|one| matches!(one, Event::Done(_))).cloned().collect();
        assert_eq!(outcomes, wanted);
        assert_eq!(count_parts(&events), (2, lengths[1] + lengths[5]));
    }
}

/// Messages and bytes in parts.
pub(crate) fn count_parts(events: &[Event]) -> (u32, u64) {
    events.iter().fold((0, 0), |(count, bytes), event| match event {
        Event::Part(part) => (count + part.count, bytes + part.bytes),
        _ => (count, bytes),
    })
}

#[test]
fn a_request_that_is_matched_by_field_can_be_taken_back() {
    let mut session = open(&[r#""id":1,"#, r#""id":2,"#].map(anything), by_id(2));
    send_all(&mut session, 2);
    assert!(session.cancel(0));
    assert!(!session.cancel(0), "it is gone");
    assert_eq!(session.free_places(), 1);
    let bytes = [reply(r#""id":1,"#), reply(r#""id":2,"#)].concat();
    assert_eq!(feed(&mut session, &bytes), [done(1, 7), parts(1, 7)]);
    let mut session = open(&[anything("x")], in_flight(1));
    send_all(&mut session, 1);
    assert!(!session.cancel(0), "the replies behind it could not be told apart");
}

#[test]
fn without_replies_a_request_is_done_when_its_last_byte_left() {
    let settings = Settings { replies: Replies::Nothing, ..in_flight(2) };
    let mut session = open(&[anything("abc")], settings);
    session.handle_request(0, Outgoing::Listed(0));
    session.handle_request(1, Outgoing::Listed(0));
    // A frame is 2 + 4 + 3 bytes.
    assert_eq!(transmit_some(&mut session, 8).1, [0]);
    assert_eq!(events(&mut session), []);
    let (_, started, news) = transmit_some(&mut session, 2);
    assert_eq!((started, news), (vec![1], true));
    assert_eq!(events(&mut session), [done(0, 0)]);
    assert_eq!(feed(&mut session, &reply("broadcast")), [parts(1, 9)]);
    assert!(transmit_some(&mut session, 100).2);
    assert_eq!(events(&mut session), [done(1, 0)]);
    assert_eq!(session.free_places(), 2);
}

#[test]
fn a_made_request_sends_its_body() {
    let mut batch = Batch::new(0);
    batch.fill(b"POST / HTTP/1.1\r\nContent-Length: 8\r\n\r\n\"id\":77,").unwrap();
    let mut session = open(&[anything("like")], by_id(1));
    session.handle_request(5, Outgoing::Made(batch.take().unwrap()));
    assert_eq!(messages(&frames(&transmit(&mut session))), [(TEXT, b"\"id\":77,".to_vec())]);
    assert_eq!(feed(&mut session, &reply("\"id\":77")), [done(5, 7)]);
}

#[test]
fn replies_are_kept_for_a_script() {
    for settings in [in_flight(1), by_id(1)] {
        let room = CaptureRoom::new(8, 2);
        let opening = candor_protocol::ws::Opening::new(&request(), "example", &settings);
        let setup = candor_protocol::ws::Setup::new([anything("\"id\":1,")], settings);
        let mut session = Session::new(&opening, setup.into(), 7);
        session.capture(&room);
        let head = String::from_utf8(transmit(&mut session)).unwrap();
        let key = &head.split_once("Key: ").unwrap().1[..24];
        feed(&mut session, switching(key, "").as_bytes());
        send_all(&mut session, 1);
        assert_eq!(feed(&mut session, &reply("\"id\":1,")), [done(0, 7)]);
        let kept = session.take_captured().unwrap();
        assert_eq!(kept.get().body, b"\"id\":1,");
        drop(kept);
        send_all(&mut session, 1);
        let failure = Failure::NotKept(NotKept::Body(8));
        let said = feed(&mut session, &reply("\"id\":1, and more"));
        assert_eq!(said, [Event::RequestFailed { id: 0, failure }]);
        assert_eq!(session.free_places(), 1);
    }
}

#[test]
fn the_server_closes_and_outstanding_requests_name_the_code() {
    let mut session = open(&[anything("a")], in_flight(3));
    for id in 0..3 {
        session.handle_request(id, Outgoing::Listed(0));
    }
    transmit(&mut session);
    let bytes = [reply("x"), close(1001, b"going\x1baway"), reply("ignored")].concat();
    let told = Box::new(CloseFrame { code: 1001, reason: "going\u{fffd}away".into() });
    let failed = |id| Event::RequestFailed { id, failure: Failure::ClosedWith(told.clone()) };
    let wanted = [done(0, 1), Event::CloseFrame(told.clone()), failed(1), failed(2), Event::Over];
    assert_eq!(feed(&mut session, &bytes), wanted);
    assert_eq!(session.free_places(), 0);
    session.handle_close();
    let written = frames(&transmit(&mut session));
    assert_eq!(payloads(&written, CLOSE), [1001u16.to_be_bytes()], "echoed, and once");
    assert_eq!(end(&mut session), []);
}

#[test]
fn an_end_without_a_close_fails_requests() {
    let fail = |id, failure| Event::Failed { id: Some(id), failure };
    let mut session = open(&[anything("a")], in_flight(2));
    session.handle_request(0, Outgoing::Listed(0));
    session.handle_request(1, Outgoing::Listed(0));
    transmit(&mut session);
    assert_eq!(feed(&mut session, &frame(TEXT, b"begun")), [Event::FirstByte(0)]);
    let lost = Event::CloseFrame(1006.into());
    let failed = [lost.clone(), fail(0, Failure::Truncated), fail(1, Failure::Closed)];
    assert_eq!(end(&mut session), failed);
    assert_eq!(end(&mut open(&[], in_flight(1))), [lost]);
}

#[test]
fn parts_before_a_fault_are_told_before_it() {
    let mut session = open(&[], in_flight(1));
    let bytes = [reply("part"), vec![0x83, 0], reply("ignored")].concat();
    assert_eq!(feed(&mut session, &bytes), [parts(1, 4), broken(Error::Opcode(3))]);
    assert_eq!(feed(&mut session, &reply("ignored")), []);
    let mut session = open(&[], in_flight(1));
    let bytes = [reply("part"), close(1000, b"")].concat();
    assert_eq!(
        feed(&mut session, &bytes),
        [parts(1, 4), Event::CloseFrame(1000.into()), Event::Over]
    );
}

#[test]
fn a_server_that_does_not_read_gets_the_last_pong_alone_6455_5_5_3() {
    let mut session = open(&[], in_flight(1));
    for n in 0..5000u32 {
        feed(&mut session, &frame(FIN | PING, &[&n.to_be_bytes()[..], &[0; 121]].concat()));
    }
    // 64 KiB and a frame; then the last.
    let written = frames(&transmit(&mut session));
    let pongs = payloads(&written, PONG);
    assert!(written.len() < 600, "{}", written.len());
    assert_eq!(pongs.last().unwrap()[..4], 4999u32.to_be_bytes());
    let before: Vec<&[u8]> = pongs[..pongs.len() - 1].iter().map(|one| &one[..4]).collect();
    let wanted: Vec<[u8; 4]> = (0..before.len() as u32).map(u32::to_be_bytes).collect();
    assert_eq!(before, wanted);
}

#[test]
fn floods_are_counted_by_the_second() {
    let limits = Limits { idle_frames: 10, ..Limits::default() };
    for idle in [frame(FIN | PING, b""), frame(FIN | PONG, b"x"), frame(CONTINUATION, b"")] {
        let mut session = open(&[], Settings { limits, ..Settings::default() });
        feed(&mut session, &frame(TEXT, b"begun"));
        let ten = idle.repeat(10);
        for second in 1..5 {
            assert_eq!(feed_at(&mut session, second * 1_000_000_000, &ten), []);
        }
        assert_eq!(feed_at(&mut session, 4_999_999_999, &idle), [broken(Error::Flood)]);
        assert_eq!(frames(&transmit(&mut session)).last().unwrap().payload, 1008u16.to_be_bytes());
    }
}

#[test]
fn messages_have_a_limit_in_one_frame_and_in_many() {
    let limits = Limits { message_bytes: 1000, ..Limits::default() };
    let whole = &frame(FIN | BINARY, &[0; 1001])[..4];
    let parts = [frame(BINARY, &[0; 600]), frame(CONTINUATION, &[0; 401])].concat();
    // By its header, before any of it is there.
    for bytes in [whole, &parts[..604 + 4]] {
        let mut session = open(&[], Settings { limits, ..Settings::default() });
        assert_eq!(feed(&mut session, bytes), [broken(Error::MessageTooLarge)]);
        assert_eq!(frames(&transmit(&mut session))[0].payload, 1009u16.to_be_bytes());
    }
    let mut session = open(&[], Settings { limits, ..Settings::default() });
    let most = [frame(BINARY, &[0; 600]), frame(FIN, &[0; 400])].concat();
    assert_eq!(feed(&mut session, &most), [crate::support::parts(1, 1000)]);
}

#[test]
fn lengths_are_as_short_as_they_can_be_and_below_2_to_63() {
    for (header, error) in [
        (&[0x82, 126, 0, 125][..], Error::LongLength),
        (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], Error::LongLength),
        (&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], Error::Length),
        (&[0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Error::Length),
        (&[0x82, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Error::MessageTooLarge),
        (&[0x82, 0x85], Error::Masked),
    ] {
        for piece in [1, header.len()] {
            let mut session = open(&[], in_flight(1));
            let events: Vec<Event> =
                header.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
            assert_eq!(events, [broken(error)], "{header:x?}");
        }
    }
}

const KEEP_ALIVE: KeepAlive = KeepAlive { interval_ns: 10_000, patience_ns: 3000 };

fn kept_alive() -> Session {
    open(&[anything("a")], Settings { keep_alive: Some(KEEP_ALIVE), ..Settings::default() })
}

#[test]
fn pings_of_ours_leave_at_their_time() {
    let mut session = kept_alive();
    assert_eq!(session.poll_timeout(), Some(10_000));
    session.handle_timeout(9_999);
    assert_eq!(transmit(&mut session), b"");
    session.handle_timeout(10_001);
    let ping = frames(&transmit(&mut session));
    assert_eq!((ping[0].first, &ping[0].payload[..]), (FIN | PING, &1u64.to_be_bytes()[..]));
    assert_eq!(session.poll_timeout(), Some(13_001));
    // Not ours.
    feed_at(&mut session, 11_000, &frame(FIN | PONG, b"other"));
    assert_eq!(session.poll_timeout(), Some(13_001));
    feed_at(&mut session, 12_000, &frame(FIN | PONG, &1u64.to_be_bytes()));
    assert_eq!(session.poll_timeout(), Some(20_001));
    session.handle_timeout(20_001);
    assert_eq!(payloads(&frames(&transmit(&mut session)), PING), [2u64.to_be_bytes()]);
}

#[test]
fn a_server_without_pongs_has_failed() {
    let mut session = kept_alive();
    session.handle_timeout(10_000);
    transmit(&mut session);
    session.handle_timeout(12_999);
    assert_eq!(events(&mut session), []);
    session.handle_timeout(13_000);
    assert_eq!(events(&mut session), [broken(Error::NoPong)]);
    assert_eq!(session.poll_timeout(), None);
    assert_eq!((session.free_places(), events(&mut session)), (0, vec![]));
}

#[test]
fn we_close_with_1000_and_take_nothing_more() {
    let mut session = kept_alive();
    session.handle_close();
    session.handle_close();
    assert_eq!(session.free_places(), 0);
    let written = frames(&transmit(&mut session));
    assert_eq!((written.len(), &written[0].payload[..]), (1, &1000u16.to_be_bytes()[..]));
    // The server's echo is not echoed.
    assert_eq!(
        feed(&mut session, &close(1000, b"")),
        [Event::CloseFrame(1000.into()), Event::Over]
    );
    assert_eq!(transmit(&mut session), b"");
}

#[test]
fn fragments_of_ours_carry_one_opcode() {
    let fragment_bytes = NonZeroUsize::new(2);
    let mut session = open(&[Message { fragment_bytes, ..text("Hello") }], in_flight(1));
    let sent = send_all(&mut session, 1);
    let shapes: Vec<(u8, &[u8])> = sent.iter().map(|one| (one.first, &one.payload[..])).collect();
    assert_eq!(shapes, [(TEXT, &b"He"[..]), (0, b"ll"), (FIN, b"o")]);
    let exact = Message { fragment_bytes, ..message(Kind::Binary, b"ab") };
    let sent = send_all(&mut open(&[exact], in_flight(1)), 1);
    assert_eq!((sent.len(), sent[0].first), (1, FIN | BINARY));
}
