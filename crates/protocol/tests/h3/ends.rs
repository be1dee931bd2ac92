//! Ends of streams and of connections: each is an outcome with a name.

use candor_plan::Trust;
use candor_protocol::h3::{Error, Settings};
use candor_protocol::{Event, Failure, GoAway, Input, Session as _};
use candor_record::{Cause, ErrorKind};
use candor_testkit::h3::Server;

use crate::support::*;

#[test]
fn a_reset_stream_is_a_reset_and_a_rejected_one_was_not_processed_9114_8_1() {
    let mut pair = Pair::of_gets(3, |_, _| None).ready();
    pair.request(0..3);
    pair.run_for(LATENCY_NS);
    let served = pair.server.connection();
    served.reset(0, 0x102);
    served.reset(4, 0x10b);
    served.write(8, &ok(b"alive"));
    served.finish(8);
    pair.run_for(2 * LATENCY_NS);
    let mut events = pair.take_events();
    events.sort_by_key(|event| format!("{event:?}"));
    let expected =
        [done(2, 200, 5), failed(0, Failure::StreamReset(0x102)), failed(1, Failure::NotProcessed)];
    assert_eq!(events, expected);
    assert_eq!(pair.client.free_places(), 3);
}

#[test]
fn goaway_ends_the_connection_when_what_it_allows_is_answered_9114_5_2() {
    let mut pair = Pair::of_gets(3, |_, _| None).ready();
    pair.request(0..3);
    pair.run_for(LATENCY_NS);
    let served = pair.server.connection();
    // The first stream that the server opened.
    served.write(3, &frame(7, &[8]));
    pair.run_for(LATENCY_NS);
    let goaway = Event::GoAway(GoAway { code: 0, last_stream: 4 });
    assert_eq!(pair.take_events(), [goaway, failed(2, Failure::NotProcessed)]);
    assert_eq!(pair.client.free_places(), 0);
    let served = pair.server.connection();
    for id in [4, 0] {
        served.write(id, &ok(b""));
        served.finish(id);
    }
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(1, 200, 0), done(0, 200, 0), Event::Over]);
}

/// Two requests, the first of them half answered; then `end`. The events of that, and of the end.
fn ended(end: impl FnOnce(&mut Pair)) -> (Vec<Event>, Vec<Event>) {
    let mut pair = Pair::of_gets(2, |_, _| None).ready();
    pair.request(0..2);
    pair.run_for(LATENCY_NS);
    pair.server.connection().write(0, &ok(b"alive")[..9]);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [Event::FirstByte(0)]);
    end(&mut pair);
    pair.run_for(2 * LATENCY_NS);
    (pair.take_events(), pair.end())
}

/// The server closes the connection.
pub(crate) fn close<S: candor_protocol::Session>(pair: &mut Pair<S>, code: u32) {
    let now = std::time::Instant::now();
    pair.server.connection().quic.close(now, code.into(), (&b"so it goes"[..]).into());
}

#[test]
fn a_server_that_closes_leaves_each_request_with_its_outcome() {
    let both = |first: Failure, second: Failure| {
        [(0, first), (1, second)]
            .map(|(id, failure)| Event::Failed { id: Some(id), failure })
            .to_vec()
    };
    let (said, after) = ended(|pair| close(pair, 0x100));
    assert_eq!(said, [Event::End]);
    assert_eq!(after, both(Failure::Truncated, Failure::Closed));
    let (said, after) = ended(|pair| close(pair, 0x102));
    assert_eq!(said, [Event::End]);
    let why = || Error::ClosedByServer { code: 0x102, reason: "so it goes".into() }.into();
    let failure = |kind| Failure::Ended { kind, why: why() };
    assert_eq!(after, both(failure(ErrorKind::Truncated), failure(ErrorKind::Closed)));
    assert_eq!(
        failure(ErrorKind::Closed).words().1.to_string(),
        "the server closed the connection, HTTP/3 error code 0x102: so it goes"
    );
}

#[test]
fn a_server_that_falls_silent_ends_by_the_idle_timeout_of_quic() {
    let (said, after) = ended(|pair| {
        pair.loses = Box::new(|_| true);
        pair.run_for(60_000 * MS);
    });
    assert_eq!(said, [Event::End]);
    let failure = || Failure::Ended { kind: ErrorKind::IdleTimeout, why: Error::Silent.into() };
    assert_eq!(after, [0, 1].map(|id| Event::Failed { id: Some(id), failure: failure() }));
}

#[test]
fn a_stateless_reset_is_a_reset() {
    let (said, _) = ended(|pair| {
        // It was restarted, and knows no connection any more: with the key of its resets.
        pair.server.forget();
        pair.client.cancel(1);
    });
    let failure = Failure::Ended { kind: ErrorKind::Reset, why: Error::StatelessReset.into() };
    assert_eq!(said, [Event::Failed { id: None, failure }]);
}

/// The only event of a connection to `server` that does not get ready.
fn not_ready(server: Server, trust: impl FnOnce(&Server) -> Trust) -> Failure {
    let session = session(trust(&server), &[plan_request("GET", &[], b"")], Settings::default());
    let mut pair = Pair::new(session, server);
    pair.run_for(4 * LATENCY_NS);
    match &pair.take_events()[..] {
        [Event::Failed { id: None, failure }] => failure.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_handshake_fails_with_the_words_of_tls() {
    let server = |names: &[&str], alpn: &[&str]| Server::new(names, alpn, |_| (), |_, _| None);
    let stranger = |_: &Server| only(&server(&["example.com"], &["h3"]));
    for (failure, cause, words) in [
        (not_ready(server(&["example.com"], &["h3"]), stranger), Cause::Issuer, "trusted CA"),
        (not_ready(server(&["other.com"], &["h3"]), only), Cause::CertificateName, "other.com"),
        (not_ready(server(&["example.com"], &["h4"]), only), Cause::Alpn, "none of the protocols"),
    ] {
        let (kind, reason) = failure.words();
        assert_eq!((kind, reason.cause), (ErrorKind::Malformed, Some(cause)), "{reason}");
        assert!(reason.words.contains(words), "{reason}");
    }
}

#[test]
fn a_port_without_quic_is_told_from_a_handshake_that_stops() {
    // So many names that the server's first flight is several datagrams.
    let names: Vec<String> = (0..100).map(|n| format!("example-{n}.com")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (lost, awaited) in [(0, "anything over UDP"), (1, "the rest of its QUIC handshake")] {
        let server = Server::new(&names, &["h3"], |_| (), |_, _| None);
        let get = plan_request("GET", &[], b"");
        let mut pair = Pair::new(session(only(&server), &[get], Settings::default()), server);
        pair.loses = Box::new(move |n| n > lost);
        pair.run_for(100 * MS);
        assert_eq!(pair.take_events(), []);
        let [Event::Failed { id: None, failure: Failure::NotReady(said) }] = &pair.end()[..] else {
            panic!("no failure");
        };
        assert!(said.starts_with(awaited), "{said}");
    }
}

#[test]
fn a_goodbye_says_that_nothing_is_wrong_and_how_many_header_bytes_came() {
    let mut pair = Pair::of_gets(1, |_, _| Some(ok(b"alive"))).ready();
    pair.request([0]);
    pair.run_for(2 * LATENCY_NS);
    pair.events.clear();
    pair.client.handle_close();
    pair.run_for(LATENCY_NS);
    let events = pair.take_events();
    let [Event::HeaderBytes(bytes), Event::Path(path)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((bytes.received, bytes.decoded), (6, 25));
    assert_eq!((path.least_rtt_ns, path.counts.lost), (2 * LATENCY_NS, 0));
    let lost = pair.server.connections.values().next().and_then(|one| one.lost.clone());
    let Some(quinn_proto::ConnectionError::ApplicationClosed(close)) = lost else {
        panic!("{lost:?}")
    };
    assert_eq!(close.error_code.into_inner(), 0x100);
    let mut input = Input::Datagram { bytes: b"whatever comes after it", ecn: 0 };
    assert_eq!(pair.client.handle_input(pair.now_ns, &mut input), None);
}
