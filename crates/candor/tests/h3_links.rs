//! HTTP/3 over links with a delay, losses and a bounded queue: what is reported is held against what the link did.

use std::fs;
use std::time::Duration;

use candor_testkit::relay::{Counts, Link, Relay};

use crate::common::*;
use crate::h3_target::Target;

/// A link to a target, and the document of a run over it.
struct Linked {
    target: Target,
    link: Link,
}

impl Linked {
    fn start(link: Link) -> Self {
        Linked { target: Target::start(&[]), link }
    }

    /// The counts are those of the datagrams to the target, and from it.
    fn run(&self, path: &str, flags: &[&str]) -> (Document, Counts, Counts) {
        let address = self.target.url.strip_prefix("https://").unwrap().parse().unwrap();
        let relay = Relay::start(address, self.link);
        let (at, drain) = (relay.address().to_string(), ["--timeout", "60s", "--drain", "60s"]);
        let flags = [&["--connect-to", &at], &drain[..], flags].concat();
        let document = self.target.document("--h3", path, &flags);
        document.assert_all_ok();
        let (up, down) = relay.counts();
        (document, up, down)
    }
}

fn link(delay_ms: u64, lost_of_1000: u64) -> Link {
    Link { delay: Duration::from_millis(delay_ms), lost_of_1000, queue: 20_000, seed: 1 }
}

/// The datagrams that the link saw are those of the document, but for the last one of each connection, which closes it.
fn assert_counted(document: &Document, up: &Counts, down: &Counts) {
    let count = |name: &str| document.count(name);
    assert_eq!((up.overflowed, down.overflowed), (0, 0));
    assert!(down.lost + up.lost > 10, "{up:?} {down:?}");
    let closed = count("/connections/opened");
    let (sent, received) = (count("/datagrams/sent"), count("/datagrams/received"));
    assert!((sent..=sent + closed).contains(&up.came), "{sent} of {up:?}");
    assert!((received..=received + closed).contains(&down.passed), "{received} of {down:?}");
    // QUIC does not miss all that is lost: of acknowledgements, which are not sent again, it knows nothing.
    assert!(count("/paths/lost") <= up.lost, "{} of {up:?}", count("/paths/lost"));
    assert!(count("/paths/least_rtt/min_ns") >= 40_000_000);
}

/// 1 % of the datagrams are lost in either direction, and a round trip takes 40 ms.
#[test]
fn losses_and_round_trips_are_those_of_the_link() {
    let linked = Linked::start(link(20, 10));
    let upload = linked.target.candor.directory().join("upload");
    fs::write(&upload, vec![b'x'; 200_000]).unwrap();
    // More requests at once than the first window takes datagrams.
    let flags = ["-c", "2", "-m", "20", "-n", "40", "-X", "POST", "--body-file"];
    let (document, up, down) =
        linked.run("/upload", &[&flags[..], &[upload.to_str().unwrap()]].concat());
    assert_counted(&document, &up, &down);
    // Nearly all that is sent is a part of a request.
    let (lost, events) =
        (document.count("/paths/lost"), document.count("/paths/congestion_events"));
    assert!(2 * lost >= up.lost, "{lost} of {up:?}");
    assert!((1..=lost).contains(&events), "{events} for {lost}");
    assert!(document.count("/latencies/blocked/by/congestion_ns") > 0);
}

/// What is lost of the responses costs round trips, and no response.
#[test]
fn responses_come_whole_over_a_link_with_losses() {
    let linked = Linked::start(link(20, 10));
    let (document, up, down) = linked.run("/bytes/200k", &["-c", "4", "-m", "2", "-n", "40"]);
    assert_counted(&document, &up, &down);
    assert_eq!(document.count("/bytes/bodies"), 40 * (200 << 10));
    assert!(document.count("/latencies/service/min_ns") >= 40_000_000);
}

const ROUND_TRIP_NS: f64 = 62e6;

/// A round trip of 62 ms and objects of 1 MiB: the time is that of the link, unless Candor's windows are made small.
#[test]
fn the_time_of_a_large_object_is_that_of_the_link() {
    let linked = Linked::start(link(31, 0));
    let objects = ["-c", "1", "-n", "3"];
    // On the link: from its first datagram to the last that carries data. Whatever
    // else a busy machine adds, it does not add it every time.
    let time = |flags: &[&str], is_limited: bool| {
        let each = (0..20).map(|_| {
            let (document, up, down) = linked.run("/bytes/1m", flags);
            let is_told = document.verdicts().contains(&"window-limited");
            assert_eq!(is_told, is_limited, "{}", document.at("/paths"));
            let (first, last) = (up.first_came.unwrap(), down.last_data_passed.unwrap());
            let on_link_ns = last.duration_since(first).as_nanos() as f64;
            let part = |name: &str| document.number(&format!("/latencies/{name}/mean_ns"));
            let own_ns = part("handshake") + 3.0 * part("service");
            (own_ns, (own_ns - on_link_ns).abs())
        });
        let mut each = each.skip_while(|(_, apart_ns)| *apart_ns >= ROUND_TRIP_NS / 2.0);
        each.next().expect("a time that is the link's").0
    };
    let link_ns = time(&objects, false);
    // Windows of 64 KiB let a round trip have no more.
    let limited_ns = time(&[&objects[..], &["-w", "16", "-W", "16"]].concat(), true);
    assert!(limited_ns >= 3.0 * 15.0 * ROUND_TRIP_NS && limited_ns > 1.5 * link_ns);
}
