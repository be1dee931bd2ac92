//! Whole runs: every request is answered, and both sides count the same.

use candor_plan::Arrivals;
use candor_testkit::peer::{Peer, Script};

use crate::common::{MS, closed, open, plan};
use crate::harness::{On, answer, assert_all_ok, counted, tcp};
use crate::server::Server;

on_each_reactor! {
    many_connections two_thousand_connections large_answers more_in_flight_than_buffers
    pipelined a_connection_for_each_request unix ipv6 large_uploads an_open_load
}

fn many_connections(on: On) {
    let server = Server::tcp("127.0.0.1:0", answer(5)).unwrap();
    let record = on.run(&plan(200, closed(0), 200 * MS), &server.address);
    assert_all_ok(&record, server.requests());
    assert!(record.total.ledger.ok > 200, "more than one each");
    assert_eq!(server.connections(), 200);
    assert_eq!(record.total.connections.opened, 200);
}

fn two_thousand_connections(on: On) {
    let server = Server::tcp("127.0.0.1:0", answer(100)).unwrap();
    let record = on.run(&counted(2000, 6000), &server.address);
    assert_all_ok(&record, 6000);
    assert_eq!((server.requests(), server.connections()), (6000, 2000));
}

fn large_answers(on: On) {
    let bytes = answer(1 << 20);
    let server = Server::tcp("127.0.0.1:0", bytes.clone()).unwrap();
    let record = on.run(&counted(8, 40), &server.address);
    assert_all_ok(&record, 40);
    assert_eq!(record.total.bytes.received, 40 * bytes.len() as u64);
    assert_eq!(record.total.bytes.bodies, 40 << 20);
}

/// 64 answers of 256 KiB are as much as all buffers of a run hold.
fn more_in_flight_than_buffers(on: On) {
    let bytes = answer(256 << 10);
    let server = Server::tcp("127.0.0.1:0", bytes.clone()).unwrap();
    let record = on.run(&counted(100, 300), &server.address);
    assert_all_ok(&record, 300);
    assert_eq!(record.total.bytes.received, 300 * bytes.len() as u64);
}

fn pipelined(on: On) {
    let server = Server::tcp("127.0.0.1:0", answer(300)).unwrap();
    let mut plan = counted(10, 3200);
    plan.connections.pipeline = 16;
    let record = on.run(&plan, &server.address);
    assert_all_ok(&record, 3200);
    assert_eq!(server.requests(), 3200);
}

fn a_connection_for_each_request(on: On) {
    let server = Server::tcp("127.0.0.1:0", answer(200)).unwrap();
    let mut plan = counted(20, 3000);
    plan.connections.requests_per_connection = Some(1);
    let record = on.run(&plan, &server.address);
    assert_all_ok(&record, 3000);
    assert_eq!(server.requests(), 3000);
    let connections = &record.total.connections;
    assert_eq!((connections.retired, connections.lost.total()), (3000, 0), "{connections:?}");
    assert!(server.connections() >= 3000);
}

fn unix(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::unix(&folder.path().join("socket"), answer(40_000)).unwrap();
    let record = on.run(&counted(20, 1000), &server.address);
    assert_all_ok(&record, 1000);
    assert_eq!((server.requests(), server.connections()), (1000, 20));
}

fn ipv6(on: On) {
    let server = match Server::tcp("[::1]:0", answer(5)) {
        Ok(server) => server,
        Err(error) => return println!("skipped: no IPv6 on loopback: {error}"),
    };
    let record = on.run(&counted(4, 100), &server.address);
    assert_all_ok(&record, 100);
    assert_eq!(server.requests(), 100);
}

/// Sends that the kernel takes piece by piece.
fn large_uploads(on: On) {
    let peer = Peer::start(Script::answers());
    let mut plan = counted(2, 6);
    let request = &mut plan.work.requests_mut()[0];
    request.method = "POST".to_owned();
    request.body = vec![b'u'; 6 << 20].into();
    let record = on.run(&plan, &tcp(peer.addr()));
    assert_all_ok(&record, 6);
    assert_eq!(peer.requests(), 6);
    assert!(record.total.bytes.sent > 36 << 20);
}

fn an_open_load(on: On) {
    let server = Server::tcp("127.0.0.1:0", answer(5)).unwrap();
    let record = on.run(&plan(20, open(2000, Arrivals::Constant), 500 * MS), &server.address);
    assert_all_ok(&record, 1000);
    assert_eq!(server.requests(), 1000);
}
