//! One server, half of whose connections are malicious: the ledger's completed requests are exactly
//! the honest half's responses, and no honest response times out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use candor_testkit::peer::{ANSWER, Over, Peer, Player};

use super::many;
use crate::common::Candor;

const CONNECTIONS: u64 = 100;

/// The first hundred connections are honest and malicious in turn. A replacement always replaces a
/// malicious connection, and is malicious: 50 are honest throughout.
fn is_honest(number: u64) -> bool {
    number < CONNECTIONS && number.is_multiple_of(2)
}

/// Malicious behaviours that never give a complete response.
fn harm(number: u64, player: &mut Player) -> Result<(), Over> {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    player.read_request()?;
    match number / 2 % 10 {
        // One greedy connection is enough to starve an unfair reader.
        0 if number < 20 => {
            player.write(CHUNKED)?;
            player.write_forever(many("1\r\nx\r\n"), Duration::ZERO)
        }
        1 if number < 20 => player.write_forever(many("HTTP/1.1 103 x\r\n\r\n"), Duration::ZERO),
        2 => player.write("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        3 => player.reset(),
        4 => {
            player.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")?;
            player.end_sending()?;
            player.hang()
        }
        5 => player.drip(ANSWER, Duration::from_millis(100)),
        6 => player.write("HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n"),
        7 => Ok(()),
        8 => player.write("\x16\x03\x01\0\x02\x02\x28"),
        _ => player.hang(),
    }
}

fn run(load: &[&str], reactor: &str) {
    let answered = Arc::new(AtomicU64::new(0));
    let peer = {
        let answered = Arc::clone(&answered);
        Peer::start_with(move |number, player| {
            while is_honest(number) {
                player.read_request()?;
                // The responses of a server that takes some time.
                player.sleep(Duration::from_millis(1))?;
                player.write(ANSWER)?;
                answered.fetch_add(1, SeqCst);
            }
            harm(number, player)
        })
    };
    let url = format!("http://{}/", peer.addr());
    let fixed = ["-c", "100", "-t", "1", "-d", "2s", "--timeout", "1s", "--drain", "1s"];
    let arguments = [&fixed[..], &["--reactor", reactor], load, &[&url]].concat();
    let outcome = Candor::start_measuring(&arguments).finish_within(Duration::from_secs(15));
    let outcome = outcome.unwrap_or_else(|said| panic!("{reactor} {load:?} does not end: {said}"));
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    println!(
        "{reactor} {load:?}: {} ok, {} answered by the honest, errors {:?}, {} KiB, {:?}",
        document.ledger("ok"),
        answered.load(SeqCst),
        document.errors(),
        outcome.peak_kib,
        outcome.wall
    );
    assert_eq!(document.ledger("ok"), answered.load(SeqCst), "{:?}", document.at("/ledger"));
    assert!(document.ledger("ok") > 100, "{:?}", document.at("/ledger"));
    assert!(outcome.peak_kib < super::MOST_KIB, "{} KiB", outcome.peak_kib);
}

#[test]
fn the_ledger_of_the_honest_half_is_exact_in_a_closed_load() {
    run(&[], "epoll");
    run(&[], "uring");
}

#[test]
fn the_ledger_of_the_honest_half_is_exact_in_an_open_load() {
    run(&["-R", "500"], "epoll");
    run(&["-R", "500"], "uring");
}
