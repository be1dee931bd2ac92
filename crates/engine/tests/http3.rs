//! HTTP/3 in simulated time: a worker, its sessions and a QUIC server on a link of datagrams, against closed forms.

use std::net::{Ipv4Addr, SocketAddr};

use candor_engine::{Control, drive};
use candor_plan::{Arrivals, HttpVersion, Parts, Request, Trust};
use candor_record::{Blocked, ErrorKind, RunRecord};
use candor_testkit::h3::Server;
use candor_testkit::plans::tls;
use candor_testkit::sim::{Link, Reaction, SimReactor, SimServer};

use crate::common::*;

/// One way.
const LATENCY_NS: u64 = 10 * MS;

/// Answers each request on its stream after nothing but the link, by a server that is only called when something comes.
struct Quic(Server);

/// A frame of header fields with the status 200 of the static table, and one of a body of five bytes.
const ANSWER: [u8; 12] = [1, 3, 0, 0, 0xd9, 0, 5, b'a', b'l', b'i', b'v', b'e'];

impl Quic {
    fn new(answers: impl FnMut(u64, &[u8]) -> Option<Vec<u8>> + 'static) -> Self {
        Quic(Server::new(&["sim"], &["h3"], |_| (), answers))
    }
}

impl SimServer for Quic {
    fn request(&mut self, _: u64, _: u64, _: u64) -> Reaction {
        unreachable!("it has datagrams alone")
    }

    fn datagram(&mut self, at_ns: u64, connection: u64, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 10_000 + connection as u16));
        while self.0.poll_timeout().is_some_and(|timeout_ns| timeout_ns <= at_ns) {
            self.0.handle_timeout(at_ns);
        }
        self.0.handle(at_ns, from, bytes, 0);
        let mut said = Vec::new();
        while let Some((to, bytes, _)) = self.0.poll_transmit(at_ns) {
            // Nothing of another connection is due at a time that only this one was called at.
            if to == from {
                said.push((at_ns, bytes));
            }
        }
        said
    }
}

fn over_quic(mut plan: Parts, streams: u32) -> Parts {
    plan.target.url = "https://sim/".to_owned();
    plan.target.http = HttpVersion::H3;
    plan.target.tls = Some(tls("sim", "h3", Trust::Anybody));
    plan.connections.streams = streams;
    plan
}

fn run(plan: Parts, streams: u32, server: Quic, loses: fn(u64) -> bool) -> RunRecord {
    let link = Link { latency_ns: LATENCY_NS, loses: Some(loses), ..Link::default() };
    let plan = checked(&over_quic(plan, streams));
    let record = drive(&plan, SimReactor::new(server, link), &Control::default());
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    let latencies = &record.total.latencies;
    let blocked_ns = record.total.blocked.as_ref().map_or(0, |blocked| {
        assert_eq!(blocked.time.sum_ns(), u128::from(blocked.by.total_ns()));
        blocked.time.sum_ns()
    });
    let lag_ns = latencies.send_lag.sum_ns();
    assert_eq!(
        latencies.response.sum_ns(),
        latencies.queue_wait.sum_ns() + lag_ns + blocked_ns + latencies.service.sum_ns()
    );
    record
}

/// Uploads of 1,100 bytes, all at once, a single time.
fn uploads(count: u32) -> Parts {
    let mut plan = plan(1, closed(0), 10 * S);
    let body = vec![b'x'; 1100];
    plan.work = vec![Request { method: "POST".to_owned(), body: body.into(), ..get("/") }].into();
    plan.stop.count = Some(count.into());
    plan
}

/// The first request takes all that the server allows to send, the other waits for the server's word, which comes with
/// the first bytes of its response to what it got: a round trip.
#[test]
fn what_the_servers_limit_holds_back_is_blocked() {
    let answers = |_, _: &[u8]| Some(ANSWER.to_vec());
    let server = Server::new(
        &["sim"],
        &["h3"],
        |own| {
            own.receive_window(1000_u32.into());
        },
        answers,
    );
    let server = Quic(server);
    let record = run(uploads(2), 2, server, |_| false);
    let total = &record.total;
    assert_eq!((total.ledger.sent, total.ledger.ok), (2, 2), "{:?}", total.ledger);
    let blocked = total.blocked.as_ref().expect("one is blocked");
    assert_eq!((blocked.time.count(), blocked.time.max_ns()), (1, Some(2 * LATENCY_NS)));
    assert_eq!((blocked.by.flow_control_ns, blocked.by.congestion_ns), (2 * LATENCY_NS, 0));
    assert_eq!(total.latencies.send_lag.max_ns(), Some(0));
}

/// The window takes 14 of them, as the handshake left it; the others leave when those are acknowledged.
#[test]
fn what_the_congestion_window_holds_back_is_blocked() {
    let record = run(uploads(20), 20, Quic::new(|_, _| Some(ANSWER.to_vec())), |_| false);
    let total = &record.total;
    assert_eq!((total.ledger.sent, total.ledger.ok), (20, 20), "{:?}", total.ledger);
    let blocked = total.blocked.as_ref().expect("some are blocked");
    let ends = (blocked.time.min_ns(), blocked.time.max_ns());
    assert_eq!((blocked.time.count(), ends), (6, (Some(2 * LATENCY_NS), Some(2 * LATENCY_NS))));
    let by = Blocked { congestion_ns: 6 * 2 * LATENCY_NS, flow_control_ns: 0 };
    assert_eq!(blocked.by, by);
    assert_eq!(total.latencies.send_lag.max_ns(), Some(0));
    // The one at the edge of the window left with a part of its body.
    let service = &total.latencies.service;
    assert_eq!((service.min_ns(), service.max_ns()), (Some(2 * LATENCY_NS), Some(4 * LATENCY_NS)));
    assert_eq!(total.latencies.response.max_ns(), Some(4 * LATENCY_NS));
}

/// A response of 20,000 bytes needs no word of ours in a large window; in one of 4 KiB the server says that it has to wait.
#[test]
fn a_window_that_stops_the_server_is_counted() {
    let mut answer = ANSWER[..5].to_vec();
    answer.extend([0, 0x80, 0, 0x4e, 0x20]);
    answer.resize(answer.len() + 20_000, b'x');
    for (stream_bits, is_stopped) in [(30, false), (12, true)] {
        let answer = answer.clone();
        let mut plan = plan(1, closed(0), 10 * S);
        plan.stop.count = Some(10);
        plan.connections.windows.stream_bits = stream_bits;
        let record = run(plan, 1, Quic::new(move |_, _| Some(answer.clone())), |_| false);
        let total = &record.total;
        assert_eq!((total.ledger.ok, total.bytes.bodies), (10, 200_000), "{:?}", total.ledger);
        let stopped = total.paths.as_ref().expect("a connection ended").counts.stopped_by_window;
        assert_eq!(stopped > 0, is_stopped, "{stopped}");
    }
}

#[test]
fn an_open_load_takes_the_round_trip_and_nothing_else() {
    let load = open(100, Arrivals::Constant);
    let record = run(plan(1, load, 10 * S), 10, Quic::new(|_, _| Some(ANSWER.to_vec())), |_| false);
    let total = &record.total;
    assert_eq!((total.ledger.sent, total.ledger.ok), (1000, 1000), "{:?}", total.ledger);
    for latency in [&total.latencies.response, &total.latencies.service] {
        assert_eq!(
            (latency.min_ns(), latency.max_ns()),
            (Some(2 * LATENCY_NS), Some(2 * LATENCY_NS))
        );
    }
    assert_eq!(total.handshake.count(), 1);
    assert_eq!(total.handshake.max_ns(), Some(2 * LATENCY_NS));
    assert_eq!(total.bytes.bodies, 5000);
    let paths = total.paths.as_ref().expect("a connection ended");
    assert_eq!((paths.counts.connections, paths.counts.lost), (1, 0));
    for rtt in [&paths.rtt, &paths.least_rtt] {
        assert_eq!((rtt.count(), rtt.max_ns()), (1, Some(2 * LATENCY_NS)));
    }
    assert_eq!(paths.counts.datagram_bytes, 1452);
    let counts = &paths.counts;
    assert!(counts.packets >= 1000 && counts.window_bytes >= 12_000, "{counts:?}");
    assert_eq!((paths.counts.stopped_by_window, paths.counts.black_holes), (0, 0));
    assert!(total.datagrams.sent >= 1000 && total.datagrams.received >= 1000);
}

#[test]
fn a_closed_load_has_each_stream_for_itself() {
    let record =
        run(plan(2, closed(0), 10 * S), 3, Quic::new(|_, _| Some(ANSWER.to_vec())), |_| false);
    let total = &record.total;
    // Six streams, one request on each in 20 ms; the 500th response of each comes when the window is over.
    assert_eq!(record.answered_in_window, 6 * 499);
    assert_eq!(total.latencies.service.max_ns(), Some(2 * LATENCY_NS));
}

/// Ten responses of 1,000 bytes are eight datagrams, which are there at once, and ten requests that follow them are one.
#[test]
fn requests_that_follow_datagrams_leave_together() {
    let mut answer = ANSWER[..5].to_vec();
    answer.extend([0, 0x43, 0xe8]);
    answer.resize(answer.len() + 1000, b'x');
    let server = Quic::new(move |_, _| Some(answer.clone()));
    let link =
        Link { latency_ns: LATENCY_NS, apart: true, loses: Some(|_| false), ..Link::default() };
    let plan = checked(&over_quic(plan(1, closed(0), 10 * S), 10));
    let record = drive(&plan, SimReactor::new(server, link), &Control::default());
    let total = &record.total;
    // The first ones take two round trips: the server's window is small then.
    assert_eq!(total.latencies.service.min_ns(), Some(2 * LATENCY_NS));
    assert!(record.answered_in_window > 10 * 498, "{}", record.answered_in_window);
    let (sent, received) = (total.datagrams.sent, total.datagrams.received);
    assert!(received > 4000 && sent < 600, "{sent} sent, {received} received");
}

#[test]
fn what_is_lost_is_sent_again_and_counts_from_when_it_was_due() {
    let load = open(100, Arrivals::Constant);
    let server = Quic::new(|_, _| Some(ANSWER.to_vec()));
    let record = run(plan(1, load, 10 * S), 50, server, |n| n % 50 == 40);
    let total = &record.total;
    assert_eq!((total.ledger.sent, total.ledger.ok), (1000, 1000), "{:?}", total.ledger);
    let service = &total.latencies.service;
    assert_eq!(service.min_ns(), Some(2 * LATENCY_NS));
    assert!(service.max_ns() > Some(2 * LATENCY_NS), "{:?}", service.max_ns());
}

#[test]
fn a_request_that_takes_too_long_is_given_up_and_its_connection_goes_on() {
    let server = Quic::new(|stream, _| (stream != 8).then(|| ANSWER.to_vec()));
    let mut plan = plan(1, open(10, Arrivals::Constant), S);
    plan.timeouts.request_ns = 200 * MS;
    let record = run(plan, 10, server, |_| false);
    let total = &record.total;
    assert_eq!((total.ledger.sent, total.ledger.ok), (10, 9), "{:?}", total.ledger);
    assert_eq!(total.ledger.error(ErrorKind::Timeout), 1);
    assert_eq!(total.connections.opened, 1);
}
