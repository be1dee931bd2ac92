//! Scripts in experiments: every trial of a peak, a sweep, a comparison and a suite runs the script
//! like `candor run --script`.
#![cfg(feature = "script")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{CANDOR, Candor, Document, Outcome};

/// Sends a distinctive request, and prints a line at its end.
const SCRIPT: &str = r#"
function request() return wrk.format("GET", "/status/201") end
function done(summary) io.write("script: ", summary.requests > 0 and "some" or "none", "\n") end
"#;

/// Fails at its fifth request.
const WRONG: &str = r#"
local n = 0
function request()
  n = n + 1
  if n == 5 then error("enough") end
  return wrk.format()
end
"#;

/// `candor` in a directory with the scripts and the given files.
fn ran(directory: &Path, files: &[(&str, &str)], arguments: &[&str]) -> Outcome {
    for (name, text) in [("load.lua", SCRIPT), ("wrong.lua", WRONG)].iter().chain(files) {
        fs::write(directory.join(name), text).unwrap();
    }
    Candor::start_as(Command::new(CANDOR), |_, command| {
        command.args(arguments).current_dir(directory);
    })
    .finish()
}

/// Asserts that these results have the script's requests; returns the number of results.
fn assert_scripted(directory: &Path, is_wanted: impl Fn(&str) -> bool) -> usize {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut results = 0;
    for path in paths.filter(|path| is_wanted(path.file_name().unwrap().to_str().unwrap())) {
        let document = Document::checked(&fs::read_to_string(&path).unwrap());
        let statuses = document.list("/statuses");
        assert!(statuses.len() == 1 && statuses[0]["status"] == 201, "{path:?}: {statuses:?}");
        results += 1;
    }
    results
}

fn told(outcome: &Outcome) -> usize {
    outcome.stdout.matches("script: some\n").count()
}

#[test]
fn a_peak_and_a_sweep_run_the_script_each_time() {
    let directory = tempfile::tempdir().unwrap();
    let target = format!("{CANDOR} serve");
    let flags = ["--script", "load.lua", "-d", "150ms", "--warm-up", "0", "--target", &target];
    let peak = ["peak", "--most-connections", "2", "--keep", "peaks"];
    let outcome = ran(directory.path(), &[], &[&peak[..], &flags].concat());
    // Runs as short as these may differ too much to tell the peak.
    let code = outcome.code();
    assert!([0, 6].contains(&code), "{code}: {}{}", outcome.stdout, outcome.stderr);
    let runs = assert_scripted(&directory.path().join("peaks"), |_| true);
    assert!(runs >= 5, "{runs}");
    assert_eq!(told(&outcome), runs);

    let sweep = ["sweep", "--rates", "100,300", "--rounds", "2", "--keep", "sweeps"];
    let outcome = ran(directory.path(), &[], &[&sweep[..], &flags].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(assert_scripted(&directory.path().join("sweeps"), |_| true), 4);
    assert_eq!(told(&outcome), 4);
}

#[test]
fn a_script_that_fails_ends_the_experiment_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let flags = ["--script", "wrong.lua", "-d", "200ms", "--warm-up", "0"];
    let outcome = ran(directory.path(), &[], &[&["peak"][..], &flags].concat());
    outcome.assert_refused(1, &["wrong.lua:5", "enough"]);
    let rates = [&["sweep", "--rates", "100"][..], &flags].concat();
    ran(directory.path(), &[], &rates).assert_refused(1, &["wrong.lua:5", "enough"]);
    let compared = [&["compare", "embedded", "embedded"][..], &flags].concat();
    ran(directory.path(), &[], &compared).assert_refused(1, &["wrong.lua:5", "enough"]);
}

#[test]
fn plans_of_a_comparison_may_have_scripts() {
    let directory = tempfile::tempdir().unwrap();
    let plan = "script = 'load.lua'\nthreads = 1\n";
    let arguments =
        ["compare", "old=plan.toml", "new=embedded", "--rounds", "6", "-c", "2", "-d", "100ms"];
    let more = ["--warm-up", "0", "--keep", "runs"];
    let all = [&arguments[..], &more].concat();
    let outcome = ran(directory.path(), &[("plan.toml", plan)], &all);
    // Runs as short as these may differ too much to tell the peak.
    let code = outcome.code();
    assert!([0, 6].contains(&code), "{code}: {}{}", outcome.stdout, outcome.stderr);
    let runs = directory.path().join("runs");
    assert_eq!(assert_scripted(&runs, |name| name.starts_with("old.")), 6);
    assert_eq!(told(&outcome), 6, "only one of the two has a script");
}

#[test]
fn a_scenario_of_a_suite_may_be_a_script() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("suites")).unwrap();
    let suite = "name = 'small'\nscenarios = ['mine', 'hello']\nprotocols = ['h1']\nrounds = 2\n\
                 [run]\nconnections = 2\nthreads = 1\nduration = '150ms'\n\
                 [[scenario]]\nname = 'mine'\n[scenario.run]\nscript = '../load.lua'\n\
                 [[server]]\nname = 'embedded'\nembedded = true\n";
    let files = [("suites/small.toml", suite)];
    let outcome = ran(directory.path(), &files, &["bench", "suites/small.toml"]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let trials = directory.path().join("small-results/trials");
    assert_eq!(assert_scripted(&trials, |name| name.starts_with("mine.")), 2);
    assert_eq!(told(&outcome), 2);
    let csv = fs::read_to_string(directory.path().join("small-results/results.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains(",mine,h1,")).count(), 2, "{csv}");

    // Requests and a script exclude each other, which is an error before anything runs.
    let both = suite.replace("[scenario.run]", "request = [{ path = '/' }]\n[scenario.run]");
    let refused =
        ran(directory.path(), &[("suites/small.toml", &both)], &["bench", "suites/small.toml"]);
    refused.assert_refused(2, &["mine.h1.embedded", "--script"]);
}
