//! Simulated servers behind the lab's `Runner`: whole runs on a simulated clock.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod noise;

use candor_engine::{Control, drive};
use candor_lab::{LabError, Runner};
use candor_plan::options::{Options, ReadFile};
use candor_plan::{Arrivals, Load, OpenLoad, Pacing, Plan, Rate, Segment};
use candor_report::{Document, Facts};
use candor_testkit::sim::{Link, SimReactor, SimServer};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000_000_000;

/// A runner over simulated servers, a fresh one for each run.
pub(crate) struct Simulated<F> {
    server: F,
    elapsed_ns: u64,
}

impl<F: FnMut() -> V, V: SimServer> Simulated<F> {
    pub(crate) fn new(server: F) -> Self {
        Simulated { server, elapsed_ns: 0 }
    }
}

impl<F: FnMut() -> V, V: SimServer> Runner for Simulated<F> {
    fn run(&mut self, _variant: usize, plan: &Plan) -> Result<Document, LabError> {
        let reactor = SimReactor::new((self.server)(), Link::default());
        let record = drive(plan, reactor, &Control::default());
        self.elapsed_ns += plan.recording.warm_up_ns + plan.stop.duration_ns.unwrap_or(S);
        Ok(Document::new(&Facts::default(), plan, &record))
    }

    fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }
}

struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, _: &std::path::Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::Error::other("no files here"))
    }
}

/// A plan of runs of this length.
pub(crate) fn plan(duration_ns: u64) -> Plan {
    let options = Options { url: Some("http://127.0.0.1/".to_owned()), ..Options::default() };
    let (plan, _) = options.build(&NoFiles).expect("a plan");
    let plan = plan.with(|parts| {
        parts.stop.duration_ns = Some(duration_ns);
        parts.threads.count = Some(1);
        parts.threads.pin = false;
        parts.threads.pacing = Pacing::Sleep;
    });
    plan.expect("a plan")
}

/// An open load with these arrivals, at a rate that the experiment replaces.
pub(crate) fn open(arrivals: Arrivals) -> Load {
    let segments = vec![Segment::Hold { rate: Rate::per_second(1), duration_ns: None }];
    Load::Open(OpenLoad { segments, arrivals, shed_after_ns: None })
}
