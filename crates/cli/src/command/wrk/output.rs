//! What is printed, and when: the first two lines once the run goes on, periodic reports at the
//! end of each interval, the report at the end.

use std::net::IpAddr;

use candor_engine::Observer;
use candor_plan::Plan;
use candor_record::{Interval, IntervalSummary, RunRecord, Stretch, WorkerFigures};
use candor_report::render::wrk::json;
use candor_report::render::wrk::text::{self, Percentiles};
use candor_report::{Document, Facts};

use crate::console;
use crate::exit::Failure;

/// How a run is to be printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// As the fork's JSON object.
    pub(super) encoded: bool,
    /// A whole report for each interval of this length, instead of one at the end.
    pub(super) periodic_ns: Option<u64>,
    pub(super) percentiles: Percentiles,
}

/// What ends a periodic report in text.
const REPORT_END: &str = "=== REPORT END ===\n";

pub(super) struct Output<'a> {
    form: Form,
    facts: Facts,
    plan: &'a Plan,
    has_begun: bool,
    has_calibrated: bool,
    held: Option<Held>,
    /// The first thing that went wrong while printing; later ones would be the same.
    failure: Option<Failure>,
}

/// Intervals of the next periodic report: the last of the window waits for the drain.
struct Held {
    summaries: Vec<IntervalSummary>,
    total: Interval,
    workers: Vec<WorkerFigures>,
}

impl<'a> Output<'a> {
    pub(super) fn new(form: Form, facts: Facts, plan: &'a Plan) -> Self {
        Output {
            form,
            facts,
            plan,
            has_begun: false,
            has_calibrated: false,
            held: None,
            failure: None,
        }
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The run is over.
    pub(super) fn finish(mut self, document: &Document) -> Result<(), Failure> {
        if self.form.periodic_ns.is_none() {
            self.begin(document, true);
            self.report(document);
        } else if let Some(held) = self.held.take() {
            self.report_part(held);
        }
        self.failure.map_or(Ok(()), Err)
    }

    fn window_end_ns(&self) -> u64 {
        self.plan.stop.duration_ns.unwrap_or(u64::MAX)
    }

    fn document(&self, part: Held) -> Document {
        let asked = u64::from(self.plan.connections.count);
        let end_ns = self.window_end_ns();
        let record = RunRecord::of_part(part.summaries, part.total, end_ns, asked, part.workers);
        Document::new(&self.facts, self.plan, &record)
    }

    fn report_part(&mut self, part: Held) {
        let document = self.document(part);
        self.begin(&document, true);
        self.report(&document);
        if !self.form.encoded {
            self.print(REPORT_END);
        }
    }

    /// The lines before the first report, each once.
    fn begin(&mut self, document: &Document, before_report: bool) {
        if self.form.encoded {
            return;
        }
        if !self.has_begun {
            self.has_begun = true;
            self.print(&text::opening(document));
        }
        let is_calibrated = document.plan.load.is_open();
        if before_report && is_calibrated && !self.has_calibrated {
            self.has_calibrated = true;
            self.print(&text::calibration(document));
        }
    }

    fn report(&mut self, document: &Document) {
        let report = match self.form.encoded {
            true => json::report(document),
            false => text::report(document, self.form.percentiles),
        };
        match report {
            Ok(report) => self.print(&report),
            Err(error) => self.fail(Failure::could_not_run(error)),
        }
    }

    fn print(&mut self, text: &str) {
        if let Err(failure) = console::print(text) {
            self.fail(failure);
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }
}

impl Observer for Output<'_> {
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        console::public_target(host, addresses);
    }

    fn stretch(&mut self, stretch: &Stretch<'_>) {
        let Some(length_ns) = self.form.periodic_ns else {
            if !self.has_begun {
                let part = Held::of(stretch);
                self.begin(&self.document(part), false);
            }
            return;
        };
        let held = match self.held.take() {
            Some(held) => held.and(stretch),
            None => Held::of(stretch),
        };
        let summary = stretch.summary;
        let is_whole = summary.end_ns - summary.start_ns >= length_ns;
        if is_whole && summary.end_ns < self.window_end_ns() {
            self.report_part(held);
        } else {
            self.held = Some(held);
        }
    }
}

impl Held {
    fn of(stretch: &Stretch<'_>) -> Self {
        Held {
            summaries: vec![stretch.summary.clone()],
            total: stretch.interval.clone(),
            workers: stretch.workers.to_vec(),
        }
    }

    fn and(mut self, stretch: &Stretch<'_>) -> Self {
        self.summaries.push(stretch.summary.clone());
        self.total.merge_later(stretch.interval);
        self.workers = stretch.workers.to_vec();
        self
    }
}
