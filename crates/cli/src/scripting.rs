//! Scripts of a run: loaded before it, and told of its end.
//!
//! All that the command knows of Lua goes through here; built without the feature `script`, it
//! says so instead.

use candor_engine::script::Scripts;
use candor_engine::{Control, Observer};
use candor_lab::LabError;
use candor_plan::Plan;
use candor_record::RunRecord;

use crate::exit::Failure;

/// Makes a run of an experiment as `candor run` makes it: with its plan's script, loaded anew, if it
/// has one.
pub(crate) fn make(
    plan: &Plan,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<RunRecord, LabError> {
    let failed = |failure: Failure| LabError::Script(failure.message().to_owned());
    let (scripting, scripts) = Scripting::load(plan).map_err(failed)?;
    let record = candor_engine::run_scripted(plan, &scripts, control, observer)?;
    scripting.ended().and_then(|()| scripting.done(plan, &record)).map_err(failed)?;
    Ok(record)
}

/// The script of a run, if it has one.
#[cfg(feature = "script")]
pub(crate) struct Scripting(Option<candor_script::Program>);

#[cfg(feature = "script")]
impl Scripting {
    /// Loads the plan's script; runs its `setup` and `init`.
    pub(crate) fn load(plan: &Plan) -> Result<(Self, Scripts), Failure> {
        let Some(script) = &plan.script else { return Ok((Scripting(None), Scripts::default())) };
        let threads = candor_engine::workers(plan);
        let program = candor_script::Program::load(plan, script, threads);
        let program = program.map_err(Failure::could_not_run)?;
        let scripts = program.scripts(plan).map_err(Failure::could_not_run)?;
        Ok((Scripting(Some(program)), scripts))
    }

    /// Calls `done` with what happened.
    pub(crate) fn done(&self, plan: &Plan, record: &RunRecord) -> Result<(), Failure> {
        self.0
            .as_ref()
            .map_or(Ok(()), |program| program.done(plan, record))
            .map_err(Failure::could_not_run)
    }

    /// The run is over: what the script printed goes out, and why it failed, if it did.
    pub(crate) fn ended(&self) -> Result<(), Failure> {
        self.0.as_ref().map_or(Ok(()), |program| program.ended()).map_err(Failure::could_not_run)
    }
}

/// A build without scripts.
#[cfg(not(feature = "script"))]
pub(crate) struct Scripting;

#[cfg(not(feature = "script"))]
impl Scripting {
    pub(crate) fn load(plan: &Plan) -> Result<(Self, Scripts), Failure> {
        match &plan.script {
            None => Ok((Scripting, Scripts::default())),
            Some(_) => Err(Failure::could_not_run(
                "this candor was built without scripts; build it with the feature `script`, which is on by default",
            )),
        }
    }

    pub(crate) fn done(&self, _: &Plan, _: &RunRecord) -> Result<(), Failure> {
        Ok(())
    }

    pub(crate) fn ended(&self) -> Result<(), Failure> {
        Ok(())
    }
}
