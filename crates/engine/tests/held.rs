//! Runs for an agent of a fleet: held until they may begin, and ended by their clock when the permission to
//! send is over.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::*;
use candor_engine::script::Scripts;
use candor_engine::{Control, Observer, Part, drive, monotonic_ns, run_part};
use candor_plan::{Arrivals, Endpoint, Parts};
use candor_record::{EndReason, Interval, RunRecord, Workers, wire};
use candor_testkit::sim::{Link, Reaction, SimReactor, ok_bytes};

/// The run of a simulated second that may send for half of it.
fn cut(plan: &Parts) -> RunRecord {
    let control = Control::default();
    control.send_until(S / 2);
    let answer = |at_ns, _, _| Reaction::Answer { at_ns: at_ns + 5 * MS, bytes: ok_bytes() };
    let record = drive(&checked(plan), SimReactor::new(answer, Link::default()), &control);
    assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
    assert_eq!(record.end, EndReason::AgentLost);
    record
}

#[test]
fn nothing_is_sent_when_the_permission_is_over() {
    let record = cut(&plan(10, open(1000, Arrivals::Constant), S));
    let (ledger, window_ns) = (&record.total.ledger, record.window_ns);
    // One request each millisecond, until the one that is due when the permission ends.
    assert_eq!((ledger.ok, ledger.unsent), (ledger.sent, ledger.scheduled - ledger.sent));
    assert_eq!(ledger.sent, window_ns / MS + 1 - ledger.unsent);
    assert!(window_ns.abs_diff(S / 2) <= MS && ledger.unsent <= 1, "{window_ns} {ledger:?}");
    // A connection's turns take 5 ms each.
    let record = cut(&plan(1, closed(0), S));
    assert_eq!((record.total.ledger.sent, record.total.ledger.ok), (100, 100));
}

/// Counts requests, whose responses have no body.
fn server() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
    let counter = Arc::clone(&seen);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                    counter.fetch_add(1, Ordering::SeqCst);
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                }
            });
        }
    });
    (address, seen)
}

/// Tells when the connections are made, and keeps the intervals.
#[derive(Default)]
struct Kept {
    connected: Arc<AtomicU64>,
    intervals: Vec<Interval>,
}

impl Observer for Kept {
    fn connected(&mut self, established: u32) {
        self.connected.store(established.into(), Ordering::SeqCst);
    }

    fn takes_intervals(&self) -> bool {
        true
    }

    fn finished(&mut self, interval: Vec<u8>) {
        self.intervals.push(wire::from_bytes(&interval).unwrap());
    }
}

/// Makes a held run of two threads, of which `then` is called when it is connected.
fn held(then: impl FnOnce(&Control, &AtomicU64) + Send) -> (Option<RunRecord>, Kept, u64) {
    let (address, seen) = server();
    let mut plan = plan(4, open(200, Arrivals::Constant), 200 * MS);
    plan.target.endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: address.port() };
    plan.recording.warm_up_ns = 100 * MS;
    plan.recording.interval_ns = 100 * MS;
    plan.threads.count = Some(2);
    let part = Part { workers: Workers::all(2), begins_at_ns: 0 };
    let (control, mut kept) = (Control::default(), Kept::default());
    control.hold();
    let connected = Arc::clone(&kept.connected);
    let record = thread::scope(|scope| {
        scope.spawn(|| {
            while connected.load(Ordering::SeqCst) == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            then(&control, &seen);
        });
        run_part(&checked(&plan), part, &Scripts::default(), &control, &mut kept).ok()
    });
    assert_eq!(kept.connected.load(Ordering::SeqCst), 4);
    (record, kept, seen.load(Ordering::SeqCst))
}

#[test]
fn a_held_run_begins_when_it_is_told() {
    let begins_ns = AtomicU64::new(0);
    let (record, kept, seen) = held(|control, seen| {
        thread::sleep(Duration::from_millis(50));
        assert_eq!(seen.load(Ordering::SeqCst), 0, "it is held");
        begins_ns.store(monotonic_ns() + 50 * MS, Ordering::SeqCst);
        control.begin_at(begins_ns.load(Ordering::SeqCst));
    });
    let record = record.unwrap();
    assert_eq!(record.machine().origin_monotonic_ns, begins_ns.into_inner());
    assert_eq!((record.total.ledger.ok, record.total.warm_up.ok, seen), (40, 20, 60));
    // All intervals were handed over: the warm-up first, and the record has none of them.
    assert!(record.whole.is_empty() && kept.intervals[0].index.is_none());
    let ok: u64 = kept.intervals.iter().map(|one| one.ledger.ok + one.warm_up.ok).sum();
    assert_eq!(ok, 60);
}

#[test]
fn a_held_run_that_is_stopped_sends_nothing() {
    let (record, kept, seen) = held(|control, _| control.stop());
    assert_eq!((record, kept.intervals.len(), seen), (None, 0, 0));
}
