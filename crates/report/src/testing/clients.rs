//! A matrix of client libraries for tests.

use crate::document::{Host, Tool};
use crate::experiment::clients::{Asked, Cell, Client, Clients, ErrorCount, FORMAT, Trial};
use crate::experiment::figures::Percentiles;
use crate::experiment::matrix::{FailedTrial, Heading, Note};

/// A run without errors.
pub fn trial(round: u64, rate_per_s: f64) -> Trial {
    let ok = (rate_per_s * 2.0) as u64;
    Trial {
        round,
        file: format!("trials/x.r{round}.json"),
        started_at: "2026-01-01T00:00:00.000Z".to_owned(),
        window_s: 2.0,
        rate_per_s,
        ok,
        errors: Vec::new(),
        failed_share: Some(0.0),
        latency: Percentiles {
            p50_ns: Some(250_000),
            p99_ns: Some(1_900_000),
            p999_ns: None,
            max_ns: Some(41_000_000),
            ..Percentiles::default()
        },
        outside: 100,
        requests: ok + 100,
        server_answered: ok + 100,
        disagreement: None,
        cpu_s: 1.9,
        cpu_us_per_request: Some(61.25),
    }
}

/// Three clients and a null one; timeouts in one cell, disagreeing counts in another, and one that was
/// not measured.
pub fn sample() -> Clients {
    let client = |name: &str, null_client: Option<&str>| Client {
        name: name.to_owned(),
        about: String::new(),
        command: vec!["beam/bin/driver".to_owned(), "--client".to_owned(), name.to_owned()],
        library: name.to_owned(),
        version: "8.2.1".to_owned(),
        runtime: "Erlang/OTP 25".to_owned(),
        is_null: name.ends_with("null"),
        null_client: null_client.map(str::to_owned),
    };
    let cell = |client: &str, concurrency: u64, trials: Vec<Trial>| {
        let mut cell = Cell {
            client: client.to_owned(),
            pool: concurrency + 1,
            concurrency,
            trials,
            representative: None,
            spread: None,
        };
        cell.settle();
        cell
    };
    let mut late = trial(1, 900.0);
    late.errors = vec![
        ErrorCount { kind: "pool-timeout".to_owned(), count: 150, example: None },
        ErrorCount { kind: "timeout".to_owned(), count: 50, example: Some("timeout".to_owned()) },
    ];
    late.failed_share = Some(0.1);
    let mut wrong = trial(2, 1000.0);
    wrong.server_answered += 1;
    wrong.disagreement = Some("the driver counts 2,100, the server 2,101".to_owned());
    let mut null = trial(1, 500_000.0);
    null.server_answered = 0;
    null.cpu_us_per_request = Some(1.5);
    Clients {
        format: FORMAT.to_owned(),
        heading: Heading {
            tool: Tool { name: "candor".to_owned(), version: "0.1.0".to_owned() },
            arguments: ["candor", "clients", "http-clients.toml"].map(str::to_owned).into(),
            name: "http-clients".to_owned(),
            about: "Client libraries.".to_owned(),
            file: "suites/http-clients.toml".to_owned(),
            started_at: "2026-01-01T00:00:00.000Z".to_owned(),
            host: Host { cpu: Some("Example CPU".to_owned()), ..Host::default() },
            cores: "server 0, drivers 1".to_owned(),
            rounds: 2,
            seed: 1,
            fingerprint: "f".to_owned(),
        },
        server: "beam/bin/target --server raw --scenario httpc_bench".to_owned(),
        asked: Asked {
            path: None,
            warm_up_ns: 1_000_000_000,
            duration_ns: 2_000_000_000,
            timeout_ns: 30_000_000_000,
            expect_status: 200,
            expect_body_bytes: Some(12),
        },
        pools: "concurrency + 1".to_owned(),
        clients: vec![
            client("httpc", Some("erlang-null")),
            client("gun", Some("erlang-null")),
            client("urllib3", None),
            client("erlang-null", None),
        ],
        cells: vec![
            cell("httpc", 4, vec![trial(1, 1000.0), trial(2, 1100.0)]),
            cell("httpc", 64, vec![late]),
            cell("gun", 4, vec![wrong.clone()]),
            cell("gun", 64, Vec::new()),
            cell("urllib3", 4, vec![trial(1, 20_444.0), wrong]),
            cell("erlang-null", 4, vec![null]),
        ],
        notes: vec![Note {
            what: "buoy".to_owned(),
            why: "candor driver: buoy is not installed".to_owned(),
        }],
        failures: vec![FailedTrial {
            trial: "gun pool 65 concurrency 64 round 1".to_owned(),
            why: "the driver ended by signal 9".to_owned(),
        }],
        complete: false,
    }
}
