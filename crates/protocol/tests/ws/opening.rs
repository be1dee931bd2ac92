//! The opening over HTTP/1.1 (RFC 6455 4), and a named failure for each fault.

use candor_protocol::ws::{Error, Limits, Opening, Session, Settings, Setup};
use candor_protocol::{Event, Failure, Malformed, Session as _, h1};

use crate::support::*;

fn offering(subprotocols: &[&str]) -> Settings {
    let subprotocols = subprotocols.iter().map(|one| (*one).to_owned()).collect();
    Settings { subprotocols, ..Settings::default() }
}

#[test]
fn the_request_has_what_6455_4_1_asks_for() {
    let settings = offering(&["chat", "superchat"]);
    let mut asking = request();
    // Ours take the place of these.
    asking.method = "POST".to_owned();
    asking.body = b"x"[..].into();
    for (name, value) in
        [("upgrade", "h2c"), ("Sec-WebSocket-Version", "8"), ("Origin", "http://o")]
    {
        asking.headers.push((name.to_owned(), value.to_owned()));
    }
    let opening = Opening::new(&asking, "example:81", &settings);
    let mut session = Session::new(&opening, Setup::new([], settings).into(), 7);
    let head = String::from_utf8(transmit(&mut session)).unwrap();
    let (fixed, key) = head.split_once("Sec-WebSocket-Key: ").unwrap();
    assert_eq!(
        fixed,
        "GET /echo HTTP/1.1\r\nHost: example:81\r\nX-A: b\r\nOrigin: http://o\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Protocol: chat, superchat\r\n"
    );
    // 16 bytes in base64.
    assert!(key.len() == 28 && key.ends_with("==\r\n\r\n"), "{key:?}");
}

#[test]
fn a_right_response_opens_in_any_pieces() {
    let lines = "X: y\r\nSec-WebSocket-Protocol: superchat\r\nSec-WebSocket-Extensions: \r\n";
    for piece in [1, 7, usize::MAX] {
        let (mut session, key) = asked(&[], offering(&["chat", "superchat"]));
        let interim = "HTTP/1.1 103 Early Hints\r\n\r\n";
        let input = format!("{interim}{}", switching(&key, lines)).into_bytes();
        let input = [input, frame(FIN | TEXT, b"hi")].concat();
        let events: Vec<Event> = input
            .chunks(piece.min(input.len()))
            .flat_map(|part| feed(&mut session, part))
            .collect();
        assert_eq!(events, [READY, parts(1, 2)]);
        assert_eq!(session.free_places(), 1);
    }
}

#[test]
fn each_fault_has_its_name() {
    let whole = |key: &str| switching(key, "");
    let without = |key: &str, line: &str| {
        let whole = switching(key, "");
        let lines = whole.split_inclusive("\r\n").filter(|one| !one.starts_with(line));
        lines.collect::<String>()
    };
    type Said<'a> = Box<dyn Fn(&str) -> String + 'a>;
    let fixed = |text: &'static str| -> Said<'_> { Box::new(move |_| text.to_owned()) };
    let with = |lines: &'static str| -> Said<'_> { Box::new(move |key| switching(key, lines)) };
    let cases: Vec<(Said<'_>, Malformed)> = vec![
        (fixed("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), Error::Status(403).into()),
        (fixed("HTTP/1.1 200 OK\r\n\r\n"), Error::Status(200).into()),
        (fixed("HTTP/1.1 301 Moved\r\nLocation: /x\r\n\r\n"), Error::Status(301).into()),
        (fixed("HTTP/1.1 426 Upgrade Required\r\n\r\n"), Error::Status(426).into()),
        (Box::new(|key| without(key, "Upgrade")), Error::Upgrade.into()),
        (Box::new(move |key| whole(key).replace("websocket", "h2c")), Error::Upgrade.into()),
        (Box::new(|key| without(key, "Connection")), Error::Connection.into()),
        (
            Box::new(move |key| whole(key).replace("n: Upgrade", "n: close")),
            Error::Connection.into(),
        ),
        (Box::new(|key| without(key, "Sec-WebSocket-Accept")), Error::Accept.into()),
        (Box::new(|_| switching("dGhlIHNhbXBsZSBub25jZQ==", "")), Error::Accept.into()),
        (with("Sec-WebSocket-Accept: again\r\n"), Error::Accept.into()),
        (with("Sec-WebSocket-Protocol: other\r\n"), Error::Subprotocol.into()),
        (
            with("Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: chat\r\n"),
            Error::Subprotocol.into(),
        ),
        (with("Sec-WebSocket-Protocol: chat, superchat\r\n"), Error::Subprotocol.into()),
        (with("No colon\r\n"), h1::Error::FieldSpace.into()),
        (fixed("SSH-2.0-x\r\n\r\n"), h1::Error::StatusLine.into()),
        (fixed("HTTP/1.1 1o1 x\r\n\r\n"), h1::Error::StatusLine.into()),
        (fixed("HTTP/2.0 101 x\r\n\r\n"), h1::Error::Version.into()),
    ];
    for (said, error) in cases {
        for piece in [1, 10_000] {
            let (mut session, key) = asked(&[], offering(&["chat", "superchat"]));
            let input = said(&key).into_bytes();
            let events: Vec<Event> =
                input.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
            let failure = Failure::Malformed(error.clone());
            assert_eq!(events, [Event::Failed { id: None, failure }], "{}", said(&key));
            assert_eq!((session.free_places(), session.outstanding()), (0, 0));
            session.handle_close();
            assert_eq!((end(&mut session), transmit(&mut session)), (vec![], vec![]));
        }
    }
}

#[test]
fn a_subprotocol_or_extension_without_an_offer_is_refused() {
    let (mut session, key) = asked(&[], Settings::default());
    let said = switching(&key, "Sec-WebSocket-Protocol: chat\r\n");
    assert_eq!(feed(&mut session, said.as_bytes()), [broken(Error::Subprotocol)]);
}

#[test]
fn a_response_without_an_end_is_bounded() {
    let limits = Limits { header_block_bytes: 1000, interim_answers: 3, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    for piece in [1, 5000] {
        let (mut session, _) = asked(&[], settings.clone());
        let input = format!("HTTP/1.1 101 x\r\nA: {}", "x".repeat(5000)).into_bytes();
        let events: Vec<Event> =
            input.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
        assert_eq!(events, [broken(Error::HeaderBlockTooLarge)]);
        let (mut session, _) = asked(&[], settings.clone());
        let input = "HTTP/1.1 100 Continue\r\n\r\n".repeat(4).into_bytes();
        let events: Vec<Event> =
            input.chunks(piece).flat_map(|part| feed(&mut session, part)).collect();
        assert_eq!(events, [broken(Error::TooManyInterimAnswers)]);
    }
}

#[test]
fn an_end_before_the_response_is_named() {
    for said in ["", "HTTP/1.1 10"] {
        let (mut session, _) = asked(&[], Settings::default());
        feed(&mut session, said.as_bytes());
        let failure = Failure::NotReady("the response that opens a WebSocket");
        assert_eq!(end(&mut session), [Event::Failed { id: None, failure }]);
        assert_eq!(events(&mut session), []);
    }
}
