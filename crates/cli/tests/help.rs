//! Help that helps: it is there for every command, ends well, and leads on.

mod common;

use common::candor;

fn help(arguments: &[&str]) -> String {
    let outcome = candor(arguments);
    assert_eq!(outcome.code(), 0, "{arguments:?}: {}", outcome.stderr);
    assert_eq!(outcome.stderr, "", "{arguments:?}");
    assert!(outcome.stdout.contains("Usage:"), "{arguments:?}: {}", outcome.stdout);
    outcome.stdout
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

#[test]
fn the_command_names_its_commands() {
    for arguments in [&["--help"][..], &["-h"], &["help"]] {
        assert_says(&help(arguments), &["candor", "run", "serve", "report", "--version"]);
    }
    assert_says(&help(&["--help"]), &["candor URL", "Exit codes", "130"]);
}

#[test]
fn run_explains_every_group_of_flags() {
    let groups =
        ["Load", "Requests", "Expected responses", "Where", "Time-outs", "Recording", "Output"];
    for arguments in [&["run", "--help"][..], &["run", "-h"], &["help", "run"]] {
        let text = help(arguments);
        assert_says(&text, &groups.map(|group| format!("{group}:")).each_ref().map(String::as_str));
        assert_says(&text, &["--rate", "--connections", "--json", "--expect", "[default: 10]"]);
    }
    let long = help(&["run", "--help"]);
    assert_says(&long, &["Examples:", "candor run plan.toml", "Exit codes", "Latency counts"]);
    assert!(long.len() > help(&["run", "-h"]).len());
}

#[test]
fn serve_and_report_explain_themselves() {
    for flag in ["-h", "--help"] {
        assert_says(&help(&["serve", flag]), &["--listen", "--port-file", "--stall", "Faults"]);
        assert_says(&help(&["report", flag]), &["FILE", "--format", "hgrm", "csv", "hlog", "html"]);
    }
    assert_says(&help(&["serve", "--help"]), &["/fault/", "/__stall"]);
}

#[test]
fn clients_teaches_by_examples() {
    assert_says(&help(&["--help"]), &["clients"]);
    let flags = ["--clients", "--pools", "--concurrencies", "--embedded", "--out", "--list"];
    assert_says(&help(&["clients", "-h"]), &flags);
    let long = help(&["clients", "--help"]);
    assert_says(&long, &flags);
    assert_says(&long, &["Examples:", "concurrency/4", "docs/drivers.md", "Exit codes", "130"]);
}

#[test]
fn the_version_is_one_line() {
    for flag in ["-V", "--version"] {
        let outcome = candor(&[flag]);
        assert_eq!(outcome.code(), 0);
        assert_eq!(outcome.stdout, format!("candor {}\n", env!("CARGO_PKG_VERSION")));
    }
}
