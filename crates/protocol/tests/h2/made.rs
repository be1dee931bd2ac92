//! Requests that a script makes, and answers that it reads.

use candor_protocol::h2::{Settings, hpack};
use candor_protocol::made::Batch;
use candor_protocol::{CaptureRoom, Event, Failure, HeaderBytes, NotKept, Outgoing, Session as _};

use crate::support::*;

fn fields(decoder: &mut hpack::Decoder, block: &[u8]) -> Vec<String> {
    let mut got = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    decoder
        .decode(block, |name, value| got.push(format!("{}: {}", text(name), text(value))))
        .unwrap();
    got
}

#[test]
fn the_text_of_a_script_becomes_fields_and_frames() {
    let mut session = ready(3);
    let mut decoder = hpack::Decoder::default();
    let mut batch = Batch::new(0);
    let text = "POST /a?b HTTP/1.1\r\nHost: elsewhere\r\nX-Y: z\r\nConnection: close\r\n\
                Content-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\n\r\nPUT /3 HTTP/1.1\r\n\r\n";
    batch.fill(text.as_bytes()).unwrap();
    for id in 0..3 {
        session.handle_request(id, Outgoing::Made(batch.take().unwrap()));
    }
    let frames = frames(&transmit(&mut session));
    let [first, second, third, body] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(
        fields(&mut decoder, &first.payload),
        [
            ":method: POST",
            ":scheme: http",
            ":path: /a?b",
            ":authority: elsewhere",
            "x-y: z",
            "content-length: 3"
        ]
    );
    let get = [":method: GET", ":scheme: http", ":path: /2", ":authority: example"];
    assert_eq!(fields(&mut decoder, &second.payload), get);
    assert_eq!(fields(&mut decoder, &third.payload)[4], "content-length: 0");
    assert_eq!((second.flags, third.flags), (END_HEADERS | END_STREAM, END_HEADERS | END_STREAM));
    assert_eq!((body.kind, body.stream, &body.payload[..]), (DATA, 1, &b"abc"[..]));
    assert_eq!(feed(&mut session, &empty_answer(3, OK)), answered(1, 200, 0));
}

#[test]
fn chunks_of_a_script_become_data() {
    let mut session = ready(2);
    let mut decoder = hpack::Decoder::default();
    let mut batch = Batch::new(0);
    let text = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
                3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    batch.fill([text, "GET /b HTTP/1.1\r\n\r\n"].concat().as_bytes()).unwrap();
    for id in 0..2 {
        session.handle_request(id, Outgoing::Made(batch.take().unwrap()));
    }
    let frames = frames(&transmit(&mut session));
    let [first, second, body] = &frames[..] else { panic!("{frames:?}") };
    let wanted =
        [":method: POST", ":scheme: http", ":path: /a", ":authority: h", "content-length: 5"];
    assert_eq!(fields(&mut decoder, &first.payload), wanted);
    assert_eq!(fields(&mut decoder, &second.payload)[2], ":path: /b");
    assert_eq!((body.kind, body.stream, &body.payload[..]), (DATA, 1, &b"abcde"[..]));
}

fn room(most_body_bytes: usize) -> CaptureRoom {
    CaptureRoom::new(most_body_bytes, 16)
}

#[test]
fn a_response_beyond_the_limit_is_given_up_and_its_memory_given_back() {
    let room = room(100_000);
    let mut session = ready(3);
    session.capture(&room);
    for id in 0..3 {
        session.handle_request(id, Outgoing::Listed(0));
    }
    transmit(&mut session);
    let begin = [headers(1, OK), headers(3, OK), headers(5, OK)].concat();
    feed(&mut session, &begin);
    let piece = [b'x'; 10_000];
    for n in 1..=10 {
        assert_eq!(feed(&mut session, &[data(1, &piece), data(3, &piece)].concat()), [], "{n}");
    }
    assert!((200_000..250_000).contains(&room.held_bytes()), "{}", room.held_bytes());
    let failure = Failure::NotKept(NotKept::Body(100_000));
    assert_eq!(
        feed(&mut session, &data(1, b"y")),
        [Event::RequestFailed { id: 0, failure }],
        "one byte too many"
    );
    let reset = frames(&transmit(&mut session)).pop().unwrap();
    assert_eq!((reset.kind, reset.stream, &reset.payload[..]), (RST_STREAM, 1, &[0, 0, 0, 8][..]));
    assert!(room.held_bytes() < 150_000, "{}", room.held_bytes());
    // The others go on: one of just the limit, and one that the server resets.
    assert_eq!(feed(&mut session, &last_data(3, b"")), answered(1, 200, 100_000)[1..]);
    assert_eq!(session.take_captured().unwrap().get().body.len(), 100_000);
    assert_eq!(room.held_bytes(), 0);
    feed(&mut session, &data(5, &piece));
    assert!(room.held_bytes() >= 10_000);
    feed(&mut session, &frame(RST_STREAM, 0, 5, &[0, 0, 0, 2]));
    assert_eq!(room.held_bytes(), 0);
}

#[test]
fn all_connections_of_a_worker_share_one_room() {
    let room = room(100_000);
    let mut sessions: Vec<_> = (0..20).map(|_| ready(1)).collect();
    let mut given_up = 0;
    for session in &mut sessions {
        session.capture(&room);
        session.handle_request(0, Outgoing::Listed(0));
        transmit(session);
        feed(session, &headers(1, OK));
        for _ in 0..9 {
            let events = feed(session, &data(1, &[b'x'; 10_000]));
            let failure = Failure::NotKept(NotKept::Together(1_600_000));
            given_up += usize::from(events == [Event::RequestFailed { id: 0, failure }]);
        }
        assert!(room.held_bytes() <= 1_600_000);
    }
    assert!((2..=5).contains(&given_up), "{given_up}");
    drop(sessions);
    assert_eq!(room.held_bytes(), 0);
}

#[test]
fn answers_are_kept_whole_though_they_come_interleaved() {
    let mut session = ready(2);
    session.capture(&room(100));
    for id in 0..2 {
        session.handle_request(id, Outgoing::Listed(0));
    }
    transmit(&mut session);
    assert!(session.take_captured().is_none());
    let block = |value: &str| [OK, &literal("x-which", value)].concat();
    let early = [&[0x08, 3][..], b"103", &literal("link", "a")].concat();
    let input = [
        headers(1, &early),
        headers(1, &block("one")),
        headers(3, &block("two")),
        data(1, b"first "),
        last_data(3, b"second"),
    ];
    feed(&mut session, &input.concat());
    let kept = session.take_captured().unwrap();
    assert_eq!((kept.get().fields, kept.get().body), (&b"x-which: two\r\n"[..], &b"second"[..]));
    let trailers = frame(HEADERS, END_HEADERS | END_STREAM, 1, &literal("late", "x"));
    feed(&mut session, &[data(1, b"answer"), trailers].concat());
    let kept = session.take_captured().unwrap();
    assert_eq!(
        (kept.get().fields, kept.get().body),
        (&b"x-which: one\r\n"[..], &b"first answer"[..])
    );
    // The same block again: nothing is left out because it is known.
    for id in 2..4 {
        session.handle_request(id, Outgoing::Listed(0));
    }
    transmit(&mut session);
    feed(&mut session, &[headers(5, &block("one")), last_data(5, b"")].concat());
    let kept = session.take_captured().unwrap();
    assert_eq!((kept.get().fields, kept.get().body), (&b"x-which: one\r\n"[..], &b""[..]));
}

#[test]
fn header_bytes_are_counted_as_they_came_and_as_they_mean() {
    let mut session = ready_with(&[prepared("GET", b"")], Settings::default());
    for id in 0..3 {
        session.handle_request(id, Outgoing::Listed(0));
        transmit(&mut session);
        // `:status: 200` is a byte by the static table; `x: y` five.
        feed(&mut session, &empty_answer(2 * id + 1, &[OK, &literal("x", "y")].concat()));
    }
    let expected = HeaderBytes { received: 3 * 6, decoded: 3 * (":status200".len() as u64 + 2) };
    session.handle_close();
    assert_eq!(session.poll_event(), Some(Event::HeaderBytes(expected)));
}
