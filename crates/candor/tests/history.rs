//! Results that are kept in a directory: what `candor history` says of them.

use std::path::Path;
use std::process::Command;

use crate::common::{CANDOR, Target};

/// `candor history WHAT…` in this directory.
fn history(directory: &Path, what: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(CANDOR);
    command.arg("history").args(what).current_dir(directory);
    let output = command.output().expect("candor runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn run(directory: &Path, more: &[&str], url: &str) {
    let mut command = Command::new(CANDOR);
    command.args(["run", "-n", "200", "-c", "2", "--keep", "results", "--no-keep"]).args(more);
    let output = command.arg(url).current_dir(directory).output().expect("candor runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("the result is kept in results/"), "{said}");
}

#[test]
fn results_are_kept_listed_compared_and_removed() {
    let target = Target::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    for branch in ["main", "main", "other"] {
        run(here, &["--tag", &format!("branch={branch}")], &target.url("/"));
    }
    run(here, &["--tag", "branch=main"], &target.url("/json"));

    let (_, csv, _) = history(here, &["export"]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 5, "{csv}");
    let column = |name: &str| rows[0].iter().position(|one| *one == name).expect("a column");
    let all = |name: &str| -> Vec<&str> { rows[1..].iter().map(|row| row[column(name)]).collect() };
    assert_eq!(all("tags"), ["branch=main", "branch=main", "branch=other", "branch=main"]);
    let plans = all("plan");
    assert!(plans[0] == plans[1] && plans[0] == plans[2] && plans[0] != plans[3], "{plans:?}");
    let (_, lines, _) = history(here, &["export", "--format", "ndjson", "--tag", "branch=main"]);
    assert_eq!(lines.lines().count(), 3);
    for line in lines.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(entry["trial"]["figures"]["ok"], 200);
    }

    let names = all("name");
    let (_, list, _) = history(here, &["list"]);
    assert!(names.iter().all(|name| list.contains(name)), "{list}");
    let (_, shown, _) = history(here, &["show", names[0]]);
    assert!(shown.contains("200 ok"), "{shown}");
    let (_, difference, _) = history(here, &["diff", "last-1", "last"]);
    assert!(difference.contains("A and B have another plan"), "{difference}");
    let (_, trend, _) = history(here, &["trend", "--html", "trend.html", "--plan", plans[0]]);
    assert!(trend.contains("TOO FEW"), "{trend}");
    let page = std::fs::read_to_string(here.join("trend.html")).expect("a page");
    assert!(page.contains("trend-0-rate") && page.contains("</html>"));

    let (_, would, _) = history(here, &["prune", "--last", "1", "--dry-run"]);
    assert_eq!(would.lines().collect::<Vec<_>>(), names[..2]);
    let (_, gone, _) = history(here, &["prune", "--last", "1"]);
    assert_eq!(gone, would);
    let (_, csv, _) = history(here, &["export"]);
    assert_eq!(csv.lines().count(), 3);
}

#[test]
fn what_is_not_there_is_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    std::fs::create_dir(here.join("results")).expect("a directory");
    for (what, says) in [
        (&["list"][..], "results has no results"),
        (&["list", "--keep", "nowhere"], "nowhere"),
        (&["trend", "--figure", "p42"], "there is no such figure"),
    ] {
        let (is_fine, _, said) = history(here, what);
        assert!(!is_fine && said.contains(says), "{what:?}: {said}");
    }
}
