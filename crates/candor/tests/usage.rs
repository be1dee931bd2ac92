//! Runs and files that are impossible: a clear sentence, the right exit code, nothing lost and
//! nothing left behind.
//!
//! Every end of `candor` is checked for the text of a panic.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::{CANDOR, Candor, Document, Target, candor, files_in, is_root};

const USAGE: i32 = 2;
const COULD_NOT_RUN: i32 = 1;

/// An address without a listener, for arguments that are refused before connecting.
const NOWHERE: &str = "http://127.0.0.1:9/";

/// Asserts that these arguments are refused as a usage error, at once, with these words, without
/// creating a file.
fn assert_usage(arguments: &[&str], words: &[&str]) {
    let outcome = candor(&[arguments, &["--json", "result.json"]].concat());
    outcome.assert_refused(USAGE, words);
    assert_eq!(outcome.files(), [""; 0], "{arguments:?}");
    assert_eq!(outcome.stdout, "", "{arguments:?}");
    assert!(outcome.wall < Duration::from_secs(5), "{:?}", outcome.wall);
}

/// `candor` under a shell that prepares something first.
fn under_shell(preparation: &str, arguments: &[&str]) -> crate::common::Outcome {
    let shell = Command::new("sh");
    let run = Candor::start_as(shell, |directory, command| {
        let script = format!("{preparation}; exec \"$0\" \"$@\"");
        command.args(["-c", &script, CANDOR]).args(arguments).current_dir(directory);
    });
    run.finish()
}

/// Nothing is looked up, and nothing gets load.
#[test]
fn a_mistyped_command_is_no_host() {
    for (arguments, words) in [
        (&["bech"][..], &["\"bech\" is no command", "http://bech/", "did you mean \"bench\"?"][..]),
        (&["-c", "2", "verfy"], &["\"verfy\" is no command", "did you mean \"verify\"?"]),
        (&["run", "backend"], &["\"backend\" is no command", "http://backend/"]),
        (&["a\nb"], &["is no command"]),
        (&["-b", "{a:", "7}"], &["is no command", "write that in '…'"]),
    ] {
        assert_usage(arguments, words);
    }
}

/// A name that ends as a file's is no host, and a plan that is named alike is suggested.
#[test]
fn a_mistyped_file_is_no_host() {
    for (arguments, words) in [
        (&["plan.tml"][..], &["candor: there is no file \"plan.tml\"", "http://plan.tml/"][..]),
        (&["-c", "2", "my.toml.bak"], &["there is no file \"my.toml.bak\""]),
        (&["try", "users.csv"], &["there is no file \"users.csv\""]),
    ] {
        candor(arguments).assert_refused(USAGE, words);
    }
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), "").expect("a plan");
        command.arg("plan.tml").current_dir(directory);
    });
    run.finish().assert_refused(USAGE, &["did you mean \"plan.toml\"?"]);
}

#[test]
fn too_few_file_descriptors() {
    let target = Target::start(&[]);
    let arguments = ["-c", "1000", "-d", "1s", "--json", "result.json", &target.url("/")];
    let outcome = under_shell("ulimit -n 64", &arguments);
    outcome.assert_refused(COULD_NOT_RUN, &["1000 connections", "64", "ulimit -n", "-c"]);
    assert_eq!(outcome.files(), [""; 0]);
    assert_eq!(target.requests(), 0);

    // A soft limit is raised silently.
    let outcome = under_shell("ulimit -S -n 64", &["-c", "200", "-n", "1k", &target.url("/")]);
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert_eq!(target.requests(), 1000);
}

/// A network namespace of its own, with loopback and a hundred local ports.
const HUNDRED_PORTS: &str = "ip link set lo up && \
     echo '40000 40099' > /proc/sys/net/ipv4/ip_local_port_range";

fn in_namespace(arguments: &[&str]) -> crate::common::Outcome {
    let run = Candor::start_as(Command::new("unshare"), |directory, command| {
        let script = format!("{HUNDRED_PORTS} && exec \"$0\" \"$@\"");
        command.args(["-n", "sh", "-c", &script, CANDOR]).args(arguments).current_dir(directory);
    });
    run.finish()
}

#[test]
fn too_few_ports() {
    if !is_root("a network namespace") {
        return;
    }
    // Without a URL, because the target must be in the same namespace.
    let outcome = in_namespace(&["-c", "1000", "-d", "1s", "--json", "result.json"]);
    outcome.assert_refused(COULD_NOT_RUN, &["1000 connections", "100", "--source", "-c"]);
    assert_eq!(outcome.files(), [""; 0]);
}

#[test]
fn ports_that_run_out_in_mid_run() {
    if !is_root("a network namespace") {
        return;
    }
    // Each request takes a port, which the kernel keeps for a while after the close.
    let flags = ["--requests-per-connection", "1", "-R", "1k", "-c", "10", "-d", "2s"];
    // With a local address and without.
    for source in [&[][..], &["--source", "127.0.0.1"]] {
        let outcome = in_namespace(&[&flags[..], source, &["--json", "result.json"]].concat());
        assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        assert_eq!(document.ledger("scheduled"), 2000);
        assert!(document.ledger("unsent") > 0, "{}", document.at("/ledger"));
        assert!(document.connect_errors().keys().eq(["ports-exhausted"]), "{document:?}");
        assert!(document.verdicts().contains(&"ports-exhausted"), "{:?}", document.verdicts());
        assert!(!document.verdicts().contains(&"target-lost"), "{:?}", document.verdicts());
        assert!(document.cpu_share() < 0.7, "{:?}", document.at("/workers"));
    }
}

#[test]
fn each_destination_has_all_ports_of_a_local_address() {
    if !is_root("a network namespace") {
        return;
    }
    let target = format!("{CANDOR} serve --listen 0.0.0.0:9090");
    let server = ["--target", &target, "--target-ready", "tcp:127.0.0.1:9090", "http://h:9090/"];
    let addresses = ["--resolve", "h:9090:127.0.0.1,127.0.0.2", "--source", "127.0.0.9"];
    let flags = ["-c", "190", "-n", "380", "--json", "result.json"];
    let outcome = in_namespace(&[&server[..], &addresses, &flags].concat());
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!((document.ledger("ok"), document.count("/connections/opened")), (380, 190));
}

#[test]
fn a_name_without_an_address() {
    let arguments = ["-d", "1s", "--json", "result.json", "http://no-such-host.invalid/"];
    let outcome = candor(&arguments);
    let words = ["cannot resolve no-such-host.invalid", "--resolve no-such-host.invalid:80:"];
    outcome.assert_refused(COULD_NOT_RUN, &words);
    assert_eq!(outcome.files(), [""; 0]);
}

#[test]
fn urls() {
    assert_usage(&["http://"], &["no host in the URL", "http://HOST"]);
    assert_usage(&["http:///path"], &["no host in the URL"]);
    assert_usage(&["ftp://localhost/"], &["ftp", "http://HOST"]);
    for (half, scheme) in [("http//h.x/", "http"), ("https:/h.x/", "https"), ("ws:h.x", "ws")] {
        let written = format!("the scheme has no ://; write {scheme}://HOST");
        assert_usage(&[half], &[&written]);
    }
    assert_usage(&["http://localhost:99999/"], &["99999", "port"]);
    assert_usage(&["http://localhost/a b"], &["%20"]);
    // A password is not repeated.
    let outcome = candor(&["http://user:hunter2@localhost:99999/"]);
    outcome.assert_refused(USAGE, &["port"]);
    assert!(!outcome.stderr.contains("hunter2"), "{}", outcome.stderr);
}

#[test]
fn values() {
    assert_usage(&["-R", "0", NOWHERE], &["--rate", "0"]);
    assert_usage(&["-R", "-5", NOWHERE], &["--rate", "-5"]);
    assert_usage(&["-H", "nonsense", NOWHERE], &["--header", "Name: value"]);
    assert_usage(&["-d", "0", NOWHERE], &["--duration"]);
    assert_usage(&["-d", "5 parsecs", NOWHERE], &["--duration", "parsecs"]);
    assert_usage(&["-c", "0", NOWHERE], &["--connections"]);
    assert_usage(&["-c", "2", "-t", "3", NOWHERE], &["3 threads", "2 connections"]);
    assert_usage(&["--load", "ramp 1k", NOWHERE], &["--load", "ramp"]);
    assert_usage(&["--expect", "p99 << 5ms", NOWHERE], &["--expect", "p99"]);
    assert_usage(&["--expect", "p98.x < 5ms", NOWHERE], &["--expect"]);
    // Schemes, hosts and holes are no secrets; what is behind user information and parameters is.
    assert_usage(&["-x", "socks4://h.example:1", NOWHERE], &["'socks4://h.example:1'", "--proxy"]);
    assert_usage(&["-x", "socks4://u:hunter@h:1", NOWHERE], &["'socks4://[redacted]@h:1'"]);
    assert_usage(
        &["--watch", "promtheus:http://h/m?k=v#x", NOWHERE],
        &["'promtheus:http://h/m?k=…"],
    );
    for (flag, text) in [("-b", "${rand 1..3}"), ("-H", "X: ${rand 1..3}"), ("-n1", "")] {
        let url = format!("{NOWHERE}?{}", if text.is_empty() { "${rand 1..3}" } else { "" });
        let words = [flag, text, &url];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        assert_usage(&words, &["${rand 1..3} is not known", "did you mean \"random\"?"]);
    }
    assert_usage(&["-H", "X: ${random 5..1}", NOWHERE], &["${random 5..1} is empty"]);
    assert_usage(&["--abort-if", "rate < 99% for 5s", NOWHERE], &["--abort-if", "do not have"]);
    assert_usage(&["peak", "--abort-if", "p99 > 1s for 5s", NOWHERE], &["--abort-if"]);
    assert_usage(&["--digits", "6", NOWHERE], &["--digits", "5"]);
    assert_usage(&["--expect-status", "2yy", NOWHERE], &["--expect-status", "2yy"]);
    assert_usage(&["--body-file", "missing.json", NOWHERE], &["missing.json", "No such file"]);
    assert_usage(&["-R", "1k", "--think-time", "1s", NOWHERE], &["--think-time", "--rate"]);
}

#[test]
fn flags() {
    assert_usage(&["--frobnicate", NOWHERE], &["--frobnicate", "--help"]);
    assert_usage(&["--conections", "5", NOWHERE], &["--conections", "--connections"]);
    assert_usage(&[NOWHERE, "http://another/"], &["http://another/"]);
    // As with curl.
    let outcome = candor(&["--json", "{\"a\":1}", NOWHERE]);
    outcome.assert_refused(USAGE, &["--json FILE", "-b"]);
    let outcome = candor(&["report"]);
    outcome.assert_refused(USAGE, &["FILE"]);
    let outcome = candor(&["serve", "--fault", "explode"]);
    outcome.assert_refused(USAGE, &["explode", "reset/BYTES"]);
}

/// The reason alone: there is nothing to report.
#[test]
fn a_comparison_without_a_single_run_has_no_report() {
    let outcome = candor(&["compare", "./none-1 {port}", "./none-2 {port}", "--rounds", "6"]);
    outcome.assert_refused(COULD_NOT_RUN, &["cannot start ./none-1", "check the command"]);
    assert_eq!(outcome.stdout, "");
}

#[test]
fn arguments_that_are_not_utf8() {
    let run = Candor::start_as(Command::new(CANDOR), |_, command| {
        command.arg(OsStr::from_bytes(b"http://localhost/\xff"));
    });
    run.finish().assert_refused(USAGE, &["UTF-8", "\\xFF"]);
}

/// Runs the plan `text`, which must be refused with these words.
fn assert_plan_refused(text: &str, words: &[&str]) {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), text).expect("a plan");
        command.args(["run", "plan.toml", "--json", "result.json"]).current_dir(directory);
    });
    let outcome = run.finish();
    outcome.assert_refused(USAGE, words);
    assert_eq!(outcome.files(), ["plan.toml"]);
}

#[test]
fn plans_with_a_slip() {
    let url = "url = \"http://127.0.0.1:9/\"\n";
    let words = ["plan.toml:3:1", "conections", "did you mean", "connections"];
    assert_plan_refused(&format!("{url}\nconections = 5\n"), &words);
    let words = ["plan.toml:2:8", "rate", "fast"];
    assert_plan_refused(&format!("{url}rate = \"fast\"\n"), &words);
    let request = "[[request]]\nname = \"one\"\nwieght = 3\n";
    assert_plan_refused(&format!("{url}{request}"), &["plan.toml:4:1", "wieght", "weight"]);
    assert_plan_refused(&format!("{url}rate = \n"), &["plan.toml:2:", "not valid TOML"]);
    assert_plan_refused("rate = 100\n[[request]]\nheader = \"x\"\n", &["plan.toml:3:", "header"]);

    candor(&["run", "missing.toml"]).assert_refused(USAGE, &["missing.toml", "No such file"]);
    let binary = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("plan.toml"), b"url = \"\xff\"").expect("a plan");
        command.args(["run", "plan.toml"]).current_dir(directory);
    });
    binary.finish().assert_refused(USAGE, &["plan.toml", "UTF-8"]);
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_run() {
    let target = Target::start(&[]);
    let url = target.url("/");
    for flag in ["--json", "--csv", "--html", "--hgrm", "--hlog"] {
        let outcome = candor(&["-n", "10", flag, "missing/result", &url]);
        let words = ["cannot write missing/result", "No such file", "nothing was run"];
        outcome.assert_refused(USAGE, &words);
        // A directory as output; the other output, which is writable, leaves no file either.
        let other = if flag == "--json" { "--csv" } else { "--json" };
        let outcome = candor(&["-n", "10", other, "good", flag, "/tmp", &url]);
        outcome.assert_refused(USAGE, &["cannot write /tmp", "directory"]);
        assert_eq!(outcome.files(), [""; 0]);
    }
    assert_eq!(target.requests(), 0);
}

#[test]
fn a_result_that_was_there_survives_a_refused_run() {
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        std::fs::write(directory.join("result.json"), "precious").expect("a file");
        command.args(["--json", "result.json", "-n", "1", NOWHERE]).current_dir(directory);
    });
    let outcome = run.finish();
    outcome.assert_refused(COULD_NOT_RUN, &["cannot connect"]);
    assert_eq!(outcome.file("result.json"), "precious");
}

/// A file system of a few pages, unmounted on drop.
struct SmallDisk {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl SmallDisk {
    fn mount() -> SmallDisk {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("disk");
        std::fs::create_dir(&path).expect("a directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k,mode=700", "candor-test"]).arg(&path);
        assert!(mount.status().expect("mount").success());
        SmallDisk { path, _directory: directory }
    }

    /// Fills the remaining space.
    fn fill(&self) {
        let mut rest = std::fs::File::create(self.path.join("filler")).expect("a file");
        while std::io::Write::write_all(&mut rest, &[0; 4096]).is_ok() {}
    }

    fn files(&self) -> Vec<String> {
        files_in(&self.path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A failure to unmount fails the test, but not with a second panic.
        let unmounted = Command::new("umount").arg(&self.path).status();
        if !std::thread::panicking() {
            assert!(unmounted.is_ok_and(|status| status.success()), "{:?}", self.path);
        }
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    if !is_root("a file system of its own") {
        return;
    }
    let disk = SmallDisk::mount();
    std::fs::write(disk.path.join("result.json"), "precious").unwrap();
    disk.fill();
    let path = disk.path.join("result.json");
    let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
        command.args(["-n", "100", "--json"]).arg(&path).env("TMPDIR", directory);
    });
    let outcome = run.finish();
    let words = ["cannot write", path.to_str().unwrap(), "No space left", "It is kept in"];
    outcome.assert_refused(COULD_NOT_RUN, &words);
    // The old file is still there, and no partial file beside it.
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(disk.files(), ["filler", "result.json"]);
    // The result is where the message says.
    let (_, kept) = outcome.stderr.trim().rsplit_once("It is kept in ").unwrap();
    let document = Document::checked(&std::fs::read_to_string(kept).unwrap());
    assert_eq!(document.ledger("ok"), 100);
    assert_eq!(Path::new(kept).parent(), outcome.path("result.json").parent());
    assert!(outcome.stdout.contains("100"), "the report was printed: {}", outcome.stdout);
}

#[test]
fn with_no_space_anywhere_the_result_is_printed() {
    if !is_root("a file system of its own") {
        return;
    }
    let disk = SmallDisk::mount();
    disk.fill();
    let path = disk.path.join("result.json");
    let target = Target::start(&[]);
    let run = Candor::start_as(Command::new(CANDOR), |_, command| {
        command.args(["-q", "-n", "100", &target.url("/"), "--json"]).arg(&path);
        command.env("TMPDIR", &disk.path);
    });
    let outcome = run.finish();
    outcome.assert_refused(COULD_NOT_RUN, &["No space left", "It was printed instead"]);
    assert_eq!(disk.files(), ["filler"]);
    assert_eq!(Document::checked(&outcome.stdout).ledger("ok"), 100);
}

#[test]
fn a_report_that_cannot_be_printed_does_not_take_the_result_with_it() {
    let target = Target::start(&[]);
    let arguments = ["-n", "100", "--json", "result.json", &target.url("/")];
    let run = Candor::start_as(Command::new("sh"), |directory, command| {
        let script = "exec \"$0\" \"$@\" > /dev/full";
        command.args(["-c", script, CANDOR]).args(arguments).current_dir(directory);
    });
    let outcome = run.finish();
    outcome.assert_refused(COULD_NOT_RUN, &["standard output", "No space left"]);
    assert_eq!(outcome.document().ledger("ok"), 100);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let target = Target::start(&[]);
    let run = Candor::start_as(Command::new("sh"), |directory, command| {
        let script = "\"$0\" -n 100 --json result.json \"$1\" | true; wait";
        command.args(["-c", script, CANDOR, &target.url("/")]).current_dir(directory);
    });
    let outcome = run.finish();
    assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""));
    assert_eq!(outcome.document().ledger("ok"), 100);
}

#[test]
fn saved_results_that_are_none() {
    let run = |content: &str| {
        let run = Candor::start_as(Command::new(CANDOR), |directory, command| {
            std::fs::write(directory.join("saved.json"), content).expect("a file");
            command.args(["report", "saved.json"]).current_dir(directory);
        });
        run.finish()
    };
    run("nonsense").assert_refused(COULD_NOT_RUN, &["saved.json", "not JSON", "--json"]);
    run("{}").assert_refused(COULD_NOT_RUN, &["saved.json", "\"candor.\""]);
    let other = r#"{"format": "candor.result/9"}"#;
    run(other).assert_refused(COULD_NOT_RUN, &["saved.json", "candor.result/9"]);
    let damaged = r#"{"format": "candor.result/1"}"#;
    run(damaged).assert_refused(COULD_NOT_RUN, &["saved.json", "damaged"]);
    candor(&["report", "missing.json"]).assert_refused(USAGE, &["missing.json"]);
}

/// Of a run, it does so anyway; a server has nothing like it.
#[test]
fn a_hint_fits_the_command() {
    candor(&["--latency", NOWHERE]).assert_refused(USAGE, &["Candor always does that"]);
    for command in ["serve", "import", "completions"] {
        let refused = candor(&[command, "--latency"]);
        refused.assert_refused(USAGE, &["unexpected argument '--latency'"]);
        assert!(!refused.stderr.contains("always does"), "{command}: {}", refused.stderr);
    }
    candor(&["--format", "junit", NOWHERE]).assert_refused(USAGE, &["'--out'"]);
}
