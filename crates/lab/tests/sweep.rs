//! Sweeps against simulated servers with known latencies.

mod common;

use candor_lab::sweep::{Asked, Settings, run};
use candor_lab::{LabError, Runner};
use candor_plan::{Arrivals, Load, Plan, Segment};
use candor_report::{Document, Facts};
use candor_testkit::sim::Fifo;
use common::{MS, S, Simulated, open, plan};

fn asked(rates: &[f64]) -> Vec<Asked> {
    let one = |&rate_per_s: &f64| Asked { rate_per_s, fraction: Some(rate_per_s / 1000.0) };
    rates.iter().map(one).collect()
}

/// Records the order of rates.
struct Noting<R>(R, Vec<u64>);

impl<R: Runner> Runner for Noting<R> {
    fn run(&mut self, variant: usize, plan: &Plan) -> Result<Document, LabError> {
        let Load::Open(open) = &plan.load else { panic!("not an open load") };
        let Some(Segment::Hold { rate, .. }) = open.segments.last() else { panic!("no rate") };
        self.1.push(rate.per_s_f64() as u64);
        self.0.run(variant, plan)
    }
}

#[test]
fn each_rate_has_its_rounds_in_random_order_and_its_row() {
    let plan = plan(5 * S).with(|parts| parts.load = open(Arrivals::Poisson)).unwrap();
    let settings = Settings {
        rates: asked(&[900.0, 500.0, 1500.0]),
        rounds: 4,
        peak: Some((1000.0, "peak.json".to_owned())),
    };
    let mut runner = Noting(Simulated::new(|| Fifo::new(MS)), Vec::new());
    let sweep = run(&plan, &settings, &Facts::default(), &mut runner, &mut ()).unwrap();
    assert_eq!(runner.1.len(), 12);
    let rounds: Vec<Vec<u64>> = runner.1.chunks(3).map(<[u64]>::to_vec).collect();
    for round in &rounds {
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [500, 900, 1500]);
    }
    assert!(rounds.iter().any(|round| *round != rounds[0]), "{rounds:?}");
    let rates: Vec<f64> = sweep.rows.iter().map(|row| row.rate_per_s).collect();
    assert_eq!(rates, [500.0, 900.0, 1500.0]);
    let saturated: Vec<bool> = sweep.rows.iter().map(|row| row.saturated).collect();
    assert_eq!(saturated, [false, false, true]);
    assert_eq!(sweep.rows[1].fraction, Some(0.9));
    assert_eq!(sweep.peak_per_s, Some(1000.0));
    let p99 = |at: usize| sweep.rows[at].shown().unwrap().figures.response.p99_ns.unwrap();
    assert!(p99(0) < p99(1) && p99(1) < p99(2));
    // The same seed gives the same order.
    let mut again = Noting(Simulated::new(|| Fifo::new(MS)), Vec::new());
    run(&plan, &settings, &Facts::default(), &mut again, &mut ()).unwrap();
    assert_eq!(again.1, runner.1);
}

#[test]
fn the_row_is_the_middle_run_by_p99() {
    let plan = plan(2 * S).with(|parts| parts.load = open(Arrivals::Poisson)).unwrap();
    let settings = Settings { rates: asked(&[800.0]), rounds: 5, peak: None };
    let mut server = Simulated::new(|| Fifo::new(MS));
    let sweep = run(&plan, &settings, &Facts::default(), &mut server, &mut ()).unwrap();
    let p99 = |trial: &candor_report::experiment::trial::Trial| trial.figures.response.p99_ns;
    let mut all: Vec<_> = sweep.rows[0].trials.iter().map(p99).collect();
    all.sort_unstable();
    assert_eq!(p99(sweep.rows[0].shown().unwrap()), all[2]);
}
