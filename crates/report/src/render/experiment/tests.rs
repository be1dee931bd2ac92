//! Peaks and sweeps as they are printed, against files.

use super::{peak, sweep};
use crate::document::Document;
use crate::document::plan::LoadKind;
use crate::experiment::peak::{
    Answer, Ceiling, Confidence, FORMAT, Knee, Limit, Peak, Phase, Step, StepOutcome, Who,
};
use crate::experiment::sweep::{Row, Sweep};
use crate::experiment::trial::{Subject, Trial};
use crate::testing;

/// A run of the healthy one's kind at another rate and with another latency.
fn run(rate_per_s: Option<f64>, achieved_per_s: f64, p99_ns: u64) -> Document {
    let mut document = testing::healthy_open();
    document.rate.asked_per_s = rate_per_s;
    document.rate.achieved_per_s = Some(achieved_per_s);
    document.ledger.ok = (achieved_per_s * 3.0).ceil() as u64;
    (document.ledger.scheduled, document.ledger.sent) = (document.ledger.ok, document.ledger.ok);
    document.set_target(testing::watched(), false);
    if rate_per_s.is_none() {
        document.plan.load.kind = LoadKind::Closed;
    }
    for latency in [&mut document.latencies.response, &mut document.latencies.service] {
        latency.percentiles_ns.insert("p99".to_owned(), Some(p99_ns));
    }
    document
}

fn step(phase: Phase, rate_per_s: Option<f64>, p99_ns: u64, outcome: StepOutcome) -> Step {
    let document = run(rate_per_s, rate_per_s.unwrap_or(1000.0).min(1000.0), p99_ns);
    let trials = vec![Trial::of("001-open".to_owned(), &document)];
    Step { phase, connections: 16, rate_per_s, trials, judged: Vec::new(), outcome }
}

pub(in crate::render) fn sample_peak() -> Peak {
    let document = run(None, 1000.0, 1_000_000);
    Peak {
        format: FORMAT.to_owned(),
        tool: document.tool.clone(),
        arguments: vec!["candor".to_owned(), "peak".to_owned()],
        started_at: document.started_at.clone(),
        host: document.host.clone(),
        subject: Subject::of(&document),
        plan: document.plan.clone(),
        objectives: vec!["p99 < 5ms".to_owned()],
        answer: Some(Answer {
            rate_per_s: 700.0,
            low_per_s: Some(690.0),
            high_per_s: Some(720.0),
            bracket_share: Some(0.014),
            confidence: Confidence::Good,
        }),
        sentences: vec!["700/s is the highest rate that meets p99 < 5ms.".to_owned()],
        ceiling: Some(Ceiling {
            rate_per_s: 1000.0,
            low_per_s: 990.0,
            high_per_s: 1010.0,
            connections: 2,
        }),
        limit: Limit { who: Who::Target, why: "The target was the limit.".to_owned() },
        knee: Some(Knee { rate_per_s: 400.0, percentile: "p99".to_owned(), at_rest_ns: 1_000_000 }),
        steps: vec![
            step(Phase::Confirm, None, 2_000_000, StepOutcome::Measured),
            step(Phase::Search, Some(1050.0), 90_000_000, StepOutcome::NotHeld),
            step(Phase::Search, Some(700.0), 4_900_000, StepOutcome::MetPerhaps),
            step(Phase::Search, Some(720.0), 5_300_000, StepOutcome::Missed),
            step(Phase::Curve, Some(175.0), 1_000_000, StepOutcome::Met),
        ],
        partial: None,
    }
}

pub(in crate::render) fn sample_sweep() -> Sweep {
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
        partial: None,
    }
}

#[test]
fn a_peak_in_all_forms() {
    let peak = sample_peak();
    testing::golden("golden/peak.txt", &peak::text(&peak));
    testing::golden("golden/peak.md", &peak::markdown(&peak));
    testing::golden("golden/peak.csv", &peak::csv(&peak));
    let json = crate::render::json::any(&peak);
    assert_eq!(Peak::from_json(&json).unwrap(), peak);
    assert!(Sweep::from_json(&json).unwrap_err().to_string().contains("candor.peak/1"));
    assert!(Peak::from_json("{}").is_err() && Peak::from_json("x").is_err());
}

#[test]
fn a_sweep_in_all_forms() {
    let sweep = sample_sweep();
    assert_eq!(sweep.rows[0].representative, Some(0), "1.5 ms is between 1.4 and 1.9");
    assert!(sweep.rows[1].saturated && !sweep.rows[0].saturated);
    testing::golden("golden/sweep.txt", &sweep::text(&sweep));
    testing::golden("golden/sweep.md", &sweep::markdown(&sweep));
    testing::golden("golden/sweep.csv", &sweep::csv(&sweep));
    assert_eq!(Sweep::from_json(&crate::render::json::any(&sweep)).unwrap(), sweep);
}

#[test]
fn every_row_of_a_csv_has_as_many_fields_as_its_head() {
    for text in [peak::csv(&sample_peak()), sweep::csv(&sample_sweep())] {
        let fields = |line: &str| line.split(',').count();
        let head = fields(text.lines().next().unwrap());
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| fields(line) == head), "{text}");
    }
}
