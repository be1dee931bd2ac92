//! `candor compare` from the outside: variants of the embedded target, in seconds.

use std::fs;

use crate::common::{Target, assert_valid};
use crate::lab_suite::{TINY, in_one_line, ran};

/// The delay server responds after a computed time. The difference is too large to be hidden by other
/// work on the machine; small differences are tested without a clock.
#[test]
fn a_comparison_finds_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let delay = |time: &str| format!("embedded --truth delay --service-time {time}");
    let compare = |name: &str, time: &str, more: &[&str]| {
        let variants = [format!("old={}", delay("2ms")), format!("{name}={}", delay(time))];
        let mut arguments = vec!["compare", &variants[0], &variants[1]];
        // Some 80 responses of the slower one: too few scatter too much for a figure.
        arguments.extend(["-c", "4", "-d", "400ms", "--warm-up", "0", "--rounds", "6"]);
        arguments.extend(["--primary", "p50", "--json", "comparison.json", "--keep", "runs"]);
        arguments.extend(more);
        ran(directory.path(), TINY, &arguments)
    };
    let slower = compare("new", "20ms", &["--fail-if-slower", "20%"]);
    assert_eq!(slower.code(), 3, "{}{}", slower.stdout, slower.stderr);
    assert!(slower.stdout.contains("slower at p50"), "{}", slower.stdout);
    let text = fs::read_to_string(directory.path().join("comparison.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_valid("comparison", &document);
    assert_eq!(document["limit"]["judgements"][0]["outcome"], "not-met");
    assert_eq!(fs::read_dir(directory.path().join("runs")).unwrap().count(), 12);

    // The same from the kept results, as two sets, with a caution about that.
    let files = |name: &str| {
        let all: Vec<String> = (1..=6).map(|round| format!("runs/{name}.r{round}.json")).collect();
        all.join(",")
    };
    let (old, new) = (files("old"), files("new"));
    let arguments = ["compare", &old, &new, "--primary", "p50"];
    let saved = ran(directory.path(), TINY, &arguments);
    assert_eq!(saved.code(), 0, "{}{}", saved.stdout, saved.stderr);
    assert!(saved.stdout.contains("not interleaved"), "{}", saved.stdout);
    assert!(saved.stdout.contains("slower at p50"), "{}", saved.stdout);
    // Two results a side are too few for the test.
    let few = [
        "compare",
        "runs/old.r1.json,runs/old.r2.json",
        "runs/new.r1.json,runs/new.r2.json",
        "--fail-if-slower",
        "20%",
    ];
    let few = ran(directory.path(), TINY, &few);
    assert_eq!(few.code(), 6, "{}{}", few.stdout, few.stderr);
    assert!(few.stdout.contains("CANNOT TELL"), "{}", few.stdout);
    let needed = "at least 4 results with rate of both are needed, and there are 2";
    assert!(in_one_line(&few.stdout).contains(needed), "{}", few.stdout);
    let same = ["compare", "runs/old.r1.json", "runs/old.r1.json"];
    let refusal = ["runs/old.r1.json: this is the same result as"];
    ran(directory.path(), TINY, &same).assert_refused(2, &refusal);
}

/// What the load alone says is said before the first run.
#[test]
fn a_load_with_too_few_requests_for_the_percentile_is_told_first() {
    let directory = tempfile::tempdir().unwrap();
    let target = Target::start(&[]);
    let url = target.url("/");
    let told = |more: &[&str]| {
        let load = ["-c", "2", "-R", "100", "-d", "100ms", "--warm-up", "0", "--rounds", "6"];
        let arguments = [&["compare", &*url, &*url][..], &load, more].concat();
        let stderr = ran(directory.path(), TINY, &arguments).stderr;
        let at =
            stderr.find("p99 needs at least 368 responses in a run, and at most 10 are due")?;
        Some(stderr.find("round 1 of 6").is_none_or(|begun| at < begun))
    };
    assert_eq!(told(&[]), Some(true));
    assert_eq!(told(&["--primary", "p50"]), None);
    assert_eq!(told(&["--primary", "rate"]), None);
}

#[test]
fn a_variant_that_fails_or_hangs_is_not_met() {
    let directory = tempfile::tempdir().unwrap();
    let target = Target::start(&[]);
    let good = target.url("/");
    for path in ["/status/500", "/delay/1m"] {
        let bad = target.url(path);
        let load = ["-c", "2", "-d", "100ms", "--warm-up", "0", "--drain", "50ms", "--rounds", "6"];
        let compare = |variants: &[&str], more: &[&str]| {
            let arguments = [&["compare"], variants, &load[..], more].concat();
            ran(directory.path(), TINY, &arguments)
        };
        let gated = compare(&[&good, &bad], &["--fail-if-slower", "5%"]);
        assert_eq!(gated.code(), 3, "{path}: {}{}", gated.stdout, gated.stderr);
        for word in ["NOT MET", "FAILED", "no request of B succeeded in 6 of 6 runs"] {
            assert!(gated.stdout.contains(word), "{path}, {word}: {}", gated.stdout);
        }
        let quiet = compare(&[&good, &bad], &["-q", "--fail-if-slower", "5%"]);
        assert!(quiet.stdout.is_empty() && quiet.stderr.contains("not met"), "{}", quiet.stderr);
        let base = compare(&[&bad, &good], &["--fail-if-slower", "5%"]);
        assert_eq!(base.code(), 1, "nothing to compare with: {path}");
        let why = "no request of A succeeded in 6 of 6 runs";
        assert!(in_one_line(&base.stdout).contains(why), "{}", base.stdout);
        assert_eq!(compare(&[&good, &bad], &[]).code(), 1, "{path}");
    }
}
