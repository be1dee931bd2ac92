//! Parts of a run in separate processes, and their merged result.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::{Candor, Document, Outcome, Target, candor};
use candor_testkit::nginx::Nginx;
use serde_json::Value;

const COULD_NOT_RUN: i32 = 1;
const USAGE: i32 = 2;

/// Runs both halves of a run at the same time, beginning when both are ready.
fn halves(flags: &[&str]) -> [Outcome; 2] {
    let soon = SystemTime::now() + Duration::from_millis(1500);
    let begin_at = soon.duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64().to_string();
    let start = |part: &str| {
        let own = ["--part", part, "--begin-at", &begin_at];
        Candor::start_measuring(&[&own, flags].concat())
    };
    let started = ["1/2", "2/2"].map(start);
    let halves = started.map(Candor::finish);
    halves.iter().for_each(|half| assert_eq!(half.code(), 0, "{}", half.stderr));
    halves
}

fn result(outcome: &Outcome) -> String {
    outcome.path("result.json").display().to_string()
}

fn merged(paths: &[&str]) -> Outcome {
    candor(&[&["report", "--merge", "--format", "json"], paths].concat())
}

#[test]
fn the_merged_ledger_is_what_nginx_counted() {
    for load in [&["-R", "1000"][..], &["-R", "1000", "--arrivals", "poisson"], &[]] {
        let nginx = Nginx::start(true).unwrap();
        let url = format!("http://{}/", nginx.address());
        let flags =
            [load, &["-c", "9", "-t", "2", "-d", "1s", "--warm-up", "200ms", &url]].concat();
        let halves = halves(&flags);
        let paths = [result(&halves[0]), result(&halves[1])];
        let whole = merged(&[&paths[1], &paths[0]]);
        assert_eq!((whole.code(), whole.stderr.as_str()), (0, ""));
        let whole = Document::checked(&whole.stdout);
        let parts = [halves[0].document(), halves[1].document()];
        let sum = |pointer: &str| parts.iter().map(|one| one.count(pointer)).sum::<u64>();
        for field in ["scheduled", "sent", "ok"] {
            assert_eq!(whole.ledger(field), sum(&format!("/ledger/{field}")), "{field}");
        }
        let counts = ["/latencies/response/count", "/latencies/service/count", "/bytes/received"];
        for pointer in ["/rate/answered_in_window", "/connections/asked"].iter().chain(&counts) {
            assert_eq!(whole.count(pointer), sum(pointer), "{pointer}");
        }
        let sent = whole.ledger("sent") + whole.count("/warm_up/sent");
        assert_eq!(nginx.stop().unwrap(), sent, "{load:?}");
        assert_eq!(whole.count("/connections/asked"), 9);
        let machines = whole.list("/machines");
        let places: Vec<_> = machines.iter().map(|one| &one["first_worker"]).collect();
        assert_eq!(places, [0, 1]);
        assert!(machines.iter().all(|one| one["hiccups"]["late"]["count"].as_u64() > Some(0)));
        // Intervals with the same index are merged.
        let of_parts = parts.iter().map(|one| one.list("/intervals").len()).max();
        assert_eq!(Some(whole.list("/intervals").len()), of_parts);
        assert!(whole.0.get("part").is_none(), "it is whole");
        if !load.is_empty() {
            assert_eq!(whole.number("/rate/asked_per_s"), 1000.0);
            assert_eq!(parts[0].number("/rate/asked_per_s"), 500.0);
            assert!(!whole.at("/realised").is_null());
        }
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let part = |flags: &[&str]| {
        let usual = ["-c", "4", "-t", "2", "-d", "100ms", &url];
        let outcome = Candor::start_measuring(&[flags, &usual].concat()).finish();
        assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
        outcome
    };
    let first = part(&["--part", "1/2"]);
    let other_seed = part(&["--part", "2/2", "--seed", "7"]);
    let other_load = part(&["--part", "2/2", "-R", "50"]);
    let (whole, later) = (part(&[]), part(&["--part", "2/2"]));
    let first = result(&first);
    let refused = |other: &str, words: &str| {
        merged(&[&first, other]).assert_refused(COULD_NOT_RUN, &[words]);
    };
    refused(&first, "is given twice");
    refused(&result(&other_seed), "different seeds");
    refused(&result(&other_load), "they differ in the load");
    refused(&result(&whole), "a whole run");
    refused(&result(&later), "had ended when");
    merged(&[&first]).assert_refused(COULD_NOT_RUN, &["part 2/2 is in none of the files"]);

    let directory = tempfile::tempdir().unwrap();
    let broken = |name: &str, change: &dyn Fn(&mut Value)| {
        let text = std::fs::read_to_string(result(&other_part(&url))).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        change(&mut document);
        let path = directory.path().join(name);
        std::fs::write(&path, document.to_string()).unwrap();
        path.display().to_string()
    };
    let cut = broken("cut.json", &|document| {
        let record = document["part"]["record"].as_str().unwrap();
        document["part"]["record"] = record[..record.len() / 8 * 4].into();
    });
    refused(&cut, "the record in");
    let text = directory.path().join("half.json");
    std::fs::write(&text, "{\"format\": \"candor.result/3\"").unwrap();
    refused(&text.display().to_string(), "cannot read");
}

fn other_part(url: &str) -> Outcome {
    let flags = ["--part", "2/2", "-c", "4", "-t", "2", "-d", "100ms", url];
    let outcome = Candor::start_measuring(&flags).finish();
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    outcome
}

#[test]
fn a_part_that_cannot_be_is_refused() {
    let refused = |flags: &[&str], words: &[&str]| {
        candor(&[flags, &["http://127.0.0.1:1/"]].concat()).assert_refused(USAGE, words);
    };
    refused(&["--part", "1/2"], &["--part", "--threads"]);
    refused(&["--part", "1/2", "-t", "3"], &["3 threads do not make 2 equal parts"]);
    refused(&["--part", "3/2", "-t", "2"], &["not a part"]);
    refused(&["--part", "1/2", "-t", "2", "--begin-at", "17"], &["--begin-at 17", "before now"]);
    refused(&["--begin-at", "17"], &["--part"]);
}
