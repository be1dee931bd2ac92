//! Outputs by kind, to files and to the standard output, and lines during a run.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{CANDOR, Candor, Target, candor};
use serde_json::Value;

const USAGE: i32 = 2;

fn schema() -> jsonschema::Validator {
    let text = include_str!("../../report/schema/candor.live-1.json");
    let schema = serde_json::from_str(text).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn a_document_on_the_standard_output_is_all_that_is_there() {
    let target = Target::start(&[]);
    let outcome = candor(&["-c", "2", "-d", "200ms", "--json", "-", &target.url("/")]);
    assert_eq!(outcome.code(), 0);
    let document = crate::common::Document::checked(&outcome.stdout);
    assert!(document.ledger("ok") > 0);
    assert!(outcome.stderr.contains("Latency") || outcome.stderr.contains("p99"), "the report");
    assert!(outcome.files().is_empty(), "{:?}", outcome.files());
}

#[test]
fn there_may_be_two_outputs_of_a_kind_and_one_in_a_place() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let two = ["--json", "a.json", "--out", "json:b.json", "--out", "hgrm-service:s.hgrm"];
    let outcome = candor(&[&["-c", "2", "-d", "200ms"], &two[..], &[&url]].concat());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(outcome.files(), ["a.json", "b.json", "s.hgrm"]);
    assert_eq!(outcome.file("a.json"), outcome.file("b.json"));
    let refused = |flags: &[&str], words: &[&str]| {
        candor(&[flags, &[&url]].concat()).assert_refused(USAGE, words);
    };
    refused(&["--json", "-", "--csv", "-"], &["json and csv", "the standard output"]);
    refused(&["--out", "yaml:x"], &["--out yaml", "ndjson"]);
    refused(&["--out", "json:"], &["is not an output"]);
    refused(&["--trace", "-"], &["a trace is not text"]);
}

#[test]
fn lines_come_while_the_run_goes_on_and_each_is_valid() {
    let target = Target::start(&[]);
    let flags = ["-R", "200", "-c", "2", "-d", "600ms", "--interval", "100ms", "-q"];
    let mut run = Command::new(CANDOR)
        .args([&flags[..], &["--out", "ndjson", "--json", "/dev/null", &target.url("/")]].concat())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let mut seen = Vec::new();
    let mut first_interval = None;
    for line in BufReader::new(run.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if line["kind"] == "interval" {
            first_interval.get_or_insert(begun.elapsed());
        }
        seen.push(line);
    }
    let whole = begun.elapsed();
    assert!(run.wait().unwrap().success());
    let validator = schema();
    for line in &seen {
        let errors: Vec<_> = validator.iter_errors(line).map(|one| one.to_string()).collect();
        assert!(errors.is_empty(), "{line}: {errors:#?}");
    }
    assert_eq!(seen[0]["kind"], "begin");
    assert_eq!(seen[0]["format"], "candor.live/1");
    let end = seen.last().unwrap();
    assert_eq!((&end["kind"], &end["dropped_lines"]), (&"end".into(), &0.into()));
    assert_eq!(end["ledger"]["ok"], 120);
    let intervals = seen.iter().filter(|line| line["kind"] == "interval");
    let sent: u64 = intervals.map(|line| line["sent"].as_u64().unwrap()).sum();
    assert_eq!(sent, 120);
    assert!(first_interval.unwrap() + Duration::from_millis(300) < whole, "they came at the end");
}

#[test]
fn a_finding_is_told_once_and_when_it_arises() {
    let target = Target::start(&[]);
    let flags = ["-R", "50", "-c", "2", "-d", "2500ms", "--interval", "500ms", "--out"];
    let outcome = candor(&[&flags[..], &["ndjson:live", &target.url("/status/503")]].concat());
    let lines = lines(&outcome.file("live"));
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    let told: Vec<_> = of("verdict").iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(told.iter().filter(|id| **id == "errors-dominate").count(), 1, "{told:?}");
    let finding = lines.iter().position(|line| line["id"] == "errors-dominate").unwrap();
    let last = lines.iter().rposition(|line| line["kind"] == "interval").unwrap();
    assert!(finding < last, "it was told at the end");
    let held: Vec<_> = of("end")[0]["verdicts"].as_array().unwrap().clone();
    assert!(
        held.contains(&"errors-dominate".into())
            && held.iter().all(|id| told.contains(&id.as_str().unwrap()))
    );
}

/// A reader that has stopped does not affect the run; how many lines it has is reported.
#[test]
fn a_reader_that_has_stopped_holds_nothing_up() {
    let target = Target::start(&[]);
    let flags = ["-R", "500", "-c", "4", "-d", "6s", "--interval", "10ms"];
    let directory = tempfile::tempdir().unwrap();
    let mut run = Command::new(CANDOR)
        .args(
            [&flags[..], &["--out", "ndjson", "--json", "result.json", &target.url("/")]].concat(),
        )
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let unread = run.stdout.take().unwrap();
    let outcome = run.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(14), "{:?}", begun.elapsed());
    drop(unread);
    let said = String::from_utf8(outcome.stderr).unwrap();
    assert!(said.contains("cannot write to the standard output: it accepted nothing"), "{said}");
    assert!(said.contains("; it has the first "), "{said}");
    assert_eq!(outcome.status.code(), Some(1));
    let text = std::fs::read_to_string(directory.path().join("result.json")).unwrap();
    assert_eq!(crate::common::Document::checked(&text).ledger("ok"), 3000);
}

#[test]
fn a_full_disk_keeps_nothing_from_the_run() {
    let target = Target::start(&[]);
    let flags = ["-R", "200", "-c", "2", "-d", "500ms", "--interval", "100ms", "--out"];
    let outcome =
        Candor::start_measuring(&[&flags[..], &["ndjson:/dev/full", &target.url("/")]].concat())
            .finish();
    assert_eq!(outcome.code(), 1);
    assert!(outcome.stderr.contains("/dev/full"), "{}", outcome.stderr);
    assert_eq!(outcome.document().ledger("ok"), 100);
}

#[test]
fn who_has_seen_enough_may_go() {
    let target = Target::start(&[]);
    let flags = ["-c", "1", "-d", "500ms", "--interval", "50ms", "-q", "--out", "ndjson:-"];
    let mut run = Command::new(CANDOR)
        .args([&flags[..], &[&target.url("/")]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(run.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("\"begin\""), "{line}");
    let ended = run.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}
