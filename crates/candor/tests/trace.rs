//! Traces and kernel time stamps, through the binary.

use std::collections::HashSet;
use std::fs;

use crate::common::{Candor, Outcome, Target, candor};

fn report(outcome: &Outcome, file: &str, format: &str) -> Outcome {
    let path = outcome.path(file);
    candor(&["report", path.to_str().expect("a path of text"), "--format", format])
}

fn traced(target: &Target, flags: &[&str]) -> Outcome {
    let run = ["-R", "500", "-c", "8", "-d", "1s", "--warm-up", "200ms", "--trace", "run.trace"];
    let outcome = Candor::start_measuring(&[&run[..], flags, &[&target.url("/")]].concat());
    let outcome = outcome.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.files(), ["result.json", "run.trace"]);
    outcome
}

fn rows(csv: &str) -> Vec<Vec<String>> {
    let rows = csv.lines().skip(1);
    rows.map(|row| row.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn a_full_trace_is_the_ledger_and_its_times_are_the_histograms() {
    let target = Target::start(&[]);
    let outcome = traced(&target, &[]);
    let csv = report(&outcome, "run.trace", "csv");
    assert_eq!((csv.code(), csv.stderr.as_str()), (0, ""));
    let rows = rows(&csv.stdout);
    assert_eq!(rows.len(), 600);
    let document = outcome.document();
    assert_eq!(document.at("/trace/traced"), 600);
    let measured: Vec<_> = rows.iter().filter(|row| row[3] == "measured").collect();
    assert_eq!(measured.len() as u64, document.ledger("ok"));
    let ns = |row: &Vec<String>, column: usize| row[column].parse::<u64>().expect("a time");
    let slowest = measured.iter().map(|row| ns(row, 8) - ns(row, 4)).max();
    assert_eq!(slowest, document.at("/latencies/response/max_ns").as_u64());
    for row in &rows {
        assert_eq!((row[1].as_str(), row[9].as_str(), row[10].as_str()), ("GET /", "ok", "200"));
        assert!((4..8).all(|column| ns(row, column) <= ns(row, column + 1)), "{row:?}");
        // 500/s: due every 2 ms.
        assert_eq!(ns(row, 4), ns(row, 0) * 2_000_000, "{row:?}");
    }
    let text = report(&outcome, "run.trace", "text");
    assert!(text.stdout.contains("ok 600"), "{}", text.stdout);
    report(&outcome, "run.trace", "json").assert_refused(2, &["is a trace", "--format csv"]);
}

#[test]
fn a_sample_has_its_size_and_depends_on_the_seed_alone() {
    let target = Target::start(&[]);
    let indices = |flags: &[&str]| -> HashSet<String> {
        let outcome = traced(&target, flags);
        let csv = report(&outcome, "run.trace", "csv").stdout;
        let indices: HashSet<_> = rows(&csv).into_iter().map(|row| row[0].clone()).collect();
        let document = outcome.document();
        assert_eq!(document.at("/trace/traced"), indices.len());
        assert_eq!(document.at("/trace/not_traced"), 600 - indices.len());
        indices
    };
    let fifty = indices(&["--trace-sample", "50", "-t", "1"]);
    assert_eq!(fifty.len(), 50);
    assert_eq!(indices(&["--trace-sample", "50", "-t", "2"]), fifty);
    let tenth = indices(&["--trace-sample", "1/10"]);
    assert!((30..90).contains(&tenth.len()), "{}", tenth.len());
    assert!(tenth.is_subset(&fifty) || fifty.is_subset(&tenth), "both are the lowest ranks");
    assert_ne!(indices(&["--trace-sample", "50", "--seed", "2"]), fifty);
}

#[test]
fn a_trace_that_was_cut_off_is_read_up_to_there() {
    let target = Target::start(&[]);
    let outcome = traced(&target, &["--interval", "100ms"]);
    let whole = fs::read(outcome.path("run.trace")).expect("the trace");
    fs::write(outcome.path("cut.trace"), &whole[..whole.len() * 2 / 3]).expect("a copy");
    let cut = report(&outcome, "cut.trace", "csv");
    let found = rows(&cut.stdout).len();
    assert!((1..600).contains(&found), "{found}");
    cut.assert_refused(1, &["cut off", &format!("{found} requests")]);
    assert_eq!(
        fs::read(outcome.path("cut.trace")).expect("still there").len(),
        whole.len() * 2 / 3
    );
}

#[test]
fn a_full_disk_takes_the_trace_and_nothing_else() {
    let target = Target::start(&[]);
    let flags = ["-R", "500", "-d", "500ms", "--trace", "/dev/full", &target.url("/")];
    let outcome = Candor::start_measuring(&flags).finish();
    assert_eq!(outcome.code(), 1);
    assert!(outcome.stderr.contains("/dev/full") && outcome.stderr.contains("No space left"));
    let document = outcome.document();
    document.assert_all_ok();
    assert_eq!(document.at("/trace/traced"), 0);
    assert_eq!(document.at("/trace/dropped"), 250);
}

#[test]
fn a_run_that_does_not_begin_leaves_no_trace() {
    let outcome = Candor::start(&["--trace", "run.trace", "-d", "1s", "127.0.0.1:1"]).finish();
    outcome.assert_refused(1, &["cannot connect"]);
    assert!(outcome.files().is_empty(), "{:?}", outcome.files());
}

#[test]
fn a_sample_of_no_trace_and_stamps_on_uring_are_refused() {
    candor(&["--trace-sample", "1/10"]).assert_refused(2, &["--trace-sample", "--trace"]);
    candor(&["--kernel-timestamps", "--reactor", "uring", "127.0.0.1:1"])
        .assert_refused(2, &["--kernel-timestamps", "--reactor uring"]);
}

#[test]
fn kernel_time_stamps_are_reported() {
    let target = Target::start(&[]);
    let flags = [
        "-R",
        "500",
        "-c",
        "4",
        "-d",
        "1s",
        "--kernel-timestamps=1/2",
        "--report",
        "full",
        &target.url("/"),
    ];
    let outcome = Candor::start_measuring(&flags).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("\nKernel "), "{}", outcome.stdout);
    let document = outcome.document();
    document.assert_all_ok();
    let count =
        |name: &str| document.at(&format!("/kernel/{name}/count")).as_u64().expect("a count");
    let timed = count("service");
    assert!((150..=350).contains(&timed), "every second of four: {timed} of 500");
    assert!(["send_delay", "outside", "receive_delay"].iter().all(|part| count(part) == timed));
}

#[test]
fn without_tcp_there_are_no_stamps_and_the_run_goes_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("s");
    let socket = socket.to_str().expect("a path of text");
    let target = Target::start(&["--unix-socket", socket]);
    let flags = [
        "-d",
        "300ms",
        "--kernel-timestamps",
        "--report",
        "full",
        "--unix-socket",
        socket,
        "http://h/",
    ];
    let outcome = Candor::start_measuring(&flags).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("No time stamps"), "{}", outcome.stdout);
    drop(target);
}

/// A response is read when the next request is due, and has the time at which it came.
#[test]
fn with_stamps_reading_late_is_in_no_figure() {
    for (served, scheme, flags) in
        [(&[][..], "http:", &[][..]), (&["--tls"], "https:", &["-k", "--h1"])]
    {
        let target = Target::start(served);
        // Due each 800 µs, and answered long before.
        let load = ["--pacing", "stamps", "-R", "1250", "-n", "500", "-c", "8", "-t", "1"];
        let load = [&load[..], &["--report", "full"]].concat();
        let url = target.url("/").replace("http:", scheme);
        let outcome = Candor::start_measuring(&[&load[..], flags, &[&url]].concat()).finish();
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        document.assert_all_ok();
        assert_eq!(document.count("/kernel/receive_delay/count"), 500);
        assert_eq!(document.count("/kernel/without_receive_stamp"), 0);
        let p50_ns = |of: &str| document.count(&format!("{of}/percentiles_ns/p50"));
        let (read, service) = (p50_ns("/kernel/receive_delay"), p50_ns("/latencies/service"));
        assert!(read + service < 800_000 * 2 && read > 100_000, "{read} {service}");
        assert!(outcome.stdout.contains("stamps say when responses came"), "{}", outcome.stdout);
    }
}

#[test]
fn stamps_are_refused_where_a_response_is_waited_for_or_has_none() {
    for (flags, other) in [
        (&["http://h/"][..], "a closed load"),
        (&["-R", "9", "--pipeline", "2", "http://h/"], "--pipeline"),
        (&["-R", "9", "--h2c", "http://h/"], "HTTP/2"),
        (&["-R", "9", "https://h/"], "HTTP/2"),
        (&["-R", "9", "--shed-after", "0", "http://h/"], "--shed-after"),
        (&["-R", "9", "--stream", "sse", "http://h/"], "--stream"),
        (&["-R", "9", "--reactor", "uring", "http://h/"], "--reactor uring"),
        (&["-R", "9", "--kernel-timestamps", "http://h/"], "--kernel-timestamps"),
        (&["-R", "9", "--unix-socket", "/s", "http://h/"], "a unix socket"),
    ] {
        let outcome = candor(&[&["--pacing", "stamps"], flags].concat());
        outcome.assert_refused(2, &["--pacing stamps cannot be used with", other]);
    }
}
