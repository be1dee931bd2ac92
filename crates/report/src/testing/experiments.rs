//! Documents of experiments for tests, one of each kind.

use crate::document::{Document, Host, Tool};
use crate::experiment::comparison as compared;
use crate::experiment::comparison::{
    Change, Comparison, Conclusion, Finding, Limit as SlowerLimit, Metric, Variant,
};
use crate::experiment::figures::{Figures, Percentiles};
use crate::experiment::matrix::{FailedTrial, Heading, Note};
use crate::experiment::peak::{
    Answer, Ceiling, Confidence, FORMAT, Limit, Peak, Phase, Repeated, Step, StepOutcome, Who,
};
use crate::experiment::suite as suites;
use crate::experiment::suite::{Cell, Kind, Load, Scenario, Server, Suite};
use crate::experiment::sweep::{Knee, Row, Sweep};
use crate::experiment::trial::{Subject, Trial};

/// A run like the healthy one, at another rate and with another latency.
fn run(rate_per_s: Option<f64>, achieved_per_s: f64, p99_ns: u64) -> Document {
    let mut document = super::healthy_open();
    document.rate.asked_per_s = rate_per_s;
    document.rate.achieved_per_s = Some(achieved_per_s);
    document.ledger.ok = (achieved_per_s * 3.0).ceil() as u64;
    (document.ledger.scheduled, document.ledger.sent) = (document.ledger.ok, document.ledger.ok);
    document.set_target(super::watched(), false);
    if rate_per_s.is_none() {
        document.plan.load = candor_plan::Load::Closed { think_time_ns: 0 };
    }
    for latency in [&mut document.latencies.response, &mut document.latencies.service] {
        latency.percentiles_ns.insert("p99".to_owned(), Some(p99_ns));
    }
    document
}

fn step(phase: Phase, rate_per_s: Option<f64>, p99_ns: u64, outcome: StepOutcome) -> Step {
    let document = run(rate_per_s, rate_per_s.unwrap_or(1000.0).min(1000.0), p99_ns);
    let met = (phase == Phase::Search || phase == Phase::Curve).then(|| outcome.is_met());
    let trials = vec![Trial { met, ..Trial::of("001-open".to_owned(), &document) }];
    Step { phase, connections: 16, rate_per_s, trials, judged: Vec::new(), outcome }
}

/// A search with a result.
pub fn sample_peak() -> Peak {
    let document = run(None, 1000.0, 1_000_000);
    Peak {
        format: FORMAT.to_owned(),
        tool: document.tool.clone(),
        arguments: vec!["candor".to_owned(), "peak".to_owned()],
        started_at: document.started_at.clone(),
        host: document.machines[0].host.clone(),
        subject: Subject::of(&document),
        plan: document.plan.clone(),
        objectives: vec!["p99 < 5ms".to_owned()],
        answer: Some(Answer {
            rate_per_s: 700.0,
            low_per_s: Some(700.0),
            high_per_s: Some(720.0),
            low_repeated: Some(Repeated { rate_per_s: 700.0, agreed: 12, of: 13 }),
            high_repeated: Some(Repeated { rate_per_s: 720.0, agreed: 8, of: 8 }),
            bracket_share: Some(0.028),
            confidence: Confidence::Good,
        }),
        sentences: vec![
            "700/s is the highest rate that meets p99 < 5ms.".to_owned(),
            "700/s met it in 12 of 13 runs, 720/s missed it in 8 of 8 runs; these are 2.8 % apart."
                .to_owned(),
        ],
        ceiling: Some(Ceiling {
            rate_per_s: 1000.0,
            low_per_s: 990.0,
            high_per_s: 1010.0,
            connections: 2,
            runs: 6,
        }),
        limit: Limit { who: Who::Target, why: "The target was the limit.".to_owned() },
        steps: vec![
            step(Phase::Confirm, None, 2_000_000, StepOutcome::Measured),
            step(Phase::Search, Some(1050.0), 90_000_000, StepOutcome::NotHeld),
            step(Phase::Search, Some(700.0), 4_900_000, StepOutcome::MetPerhaps),
            step(Phase::Search, Some(720.0), 5_300_000, StepOutcome::Missed),
            step(Phase::Curve, Some(175.0), 1_000_000, StepOutcome::Met),
        ],
        most_time_ns: Some(600_000_000_000),
        cannot_tell: None,
        partial: None,
    }
}

/// Two rates, one of which was not held.
pub fn sample_sweep() -> Sweep {
    let peak = sample_peak();
    let row = |fraction: f64, achieved_per_s: f64, p99s: [u64; 3]| {
        let trial = |(at, p99_ns): (usize, u64)| {
            let document = run(Some(fraction * 1000.0), achieved_per_s, p99_ns);
            let mut trial = Trial::of(format!("{at:03}-open"), &document);
            trial.held = achieved_per_s >= fraction * 990.0;
            trial
        };
        let mut row = Row {
            rate_per_s: fraction * 1000.0,
            fraction: Some(fraction),
            trials: p99s.into_iter().enumerate().map(trial).collect(),
            representative: None,
            saturated: false,
        };
        row.settle();
        row
    };
    Sweep {
        format: crate::experiment::sweep::FORMAT.to_owned(),
        tool: peak.tool,
        arguments: peak.arguments,
        started_at: peak.started_at,
        host: peak.host,
        subject: peak.subject,
        plan: peak.plan,
        peak_per_s: Some(1000.0),
        peak_from: Some("peak.json".to_owned()),
        rounds: 3,
        seed: 1,
        rows: vec![
            row(0.5, 500.0, [1_500_000, 1_400_000, 1_900_000]),
            row(0.95, 900.0, [9_500_000, 9_400_000, 9_900_000]),
        ],
        knee: Some(Knee {
            percentile: "p99".to_owned(),
            at_rest_ns: 1_500_000,
            low_per_s: 500.0,
            high_per_s: 950.0,
            rounds: 6,
        }),
        partial: None,
    }
}

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

/// Two variants in eight rounds.
pub fn sample_comparison() -> Comparison {
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
        broken: None,
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
        limit: Some(SlowerLimit {
            slower: 0.02,
            judgements: vec![crate::document::Judgement {
                expression: "new slower by at most 2 % in p99".to_owned(),
                outcome: crate::document::Outcome::NotMet,
                measured: Some(0.041),
                sentence:
                    "new slower by at most 2 % in p99: not met, new is slower by 2.90 … 5.60 %."
                        .to_owned(),
            }],
        }),
        noise: None,
        expectations: Vec::new(),
        partial: false,
        interrupted: false,
    }
}

/// Three servers, this many scenarios, at their peak and at three shares of it.
pub fn sample_suite(scenarios: usize) -> Suite {
    let servers = ["embedded", "nginx", "h2o"];
    let scenario = |n: usize| format!("scenario{n}");
    let trial = |rate: f64, p50_ns: u64| suites::Trial {
        round: 1,
        file: "trials/x.json".to_owned(),
        started_at: String::new(),
        figures: figures(rate, p50_ns),
        per_second: (0..10).map(|second| rate + f64::from(second)).collect(),
        utilization: Vec::new(),
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
                    refuses: false,
                    peak_per_s: of_peak.map(|_| rate),
                    rounds: None,
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
        format: suites::FORMAT.to_owned(),
        heading: Heading {
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
        },
        servers: servers
            .map(|name| Server {
                name: name.to_owned(),
                source: format!("{name} -p"),
                about: "1.0".to_owned(),
                announced: [("version".to_owned(), "1.0".to_owned())].into(),
            })
            .into(),
        scenarios: (0..scenarios)
            .map(|n| Scenario { name: scenario(n), about: "one".to_owned() })
            .collect(),
        loads: vec![load("closed", Vec::new()), load("open", vec![0.5, 0.75, 0.95])],
        cells,
        notes: vec![Note { what: "nginx, slow_client".to_owned(), why: "it cannot".to_owned() }],
        failures: vec![FailedTrial { trial: "nginx 1".to_owned(), why: "it ended".to_owned() }],
        complete: false,
    }
}

/// The board of three servers in two profiles, closed and at a rate, in three rounds: the first is the fastest and
/// takes the least CPU time, the next two are level, and the last one fails a profile.
pub fn sample_board() -> crate::experiment::board::Board {
    let mut suite = sample_suite(2);
    suite.heading.rounds = 3;
    suite.cells.retain(|cell| cell.of_peak.is_none());
    suite.cells.extend(
        suite
            .cells
            .clone()
            .into_iter()
            .filter(|one| one.scenario == "scenario0")
            .map(|cell| Cell { load: "fixed".to_owned(), ..cell }),
    );
    for cell in &mut suite.cells {
        let is_open = cell.load == "fixed";
        let is_first = cell.server == "embedded";
        let one = cell.trials[0].clone();
        cell.trials = (1..=3)
            .map(|round| {
                let mut trial = suites::Trial { round, ..one.clone() };
                let noise = 1.0 + 0.001 * ((round * 7 + cell.server.len() as u64) % 3) as f64;
                let figures = &mut trial.figures;
                figures.warnings.clear();
                figures.loader_cpu_share = Some(0.31);
                figures.target_cpu_us = Some(noise * if is_first { 10.0 } else { 20.0 });
                figures.rate_per_s = Some(noise * if is_first { 20_000.0 } else { 10_000.0 });
                if is_open {
                    figures.asked_per_s = Some(2000.0);
                    figures.rate_per_s = Some(1999.0);
                    figures.achieved_share = Some(0.9995);
                }
                if cell.server == "h2o" && cell.scenario == "scenario1" {
                    (figures.failed_share, figures.failures) =
                        (Some(0.2), "status 2000".to_owned());
                }
                trial
            })
            .collect();
        cell.settle();
    }
    suite.complete = true;
    suite.failures.clear();
    crate::findings::board(&suite)
}
