//! Outputs: the files and streams to which a run is written, during the run and at its end.
//!
//! Each is a value with the trait [`Output`], in a list; [`KINDS`] is the table of kinds. An output
//! that writes during the run uses a [`Sink`](sink::Sink), so that it can block neither the
//! collecting thread nor a worker.

mod abort;
mod following;
mod live;
mod metrics;
mod sink;
mod trace;
mod whole;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use candor_engine::Observer;
use candor_lab::Interrupt;
use candor_lab::watch::Watcher;
use candor_plan::redact::refused;
use candor_plan::watch::Watch;
use candor_plan::{Out, Place, Plan, Tag};
use candor_record::{RunRecord, Stretch, Traced};
use candor_render::ci::{self, Checks};
use candor_render::{Depth, Page, compose, csv, hgrm, hlog};
use candor_report::document::Judgement;
use candor_report::document::watched::Watched;
use candor_report::json;
use candor_report::{AbortRule, Document, Facts};

pub(crate) use whole::{check_paths, write};

use crate::console;
use crate::exit::UserError;
use crate::show::Show;
use abort::Abort;
use following::Following;
use metrics::prometheus::Lingering;

/// An output of a run.
pub(crate) trait Output {
    /// An interval is over.
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        let _ = stretch;
    }

    /// Requests were traced.
    fn traced(&mut self, requests: &[Traced]) {
        let _ = requests;
    }

    /// The run is over: enters the fate of this output into the record, before there is a document.
    fn settle(&mut self, record: &mut RunRecord) {
        let _ = record;
    }

    /// What is left to wait for when everything else of the run is done.
    fn lingering(&self) -> Option<Lingering> {
        None
    }

    /// Writes the rest.
    fn end(self: Box<Self>, document: &Document) -> Result<(), UserError>;

    /// The run did not happen: removes the output.
    fn discard(self: Box<Self>) {}
}

/// The inputs for making an output.
struct Making<'a> {
    place: &'a Place,
    plan: &'a Plan,
    facts: &'a Facts,
    /// Of metrics.
    tags: &'a [Tag],
    linger_ns: Option<u64>,
}

/// One kind of output.
struct Kind {
    name: &'static str,
    make: fn(&Making<'_>) -> Result<Box<dyn Output>, UserError>,
}

/// Every kind but the forms of checks, which are in [`ci::FORMS`]. Outputs written at the end of a run are renderings of
/// its document.
const KINDS: &[Kind] = &[
    Kind { name: "json", make: |to| whole::make(to.place, |document| Ok(json::render(document))) },
    Kind { name: "csv", make: |to| whole::make(to.place, |document| Ok(csv::run(document))) },
    Kind {
        name: "csv-steps",
        make: |to| whole::make(to.place, |document| Ok(csv::steps(document))),
    },
    Kind { name: "html", make: |to| whole::make(to.place, |document| Ok(page(document).html())) },
    Kind {
        name: "markdown",
        make: |to| whole::make(to.place, |document| Ok(page(document).markdown())),
    },
    Kind { name: "hgrm", make: |to| whole::make(to.place, hgrm::response) },
    Kind { name: "hgrm-service", make: |to| whole::make(to.place, hgrm::service) },
    Kind { name: "hlog", make: |to| whole::make(to.place, |document| Ok(hlog::render(document))) },
    Kind { name: "ndjson", make: live::make },
    Kind { name: metrics::prometheus::NAME, make: metrics::prometheus::make },
    Kind { name: metrics::remote_write::NAME, make: metrics::remote_write::make },
    Kind { name: metrics::remote_write::NAME_2, make: metrics::remote_write::make_2 },
    Kind { name: metrics::otlp::NAME, make: metrics::otlp::make },
    Kind { name: metrics::otlp::NAME_GRPC, make: metrics::otlp::make_grpc },
    Kind { name: metrics::influx::NAME, make: metrics::influx::make },
    Kind { name: metrics::statsd::NAME, make: metrics::statsd::make },
    Kind { name: Out::TRACE, make: trace::make },
];

fn page(document: &Document) -> Page {
    compose::run(document, Depth::Full)
}

/// The outputs of runs, and their progress display.
#[derive(Default)]
pub(crate) struct Outputs {
    show: Show,
    /// The record of a run that is judged while it is shown.
    shown: Option<Following>,
    /// Conditions that end the run.
    abort: Option<Abort>,
    /// Figures of the server's own.
    watcher: Option<Watcher>,
    list: Vec<Box<dyn Output>>,
}

impl Outputs {
    /// No outputs, only the progress display.
    pub(crate) fn shown(show: Show) -> Self {
        Outputs { show, shown: None, abort: None, watcher: None, list: Vec::new() }
    }

    /// The outputs of a run of `plan`. Refuses an output that cannot be written, before anything is
    /// sent.
    pub(crate) fn open(
        asked: &candor_plan::Outputs,
        plan: &Plan,
        facts: &Facts,
    ) -> Result<Self, UserError> {
        let checks = ci::FORMS.iter().map(|(name, _)| *name);
        check(&asked.list, KINDS.iter().map(|kind| kind.name).chain(checks))?;
        metrics::check(asked)?;
        let (tags, linger_ns) = (&asked.tags, asked.linger_ns);
        let mut outputs = Outputs::default();
        for out in &asked.list {
            let made = match KINDS.iter().find(|kind| kind.name == out.kind) {
                Some(kind) => {
                    (kind.make)(&Making { place: &out.place, plan, facts, tags, linger_ns })
                }
                None => {
                    let form = out.kind.clone();
                    let checks = move |one: &Document| {
                        Ok(Checks::of_run(one).in_form(&form).unwrap_or_default())
                    };
                    whole::make(&out.place, checks)
                }
            };
            match made {
                Ok(output) => outputs.list.push(output),
                Err(failure) => return Err(failure),
            }
        }
        Ok(outputs)
    }

    /// Adds the progress display to the outputs of a run of `plan`.
    pub(crate) fn show(mut self, show: Show, plan: &Plan) -> Self {
        self.shown = show.wants_records().then(|| Following::new(plan));
        self.show = show;
        self
    }

    /// Stops the run of `interrupt` when one of these conditions holds.
    pub(crate) fn abort_if(mut self, rules: Vec<AbortRule>, interrupt: Arc<Interrupt>) -> Self {
        self.abort = (!rules.is_empty()).then(|| Abort::new(rules, interrupt));
        self
    }

    /// Asks for these figures at the end of each interval.
    pub(crate) fn watch(mut self, asked: &[Watch]) -> Result<Self, UserError> {
        let failed = |why| UserError::could_not_run(format!("cannot start a thread: {why}"));
        self.watcher = match asked {
            [] => None,
            asked => Some(Watcher::start(asked, &console::hidden()).map_err(failed)?),
        };
        Ok(self)
    }

    /// The figures that were asked for. What is missing of them is said.
    pub(crate) fn watched(&mut self) -> Vec<Watched> {
        let watched = self.watcher.take().map_or(Vec::new(), Watcher::end);
        for one in watched.iter().filter(|one| one.missing > 0) {
            let (missing, why) = (one.missing, one.why.as_deref().unwrap_or_default());
            let all = one.samples.len() as u64 + missing;
            console::say(format_args!(
                "candor: --watch {}: {missing} of {all} values are missing: {why}",
                one.query
            ));
        }
        watched
    }

    /// The condition that stopped the run. Those that could not stop it are said.
    pub(crate) fn aborted(&mut self) -> Option<Judgement> {
        let abort = self.abort.as_mut()?;
        let why = abort.take_why();
        for condition in abort.unjudged().filter(|_| why.is_none()) {
            console::say(format_args!(
                "candor: --abort-if '{condition}' was never judged: no interval had responses enough for this figure; use a \
                 longer --interval, or max"
            ));
        }
        why
    }

    /// The run is over, and this is its record.
    pub(crate) fn settle(&mut self, record: &mut RunRecord) {
        self.hide();
        self.list.iter_mut().for_each(|one| one.settle(record));
    }

    /// What is left to wait for when everything else of the run is done.
    pub(crate) fn lingering(&self) -> Vec<Lingering> {
        self.list.iter().filter_map(|one| one.lingering()).collect()
    }

    /// Writes all of them, even if some fail; returns the first failure, and says the others.
    pub(crate) fn end(mut self, document: &Document) -> Result<(), UserError> {
        let ended = std::mem::take(&mut self.list).into_iter();
        let failed: Vec<_> = ended.filter_map(|one| one.end(document).err()).collect();
        let mut failed = failed.into_iter();
        let first = failed.next();
        failed.for_each(|other| console::say(format_args!("candor: {other}")));
        first.map_or(Ok(()), Err)
    }

    /// Ends the progress display.
    pub(crate) fn hide(&mut self) {
        self.show.end();
    }
}

impl Drop for Outputs {
    /// Outputs that were not ended are of a run that did not happen. After a panic they stay.
    fn drop(&mut self) {
        self.hide();
        if !thread::panicking() {
            std::mem::take(&mut self.list).into_iter().for_each(Output::discard);
        }
    }
}

impl Observer for Outputs {
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        if let Some(said) = console::public_target(host, addresses) {
            self.show.notice(&said);
        }
    }

    fn leaves_out(&mut self, file: &Path, lines: u64) {
        let said = console::lines_left_out(file, lines);
        self.show.notice(&said);
    }

    fn notice(&mut self, line: &str) {
        self.show.notice(line);
    }

    fn prepares(&mut self, plan: &Plan) {
        self.show.prepares(plan);
    }

    fn stretch(&mut self, stretch: &Stretch<'_>) {
        if let Some(abort) = &mut self.abort {
            abort.see(stretch.summary);
        }
        if let Some(watcher) = &self.watcher {
            watcher.interval(stretch.summary.end_ns);
        }
        self.show.stretch(stretch);
        if let Some(record) = self.shown.as_mut().and_then(|run| run.follow(stretch)) {
            self.show.record(record);
        }
        self.list.iter_mut().for_each(|one| one.stretch(stretch));
    }

    fn traced(&mut self, requests: &[Traced]) {
        self.list.iter_mut().for_each(|one| one.traced(requests));
    }
}

/// Refuses unknown kinds, and two outputs in one place.
pub(crate) fn check<'a>(
    list: &[Out],
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), UserError> {
    for (at, out) in list.iter().enumerate() {
        if !known.clone().any(|name| name == out.kind) {
            let all: Vec<&str> = known.collect();
            return Err(UserError::usage(format!(
                "--out {}: unknown output; write one of {}",
                refused(&out.kind),
                all.join(", ")
            )));
        }
        if let Some(other) = list[..at].iter().find(|other| other.place == out.place) {
            let place = match &out.place {
                Place::Stdout => "the standard output".to_owned(),
                Place::File(path) => path.display().to_string(),
            };
            return Err(UserError::usage(format!(
                "{} and {} would both be written to {place}; choose another place for one of them",
                other.kind, out.kind
            )));
        }
    }
    Ok(())
}

/// The files among them.
pub(crate) fn files(list: &[Out]) -> impl Iterator<Item = &PathBuf> {
    list.iter().filter_map(|out| out.place.file())
}

/// Whether one of them is written to the standard output during the run.
pub(crate) fn write_meanwhile(list: &[Out]) -> bool {
    list.iter().any(|out| out.place == Place::Stdout && out.kind == "ndjson")
}

/// Whether one of them goes to the standard output, so that a report does not.
pub(crate) fn take_stdout(list: &[Out]) -> bool {
    list.iter().any(|out| out.place == Place::Stdout)
}
