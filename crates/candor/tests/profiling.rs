//! `--profile-command` with the real program, and scripts as profilers: their start and end, their
//! files, and the findings about the profiled figures.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{CANDOR, Candor, Outcome, assert_valid, candor};
use candor_testkit::process::wait_until;
use rustix::process::Signal;

const PATIENCE: Duration = Duration::from_secs(15);

/// Writes the process it observes, and for how long, in hundredths of a second.
const PROFILER: &str = r#"#!/bin/sh
now() { cut -d' ' -f1 /proc/uptime; }
pid=$1 out=$2
trap 'echo "end $(now)" >> "$out"; exit 0' INT
echo "looking at $pid"
tr '\0' ' ' < /proc/$pid/cmdline > "$out"
echo "
begin $(now)" >> "$out"
while :; do sleep 0.01; done
"#;

/// Such a profiler in a directory, as a command.
fn profiler(directory: &Path, word: &str) -> String {
    let path = directory.join("profiler.sh");
    fs::write(&path, PROFILER).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{} {{pid}} {{out}} {word}", path.display())
}

/// A word that no other process has.
fn mark(name: &str) -> String {
    format!("mark-{name}-{}", std::process::id())
}

/// Whether a process has this word on its command line, other than this one.
fn is_there(word: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id()).any(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|one| one.contains(word))
    })
}

/// A run of a second against the embedded target, beside this profiler.
fn profiled(command: &str) -> Outcome {
    let flags = ["-R", "300", "-d", "1s", "--warm-up", "300ms", "--profile-command", command];
    Candor::start_measuring(&flags).finish()
}

#[test]
fn a_profiler_has_the_measured_window_and_its_files_stay() {
    let directory = tempfile::tempdir().unwrap();
    let mark = mark("window");
    let target = format!("{CANDOR} serve --path /?{mark}");
    let command = profiler(directory.path(), &mark);
    let flags =
        ["-R", "300", "-d", "1s", "--warm-up", "500ms", "--report", "full", "--target", &target];
    let run = Candor::start_measuring(&[&flags[..], &["--profile-command", &command]].concat());
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(!is_there(&mark));
    let document = outcome.document();
    assert_eq!(document.ledger("ok"), 300);
    // Not before the window, and after it only until its end is noticed.
    let (from_s, to_s) = (document.number("/profile/from_s"), document.number("/profile/to_s"));
    assert!((0.0..0.5).contains(&from_s) && (1.0..1.5).contains(&to_s), "{from_s} to {to_s}");
    assert!(document.at("/profile/problem").is_null(), "{}", document.at("/profile"));
    // It was not measured with the target.
    let samples = document.list("/target/samples");
    assert!(samples.iter().all(|one| one["processes"] == 1), "{samples:?}");

    assert_eq!(outcome.files(), ["result.json", "result.profile", "result.profile.log"]);
    assert_eq!(document.text("/profile/file"), "result.profile");
    let pid = document.list("/profile/command")[1].as_str().unwrap();
    assert_eq!(outcome.file("result.profile.log"), format!("looking at {pid}\n"));
    let profile = outcome.file("result.profile");
    assert!(profile.contains(&format!("serve --path /?{mark}")), "it saw the target: {profile}");
    let at = |word: &str| -> f64 {
        profile.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok()).unwrap()
    };
    let length_s = at("end ") - at("begin ");
    assert!((0.3..1.6).contains(&length_s), "{length_s}");

    let verdict = &document.list("/verdicts")[0];
    assert_eq!(
        (verdict["id"].as_str(), verdict["severity"].as_str()),
        (Some("profiled"), Some("warning"))
    );
    assert!(outcome.stdout.contains("\nProfile "), "{}", outcome.stdout);
    // Regardless of line breaks.
    let printed = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["DOUBTFUL", "result.profile", "do not compare its figures"] {
        assert!(printed.contains(part), "{part} is not in\n{}", outcome.stdout);
    }
    let file = outcome.path("result.json").display().to_string();
    let page = candor(&["report", "--format", "html", &file]).stdout;
    assert!(page.contains("do not compare its figures") && page.contains("result.profile.log"));

    // There are no conclusions from it.
    candor(&["compare", &file, &file])
        .assert_refused(2, &["result.json", "was profiled", "not comparable", "leave it out"]);
}

#[test]
fn a_profiler_that_fails_is_told_and_the_run_goes_on() {
    let outcome = profiled("/no/such/profiler -p {pid}");
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(document.ledger("ok"), 300);
    // It never observed the target, so the figures are valid.
    assert!(document.verdicts().contains(&"profile-failed"));
    assert!(!document.verdicts().contains(&"profiled"));
    assert!(document.text("/profile/problem").contains("cannot start /no/such/profiler"));
    assert!(outcome.stdout.contains("could not be started"), "{}", outcome.stdout);
    assert_eq!(outcome.files(), ["result.json"]);

    let outcome = profiled("sh -c 'echo no permission; exit 7' {pid}");
    let document = outcome.document();
    assert_eq!(document.ledger("ok"), 300);
    assert!(document.text("/profile/problem").contains("with exit status 7"));
    assert_eq!(document.list("/profile/log_tail"), ["no permission"]);
    assert!(document.verdicts().contains(&"profiled"), "it did look, for a moment");
    assert_eq!(outcome.file("result.profile.log"), "no permission\n");

    let outcome = profiled("sh -c 'exec sleep 1000' sh {out}");
    let document = outcome.document();
    assert!(document.text("/profile/problem").contains("left no file result.profile"));
}

#[test]
fn nothing_of_a_profiler_outlives_us() {
    for signal in [Signal::INT, Signal::KILL] {
        let directory = tempfile::tempdir().unwrap();
        let mark = mark(&format!("outlives-{}", signal.as_raw()));
        let command = profiler(directory.path(), &mark);
        let flags = ["-R", "200", "-d", "1h", "--profile-command", &command];
        let run = Candor::start_measuring(&flags);
        let profile = run.directory().join("result.profile");
        let begun = || fs::read_to_string(&profile).unwrap_or_default().contains("begin");
        assert!(wait_until(PATIENCE, begun), "it never began");
        run.signal(signal);
        run.finish();
        assert!(wait_until(PATIENCE, || !is_there(&mark)));
    }
}

/// The keeper itself: SIGINT, then SIGTERM, then SIGKILL; and nothing starts before the command.
#[test]
fn a_profiler_that_does_not_listen_is_ended_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let script = "exec 2>/dev/null; trap 'echo int' INT; trap 'echo term' TERM; echo began; while :; do sleep 0.01; done";
    let mut keeper = Command::new(CANDOR)
        .args(["keep-target", "--on-word"])
        .args([&log, &directory.path().join("none")])
        .args(["sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut words = keeper.stdin.take().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert!(!log.exists(), "nothing is started before the word");
    words.write_all(b"start now\n").unwrap();
    let printed = || fs::read_to_string(&log).unwrap_or_default();
    assert!(wait_until(PATIENCE, || printed().contains("began")));
    words.write_all(b"interrupt 300 300\n").unwrap();
    let said: Vec<String> =
        BufReader::new(keeper.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    assert!(keeper.wait().unwrap().success());
    assert!(said[0].starts_with("started "), "{said:?}");
    assert_eq!(said[1], "forced by SIGKILL", "{said:?}");
    assert!(said.last().unwrap().contains("SIGKILL"), "{said:?}");
    assert_eq!(printed(), "began\nint\nterm\n");
}

#[test]
fn what_cannot_be_profiled_is_refused() {
    let url = "http://127.0.0.1:1/";
    let flag = ["--profile-command", "perf record -p {pid}"];
    for command in ["peak", "sweep"] {
        candor(&[&[command][..], &flag, &[url]].concat())
            .assert_refused(2, &[command, "has no --profile-command", "single run"]);
    }
    candor(&[&["compare", url, url][..], &flag].concat())
        .assert_refused(2, &["compare has no --profile-command"]);
    candor(&[&flag[..], &[url]].concat())
        .assert_refused(2, &["the target is not managed", "--target"]);
    candor(&["--profile-command", "perf 'x"])
        .assert_refused(2, &["--profile-command", "not closed"]);
}

#[test]
fn a_suite_is_profiled_trial_by_trial_and_says_so_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let command = profiler(directory.path(), "suite");
    let suite = format!(
        "name = 'small'\nscenarios = ['hello']\nprotocols = ['h1']\nrounds = 2\n\
         profile-command = '{command}'\n\
         [run]\nconnections = 2\nthreads = 1\nduration = '300ms'\nwarm-up = '50ms'\n\
         [[server]]\nname = 'embedded'\nembedded = true\n\
         [[server]]\nname = 'elsewhere'\nurl = 'http://127.0.0.1:1/'\nscenarios = ['hello']\n"
    );
    fs::write(directory.path().join("small.toml"), suite).unwrap();
    let outcome = Candor::start_as(Command::new(CANDOR), |_, command| {
        command.args(["bench", "small.toml"]).current_dir(directory.path());
    })
    .finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let results = directory.path().join("small-results");
    let read = |name: &str| fs::read_to_string(results.join(name)).unwrap();
    for round in [1, 2] {
        let profile = read(&format!("profiles/hello.h1.embedded.closed.r{round}.profile"));
        assert!(profile.contains("serve") && profile.contains("end "), "{profile}");
    }
    let sentence = "Profiled: figures are not comparable.";
    assert!(outcome.stdout.contains(sentence), "{}", outcome.stdout);
    assert!(read("README.md").contains(sentence) && read("index.html").contains(sentence));
    let readme = read("README.md");
    let is_told = |line: &str| {
        line.starts_with("- Warning: profiled") && line.ends_with(": hello h1 embedded closed")
    };
    assert!(readme.lines().any(is_told), "{readme}");
    assert!(readme.contains("elsewhere: it is not managed"), "{readme}");
    assert!(read("results.csv").contains("profiled"));
    assert_valid("suite", &serde_json::from_str(&read("suite.json")).unwrap());
}
