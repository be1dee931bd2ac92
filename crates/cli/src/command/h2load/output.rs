//! The output: the first lines at once, the protocol and the progress during the run, the summary
//! at the end.

use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use candor_engine::{Observer, collecting};
use candor_plan::Plan;
use candor_record::{Collector, Stretch, Traced};
use candor_render::h2load::text;
use candor_report::{Document, Facts};

use super::arguments::Asked;
use super::log_file::LogFile;
use crate::console::{self, Printer};
use crate::exit::UserError;

pub(super) struct Output<'a> {
    facts: Facts,
    plan: &'a Plan,
    log: Option<LogFile>,
    /// Whether to print the rate of each interval.
    has_rates: bool,
    /// Whether to plot the times.
    plots: bool,
    has_connected: bool,
    /// Completed requests, as last reported.
    done: u64,
    printer: Printer,
}

impl<'a> Output<'a> {
    pub(super) fn new(facts: Facts, plan: &'a Plan, log: Option<LogFile>, asked: &Asked) -> Self {
        let printer = Printer::default();
        let (has_rates, plots) = (asked.interval.is_some(), asked.histogram);
        Output { facts, plan, log, has_rates, plots, has_connected: false, done: 0, printer }
    }

    /// The lines before the run.
    pub(super) fn open(&mut self) {
        let document = self.document(None);
        self.printer.print(&text::opening(&document));
    }

    /// The run is over.
    pub(super) fn finish(mut self, document: &Document, dropped: u64) -> Result<(), UserError> {
        self.connected(document);
        self.progress(document, text::done(document));
        self.printer.print(&text::closing(document));
        self.printer.print_made(text::summary(document, self.plots));
        let logged = self.log.take().map_or(Ok(()), |log| log.finish(dropped));
        self.printer.finish().and(logged)
    }

    /// The document of one interval, or an empty one.
    fn document(&self, stretch: Option<&Stretch<'_>>) -> Document {
        let mut part = Collector::new(collecting(self.plan));
        stretch.into_iter().for_each(|stretch| part.follow(stretch, u64::MAX));
        Document::new(&self.facts, self.plan, &part.so_far())
    }

    /// The protocol, once it is known.
    fn connected(&mut self, document: &Document) {
        if !self.has_connected {
            self.has_connected = true;
            self.printer.print(&text::connected(document));
        }
    }

    fn progress(&mut self, document: &Document, done: u64) {
        let text = text::progress(document, self.done, done);
        self.done = done;
        self.printer.print(&text);
    }
}

impl Observer for Output<'_> {
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        console::public_target(host, addresses);
    }

    fn begins(&mut self, origin_monotonic_ns: u64) {
        if let Some(log) = &mut self.log {
            log.begins(origin_monotonic_ns);
        }
    }

    fn stretch(&mut self, stretch: &Stretch<'_>) {
        let document = self.document(Some(stretch));
        // If TLS decides the protocol, it is known from the handshakes, perhaps those of the
        // warm-up.
        if text::knows_what_is_spoken(&document) {
            self.connected(&document);
            self.progress(&document, self.done + text::done(&document));
        }
        let end_ns = self.plan.stop.duration_ns.map(|ns| ns + self.plan.recording.warm_up_ns);
        if self.has_rates && end_ns.is_some_and(|end_ns| stretch.summary.end_ns <= end_ns) {
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.printer.print(&text::rate(stretch.summary, since_1970.as_nanos()));
        }
    }

    fn traced(&mut self, requests: &[Traced]) {
        if let Some(log) = &mut self.log {
            log.write(requests);
        }
    }
}
