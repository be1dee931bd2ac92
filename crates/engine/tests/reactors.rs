//! The real reactors against real sockets. Every behaviour is tested on each: epoll; io_uring as
//! a run uses it; io_uring with cooperative task work, as on older kernels; and io_uring with so
//! few and small buffers that it runs out of them all the time, and a table of files for some of
//! its connections only.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is a failing test")]

mod common;
#[path = "common/server.rs"]
mod server;

use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use candor_engine::reactor::socket::{Address, Dialer};
use candor_engine::reactor::uring::{Shape, TaskWork};
use candor_engine::reactor::{Reactor, Received, Sent, Start, epoll, uring};
use candor_engine::{Control, drive, probe_uring, run};
use candor_plan::{Arrivals, Delivery, Endpoint, Plan, ReactorChoice};
use candor_record::{ConnectErrorKind, ErrorKind, RunEnd, RunRecord};
use candor_testkit::peer::{ANSWER, Peer, RefusingPort, Script, Step};
use common::*;
use rustix::net::sockopt::set_socket_linger;
use server::Server;

/// A behaviour on each reactor. Where the kernel forbids io_uring those tests say so, and pass.
macro_rules! on_each_reactor {
    ($($name:ident)*) => {
        on_each_reactor!(@module on_epoll On::Epoll, $($name)*);
        on_each_reactor!(@module on_uring On::Uring, $($name)*);
        on_each_reactor!(@module on_uring_cooperative On::Cooperative, $($name)*);
        on_each_reactor!(@module on_uring_few_buffers On::FewBuffers, $($name)*);
    };
    (@module $module:ident $on:expr, $($name:ident)*) => {
        mod $module {
            use super::On;
            $(#[test] fn $name() { if $on.is_possible() { super::$name($on) } })*
        }
    };
}

on_each_reactor! {
    many_connections two_thousand_connections large_answers more_in_flight_than_buffers pipelined
    orderly_ends resets refused a_server_that_restarts a_connection_for_each_request unix ipv6
    time_outs idle_time_outs late_answers_reach_nobody large_uploads an_open_load
    an_old_connection_s_bytes_reach_nobody bytes_that_nobody_took_block_nothing an_answer_before_a_reset_is_an_answer waiting dropping
    a_key_that_is_used_again_is_another_connection sends_that_do_not_fit_or_fail
    our_end_is_half_of_a_connection what_breaks_off_is_heard_to_the_end
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Epoll,
    Uring,
    Cooperative,
    FewBuffers,
}

/// Something to do with a reactor of any kind.
trait With<T> {
    fn with<R: Reactor>(self, reactor: R) -> T;
}

impl On {
    fn is_possible(self) -> bool {
        match probe_uring() {
            Err(reason) if self != On::Epoll => {
                println!("skipped: {reason}");
                false
            }
            _ => true,
        }
    }

    fn reactor<T>(self, dialer: Dialer, job: impl With<T>) -> T {
        let few = Shape { count: 4, bytes: 256 };
        let uring = |buffers, task_work| {
            uring::Unstarted::with(dialer.clone(), buffers, task_work).unwrap().start()
        };
        match self {
            On::Epoll => job.with(epoll::Unstarted::new(dialer).unwrap().start()),
            On::Uring => job.with(uring::Unstarted::new(dialer).unwrap().start()),
            On::Cooperative => job.with(uring(uring::BUFFERS, TaskWork::Cooperative)),
            On::FewBuffers => {
                let reactor = uring::Unstarted::with(dialer, few, TaskWork::Deferred).unwrap();
                job.with(reactor.with_files(5).start())
            }
        }
    }

    /// A whole run against `address`. Over threads where `run` can choose this reactor.
    fn run(self, plan: &Plan, address: &Address) -> RunRecord {
        let mut plan = plan.clone();
        plan.target.endpoint = match address {
            Address::Tcp(address) => {
                Endpoint::Tcp { host: address.ip().to_string(), port: address.port() }
            }
            Address::Unix(path) => Endpoint::Unix { path: path.clone() },
        };
        plan.threads.count = Some(2);
        let control = Control::default();
        let over_threads = |choice| {
            let mut plan = plan.clone();
            plan.threads.reactor = choice;
            run(&plan, &control, &mut ()).unwrap()
        };
        let record = match self {
            On::Epoll => over_threads(ReactorChoice::Epoll),
            On::Uring => over_threads(ReactorChoice::Uring),
            _ => {
                struct Drive<'a>(&'a Plan);
                impl With<RunRecord> for Drive<'_> {
                    fn with<R: Reactor>(self, reactor: R) -> RunRecord {
                        drive(self.0, reactor, &Control::default())
                    }
                }
                self.reactor(dialer(address.clone()), Drive(&plan))
            }
        };
        assert!(record.total.ledger.balances(), "{:?}", record.total.ledger);
        record
    }
}

fn dialer(address: Address) -> Dialer {
    Dialer { addresses: [address].into(), sources: [].into(), nodelay: true }
}

fn tcp(address: SocketAddr) -> Address {
    Address::Tcp(address)
}

/// A closed load of exactly `count` requests.
fn counted(connections: u32, count: u64) -> Plan {
    let mut plan = plan(connections, closed(0), 0);
    plan.stop.duration_ns = None;
    plan.stop.count = Some(count);
    plan
}

fn answer(body_bytes: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body_bytes}\r\n\r\n");
    [head.into_bytes(), vec![b'x'; body_bytes]].concat()
}

fn assert_all_ok(record: &RunRecord, requests: u64) {
    let ledger = &record.total.ledger;
    assert_eq!((ledger.sent, ledger.ok, ledger.unfinished), (requests, requests, 0), "{ledger:?}");
}

fn many_connections(on: On) {
    let server = Server::tcp("127.0.0.1:0", answer(5)).unwrap();
    let record = on.run(&plan(200, closed(0), 200 * MS), &server.address);
    assert_all_ok(&record, server.requests());
    assert!(record.total.ledger.ok > 200, "more than one each");
    assert_eq!(server.connections(), 200);
    assert_eq!(record.total.connections.opened, 200);
    let together = record.workers.iter().map(|worker| worker.sent_together);
    let (calls, sends) = together.fold((0, 0), |sum, one| (sum.0 + one.calls, sum.1 + one.sends));
    assert_eq!(calls > 0, on == On::Uring, "{calls}");
    assert!(sends >= 2 * calls && sends <= record.total.ledger.sent, "{sends} in {calls}");
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
    assert_eq!(record.total.bytes_received, 40 * bytes.len() as u64);
    assert_eq!(record.total.body_bytes, 40 << 20);
}

/// 64 answers of 256 KiB are as much as all buffers of a run hold.
fn more_in_flight_than_buffers(on: On) {
    let bytes = answer(256 << 10);
    let server = Server::tcp("127.0.0.1:0", bytes.clone()).unwrap();
    let record = on.run(&counted(100, 300), &server.address);
    assert_all_ok(&record, 300);
    assert_eq!(record.total.bytes_received, 300 * bytes.len() as u64);
}

fn pipelined(on: On) {
    let server = Server::tcp("127.0.0.1:0", answer(300)).unwrap();
    let mut plan = counted(10, 3200);
    plan.connections.pipeline = 16;
    let record = on.run(&plan, &server.address);
    assert_all_ok(&record, 3200);
    assert_eq!(server.requests(), 3200);
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
                if let Err(failure) = reactor.connect(key, 0) {
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
    assert_eq!(record.end, RunEnd::Duration);
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

/// Sends that the kernel takes piece by piece.
fn large_uploads(on: On) {
    let peer = Peer::start(Script::answers());
    let mut plan = counted(2, 6);
    let request = &mut plan.requests.list[0];
    request.method = "POST".to_owned();
    request.body = vec![b'u'; 6 << 20].into();
    let record = on.run(&plan, &tcp(peer.addr()));
    assert_all_ok(&record, 6);
    assert_eq!(peer.requests(), 6);
    assert!(record.total.bytes_sent > 36 << 20);
}

fn an_open_load(on: On) {
    let server = Server::tcp("127.0.0.1:0", answer(5)).unwrap();
    let record = on.run(&plan(20, open(2000, Arrivals::Constant), 500 * MS), &server.address);
    assert_all_ok(&record, 1000);
    assert_eq!(server.requests(), 1000);
}

/// A listener, and what is written at once on each connection, in order; kept open.
fn writers(texts: &'static [&'static str]) -> (SocketAddr, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let mut streams: Vec<_> = texts
            .iter()
            .map(|text| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(text.as_bytes()).unwrap();
                stream
            })
            .collect();
        for stream in &mut streams {
            // Until the other side closes.
            let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    (address, thread)
}

fn establish<R: Reactor>(reactor: &mut R, key: u32) {
    reactor.connect(key, 0).unwrap();
    // By now the server has accepted, and written what it writes at once.
    std::thread::sleep(Duration::from_millis(10));
    let deadline_ns = reactor.now_ns() + 5 * S;
    while reactor.now_ns() < deadline_ns {
        reactor.wait(deadline_ns);
        while let Some(ready) = reactor.next_ready() {
            if ready.key == key && ready.writable && reactor.finish_connect(key).unwrap() {
                return;
            }
        }
    }
    panic!("not established");
}

/// What comes on `key` until there are `bytes` bytes of it, or nothing for a while.
fn read<R: Reactor>(reactor: &mut R, key: u32, bytes: usize) -> String {
    let mut text = String::new();
    let mut readable = true;
    let deadline_ns = reactor.now_ns() + 2 * S;
    while reactor.now_ns() < deadline_ns {
        while readable {
            readable = false;
            if let Received::Bytes { bytes, more, at_ns } = reactor.receive(key) {
                text.push_str(std::str::from_utf8(bytes).unwrap());
                assert!(at_ns > 0);
                readable = more;
            }
        }
        if text.len() >= bytes {
            break;
        }
        reactor.wait(deadline_ns);
        while let Some(ready) = reactor.next_ready() {
            readable |= ready.key == key && ready.readable;
        }
    }
    text
}

fn an_old_connection_s_bytes_reach_nobody(on: On) {
    struct Reconnect;
    impl With<[String; 3]> for Reconnect {
        fn with<R: Reactor>(self, mut reactor: R) -> [String; 3] {
            establish(&mut reactor, 7);
            // Closed with its bytes unread: in the socket, and after a wait on their way here.
            establish(&mut reactor, 7);
            let soon_ns = reactor.now_ns() + 50 * MS;
            reactor.wait(soon_ns);
            establish(&mut reactor, 7);
            establish(&mut reactor, 9);
            let third = read(&mut reactor, 7, 5);
            let fourth = read(&mut reactor, 9, 6);
            // Closed before the kernel has seen what was asked of it: the next socket has the
            // same descriptor.
            establish(&mut reactor, 7);
            reactor.close(7);
            establish(&mut reactor, 8);
            [third, fourth, read(&mut reactor, 8, 4)]
        }
    }
    let (address, thread) = writers(&["first", "second", "third", "fourth", "last", "last"]);
    let texts = on.reactor(dialer(tcp(address)), Reconnect);
    assert_eq!(texts, ["third", "fourth", "last"]);
    thread.join().unwrap();
}

/// Twenty connections are closed with bytes that were received and not handed out, or that are
/// received as they are closed. The next one still has all the buffers.
fn bytes_that_nobody_took_block_nothing(on: On) {
    struct Leave;
    impl With<String> for Leave {
        fn with<R: Reactor>(self, mut reactor: R) -> String {
            for turn in 0..20 {
                establish(&mut reactor, 0);
                if turn % 2 == 0 {
                    let soon_ns = reactor.now_ns() + 10 * MS;
                    reactor.wait(soon_ns);
                }
                reactor.close(0);
            }
            establish(&mut reactor, 0);
            read(&mut reactor, 0, 5)
        }
    }
    let (address, thread) = writers(&["bytes"; 21]);
    assert_eq!(on.reactor(dialer(tcp(address)), Leave), "bytes");
    thread.join().unwrap();
}

/// What the server said before it broke the connection is read, although a send fails.
fn an_answer_before_a_reset_is_an_answer(on: On) {
    struct Talk(TcpListener);
    impl With<String> for Talk {
        fn with<R: Reactor>(self, mut reactor: R) -> String {
            establish(&mut reactor, 0);
            let (mut stream, _) = self.0.accept().unwrap();
            assert!(matches!(reactor.send(0, &[IoSlice::new(b"hello")]), Sent::Written(5)));
            stream.write_all(b"goodbye").unwrap();
            // With "hello" unread the kernel makes this a reset.
            drop(stream);
            let deadline = Instant::now() + Duration::from_secs(5);
            while !matches!(reactor.send(0, &[IoSlice::new(b"more")]), Sent::Failed(_)) {
                assert!(Instant::now() < deadline, "the connection breaks");
            }
            let mut text = String::new();
            loop {
                match reactor.receive(0) {
                    Received::Bytes { bytes, .. } => {
                        text.push_str(std::str::from_utf8(bytes).unwrap());
                    }
                    Received::Nothing => panic!("it has ended, and that is known"),
                    Received::End { .. } => return text,
                    Received::Failed { .. } => return text,
                }
            }
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    assert_eq!(on.reactor(dialer(tcp(address)), Talk(listener)), "goodbye");
}

/// Connections under `keys`, each with its other end.
fn pairs<R: Reactor>(reactor: &mut R, listener: &TcpListener, keys: &[u32]) -> Vec<TcpStream> {
    let pair = |key: &u32| {
        establish(reactor, *key);
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
    };
    keys.iter().map(pair).collect()
}

/// Sends, together where that can be done; all of it fits.
fn say<R: Reactor>(reactor: &mut R, what: &[(u32, &[u8])]) {
    for (key, bytes) in what {
        let slices = [IoSlice::new(bytes)];
        if R::TOGETHER > 0 {
            assert!(reactor.put(*key, &slices));
        } else {
            let sent = reactor.send(*key, &slices);
            assert!(matches!(sent, Sent::Written(n) if n == bytes.len()), "{sent:?}");
        }
    }
    reactor.send_put();
    for (key, bytes) in what.iter().filter(|_| R::TOGETHER > 0) {
        let (told, offered, sent) = reactor.next_put().unwrap();
        assert_eq!((told, offered), (*key, bytes.len()));
        assert!(matches!(sent, Sent::Written(n) if n == bytes.len()), "{sent:?}");
    }
    assert!(reactor.next_put().is_none());
}

/// The other side reads the end of what was sent, and is heard afterwards.
fn our_end_is_half_of_a_connection(on: On) {
    struct Half(TcpListener);
    impl With<()> for Half {
        fn with<R: Reactor>(self, mut reactor: R) {
            let mut stream = pairs(&mut reactor, &self.0, &[3]).remove(0);
            say(&mut reactor, &[(3, b"hello")]);
            reactor.end_sending(3);
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            assert_eq!(text, "hello");
            let sent = reactor.send(3, &[IoSlice::new(b"more")]);
            assert!(matches!(&sent, Sent::Failed(failure) if failure.reset), "{sent:?}");
            stream.write_all(b"heard").unwrap();
            assert_eq!(read(&mut reactor, 3, 5), "heard");
            drop(stream);
            let deadline_ns = reactor.now_ns() + 5 * S;
            while !matches!(reactor.receive(3), Received::End { .. }) {
                assert!(reactor.now_ns() < deadline_ns, "it has ended");
                reactor.wait(deadline_ns);
                while reactor.next_ready().is_some() {}
            }
            reactor.close(3);
            // The next one under its key has both halves.
            let mut stream = pairs(&mut reactor, &self.0, &[3]).remove(0);
            say(&mut reactor, &[(3, b"again")]);
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes).unwrap();
            assert_eq!(&bytes, b"again");
            // Of one that is gone, it is nothing.
            reactor.close(3);
            reactor.end_sending(3);
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    on.reactor(dialer(tcp(address)), Half(listener));
}

/// A server that reads each connection to its end, says what it read, and then does this.
fn after_the_end(then: fn(TcpStream)) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, all) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, seen) = (stream.unwrap(), seen.clone());
            std::thread::spawn(move || {
                let mut text = String::new();
                // The run's last connections may carry nothing.
                if stream.read_to_string(&mut text).is_ok() && !text.is_empty() {
                    seen.send(text).unwrap();
                    then(stream);
                }
            });
        }
    });
    (address, all)
}

const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno";

/// Servers that answer and close, answer and stay, close at once, break the connection, and say
/// nothing for ever.
fn what_breaks_off_is_heard_to_the_end(on: On) {
    let (long_ns, short_ns) = (60 * S, 100 * MS);
    type Server = (fn(TcpStream), u64, bool);
    let servers: [Server; 5] = [
        (|mut stream| stream.write_all(REFUSAL).unwrap(), long_ns, true),
        (
            |mut stream| {
                stream.write_all(REFUSAL).unwrap();
                std::mem::forget(stream);
            },
            long_ns,
            true,
        ),
        (drop, long_ns, false),
        (|stream| set_socket_linger(&stream, Some(Duration::ZERO)).unwrap(), long_ns, false),
        (std::mem::forget, short_ns, false),
    ];
    for (nth, (then, request_ns, is_heard)) in servers.into_iter().enumerate() {
        let (address, seen) = after_the_end(then);
        let mut plan = counted(2, 6);
        plan.timeouts.request_ns = request_ns;
        let request = &mut plan.requests.list[0];
        request.method = "POST".to_owned();
        request.body = (*b"hello").into();
        request.delivery = Delivery { break_off_after: Some(3), ..Delivery::default() };
        let record = on.run(&plan, &tcp(address));
        let ledger = &record.total.ledger;
        assert_eq!((ledger.sent, ledger.broken_off), (6, 6), "server {nth}: {ledger:?}");
        let heard: &[_] = if is_heard { &[(400, 6)] } else { &[] };
        assert_eq!(record.total.broken_off_statuses, heard, "server {nth}");
        let connections = &record.total.connections;
        assert_eq!((connections.retired, connections.lost.total()), (6, 0), "server {nth}");
        // It waited for as long as the server took, or a request may take: three in a row.
        assert!(record.elapsed_ns < long_ns, "server {nth}: {}", record.elapsed_ns);
        if request_ns == short_ns {
            assert!(record.elapsed_ns >= 3 * short_ns, "{}", record.elapsed_ns);
        }
        for _ in 0..6 {
            let text = seen.recv_timeout(Duration::from_secs(5)).unwrap();
            assert!(text.ends_with("\r\nContent-Length: 5\r\n\r\nhel"), "{text}");
        }
    }
}

/// What was put, asked or told for a connection never reaches the next one under its key, also if
/// it is used for so long that it is known to the kernel by its key.
fn a_key_that_is_used_again_is_another_connection(on: On) {
    struct Reuse(TcpListener);
    impl With<()> for Reuse {
        fn with<R: Reactor>(self, mut reactor: R) {
            for round in 0..4 {
                let mut peers = pairs(&mut reactor, &self.0, &[2, 6]);
                for _ in 0..40 {
                    say(&mut reactor, &[(2, &[round]), (6, &[round + 100])]);
                }
                for (peer, byte) in peers.iter_mut().zip([round, round + 100]) {
                    let mut got = [0; 40];
                    peer.read_exact(&mut got).unwrap();
                    assert_eq!(got, [byte; 40]);
                }
                peers[0].write_all(b"too late").unwrap();
                if round % 2 == 0 {
                    // Taken by the reactor, and not by the worker.
                    let soon_ns = reactor.now_ns() + 10 * MS;
                    reactor.wait(soon_ns);
                }
                if R::TOGETHER > 0 {
                    assert!(reactor.put(2, &[IoSlice::new(b"never sent")]));
                    assert!(reactor.put(6, &[IoSlice::new(b"sent")]));
                }
                reactor.close(2);
                let mut next = pairs(&mut reactor, &self.0, &[2]);
                reactor.send_put();
                if R::TOGETHER > 0 {
                    assert!(matches!(reactor.next_put(), Some((6, 4, Sent::Written(4)))));
                    let mut got = [0; 4];
                    peers[1].read_exact(&mut got).unwrap();
                    assert_eq!(&got, b"sent");
                }
                assert!(reactor.next_put().is_none());
                say(&mut reactor, &[(2, b"new")]);
                let mut got = [0; 3];
                next[0].read_exact(&mut got).unwrap();
                assert_eq!(&got, b"new");
                next[0].write_all(b"answer").unwrap();
                assert_eq!(read(&mut reactor, 2, 6), "answer");
                let mut rest = Vec::new();
                // An end or a reset, since what it had said last was not read.
                let _ = peers[0].read_to_end(&mut rest);
                assert_eq!(rest, b"");
                // What comes of a send is told to nobody if its connection is gone by then.
                if R::TOGETHER > 0 {
                    assert!(reactor.put(2, &[IoSlice::new(b"last")]));
                    assert!(reactor.put(6, &[IoSlice::new(b"last")]));
                    reactor.send_put();
                    reactor.close(2);
                    assert!(matches!(reactor.next_put(), Some((6, 4, Sent::Written(4)))));
                    assert!(reactor.next_put().is_none());
                }
                reactor.close(2);
                reactor.close(6);
            }
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    on.reactor(dialer(tcp(address)), Reuse(listener));
}

/// Of sends that leave together each has its own fate.
fn sends_that_do_not_fit_or_fail(on: On) {
    struct Fill(TcpListener);
    impl With<()> for Fill {
        fn with<R: Reactor>(self, mut reactor: R) {
            if R::TOGETHER == 0 {
                return;
            }
            let mut peers = pairs(&mut reactor, &self.0, &[0, 1]);
            let piece = [7; 8192];
            let (mut taken, mut others) = (0, 0);
            let mut is_full = false;
            while !is_full {
                assert!(
                    reactor.put(0, &[IoSlice::new(&piece[..4000]), IoSlice::new(&piece[4000..])])
                );
                assert!(reactor.put(1, &[IoSlice::new(b"x")]));
                reactor.send_put();
                match reactor.next_put() {
                    Some((0, 8192, Sent::Written(bytes))) => {
                        taken += bytes;
                        is_full = bytes < 8192;
                    }
                    Some((0, 8192, Sent::Blocked)) => is_full = true,
                    other => panic!("{other:?}"),
                }
                assert!(matches!(reactor.next_put(), Some((1, 1, Sent::Written(1)))));
                others += 1;
                assert!(taken < 64 << 20, "a socket is full some time");
            }
            let mut got = vec![0; taken];
            peers[0].read_exact(&mut got).unwrap();
            assert!(got.iter().all(|byte| *byte == 7));
            let mut got = vec![0; others];
            peers[1].read_exact(&mut got).unwrap();
            // There is room again, and that is said.
            let deadline_ns = reactor.now_ns() + 5 * S;
            let mut is_writable = false;
            while !is_writable {
                assert!(reactor.now_ns() < deadline_ns);
                reactor.wait(deadline_ns);
                while let Some(ready) = reactor.next_ready() {
                    is_writable |= ready.key == 0 && ready.writable;
                }
            }
            // A connection that broke, between two that did not.
            establish(&mut reactor, 2);
            let (mut last, _) = self.0.accept().unwrap();
            drop(peers.remove(1));
            let mut has_failed = false;
            let mut said = 0;
            while !has_failed {
                assert!(reactor.now_ns() < deadline_ns);
                for key in [0, 1, 2] {
                    assert!(reactor.put(key, &[IoSlice::new(b"!")]));
                }
                reactor.send_put();
                assert!(matches!(reactor.next_put(), Some((0, 1, Sent::Written(1)))));
                match reactor.next_put() {
                    Some((1, 1, Sent::Written(1))) => {}
                    Some((1, 1, Sent::Failed(failure))) => has_failed = failure.reset,
                    other => panic!("{other:?}"),
                }
                assert!(matches!(reactor.next_put(), Some((2, 1, Sent::Written(1)))));
                said += 1;
            }
            let mut got = vec![0; said];
            last.read_exact(&mut got).unwrap();
            assert!(got.iter().all(|byte| *byte == b'!'));
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    on.reactor(dialer(tcp(address)), Fill(listener));
}

fn waiting(on: On) {
    struct Wait;
    impl With<()> for Wait {
        fn with<R: Reactor>(self, mut reactor: R) {
            // In the past, it only looks.
            let begun = Instant::now();
            for _ in 0..1000 {
                reactor.wait(0);
            }
            assert!(begun.elapsed() < Duration::from_secs(1));
            for span_ns in [1, 100_000, 1_500_000, 30 * MS] {
                let until_ns = reactor.now_ns() + span_ns;
                // A signal may end a wait early, but not many do.
                let mut waits = 0;
                while reactor.now_ns() < until_ns {
                    reactor.wait(until_ns);
                    waits += 1;
                    assert!(reactor.next_ready().is_none());
                }
                assert!(waits <= 5, "{waits} waits for {span_ns} ns");
            }
            let origin_ns = reactor.now_ns();
            reactor.set_origin_ns(origin_ns + S);
            assert_eq!(reactor.now_ns(), 0);
        }
    }
    on.reactor(dialer(tcp("127.0.0.1:9".parse().unwrap())), Wait);
}

/// A reactor that goes closes its connections, whatever was going on.
fn dropping(on: On) {
    struct Leave;
    impl With<()> for Leave {
        fn with<R: Reactor>(self, mut reactor: R) {
            establish(&mut reactor, 0);
            establish(&mut reactor, 1);
            reactor.connect(2, 0).unwrap();
        }
    }
    let (address, thread) = writers(&["one", "two", "three"]);
    let begun = Instant::now();
    on.reactor(dialer(tcp(address)), Leave);
    thread.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "closed at once");
}
