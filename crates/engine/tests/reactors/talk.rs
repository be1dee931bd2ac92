//! Single connections: a reactor on the one side, a plain socket on the other.

use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use candor_engine::reactor::{Reactor, Received, Route, Sent};

use crate::common::S;

/// A listener, and what is written at once on each connection, in order; kept open.
pub(crate) fn writers(texts: &'static [&'static str]) -> (SocketAddr, std::thread::JoinHandle<()>) {
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

pub(crate) fn establish<R: Reactor>(reactor: &mut R, key: u32) {
    reactor.connect(key, Route::default()).unwrap();
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
pub(crate) fn read<R: Reactor>(reactor: &mut R, key: u32, bytes: usize) -> String {
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

/// Connections under `keys`, each with its other end.
pub(crate) fn pairs<R: Reactor>(
    reactor: &mut R,
    listener: &TcpListener,
    keys: &[u32],
) -> Vec<TcpStream> {
    let pair = |key: &u32| {
        establish(reactor, *key);
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
    };
    keys.iter().map(pair).collect()
}

/// Sends; all of it fits.
pub(crate) fn say<R: Reactor>(reactor: &mut R, what: &[(u32, &[u8])]) {
    for (key, bytes) in what {
        let sent = send(reactor, *key, bytes);
        assert!(matches!(sent, Sent::Written(n) if n == bytes.len()), "{sent:?}");
    }
}

/// Waits until there is room to send on `key`.
pub(crate) fn await_room<R: Reactor>(reactor: &mut R, key: u32) {
    let deadline_ns = reactor.now_ns() + 5 * S;
    let mut is_writable = false;
    while !is_writable {
        assert!(reactor.now_ns() < deadline_ns, "there is no room");
        reactor.wait(deadline_ns);
        while let Some(ready) = reactor.next_ready() {
            is_writable |= ready.key == key && ready.writable;
        }
    }
}

/// Sends, at once.
pub(crate) fn send<R: Reactor>(reactor: &mut R, key: u32, bytes: &[u8]) -> Sent {
    match reactor.send(key, &[IoSlice::new(bytes)]) {
        Sent::Queued => {
            assert!(reactor.queues());
            reactor.submit();
            Sent::Written(bytes.len())
        }
        sent => sent,
    }
}
