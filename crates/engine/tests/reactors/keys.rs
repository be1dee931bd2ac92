//! One connection after another under a key: what was meant for the one never reaches the next.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use candor_engine::reactor::{Reactor, Route};

use crate::common::MS;
use crate::harness::{On, With, dialer, tcp};
use crate::talk::{establish, pairs, read, say, writers};

on_each_reactor! {
    an_old_connection_s_bytes_reach_nobody bytes_that_nobody_took_block_nothing
    a_key_that_is_used_again_is_another_connection dropping
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

/// What was asked or told for a connection never reaches the next one under its key.
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
                reactor.close(2);
                let mut next = pairs(&mut reactor, &self.0, &[2]);
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
                reactor.close(2);
                reactor.close(6);
            }
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    on.reactor(dialer(tcp(address)), Reuse(listener));
}

/// A reactor that goes closes its connections, whatever was going on.
fn dropping(on: On) {
    struct Leave;
    impl With<()> for Leave {
        fn with<R: Reactor>(self, mut reactor: R) {
            establish(&mut reactor, 0);
            establish(&mut reactor, 1);
            reactor.connect(2, Route::default()).unwrap();
        }
    }
    let (address, thread) = writers(&["one", "two", "three"]);
    let begun = Instant::now();
    on.reactor(dialer(tcp(address)), Leave);
    thread.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "closed at once");
}
