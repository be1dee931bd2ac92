//! Malicious HTTP/2 servers, through the binary: each takes bounded memory and time, has the
//! outcome required by the RFC, and the ledger balances. docs/http2.md has the table.
#![allow(clippy::print_stdout, reason = "what each case cost")]

use std::borrow::Cow;
use std::time::Duration;

use crate::common::{Candor, Outcome};
use candor_testkit::peer::{Peer, Script, Step};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200`.
const OK: &[u8] = &[0x88];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn number(kind: u8, stream: u32, value: u32) -> Vec<u8> {
    frame(kind, 0, stream, &value.to_be_bytes())
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// A server's behaviour after its SETTINGS and the first request, which is on stream 1.
enum After {
    /// These bytes, once; then it reads on.
    Once(Vec<u8>),
    /// These bytes, and then others forever.
    Flood(Vec<u8>, Vec<u8>),
}

fn script(after: After) -> Script {
    let begin = [Step::write(frame(SETTINGS, 0, 0, b"")), Step::ReadH2Request];
    let steps = match after {
        After::Once(bytes) => vec![Step::write(bytes), Step::Sleep(Duration::from_secs(60))],
        After::Flood(first, piece) => {
            // Large writes, for a fast flood.
            let times = (64 << 10) / piece.len() + 1;
            let piece = Cow::Owned(piece.repeat(times));
            vec![Step::write(first), Step::WriteForever(piece, Duration::ZERO)]
        }
    };
    Script::new(begin.into_iter().chain(steps))
}

/// One second of load, four connections with two streams each.
fn run(url: &str, flags: &[&str]) -> Outcome {
    let fixed = ["--h2c", "-c", "4", "-m", "2", "-d", "1s", "--drain", "500ms", "-t", "1"];
    let limits = ["--timeout", "600ms", "--connect-timeout", "1s", "--report", "full"];
    Candor::start_measuring(&[&fixed[..], &limits, flags, &[url]].concat()).finish()
}

/// The memory of a run against an honest server, for comparison.
fn honest_kib() -> u64 {
    let target = crate::common::Target::start(&[]);
    let outcome = run(&target.url("/"), &[]);
    assert_eq!(outcome.code(), 0);
    outcome.document().assert_all_ok();
    outcome.peak_kib
}

/// A case: its name, what the server does, the kind of the requests' outcome, and the words of the
/// example.
type Case = (&'static str, After, &'static str, &'static str);

fn cases() -> Vec<Case> {
    let open = |stream| frame(HEADERS, END_HEADERS, stream, OK);
    let fields = |count: usize| {
        // Literals without indexing: `x: ` and 100 bytes.
        [&[0, 1, b'x', 100][..], &[b'v'; 100]].concat().repeat(count)
    };
    // A value of 3,900 bytes enters the table; then it is named 16,000 times.
    let mut bomb = vec![0x88, 0x40, 1, b'x', 0x7f, 0xbd, 0x1d];
    bomb.extend_from_slice(&[b'y'; 127 + 0x3d + 29 * 128]);
    bomb.extend_from_slice(&[0xbe; 12_000]);
    vec![
        (
            "CONTINUATION without an end",
            After::Flood(frame(HEADERS, 0, 1, OK), frame(CONTINUATION, 0, 1, &fields(9))),
            "malformed",
            "a header block is longer, or in more CONTINUATION frames, than the limit allows",
        ),
        (
            "CONTINUATION frames without content",
            After::Flood(frame(HEADERS, 0, 1, OK), frame(CONTINUATION, 0, 1, b"")),
            "malformed",
            "in more CONTINUATION frames, than the limit allows",
        ),
        (
            "a header list above the limit",
            After::Once(
                [frame(HEADERS, 0, 1, &[OK, &fields(150)].concat())]
                    .into_iter()
                    .chain((0..2).map(|_| frame(CONTINUATION, 0, 1, &fields(150))))
                    .chain([frame(CONTINUATION, END_HEADERS, 1, &fields(50))])
                    .collect::<Vec<_>>()
                    .concat(),
            ),
            "malformed",
            "the response's header fields are larger than the limit allows",
        ),
        (
            "an HPACK bomb",
            After::Once(frame(HEADERS, END_HEADERS, 1, &bomb)),
            "malformed",
            "the response's header fields are larger than the limit allows",
        ),
        (
            "an HPACK index that is nobody's",
            After::Once(frame(HEADERS, END_HEADERS, 1, &[0xfe])),
            "malformed",
            "refers to an entry that its tables do not have",
        ),
        (
            "SETTINGS",
            After::Flood(vec![], frame(SETTINGS, 0, 0, b"")),
            "malformed",
            "floods the connection with frames that carry nothing",
        ),
        (
            "PING",
            After::Flood(vec![], frame(PING, 0, 0, &[0; 8])),
            "malformed",
            "floods the connection",
        ),
        (
            "empty DATA",
            After::Flood(open(1), frame(DATA, 0, 1, b"")),
            "malformed",
            "floods the connection",
        ),
        (
            "PRIORITY",
            After::Flood(vec![], frame(PRIORITY, 0, 1, &[0; 5])),
            "malformed",
            "floods the connection",
        ),
        (
            "WINDOW_UPDATE beyond 2^31 - 1",
            After::Once(number(WINDOW_UPDATE, 0, 0x7fff_ffff)),
            "malformed",
            "opened the connection's flow-control window beyond 2^31 - 1",
        ),
        (
            "WINDOW_UPDATE of a stream beyond 2^31 - 1",
            After::Once(number(WINDOW_UPDATE, 1, 0x7fff_ffff)),
            "malformed",
            "opened a stream's flow-control window beyond 2^31 - 1",
        ),
        (
            "DATA on a stream that was never opened",
            After::Once(frame(DATA, END_STREAM, 99, b"x")),
            "malformed",
            "a frame on a stream that was never opened",
        ),
        (
            "HEADERS on a stream of the server's",
            After::Once(open(2)),
            "malformed",
            "a frame on a stream that was never opened",
        ),
        (
            "DATA on a stream that has ended",
            After::Once(
                [frame(HEADERS, END_HEADERS | END_STREAM, 1, OK), frame(DATA, 0, 1, b"x")].concat(),
            ),
            "malformed",
            "a frame on a stream that had ended",
        ),
        (
            "a frame over the size limit",
            After::Once([open(1), frame(DATA, 0, 1, &[0; 16_385])].concat()),
            "malformed",
            "a frame is longer than the limit allows",
        ),
        (
            "PUSH_PROMISE",
            After::Once(frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])),
            "malformed",
            "pushes a response although that was refused",
        ),
        (
            "GOAWAY for every connection",
            After::Once(goaway(0, 11)),
            "not-processed",
            "GOAWAY, error code 0xb, last stream 0",
        ),
        (
            "GOAWAY again and again",
            After::Flood(vec![], goaway(0x7fff_ffff, 0)),
            "malformed",
            "floods the connection",
        ),
        (
            "RST_STREAM for every request",
            After::Once(number(RST_STREAM, 1, 2)),
            "stream-reset",
            "the server reset the stream, error code 0x2",
        ),
        (
            "RST_STREAM again and again",
            After::Flood(vec![], number(RST_STREAM, 1, 8)),
            "malformed",
            "floods the connection",
        ),
    ]
}

#[test]
fn each_costs_bounded_memory_and_time_and_has_its_outcome() {
    let honest_kib = honest_kib();
    for (name, after, kind, words) in cases() {
        let peer = Peer::start(script(after));
        let outcome = run(&format!("http://{}/", peer.addr()), &[]);
        // A second of load, half a second of drain, and a busy machine.
        assert!(outcome.wall < Duration::from_secs(15), "{name}: {:?}", outcome.wall);
        let (document, peak_kib) = (outcome.measured(), outcome.peak_kib);
        let errors = document.errors();
        assert!(errors.contains_key(kind), "{name}: {errors:?}");
        let printed = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(words), "{name}: {words:?} is not in {printed}");
        assert!(peak_kib < honest_kib + (4 << 10), "{name}: {peak_kib} KiB, honest {honest_kib}");
        // The run continues: closed connections are replaced.
        let opened = document.count("/connections/opened");
        let goes_on = opened > 4 || document.count("/connections/lost") == 0;
        assert!(goes_on, "{name}: {opened} opened");
        println!(
            "{name}: {kind}, {opened} connections, {peak_kib} KiB (honest {honest_kib}), {:?}",
            outcome.wall
        );
    }
}

#[test]
fn more_data_than_the_windows_allow_is_refused() {
    // One frame of 100,000 bytes, where a window has 65,535.
    let answer = || [frame(HEADERS, END_HEADERS, 1, OK), frame(DATA, 0, 1, &[0; 100_000])].concat();
    for (window, words) in [
        ("-w", "the server sent more than the stream's flow-control window allows"),
        ("-W", "the server sent more than the connection's flow-control window allows"),
    ] {
        let peer = Peer::start(script(After::Once(answer())));
        let url = format!("http://{}/", peer.addr());
        let outcome = run(&url, &[window, "16", "--max-frame-size", "1M"]);
        assert!(outcome.measured().errors().contains_key("malformed"));
        let printed = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(words), "{printed}");
    }
}

/// Each error has the address, the expected behaviour of the server, and the remedy.
#[test]
fn a_server_that_does_not_begin_with_http_2_is_named_with_what_it_should_have_sent() {
    let silence = || Step::Sleep(Duration::from_secs(60));
    let settings = "the SETTINGS frame that HTTP/2 begins with";
    let protocol =
        "; check the protocol of this port (http:// or https://, --h1, --h2 or --h2c), or give";
    for (scheme, flag, step, words) in [
        ("http", "--h2c", silence(), &["did not send", settings, "within 1 s", protocol][..]),
        (
            "http",
            "--h2c",
            Step::write(frame(PING, 0, 0, &[0; 8])),
            &["its first frame is not SETTINGS", "; use --h1"],
        ),
        (
            "https",
            "--insecure",
            silence(),
            &["did not send its part of the TLS handshake within 1 s", protocol],
        ),
    ] {
        let peer = Peer::start(Script::new([step, silence()]));
        let addr = peer.addr();
        let url = format!("{scheme}://{addr}/");
        let fixed = ["-c", "4", "-d", "1s", "--connect-timeout", "1s", flag, &url];
        let outcome = crate::common::candor(&fixed);
        let begin = format!("the handshake failed with {addr}: the server ");
        outcome.assert_refused(1, &[&[begin.as_str()], words].concat());
        assert!(outcome.wall < Duration::from_secs(15));
    }
}
