//! What the commands of experiments have in common: load flags that become a base plan, a runner
//! that signals stop, progress, and results that are kept.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor_engine::Observer;
use candor_files::{create_directory, write_atomically};
use candor_lab::{EngineRunner, Interrupt, Progress as LabProgress, Site};
use candor_plan::options::Options;
use candor_plan::values::Nanos;
use candor_plan::{Outputs, Plan, Rate, looks_like_plan};
use candor_record::IntervalSummary;
use candor_report::render::json;
use candor_report::{Document, Facts};

use crate::command::run;
use crate::console::{self, Progress};
use crate::exit::Failure;
use crate::files::{self, Disk};
use crate::scripting;
use crate::signals;
use crate::target_flags::TargetFlags;

/// Length of a run, if nothing is said.
const DURATION: &str = "5s";
/// Warm-up of a run, if nothing is said.
const WARM_UP_NS: u64 = 1_000_000_000;

/// An experiment that is ready to begin.
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    pub(crate) outputs: Outputs,
    /// Whether the user chose the number of connections.
    pub(crate) connections: Option<u32>,
    site: Site,
    facts: Facts,
}

impl Ready {
    /// Refuses what an experiment decides itself, starts the target and makes the plan. `command`
    /// stands in errors.
    pub(crate) fn new(
        command: &str,
        mut options: Options,
        target: &TargetFlags,
        typed: &[String],
    ) -> Result<Ready, Failure> {
        check(command, &options)?;
        with_plan_file(&mut options)?;
        let connections = options.load.connections.map(|count| count.get());
        // An open load, so that what belongs to one (--arrivals, --shed-after) is understood; the
        // experiment puts its own rates in.
        options.load.rate = Some(Rate::per_second(1000));
        if options.load.duration.is_none() {
            options.load.duration = DURATION.parse().ok();
        }
        options.load.warm_up.get_or_insert(Nanos(WARM_UP_NS));
        let site = target.site(&mut options, true)?;
        let (plan, outputs) = options.build(&Disk).map_err(Failure::usage)?;
        files::check_writable(&outputs)?;
        Ok(Ready { plan, outputs, connections, site, facts: run::facts(typed) })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Makes the experiment: `make` gets a runner and somebody to tell. Signals stop it. Then the
    /// target is ended.
    pub(crate) fn make<T>(
        self,
        keep: Option<&Path>,
        make: impl FnOnce(&Plan, &mut EngineRunner<'_>, &mut dyn LabProgress) -> Result<T, Failure>,
    ) -> Result<(T, Outputs), Failure> {
        let Ready { plan, outputs, site, facts, .. } = self;
        if let Some(directory) = keep {
            create_directory(directory).map_err(|error| {
                Failure::could_not_run(format!(
                    "cannot make {}: {error}; choose another directory with --keep",
                    directory.display()
                ))
            })?;
        }
        let mut watched = Watched::new(outputs.quiet)?;
        let mut runner = watched.runner(facts);
        runner.sites.push(site);
        let mut told = Told { quiet: outputs.quiet, keep: keep.map(Path::to_owned), failed: None };
        let made = make(&plan, &mut runner, &mut told);
        let sites = std::mem::take(&mut runner.sites);
        watched.end();
        let made = made?;
        if let Some(failure) = told.failed {
            console::say(format_args!("candor: {failure}"));
        }
        for running in sites.into_iter().filter_map(|site| site.running) {
            if let Err(error) = running.stop() {
                console::say(format_args!("candor: {error}"));
            }
        }
        Ok((made, outputs))
    }
}

/// What an experiment decides itself, and what only single runs have.
fn check(command: &str, options: &Options) -> Result<(), Failure> {
    let refused = [
        ("--rate", options.load.rate.is_some(), "it chooses the rates itself"),
        ("--load", options.load.load.is_some(), "it chooses the load itself"),
        ("--requests", options.load.requests.is_some(), "its runs have a length: --duration"),
        ("--once", options.load.once, "a burst has no rate to choose"),
        ("--think-time", options.load.think_time.is_some(), "it looks for the highest rate"),
        ("--expect", !options.output.expect.is_empty(), "objectives are given with --objective"),
        (
            "--hgrm",
            options.output.hgrm.is_some(),
            "that is of a single run: --keep DIR has them all",
        ),
        (
            "--hlog",
            options.output.hlog.is_some(),
            "that is of a single run: --keep DIR has them all",
        ),
        ("--trace", options.output.trace.is_some(), "that is of a single run"),
    ];
    match refused.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => {
            Err(Failure::usage(format!("candor {command} has no {flag}: {why}; leave it out")))
        }
        None => Ok(()),
    }
}

/// A plan's file in the place of the URL gives what was not typed, but for its rates.
fn with_plan_file(options: &mut Options) -> Result<(), Failure> {
    let Some(file) = options.url.take_if(|url| looks_like_plan(url)) else { return Ok(()) };
    let text = fs::read_to_string(&file)
        .map_err(|error| Failure::usage(format!("cannot read the plan {file}: {error}")))?;
    let mut plan = Options::from_toml(&file, &text).map_err(Failure::usage)?;
    (plan.load.rate, plan.load.load, plan.load.requests, plan.load.think_time) =
        (None, None, None, None);
    plan.output.expect.clear();
    *options = std::mem::take(options).or(plan);
    check("with a plan", options)
}

/// Who looks on while an experiment of many runs goes on: signals become stops, and a line tells of
/// the run that goes on.
pub(crate) struct Watched {
    progress: Progress,
    interrupt: Arc<Interrupt>,
}

impl Watched {
    pub(crate) fn new(quiet: bool) -> Result<Self, Failure> {
        let interrupt = Arc::new(Interrupt::default());
        let told = Arc::clone(&interrupt);
        signals::on_signal(move || told.stop())?;
        Ok(Watched { progress: Progress::new(quiet), interrupt })
    }

    /// What signals stop.
    pub(crate) fn interrupt(&self) -> Arc<Interrupt> {
        Arc::clone(&self.interrupt)
    }

    /// Makes runs that signals stop and that this line tells of.
    pub(crate) fn runner(&mut self, facts: Facts) -> EngineRunner<'_> {
        let interrupt = self.interrupt();
        EngineRunner { sites: Vec::new(), facts, interrupt, observer: self, make: scripting::make }
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        self.progress.clear();
    }
}

impl Observer for Watched {
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        console::public_target(host, addresses);
    }

    fn interval(&mut self, summary: &IntervalSummary) {
        self.progress.show(summary);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end();
    }
}

/// Says what runs were made, and keeps their results.
struct Told {
    quiet: bool,
    keep: Option<PathBuf>,
    failed: Option<String>,
}

impl LabProgress for Told {
    fn done(&mut self, what: &str, outcome: &str) {
        if !self.quiet {
            console::note(&format!("candor: {what}: {outcome}"));
        }
    }

    fn result(&mut self, name: &str, document: &Document) {
        let Some(directory) = &self.keep else { return };
        let path = directory.join(format!("{name}.json"));
        if let Err(error) = write_atomically(&path, json::render(document).as_bytes()) {
            self.failed = Some(error.to_string());
        }
    }
}
