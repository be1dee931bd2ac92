//! When the reactor that dozes may sleep through what arrives.

use std::io::{IoSlice, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use candor_engine::reactor::socket::Address;
use candor_engine::reactor::{Reactor, Sent};

use crate::common::S;
use crate::harness::{On, With, dialer, tcp};
use crate::talk::{establish, read};

const MS: u64 = 1_000_000;

/// Returns each byte, to whom sent it.
fn echo(mut stream: impl Read + Write) {
    let mut byte = [0];
    while let Ok(1) = stream.read(&mut byte) {
        stream.write_all(&byte).unwrap();
    }
}

/// Bytes sent and read, one by one, and whether a sleep afterwards went on although a byte came.
struct Doze {
    bytes: u32,
    ends_count: bool,
}

impl With<bool> for Doze {
    fn with<R: Reactor>(self, mut reactor: R) -> bool {
        establish(&mut reactor, 0);
        for _ in 0..self.bytes {
            send(&mut reactor);
            assert_eq!(read(&mut reactor, 0, 1), "x");
        }
        if self.ends_count {
            reactor.wake_for_ends();
        }
        send(&mut reactor);
        let until_ns = reactor.now_ns() + 300 * MS;
        let woke_ns = reactor.doze(until_ns);
        // The byte is found in any case.
        assert_eq!(read(&mut reactor, 0, 1), "x");
        assert!(woke_ns.is_none_or(|woke_ns| (until_ns..until_ns + 5 * S).contains(&woke_ns)));
        woke_ns.is_some()
    }
}

fn send<R: Reactor>(reactor: &mut R) {
    assert!(matches!(reactor.send(0, &[IoSlice::new(b"x")]), Sent::Written(1)));
}

/// Of the reactor that dozes, at an echo over TCP.
fn dozes(job: Doze) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp(listener.local_addr().unwrap());
    let server = std::thread::spawn(move || echo(listener.accept().unwrap().0));
    let slept = On::Dozing.reactor(dialer(address), job);
    server.join().unwrap();
    slept
}

#[test]
fn it_sleeps_through_what_comes_once_stamps_are_known_to_come() {
    assert!(!dozes(Doze { bytes: 63, ends_count: false }));
    // The kernel begins to stamp some time after it was asked.
    assert!(dozes(Doze { bytes: 500, ends_count: false }));
}

#[test]
fn it_wakes_for_what_comes_where_the_time_of_an_end_counts() {
    assert!(!dozes(Doze { bytes: 500, ends_count: true }));
}

#[test]
fn it_wakes_for_what_comes_without_stamps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("echo");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || echo(listener.accept().unwrap().0));
    let job = Doze { bytes: 500, ends_count: false };
    assert!(!On::Dozing.reactor(dialer(Address::Unix(path)), job));
    server.join().unwrap();
}
