//! The last results: kept for `candor report last`, readable by their user alone, and never a reason
//! to fail.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{CANDOR, Candor, Document, Outcome, Target, files_in};

/// Runs `candor` with its state in `state`, in the folder around it.
fn candor(state: &Path, arguments: &[&str]) -> Outcome {
    candor_in(state.parent().unwrap(), state, arguments)
}

fn candor_in(directory: &Path, state: &Path, arguments: &[&str]) -> Outcome {
    Candor::start_as(Command::new(CANDOR), |_, command| {
        command.args(arguments).current_dir(directory).env("XDG_STATE_HOME", state);
    })
    .finish()
}

fn state() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    (home, state)
}

fn short<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["-c", "1", "-n", "10"][..], more, &[url]].concat()
}

#[test]
fn the_last_result_is_rendered_in_any_form() {
    let target = Target::start(&[]);
    let (home, state) = state();
    let file = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
    let url = target.url("/");
    let run = candor(&state, &short(&url, &["--json", "result.json"]));
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let kept = files_in(&state.join("candor"));
    assert_eq!(kept.len(), 1, "{kept:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&state.join("candor")), 0o700);
    assert_eq!(mode(&state.join("candor").join(&kept[0])), 0o600);

    let again = candor(&state, &["report", "last"]);
    assert_eq!((again.code(), again.stdout.as_str()), (0, run.stdout.as_str()));
    assert!(run.stdout.contains("candor report last --html"), "{}", run.stdout);
    let json = candor(&state, &["report", "last", "--format", "json"]);
    assert_eq!(json.stdout, file("result.json"));
    let files = ["--html", "a.html", "--csv", "a.csv", "--json", "a.json", "--markdown", "a.md"];
    let written = candor(&state, &[&["report", "last"][..], &files].concat());
    assert_eq!((written.code(), written.stdout.as_str()), (0, ""), "{}", written.stderr);
    let files = ["a.csv", "a.html", "a.json", "a.md", "result.json", "state"];
    assert_eq!(files_in(home.path()), files);
    assert_eq!(file("a.json"), file("result.json"));
    assert!(file("a.html").starts_with("<!"), "{}", file("a.html"));
    let both = candor(&state, &["report", "last", "--csv", "a.csv", "--format", "text"]);
    assert_eq!(both.stdout, run.stdout);
    // `./last` is a file and not the last result.
    let of_file = candor(&state, &["report", "./last"]);
    of_file.assert_refused(2, &["cannot read ./last"]);
}

/// A job that runs beside in another directory changes nothing.
#[test]
fn the_last_one_is_of_the_working_directory() {
    let target = Target::start(&[]);
    let (home, state) = state();
    let [one, other] = ["one", "other"].map(|name| home.path().join(name));
    for directory in [&one, &other] {
        fs::create_dir(directory).unwrap();
    }
    let url = target.url("/");
    for (directory, count) in [(&one, "3"), (&one, "4"), (&other, "5")] {
        let run = ["-c", "1", "-n", count, "-q", &url];
        assert_eq!(candor_in(directory, &state, &run).code(), 0);
    }
    let ok = |directory: &Path, word: &str| {
        let outcome = candor_in(directory, &state, &["report", word, "--format", "json"]);
        Document::checked(&outcome.stdout).ledger("ok")
    };
    assert_eq!((ok(&one, "last"), ok(&one, "last-1"), ok(&other, "last")), (4, 3, 5));
    candor_in(&other, &state, &["report", "last-1"]).assert_refused(1, &["this directory has 1"]);
    // Where there is none, the one of another directory is named and not taken.
    let kept = files_in(&state.join("candor"));
    let none = candor(&state, &["report", "last"]);
    none.assert_refused(1, &["of this directory", kept.last().unwrap()]);
}

#[test]
fn the_ones_before_can_be_had() {
    let target = Target::start(&[]);
    let (_home, state) = state();
    let url = target.url("/");
    candor(&state, &["report", "last"]).assert_refused(1, &["no result is kept", "make a run"]);
    for count in 1..=3 {
        let count = count.to_string();
        assert_eq!(candor(&state, &["-c", "1", "-n", &count, "-q", &url]).code(), 0);
    }
    assert_eq!(files_in(&state.join("candor")).len(), 3);
    let ok = |word: &str| {
        let outcome = candor(&state, &["report", word, "--format", "json"]);
        Document::checked(&outcome.stdout).ledger("ok")
    };
    assert_eq!((ok("last"), ok("last-0"), ok("last-1"), ok("last-2")), (3, 3, 2, 1));
    candor(&state, &["report", "last-3"]).assert_refused(1, &["3 before the last", "has 3"]);
    candor(&state, &["report", "last", "last-1", "--html", "a"]).assert_refused(2, &["one FILE"]);
}

#[test]
fn experiments_are_kept_too() {
    let target = Target::start(&[]);
    let (_home, state) = state();
    let flags = ["sweep", "--rates", "100", "--rounds", "1", "-d", "300ms", "--warm-up", "0"];
    let sweep = candor(&state, &[&flags[..], &[&target.url("/")]].concat());
    assert_eq!(sweep.code(), 0, "{}", sweep.stderr);
    let again = candor(&state, &["report", "last"]);
    assert_eq!((again.code(), again.stdout.as_str()), (0, sweep.stdout.as_str()));
}

#[test]
fn what_cannot_be_kept_is_a_note_and_no_failure() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let (home, state) = state();
    let no_keep = candor(&state, &short(&url, &["--no-keep"]));
    assert_eq!((no_keep.code(), no_keep.stderr.as_str()), (0, ""));
    assert!(!state.exists());
    let plan = home.path().join("plan.toml");
    fs::write(&plan, format!("url = '{url}'\nrequests = 5\nno-keep = true\n")).unwrap();
    assert_eq!(candor(&state, &["run", plan.to_str().unwrap()]).code(), 0);
    assert!(!state.exists());

    fs::create_dir(&state).unwrap();
    fs::write(state.join("candor"), "a file in its place").unwrap();
    let refused = candor(&state, &short(&url, &[]));
    assert_eq!(refused.code(), 0);
    assert!(refused.stderr.contains("the result is not kept in"), "{}", refused.stderr);
    assert_eq!(candor(&state, &short(&url, &["-q"])).stderr, "");

    let open = home.path().join("open");
    fs::create_dir_all(open.join("candor")).unwrap();
    fs::set_permissions(open.join("candor"), Permissions::from_mode(0o777)).unwrap();
    let refused = candor(&open, &short(&url, &[]));
    assert_eq!(refused.code(), 0);
    assert!(refused.stderr.contains("other users can change"), "{}", refused.stderr);
    assert_eq!(files_in(&open.join("candor")).len(), 0);

    let homeless = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(short(&url, &[])).current_dir(directory);
        command.env_remove("XDG_STATE_HOME").env_remove("HOME");
    });
    let homeless = homeless.finish();
    assert_eq!((homeless.code(), homeless.stderr.as_str()), (0, ""));
    assert_eq!(homeless.files(), [""; 0]);
}
