//! The common parts of experiments' commands: load flags become a base plan; a runner that signals
//! can stop; progress; kept results.

use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_files::{create_directory, write_atomically};
use candor_lab::{Ahead, EngineRunner, Progress, Site};
use candor_plan::options::Options;
use candor_plan::redact::Typed;
use candor_plan::{Outputs, Plan, Rate};
use candor_report::json;
use candor_report::{Document, Facts};

use crate::exit::UserError;
use crate::facts::facts;
use crate::fleet::{Fleet, FleetFlags};
use crate::forms;
use crate::measure::{self, Watched};
use crate::scenario::Meant;
use crate::show::{Asked, Show};
use crate::target_flags::TargetFlags;
use crate::{console, input, refusals};

/// An experiment, ready to begin.
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    pub(crate) outputs: Outputs,
    /// The number of connections, if the user chose it.
    pub(crate) connections: Option<u32>,
    site: Site,
    /// What responses are held against before its runs.
    meant: Meant,
    /// Its runs are made by this fleet.
    fleet: Option<Fleet>,
    facts: Facts,
    /// The title of the experiment, for the progress display.
    title: String,
}

/// A finished experiment.
pub(crate) struct Made<T> {
    pub(crate) document: T,
    pub(crate) outputs: Outputs,
    /// Whether a signal interrupted it.
    pub(crate) is_interrupted: bool,
}

impl Ready {
    /// Refuses options that an experiment decides itself, starts the target and makes the plan.
    /// `command` is its name, for errors.
    pub(crate) fn new(
        command: &str,
        mut options: Options,
        target: &TargetFlags,
        fleet: &FleetFlags,
        typed: Typed,
    ) -> Result<Ready, UserError> {
        refusals::check(command, &options)?;
        let fleet = fleet.open()?;
        with_plan_file(command, &mut options)?;
        let connections = options.load.connections.map(|count| count.get());
        // An open load, so that options of open loads (--arrivals, --shed-after) are accepted; the
        // experiment replaces the rate.
        options.load.rate = Some(Rate::per_second(1000));
        let is_here = !input::is_elsewhere(&options);
        let (site, scenario) = target.site(&mut options, true)?;
        input::set_usual_length(&mut options);
        if let Some(fleet) = &fleet {
            fleet.connect_each(&mut options);
        }
        let (plan, outputs, meant) = scenario.build(options)?;
        forms::check(&outputs)?;
        if let Some(fleet) = &fleet {
            fleet.check(&plan, is_here)?;
        }
        let title = format!("{command} {}", plan.secrets.url(&plan.target.url));
        let meant = if fleet.is_some() { Meant::default() } else { meant };
        Ok(Ready { plan, outputs, connections, site, meant, fleet, facts: facts(typed), title })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Makes the experiment: `make` gets a runner and a progress display. Signals stop it.
    /// Afterwards the target is ended.
    pub(crate) fn make<T>(
        self,
        keep: Option<&Path>,
        make: impl FnOnce(&Plan, &mut EngineRunner<'_>, &mut dyn Progress) -> Result<T, UserError>,
    ) -> Result<Made<T>, UserError> {
        let Ready { plan, outputs, site, meant, fleet, facts, title, .. } = self;
        make_directory(keep)?;
        let asked = Asked { shares_stdout: plan.work.script().is_some(), ..Asked::of(&outputs) };
        let (mut watched, show) = Watched::show(asked, &title)?;
        let mut runner = watched.runner(facts, fleet.as_ref());
        runner.sites.push(site);
        let mut told = Told { show, keep: keep.map(Path::to_owned), failed: None };
        let made = meant.check(&runner.interrupt).map_err(UserError::from);
        let made = made.and_then(|()| make(&plan, &mut runner, &mut told));
        let sites = std::mem::take(&mut runner.sites);
        watched.outputs.hide();
        let title = format!("candor {title}");
        let document = made.map_err(|why| forms::of_nothing(&title, &outputs, why))?;
        if let Some(failure) = told.failed {
            console::say(format_args!("candor: {failure}"));
        }
        sites.into_iter().for_each(measure::end);
        Ok(Made { document, outputs, is_interrupted: watched.interrupt.is_asked() })
    }
}

/// Makes the directory of `--keep`, if given.
pub(crate) fn make_directory(keep: Option<&Path>) -> Result<(), UserError> {
    let Some(directory) = keep else { return Ok(()) };
    create_directory(directory).map_err(|error| {
        UserError::could_not_run(format!(
            "cannot make {}: {error}; choose another directory with --keep",
            directory.display()
        ))
    })
}

/// A plan's file in place of the URL sets all options that were not typed, except the rates.
fn with_plan_file(command: &str, options: &mut Options) -> Result<(), UserError> {
    input::look_for_slips(options)?;
    let Some(file) = input::take_plan_file(options, None)? else { return Ok(()) };
    let mut plan = input::plan(&file)?;
    (plan.load.rate, plan.load.load, plan.load.requests, plan.load.think_time) =
        (None, None, None, None);
    plan.output.expect.clear();
    plan.output.abort_if.clear();
    *options = std::mem::take(options).or(plan);
    refusals::check(command, options)
}

/// Reports the finished runs, and saves their results.
struct Told {
    show: Show,
    keep: Option<PathBuf>,
    failed: Option<String>,
}

impl Progress for Told {
    fn begins(&mut self, what: &str, ahead: &Ahead) {
        let left = ahead.most_ns.map(Duration::from_nanos);
        self.show.begins(what, ahead.clone(), left);
    }

    fn done(&mut self, what: &str, outcome: &str) {
        self.show.done(what, outcome, false);
    }

    fn result(&mut self, name: &str, document: &Document) {
        let Some(directory) = &self.keep else { return };
        let path = directory.join(format!("{name}.json"));
        if let Err(error) = write_atomically(&path, json::render(document).as_bytes()) {
            self.failed = Some(error.to_string());
        }
    }
}
