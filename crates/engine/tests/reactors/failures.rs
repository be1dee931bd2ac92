//! Connections that end, break, are refused or say nothing.

use std::time::Duration;

use candor_engine::reactor::socket::Address;
use candor_engine::reactor::{Reactor, Route};
use candor_record::{ConnectErrorKind, EndReason, ErrorKind};
use candor_testkit::peer::{ANSWER, Peer, RefusingPort, Script, Step};

use crate::common::{MS, S, closed, plan};
use crate::harness::{On, With, assert_all_ok, counted, dialer, tcp};

on_each_reactor! {
    orderly_ends resets refused a_server_that_restarts time_outs idle_time_outs
    late_answers_reach_nobody
}

fn orderly_ends(on: On) {
    for script in [Script::closes_as_announced(), Script::http_1_0()] {
        let peer = Peer::start(script);
        let record = on.run(&counted(4, 40), &tcp(peer.addr()));
        assert_all_ok(&record, 40);
        assert_eq!((peer.requests(), record.total.connections.closed_by_server), (40, 40));
    }
    let peer = Peer::start(Script::truncates_body());
    let record = on.run(&counted(4, 8), &tcp(peer.addr()));
    assert_eq!(record.total.ledger.error(ErrorKind::Truncated), 8);
    assert_eq!(peer.requests(), 8);
}

fn resets(on: On) {
    for script in [Script::resets_mid_body(), Script::resets_mid_header()] {
        let peer = Peer::start(script);
        let record = on.run(&counted(4, 20), &tcp(peer.addr()));
        let ledger = &record.total.ledger;
        assert_eq!((ledger.error(ErrorKind::Reset), ledger.ok), (20, 0), "{ledger:?}");
        assert_eq!(peer.requests(), 20);
    }
}

fn refused(on: On) {
    struct Connect;
    impl With<Vec<ConnectErrorKind>> for Connect {
        fn with<R: Reactor>(self, mut reactor: R) -> Vec<ConnectErrorKind> {
            let mut kinds = Vec::new();
            for key in 0..3 {
                if let Err(failure) = reactor.connect(key, Route::default()) {
                    kinds.push(failure.kind);
                }
            }
            let deadline_ns = reactor.now_ns() + 5 * S;
            while kinds.len() < 3 && reactor.now_ns() < deadline_ns {
                reactor.wait(deadline_ns);
                while let Some(ready) = reactor.next_ready() {
                    assert!(ready.writable, "{ready:?}");
                    kinds.push(reactor.finish_connect(ready.key).unwrap_err().kind);
                    reactor.close(ready.key);
                }
            }
            kinds
        }
    }
    let port = RefusingPort::new();
    let kinds = on.reactor(dialer(tcp(port.addr())), Connect);
    assert_eq!(kinds, [ConnectErrorKind::Refused; 3]);
    let nowhere = Address::Unix("/nonexistent/candor.sock".into());
    assert_eq!(on.reactor(dialer(nowhere), Connect), [ConnectErrorKind::Refused; 3]);
}

fn a_server_that_restarts(on: On) {
    let mut peer = Peer::start(Script::answers());
    let address = tcp(peer.addr());
    let record = std::thread::scope(|scope| {
        let running = scope.spawn(|| on.run(&plan(8, closed(0), S), &address));
        std::thread::sleep(Duration::from_millis(200));
        peer.stop_listening_and_drop_all();
        let before = peer.requests();
        std::thread::sleep(Duration::from_millis(100));
        peer.resume();
        let record = running.join().unwrap();
        assert!(peer.requests() > before, "the server is used again");
        record
    });
    let connections = &record.total.connections;
    assert!(connections.failed.count(ConnectErrorKind::Refused as usize) > 0);
    assert!(connections.opened >= 16, "{connections:?}");
    // A connection that was accepted by the kernel alone took requests that the peer never read.
    assert!(record.total.ledger.ok <= peer.requests());
    assert!(record.total.ledger.sent >= peer.requests());
    assert_eq!(record.end, EndReason::Duration);
}

fn time_outs(on: On) {
    let peer = Peer::start(Script::never_answers());
    let mut plan = plan(4, closed(0), 230 * MS);
    plan.timeouts.request_ns = 50 * MS;
    let record = on.run(&plan, &tcp(peer.addr()));
    let ledger = &record.total.ledger;
    assert_eq!(ledger.error(ErrorKind::Timeout), ledger.sent, "{ledger:?}");
    assert!((8..=20).contains(&ledger.sent), "{ledger:?}");
}

fn idle_time_outs(on: On) {
    let peer = Peer::start(Script::new([Step::ReadRequest, Step::write("HTTP/1.1 2"), Step::Hang]));
    let mut plan = plan(2, closed(0), 120 * MS);
    plan.timeouts.idle_ns = Some(50 * MS);
    let record = on.run(&plan, &tcp(peer.addr()));
    let ledger = &record.total.ledger;
    assert_eq!(ledger.error(ErrorKind::IdleTimeout), ledger.sent, "{ledger:?}");
    assert!(ledger.sent >= 2);
}

/// The answer to a request that timed out comes when its key has a new connection.
fn late_answers_reach_nobody(on: On) {
    let late = Step::Sleep(Duration::from_millis(30));
    let peer = Peer::start(Script::each_request([late, Step::write(ANSWER)]));
    let mut plan = plan(20, closed(0), 200 * MS);
    plan.timeouts.request_ns = 20 * MS;
    let record = on.run(&plan, &tcp(peer.addr()));
    let ledger = &record.total.ledger;
    let timed_out = ledger.error(ErrorKind::Timeout);
    assert!(timed_out > 0 && timed_out + ledger.ok == ledger.sent, "{ledger:?}");
    // On a busy machine the loader may see an answer before it sees that time is out. That
    // answer took its 30 ms; one that is taken for the next request's would be quicker.
    let service = &record.total.latencies.service;
    assert!(service.min_ns().is_none_or(|least_ns| least_ns >= 30 * MS), "{service:?}");
}
