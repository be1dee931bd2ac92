//! `candor verify` as a user runs it.
//!
//! A machine that runs tests is busy, so a response may be read later than a millisecond. Lines
//! that depend on time may therefore say yes or no here; their judgement is tested on simulated
//! time (`lab/src/verify/checks/tests.rs`). Lines that are `exact` (complete logs on both sides,
//! due times as scheduled, nothing before its cause, departures as computed) hold on any machine
//! and must say yes.
//!
//! It is a binary of its own, which nothing runs beside: the kernel begins to stamp what arrives some time after it is
//! asked to, and stops when the last who asked is gone.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

#[allow(dead_code, unused_imports, reason = "this binary uses a part")]
mod common;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{CANDOR, candor};
use candor_serve::PartLog;
use candor_serve::truth::{Record, now_ns};
use candor_testkit::process::{Managed, read_port_file};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn what_holds_on_any_machine_holds_here() {
    let outcome = candor(&["verify", "--quick", "--json", "found.json"]);
    let found: Value = serde_json::from_str(&outcome.file("found.json")).expect("JSON");
    assert_eq!(found["format"], "candor.verify/2");
    assert_eq!(found["quick"], true);
    let checks = found["checks"].as_array().expect("checks");
    let ids: Vec<&str> = checks.iter().filter_map(|check| check["id"].as_str()).collect();
    let wanted = [
        "stall",
        "overload",
        "delays",
        "constant",
        "poisson",
        "closed",
        "shedding",
        "stamps",
        "users",
        "targets",
        "events",
        "gaps",
        "tokens",
        "websocket",
        "grpc",
        "quic",
        "pause",
    ];
    assert_eq!(ids, wanted);

    // From the best to the worst: the answer of many is the worst of theirs.
    let answers = ["yes", "cannot-tell", "no"];
    let rank =
        |of: &Value| answers.iter().position(|one| of["answer"] == **one).expect("an answer");
    let mut worst = 0;
    for check in checks {
        let lines = check["lines"].as_array().expect("lines");
        let mut names = BTreeSet::new();
        for line in lines {
            assert!(names.insert(line["what"].as_str().expect("a name")), "{line}");
            assert!(
                line["measured"].is_number() && line["expected"]["value"].is_number(),
                "{line}"
            );
            assert!(rank(line) == 0 || line["exact"] == false, "{}: {line:#}", check["id"]);
            assert!((1..=4).contains(&line["runs"].as_u64().expect("runs")), "{line}");
            worst = worst.max(rank(line));
        }
        assert!(lines.iter().filter(|line| line["exact"] == true).count() >= 2, "{check}");
        assert_eq!(Some(rank(check)), lines.iter().map(rank).max());
    }
    // The exit code agrees with the lines, and so does the last word.
    assert_eq!(rank(&found), worst);
    assert_eq!(outcome.code(), [0, 6, 4][worst], "{}", outcome.stdout);
    let word = ["\nYES: ", "\nCANNOT TELL: ", "\nNO: "][worst];
    assert!(outcome.stdout.contains(word), "{}", outcome.stdout);

    let floors = found["noise_floor"].as_array().expect("a noise floor");
    assert!(!floors.is_empty());
    for floor in floors {
        assert!(floor["round_trip"]["min_ns"].as_f64() > Some(0.0), "{floor}");
    }
}

/// A server with several queues: each request arrives at the queue in its schedule, and departs by
/// that queue.
#[test]
fn queues_side_by_side_make_many_requests_quick() {
    let one = ["verify", "--quick", "--only", "poisson", "--requests", "2000", "--queues", "20"];
    let outcome = candor(&[&one[..], &["--json", "found.json"]].concat());
    let found: Value = serde_json::from_str(&outcome.file("found.json")).expect("JSON");
    let lines = found["checks"][0]["lines"].as_array().expect("lines");
    let of = |begin: &str| {
        let is_it = |line: &&Value| line["what"].as_str().is_some_and(|it| it.starts_with(begin));
        lines.iter().find(is_it).unwrap_or_else(|| panic!("no {begin} in {}", outcome.stdout))
    };
    for exact in lines.iter().filter(|line| line["exact"] == true) {
        assert_eq!(exact["answer"], "yes", "{exact:#}");
    }
    assert_eq!(of("requests in the server's log")["measured"], 2000.0);
    assert!(of("requests that waited for a connection")["measured"].is_number());
}

#[test]
fn one_check_alone_and_one_that_there_is_not() {
    let outcome = candor(&["verify", "--quick", "--only", "closed"]);
    assert!([0, 4, 6].contains(&outcome.code()), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("closed: ") && !outcome.stdout.contains("stall: "));
    candor(&["verify", "--only", "nothing"]).assert_refused(2, &["nothing", "stall", "pause"]);
}

/// A signal stops the process, as a hypervisor could.
#[test]
fn a_server_that_spins_knows_when_it_did_not_run() {
    let truth = ["--truth", "delay", "--service-time", "1ms"];
    let of_truth = |log: &str| Record::from_csv(log).unwrap().held_up_ns;
    assert_stop_is_logged(&truth, of_truth);
    let of_target = |log: &str| PartLog::from_csv(log).unwrap().held_up_ns;
    assert_stop_is_logged(&[], of_target);
}

fn assert_stop_is_logged(flags: &[&str], held_up_ns: impl Fn(&str) -> Vec<(u64, u64)>) {
    let directory = tempfile::tempdir().unwrap();
    let (ports, log) = (directory.path().join("ports"), directory.path().join("log.csv"));
    let mut command = Command::new(CANDOR);
    command.args(["serve", "--spin", "--listen", "0"]).args(flags);
    command.arg("--port-file").arg(&ports).arg("--log").arg(&log);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Managed::spawn(&mut command).unwrap();
    read_port_file(&ports, Duration::from_secs(10)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let begun_ns = now_ns();
    server.signal(Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let ended_ns = now_ns();
    server.signal(Signal::CONT).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    server.stop().unwrap();
    let pauses = held_up_ns(&std::fs::read_to_string(log).unwrap());
    // It ran until the signal reached it.
    let middle_ns = (begun_ns + ended_ns) / 2;
    let stopped = pauses.iter().find(|(from, to)| (*from..*to).contains(&middle_ns));
    let &(from_ns, to_ns) = stopped.unwrap_or_else(|| panic!("{pauses:?}"));
    assert!(to_ns - from_ns >= 100_000_000 && to_ns >= ended_ns - 1_000_000, "{from_ns} {to_ns}");
}
