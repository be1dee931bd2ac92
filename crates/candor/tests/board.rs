//! `candor board` from the outside: a small suite whose servers are scored.

use std::fs;

use crate::common::assert_valid;
use crate::lab_suite::{ran, trials};

const BOARD: &str = r#"
name = "tiny"
scenarios = ["baseline", "echo-ws"]
protocols = ["h1"]
rounds = 2

[run]
connections = 2
threads = 1
duration = "200ms"
warm-up = "0s"

[[load]]
name = "closed"

[[load]]
name = "fixed"
scenarios = ["baseline"]
[load.run]
rate = "300"
duration = "1s"

[[scenario]]
name = "baseline"
request = [{ path = "/baseline11?a=13&b=42", expect-status = 200, expect-body = "candor:text/55" }]

[[scenario]]
name = "echo-ws"
websocket = true
request = [{ path = "/ws", body = "hello", expect-body = "candor:text/hello" }]

[[server]]
name = "right"
embedded = true

[[server]]
name = "other"
command = ["{candor}", "serve", "--listen", "127.0.0.1:{port}"]
url = "http://127.0.0.1:{port}/"
scenarios = ["baseline"]

[[server]]
name = "faulty"
command = ["{candor}", "serve", "--listen", "127.0.0.1:{port}", "--fault", "close"]
url = "http://127.0.0.1:{port}/"
scenarios = ["baseline"]
"#;

/// A board is a suite with scores: the same directory, what each row rests on, and no score for a server that fails.
#[test]
fn a_board_scores_and_ranks_the_servers_of_a_suite() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = ran(directory.path(), BOARD, &["board", "tiny.toml", "--format", "json"]);
    // The server that closes every connection is a failure.
    assert_eq!(outcome.code(), 1, "{}{}", outcome.stdout, outcome.stderr);
    let board: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_valid("board", &board);
    let folder = directory.path().join("tiny-results");
    let kept = fs::read_to_string(folder.join("board.json")).unwrap();
    assert_eq!(board, serde_json::from_str::<serde_json::Value>(&kept).unwrap());
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let profiles = board["profiles"].as_array().unwrap();
    let names: Vec<_> = profiles
        .iter()
        .map(|one| ["scenario", "load", "measure"].map(|key| text(&one[key])).join(" "))
        .collect();
    // The load with a rate is for one of the scenarios.
    let expected = [
        "baseline closed throughput",
        "baseline fixed cpu-per-request",
        "echo-ws closed throughput",
    ];
    assert_eq!(names, expected);
    let row = |profile: usize, server: &str| {
        let rows = profiles[profile]["rows"].as_array().unwrap();
        rows.iter().find(|row| row["server"] == server).unwrap()
    };
    for profile in [0, 1] {
        // A busy machine may hold back the last requests of a rate, and CPU time is counted in hundredths of a second.
        let first = &profiles[profile]["rows"][0];
        match first["unscored"].as_str() {
            Some(why) => assert!(
                profile == 1 && ["of the rate", "is not known"].iter().any(|one| why.contains(one)),
                "{first}"
            ),
            None => assert_eq!(first["score"]["high"], 100.0, "{first}"),
        }
        let faulty = row(profile, "faulty");
        assert!(faulty["score"].is_null() && !faulty["unscored"].is_null(), "{faulty}");
        for server in ["right", "other"] {
            let row = row(profile, server);
            assert!(row["loader_cpu_share"].as_f64().unwrap() > 0.0, "{row}");
            // Less than a hundredth of a second may be none at 300/s.
            let cpu_us = row["cpu_us_per_request"].as_f64();
            assert!(cpu_us.map_or(profile == 1, |us| us > 0.0), "{row}");
            assert_eq!(row["rate_ratio"].is_null(), profile == 0, "{row}");
        }
    }
    let ratio = row(1, "right")["rate_ratio"].as_f64().unwrap();
    assert!((0.5..=1.01).contains(&ratio), "{ratio}");
    // Who is missing in a profile has no place in the standing over all of them.
    let standing = board["standings"][0]["rows"].as_array().unwrap();
    let scored: Vec<_> = standing.iter().filter(|row| !row["score"].is_null()).collect();
    assert_eq!((scored.len(), text(&scored[0]["server"])), (1, "right".to_owned()));

    // The same command makes no run again, nor does the suite's own; the page and the table say the same.
    let before = trials(directory.path());
    let again = ran(directory.path(), BOARD, &["board", "tiny.toml", "--servers", "right"]);
    assert_eq!((again.code(), trials(directory.path())), (0, before), "{}", again.stderr);
    for name in ["board.md", "board.html", "board.csv", "README.md", "suite.json"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let report =
        ran(directory.path(), BOARD, &["report", "tiny-results/board.json", "--format", "csv"]);
    assert_eq!(report.stdout, fs::read_to_string(folder.join("board.csv")).unwrap());
}
