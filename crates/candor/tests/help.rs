//! Help: every command has it, with examples and the next steps.

use std::collections::BTreeSet;

use crate::common::candor;

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

/// The long options that a help text lists.
fn options(text: &str) -> BTreeSet<String> {
    let option = |line: &str| {
        let line = line.trim_start();
        let long = line.split_once(", ").map_or(line, |(_, long)| long).strip_prefix("--")?;
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        Some(long.chars().take_while(|c| is_of_name(*c)).collect())
    };
    text.lines().filter(|line| line.trim_start().starts_with('-')).filter_map(option).collect()
}

/// What `candor run` has and the help of an experiment leaves out is refused there by name, and nothing else is left out.
#[test]
fn what_help_leaves_out_is_refused() {
    let of_run = options(&help(&["run", "--help"]));
    assert!(of_run.contains("hgrm") && of_run.contains("think-time"), "{of_run:?}");
    for (command, before) in [
        ("peak", &["http://127.0.0.1:9/"][..]),
        ("sweep", &["http://127.0.0.1:9/"]),
        ("compare", &["http://127.0.0.1:9/", "http://127.0.0.1:9/x"]),
        ("ci", &["http://127.0.0.1:9/", "http://127.0.0.1:9/x"]),
        ("try", &["http://127.0.0.1:9/"]),
    ] {
        let own = options(&help(&[command, "--help"]));
        let left_out: Vec<&String> = of_run.difference(&own).collect();
        assert!(!left_out.is_empty(), "{command}");
        for option in left_out {
            let value = match &**option {
                "abort-if" => "p99 > 1s",
                "expect" => "p99 < 1s",
                "load" => "hold 10/s for 1s",
                "out" => "json:f",
                "rate" | "requests" => "10",
                "tag" => "a=b",
                "watch" => "prometheus:http://h/m#x",
                "linger" | "think-time" => "1s",
                _ => "f",
            };
            let typed = match &**option {
                "once" => "--once".to_owned(),
                _ => format!("--{option}={value}"),
            };
            let outcome = candor(&[&[command], before, &[&typed]].concat());
            let words = [format!("has no --{option}"), format!("unexpected argument '--{option}'")];
            let is_told = words.iter().any(|words| outcome.stderr.contains(words));
            assert!(outcome.code() == 2 && is_told, "{command} {typed}: {}", outcome.stderr);
        }
    }
}

/// An option that is refused is no part of the help, and a default is that of the command.
#[test]
fn experiments_tell_their_own_defaults() {
    for command in ["peak", "sweep", "compare", "ci"] {
        for flag in ["-h", "--help"] {
            let text = help(&[command, flag]);
            let words: Vec<&str> = text.split_whitespace().collect();
            let default_of = |option: &str| {
                let at = words.iter().position(|word| *word == option).expect(option);
                let default = words[at..].iter().position(|word| *word == "[default:");
                words[at + default.expect("a default") + 1].trim_end_matches([',', ']'])
            };
            assert_eq!(
                (default_of("--duration"), default_of("--warm-up")),
                ("5s", "1s"),
                "{command}"
            );
            assert!(!options(&text).contains("profile-command"), "{command} {flag}");
        }
    }
    assert_says(&help(&["run", "-h"]), &["[default: 10s", "--profile-command"]);
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
        ["Load", "Requests", "Expected responses", "Network", "Timeouts", "Recording", "Output"];
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
    for flags in [["--version", "--json"], ["--json", "-V"]] {
        let outcome = candor(&flags);
        let about: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(about["features"], serde_json::json!(["fleet", "script"]));
        assert_eq!(about["result"], "candor.result/3");
    }
}

#[test]
fn manual_pages_are_printed_and_written() {
    let page = candor(&["man", "run"]);
    assert_eq!((page.code(), page.stderr.as_str()), (0, ""));
    let title = format!(".TH candor-run 1 \" \" \"candor {}\" Candor", env!("CARGO_PKG_VERSION"));
    assert!(page.stdout.contains(&title), "{}", page.stdout);
    assert_says(
        &page.stdout,
        &[".SH SYNOPSIS", "\\-\\-rate", ".SH EXAMPLES", ".SH \"EXIT STATUS\""],
    );
    let whole = candor(&["man"]).stdout;
    assert_says(&whole, &[".TH candor 1", "candor\\-peak(1)", ".SH EXAMPLES"]);
    // Other tools' options are not clap's; their help is used verbatim.
    assert_says(&candor(&["man", "wrk"]).stdout, &["\\-\\-u_latency", ".nf"]);

    let written = candor(&["man", "--dir", "pages/man1"]);
    assert_eq!((written.code(), written.stdout.as_str()), (0, ""), "{}", written.stderr);
    assert_eq!(written.file("pages/man1/candor-run.1"), page.stdout);
    assert_eq!(written.file("pages/man1/candor.1"), whole);

    candor(&["man", "frobnicate"]).assert_refused(2, &["frobnicate", "the commands are run, ws"]);
    candor(&["man", "run", "--dir", "x"]).assert_refused(2, &["--dir"]);
    let outcome = candor(&["man", "--dir", "/dev/null/pages"]);
    outcome.assert_refused(1, &["cannot write pages to /dev/null/pages"]);
}

#[test]
fn completions_know_every_command_and_flag() {
    for shell in ["bash", "zsh", "fish"] {
        let outcome = candor(&["completions", shell]);
        assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""));
        for word in ["compare", "max-connections", "port-file", "fail-if-slower"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
    }
    candor(&["completions", "csh"]).assert_refused(2, &["csh", "bash, zsh, fish"]);
}

/// bash's completions after these words.
fn completed(words: &[&str]) -> String {
    let script = "source <(\"$0\" completions bash); COMP_WORDS=(\"$@\"); \
                  COMP_CWORD=$(($# - 1)); _candor candor \"${@: -1}\" \"${@: -2:1}\"; \
                  echo \"${COMPREPLY[*]}\"";
    let run = crate::common::Candor::start_as(
        std::process::Command::new("bash"),
        |directory, command| {
            command.args(["-c", script, crate::common::CANDOR, "candor"]).args(words);
            command.current_dir(directory);
        },
    );
    let outcome = run.finish();
    assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""));
    outcome.stdout
}

#[test]
fn bash_completes() {
    assert_eq!(completed(&["pea"]), "peak\n");
    assert_eq!(completed(&["run", "--max-conn"]), "--max-connections\n");
    // `run` may be left out.
    assert_eq!(completed(&["--max-conn"]), "--max-connections\n");
    assert_eq!(completed(&["serve", "--truth", ""]), "fifo delay capped\n");
}
