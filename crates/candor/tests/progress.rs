//! Progress without a terminal: lines and objects at sensible intervals, so that a log is not silent.

use crate::common::{Target, candor};
use serde_json::Value;

fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("candor: ")).collect()
}

#[test]
fn a_run_tells_lines_with_elapsed_and_total_time() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let flags = ["-R", "100", "-c", "2", "-d", "3s"];
    let outcome = candor(&[&flags[..], &[&url]].concat());
    let told = lines(&outcome.stderr);
    assert!((2..=4).contains(&told.len()), "{}", outcome.stderr);
    assert!(told[0].starts_with("candor: 1 s of 3 s: 100/s of 100/s, p50 "), "{}", told[0]);
    assert!(told[0].contains("p99") && told[0].ends_with("2 connections"), "{}", told[0]);
    for flags in [&["--progress", "off"][..], &["-q"]] {
        let outcome = candor(&[&["-R", "100", "-d", "1500ms"][..], flags, &[&url]].concat());
        assert_eq!(outcome.stderr, "", "{flags:?}");
    }
    // A plan can set it too.
    let failing = target.url("/status/503");
    let outcome = candor(&["-c", "2", "--think-time", "10ms", "-d", "2s", &failing]);
    assert!(lines(&outcome.stderr)[0].contains(", errors "), "{}", outcome.stderr);
}

#[test]
fn objects_are_valid_by_the_schema() {
    let schema = include_str!("../../report/schema/candor.progress-1.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let target = Target::start(&[]);
    let url = target.url("/");
    let objects = |text: &str| -> Vec<Value> {
        let objects = text.lines().map(|line| serde_json::from_str(line).expect(line));
        let objects: Vec<Value> = objects.collect();
        for one in &objects {
            let errors: Vec<_> = validator.iter_errors(one).map(|one| one.to_string()).collect();
            assert!(errors.is_empty(), "{one}: {errors:#?}");
            assert_eq!(one["format"], "candor.progress/1");
        }
        objects
    };
    let json = ["--progress", "json"];
    let flags = ["-R", "100", "-c", "2", "-d", "2s", "--warm-up", "2s"];
    let run = candor(&[&flags[..], &json, &[&url]].concat());
    let told = objects(&run.stderr);
    let kinds: Vec<&str> = told.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("waiting", "run"), "{told:?}");
    let last = told.last().unwrap();
    assert_eq!((&last["total_ns"], &last["step"]), (&4_000_000_000u64.into(), &Value::Null));
    assert!(last["ok"].as_u64().unwrap() >= 90, "{last}");

    let flags = ["sweep", "--rates", "100,200", "--rounds", "1", "-d", "400ms", "--warm-up", "0"];
    let sweep = candor(&[&flags[..], &json, &[&url]].concat());
    let told = objects(&sweep.stderr);
    let done: Vec<_> = told.iter().filter(|one| one["kind"] == "done").collect();
    assert_eq!(done.len(), 2, "{told:?}");
    assert_eq!((&done[1]["number"], &done[1]["of"]), (&2.into(), &2.into()), "{done:?}");
    assert_eq!(done[0]["failed"], false);
}
