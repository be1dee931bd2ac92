//! Managed targets, peaks and sweeps with the real program: `candor serve` as a managed target. The
//! tests look in /proc for leftover processes.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::{CANDOR, Candor, Document, Target, assert_valid, candor, measure};
use candor_testkit::process::{Managed, free_port, wait_until};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(15);
const INTERRUPTED: i32 = 130;
const CANNOT_TELL: i32 = 6;

/// Processes whose command line has this word.
fn with_word(word: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id())
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).split('\0').any(|one| one.contains(word))
        })
        .collect()
}

fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a process id");
    kill_process(pid, signal).expect("a signal to a process of this test");
}

/// A word that no other process has, for the command line of a target.
fn mark(name: &str) -> String {
    format!("mark-{name}-{}", std::process::id())
}

/// A script in `directory` that is a target.
fn script(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("target.sh");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable");
    path
}

/// A run that fails, whose target's output is kept in a place that this test removes.
fn refused(flags: &[&str], words: &[&str]) {
    let logged = ["run", "-d", "1s", "--target-log", "target.log"];
    candor(&[&logged, flags].concat()).assert_refused(1, words);
}

fn serve(flags: &str) -> String {
    format!("{CANDOR} serve {flags}")
}

#[test]
fn a_run_starts_its_target_watches_it_and_ends_it() {
    let mark = mark("run");
    let target = serve(&format!("--path /?{mark}"));
    let run = Candor::start_measuring(&["-R", "500", "-d", "1s", "--target", &target]);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert!(document.text("/plan/target/url").ends_with("/?…"));
    assert_eq!(document.ledger("ok"), 500);
    assert_eq!(document.text("/target_note"), "managed");
    let used = document.at("/target");
    let samples = used["samples"].as_array().expect("samples");
    assert!((8..=12).contains(&samples.len()), "{}", samples.len());
    assert!(samples.iter().all(|one| (0.0..=1.01).contains(&one["at_s"].as_f64().unwrap())));
    assert!(samples[0]["rss_bytes"].as_u64().unwrap() > 1_000_000, "{}", samples[0]);
    assert!(samples[0]["open_files"].as_u64().unwrap() > 10, "{}", samples[0]);
    assert_eq!(samples[0]["processes"], 1);
    assert!(used["cpu_s"].as_f64().unwrap() < 2.0);
    let stats = used["stats"].as_array().expect("its own figures");
    assert!(stats[0]["json"]["requests_accepted"].is_u64(), "{stats:?}");
    let cores = |name: &str| used[name].as_array().map_or(0, Vec::len);
    assert!(cores("cores") > 0 && cores("loader_cores") > 0);
    assert!(outcome.stdout.contains("Target"), "{}", outcome.stdout);
    assert!(with_word(&mark).is_empty());
    assert_eq!(outcome.files(), ["result.json"]);
}

/// A target that is another server, started for a scenario.
fn announcing(directory: &Path, server: &Target, lines: &str) -> String {
    let port = server.url("/").rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let text = format!("printf 'PORT={port}\\nPATH=/echo\\nMETHOD=POST\\n{lines}' >$3; sleep 1000");
    script(directory, &text).display().to_string()
}

#[test]
fn a_scenario_sends_its_own_request_and_says_what_the_response_is() {
    // By name, against the embedded target: method, body, expectations and connections are the scenario's.
    let upload = measure(&["--scenario", "httparena_upload_20mb_auto", "-d", "1s"]);
    upload.assert_all_ok();
    assert!(upload.ledger("ok") > 0);
    assert_eq!(upload.at("/plan/connections/count"), 8);
    let sent = upload.at("/plan/work/requests/list/0");
    assert_eq!((&sent["method"], &sent["path"]), (&"POST".into(), &"/upload".into()));
    let bytes = |document: &Document| {
        document.at("/plan/work/requests/list/0/body")["left-out"]["count"].as_u64()
    };
    assert_eq!(bytes(&upload), Some(20_971_520));
    // The embedded target starts as the scenario needs it: over TLS.
    let tls = measure(&["--scenario", "tls_handshake_throughput", "-d", "200ms"]);
    tls.assert_all_ok();
    assert!(tls.text("/plan/target/url").starts_with("https:"));
    // Of a managed target, the scenario for which it was started.
    let server = Target::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let target = announcing(directory.path(), &server, "SCENARIO=echo\\n");
    let echo = measure(&["-d", "200ms", "--target", &target]);
    echo.assert_all_ok();
    assert_eq!(bytes(&echo), Some(256));
    // Another one that is typed, and a request of the user's own, come before it.
    let json = measure(&["-d", "200ms", "--target", &target, "--scenario", "json"]);
    assert_eq!(json.text("/plan/work/requests/list/0/path"), "/json");
    let own = measure(&["-d", "200ms", "--target", &target, "-b", "mine"]);
    assert_eq!(bytes(&own), Some(4));
    // A scenario that we do not know: its path and method are followed.
    let theirs = announcing(directory.path(), &server, "SCENARIO=theirs\\n");
    let theirs = measure(&["-d", "200ms", "--target", &theirs]);
    assert_eq!(theirs.text("/plan/work/requests/list/0/method"), "POST");
    assert!(bytes(&theirs).is_none_or(|bytes| bytes == 0));
}

#[test]
fn a_wrong_response_to_a_scenario_is_no_success() {
    // The right status, and a body that no scenario means.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|read| read > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies");
                }
            });
        }
    });
    let run = |name: &str| candor(&["run", "-d", "200ms", "-c1", "--scenario", name, &url]);
    let hello = run("hello");
    assert_eq!(hello.code(), 1, "{}{}", hello.stdout, hello.stderr);
    assert!(hello.stdout.contains("ALL FAILED"), "{}", hello.stdout);
    // A header field is not looked at in each response of a run, but before it.
    let gzip = ["before the run the response to GET /gzip is wrong: header:Content-Encoding"];
    run("gzip_response").assert_refused(1, &gzip);
    run("hellow").assert_refused(2, &["--scenario: there is no scenario \"hellow\"", "\"hello\""]);
    run("tls_handshake_throughput").assert_refused(2, &["it is sent over TLS only", "https://"]);
    let both = ["run", "--scenario", "echo", "-X", "PUT", &url];
    candor(&both).assert_refused(2, &["--scenario echo", "leave it or --method out"]);
    let ws = ["ws", "--scenario", "echo", &url];
    candor(&ws).assert_refused(2, &["candor ws has no --scenario"]);
}

#[test]
fn a_target_that_dies_in_mid_run_is_told_with_its_status_and_its_log() {
    let mark = mark("dies");
    let target = serve(&format!("--path /?{mark}"));
    let run = Candor::start_measuring(&[
        "-R",
        "200",
        "-d",
        "1h",
        "--target",
        &target,
        "--target-log",
        "target.log",
    ]);
    let serving = |pid: &u32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').nth(1) == Some("serve")
    };
    assert!(wait_until(PATIENCE, || with_word(&mark).iter().any(serving)), "no target");
    std::thread::sleep(Duration::from_millis(700));
    let pid = with_word(&mark).into_iter().find(serving).expect("the target");
    kill(pid, Signal::KILL);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
    let document = outcome.document();
    assert_eq!(document.text("/end/reason"), "target-ended");
    assert_eq!(document.at("/end/partial"), true);
    assert!(document.verdicts().contains(&"target-ended"));
    assert!(document.text("/target/ended").contains("SIGKILL"), "{}", document.at("/target"));
    assert!(document.ledger("ok") > 20, "{}", document.at("/ledger"));
    let log = document.at("/target/log_tail").to_string();
    assert!(log.contains("listening on"), "{log}");
    assert!(outcome.file("target.log").contains("listening on"));
    assert!(with_word(&mark).is_empty());
}

#[test]
fn a_target_that_never_gets_ready_or_is_no_target_is_a_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let mark = mark("never");
    let never = script(directory.path(), "echo I have begun; sleep 1000 & sleep 1000");
    let command = format!("{} {mark}", never.display());
    refused(
        &["--target-timeout", "300ms", "--target", &command],
        &["not ready within", "no port file", "I have begun", "--target-ready"],
    );
    assert!(with_word(&mark).is_empty());

    let ends = script(directory.path(), "echo out of luck >&2; exit 7");
    refused(&["--target", &ends.display().to_string()], &["exit status 7", "out of luck"]);

    let nothing = "/no/such/server";
    refused(&["--target", nothing], &["cannot start /no/such/server", "check the command"]);

    let wrong = script(directory.path(), "echo PORT=pi > $3; sleep 1000");
    refused(&["--target", &wrong.display().to_string()], &["port file is wrong", "PORT=pi"]);
}

#[test]
fn a_port_that_is_taken_is_said_before_and_after() {
    // Another server uses the port already, so nothing is started.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ready = format!("tcp:{address}");
    refused(
        &["--target", "sleep 1000", "--target-ready", &ready],
        &["already listens", &address.to_string()],
    );
    // The target itself notices.
    let target = serve(&format!("--listen {address}"));
    refused(&["--target", &target], &["before it was ready", &address.port().to_string()]);
}

/// A server that knows nothing of Candor: its port is given to it, and several ways say that it is ready.
#[test]
fn any_server_is_started_by_its_command() {
    let directory = tempfile::tempdir().unwrap();
    let up = directory.path().join("up");
    let script = "import http.server, pathlib, sys\n\
                  class H(http.server.BaseHTTPRequestHandler):\n    \
                  protocol_version = 'HTTP/1.1'\n    \
                  def log_message(self, *_): pass\n    \
                  def do_GET(self):\n        \
                  self.send_response(200)\n        \
                  self.send_header('Content-Length', '2')\n        \
                  self.end_headers()\n        \
                  self.wfile.write(b'ok')\n\
                  s = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H)\n\
                  pathlib.Path(sys.argv[2]).write_text('')\n\
                  print('is up at', sys.argv[1], flush=True)\n\
                  s.serve_forever()\n";
    let file = directory.path().join("server.py");
    std::fs::write(&file, script).unwrap();
    let target = format!("python3 {} {{port}} {}", file.display(), up.display());
    let file_ready = format!("file:{}", up.display());
    for ready in [
        None,
        Some("port"),
        Some("line:is up at"),
        Some(&*file_ready),
        Some("http://127.0.0.1:{port}/"),
        Some("after:700ms"),
    ] {
        let _ = std::fs::remove_file(&up);
        let mut arguments = vec!["-c", "1", "-n", "5", "--target", &target];
        arguments.extend(ready.iter().flat_map(|ready| ["--target-ready", ready]));
        let document = measure(&arguments);
        document.assert_all_ok();
    }
    for (arguments, words) in [
        (&["-n1", "--target", "sleep 9", "--target-ready", "line:up"][..], "put {port} into"),
        (&["-n1", "--target-ready", "port", "http://127.0.0.1:9/"], "start one with --target"),
        (&["-n1", "--target", "sleep 9", "--target-ready", "port", "http://h/"], "put {port} into"),
    ] {
        let refused = candor(arguments);
        assert!(refused.code() != 0 && refused.stderr.contains(words), "{}", refused.stderr);
    }
    let waits = ["-n1", "--target", "sleep 9 {port}", "--target-timeout", "200ms"];
    let late = candor(&waits);
    assert!(late.stderr.contains("nothing listens on its port"), "{}", late.stderr);
}

/// Two commands, each started for each of its runs.
#[test]
fn two_commands_are_compared() {
    let program = CANDOR;
    let server =
        |threads: u32| format!("{program} serve --threads {threads} --listen 127.0.0.1:{{port}}");
    let variants = [format!("old={}", server(1)), format!("new={}", server(2))];
    let flags = ["-c", "2", "-d", "100ms", "--warm-up", "0", "--rounds", "6", "--primary", "p50"];
    let gate = ["--fail-if-slower", "500%", "--target-timeout", "20s"];
    let arguments = [&["compare", &variants[0], &variants[1]][..], &flags, &gate].concat();
    let outcome = candor(&arguments);
    assert!([0, 6].contains(&outcome.code()), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("new"), "{}", outcome.stdout);
    let refused = candor(&["compare", "http://h/", "http://i/", "--target-ready", "port"]);
    assert!(refused.stderr.contains("give a command as a variant"), "{}", refused.stderr);
}

#[test]
fn ready_by_tcp_and_by_a_status() {
    for way in ["tcp", "http"] {
        let port = free_port().unwrap();
        let ready = match way {
            "tcp" => format!("tcp:127.0.0.1:{port}"),
            _ => format!("http://127.0.0.1:{port}/no/such/path 404"),
        };
        let target = serve(&format!("--listen 127.0.0.1:{port}"));
        let url = format!("http://127.0.0.1:{port}/");
        let arguments =
            ["-R", "200", "-d", "500ms", "--target", &target, "--target-ready", &ready, &url];
        let document = crate::common::measure(&arguments);
        assert_eq!(document.ledger("ok"), 100, "{way}");
    }
}

/// A server with a child that leaves its group and its session.
const FAMILY: &str = r#"
setsid sh -c 'trap "" TERM HUP; sleep 1000; : $0' "$1" &
exec "$CANDOR" serve --path "/?$1" --standalone --port-file "$4"
"#;

fn family(directory: &Path, mark: &str) -> String {
    format!("{} {mark}", script(directory, FAMILY).display())
}

#[test]
fn nothing_outlives_us_whoever_ends_us() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let directory = tempfile::tempdir().unwrap();
        let mark = mark(&format!("family-{}", signal.as_raw()));
        let target = family(directory.path(), &mark);
        let env = format!("CANDOR={CANDOR}");
        let arguments = [
            "-R",
            "200",
            "-d",
            "1h",
            "--target",
            &target,
            "--target-env",
            &env,
            "--target-log",
            "target.log",
        ];
        let run = Candor::start_measuring(&arguments);
        // The loader, the keeper, the server and its child, at least.
        assert!(wait_until(PATIENCE, || with_word(&mark).len() >= 4), "{:?}", with_word(&mark));
        std::thread::sleep(Duration::from_millis(300));
        run.signal(signal);
        let outcome = run.finish();
        let expected = if signal == Signal::KILL { 137 } else { INTERRUPTED };
        assert_eq!(outcome.code(), expected, "{}", outcome.stderr);
        assert!(wait_until(PATIENCE, || with_word(&mark).is_empty()), "{:?}", with_word(&mark));
    }
}

/// A run with this target, and its keeper's and its target's process ids.
fn kept(target: &str, mark: &str) -> (Candor, u32, u32) {
    let arguments = ["-R", "200", "-d", "1h", "--target", target, "--target-log", "target.log"];
    let run = Candor::start_measuring(&arguments);
    let second = |pid: &u32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').nth(1).unwrap_or_default().to_owned()
    };
    let with = |word: &str| with_word(mark).into_iter().find(|pid| second(pid) == word);
    let is_up = || with("keep-target").is_some() && with("serve").is_some();
    assert!(wait_until(PATIENCE, is_up), "{:?}", with_word(mark));
    std::thread::sleep(Duration::from_millis(500));
    let (keeper, target) = (with("keep-target"), with("serve"));
    (run, keeper.expect("a keeper"), target.expect("a target"))
}

#[test]
fn a_target_is_gone_when_candor_and_its_keeper_are_killed_at_once() {
    let mark = mark("both");
    let (run, keeper, _) = kept(&serve(&format!("--path /?{mark}")), &mark);
    // Stops the keeper, so that it cannot end the target.
    kill(keeper, Signal::STOP);
    run.signal(Signal::KILL);
    kill(keeper, Signal::KILL);
    assert_eq!(run.finish().code(), 137);
    let gone = wait_until(Duration::from_secs(2), || with_word(&mark).is_empty());
    with_word(&mark).into_iter().for_each(|pid| kill(pid, Signal::KILL));
    assert!(gone, "the target stays");
}

#[test]
fn nothing_of_a_target_outlives_a_killed_keeper() {
    const HELPER: &str = r#"
sh -c 'trap "" TERM HUP; sleep 1000; : $0' "$1" &
exec "$2" serve --path "/?$1" --standalone --port-file "$5"
"#;
    let directory = tempfile::tempdir().unwrap();
    let mark = mark("keeper");
    let target = format!("{} {mark} {CANDOR}", script(directory.path(), HELPER).display());
    let (run, keeper, _) = kept(&target, &mark);
    kill(keeper, Signal::KILL);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.document().text("/end/reason"), "target-ended");
    assert!(with_word(&mark).is_empty(), "{:?}", with_word(&mark));
}

/// Starts a process with this id in a group of its own, if the system lets us choose.
fn start_as(pid: u32) -> Option<Managed> {
    for _ in 0..100 {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
        let sleeper = Managed::spawn(Command::new("sleep").arg("1000").process_group(0)).ok()?;
        if sleeper.pid() == pid {
            return Some(sleeper);
        }
    }
    None
}

#[test]
fn a_process_that_got_the_targets_id_is_not_signalled() {
    let mark = mark("reused");
    let (run, keeper, target) = kept(&serve(&format!("--path /?{mark}")), &mark);
    run.signal(Signal::STOP);
    // The target becomes a child of this process, which waits for it and so frees its id.
    set_child_subreaper(Some(getpid())).unwrap();
    kill(keeper, Signal::KILL);
    let id = Pid::from_raw(target as i32).unwrap();
    let is_gone = || {
        let _ = kill_process(id, Signal::KILL);
        let _ = waitpid(Some(id), WaitOptions::NOHANG);
        !Path::new(&format!("/proc/{target}")).exists()
    };
    assert!(wait_until(PATIENCE, is_gone), "the target stays");
    let other = start_as(target);
    run.signal(Signal::CONT);
    let outcome = run.finish();
    assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
    match other {
        Some(mut other) => assert_eq!(other.wait(Duration::from_millis(100)).unwrap(), None),
        None => println!("skipped: the system does not let this test choose a process id"),
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_peak_of_a_known_server_and_a_sweep_of_it() {
    let mark = mark("peak");
    let target = serve("--truth fifo --service-time 5ms");
    let found = Candor::start(&[
        "peak",
        "-d",
        "300ms",
        "--warm-up",
        "50ms",
        "--most-connections",
        "2",
        "--target",
        &target,
        "--target-env",
        &format!("MARK={mark}"),
        "--json",
        "peak.json",
        "--csv",
        "runs.csv",
        "--markdown",
        "peak.md",
        "--keep",
        "runs",
    ])
    .finish();
    // Other work on the machine may be so much that the search cannot tell.
    assert!([0, CANNOT_TELL].contains(&found.code()), "{}{}", found.stdout, found.stderr);
    assert!(found.stdout.contains("highest throughput"), "{}", found.stdout);
    assert!(found.stderr.contains("at most 35 s (--most-time)"), "{}", found.stderr);
    assert!(found.stderr.contains("closed loop, 2 connections"), "{}", found.stderr);
    let peak = json(&found.file("peak.json"));
    assert_valid("peak", &peak);
    let rate = peak["answer"]["rate_per_s"].as_f64().expect("an answer");
    // Other work on the machine may make it slower, but never faster.
    assert!((100.0..=206.0).contains(&rate), "{rate}");
    let steps = peak["steps"].as_array().expect("steps");
    let runs: usize = steps.iter().map(|step| step["trials"].as_array().unwrap().len()).sum();
    assert_eq!(found.file("runs.csv").lines().count(), runs + 1);
    assert_eq!(fs::read_dir(found.path("runs")).unwrap().count(), runs);
    assert!(found.file("peak.md").starts_with("# Peak"));

    let file = found.path("peak.json").display().to_string();
    let again = candor(&["report", &file]);
    // The last line names `candor report last`, or only what else a saved result can be asked for.
    let report = |text: &str| text.split_once("\nmore: ").map(|(report, _)| report.to_owned());
    assert!(report(&found.stdout).is_some(), "{}", found.stdout);
    assert_eq!(report(&again.stdout), report(&found.stdout), "rendered again");
    let swept = Candor::start(&[
        "sweep",
        "-d",
        "300ms",
        "--warm-up",
        "50ms",
        "--peak",
        &file,
        "--fractions",
        "50%,200%",
        "--rounds",
        "2",
        "--target",
        &target,
        "--drain",
        "100ms",
        "--json",
        "sweep.json",
    ])
    .finish();
    let sweep = json(&swept.file("sweep.json"));
    assert_valid("sweep", &sweep);
    let rows = sweep["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["trials"].as_array().unwrap().len() == 2));
    assert_eq!(rows[1]["saturated"], true);
    assert!(swept.stdout.contains("(saturated)"), "{}", swept.stdout);
    assert!(swept.stdout.contains("Response time"), "{}", swept.stdout);
}

#[test]
fn a_search_without_repetitions_cannot_tell() {
    let target = serve("--truth fifo --service-time 5ms");
    let few = ["--most-runs", "1", "--most-connections", "1", "-d", "100ms", "--warm-up", "0"];
    let objective = ["--objective", "p50 < 1s", "--target", &target, "--json", "peak.json"];
    let run = Candor::start(&[&["peak"][..], &few, &objective].concat()).finish();
    assert_eq!(run.code(), CANNOT_TELL, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("CANNOT TELL"), "{}", run.stdout);
    let peak = json(&run.file("peak.json"));
    assert_valid("peak", &peak);
    assert!(
        peak["cannot_tell"].as_str().is_some_and(|why| why.contains("runs of a load")),
        "{peak}"
    );
    assert_eq!(peak["answer"]["confidence"], "poor");
}

/// 503 to everything: a search ends with its first run, and no rate is called saturated.
#[test]
fn a_target_that_fails_every_request_is_told_with_its_status() {
    let target = Target::start(&[]);
    let url = target.url("/status/503");
    let short = ["-c", "2", "-d", "100ms", "--warm-up", "0"];
    for objective in [&[][..], &["--objective", "p99 < 10ms"]] {
        let search = [&["peak", &*url, "--json", "peak.json"], &short[..], objective].concat();
        let outcome = Candor::start(&search).finish();
        assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stdout.contains("FAILED"), "{}", outcome.stdout);
        let peak = json(&outcome.file("peak.json"));
        assert_valid("peak", &peak);
        let said = peak["sentences"][0].as_str().unwrap();
        assert!(
            said.starts_with("No request succeeded: ") && said.ends_with(" × status 503."),
            "{said}"
        );
        assert_eq!(peak["steps"].as_array().map(Vec::len), Some(1));
    }
    let rates = ["sweep", &*url, "--rates", "100,200", "--rounds", "1"];
    let swept = Candor::start(&[&rates, &short[..]].concat()).finish();
    assert_eq!(swept.code(), 1, "{}{}", swept.stdout, swept.stderr);
    let words: Vec<&str> = swept.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("(10 × status 503)"), "{}", swept.stdout);
    assert!(!swept.stdout.to_lowercase().contains("saturated"), "{}", swept.stdout);
}

#[test]
fn an_interrupted_search_keeps_what_it_has() {
    let target = serve("--truth fifo --service-time 5ms");
    let run = Candor::start(&[
        "peak",
        "-d",
        "500ms",
        "--warm-up",
        "0",
        "--target",
        &target,
        "--json",
        "peak.json",
    ]);
    let begun = || fs::read_to_string(run.directory().join(".stderr")).unwrap_or_default();
    assert!(wait_until(PATIENCE, || begun().contains("closed loop, 2 connections")));
    run.signal(Signal::INT);
    let outcome = run.finish();
    assert_eq!(outcome.code(), INTERRUPTED, "{}", outcome.stderr);
    let peak = json(&outcome.file("peak.json"));
    assert_valid("peak", &peak);
    assert!(peak["partial"].as_str().is_some_and(|why| why.contains("interrupted")), "{peak}");
    assert!(peak["steps"].as_array().is_some_and(|steps| steps.len() >= 2));
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_starts() {
    let url = "http://127.0.0.1:1/";
    for (arguments, words) in [
        (&["peak", "--rate", "5", url][..], &["--rate", "chooses the rates"][..]),
        (&["peak", "--objective", "p99 < 5", "--", url], &["--objective", "5ms"]),
        (&["peak", "--precision", "0%", url], &["0.1%"]),
        (&["peak", "--target-cores", "0", url], &["--target-cores", "--target"]),
        (&["peak", "--target-cores", "999", "--target", "x"], &["no core 999"]),
        (&["peak", "--target-log", "x", url], &["--target"]),
        (&["peak", "--target", "a 'b"], &["not closed"]),
        (&["sweep", "--rates", "1k", "--peak", "5k", url], &["cannot be used with"]),
        (&["sweep", "--peak", "/no/such/file", url], &["/no/such/file", "candor peak --json"]),
        (&["sweep", "--fractions", "0", url], &["share of the peak"]),
        (&["sweep", "--expect", "p99 < 1s", "--rates", "1k", url], &["--expect"]),
    ] {
        candor(arguments).assert_refused(2, words);
    }
}

#[test]
fn help_that_one_learns_from() {
    for (command, words) in [
        ("peak", &["--objective", "p99 < 10ms", "Managed target:", "--target-ready", "95 %"][..]),
        ("sweep", &["--fractions", "--rounds", "(saturated)", "--peak", "random"]),
        ("run", &["Managed target:", "--target-cores", "--loader-cores"]),
    ] {
        let outcome = candor(&[command, "--help"]);
        assert_eq!(outcome.code(), 0);
        for word in words {
            assert!(outcome.stdout.contains(word), "{command}: {word}: {}", outcome.stdout);
        }
    }
    assert!(!candor(&["--help"]).stdout.contains("keep-target"));
}
