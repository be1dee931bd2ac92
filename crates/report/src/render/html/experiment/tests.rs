//! Pages of experiments, and of experiments that are full of text that wants to be more than text.

use super::super::poison::{self, PAYLOADS, parsed, readable};
use super::{clients, comparison, peak, suite, sweep};
use crate::document::{Host, Tool};
use crate::experiment::comparison as compared;
use crate::experiment::comparison::{
    Change, Comparison, Conclusion, Finding, Limit, Metric, Variant,
};
use crate::experiment::figures::{Figures, Percentiles};
use crate::experiment::suite::{Cell, Failure, Kind, Load, Note, Scenario, Server, Suite, Trial};
use crate::render::experiment::clients::tests::sample as sample_clients;
use crate::render::experiment::tests::{sample_peak, sample_sweep};
use crate::testing;

fn percentiles(p50_ns: u64) -> Percentiles {
    Percentiles {
        p50_ns: Some(p50_ns),
        p90_ns: Some(p50_ns * 3),
        p99_ns: Some(p50_ns * 8),
        max_ns: Some(p50_ns * 20),
        ..Percentiles::default()
    }
}

fn figures(rate_per_s: f64, p50_ns: u64) -> Figures {
    Figures {
        rate_per_s: Some(rate_per_s),
        failed_share: Some(0.0),
        response: percentiles(p50_ns),
        service: percentiles(p50_ns / 2),
        target_cpu_share: Some(0.9),
        rss_peak_bytes: Some(20_000_000),
        warnings: vec!["loader-cpu".to_owned()],
        ..Figures::default()
    }
}

fn tool() -> Tool {
    Tool { name: "candor".to_owned(), version: "0.1.0".to_owned() }
}

fn arguments() -> Vec<String> {
    ["candor", "compare", "a", "b"].map(str::to_owned).into()
}

fn sample_comparison() -> Comparison {
    let variant = |name: &str, rate: f64| Variant {
        name: name.to_owned(),
        source: format!("http://{name}/"),
        trials: (1..=8)
            .map(|round| compared::Trial {
                round,
                position: 1,
                file: Some(format!("{name}.{round}.json")),
                started_unix_ms: 0,
                figures: figures(rate + round as f64, 1_000_000 + round * 10_000),
            })
            .collect(),
    };
    let finding = |metric, change: f64, conclusion| Finding {
        variant: 1,
        metric,
        primary: metric == Metric::P99,
        rounds: 8,
        baseline: Some(2_000_000.0),
        value: Some(2_000_000.0 * (1.0 + change)),
        change: Some(Change { estimate: change, low: change - 0.012, high: change + 0.015 }),
        effect: Some(1.0),
        higher_in: Some(8),
        p: Some(0.004),
        p_adjusted: Some(0.004),
        conclusion,
    };
    Comparison {
        format: compared::FORMAT.to_owned(),
        tool: tool(),
        arguments: arguments(),
        started_at: "2026-01-01T00:00:00.000Z".to_owned(),
        host: Host { cpu: Some("Example CPU".to_owned()), ..Host::default() },
        load: "open load, 1,000/s constant".to_owned(),
        variants: vec![variant("old", 1000.0), variant("new", 1000.0)],
        interleaved: true,
        rounds_asked: 8,
        confidence: 0.95,
        seed: 1,
        primary: Metric::P99,
        rounds_needed: 6,
        findings: vec![
            finding(Metric::Rate, -0.001, Conclusion::Noise),
            finding(Metric::P99, 0.041, Conclusion::Worse),
        ],
        cautions: vec!["the runs of old have warnings: loader-cpu in 3 of 8".to_owned()],
        limit: Some(Limit { slower: 0.02, exceeded: true }),
        partial: false,
    }
}

/// Three servers, so many scenarios, at their peak and at three shares of it.
fn sample_suite(scenarios: usize) -> Suite {
    let servers = ["embedded", "nginx", "h2o"];
    let scenario = |n: usize| format!("scenario{n}");
    let trial = |rate: f64, p50_ns: u64| Trial {
        round: 1,
        file: "trials/x.json".to_owned(),
        started_at: String::new(),
        figures: figures(rate, p50_ns),
        per_second: (0..10).map(|second| rate + f64::from(second)).collect(),
        kinds: vec![Kind {
            name: "GET /".to_owned(),
            ok: 5,
            p50_ns: Some(p50_ns),
            p99_ns: Some(p50_ns * 8),
        }],
    };
    let mut cells = Vec::new();
    for n in 0..scenarios {
        for (at, server) in servers.iter().enumerate() {
            for of_peak in [None, Some(0.5), Some(0.75), Some(0.95)] {
                let rate = 10_000.0 * (at + 1) as f64;
                let p50_ns = (100_000.0 / (1.0 - of_peak.unwrap_or(0.99))) as u64;
                let mut cell = Cell {
                    server: (*server).to_owned(),
                    scenario: scenario(n),
                    protocol: "h1".to_owned(),
                    load: of_peak.map_or("closed", |_| "open").to_owned(),
                    of_peak,
                    peak_per_s: of_peak.map(|_| rate),
                    trials: vec![trial(rate * of_peak.unwrap_or(1.0), p50_ns)],
                    representative: None,
                    spread: None,
                };
                cell.settle();
                cells.push(cell);
            }
        }
    }
    let load = |name: &str, of_peak: Vec<f64>| Load {
        name: name.to_owned(),
        about: format!("{name} load"),
        of_peak,
    };
    Suite {
        format: crate::experiment::suite::FORMAT.to_owned(),
        tool: tool(),
        arguments: arguments(),
        name: "main".to_owned(),
        about: "The main set.".to_owned(),
        file: "suites/main.toml".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        host: Host { cpu: Some("Example CPU".to_owned()), ..Host::default() },
        cores: "targets on 0, loader on 1".to_owned(),
        rounds: 1,
        seed: 1,
        fingerprint: "f".to_owned(),
        servers: servers
            .map(|name| Server {
                name: name.to_owned(),
                source: format!("{name} -p"),
                about: "1.0".to_owned(),
            })
            .into(),
        scenarios: (0..scenarios)
            .map(|n| Scenario { name: scenario(n), about: "one".to_owned() })
            .collect(),
        loads: vec![load("closed", Vec::new()), load("open", vec![0.5, 0.75, 0.95])],
        cells,
        notes: vec![Note { what: "nginx, slow_client".to_owned(), why: "it cannot".to_owned() }],
        failures: vec![Failure { trial: "nginx 1".to_owned(), why: "it ended".to_owned() }],
        complete: false,
    }
}

#[test]
fn the_pages() {
    for (name, page) in [
        ("peak", peak::render(&sample_peak())),
        ("sweep", sweep::render(&sample_sweep())),
        ("comparison", comparison::render(&sample_comparison())),
        ("suite", suite::render(&sample_suite(1))),
        ("clients", clients::render(&sample_clients())),
    ] {
        testing::golden(&format!("golden/{name}.html"), &readable(&page));
        let ids: Vec<&str> =
            page.split(" id=\"").skip(1).map(|rest| &rest[..rest.find('"').unwrap()]).collect();
        let once: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(once.len(), ids.len(), "{name}: {ids:?}");
        assert!(parsed(&page).data.len() > 1, "{name}: no charts");
    }
}

/// All 42 scenarios of the seed on three servers.
#[test]
fn the_page_of_a_large_suite_is_not_large() {
    let page = suite::render(&sample_suite(42));
    assert!(page.len() < 600_000, "{}", page.len());
    assert!(page.contains("30 more combinations"), "no word of what has no chart");
}

#[test]
fn nothing_was_found_and_there_is_a_page() {
    let peak = crate::experiment::peak::Peak {
        answer: None,
        ceiling: None,
        knee: None,
        steps: Vec::new(),
        ..sample_peak()
    };
    assert!(peak::render(&peak).contains("NO ANSWER"));
    let sweep = crate::experiment::sweep::Sweep {
        rows: Vec::new(),
        partial: Some("interrupted".to_owned()),
        ..sample_sweep()
    };
    assert!(sweep::render(&sweep).contains("NOT DONE"));
    let comparison =
        Comparison { findings: Vec::new(), variants: Vec::new(), ..sample_comparison() };
    assert!(!comparison::render(&comparison).is_empty());
    let suite = Suite { cells: Vec::new(), ..sample_suite(1) };
    assert!(suite::render(&suite).contains("NOT COMPLETE"));
    let nobody = crate::experiment::clients::Clients {
        cells: Vec::new(),
        clients: Vec::new(),
        ..sample_clients()
    };
    assert!(clients::render(&nobody).contains("NOT COMPLETE"));
}

#[test]
fn payloads_stay_text() {
    poison::check(&sample_peak(), peak::render, &PAYLOADS);
    poison::check(&sample_sweep(), sweep::render, &PAYLOADS);
    poison::check(&sample_comparison(), comparison::render, &PAYLOADS);
    poison::check(&sample_suite(1), suite::render, &PAYLOADS);
    poison::check(&sample_clients(), clients::render, &PAYLOADS);
}
