//! Measuring, for every command that makes runs: signals become stops, a line tells of the run that goes
//! on, and a target of ours is ended afterwards. How a run is made is lab's and the engine's.

use std::sync::Arc;

use candor_engine::Observer;
use candor_lab::site::Beside;
use candor_lab::{EngineRunner, Interrupt, LabError, Site};
use candor_plan::{Plan, ReactorChoice};
use candor_report::Facts;

use crate::console;
use crate::exit::Failure;
use crate::outputs::Outputs;
use crate::scripting::{self, Scripted};
use crate::signals;

/// What signals stop from now on.
pub(crate) fn interrupt() -> Result<Arc<Interrupt>, Failure> {
    let interrupt = Arc::new(Interrupt::default());
    let told = Arc::clone(&interrupt);
    signals::on_signal(move || told.stop())?;
    Ok(interrupt)
}

/// Makes a run against `site`, with the plan's script. `observer` sees it while it goes on.
pub(crate) fn run(
    site: &mut Site,
    plan: &Plan,
    interrupt: &Interrupt,
    observer: &mut dyn Observer,
) -> Result<(Scripted, Beside), LabError> {
    if plan.threads.reactor == ReactorChoice::Uring
        && let Err(why) = candor_engine::probe_uring()
    {
        console::say(format_args!(
            "candor: io_uring cannot be used here ({why}); epoll is used instead"
        ));
    }
    site.run(plan, interrupt, |own, control| scripting::run(own, control, observer))
}

/// Ends the target, if it is ours.
pub(crate) fn end(site: Site) {
    if let Some(running) = site.running
        && let Err(error) = running.stop()
    {
        console::say(format_args!("candor: {error}"));
    }
}

/// Who looks on while runs go on, and what signals stop.
pub(crate) struct Watched {
    pub(crate) outputs: Outputs,
    pub(crate) interrupt: Arc<Interrupt>,
}

impl Watched {
    pub(crate) fn new(outputs: Outputs) -> Result<Self, Failure> {
        Ok(Watched { outputs, interrupt: interrupt()? })
    }

    /// Makes runs of an experiment.
    pub(crate) fn runner(&mut self, facts: Facts) -> EngineRunner<'_> {
        let interrupt = Arc::clone(&self.interrupt);
        let observer = &mut self.outputs;
        EngineRunner { sites: Vec::new(), facts, interrupt, observer, make: scripting::make }
    }
}
