//! `candor clients` from the outside: drivers that are small scripts, against the embedded target.
//!
//! The drivers are in Python, with one program for all of them: its argument chooses the fault. One
//! test has the real driver of urllib3, if that is installed; `make beam-test` measures those of
//! Erlang's libraries.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{CANDOR, Candor, Outcome};
use rustix::process::Signal;

/// A working driver: `driver.py KIND`. It makes its requests one after the other, for any
/// concurrency.
const DRIVER: &str = r#"
import json, os, socket, sys, time, urllib.parse

kind = sys.argv[1]
if kind == "missing":
    print("candor driver: no such library: install it", file=sys.stderr)
    sys.exit(2)

def bucket(ns):
    shift = max(0, ns.bit_length() - 11)
    return ns >> shift << shift

def run(cell):
    inside, outside, errors, counts = 0, 0, {}, {}
    low, high, total = None, None, 0
    begin = time.monotonic_ns() + cell["warm_up_ms"] * 1000000
    end = begin + cell["duration_ms"] * 1000000
    url = urllib.parse.urlparse(cell["url"])
    request = f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode()
    connection = None if kind == "null" else socket.create_connection((url.hostname, url.port))
    while True:
        sent = time.monotonic_ns()
        if connection:
            for _ in range(2 if kind == "doubles" else 1):
                connection.sendall(request)
                answer = b""
                while not answer.endswith(b"httpc_bench!"):
                    answer += connection.recv(65536)
        done = time.monotonic_ns()
        if begin <= done < end:
            if kind == "late" and inside % 4 == 3:
                errors["timeout"] = errors.get("timeout", 0) + 1
            ns = done - sent
            inside += 1
            counts[bucket(ns)] = counts.get(bucket(ns), 0) + 1
            low, high, total = min(low or ns, ns), max(high or ns, ns), total + ns
        else:
            outside += 1
        if done >= end:
            break
        if kind == "crashes" and done >= begin:
            print("it was too much for me", file=sys.stderr)
            sys.stderr.flush()
            os.abort()
        if kind == "hangs" and done >= begin:
            time.sleep(600)
    if kind == "garbage":
        print("Traceback (most recent call last):")
        return None
    if kind == "forgets":
        outside += 1
    return {"pool": cell["pool"], "concurrency": cell["concurrency"], "window_ns": cell["duration_ms"] * 1000000,
            "ok": inside, "errors": errors, "examples": {kind: "late" for kind in errors},
            "outside": {"ok": outside, "errors": {}},
            "latency_ns": {"min": low, "max": high, "sum": total, "counts": sorted(counts.items())}}

for line in sys.stdin:
    cell = json.loads(line)
    if cell["do"] == "describe":
        answer = {"driver": "candor.driver/1", "client": kind, "version": "1.2", "runtime": "a script"}
    else:
        answer = run(cell)
    if answer:
        print(json.dumps(answer))
    sys.stdout.flush()
"#;

/// A suite of these kinds of drivers.
fn suite(kinds: &[&str]) -> String {
    let mut text = r#"
name = "tiny"
concurrencies = [2, 4]
rounds = 1
warm-up = "20ms"
duration = "150ms"
timeout = "200ms"
grace = "5s"

[server]
embedded = true
"#
    .to_owned();
    for kind in kinds {
        text.push_str(&format!(
            "\n[[client]]\nname = \"{kind}\"\ncommand = [\"python3\", \"driver.py\", \"{kind}\", \"MARK\"]\n"
        ));
        text.push_str(match *kind {
            "null" => "null = true\n",
            "honest" if kinds.contains(&"null") => "null-client = \"null\"\n",
            "missing" => "needs = \"luck\"\n",
            _ => "",
        });
    }
    text
}

fn start(directory: &Path, suite: &str, arguments: &[&str]) -> Candor {
    fs::write(directory.join("tiny.toml"), suite.replace("MARK", &mark(directory))).unwrap();
    fs::write(directory.join("driver.py"), DRIVER).unwrap();
    Candor::start_as(Command::new(CANDOR), |_, command| {
        command.args(["clients", "tiny.toml"]).args(arguments).current_dir(directory);
    })
}

/// A word in the command line of every driver of this test, and of no other process.
fn mark(directory: &Path) -> String {
    format!("mark-{}", directory.file_name().unwrap().to_string_lossy())
}

fn ran(directory: &Path, suite: &str, arguments: &[&str]) -> Outcome {
    start(directory, suite, arguments).finish()
}

fn read(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join("tiny-results").join(name)).unwrap()
}

/// The document, checked against its schema.
fn document(directory: &Path) -> serde_json::Value {
    let value: serde_json::Value = serde_json::from_str(&read(directory, "clients.json")).unwrap();
    let schema = include_str!("../../report/schema/candor.clients-1.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    value
}

/// Rows of the CSV as columns by name.
fn rows(directory: &Path) -> Vec<std::collections::HashMap<String, String>> {
    let csv = read(directory, "results.csv");
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let fields = line.split(',').map(str::to_owned);
            columns.iter().map(|name| (*name).to_owned()).zip(fields).collect()
        })
        .collect()
}

/// Drivers of this test, their keepers, and the keeper of its server: their logs are in its directory.
fn processes_of(directory: &Path) -> Vec<String> {
    let (mark, logs) = (mark(directory), directory.join("tiny-results/logs"));
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "))
        .filter(|line| line.contains(&mark) || line.contains(&*logs.to_string_lossy()))
        .collect()
}

#[test]
fn honest_drivers_become_a_directory_that_says_everything() {
    let directory = tempfile::tempdir().unwrap();
    let suite = suite(&["honest", "null", "missing"]);
    let outcome = ran(directory.path(), &suite, &[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let clients = document(directory.path());
    assert_eq!(clients["complete"], true);
    let rows = rows(directory.path());
    assert_eq!(rows.len(), 4, "two clients with 2 and 4 callers");
    for row in &rows {
        assert_eq!((row["counts_agree"].as_str(), row["failed"].as_str()), ("1", "0"), "{row:?}");
        assert!(row["rate_per_s"].parse::<f64>().unwrap() > 0.0);
        let sent = if row["client"] == "null" { "0" } else { &row["requests"] };
        assert_eq!(row["server_answered"], sent);
        // A process that works for 170 ms on its own core has used some CPU time.
        assert!(row["cpu_us_per_request"].parse::<f64>().unwrap() > 0.0, "{row:?}");
    }
    let readme = read(directory.path(), "README.md");
    for part in [
        "# HTTP client libraries: tiny",
        "Requests a second, pool = concurrency + 1",
        "| client | pool | concurrency | requests/s | errors | p50 | p99 | p99.9 | max |",
        "| `honest` | 3 | 2 | ",
        "the driver's share in honest: ",
        "per request at c=2",
        "missing: candor driver: no such library: install it (it needs luck)",
        "- Server: embedded",
        "honest 1.2, a script",
        "candor clients tiny.toml",
    ] {
        assert!(readme.contains(part), "{part} is not in\n{readme}");
    }
    assert!(read(directory.path(), "index.html").contains("Rate by concurrency"));
    // Rendered again from the document, it is the same.
    let path = directory.path().join("tiny-results/clients.json");
    let report =
        |form: &str| crate::common::candor(&["report", "--format", form, path.to_str().unwrap()]);
    assert_eq!(report("markdown").stdout, readme);
    assert_eq!(report("csv").stdout, read(directory.path(), "results.csv"));

    // A second run has nothing left to do. Other options need another directory.
    let again = ran(directory.path(), &suite, &[]);
    assert!(again.stderr.contains("4 of 4 trials exist already"), "{}", again.stderr);
    assert_eq!(again.code(), 0);
    ran(directory.path(), &suite, &["-d", "1s"]).assert_refused(2, &["tiny-results", "--out"]);
    assert_eq!(processes_of(directory.path()), [""; 0]);
}

#[test]
fn counts_that_do_not_agree_are_never_kept_in_silence() {
    let directory = tempfile::tempdir().unwrap();
    let kinds = ["honest", "doubles", "forgets", "late"];
    let outcome = ran(directory.path(), &suite(&kinds), &["--concurrencies", "2"]);
    assert_eq!(outcome.code(), 4, "{}{}", outcome.stdout, outcome.stderr);
    let rows = rows(directory.path());
    let of = |client: &str| rows.iter().find(|row| row["client"] == client).unwrap();
    for (client, agrees) in [("honest", "1"), ("doubles", "0"), ("forgets", "0")] {
        let row = of(client);
        assert_eq!(row["counts_agree"], agrees, "{row:?}");
        assert_eq!(row["representative"], agrees, "a wrong one never speaks");
    }
    let number = |client: &str, column: &str| of(client)[column].parse::<u64>().unwrap();
    assert_eq!(number("doubles", "server_answered"), 2 * number("doubles", "requests"));
    assert_eq!(number("forgets", "server_answered") + 1, number("forgets", "requests"));
    // It counts an additional error for each fourth response: more requests than the server
    // responded to, which is possible with timeouts.
    let late = of("late");
    assert!(late["timeout"].parse::<u64>().unwrap() > 0);
    assert_eq!(late["counts_agree"], "1");
    assert!(outcome.stdout.contains("COUNTS DO NOT AGREE: doubles"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("% timeout"), "{}", outcome.stdout);
    // Only the wrong cell is repeated.
    let again = ran(directory.path(), &suite(&kinds), &["--concurrencies", "2"]);
    assert_eq!(again.code(), 4);
    assert!(again.stderr.contains("2 of 4 trials exist already"), "{}", again.stderr);
}

#[test]
fn a_driver_in_trouble_is_told_and_the_run_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let kinds = ["crashes", "garbage", "hangs", "honest"];
    let short = suite(&kinds).replace("grace = \"5s\"", "grace = \"3s\"");
    let begun = Instant::now();
    let outcome = ran(directory.path(), &short, &["--concurrencies", "2"]);
    assert!(begun.elapsed() < Duration::from_secs(35));
    assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
    let clients = document(directory.path());
    let failures = clients["failures"].as_array().unwrap();
    let why = |client: &str| {
        let is_it = |one: &&serde_json::Value| one["trial"].as_str().unwrap().starts_with(client);
        failures.iter().find(is_it).unwrap()["why"].as_str().unwrap().to_owned()
    };
    assert_eq!(failures.len(), 3, "{failures:#?}");
    for (client, words) in [
        ("crashes", &["the driver ended by signal 6", "it was too much for me"][..]),
        ("garbage", &["an invalid reply: Traceback"]),
        ("hangs", &["did not reply within"]),
    ] {
        for word in words {
            assert!(why(client).contains(word), "{word}: {}", why(client));
        }
    }
    let rows = rows(directory.path());
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0]["client"].as_str(), rows[0]["counts_agree"].as_str()), ("honest", "1"));
    assert_eq!(processes_of(directory.path()), [""; 0]);
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let directory = tempfile::tempdir().unwrap();
    let suite = suite(&["honest", "missing"]);
    let refused = |suite: &str, arguments: &[&str], words: &[&str]| {
        ran(directory.path(), suite, arguments).assert_refused(2, words);
        assert!(!directory.path().join("tiny-results").exists());
    };
    refused(
        &suite,
        &["--clients", "honest,missing"],
        &["missing: candor driver: no such library: install it (it needs luck)"],
    );
    refused(&suite, &["--clients", "honst"], &["no client \"honst\"", "did you mean \"honest\""]);
    refused(&suite, &["--pools", "concurency"], &["--pools", "concurrency + 1"]);
    refused(&suite, &["--concurrencies", "0"], &["--concurrencies", "write 1 to"]);
    let typo = suite.replace("embedded", "embeded");
    refused(&typo, &[], &["tiny.toml:11:1", "did you mean \"embedded\""]);
    // A missing program means that the client is not installed.
    let gone = suite.replace("\"python3\", \"driver.py\", \"honest\"", "\"/no/such/driver\"");
    refused(&gone, &[], &["no client of the suite tiny", "/no/such/driver"]);

    let listed = ran(directory.path(), &suite, &["--list"]);
    assert_eq!(listed.code(), 0, "{}", listed.stderr);
    for part in ["client honest: honest 1.2, a script", "honest.p3.c2", "left out: missing: "] {
        assert!(listed.stdout.contains(part), "{part} is not in {}", listed.stdout);
    }
    assert!(!directory.path().join("tiny-results").exists());
}

#[test]
fn a_server_that_cannot_be_had_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let dies = suite(&["honest"]).replace("embedded = true", "command = [\"/bin/false\"]");
    let outcome = ran(directory.path(), &dies, &[]);
    outcome.assert_refused(1, &["ended with exit status 1 before it was ready"]);
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let suite = suite(&["honest"]);
    let arguments = ["--rounds", "6"];
    let running = start(directory.path(), &suite, &arguments);
    let trials = || {
        let entries = fs::read_dir(directory.path().join("tiny-results/trials"));
        let entries = entries.into_iter().flatten().flatten();
        entries.filter(|one| !one.file_name().to_string_lossy().starts_with('.')).count()
    };
    let begun = Instant::now();
    while trials() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(30), "no trial was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::INT);
    let outcome = running.finish();
    assert_eq!(outcome.code(), 130, "{}{}", outcome.stdout, outcome.stderr);
    let made = trials();
    assert!((2..12).contains(&made), "{made}");
    assert!(read(directory.path(), "README.md").contains("**NOT COMPLETE**"));
    assert_eq!(processes_of(directory.path()), [""; 0]);

    let outcome = ran(directory.path(), &suite, &arguments);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains(&format!("{made} of 12 trials")), "{}", outcome.stderr);
    assert_eq!(trials(), 12);
}

/// However candor ends, its drivers and its server end with it.
#[test]
fn nothing_outlives_a_candor_that_was_killed() {
    let directory = tempfile::tempdir().unwrap();
    let suite = suite(&["hangs"]).replace("grace = \"5s\"", "grace = \"60s\"");
    let running = start(directory.path(), &suite, &[]);
    let begun = Instant::now();
    // It gets two commands: `describe`, and then a cell.
    while !directory.path().join("tiny-results/logs/hangs.log").exists()
        || processes_of(directory.path()).is_empty()
    {
        assert!(begun.elapsed() < Duration::from_secs(30), "no driver was started");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::KILL);
    let begun = Instant::now();
    while !processes_of(directory.path()).is_empty() {
        let left = processes_of(directory.path());
        assert!(begun.elapsed() < Duration::from_secs(20), "they outlive it: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(running);
}

/// The real library, if Python has it.
#[test]
fn urllib3_agrees_with_the_embedded_target() {
    let has = Command::new("python3").args(["-c", "import urllib3"]).output().unwrap();
    if !has.status.success() {
        println!("skipped: Python has no urllib3 (python3 -m pip install urllib3)");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let driver: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python/driver.py");
    let suite = format!(
        "name = \"tiny\"\nconcurrencies = [4]\nrounds = 1\nwarm-up = \"50ms\"\nduration = \"300ms\"\n\
         [server]\nembedded = true\n[[client]]\nname = \"urllib3\"\n\
         command = [\"python3\", \"{}\", \"--client\", \"urllib3\"]\n",
        driver.display()
    );
    let outcome = ran(directory.path(), &suite, &[]);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    let rows = rows(directory.path());
    assert_eq!((rows[0]["library"].as_str(), rows[0]["counts_agree"].as_str()), ("urllib3", "1"));
    // With fewer connections than callers and such a short timeout, callers wait in vain: these are errors.
    let slow = suite.replace("embedded = true", "embedded = true\npath = \"/delay/50ms\"");
    let arguments =
        ["--concurrencies", "12", "--pools", "2", "--timeout", "130ms", "--out", "small"];
    let outcome = ran(directory.path(), &slow, &arguments);
    assert_eq!(outcome.code(), 0, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("% pool-timeout"), "{}", outcome.stdout);
}
