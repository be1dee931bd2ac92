//! Measuring, for every command that makes runs: signals stop them, outputs follow them, and a managed
//! target is ended afterwards. How a run is made is decided in lab and engine.

use std::sync::Arc;
use std::time::Instant;

use candor_engine::{Control, Observer, Part};
use candor_lab::site::Beside;
use candor_lab::{EngineRunner, Interrupt, LabError, Maker, Site};
use candor_plan::redact::Hidden;
use candor_plan::{Plan, ReactorChoice};
use candor_record::RunRecord;
use candor_report::Facts;

use crate::console;
use crate::exit::UserError;
use crate::fleet::Fleet;
use crate::outputs::Outputs;
use crate::remedy;
use crate::scripting::{self, Scripted};
use crate::sent;
use crate::show::{Asked, Show};
use crate::signals;

/// An interrupt that signals trigger from now on.
pub(crate) fn interrupt() -> Arc<Interrupt> {
    let interrupt = Arc::new(Interrupt::default());
    sent::follow(Arc::clone(&interrupt));
    let told = Arc::clone(&interrupt);
    signals::on_signal(move || told.stop());
    interrupt
}

/// Makes a run against `site`, with the plan's script. `observer` observes it.
pub(crate) fn run(
    site: &mut Site,
    plan: &Plan,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<(Scripted, Beside), LabError> {
    run_part(site, plan, None, interrupt, observer)
}

/// The same for a part of it, if given.
pub(crate) fn run_part(
    site: &mut Site,
    plan: &Plan,
    part: Option<Part>,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<(Scripted, Beside), LabError> {
    console::hide(Hidden::of(plan));
    if plan.threads.reactor == ReactorChoice::Uring
        && let Err(why) = candor_engine::probe_uring()
    {
        console::say(format_args!(
            "candor: io_uring cannot be used here ({why}); epoll is used instead"
        ));
    }
    site.run(plan, interrupt, |own, control| {
        scripting::run(own, part.unwrap_or_else(|| Part::whole(own)), control, observer)
    })
}

/// Makes a run against `site` on the agents of a fleet.
pub(crate) fn run_fleet(
    site: &mut Site,
    plan: &Plan,
    fleet: &Fleet,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<(Scripted, Beside), LabError> {
    console::hide(Hidden::of(plan));
    // The threads are those of the agents, and not of this machine.
    site.run(plan, interrupt, |_, control| {
        fleet.run(plan, control, observer).map(Scripted::of_fleet)
    })
}

/// Ends a managed target.
pub(crate) fn end(site: Site) {
    if let Some(running) = site.running
        && let Err(error) = running.stop()
    {
        console::say(format_args!("candor: {}", remedy::told(&error)));
    }
}

/// Outputs that follow runs, and the interrupt that signals trigger.
pub(crate) struct Watched {
    pub(crate) outputs: Outputs,
    pub(crate) interrupt: Arc<Interrupt>,
}

impl Watched {
    /// Shows runs of an experiment.
    pub(crate) fn show(asked: Asked, title: &str) -> Result<(Self, Show), UserError> {
        let interrupt = interrupt();
        let show = Show::start(asked, title, Some(Arc::clone(&interrupt)), None)?;
        Ok((Watched { outputs: Outputs::shown(show.clone()), interrupt }, show))
    }

    /// Makes runs of an experiment, on a fleet if there is one.
    pub(crate) fn runner<'a>(
        &'a mut self,
        facts: Facts,
        fleet: Option<&'a Fleet>,
    ) -> EngineRunner<'a> {
        let interrupt = Arc::clone(&self.interrupt);
        let observer = &mut self.outputs;
        let maker: &dyn Maker = match fleet {
            None => &Here,
            Some(fleet) => fleet,
        };
        let began = Instant::now();
        EngineRunner { sites: Vec::new(), facts, interrupt, observer, maker, began }
    }
}

/// Makes runs on this machine, with their scripts.
struct Here;

impl Maker for Here {
    fn make(
        &self,
        _: &Plan,
        own: &Plan,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, LabError> {
        // Documents of experiments contain this text.
        let made = scripting::run(own, Part::whole(own), control, observer);
        made.and_then(|run| run.done(own)).map_err(remedy::advise)
    }
}

impl Maker for Fleet {
    fn make(
        &self,
        plan: &Plan,
        _: &Plan,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, LabError> {
        self.run(plan, control, observer)
    }
}
