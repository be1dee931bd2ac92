//! The outputs of a run: every file and text, compared with the document and the stock tools.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{CANDOR, Candor, Document, Outcome, Target, candor, measure};
use candor_testkit::peer::{Peer, Script};
use rustix::process::Signal;

const COULD_NOT_RUN: i32 = 1;
const EXPECTATION_NOT_MET: i32 = 3;
const NOT_TRUSTWORTHY: i32 = 4;
const CANNOT_TELL: i32 = 6;

/// A short open run that writes everything.
fn with_every_output(target: &Target) -> Outcome {
    let flags =
        ["-R", "500", "-c", "8", "-d", "1500ms", "--interval", "500ms", "--warm-up", "200ms"];
    let files = ["--csv", "run.csv", "--hgrm", "run.hgrm", "--hlog", "run.hlog", "--no-keep"];
    let outcome =
        Candor::start_measuring(&[&flags[..], &files, &[&target.url("/")]].concat()).finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.files(), ["result.json", "run.csv", "run.hgrm", "run.hlog"]);
    outcome
}

/// `candor report` on a saved result.
fn report(outcome: &Outcome, format: &str) -> String {
    let path = outcome.path("result.json");
    let again = candor(&["report", path.to_str().expect("a path of text"), "--format", format]);
    assert_eq!((again.code(), again.stderr.as_str()), (0, ""), "{format}");
    again.stdout
}

// Every document is checked for schema, ledger and examples as it is read; this test makes one of
// each kind.
#[test]
fn every_kind_of_run_is_valid_by_the_schema() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let closed = measure(&["-c", "4", "-d", "300ms", &url]);
    assert_eq!(closed.count("/plan/load/closed/think_time_ns"), 0);
    let open = measure(&["-R", "200", "-c", "4", "-d", "300ms", "--arrivals", "poisson", &url]);
    assert_eq!(open.text("/plan/load/open/arrivals"), "poisson");
    let shape = "ramp 10..200 over 200ms; burst 20 every 100ms for 200ms; hold 100 for 100ms";
    let shaped = measure(&["--load", shape, "-c", "4", &url]);
    assert_eq!(shaped.list("/plan/load/open/segments").len(), 3);
    shaped.assert_all_ok();
    let failing = measure(&["-c", "2", "-d", "300ms", &target.url("/status/503")]);
    failing.assert_errors(&["status"]);
    let hung = ["-c", "2", "-d", "100ms", "--drain", "0s", &target.url("/fault/hang")];
    assert_eq!(measure(&hung).ledger("unfinished"), 2);
    let run = Candor::start_measuring(&["-c", "2", "-d", "1h", "--think-time", "1ms", &url]);
    std::thread::sleep(Duration::from_millis(700));
    run.signal(Signal::TERM);
    assert_eq!(run.finish().document().at("/end/partial"), true);
}

/// `at` panics where there is nothing, whatever the run.
#[test]
fn the_fields_for_scripts_are_in_every_result() {
    const PAGE: &str = include_str!("../../../docs/result-json.md");
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `/")?.split_once('`'));
    let fields: Vec<String> = rows.map(|(field, _)| format!("/{field}")).collect();
    assert!(fields.len() > 25, "{fields:?}");
    let target = Target::start(&[]);
    let url = target.url("/");
    for flags in [&["-n", "3", &url][..], &["-R", "100", "-d", "200ms", "--no-keepalive", &url]] {
        let document = measure(flags);
        for field in &fields {
            let _ = document.at(field);
        }
    }
}

#[test]
fn a_document_says_what_was_run_and_where() {
    let target = Target::start(&[]);
    let url = target.url("/json?page=1");
    let document = measure(&["-c", "2", "-n", "20", "-H", "Accept: application/json", &url]);
    assert_eq!(document.text("/format"), "candor.result/3");
    assert_eq!(document.text("/tool/name"), "candor");
    assert_eq!(document.text("/plan/target/url"), url.replace("=1", "=…"));
    assert_eq!(document.text("/plan/work/requests/list/0/path"), "/json?page=…");
    assert_eq!(document.count("/plan/seed"), 1);
    let arguments = document.list("/arguments");
    assert!(arguments.iter().any(|one| one == "Accept: application/json"), "{arguments:?}");
    assert!(document.count("/machines/0/host/cores") >= 1);
    assert!(document.text("/machines/0/host/kernel").starts_with(|c: char| c.is_ascii_digit()));
}

#[test]
fn csv_has_a_row_for_each_interval() {
    let target = Target::start(&[]);
    let outcome = with_every_output(&target);
    let document = outcome.document();
    let csv = outcome.file("run.csv");
    let mut lines = csv.lines();
    let columns: Vec<_> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<_>> = lines.map(|line| line.split(',').collect()).collect();
    let intervals = document.list("/intervals");
    assert_eq!(rows.len(), intervals.len());
    assert_eq!(document.window().count(), 3);
    let column = |name| columns.iter().position(|one| *one == name).unwrap();
    for (row, interval) in rows.iter().zip(intervals) {
        assert_eq!(row.len(), columns.len());
        for name in ["start_ns", "end_ns", "sent", "ok", "errors", "backlog"] {
            assert_eq!(row[column(name)], interval[name].to_string(), "{name}");
        }
    }
    let sent: u64 = rows.iter().map(|row| row[column("sent")].parse::<u64>().unwrap()).sum();
    assert_eq!(sent, document.ledger("sent"));
    assert_eq!(report(&outcome, "csv"), csv);
}

#[test]
fn hgrm_ends_with_the_whole() {
    let target = Target::start(&[]);
    let outcome = with_every_output(&target);
    let document = outcome.document();
    let hgrm = outcome.file("run.hgrm");
    let head: Vec<_> = hgrm.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]);
    let rows: Vec<Vec<f64>> = hgrm
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    assert!(rows.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2]), "{hgrm}");
    let last = rows.last().unwrap();
    assert_eq!((last[1], last[2]), (1.0, document.ledger("ok") as f64));
    let max_ms = document.number("/latencies/response/max_ns") / 1e6;
    assert!((last[0] - max_ms).abs() < 1e-5, "{} {max_ms}", last[0]);
    assert_eq!(report(&outcome, "hgrm"), hgrm);
    let service = report(&outcome, "hgrm-service");
    assert!(service.contains("Percentile") && service != hgrm);
}

/// The stock reader's view of a log: histograms, samples and the largest value, with the tag.
const READER: &str = "
import sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
whole = HdrHistogram(1, 3600 * 10**9, 3)
reader = HistogramLogReader(sys.argv[1], whole)
count = 0
while True:
    histogram = reader.get_next_interval_histogram()
    if histogram is None:
        break
    whole.add(histogram)
    count += 1
print(count, whole.get_total_count(), whole.get_max_value(), whole.get_value_at_percentile(50))
";

#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
fn stock_reader(log: &Path) -> Option<Vec<f64>> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    let mut python = Command::new("python3");
    let reader = python.args(["-c", READER]).arg(log).env("PYTHONPATH", packages).output();
    let output = match reader {
        Ok(output) if output.status.success() => output,
        other => {
            let why = other.map_or_else(
                |error| error.to_string(),
                |output| String::from_utf8_lossy(&output.stderr).into_owned(),
            );
            let is_missing = why.contains("No module named 'hdrh'") || why.contains("No such file");
            let wanted = std::env::var_os("CI").is_some();
            assert!(is_missing && !wanted, "PyPI's hdrhistogram, see scripts/need-peers: {why}");
            println!("skipped: python3 has no hdrhistogram; scripts/need-peers gets it");
            return None;
        }
    };
    let text = String::from_utf8(output.stdout).expect("numbers");
    Some(text.split_whitespace().map(|word| word.parse().expect("a number")).collect())
}

#[test]
fn the_stock_reader_reads_hlog() {
    let target = Target::start(&[]);
    let outcome = with_every_output(&target);
    let document = outcome.document();
    assert_eq!(report(&outcome, "hlog"), outcome.file("run.hlog"));
    let Some(read) = stock_reader(&outcome.path("run.hlog")) else { return };
    let [histograms, samples, max_ns, p50_ns] = read[..] else { panic!("{read:?}") };
    assert_eq!(histograms, document.list("/intervals").len() as f64);
    assert_eq!(samples, document.ledger("ok") as f64);
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.002;
    let p50 = document.percentile_s("response", "p50") * 1e9;
    assert!(near(p50_ns, p50), "{p50_ns} {p50}");
    let max = document.number("/latencies/response/max_ns");
    assert!(near(max_ns, max), "{max_ns} {max}");
}

#[test]
fn a_saved_result_prints_what_the_run_printed() {
    let target = Target::start(&["--stall", "100ms@300ms"]);
    let outcome = with_every_output(&target);
    assert!(outcome.stdout.lines().count() > 10, "{}", outcome.stdout);
    assert_eq!(report(&outcome, "text"), outcome.stdout);
    assert_eq!(report(&outcome, "json"), outcome.file("result.json"));
    let path = outcome.path("result.json");
    let path = path.to_str().unwrap();
    assert_eq!(candor(&["report", path]).stdout, outcome.stdout);
    let twice = candor(&["report", path, path]).stdout;
    assert_eq!(twice, format!("{0}\n{0}", outcome.stdout));
    assert!(!outcome.stdout.contains('\x1b'), "no colours into a file");
    let told = outcome.stderr.as_str();
    assert!(told.lines().all(|line| line.starts_with("candor: ")), "{told}");
    assert!(!told.contains(['\x1b', '\r']), "{told}");
}

#[test]
fn a_saved_failure_prints_what_the_run_printed() {
    let peer = Peer::start(Script::resets_mid_body());
    let url = format!("http://{}/", peer.addr());
    let flags = ["-c", "2", "--no-keep", "-d", "500ms", "--expect", "error-rate < 1%", &url];
    let outcome = Candor::start_measuring(&flags).finish();
    assert_eq!(outcome.code(), COULD_NOT_RUN, "not one request succeeded");
    for word in ["ALL FAILED", "reset", "error-rate < 1%"] {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
    assert_eq!(report(&outcome, "text"), outcome.stdout);
}

#[test]
fn a_report_tells_the_ledger() {
    let target = Target::start(&[]);
    let outcome = candor(&["-c", "4", "-n", "1234", &target.url("/")]);
    assert_eq!(outcome.code(), 0);
    assert!(outcome.stdout.contains("1,234"), "{}", outcome.stdout);
    assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 100), "{}", outcome.stdout);
}

#[test]
fn expectations_decide_the_exit_code() {
    let target = Target::start(&[]);
    let url = target.url("/delay/20ms");
    let run = |expectations: &[&str]| {
        let flags = expectations.iter().flat_map(|one| ["--expect", one]);
        let rest = ["-R", "200", "-c", "16", "-d", "1s", &url];
        let outcome = Candor::start_measuring(&flags.chain(rest).collect::<Vec<_>>()).finish();
        let document = outcome.document();
        let outcomes = document.list("/expectations").iter().map(|one| one["outcome"].to_string());
        (outcome.code(), outcomes.collect::<Vec<_>>().join(" "), outcome.stdout)
    };
    let (code, outcomes, stdout) =
        run(&["p50 >= 20ms", "p90 < 1h", "error-rate < 0.1%", "rate >= 50%", "ok == 200"]);
    assert_eq!(code, 0, "{outcomes}: {stdout}");
    let (code, outcomes, stdout) = run(&["p90 < 1h", "p50 < 1ms"]);
    assert_eq!(code, EXPECTATION_NOT_MET, "{outcomes}: {stdout}");
    assert!(stdout.contains("p50 < 1ms"), "{stdout}");
    // 200 samples are too few for it.
    let (code, outcomes, stdout) = run(&["p90 < 1h", "p99.99 < 1h"]);
    assert_eq!(code, CANNOT_TELL, "{outcomes}: {stdout}");
    assert!(stdout.contains("CANNOT TELL"), "{stdout}");
    let (code, outcomes, _) = run(&["p50 < 1ms", "p99.99 < 1h"]);
    assert_eq!(code, EXPECTATION_NOT_MET, "{outcomes}");
}

/// The code is the condition's, though a run without a response is also one that cannot be trusted.
#[test]
fn a_condition_that_ended_a_run_without_a_response_comes_first() {
    let target = Target::start(&[]);
    let flags = ["-R", "50", "-c", "4", "-d", "1h", "--timeout", "300ms", "--interval", "200ms"];
    let rest = ["--abort-if", "ok < 1 for 1s", &target.url("/delay/1m")];
    let outcome = Candor::start_measuring(&[&flags[..], &rest].concat()).finish();
    assert_eq!(outcome.code(), EXPECTATION_NOT_MET, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!((document.ledger("ok"), document.text("/end/reason")), (0, "aborted"));
    assert!(document.verdicts().contains(&"no-rate"), "{:?}", document.verdicts());
}

#[test]
fn a_condition_ends_the_run_with_what_was_measured() {
    let target = Target::start(&[]);
    let run = |path: &str, length: &str| {
        let load = ["-R", "200", "-c", "8", "-d", length, "--interval", "100ms"];
        let condition = ["--no-keep", "--abort-if", "error-rate > 5% for 500ms", "--strict"];
        let url = target.url(path);
        Candor::start_measuring(&[&load[..], &condition, &[&url]].concat()).finish()
    };
    // The run would take an hour.
    let outcome = run("/status/500", "1h");
    assert_eq!(outcome.code(), EXPECTATION_NOT_MET, "{}{}", outcome.stdout, outcome.stderr);
    // A condition is no secret.
    let said = outcome.stdout.clone() + &outcome.stderr;
    assert!(!said.contains("[redacted]"), "{said}");
    let document = outcome.document();
    assert!(document.list("/arguments").contains(&"error-rate > 5% for 500ms".into()));
    assert_eq!(document.text("/end/reason"), "aborted");
    assert_eq!(document.at("/end/partial"), true);
    assert!(document.verdicts().contains(&"aborted"), "{:?}", document.verdicts());
    let (ledger, window_ns) = (document.ledger("scheduled"), document.count("/time/window_ns"));
    assert!(window_ns >= 500_000_000, "{window_ns}");
    assert!(ledger.abs_diff(window_ns / 5_000_000) <= 1, "{ledger} of {window_ns}");
    assert_eq!(document.text("/expectations/0/outcome"), "not-met");
    assert!(
        outcome
            .stdout
            .contains("error-rate > 5% for 500ms: this ended the run; it held from 0 ns to")
    );
    assert_eq!(report(&outcome, "text"), outcome.stdout);

    let outcome = run("/", "1s");
    let document = outcome.document();
    assert_eq!(
        (document.text("/end/reason"), document.list("/expectations").len()),
        ("duration", 0)
    );
}

#[test]
fn strict_turns_a_warning_into_a_failure() {
    let target = Target::start(&[]);
    let failing = target.url("/status/500");
    let flags = ["-c", "2", "-n", "100", "--allow-failures", &failing];
    assert_eq!(candor(&flags).code(), 0);
    assert_eq!(candor(&[&flags[..], &["--strict"]].concat()).code(), NOT_TRUSTWORTHY);
}

#[test]
fn a_run_in_which_nothing_worked_is_an_error_and_says_so_first() {
    let target = Target::start(&[]);
    let met =
        ["--expect", "errors >= 0", "--expect", "rate >= 0/s", "--expect", "send_lag.p50 < 1h"];
    for (path, length, word) in [
        ("/status/404", &["-n", "100"][..], "4xx: 404 × 100"),
        ("/status/500", &["-R", "200", "-d", "500ms"], "5xx: 500 × 100"),
        ("/delay/1m", &["-d", "300ms", "--drain", "100ms"], "2 without a response"),
    ] {
        let url = target.url(path);
        let flags = [&["-c", "2", &url], length].concat();
        let outcome = candor(&flags);
        assert_eq!(outcome.code(), COULD_NOT_RUN, "{path}: {}", outcome.stdout);
        assert!(outcome.stdout.contains("ALL FAILED"), "{path}: {}", outcome.stdout);
        assert!(outcome.stdout.contains(word), "{path}: {}", outcome.stdout);
        // A window without a response has no rate, whatever is allowed.
        let has_rate = path != "/delay/1m";
        let allowed = if has_rate { 0 } else { NOT_TRUSTWORTHY };
        assert_eq!(candor(&[&flags[..], &["--allow-failures"]].concat()).code(), allowed, "{path}");
        let gated = candor(&[&flags[..], &["--allow-failures"], &met].concat());
        let missed = if has_rate { EXPECTATION_NOT_MET } else { NOT_TRUSTWORTHY };
        assert_eq!(gated.code(), missed, "{path}: {}", gated.stdout);
        assert_eq!(gated.stdout.matches("not met").count(), 3, "{path}: {}", gated.stdout);
    }
}

/// Two of three requests fail: headline and exit code agree, and an objective that is missed decides first.
#[test]
fn a_run_in_which_little_worked_is_an_error_too() {
    let target = Target::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("plan.toml");
    let paths = ["/status/500", "/", "/status/500"];
    let requests = paths.map(|path| format!("[[request]]\npath = \"{path}\"\n")).concat();
    std::fs::write(&plan, format!("url = \"{}\"\n{requests}", target.url("/"))).unwrap();
    let run = |flags: &[&str]| {
        let load = [plan.to_str().unwrap(), "-c", "1", "-n", "90"];
        candor(&[&load[..], flags].concat())
    };
    let met = ["--expect", "errors == 60"];
    let missed = ["--expect", "error-rate < 1%"];
    for (flags, code) in [
        (&[][..], COULD_NOT_RUN),
        (&met[..], COULD_NOT_RUN),
        (&missed, EXPECTATION_NOT_MET),
        (&["--allow-failures"], 0),
    ] {
        let outcome = run(flags);
        assert_eq!(outcome.code(), code, "{flags:?}: {}", outcome.stdout);
        assert!(outcome.stdout.contains("FAILED"), "{flags:?}: {}", outcome.stdout);
        assert!(!outcome.stdout.contains("ALL FAILED"), "{flags:?}: {}", outcome.stdout);
    }
    let quiet = run(&["-q"]);
    assert!(quiet.stderr.contains("60 of 90"), "{}", quiet.stderr);
}

/// The short report of a sweep has one table, with the columns that there is room for.
#[test]
fn a_sweep_has_both_latencies_in_its_short_report() {
    let target = Target::start(&[]);
    let flags = ["--rates", "100,200", "-d", "300ms", "--warm-up", "0s", "-c", "2"];
    let text = candor(&[&["sweep"][..], &flags, &[&target.url("/")]].concat()).stdout;
    let headings = text.lines().filter(|line| line.contains("achieved"));
    let headings: Vec<&str> = headings.collect();
    assert_eq!(headings.len(), 2, "{text}");
    for heading in headings {
        assert!(heading.contains("p99") && heading.contains("failed"), "{text}");
        assert!(heading.chars().count() <= 100, "{text}");
    }
}

/// A pipe has no width, and `COLUMNS` gives it one.
#[test]
fn a_report_in_a_pipe_is_as_wide_as_columns() {
    let target = Target::start(&[]);
    let width = |columns: Option<&str>| {
        let mut command = Command::new(CANDOR);
        command.args(["-n", "100", "-c", "2", "--no-keep", "--allow-failures"]);
        command.arg(target.url("/status/500")).env_remove("COLUMNS");
        columns.map(|columns| command.env("COLUMNS", columns));
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.chars().count()).max().unwrap()
    };
    let usual = width(None);
    assert!((81..=100).contains(&usual), "{usual}");
    assert!(width(Some("70")) <= 70);
    assert_eq!(width(Some("none")), usual);
}

#[test]
fn redirects_are_not_called_ok() {
    let target = Target::start(&[]);
    let outcome = candor(&["-c", "2", "-n", "100", &target.url("/redirect")]);
    assert_eq!(outcome.code(), 0);
    for word in ["REDIRECTS", "100 ok (3xx)", "3xx: 302 × 100"] {
        assert!(outcome.stdout.contains(word), "{word}: {}", outcome.stdout);
    }
    let meant = ["-c", "2", "-n", "100", "--expect-status", "302", &target.url("/redirect")];
    let outcome = candor(&meant);
    assert!(!outcome.stdout.contains("REDIRECTS"), "{}", outcome.stdout);
}

/// Three requests at 50/s are due at 0, 20 and 40 ms and stand for 60 ms, though the last response comes before; one for
/// 20 ms. A busy machine may only make them later.
#[test]
fn a_short_run_is_not_faster_than_its_schedule() {
    let target = Target::start(&[]);
    for count in ["1", "3", "10"] {
        let load = ["-R", "50", "-n", count, "-c", "2", &target.url("/")];
        let outcome = Candor::start_measuring(&load).finish();
        let document = outcome.document();
        let rate = |name: &str| document.number(&format!("/rate/{name}"));
        assert!((rate("asked_per_s") - 50.0).abs() < 1e-6, "{}", rate("asked_per_s"));
        for name in ["scheduled_per_s", "achieved_per_s"] {
            assert!(rate(name) <= 50.0 + 1e-6, "{count}: {name} {}", rate(name));
        }
        let window_s = document.number("/time/window_ns") / 1e9;
        let took_s = count.parse::<f64>().unwrap() / rate("achieved_per_s");
        assert!(took_s >= window_s - 1e-9, "{took_s} {window_s}");
    }
    // Of users too.
    let plan = "[[journey]]\nname = 'one'\n[[journey.step]]\npath = '/'\n";
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), plan).expect("a plan");
        let flags = ["-R", "50", "-n", "3", "--json", "result.json"];
        command.args(["run", "plan.toml", &target.url("/")]).args(flags).current_dir(directory);
    });
    let document = run.finish().document();
    let began = document.number("/users/started_per_s");
    assert!(began <= 50.0 + 1e-6, "{began}");
}

/// A closed loop sends nothing while its target is gone, so its counts do not show it.
#[test]
fn a_target_that_goes_away_is_lost_and_meets_nothing() {
    let target = Target::start(&[]);
    let objectives = ["--expect", "error-rate < 99%", "--expect", "availability > 90%"];
    let load = ["-c", "2", "-d", "3s", "--interval", "100ms", &target.url("/")];
    let run = Candor::start_measuring(&[&load[..], &objectives].concat());
    std::thread::sleep(Duration::from_millis(1000));
    drop(target);
    let outcome = run.finish();
    assert_eq!(outcome.code(), EXPECTATION_NOT_MET, "{}", outcome.stdout);
    let document = outcome.document();
    assert!(document.verdicts().contains(&"target-lost"), "{:?}", document.verdicts());
    let outcomes = document.list("/expectations").iter().map(|one| one["outcome"].as_str());
    assert_eq!(outcomes.collect::<Vec<_>>(), [Some("not-met"), Some("not-met")]);
    let measured = document.at("/expectations/1/measured").as_f64().unwrap();
    assert!((0.05..0.9).contains(&measured), "{measured}");
}

#[test]
fn quiet_prints_nothing() {
    let target = Target::start(&[]);
    let url = target.url("/");
    for flags in [&["--quiet"][..], &["-q", "--json", "result.json"]] {
        let outcome = candor(&[&["-c", "2", "-n", "50", &url], flags].concat());
        assert_eq!(outcome.code(), 0);
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    }
    let missed = ["-n", "50", "--expect", "errors > 0", "--expect", "p50 > 0ns", "--no-keep", &url];
    for quiet in [&["-q"][..], &["--report", "none"]] {
        let outcome = candor(&[&missed[..], quiet].concat());
        assert_eq!(outcome.code(), EXPECTATION_NOT_MET);
        let told = "candor: errors > 0: not met, it was 0.\n";
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", told), "{quiet:?}");
    }
}

#[test]
fn the_same_seed_is_the_same_schedule_for_any_number_of_threads() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let flags = ["-R", "400", "-c", "8", "-d", "1s", "--arrivals", "poisson"];
    let scheduled = |extra: &[&str]| {
        let document = measure(&[&flags[..], extra, &[&url]].concat());
        document.assert_all_ok();
        document.ledger("scheduled")
    };
    let first = scheduled(&["--seed", "7", "-t", "1"]);
    // A Poisson count is within five standard deviations of its mean, except once in a million.
    assert!((300..=500).contains(&first), "{first}");
    assert_eq!(scheduled(&["--seed", "7", "-t", "1"]), first);
    assert_eq!(scheduled(&["--seed", "7", "-t", "2"]), first);
    let others: Vec<_> = ["8", "9", "10"].iter().map(|seed| scheduled(&["--seed", seed])).collect();
    assert!(others.iter().any(|other| *other != first), "{others:?}");
}

#[test]
fn secrets_appear_nowhere() {
    const SECRETS: [&str; 6] = ["hunter2", "s3same", "c00kie", "t0ken", "k3y", "aHVudGVy"];
    let target = Target::start(&[]);
    let address = target.url("/echo").replace("http://", "");
    let with_user = format!("http://hunter2:hunter2@{address}");
    let headers = ["-H", "Authorization: Bearer s3same", "-H", "Cookie: session=c00kie"];
    let others = ["--header=X-Auth-Token: t0ken", "-HX-Api-Key: k3y"];
    for (flags, url) in [
        (&["-n", "20"][..], with_user.as_str()),
        (&[&headers[..], &others, &["-n", "20"]].concat(), &format!("http://{address}")),
        // In examples of errors too.
        (&["-n", "20", "--expect-status", "204"], &with_user),
    ] {
        let outcome = Candor::start_measuring(&[flags, &[url]].concat()).finish();
        outcome.measured();
        let text = report(&outcome, "text") + &report(&outcome, "json") + &outcome.stderr;
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        assert!(outcome.file("result.json").contains("[redacted]"));
    }
    assert_eq!(target.requests(), 60);
}

/// A header hidden in the list of headers is hidden in the list of arguments.
#[test]
fn a_secret_by_another_name_is_hidden_everywhere() {
    let target = Target::start(&[]);
    let headers = ["-H", "X-Csrf-Token: s3same", "-H", "X-Client-Secret: s3same"];
    let outcome =
        Candor::start_measuring(&[&headers[..], &["-n", "5", &target.url("/")]].concat()).finish();
    assert!(!outcome.file("result.json").contains("s3same"), "{}", outcome.file("result.json"));
}

#[test]
fn a_result_replaces_the_one_before() {
    let target = Target::start(&[]);
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("result.json"), "old").expect("a file");
        command.args(["-n", "50", "--json", "result.json", &target.url("/")]);
        command.current_dir(directory);
    });
    let outcome = run.finish();
    assert_eq!(Document::checked(&outcome.file("result.json")).ledger("ok"), 50);
    assert_eq!(outcome.files(), ["result.json"]);
}
