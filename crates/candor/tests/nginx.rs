//! nginx as a real peer: its own count of requests equals ours.

use crate::common::{Candor, Document, Target, measure};
use candor_testkit::nginx::{BODY, Nginx};

fn url(nginx: &Nginx, path: &str) -> String {
    format!("http://{}{path}", nginx.address())
}

/// Asserts that nginx has logged exactly the requests that the document counts as sent, warm-up
/// included.
fn assert_same_count(nginx: Nginx, document: &Document) {
    let logged = nginx.stop().expect("nginx stops");
    assert_eq!(logged, document.ledger("sent") + document.count("/warm_up/sent"));
}

#[test]
fn closed_load_on_64_connections() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-c", "64", "-d", "2s", &url(&nginx, "/")]);
    document.assert_all_ok();
    assert_eq!(document.text("/end/reason"), "duration");
    assert_eq!(document.count("/connections/opened"), 64);
    assert_eq!(document.count("/connections/least"), 64);
    assert_eq!(document.count("/bytes/bodies"), document.ledger("ok") * BODY.len() as u64);
    assert_eq!(document.list("/statuses").len(), 1);
    assert_eq!(document.count("/statuses/0/count"), document.ledger("ok"));
    // All intervals: a request from the window may leave just after it.
    let intervals = document.list("/intervals").iter().map(|one| one["sent"].as_u64().unwrap());
    assert_eq!(intervals.sum::<u64>(), document.ledger("sent"));
    assert_same_count(nginx, &document);
}

/// Pipelined requests leave in batches, unless the kernel forbids io_uring; others by themselves.
#[test]
fn pipelined_requests_are_counted_as_nginx_does() {
    for (pipeline, in_batches) in [("16", candor_engine::probe_uring().is_ok()), ("1", false)] {
        let nginx = Nginx::start(true).unwrap();
        let flags = ["-c", "8", "-t", "1", "-d", "1s", "--report", "full", "--pipeline", pipeline];
        let outcome =
            Candor::start_measuring(&[&flags[..], &[&url(&nginx, "/")]].concat()).finish();
        assert_eq!(outcome.stdout.contains("io_uring, "), in_batches, "{}", outcome.stdout);
        let document = outcome.document();
        assert_eq!(document.at("/workers/0/batches").is_null(), !in_batches);
        document.assert_all_ok();
        assert_same_count(nginx, &document);
    }
}

#[test]
fn open_load_holds_its_rate() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-R", "2k", "-c", "64", "-d", "3s", &url(&nginx, "/")]);
    assert_eq!(document.ledger("scheduled"), 6000);
    document.assert_all_ok();
    assert_eq!(document.number("/rate/asked_per_s"), 2000.0);
    let achieved = document.number("/rate/achieved_per_s");
    assert!((1980.0..=2020.0).contains(&achieved), "{achieved}");
    // Every whole second has its 2000 requests, except those that a pause of this machine moves to
    // the next second.
    for interval in document.window() {
        let sent = interval["sent"].as_u64().unwrap();
        assert!((1000..=3000).contains(&sent), "{interval}");
    }
    assert_same_count(nginx, &document);
}

#[test]
fn a_count_is_exact() {
    for (count, flags) in [("5k", &["-c", "16"][..]), ("1001", &["-c", "7", "-t", "2"])] {
        let nginx = Nginx::start(true).unwrap();
        let url = url(&nginx, "/");
        let document = measure(&[flags, &["-n", count, &url]].concat());
        let asked = if count == "5k" { 5000 } else { 1001 };
        assert_eq!(document.ledger("scheduled"), asked);
        document.assert_all_ok();
        assert_eq!(document.text("/end/reason"), "count");
        assert_same_count(nginx, &document);
    }
}

#[test]
fn a_count_is_exact_in_an_open_load_too() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-R", "1k", "-n", "777", "-c", "8", "-t", "2", &url(&nginx, "/")]);
    assert_eq!(document.ledger("scheduled"), 777);
    document.assert_all_ok();
    assert_same_count(nginx, &document);
}

#[test]
fn head_has_no_body() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-X", "HEAD", "-c", "4", "-n", "500", &url(&nginx, "/large")]);
    document.assert_all_ok();
    assert_eq!(document.count("/bytes/bodies"), 0);
    assert!(document.count("/bytes/received") < 500 * 1000);
    assert_same_count(nginx, &document);
}

#[test]
fn large_bodies_are_read_whole() {
    let nginx = Nginx::start(true).unwrap();
    let large = url(&nginx, "/large");
    let document = measure(&["-c", "4", "-n", "500", "--expect-body-bytes", "65536", &large]);
    document.assert_all_ok();
    assert_eq!(document.count("/bytes/bodies"), 500 * 65536);
    assert_same_count(nginx, &document);
}

#[test]
fn pipelined_requests_are_counted_one_by_one() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-p", "8", "-c", "8", "-n", "4000", &url(&nginx, "/")]);
    assert_eq!(document.ledger("scheduled"), 4000);
    document.assert_all_ok();
    assert_eq!(document.count("/connections/opened"), 8);
    assert_same_count(nginx, &document);
}

#[test]
fn connections_are_retired_after_their_share() {
    let nginx = Nginx::start(true).unwrap();
    let url = url(&nginx, "/");
    let document = measure(&["--requests-per-connection", "10", "-c", "4", "-n", "1k", &url]);
    document.assert_all_ok();
    // Connections that are open at the end were opened for no request.
    let opened = document.count("/connections/opened");
    assert!((100..=104).contains(&opened), "{opened}");
    assert_eq!(document.count("/connections/lost"), 0);
    assert_same_count(nginx, &document);
}

#[test]
fn pipelined_requests_share_a_connection_up_to_its_share() {
    let nginx = Nginx::start(true).unwrap();
    let url = url(&nginx, "/");
    let share = ["--requests-per-connection", "10", "-p", "4", "-c", "4", "-n", "1k"];
    let document = measure(&[&share[..], &[&url]].concat());
    document.assert_all_ok();
    let opened = document.count("/connections/opened");
    assert!((100..=104).contains(&opened), "{opened}");
    assert_same_count(nginx, &document);
}

#[test]
fn without_keep_alive_each_request_has_a_connection() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["--no-keepalive", "-c", "4", "-n", "500", &url(&nginx, "/")]);
    document.assert_all_ok();
    let opened = document.count("/connections/opened");
    assert!((500..=504).contains(&opened), "{opened}");
    assert_eq!(document.count("/connections/lost"), 0);
    assert_same_count(nginx, &document);
}

#[test]
fn the_warm_up_is_sent_and_counted_apart() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-R", "500", "--warm-up", "1s", "-d", "2s", &url(&nginx, "/")]);
    assert_eq!(document.count("/warm_up/scheduled"), 500);
    assert_eq!(document.ledger("scheduled"), 1000);
    document.assert_all_ok();
    assert_eq!(document.count("/latencies/response/count"), 1000);
    assert_eq!(document.count("/time/window_ns"), 2_000_000_000);
    assert_same_count(nginx, &document);

    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-c", "4", "--warm-up", "500ms", "-n", "300", &url(&nginx, "/")]);
    assert_eq!(document.ledger("ok"), 300);
    assert!(document.count("/warm_up/ok") > 0);
    assert_same_count(nginx, &document);
}

#[test]
fn two_threads_keep_one_ledger() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-t", "2", "-c", "9", "-R", "1k", "-d", "2s", &url(&nginx, "/")]);
    assert_eq!(document.ledger("scheduled"), 2000);
    document.assert_all_ok();
    assert_eq!(document.list("/workers").len(), 2);
    assert_same_count(nginx, &document);
}

#[test]
fn wrong_answers_are_errors() {
    let nginx = Nginx::start(true).unwrap();
    let document = measure(&["-c", "4", "-n", "200", &url(&nginx, "/nowhere")]);
    document.assert_errors(&["status"]);
    assert_eq!(document.ledger("errors"), 200);
    assert_eq!(document.count("/statuses/0/status"), 404);
    let document_of_expected =
        measure(&["-c", "4", "-n", "200", "--expect-status", "404", &url(&nginx, "/nowhere")]);
    document_of_expected.assert_all_ok();
    assert_eq!(nginx.stop().unwrap(), 400);
}

#[test]
fn a_unix_socket_is_a_target_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let socket = socket.to_str().unwrap();
    let target = Target::start(&["--unix-socket", socket]);
    let document =
        measure(&["--unix-socket", socket, "-c", "8", "-n", "1000", "http://some.name/json"]);
    document.assert_all_ok();
    assert_eq!(document.text("/plan/target/endpoint/unix/path"), socket);
    target.assert_requests(1000);
}
