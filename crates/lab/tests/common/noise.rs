//! Machines whose noise differs from run to run, and a runner that makes documents of such runs at once: figures are
//! computed, and requests are not simulated.

use candor_lab::{LabError, Runner};
use candor_plan::{Load, Plan, Segment};
use candor_report::Document;
use candor_stats::bootstrap::Random;
use candor_testkit::sim::Fifo;

use super::{MS, S, Simulated, plan};

/// What disturbs a machine.
pub(crate) const KINDS: [&str; 5] = ["quiet", "wandering", "bursts", "pauses", "drift"];

/// The capacity of a machine, as a share, in one run after the other.
pub(crate) struct Machine {
    kind: &'static str,
    random: Random,
    wander: f64,
    is_busy: bool,
    runs: u32,
}

impl Machine {
    pub(crate) fn new(kind: &'static str, seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9));
        let (wander, is_busy) = (0.05 * random.normal(), random.unit() < 0.25);
        Machine { kind, random, wander, is_busy, runs: 0 }
    }

    pub(crate) fn next(&mut self) -> f64 {
        let random = &mut self.random;
        self.runs += 1;
        let own = 0.005 * random.normal();
        let noise = match self.kind {
            // Deviation 5 %, correlation 0.8 from run to run.
            "wandering" => {
                self.wander = 0.8 * self.wander + 0.05 * 0.6 * random.normal();
                self.wander
            }
            // A neighbour takes 30 %, for two runs of eight on average.
            "bursts" => {
                self.is_busy = random.unit() < if self.is_busy { 0.5 } else { 1.0 / 6.0 };
                if self.is_busy { 0.7f64.ln() } else { 0.0 }
            }
            // One run in five is slower by any amount.
            "pauses" if random.unit() < 0.2 => 0.1 * random.unit().ln(),
            // 0.2 % a run.
            "drift" => -0.002 * f64::from(self.runs),
            _ => 0.0,
        };
        (own + noise).exp()
    }

    /// The median of the capacity; of a drift after so many runs.
    pub(crate) fn median(kind: &'static str, after: u32) -> f64 {
        if kind == "drift" {
            return (-0.002 * f64::from(after)).exp();
        }
        let mut machine = Machine::new(kind, 7);
        let mut all: Vec<f64> = (0..50_000).map(|_| machine.next()).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }
}

/// Makes documents: a run that was simulated once, with other figures.
pub(crate) struct Computed<F> {
    template: Document,
    elapsed_ns: u64,
    pub(crate) runs: u32,
    /// Throughput and p99 from the rate that is asked for, if any, and the connections.
    figures: F,
}

impl<F: FnMut(Option<f64>, u32) -> (f64, u64)> Computed<F> {
    pub(crate) fn new(figures: F) -> Self {
        let short = plan(S / 2);
        let template = Simulated::new(|| Fifo::new(MS)).run(0, &short).expect("a run");
        Computed { template, elapsed_ns: 0, runs: 0, figures }
    }
}

impl<F: FnMut(Option<f64>, u32) -> (f64, u64)> Runner for Computed<F> {
    fn run(&mut self, _: usize, plan: &Plan) -> Result<Document, LabError> {
        let asked = match &plan.load {
            Load::Closed { .. } => None,
            Load::Open(open) => open.segments.last().and_then(|segment| match segment {
                Segment::Hold { rate, .. } => Some(rate.per_s_f64()),
                _ => None,
            }),
        };
        self.runs += 1;
        self.elapsed_ns += plan.recording.warm_up_ns + plan.stop.duration_ns.unwrap_or(S);
        let (rate_per_s, p99_ns) = (self.figures)(asked, plan.connections.count);
        let mut document = self.template.clone();
        document.rate.asked_per_s = asked;
        document.rate.achieved_per_s = Some(rate_per_s);
        let window_s = document.time.window_ns as f64 / 1e9;
        document.ledger.ok = (rate_per_s * window_s).ceil() as u64 + 1;
        document.latencies.response.percentiles_ns.insert("p99".to_owned(), Some(p99_ns));
        Ok(document)
    }

    fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }
}
