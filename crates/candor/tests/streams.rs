//! Streams of events from scripted servers: events at given times, streams that break off, an event without end,
//! keep-alives. Counts are exact; times are compared with what the server waited at least.

use std::time::Duration;

use crate::common::{Document, Target, candor, measure};
use candor_testkit::peer::{Peer, Script, Step};

const GAP: Duration = Duration::from_millis(20);
const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const END: &str = "0\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The head, then each of these events after a gap.
fn events(texts: &[&str]) -> Vec<Step> {
    let after_gap = |text: &&str| [Step::Sleep(GAP), Step::write(chunk(text))];
    [Step::write(HEAD)].into_iter().chain(texts.iter().flat_map(after_gap)).collect()
}

fn whole(texts: &[&str]) -> Script {
    Script::each_request(events(texts).into_iter().chain([Step::write(END)]))
}

fn run(script: Script, flags: &[&str]) -> Document {
    let peer = Peer::start(script);
    let url = format!("http://{}/", peer.addr());
    let document = measure(&[&["-c", "1", "-n", "5", "--stream", "sse"], flags, &[&url]].concat());
    assert_eq!(document.ledger("scheduled"), 5);
    document
}

#[test]
fn events_are_counted_and_come_no_sooner_than_they_were_sent() {
    let texts = ["data: a\n\n", ": keep-alive\n\n", "data: b\n\n", "data: c\ndata: d\n\n"];
    let document = run(whole(&texts), &["--tokens", "events"]);
    document.assert_all_ok();
    assert_eq!(document.count("/streams/events/min"), 3);
    assert_eq!(document.count("/streams/events/max"), 3);
    assert_eq!((document.count("/parts/count"), document.count("/parts/bytes")), (15, 25));
    assert_eq!(document.count("/streams/tokens/count"), 15);
    assert_eq!(document.count("/streams/first_event/count"), 5);
    // On a busy machine, a read may have found two of them.
    let gaps = document.count("/streams/gap/count") + document.count("/streams/coalesced");
    assert_eq!(gaps, 10);
    let gap_ns = GAP.as_nanos() as u64;
    assert!(document.count("/streams/first_event/min_ns") >= gap_ns);
    assert!(document.count("/streams/last_event/min_ns") >= 4 * gap_ns);
    assert!(
        document.count("/streams/first_byte/max_ns")
            <= document.count("/streams/last_event/max_ns")
    );
}

#[test]
fn streams_that_break_off_are_errors_of_their_own() {
    let cut = |last: Step| {
        Script::new([Step::ReadRequest].into_iter().chain(events(&["data: a\n\n"])).chain([last]))
    };
    for last in [Step::Close, Step::Reset] {
        let document = run(cut(last), &[]);
        document.assert_errors(&["stream-cut"]);
        assert_eq!(document.ledger("errors"), 5);
        assert_eq!(document.count("/streams/events/count"), 0);
    }
}

#[test]
fn error_events_and_missing_ends_are_errors_of_their_own() {
    let texts = ["data: a\n\n", "event: error\ndata: overloaded\n\n"];
    let document = run(whole(&texts), &["--stream-error", "^event: error"]);
    document.assert_errors(&["stream-error"]);
    assert!(document.text("/errors/0/example").ends_with("event 2 is an error"));
    let document = run(whole(&texts), &["--stream-end", "[DONE]"]);
    document.assert_errors(&["stream-unended"]);
    assert_eq!(document.count("/connections/opened"), 1, "the connection goes on");
    let ended = whole(&["data: a\n\n", "data: [DONE]\n\n"]);
    let document = run(ended, &["--stream-end", "[DONE]"]);
    document.assert_all_ok();
    assert_eq!(document.count("/streams/events/max"), 1);
}

#[test]
fn an_event_without_end_is_given_up() {
    let endless = Script::new([
        Step::ReadRequest,
        Step::write("HTTP/1.1 200 OK\r\n\r\ndata: a\n\ndata: "),
        Step::WriteForever(vec![b'x'; 16 << 10].into(), Duration::from_millis(1)),
    ]);
    let document = run(endless, &["--stream-end", "[DONE]"]);
    document.assert_errors(&["body-limit"]);
    assert_eq!(document.count("/streams/first_event/count"), 5);
}

/// The role comes first, then three tokens, then the usage.
#[test]
fn tokens_of_a_model_are_told_from_other_events() {
    let chunk = |delta: &str| format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
    let texts = [
        chunk("{\"role\":\"assistant\",\"content\":\"\"}"),
        chunk("{\"content\":\"a\"}"),
        chunk("{\"content\":\"b\"}"),
        chunk("{\"content\":\"c\"}"),
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\n"
            .to_owned(),
        "data: [DONE]\n\n".to_owned(),
    ];
    let peer = Peer::start(whole(&texts.each_ref().map(String::as_str)));
    let url = format!("http://{}/", peer.addr());
    let flags = ["-c", "1", "-n", "5", "--llm", "openai-chat", "-b", "{}"];
    let document = measure(&[&flags[..], &[&url]].concat());
    document.assert_all_ok();
    assert_eq!(document.text("/plan/work/requests/list/0/method"), "POST");
    assert_eq!(document.count("/streams/events/max"), 5);
    assert_eq!(document.count("/streams/tokens/count"), 5 * 9);
    assert_eq!(document.count("/streams/tokens/input"), 5 * 7);
    let first_ns = document.count("/streams/tokens/time_to_first_token/min_ns");
    assert!(first_ns >= 2 * GAP.as_nanos() as u64, "{first_ns}");
    let gaps = document.count("/streams/tokens/inter_token_latency/count");
    assert_eq!(gaps + document.count("/streams/tokens/coalesced"), 10);
    for (objective, code) in [("ttft min > 40ms", 0), ("ttft max < 40ms", 3), ("itl max > 1s", 3)] {
        let judged = ["--report", "full", "--no-keep", "--expect", objective, &url];
        let judged = candor(&[&flags[..], &judged].concat());
        assert_eq!(judged.code(), code, "{objective}\n{}", judged.stdout);
        assert!(judged.stdout.contains("45 tokens, each with 9"), "{}", judged.stdout);
    }
}

/// The server's gaps are 20 ms at least, so each limit is far from what is measured.
#[test]
fn good_responses_are_counted_and_judged() {
    let peer = Peer::start(whole(&["data: a\n\n", "data: b\n\n", "data: c\n\n"]));
    let url = format!("http://{}/", peer.addr());
    let flags = ["-c", "1", "-n", "5", "--stream", "sse", "--tokens", "events"];
    for (limits, good) in
        [("ttft<20s,tpot<20s,response<60s", 5), ("ttft<1ms,response<60s", 0), ("response<2ms", 0)]
    {
        let document = measure(&[&flags[..], &["--goodput", limits, &url]].concat());
        assert_eq!(document.count("/goodput/good"), good, "{limits}");
        assert_eq!(document.number("/goodput/share"), good as f64 / 5.0);
        let rows = document.list("/intervals").iter();
        let of_rows: u64 = rows.filter_map(|row| row["good"].as_u64()).sum();
        assert_eq!(of_rows, good);
        let objective = ["--no-keep", "--goodput", limits, "--expect", "goodput >= 95%", &url];
        let judged = candor(&[&flags[..], &objective].concat());
        assert_eq!(judged.code(), if good == 5 { 0 } else { 3 }, "{}", judged.stdout);
    }
    for (options, place) in [
        (&["--goodput", "itl<1s"][..], "itl: no tokens"),
        (&["--goodput", "gap<1s"], "gap: no request has a stream"),
        (&["--goodput", "ttft:300"], "'--goodput <LIMITS>'"),
        (&["--expect", "goodput > 1/s"], "no limits for good responses; add goodput"),
    ] {
        let refused = candor(&[options, &[&url]].concat());
        assert_eq!(refused.code(), 2, "{options:?}");
        assert!(refused.stderr.contains(place), "{}", refused.stderr);
    }
}

/// The server asks for 30 ms between streams, and ends none for good.
#[test]
fn users_go_on_with_their_streams() {
    let texts = ["retry: 30\nid: 5\ndata: a\n\n", "data: b\n\n"];
    let peer = Peer::start(whole(&texts));
    let url = format!("http://{}/", peer.addr());
    let flags = ["-c", "2", "-n", "8", "--stream", "sse", "--reconnect"];
    let document = measure(&[&flags[..], &[&url]].concat());
    document.assert_all_ok();
    assert_eq!(document.count("/streams/events/count"), 8);
    assert_eq!(document.count("/streams/reconnect/count"), 6);
    assert!(document.count("/streams/reconnect/min_ns") >= 30_000_000);
    let text = candor(&[&flags[..], &["--report", "full", "--no-keep", &url]].concat());
    assert!(text.stdout.contains("6 reconnects, p50 "), "{}", text.stdout);
    for (options, part) in [
        (&["-R", "10", "--stream", "sse"][..], "come again"),
        (&["--stream", "sse", "--think-time", "1s"], "the server says how long"),
        (&["--stream", "ndjson"], "add --stream sse"),
        (&["--stream", "sse", "-H", "Last-Event-ID: 1"], "that of the last event"),
    ] {
        let refused = candor(&[&["--reconnect"], options, &[&url]].concat());
        assert_eq!(refused.code(), 2, "{options:?}");
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}

/// A response without end: nothing failed, and nothing is invalid.
#[test]
fn a_feed_is_shown_by_its_events() {
    let feed = [
        Step::ReadRequest,
        Step::write("HTTP/1.1 200 OK\r\n\r\n"),
        Step::WriteForever(b"data: a\n\n".as_slice().into(), Duration::from_millis(5)),
    ];
    let peer = Peer::start(Script::new(feed));
    let url = format!("http://{}/", peer.addr());
    let flags = ["-c", "2", "-d", "1s", "--drain", "0", "--stream", "sse", "--no-keep", &url];
    let outcome = candor(&flags);
    assert_eq!(outcome.code(), 0, "{}", outcome.stdout);
    let headline = outcome.stdout.lines().find(|line| line.starts_with("FEED"));
    assert!(headline.is_some_and(|line| line.contains("/s events")), "{}", outcome.stdout);
    for finding in ["no-rate", "target-lost", "censored"] {
        assert!(!outcome.stdout.contains(finding), "{finding}\n{}", outcome.stdout);
    }
    assert!(outcome.stderr.contains("/s events, 2 connections"), "{}", outcome.stderr);
}

#[test]
fn a_report_and_objectives_are_of_events() {
    let peer = Peer::start(whole(&["data: a\n\n", "data: b\n\n"]));
    let url = format!("http://{}/", peer.addr());
    let flags = ["-c", "1", "-n", "5", "--stream", "sse", "--report", "full", "--no-keep"];
    let met = candor(&[&flags[..], &["--expect", "first-event max > 1ms", &url]].concat());
    assert_eq!(met.code(), 0, "{}", met.stdout);
    assert!(met.stdout.contains("5 streams began, 5 ended as expected"), "{}", met.stdout);
    let missed = candor(&[&flags[..], &["--expect", "last-event max < 1ms", &url]].concat());
    assert_eq!(missed.code(), 3, "{}", missed.stdout);
}

#[test]
fn streams_over_http_2() {
    let target = crate::common::Target::start(&[]);
    let url = target.url("/bytes/1000");
    let flags = ["--h2c", "-c", "1", "-n", "5", "--stream", "chunks"];
    let document = measure(&[&flags[..], &[&url]].concat());
    document.assert_all_ok();
    assert_eq!(document.count("/streams/events/count"), 5);
    assert_eq!(document.count("/parts/bytes"), 5000);
}

#[test]
fn events_come_over_tls_as_they_were_sent() {
    let target = Target::start(&["--tls"]);
    let url = target.url("/sse/5/10ms").replace("http:", "https:");
    for protocol in ["--h1", "--h2"] {
        let load = ["-k", "-c", "2", "-n", "20", "--stream", "sse", protocol, &url];
        let document = measure(&load);
        document.assert_all_ok();
        let events = ["min", "max"].map(|end| document.count(&format!("/streams/events/{end}")));
        assert_eq!((events, document.count("/parts/count")), ([5, 5], 100), "{protocol}");
        assert!(document.count("/streams/last_event/min_ns") >= 40_000_000, "{protocol}");
    }
}
