//! Servers that fail in every way: the ledger balances, errors have the right kinds, the peer's
//! count equals ours, and the run ends on time without wasting CPU.
//!
//! Documents are checked as they are read: schema, ledger, an example for each kind of error.

use std::time::{Duration, Instant};

use crate::common::{Candor, Document, Outcome, Target, candor};
use candor_testkit::peer::{Peer, Script};
use candor_testkit::process::{free_port, wait_until};

const MS: Duration = Duration::from_millis(1);

/// A busy machine may take this much longer than the run itself.
const MARGIN: Duration = Duration::from_secs(3);

fn url(peer: &Peer) -> String {
    format!("http://{}/", peer.addr())
}

/// Runs against `url`, and expects the end within `longest`.
fn run(url: &str, flags: &[&str], longest: Duration) -> (Document, Outcome) {
    let outcome = Candor::start_measuring(&[flags, &[url]].concat()).finish();
    let Outcome { wall, stdout, stderr, .. } = &outcome;
    assert!(*wall < longest + MARGIN, "took {wall:?}: {stdout}{stderr}");
    (outcome.measured(), outcome)
}

/// The peer has read exactly the requests that were sent. It may still be reading the last.
fn assert_same_count(peer: &Peer, document: &Document) {
    let sent = document.ledger("sent");
    wait_until(Duration::from_secs(2), || peer.requests() >= sent);
    assert_eq!(peer.requests(), sent);
}

/// Asserts that an idle loader uses almost no CPU.
fn assert_idle(outcome: &Outcome, document: &Document) {
    assert!(document.cpu_share() < 0.3, "{:?}", document.at("/workers"));
    assert!(outcome.cpu < outcome.wall / 3, "{:?} of {:?}", outcome.cpu, outcome.wall);
}

/// One second of closed load on four connections against a peer that fails every request in the
/// same way. The back-off limits the cost of failing connections.
fn every_request_fails(script: Script, kinds: &[&str]) -> (Peer, Document) {
    let peer = Peer::start(script);
    let (document, outcome) = run(&url(&peer), &["-c", "4", "-d", "1s"], 1000 * MS);
    assert_eq!(document.ledger("ok"), 0);
    assert!(document.ledger("errors") >= 8, "{}", document.at("/ledger"));
    assert!(document.ledger("errors") < 1000, "{}", document.at("/ledger"));
    assert!(document.errors().keys().all(|kind| kinds.contains(&kind.as_str())), "{document:?}");
    assert_eq!(document.ledger("unfinished"), 0);
    assert_idle(&outcome, &document);
    assert!(document.verdicts().contains(&"errors-dominate"), "{:?}", document.verdicts());
    (peer, document)
}

#[test]
fn nobody_listens() {
    let url = format!("http://127.0.0.1:{}/", free_port().unwrap());
    let outcome = candor(&["-c", "4", "-d", "5s", "--json", "result.json", &url]);
    outcome.assert_refused(
        1,
        &["cannot connect to 127.0.0.1:", "refused", "check that the server is running"],
    );
    assert!(outcome.wall < MARGIN, "{:?}", outcome.wall);
    assert_eq!(outcome.files(), [""; 0]);
}

#[test]
fn never_answered_requests_time_out() {
    let peer = Peer::start(Script::never_answers());
    let flags = ["-c", "2", "-d", "1s", "--timeout", "200ms"];
    let (document, outcome) = run(&url(&peer), &flags, 1200 * MS);
    document.assert_errors(&["timeout"]);
    let timeouts = document.ledger("errors");
    assert_eq!(document.ledger("sent"), timeouts);
    // Two connections, each for a second: at most one every 200 ms, and one across the end.
    assert!((4..=12).contains(&timeouts), "{timeouts}");
    assert_eq!(document.count("/latencies/censored/count"), timeouts);
    let youngest = document.number("/latencies/censored/min_ns");
    assert!(youngest >= 0.2e9, "{youngest}");
    assert_same_count(&peer, &document);
    assert_idle(&outcome, &document);
}

#[test]
fn requests_in_flight_at_the_end_are_unfinished() {
    let peer = Peer::start(Script::never_answers());
    let flags = ["-c", "3", "-d", "500ms", "--drain", "300ms"];
    let (document, outcome) = run(&url(&peer), &flags, 800 * MS);
    assert_eq!((document.ledger("sent"), document.ledger("unfinished")), (3, 3));
    assert_eq!(document.ledger("errors"), 0);
    assert_eq!(document.count("/latencies/censored/count"), 3);
    assert!(outcome.wall >= 800 * MS);
    assert!(document.verdicts().contains(&"errors-dominate"), "{:?}", document.verdicts());
    assert_same_count(&peer, &document);
    assert_idle(&outcome, &document);
}

#[test]
fn an_open_load_on_a_dead_end_is_unsent_and_unfinished() {
    let peer = Peer::start(Script::never_answers());
    let flags = ["-R", "100", "-c", "3", "-d", "1s", "--drain", "200ms"];
    let (document, outcome) = run(&url(&peer), &flags, 1200 * MS);
    assert_eq!(document.ledger("scheduled"), 100);
    assert_eq!((document.ledger("sent"), document.ledger("unfinished")), (3, 3));
    assert_eq!(document.ledger("unsent"), 97);
    assert_eq!(document.count("/latencies/censored/count"), 100);
    assert_same_count(&peer, &document);
    assert_idle(&outcome, &document);
}

#[test]
fn old_requests_are_shed() {
    let peer = Peer::start(Script::never_answers());
    let flags = ["-R", "100", "-c", "3", "-d", "1s", "--drain", "0s", "--shed-after", "200ms"];
    let (document, outcome) = run(&url(&peer), &flags, 1000 * MS);
    assert_eq!(document.ledger("scheduled"), 100);
    assert_eq!((document.ledger("sent"), document.ledger("unfinished")), (3, 3));
    // At the end, the 20 requests of the last 200 ms are waiting.
    let unsent = document.ledger("unsent");
    assert!((15..=30).contains(&unsent), "{}", document.at("/ledger"));
    assert_eq!(document.ledger("shed"), 97 - unsent);
    assert_idle(&outcome, &document);
}

#[test]
fn slow_answers_to_the_last_requests_are_awaited() {
    let target = Target::start(&[]);
    let flags = ["-R", "50", "-c", "40", "-d", "1s"];
    let (document, _) = run(&target.url("/delay/500ms"), &flags, 1500 * MS);
    assert_eq!(document.ledger("scheduled"), 50);
    document.assert_all_ok();
    assert!(document.count("/rate/answered_in_window") < 50);
    target.assert_requests(50);
}

#[test]
fn reset_in_the_header() {
    let (peer, document) = every_request_fails(Script::resets_mid_header(), &["reset"]);
    assert_same_count(&peer, &document);
    assert_eq!(document.count("/connections/lost"), document.ledger("errors"));
}

#[test]
fn reset_in_the_body() {
    let (peer, document) = every_request_fails(Script::resets_mid_body(), &["reset"]);
    assert_same_count(&peer, &document);
}

#[test]
fn truncated_body() {
    let (peer, document) = every_request_fails(Script::truncates_body(), &["truncated"]);
    assert_same_count(&peer, &document);
}

#[test]
fn bad_chunk() {
    let (peer, document) = every_request_fails(Script::bad_chunk(), &["malformed"]);
    assert_same_count(&peer, &document);
    assert!(document.text("/errors/0/example").contains("chunk"), "{:?}", document.at("/errors"));
}

#[test]
fn flood_of_interim_answers() {
    let (peer, document) = every_request_fails(Script::floods_with_1xx(), &["malformed"]);
    assert_same_count(&peer, &document);
    assert!(document.text("/errors/0/example").contains("1xx"), "{:?}", document.at("/errors"));
}

#[test]
fn closed_instead_of_answered() {
    let (peer, document) = every_request_fails(Script::closes_unanswered(), &["closed"]);
    assert_same_count(&peer, &document);
}

#[test]
fn closed_as_soon_as_accepted() {
    // The peer reads nothing, so it counts nothing. The loader sees either the close or the reset
    // that its own request provokes, whichever is first.
    let kinds = ["closed", "reset", "write"];
    let (peer, document) = every_request_fails(Script::closes_at_once(), &kinds);
    assert_eq!(peer.requests(), 0);
    assert_eq!(document.ledger("ok"), 0);
}

#[test]
fn junk_is_not_an_answer() {
    let (peer, document) =
        every_request_fails(Script::answers_with("+OK nonsense\r\n\r\n"), &["malformed"]);
    assert_same_count(&peer, &document);
}

#[test]
fn interim_answers_are_not_answers() {
    let peer = Peer::start(Script::answers_after_1xx());
    let (document, _) = run(&url(&peer), &["-c", "2", "-n", "200"], 5000 * MS);
    document.assert_all_ok();
    assert_eq!(document.list("/statuses").len(), 1);
    assert_same_count(&peer, &document);
}

#[test]
fn a_close_without_a_word_fails_what_was_sent_into_it() {
    let peer = Peer::start(Script::closes_on_reuse());
    let (document, _) = run(&url(&peer), &["-c", "2", "-d", "1s"], 1000 * MS);
    // The second request of a connection crosses the close: the peer never reads it, and the kernel
    // sends a reset, which may or may not overtake the close.
    assert_eq!(peer.requests(), document.ledger("ok"));
    assert!(document.ledger("ok") > 0);
    let known = |kind: &String| ["closed", "reset", "write"].contains(&kind.as_str());
    assert!(document.errors().keys().all(known), "{:?}", document.errors());
    assert_eq!(document.count("/connections/opened"), peer.connections());
}

#[test]
fn a_close_between_requests_fails_nothing() {
    let peer = Peer::start(Script::closes_on_reuse());
    let (document, outcome) = run(&url(&peer), &["-R", "20", "-c", "2", "-d", "1s"], 1000 * MS);
    assert_eq!(document.ledger("scheduled"), 20);
    document.assert_all_ok();
    assert!(document.count("/connections/closed_by_server") >= 18);
    assert_eq!(document.count("/connections/lost"), 0);
    assert_same_count(&peer, &document);
    assert_idle(&outcome, &document);
}

#[test]
fn an_announced_close_fails_nothing() {
    let peer = Peer::start(Script::closes_as_announced());
    let (document, _) = run(&url(&peer), &["-c", "2", "-n", "20"], 5000 * MS);
    document.assert_all_ok();
    assert_eq!(document.count("/connections/lost"), 0);
    assert_same_count(&peer, &document);
}

#[test]
fn http_1_0_ends_with_the_connection() {
    let peer = Peer::start(Script::http_1_0());
    let flags = ["-c", "2", "-n", "20", "--expect-body-bytes", "5"];
    let (document, _) = run(&url(&peer), &flags, 5000 * MS);
    document.assert_all_ok();
    assert_eq!(document.count("/bytes/bodies"), 100);
    assert_eq!(document.count("/connections/lost"), 0);
    assert_same_count(&peer, &document);
}

#[test]
fn a_drip_is_an_answer_if_one_has_the_patience() {
    let peer = Peer::start(Script::drips(8 * MS));
    let flags = ["-c", "2", "-n", "4", "--idle-timeout", "1s"];
    let (document, outcome) = run(&url(&peer), &flags, 2000 * MS);
    document.assert_all_ok();
    assert_same_count(&peer, &document);
    // 43 bytes: the first comes at once and each other 8 ms after the one before.
    assert!(document.mean_s("service") >= 42.0 * 0.008, "{}", document.mean_s("service"));
    assert!(document.mean_s("first_byte") < document.mean_s("service") / 2.0);
    assert_idle(&outcome, &document);
}

#[test]
fn a_drip_ends_by_the_idle_time_out() {
    let peer = Peer::start(Script::drips(2000 * MS));
    let flags = ["-c", "2", "-d", "1s", "--idle-timeout", "100ms"];
    let (document, outcome) = run(&url(&peer), &flags, 1100 * MS);
    document.assert_errors(&["idle-timeout"]);
    assert_eq!(document.ledger("ok"), 0);
    assert_same_count(&peer, &document);
    assert_idle(&outcome, &document);
}

#[test]
fn a_drip_that_never_pauses_ends_by_the_time_out() {
    let peer = Peer::start(Script::drips(20 * MS));
    let flags = ["-c", "2", "-d", "1s", "--idle-timeout", "500ms", "--timeout", "300ms"];
    let (document, outcome) = run(&url(&peer), &flags, 1300 * MS);
    document.assert_errors(&["timeout"]);
    assert_same_count(&peer, &document);
    assert_idle(&outcome, &document);
}

#[test]
fn header_and_body_in_two_writes_are_one_answer() {
    for nodelay in [true, false] {
        let peer = Peer::start(Script::head_then_body(nodelay));
        let (document, _) = run(&url(&peer), &["-c", "2", "-n", "40"], 5000 * MS);
        document.assert_all_ok();
        assert_eq!(document.count("/bytes/bodies"), 200);
        assert_same_count(&peer, &document);
    }
}

#[test]
fn answers_that_nobody_asked_for_are_not_counted() {
    let peer = Peer::start(Script::answers_twice());
    let (document, _) = run(&url(&peer), &["-c", "2", "-d", "1s"], 1000 * MS);
    // The first response on a connection is valid; the second breaks the connection before its
    // reuse, and is named as the cause. Since every connection has a response, it is replaced at
    // once: so this is a load with one request per connection, as fast as the peer allows.
    let sent = document.ledger("sent");
    assert!(sent > 0);
    assert_eq!(document.ledger("ok"), sent);
    assert_eq!(document.count("/connections/lost"), sent);
    assert_eq!(document.at("/connections/losses/0/kind"), "lost-malformed");
    assert!(document.at("/connections/losses/0/example").is_string());
    assert!(document.count("/connections/opened") <= sent + 2);
    assert_same_count(&peer, &document);
}

#[test]
fn an_answer_before_any_request_is_taken_once_at_most() {
    let peer = Peer::start(Script::answers_before_request());
    let flags = ["-c", "2", "-d", "1s", "--timeout", "300ms"];
    let (document, outcome) = run(&url(&peer), &flags, 1300 * MS);
    // Bytes from before the request left are not its response. Bytes that arrive just after it cannot
    // be distinguished from one; but there is only one on each connection, and the peer sends nothing
    // more.
    assert!(document.ledger("ok") <= document.count("/connections/opened"));
    let mut kinds = document.errors();
    kinds.remove("malformed");
    assert!(kinds.keys().eq(["timeout"]) || kinds.is_empty(), "{:?}", document.errors());
    assert!(document.ledger("errors") > 0);
    // If a connection was closed before the peer read, the kernel dropped the request: the peer has
    // read as many, or fewer.
    assert!(peer.requests() <= document.ledger("sent"));
    assert_idle(&outcome, &document);
}

#[test]
fn faults_of_the_embedded_target() {
    for (fault, kind) in [
        ("reset/20", "reset"),
        ("reset/90", "reset"),
        ("truncate/3", "truncated"),
        ("close", "closed"),
        ("hang", "timeout"),
    ] {
        let target = Target::start(&["--fault", fault]);
        let flags = ["-c", "2", "-d", "500ms", "--timeout", "150ms"];
        let (document, outcome) = run(&target.url("/"), &flags, 650 * MS);
        document.assert_errors(&[kind]);
        assert_eq!(document.ledger("ok"), 0, "{fault}");
        target.assert_requests(document.ledger("sent"));
        assert_idle(&outcome, &document);
    }
}

#[test]
fn a_target_that_closes_after_a_few_requests() {
    let target = Target::start(&["--close-after", "5"]);
    let (document, _) = run(&target.url("/"), &["-c", "2", "-n", "100"], 5000 * MS);
    document.assert_all_ok();
    assert_eq!(document.count("/connections/lost"), 0);
    assert!(document.count("/connections/closed_by_server") >= 18);
    target.assert_requests(100);

    let target = Target::start(&["--close-after-silently", "5"]);
    let (document, _) = run(&target.url("/"), &["-c", "2", "-n", "60"], 10_000 * MS);
    assert_eq!(document.ledger("scheduled"), 60);
    // Requests that cross the close are lost, and the target never reads them.
    target.assert_requests(document.ledger("ok"));
    assert_eq!(document.ledger("ok") + document.ledger("errors"), 60);
}

#[test]
fn pipelined_requests_behind_a_failure_are_aborted() {
    let peer = Peer::start(Script::bad_chunk());
    let (document, _) = run(&url(&peer), &["-p", "4", "-c", "1", "-n", "40"], 10_000 * MS);
    document.assert_errors(&["aborted", "malformed"]);
    let errors = document.errors();
    assert_eq!(errors["aborted"] + errors["malformed"], 40);
    assert_eq!(errors["aborted"], errors["malformed"] * 3);
    // Requests after the failure may have been dropped unread with the connection.
    assert!(peer.requests() <= 40);
}

/// The server dies for a while in the middle of a run.
fn restart_for(down: Duration, flags: &[&str], seconds: u64) -> (Peer, Document) {
    let mut peer = Peer::start(Script::answers());
    let address = url(&peer);
    let duration = format!("{seconds}s");
    let run_flags = [flags, &["-d", &duration, "--interval", "250ms", &address]].concat();
    let run = Candor::start_measuring(&run_flags);
    assert!(wait_until(Duration::from_secs(10), || peer.requests() > 0), "no request came");
    // The run has just begun, so its time and ours hardly differ.
    let begun = Instant::now();
    std::thread::sleep(1000 * MS);
    peer.stop_listening_and_drop_all();
    std::thread::sleep(down);
    let resumed = begun.elapsed();
    peer.resume();
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.wall < Duration::from_secs(seconds) + MARGIN, "took {:?}", outcome.wall);
    let document = outcome.document();

    let answered = |from: Duration, to: Duration| -> u64 {
        let within = document.window().filter(|one| {
            let start = Duration::from_nanos(one["start_ns"].as_u64().expect("a count"));
            (from..to).contains(&start)
        });
        within.map(|one| one["ok"].as_u64().expect("a count")).sum()
    };
    assert!(answered(Duration::ZERO, 1000 * MS) > 0);
    // An interval within the dead time, with a margin on both sides.
    assert_eq!(answered(1300 * MS, resumed - 300 * MS), 0);
    assert!(answered(resumed - 250 * MS, resumed + 1000 * MS) > 0, "does not resume");
    assert!(document.connect_errors().keys().eq(["connect-refused"]), "{document:?}");
    assert!(document.cpu_share() < 0.7, "{:?}", document.at("/workers"));
    // Each connection lost at most one request; the kernel dropped the requests on their way to the
    // dead server unread. All others were read and got a response.
    assert!(document.ledger("errors") <= document.count("/connections/asked"));
    assert!(peer.requests() >= document.ledger("ok"));
    assert!(peer.requests() <= document.ledger("sent"));
    (peer, document)
}

#[test]
fn an_open_load_survives_a_restart_and_tells_of_it() {
    let (_, document) = restart_for(1500 * MS, &["-R", "200", "-c", "8"], 5);
    assert_eq!(document.ledger("scheduled"), 1000);
    assert_eq!((document.ledger("unsent"), document.ledger("shed")), (0, 0));
    // 300 of 1000 were due while nothing listened, and waited up to a second and a half; those
    // above the 90th percentile waited for at least two thirds of that.
    let p90 = document.percentile_s("response", "p90");
    assert!((0.8..2.0).contains(&p90), "{p90}");
    assert!(document.percentile_s("service", "p90") < p90 / 10.0);
}

#[test]
fn a_closed_load_survives_a_restart() {
    restart_for(1000 * MS, &["-c", "8", "--think-time", "20ms"], 4);
}

#[test]
fn a_server_that_stays_away_is_given_up_and_the_result_is_kept() {
    let mut peer = Peer::start(Script::answers());
    let address = url(&peer);
    let flags = ["-c", "4", "-n", "1G", "--think-time", "10ms", "--give-up", "500ms", &address];
    let run = Candor::start_measuring(&flags);
    assert!(wait_until(Duration::from_secs(10), || peer.requests() > 20), "no request came");
    let died = Instant::now();
    peer.stop_listening_and_drop_all();
    let outcome = run.finish();
    assert!(died.elapsed() < 500 * MS + MARGIN, "{:?}", died.elapsed());
    let document = outcome.document();
    assert_eq!(document.text("/end/reason"), "gave-up");
    assert_eq!(document.at("/end/partial"), true);
    assert!(document.ledger("ok") > 20);
    assert!(document.verdicts().contains(&"gave-up"), "{:?}", document.verdicts());
    assert_eq!(outcome.code(), 1, "a run that did not do what it was asked is no success");
}
