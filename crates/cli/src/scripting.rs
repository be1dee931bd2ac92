//! Scripts of a run, its credentials and its alternatives: had before the run, and ended after it.
//!
//! This is the command's only interface to Lua; a build without the feature `script` refuses
//! scripts.

use candor_engine::script::Scripts;
use candor_engine::{Control, Observer, Part};
use candor_lab::{Credentials, LabError, alternatives};
use candor_plan::Plan;
use candor_record::RunRecord;

use crate::{console, remedy};

/// A completed run, even if its script failed.
pub(crate) struct Scripted {
    pub(crate) record: RunRecord,
    script: Script,
    ended: Result<(), LabError>,
}

/// Makes `part` of a run of `plan` with its script, if it has one, and prints the script's output.
pub(crate) fn run(
    plan: &Plan,
    part: Part,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Scripted, LabError> {
    let plan = &*alternatives::follow(plan, control)?;
    let credentials = Credentials::take(plan, control, console::hear)?;
    let (script, scripts) = Script::load(plan)?;
    let record = candor_engine::run_part(plan, part, &scripts, control, observer);
    let ended = script.ended();
    let mut record = record?;
    record.alternatives = alternatives::found(plan);
    record.credentials = credentials.map(Credentials::finish).unwrap_or_default();
    Ok(Scripted { record, script, ended })
}

impl Scripted {
    /// A run that a fleet has made: its scripts ran on the agents.
    pub(crate) fn of_fleet(record: RunRecord) -> Scripted {
        Scripted { record, script: Script::none(), ended: Ok(()) }
    }

    /// The record without a call of `done`; returns an error if the script had failed.
    #[cfg(feature = "fleet")]
    pub(crate) fn record(self) -> Result<RunRecord, LabError> {
        self.ended.map(|()| self.record)
    }

    /// Returns an error if the script had failed, without a call of `done`.
    pub(crate) fn ended(self) -> Result<(), LabError> {
        self.ended
    }

    /// Calls the script's `done`; returns an error even if the script had failed before.
    pub(crate) fn done(self, plan: &Plan) -> Result<RunRecord, LabError> {
        self.ended?;
        self.script.done(plan, &self.record)?;
        Ok(self.record)
    }
}

/// The script of a run, if it has one.
#[cfg(feature = "script")]
struct Script(Option<candor_script::Program>);

#[cfg(feature = "script")]
impl Script {
    fn none() -> Self {
        Script(None)
    }

    /// Loads the plan's script; runs its `setup` and `init`.
    fn load(plan: &Plan) -> Result<(Self, Scripts), LabError> {
        let Some(script) = plan.work.script() else {
            return Ok((Script(None), Scripts::default()));
        };
        let threads = candor_engine::workers(plan);
        let program = candor_script::Program::load(plan, script, threads);
        let program = program.map_err(failed)?;
        let scripts = program.scripts(plan).map_err(failed)?;
        Ok((Script(Some(program)), scripts))
    }

    /// Calls `done` with the run's figures.
    fn done(&self, plan: &Plan, record: &RunRecord) -> Result<(), LabError> {
        self.0.as_ref().map_or(Ok(()), |program| program.done(plan, record)).map_err(failed)
    }

    /// After the run: prints the rest of the script's output, and returns the script's error, if
    /// any.
    fn ended(&self) -> Result<(), LabError> {
        self.0.as_ref().map_or(Ok(()), |program| program.ended()).map_err(failed)
    }
}

/// A build without scripts.
#[cfg(not(feature = "script"))]
struct Script;

#[cfg(not(feature = "script"))]
impl Script {
    fn none() -> Self {
        Script
    }

    fn load(plan: &Plan) -> Result<(Self, Scripts), LabError> {
        match plan.work.script() {
            None => Ok((Script, Scripts::default())),
            Some(_) => Err(LabError::Script(
                "this candor was built without scripts; build it with the feature `script`, which is on by default"
                    .to_owned(),
            )),
        }
    }

    fn done(&self, _: &Plan, _: &RunRecord) -> Result<(), LabError> {
        Ok(())
    }

    fn ended(&self) -> Result<(), LabError> {
        Ok(())
    }
}

#[cfg(feature = "script")]
fn failed(why: candor_script::ScriptError) -> LabError {
    LabError::Script(remedy::told_of_script(&why))
}
