//! Requests that a script makes, and answers that it reads.

use candor_protocol::h2::{Settings, hpack};
use candor_protocol::made::Batch;
use candor_protocol::{HeaderBytes, Session as _};

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
        session.handle_made(id, &batch.take().unwrap());
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
fn answers_are_kept_whole_though_they_come_interleaved() {
    let mut session = ready(2);
    session.capture();
    for id in 0..2 {
        session.handle_request(id, 0);
    }
    transmit(&mut session);
    assert_eq!(session.captured().unwrap().body, b"");
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
    let kept = session.captured().unwrap();
    assert_eq!((kept.fields, kept.body), (&b"x-which: two\r\n"[..], &b"second"[..]));
    let trailers = frame(HEADERS, END_HEADERS | END_STREAM, 1, &literal("late", "x"));
    feed(&mut session, &[data(1, b"answer"), trailers].concat());
    let kept = session.captured().unwrap();
    assert_eq!((kept.fields, kept.body), (&b"x-which: one\r\n"[..], &b"first answer"[..]));
    // The same block again: nothing is left out because it is known.
    for id in 2..4 {
        session.handle_request(id, 0);
    }
    transmit(&mut session);
    feed(&mut session, &[headers(5, &block("one")), last_data(5, b"")].concat());
    let kept = session.captured().unwrap();
    assert_eq!((kept.fields, kept.body), (&b"x-which: one\r\n"[..], &b""[..]));
}

#[test]
fn header_bytes_are_counted_as_they_came_and_as_they_mean() {
    let mut session = ready_with(&[prepared("GET", b"")], Settings::default());
    for id in 0..3 {
        session.handle_request(id, 0);
        transmit(&mut session);
        // `:status: 200` is a byte by the static table; `x: y` five.
        feed(&mut session, &empty_answer(2 * id + 1, &[OK, &literal("x", "y")].concat()));
    }
    let expected = HeaderBytes { received: 3 * 6, decoded: 3 * (":status200".len() as u64 + 2) };
    assert_eq!(session.header_bytes(), expected);
}
