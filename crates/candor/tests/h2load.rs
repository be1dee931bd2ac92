//! `candor h2load` as a replacement of h2load: it has the form of real outputs, compared with
//! h2load itself, and the figures of the result document of the same run.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::common::{CANDOR, Candor, Document, Outcome, Target, candor};
use candor_testkit::h2load_form::{form, transcript};
use candor_testkit::nginx::{Listener, Nginx};
use candor_testkit::peer::{Peer, Script, Step};

/// An nginx with a listener for HTTP/2 in clear text; its URL.
fn h2c(directives: &str) -> (Nginx, String) {
    let listener = Listener {
        parameters: "http2".to_owned(),
        certificate: None,
        directives: directives.to_owned(),
    };
    let nginx = Nginx::start_with(true, &[listener]).unwrap();
    let url = format!("http://{}/", nginx.listeners()[0]);
    (nginx, url)
}

/// Starts it under the name `h2load`, by a link.
fn as_h2load(arguments: &[&str]) -> Outcome {
    let links = tempfile::tempdir().unwrap();
    let link = links.path().join("h2load");
    symlink(CANDOR, &link).unwrap();
    Candor::start_as(Command::new(&link), |directory, command| {
        command.args(arguments).current_dir(directory);
    })
    .finish()
}

/// h2load itself (Debian's package nghttp2-client).
fn h2load(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new("h2load").args(arguments).output().expect("h2load is installed");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("no signal"), text(output.stdout), text(output.stderr))
}

/// Runs with `--result`, expects success; the text, and the document of the same run.
fn measured_in(arguments: &[&str], prepare: impl FnOnce(&Path)) -> (String, Document, Outcome) {
    let all = [&["h2load", "--result", "result.json"], arguments].concat();
    let outcome = Candor::start_as(Command::new(CANDOR), |directory, command| {
        prepare(directory);
        command.args(&all).current_dir(directory);
    })
    .finish();
    assert_eq!(outcome.code(), 0, "{arguments:?}: {}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("candor: scheduled "), "{}", outcome.stderr);
    let document = Document::checked(&outcome.file("result.json"));
    (outcome.stdout.clone(), document, outcome)
}

fn measured(arguments: &[&str]) -> (String, Document) {
    let (text, document, _) = measured_in(arguments, |_| ());
    (text, document)
}

/// The number in front of `word` in the line that begins with `line`.
fn figure(text: &str, line: &str, word: &str) -> u64 {
    let line = text.lines().find(|one| one.starts_with(line)).expect(line);
    let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|one| *one == word).unwrap_or_else(|| panic!("{word}: {line}"));
    words[at - 1].trim_matches(['(', ')']).parse().unwrap_or_else(|_| panic!("{word}: {line}"))
}

/// The lines of figures, against the document.
fn assert_totals(text: &str, document: &Document) {
    let sent = document.ledger("sent");
    assert_eq!(figure(text, "requests: ", "started"), sent, "{text}");
    let done = document.ledger("ok") + document.ledger("errors");
    assert_eq!(figure(text, "requests: ", "done"), done);
    let classes = [2, 3, 4, 5].map(|class| {
        let of_class = document
            .list("/statuses")
            .iter()
            .filter(|one| one["status"].as_u64().unwrap() / 100 == class);
        of_class.map(|one| one["count"].as_u64().unwrap()).sum::<u64>()
    });
    for (class, count) in ["2xx", "3xx", "4xx", "5xx"].into_iter().zip(classes) {
        assert_eq!(figure(text, "status codes: ", class), count, "{text}");
    }
    assert_eq!(figure(text, "requests: ", "succeeded"), classes[0] + classes[1]);
    let received = document.count("/bytes/received");
    assert_eq!(figure(text, "traffic: ", "total"), received);
    assert_eq!(figure(text, "traffic: ", "data"), document.count("/bytes/bodies"));
    let rate = document.number("/rate/achieved_per_s");
    assert!(text.contains(&format!(", {rate:.2} req/s, ")), "{rate} {text}");
    let mean = document.number("/connection_rate/mean_per_s");
    let row = text.lines().find(|line| line.starts_with("req/s ")).unwrap();
    assert!(row.contains(&format!(" {mean:.2} ")), "{mean} {row}");
}

#[test]
fn a_number_of_requests_over_http_1_beside_h2load() {
    let nginx = Nginx::start(true).unwrap();
    let url = format!("http://{}/", nginx.address());
    let arguments = ["--h1", "-n1000", "-c10", &url];
    let (text, document) = measured(&arguments);
    let (code, theirs, _) = h2load(&arguments);
    assert_eq!(code, 0);
    assert_eq!(form(&text), form(&theirs), "{text}{theirs}");
    assert_eq!(form(&text), form(transcript("h2load-h1")), "{text}");
    assert_eq!(document.ledger("ok"), 1000);
    assert_eq!(document.count("/latencies/service/count"), 1000, "every request is timed");
    assert_totals(&text, &document);
    assert_eq!(nginx.stop().unwrap(), 2000, "both of them");
}

#[test]
fn a_duration_over_http_2_beside_h2load() {
    let (_nginx, url) = h2c("");
    let arguments = ["-D1", "--warm-up-time=1", "-c10", "-m10", &url];
    let (text, document) = measured(&arguments);
    let (code, theirs, _) = h2load(&arguments);
    assert_eq!(code, 0);
    assert_eq!(form(&text), form(&theirs), "{text}{theirs}");
    assert_eq!(form(&text), form(transcript("h2load-h2")), "{text}");
    assert!(text.contains("\nfinished in 2.00s, "), "{text}");
    assert!(document.count("/warm_up/ok") > 0);
    assert_totals(&text, &document);
    // Repeated header fields are compressed to a few bytes.
    let headers = document.count("/bytes/headers");
    assert_eq!(figure(&text, "traffic: ", "headers"), headers);
    assert!(document.count("/bytes/headers_decoded") > headers && headers > 0);
    let within = document.number("/connection_rate/within_stdev");
    assert!((0.0..=1.0).contains(&within));
}

#[test]
fn tls_is_told_and_both_protocols_are_offered() {
    let target = Target::start(&["--tls"]);
    let url = target.url("/").replace("http://", "https://");
    let threads = ["-t2", "-n200", "-c4", "-m5"];
    let (text, document) = measured(&[&threads[..], &[&url]].concat());
    let (_, theirs, _) = h2load(&[&threads[..], &[&url]].concat());
    // The suite and the group depend on both sides; their presence does not.
    let words = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("progress"));
        let lines = lines.map(|line| line.split(": ").next().unwrap().to_owned());
        lines.take(7).collect::<Vec<_>>()
    };
    assert_eq!(words(&text), words(&theirs), "{text}{theirs}");
    assert!(
        text.contains("TLS Protocol: TLSv1.3\n") && text.contains("Application protocol: h2\n")
    );
    let secured = document.at("/latencies/secured");
    assert_eq!(secured["count"], 4);
    assert!(secured["min_ns"].as_u64() > document.at("/latencies/handshake/min_ns").as_u64());
    let (text, _) = measured(&["--npn-list=http/1.1", "-n20", "-c2", &url]);
    assert!(text.contains("Application protocol: http/1.1\n"), "{text}");
}

#[test]
fn the_rate_of_all_clients_is_exact() {
    let (nginx, url) = h2c("");
    let (text, document) = measured(&["--rps=50", "-D2", "-c7", "-m2", &url]);
    assert_eq!(document.ledger("scheduled"), 700);
    assert_eq!(figure(&text, "requests: ", "total"), 700);
    assert_eq!(document.number("/rate/asked_per_s"), 350.0);
    // Times count from when each request was due.
    let row = text.lines().find(|line| line.starts_with("time for request:")).unwrap();
    let max_us = document.count("/latencies/response/max_ns") / 1000;
    let max = match max_us {
        0..1000 => format!("{max_us}us"),
        us => format!("{:.2}ms", us as f64 / 1e3),
    };
    assert!(row.contains(&max), "{max} {row}");
    assert_eq!(nginx.stop().unwrap(), 700);
}

#[test]
fn a_lost_connection_is_replaced() {
    // h2load ends a client at its first GOAWAY; ours makes all requests.
    let (nginx, url) = h2c("keepalive_requests 50;");
    let (text, document) = measured(&["-n1000", "-c4", &url]);
    assert_eq!(figure(&text, "requests: ", "total"), 1000);
    assert_eq!(document.ledger("ok") + document.ledger("errors"), 1000);
    assert!(document.count("/connections/opened") >= 20);
    assert_eq!(document.text("/connections/goaways/0/name"), "NO_ERROR");
    assert_eq!(nginx.stop().unwrap(), document.ledger("ok"));
}

#[test]
fn connections_come_at_their_rate_and_have_their_share() {
    let (nginx, url) = h2c("");
    let begun = ["-r4", "--rate-period=500ms", "-c8", "-n80", &url];
    let (text, document) = measured(&begun);
    assert_eq!(document.ledger("ok"), 80);
    assert_eq!(document.count("/connections/retired"), 8);
    assert!(document.count("/time/window_ns") >= 800_000_000, "the last comes after 7/8 s");
    assert!(
        text.contains("Up to 8 client(s) will be created every 1s")
            || text.contains(" 80 total requests")
    );
    assert!(text.contains("progress: 100% of clients started\n"), "{text}");
    assert_eq!(nginx.stop().unwrap(), 80);
}

#[test]
fn every_client_follows_the_timing_script() {
    let (nginx, url) = h2c("");
    let lines = format!("0\t{url}\n100.5\t{url}large\n300\t{url}\n");
    let (text, document, _) = measured_in(&["--timing-script-file=script", "-c5"], |directory| {
        std::fs::write(directory.join("script"), &lines).unwrap();
    });
    assert_eq!(document.ledger("ok"), 15);
    assert_eq!(figure(&text, "requests: ", "total"), 15);
    let rows = document.list("/requests");
    let sent: Vec<u64> = rows.iter().map(|row| row["sent"].as_u64().unwrap()).collect();
    assert_eq!(sent, [10, 5], "{rows:?}");
    assert_eq!(nginx.stop().unwrap(), 15);
}

#[test]
fn uris_of_a_file_are_taken_in_turn_and_data_is_posted() {
    let target = Target::start(&[]);
    let url = target.url("/echo");
    let (_, document, _) =
        measured_in(&["-i", "uris", "-d", "body", "-n30", "-c3", "-HX-A: b"], |directory| {
            std::fs::write(directory.join("uris"), format!("{url}\n/drain\n")).unwrap();
            std::fs::write(directory.join("body"), "0123456789").unwrap();
        });
    assert_eq!(document.ledger("ok"), 30);
    let methods = document.list("/plan/work/requests/list").iter().map(|one| one["method"].clone());
    assert!(methods.clone().all(|method| method == "POST") && methods.count() == 2);
    // Ten bytes back from each echo, `ok` from each drain.
    assert_eq!(document.count("/bytes/bodies"), 15 * 10 + 15 * 2);
    target.assert_requests(30);
}

#[test]
fn the_log_has_a_line_for_each_request() {
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let target = Target::start(&[]);
    let url = target.url("/status/404");
    let (text, _, outcome) =
        measured_in(&["-n100", "-c4", "-m2", "--log-file=log.tsv", &url], |_| ());
    assert_eq!(figure(&text, "requests: ", "failed"), 100, "{text}");
    assert_eq!(figure(&text, "requests: ", "errored"), 0, "{text}");
    let log = outcome.file("log.tsv");
    let rows: Vec<Vec<i64>> = log
        .lines()
        .map(|line| line.split('\t').map(|field| field.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), 100);
    let range = before.as_micros() as i64..before.as_micros() as i64 + 60_000_000;
    assert!(rows.iter().all(|row| range.contains(&row[0]) && row[1] == 404 && row[2] >= 0));
}

#[test]
fn time_outs_of_a_connection_are_counted() {
    let peer = Peer::start(Script::never_answers());
    let url = format!("http://{}/", peer.addr());
    let (text, document) = measured(&["--h1", "-D1", "-c2", "-N300ms", &url]);
    let timeout = figure(&text, "requests: ", "timeout");
    assert_eq!(timeout, document.errors()["idle-timeout"]);
    assert!(timeout >= 4, "connections are replaced: {text}");
    let answers = Peer::start(Script::answers());
    let url = format!("http://{}/", answers.addr());
    let (_, document) = measured(&["--h1", "-D1", "-c2", "-T300ms", &url]);
    let retired = document.count("/connections/retired");
    assert!((4..=8).contains(&retired), "{retired}");
    assert_eq!(document.count("/plan/connections/lifetime_ns"), 300_000_000);
}

#[test]
fn a_window_of_a_few_bits_is_obeyed() {
    // 64 KiB through a window of 1023 bytes: they need many updates, and arrive whole.
    let (_nginx, url) = h2c("");
    let large = format!("{url}large");
    let (text, document) = measured(&["-n20", "-c2", "-m2", "-w10", &large]);
    assert_eq!(document.count("/bytes/bodies"), 20 * 65_536);
    assert!(text.contains("20 succeeded"), "{text}");
}

#[test]
fn refusals_are_those_of_h2load() {
    for arguments in [
        &[][..],
        &["-c0", "http://127.0.0.1:1/"],
        &["-n5", "-c10", "http://127.0.0.1:1/"],
        &["-n5", "-c1", "-t2", "http://127.0.0.1:1/"],
        &["-r2", "-D3", "-c2", "http://127.0.0.1:1/"],
        &["-r20", "-n20", "-c10", "http://127.0.0.1:1/"],
        &["-p", "spdy", "http://127.0.0.1:1/"],
    ] {
        let ours = as_h2load(arguments);
        let (code, _, stderr) = h2load(arguments);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((ours.code(), words(&ours.stderr)), (code, words(&stderr)), "{arguments:?}");
    }
    let version = as_h2load(&["--version"]);
    assert_eq!((version.code(), version.stdout.starts_with("h2load candor/")), (0, true));
    let refused = as_h2load(&["http://127.0.0.1:1/"]);
    refused.assert_refused(1, &["127.0.0.1:1", "refused"]);
    as_h2load(&["--qlog-file-base=q", "http://h/"]).assert_refused(1, &["use --log-file"]);
}

#[test]
fn the_page_that_explains_it() {
    for arguments in [&["h2load", "--help"][..], &["h2load", "-h"], &["help", "h2load"]] {
        let outcome = candor(arguments);
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        for words in ["--timing-script-file", "Exit codes", "coming-from-h2load.md"] {
            assert!(outcome.stdout.contains(words), "{arguments:?} {}", outcome.stdout);
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coming-from-h2load.md");
    assert!(docs.exists());
}

#[test]
fn a_server_that_hangs_up_is_an_error_of_each_request() {
    let peer = Peer::start(Script::new([Step::ReadRequest, Step::Close]));
    let url = format!("http://{}/", peer.addr());
    let (text, document) = measured(&["--h1", "-n10", "-c2", &url]);
    assert_eq!(figure(&text, "requests: ", "errored"), 10, "{text}");
    assert_eq!(document.ledger("errors"), 10);
}
