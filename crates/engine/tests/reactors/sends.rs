//! Sends that break or do not fit, and waiting.

use std::io::{IoSlice, Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use candor_engine::reactor::{Reactor, Received, Sent};

use crate::common::{MS, S};
use crate::harness::{On, With, dialer, tcp};
use crate::talk::{await_room, establish, pairs, say, send};

on_each_reactor! {
    an_answer_before_a_reset_is_an_answer sends_that_do_not_fit_or_fail waiting
}

/// What the server said before it broke the connection is read, although a send fails.
fn an_answer_before_a_reset_is_an_answer(on: On) {
    struct Talk(TcpListener);
    impl With<String> for Talk {
        fn with<R: Reactor>(self, mut reactor: R) -> String {
            establish(&mut reactor, 0);
            let (mut stream, _) = self.0.accept().unwrap();
            say(&mut reactor, &[(0, b"hello")]);
            stream.write_all(b"goodbye").unwrap();
            // With "hello" unread the kernel makes this a reset.
            drop(stream);
            let deadline = Instant::now() + Duration::from_secs(5);
            while !matches!(send(&mut reactor, 0, b"more"), Sent::Failed(_)) {
                assert!(Instant::now() < deadline, "the connection breaks");
                // What is queued fails without a word; the end is heard where it is received from.
                let soon_ns = reactor.now_ns() + MS;
                reactor.wait(soon_ns);
                let mut found = std::iter::from_fn(|| reactor.next_ready());
                if found.any(|ready| ready.ended) && reactor.queues() {
                    break;
                }
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

/// A socket that is full takes a part, and says so when it has room again; a peer that is gone is a
/// failure of its own connection alone.
fn sends_that_do_not_fit_or_fail(on: On) {
    struct Fill(TcpListener);
    impl With<()> for Fill {
        fn with<R: Reactor>(self, mut reactor: R) {
            let mut peers = pairs(&mut reactor, &self.0, &[0, 1]);
            let piece = [7; 8192];
            let mut taken = 0;
            let mut is_full = false;
            while !is_full {
                match reactor.send(0, &[IoSlice::new(&piece[..4000]), IoSlice::new(&piece[4000..])])
                {
                    Sent::Written(bytes) => {
                        taken += bytes;
                        is_full = bytes < 8192;
                    }
                    Sent::Blocked => is_full = true,
                    other => panic!("{other:?}"),
                }
                assert!(taken < 64 << 20, "a socket is full some time");
            }
            let mut got = vec![0; taken];
            peers[0].read_exact(&mut got).unwrap();
            assert!(got.iter().all(|byte| *byte == 7));
            await_room(&mut reactor, 0);
            let deadline_ns = reactor.now_ns() + 5 * S;
            drop(peers.remove(1));
            let mut said = 0;
            let mut has_ended = false;
            while !has_ended {
                assert!(reactor.now_ns() < deadline_ns);
                say(&mut reactor, &[(0, b"!")]);
                said += 1;
                match send(&mut reactor, 1, b"!") {
                    Sent::Written(1) => {}
                    Sent::Failed(failure) if failure.reset => break,
                    other => panic!("{other:?}"),
                }
                reactor.wait(0);
                let mut found = std::iter::from_fn(|| reactor.next_ready());
                has_ended = found.any(|ready| ready.key == 1 && ready.ended) && reactor.queues();
            }
            let mut got = vec![0; said];
            peers[0].read_exact(&mut got).unwrap();
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
