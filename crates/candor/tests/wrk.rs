//! `candor wrk` as a replacement of wrk: it has the form of real outputs, compared with wrk itself,
//! and the figures of the result document of the same run.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::common::{CANDOR, Candor, Document, Outcome, Target, candor};
use candor_testkit::nginx::Nginx;
use candor_testkit::peer::{Peer, Script};
use candor_testkit::wrk_form::{form, transcript};

fn url(nginx: &Nginx) -> String {
    format!("http://{}/", nginx.address())
}

/// Starts it under another name, by a link.
fn under_the_name(name: &str, arguments: &[&str]) -> Outcome {
    let links = tempfile::tempdir().expect("a temporary directory");
    let link = links.path().join(name);
    symlink(CANDOR, &link).expect("a link");
    Candor::start_as(Command::new(&link), |directory, command| {
        command.args(arguments).current_dir(directory);
    })
    .finish()
}

/// wrk itself (Debian's package wrk).
fn wrk(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new("wrk").args(arguments).output().expect("wrk is installed");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("no signal"), text(output.stdout), text(output.stderr))
}

/// As with wrk, which has no option for them.
#[test]
fn certificates_are_not_checked() {
    let target = Target::start(&["--tls"]);
    let url = target.url("/").replace("http:", "https:");
    let (_, document) = measured(&["-t1", "-c1", "-d200ms", &url]);
    assert!(document.ledger("ok") > 0);
    assert!(document.verdicts().contains(&"tls-unverified"), "{:?}", document.verdicts());
}

/// Runs with `--result` and expects success; the text and the document of the same run.
fn measured(arguments: &[&str]) -> (String, Document) {
    let outcome = candor(&[&["wrk", "--result", "result.json"], arguments].concat());
    assert_eq!(outcome.code(), 0, "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.starts_with("candor: scheduled "), "{}", outcome.stderr);
    let document = Document::checked(&outcome.file("result.json"));
    (outcome.stdout, document)
}

/// The totals at the end, against the document.
fn assert_totals(text: &str, document: &Document) {
    let answered = document.count("/rate/answered_in_window");
    assert!(text.contains(&format!("  {answered} requests in ")), "{text}");
    let rate = document.number("/rate/achieved_per_s");
    assert!(text.contains(&format!("Requests/sec: {rate:9.2}\n")), "{rate} {text}");
}

#[test]
fn a_closed_loop_beside_wrk() {
    let nginx = Nginx::start(false).unwrap();
    let url = url(&nginx);
    let arguments = ["-t2", "-c10", "-d1s", "--latency", &url];
    let (text, document) = measured(&arguments);
    let (code, theirs, _) = wrk(&arguments);
    assert_eq!(code, 0);
    assert_eq!(form(&text), form(&theirs), "{text}{theirs}");
    assert_eq!(form(&text), form(transcript("wrk-latency")), "{text}");
    let head = |text: &str| text.lines().take(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(head(&text), head(&theirs));
    assert_totals(&text, &document);
    assert_eq!(document.count("/plan/load/closed/think_time_ns"), 0);
    // Twenty tenths of a second, if both threads could run.
    assert_eq!(document.count("/thread_rate/samples"), 20);
}

#[test]
fn an_open_load_in_the_form_of_wrk2() {
    let nginx = Nginx::start(false).unwrap();
    let url = url(&nginx);
    for (flag, name) in [("--latency", "wrk2-latency"), ("-U", "wrk2-u_latency")] {
        let (text, document) = measured(&["-t2", "-c10", "-d2s", "-R500", flag, &url]);
        assert_eq!(form(&text), form(transcript(name)), "{text}");
        assert_totals(&text, &document);
        assert_eq!(document.ledger("scheduled"), 1000);
        let count = document.count("/latencies/response/count");
        assert!(text.contains(&format!("Total count    = {count:12}]")), "{text}");
        let mean_ms = document.number("/latencies/response/mean_ns") / 1e6;
        assert!(text.contains(&format!("#[Mean    = {mean_ms:12.3}, ")), "{text}");
        for worker in document.list("/workers") {
            let mean_ms = worker["response_mean_ns"].as_f64().unwrap() / 1e6;
            assert!(text.contains(&format!("mean lat.: {mean_ms:.3}ms, rate")), "{text}");
        }
    }
}

#[test]
fn answers_that_are_no_success_have_their_line() {
    let target = Target::start(&[]);
    let url = target.url("/status/503");
    let arguments = ["-t1", "-c2", "-d1s", &url];
    let (text, document) = measured(&arguments);
    let (_, theirs, _) = wrk(&arguments);
    assert_eq!(form(&text), form(&theirs), "{text}{theirs}");
    assert_eq!(document.count("/statuses/0/status"), 503);
    let count = document.count("/statuses/0/count");
    // As in wrk, those of the window: what comes in the drain is in neither line.
    let in_window = document.count("/rate/answered_in_window");
    assert!(in_window <= count, "{in_window} of {count}");
    assert!(text.contains(&format!("  {in_window} requests in 1.00s, ")), "{text}");
    assert!(text.contains(&format!("  Non-2xx or 3xx responses: {in_window}\n")), "{text}");
    assert_eq!(document.count("/latencies/service/count"), count, "they have latencies");
}

#[test]
fn a_server_that_never_answers() {
    let peer = Peer::start(Script::never_answers());
    let url = format!("http://{}/", peer.addr());
    let (text, document) = measured(&["-t1", "-c3", "-d1s", "--timeout", "300ms", &url]);
    let timeouts = document.errors()["timeout"];
    let line = format!("  Socket errors: connect 0, read 0, write 0, timeout {timeouts}\n");
    assert!(text.contains(&line) && text.contains("  0 requests in 1.00s, 0.00B read"), "{text}");
    let (_, theirs, _) = wrk(&["-t1", "-c3", "-d1s", &url]);
    let row = |text: &str| form(text).into_iter().find(|line| line.contains("Latency")).unwrap();
    assert_eq!(row(&text), row(&theirs), "{text}{theirs}");
    assert!(text.contains("    -nan%") && theirs.contains("    -nan%"), "{text}{theirs}");
}

#[test]
fn what_is_asked_is_done_to_the_last_connection_and_request() {
    let target = Target::start(&[]);
    // wrk2 drops connections that -t does not divide, and sends nothing at a rate below -t.
    let (_, document) = measured(&["-t3", "-c10", "-d1s", "-R2", &target.url("/")]);
    assert_eq!(document.ledger("scheduled"), 2);
    assert_eq!(document.count("/connections/opened"), 10);
    let (_, document) = measured(&["-t2", "-c3", "-d2s", "-R0.5", &target.url("/")]);
    assert_eq!(document.ledger("scheduled"), 1);
    let (text, document) = measured(&["-t1", "-c1", "-d1.5s", "-R1k", &target.url("/")]);
    assert_eq!(document.ledger("scheduled"), 1500);
    assert!(text.starts_with("Running 2s test @ "), "{text}");
    assert!(text.contains(" requests in 1.50s, "), "{text}");
}

#[test]
fn periodic_reports_are_whole_and_add_up() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let (text, document) = measured(&["-t2", "-c4", "-d3s", "-R200", "-p1", "-L", "-D2", &url]);
    let parts: Vec<&str> = text.split("=== REPORT END ===\n").collect();
    assert_eq!(parts.len(), 4, "{text}");
    assert_eq!(parts[3], "");
    let opening = form(transcript("wrk2-latency"));
    let two_decimals: Vec<String> = opening
        .iter()
        .map(|line| line.replace("<3 decimals to 12> <6", "<2 decimals to 12> <6"))
        .collect();
    assert_eq!(form(parts[0]), two_decimals, "{}", parts[0]);
    for part in &parts[1..3] {
        assert_eq!(form(part), two_decimals[3..], "{part}");
    }
    let answered: u64 = parts[..3]
        .iter()
        .filter_map(|part| part.lines().find(|line| line.contains(" requests in ")))
        .map(|line| line.split_whitespace().next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(answered, document.count("/rate/answered_in_window"));
    let counted: u64 = parts[..3]
        .iter()
        .filter_map(|part| part.split("Total count    =").nth(1))
        .map(|rest| rest.split(']').next().unwrap().trim().parse::<u64>().unwrap())
        .sum();
    assert_eq!(counted, document.count("/latencies/response/count"), "the drain's too");
}

#[test]
fn the_object_of_the_fork() {
    let target = Target::start(&[]);
    let url = target.url("/status/404");
    let (text, document) = measured(&["-t1", "-c2", "-d1s", "-R100", "-e", &url]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["total_req"], document.count("/rate/answered_in_window"));
    assert_eq!(value["errors"]["http_error"], document.count("/statuses/0/count"));
    assert!(value["hist"].as_str().is_some_and(|text| text.starts_with("HIST")), "{value}");
    let (text, _) = measured(&["-t1", "-c2", "-d2s", "-R100", "--json_encoding", "-p", "1", &url]);
    let objects = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
    assert_eq!(objects.map(Result::unwrap).count(), 2, "{text}");
    assert!(!text.contains("REPORT END"));
    // The encoding that Python's library reads.
    let (text, _) = measured(&["-e", "--hist-format", "v2", "-c2", "-d1s", "-R100", &url]);
    assert!(text.contains("\"hist\": \"HISTF"), "{text}");
}

#[test]
fn refusals_are_those_of_wrk() {
    for arguments in [
        &[][..],
        &["-t1"],
        &["-c1", "-t2", "http://127.0.0.1:1/"],
        &["-t1", "-c1", "-d1s", "foo"],
        &["-x", "http://127.0.0.1:1/"],
        &["--foo", "http://127.0.0.1:1/"],
        &["--help"],
        &["-t1", "-c1", "-d1s", "http://127.0.0.1:1/"],
        &["-t1", "-c1", "-d1s", "http://nosuch.invalid/"],
    ] {
        let ours = under_the_name("wrk", arguments);
        let (code, stdout, stderr) = wrk(arguments);
        assert_eq!(
            (ours.code(), &ours.stdout, &ours.stderr),
            (code, &stdout, &stderr),
            "{arguments:?}"
        );
    }
    let version = under_the_name("wrk", &["-v"]);
    assert_eq!(version.code(), 1);
    assert!(version.stdout.starts_with("wrk candor/") && version.stdout.contains("Usage: wrk"));
}

#[test]
fn refusals_are_those_of_wrk2() {
    let no_rate = under_the_name("wrk2", &["-t1", "-c1", "-d1s", "http://127.0.0.1:1/"]);
    assert_eq!(no_rate.code(), 1);
    assert_eq!(format!("{}{}", no_rate.stderr, no_rate.stdout), transcript("wrk2-no-rate"));
    assert_eq!(under_the_name("wrk2", &[]).stdout, transcript("wrk2-usage"));
    let refused = under_the_name("wrk2", &["-t1", "-c2", "-d3s", "-R100", "http://127.0.0.1:1/"]);
    assert_eq!((refused.code(), refused.stderr.as_str()), (1, transcript("wrk2-refused")));
}

#[test]
fn the_page_that_explains_it() {
    for arguments in [&["wrk", "--help"][..], &["wrk", "-h"], &["help", "wrk"]] {
        let outcome = candor(arguments);
        assert_eq!(outcome.code(), 0);
        for words in ["--u_latency", "REPORT END", "Exit codes", "coming-from-wrk.md"] {
            assert!(outcome.stdout.contains(words), "{arguments:?} {}", outcome.stdout);
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coming-from-wrk.md");
    assert!(docs.exists());
}
