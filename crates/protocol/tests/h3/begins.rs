//! How connections begin: a Retry, and requests before the handshake is over.

use candor_protocol::h3::{Session, Settings, Setup, prepare};
use candor_protocol::tls::Connector;
use candor_protocol::{Event, Session as _};
use candor_record::Handshake;
use candor_testkit::h3::Server;
use candor_testkit::plans::tls;

use crate::support::*;

/// What was negotiated; the event is not kept.
fn secured(pair: &mut Pair) -> (u64, Handshake) {
    let at = pair.events.iter().position(|(_, event)| matches!(event, Event::Secured(_)));
    match pair.events.remove(at.expect("a handshake")) {
        (at_ns, Event::Secured(facts)) => (at_ns, *facts),
        _ => unreachable!("it was found"),
    }
}

/// RFC 9000 8.1.2.
#[test]
fn a_server_that_wants_the_address_proved_gets_it() {
    for retries in [false, true] {
        let server = Server::new(&["example.com"], &["h3"], |_| (), |_, _| Some(ok(b"alive")));
        let client = session(only(&server), &[plan_request("GET", &[], b"")], Settings::default());
        let mut pair = Pair::new(client, server);
        pair.server.retries = retries;
        pair.run_for(20 * LATENCY_NS);
        assert_eq!(pair.server.retried, u64::from(retries));
        let (at_ns, facts) = secured(&mut pair);
        assert_eq!(facts.retried, retries);
        // It costs a round trip.
        assert_eq!(at_ns, if retries { 4 } else { 2 } * LATENCY_NS);
        pair.events.clear();
        pair.request([0]);
        pair.run_for(2 * LATENCY_NS);
        assert_eq!(pair.take_events(), [done(0, 200, 5)]);
    }
}

/// A Retry whose tag is not the server's is passed over (RFC 9001 5.8).
#[test]
fn a_retry_of_somebody_else_is_passed_over() {
    let server = Server::new(&["example.com"], &["h3"], |_| (), |_, _| Some(ok(b"alive")));
    let client = session(only(&server), &[plan_request("GET", &[], b"")], Settings::default());
    let mut pair = Pair::new(client, server);
    pair.flush();
    let mut retry = vec![0xf0, 0, 0, 0, 1, 0, 8];
    retry.extend([7; 8 + 20 + 16]);
    pair.feed(&retry, 0);
    pair.run_for(20 * LATENCY_NS);
    assert!(!secured(&mut pair).1.retried);
    assert_eq!(pair.server.connections.len(), 1);
}

/// Sessions of one thread, which keep its tickets.
fn sessions(server: &Server) -> impl Fn() -> Session + use<> {
    let mut tls = tls("example.com", "h3", only(server));
    (tls.resumption, tls.early_data) = (true, true);
    let connector = Connector::new(&tls, || Ok(Vec::new())).unwrap();
    let table = [prepare(&plan_request("GET", &[], b""), "https", "example.com")];
    let settings = Settings { streams: 3, ..Settings::default() };
    let setup = Setup::of(&connector, &settings);
    move || Session::new(table.clone().into(), settings, setup.clone())
}

/// A pair with a second connection, for which there is a ticket.
fn resumed(change: impl FnOnce(&mut Server)) -> Pair {
    let server = Server::new(&["example.com"], &["h3"], |_| (), |_, _| Some(ok(b"alive")));
    let make = sessions(&server);
    let mut pair = Pair::new(make(), server).ready();
    pair.request([0]);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(0, 200, 5)]);
    pair.client.handle_close();
    pair.flush();
    pair.run_for(10 * LATENCY_NS);
    pair.events.clear();
    pair.started.clear();
    change(&mut pair.server);
    pair.client = make();
    pair.server.requests = 0;
    pair
}

/// RFC 9001 4.6: requests are in the first flight, and their responses one round trip behind it.
#[test]
fn requests_leave_with_the_first_flight_9001_4_6() {
    let mut pair = resumed(|_| ());
    let begun_ns = pair.now_ns;
    pair.flush();
    let are_ready = pair.take_events();
    assert!(matches!(are_ready[..], [Event::Ready(_)]), "{are_ready:?}");
    assert_eq!(pair.client.free_places(), 3);
    pair.request([1, 2]);
    pair.flush();
    assert_eq!(pair.started, [(begun_ns, 1), (begun_ns, 2)]);
    pair.run_for(2 * LATENCY_NS);
    let (_, facts) = secured(&mut pair);
    assert_eq!((facts.resumed, facts.early_data), (true, Some(true)));
    let expected = [done(1, 200, 5), done(2, 200, 5)];
    assert_eq!(pair.take_events(), expected);
    assert_eq!(pair.server.requests, 2);
    pair.request([3]);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(3, 200, 5)]);
}

/// RFC 9001 4.6.2: what the server refuses is sent again behind the handshake, once, on the streams that it was on.
#[test]
fn what_is_refused_is_sent_again_9001_4_6_2() {
    let mut pair = resumed(Server::refuse_early_data);
    let begun_ns = pair.now_ns;
    pair.flush();
    pair.take_events();
    pair.request([1, 2]);
    pair.flush();
    // One of them has its outcome before the handshake is over.
    assert!(pair.client.cancel(1));
    assert_eq!(pair.started, [(begun_ns, 1), (begun_ns, 2)]);
    pair.run_for(4 * LATENCY_NS);
    let (at_ns, facts) = secured(&mut pair);
    assert_eq!((facts.resumed, facts.early_data), (true, Some(false)));
    assert_eq!(at_ns, begun_ns + 2 * LATENCY_NS);
    assert_eq!(pair.take_events(), [done(2, 200, 5)]);
    assert_eq!(pair.server.requests, 1);
    pair.request([3, 4, 5]);
    pair.run_for(2 * LATENCY_NS);
    assert_eq!(pair.server.requests, 4);
    assert_eq!(pair.take_events().len(), 3);
}

/// Without a ticket there is nothing early.
#[test]
fn without_a_ticket_it_waits_for_the_handshake() {
    let server = Server::new(&["example.com"], &["h3"], |_| (), |_, _| Some(ok(b"alive")));
    let make = sessions(&server);
    let mut pair = Pair::new(make(), server);
    pair.flush();
    assert_eq!((pair.take_events(), pair.client.free_places()), (vec![], 0));
    pair.run_for(4 * LATENCY_NS);
    assert_eq!(secured(&mut pair).1.early_data, None);
}
