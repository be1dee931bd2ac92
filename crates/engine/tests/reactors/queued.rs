//! Sends that leave together, and connections that want more than their part of what all share.

use std::io::{IoSlice, Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use candor_engine::reactor::{Reactor, Sent, Submission};

use crate::common::MS;
use crate::harness::{On, With, dialer, tcp};
use crate::talk::{await_room, pairs, read, say, send};

on_each_reactor! {
    what_does_not_fit_leaves_later_in_order what_was_sent_leaves_before_the_close a_batch_leaves_in_its_time
    a_flood_leaves_room_for_others
}

fn listener() -> (TcpListener, std::net::SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// The bytes of a long text whose every part is different.
fn text(bytes: std::ops::Range<usize>) -> Vec<u8> {
    bytes.map(|at| (at % 251) as u8 ^ (at / 251 % 239) as u8).collect()
}

/// Small sends fill a socket: the other side gets what was taken, in order, and what is sent afterwards behind it.
fn what_does_not_fit_leaves_later_in_order(on: On) {
    struct Fill(TcpListener);
    impl With<()> for Fill {
        fn with<R: Reactor>(self, mut reactor: R) {
            let mut peers = pairs(&mut reactor, &self.0, &[0, 1]);
            let mut taken = 0;
            loop {
                // Others are not held up.
                say(&mut reactor, &[(1, b"!")]);
                match send(&mut reactor, 0, &text(taken..taken + 1500)) {
                    Sent::Written(1500) => taken += 1500,
                    Sent::Written(bytes) => break taken += bytes,
                    Sent::Blocked => break,
                    other => panic!("{other:?}"),
                }
                assert!(taken < 64 << 20, "a socket is full some time");
            }
            let mut stream = peers.remove(0);
            let reader = thread::spawn(move || {
                let mut got = vec![0; taken + 700];
                stream.read_exact(&mut got).unwrap();
                (got, stream)
            });
            await_room(&mut reactor, 0);
            say(&mut reactor, &[(0, &text(taken..taken + 700))]);
            let (got, _stream) = reader.join().unwrap();
            assert!(
                got == text(0..taken + 700),
                "{} bytes are not those that were sent",
                got.len()
            );
        }
    }
    let (listener, address) = listener();
    on.reactor(dialer(tcp(address)), Fill(listener));
}

/// A connection that is closed, or whose one half is, has sent before what was given to it before.
fn what_was_sent_leaves_before_the_close(on: On) {
    struct Close(TcpListener);
    impl With<()> for Close {
        fn with<R: Reactor>(self, mut reactor: R) {
            let mut peers = pairs(&mut reactor, &self.0, &[0, 1]);
            for key in [0, 1] {
                let sent = reactor.send(key, &[IoSlice::new(b"last "), IoSlice::new(b"words")]);
                assert!(matches!(sent, Sent::Written(10) | Sent::Queued), "{sent:?}");
            }
            reactor.close(0);
            reactor.end_sending(1);
            // The kernel hears of the close with whatever is asked of it next.
            reactor.wait(0);
            for peer in &mut peers {
                let mut text = String::new();
                peer.read_to_string(&mut text).unwrap();
                assert_eq!(text, "last words");
            }
        }
    }
    let (listener, address) = listener();
    on.reactor(dialer(tcp(address)), Close(listener));
}

/// Nothing leaves before it is handed over, by this or by a wait, and the time of that is known.
fn a_batch_leaves_in_its_time(on: On) {
    struct Batch(TcpListener);
    impl With<()> for Batch {
        fn with<R: Reactor>(self, mut reactor: R) {
            let keys: Vec<u32> = (0..100).collect();
            let mut peers = pairs(&mut reactor, &self.0, &keys);
            for by_wait in [false, true] {
                let before_ns = reactor.now_ns();
                for key in &keys[..20] {
                    let sent = reactor.send(*key, &[IoSlice::new(b"together")]);
                    assert_eq!(matches!(sent, Sent::Queued), reactor.queues(), "{sent:?}");
                }
                if reactor.queues() {
                    peers[0].set_nonblocking(true).unwrap();
                    assert!(peers[0].read(&mut [0]).is_err(), "it has left");
                    peers[0].set_nonblocking(false).unwrap();
                    if by_wait {
                        reactor.wait(0);
                    }
                    let Submission { began_ns, ended_ns } = reactor.submit();
                    let after_ns = reactor.now_ns();
                    assert!(before_ns <= began_ns && ended_ns <= after_ns);
                    assert!(by_wait == (began_ns == ended_ns), "{began_ns} {ended_ns}");
                }
                for peer in &mut peers[..20] {
                    let mut text = [0; 8];
                    peer.read_exact(&mut text).unwrap();
                    assert_eq!(&text, b"together");
                }
            }
            // More than a batch has room for.
            for key in &keys {
                reactor.send(*key, &[IoSlice::new(b"all")]);
            }
            reactor.wait(0);
            for peer in &mut peers {
                let mut text = [0; 3];
                peer.read_exact(&mut text).unwrap();
                assert_eq!(&text, b"all");
            }
        }
    }
    let (listener, address) = listener();
    on.reactor(dialer(tcp(address)), Batch(listener));
}

/// A server that sends without end on one connection, of which nothing is read, keeps nothing from another one.
fn a_flood_leaves_room_for_others(on: On) {
    struct Flood(TcpListener);
    impl With<()> for Flood {
        fn with<R: Reactor>(self, mut reactor: R) {
            let mut peers = pairs(&mut reactor, &self.0, &[0, 1]);
            let mut flood = peers.remove(0);
            flood.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            let writer = thread::spawn(move || while flood.write(&[b'x'; 1 << 16]).is_ok() {});
            for _ in 0..50 {
                let soon_ns = reactor.now_ns() + MS;
                reactor.wait(soon_ns);
                while reactor.next_ready().is_some() {}
            }
            peers[0].write_all(b"hello").unwrap();
            assert_eq!(read(&mut reactor, 1, 5), "hello");
            writer.join().unwrap();
            // It is read to the end all the same.
            assert!(read(&mut reactor, 0, 1 << 17).len() >= 1 << 17);
        }
    }
    // With four buffers, and without deferred work, a single call can take all of them.
    if !matches!(on, On::FewBuffers | On::Cooperative) {
        let (listener, address) = listener();
        on.reactor(dialer(tcp(address)), Flood(listener));
    }
}
