//! The output: the first two lines after the start, periodic reports at the end of each interval,
//! the report at the end.

use std::net::IpAddr;

use candor_engine::{Observer, collecting};
use candor_plan::Plan;
use candor_record::{Collector, Stretch};
use candor_render::wrk::json::{self, HistFormat};
use candor_render::wrk::text::{self, Percentiles};
use candor_report::{Document, Facts};

use crate::console::{self, Printer};
use crate::exit::UserError;

/// The form of the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// As the fork's JSON object.
    pub(super) encoded: bool,
    /// Of the object's histogram.
    pub(super) hist_format: HistFormat,
    /// A whole report for each interval of this length, instead of one at the end.
    pub(super) periodic_ns: Option<u64>,
    pub(super) percentiles: Percentiles,
}

/// The end of a periodic report in text.
const REPORT_END: &str = "=== REPORT END ===\n";

pub(super) struct Output<'a> {
    form: Form,
    facts: Facts,
    plan: &'a Plan,
    has_begun: bool,
    has_calibrated: bool,
    /// The next periodic report: the last one of the window waits for the drain.
    held: Option<Collector>,
    printer: Printer,
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
            printer: Printer::default(),
        }
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The run is over.
    pub(super) fn finish(mut self, document: &Document) -> Result<(), UserError> {
        if self.form.periodic_ns.is_none() {
            self.begin(document, true);
            self.report(document);
        } else if let Some(held) = self.held.take() {
            self.report_part(held);
        }
        self.printer.finish()
    }

    fn window_end_ns(&self) -> u64 {
        self.plan.stop.duration_ns.unwrap_or(u64::MAX)
    }

    /// Merges `held` with the interval that follows.
    fn and(&self, held: Option<Collector>, stretch: &Stretch<'_>) -> Collector {
        let mut held = held.unwrap_or_else(|| Collector::new(collecting(self.plan)));
        held.follow(stretch, self.window_end_ns());
        held
    }

    fn document(&self, part: Collector) -> Document {
        Document::new(&self.facts, self.plan, &part.so_far())
    }

    fn report_part(&mut self, part: Collector) {
        let document = self.document(part);
        self.begin(&document, true);
        self.report(&document);
        if !self.form.encoded {
            self.printer.print(REPORT_END);
        }
    }

    /// Prints the lines before the first report, each once.
    fn begin(&mut self, document: &Document, before_report: bool) {
        if self.form.encoded {
            return;
        }
        if !self.has_begun {
            self.has_begun = true;
            self.printer.print(&text::opening(document));
        }
        let is_calibrated = document.plan.load.is_open();
        if before_report && is_calibrated && !self.has_calibrated {
            self.has_calibrated = true;
            self.printer.print(&text::calibration(document));
        }
    }

    fn report(&mut self, document: &Document) {
        self.printer.print_made(match self.form.encoded {
            true => json::report(document, self.form.hist_format),
            false => text::report(document, self.form.percentiles),
        });
    }
}

impl Observer for Output<'_> {
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        console::public_target(host, addresses);
    }

    fn stretch(&mut self, stretch: &Stretch<'_>) {
        let Some(length_ns) = self.form.periodic_ns else {
            if !self.has_begun {
                let part = self.and(None, stretch);
                self.begin(&self.document(part), false);
            }
            return;
        };
        let held = self.held.take();
        let held = self.and(held, stretch);
        let summary = stretch.summary;
        let is_whole = summary.end_ns - summary.start_ns >= length_ns;
        if is_whole && summary.end_ns < self.window_end_ns() {
            self.report_part(held);
        } else {
            self.held = Some(held);
        }
    }
}
