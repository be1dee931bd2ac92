//! Our end of a connection, which is half of it: what the other side says afterwards is heard.

use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use candor_engine::reactor::{Reactor, Received, Sent};
use candor_plan::Delivery;
use candor_record::StatusCount;
use rustix::net::sockopt::set_socket_linger;

use crate::common::{MS, S};
use crate::harness::{On, With, counted, dialer, tcp};
use crate::talk::{pairs, read, say};

on_each_reactor! {
    our_end_is_half_of_a_connection what_breaks_off_is_heard_to_the_end
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
        let request = &mut plan.work.requests_mut()[0];
        request.method = "POST".to_owned();
        request.body = (*b"hello").into();
        request.delivery = Delivery { break_off_after: Some(3), ..Delivery::default() };
        let record = on.run(&plan, &tcp(address));
        let ledger = &record.total.ledger;
        assert_eq!((ledger.sent, ledger.broken_off), (6, 6), "server {nth}: {ledger:?}");
        let heard: &[_] = if is_heard { &[StatusCount { status: 400, count: 6 }] } else { &[] };
        assert_eq!(record.total.broken_off_statuses, heard, "server {nth}");
        let connections = &record.total.connections;
        assert_eq!((connections.retired, connections.lost.total()), (6, 0), "server {nth}");
        // The run lasts as long as three requests, each until the server or the timeout ends it.
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
