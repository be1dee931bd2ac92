//! Exit codes, and the failures of commands.

use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

use candor_lab::LabError;
use candor_plan::PlanError;
use candor_report::Document;
use candor_report::document::Outcome;
use candor_serve::ServeError;

use crate::{remedy, sent};

/// The exit codes of a process; see `candor --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine = 0,
    CouldNotRun = 1,
    Usage = 2,
    ExpectationNotMet = 3,
    NotTrustworthy = 4,
    Degraded = 5,
    CannotTell = 6,
    Interrupted = 130,
}

impl Exit {
    /// The code of a run under the command line of another tool. As there, a run with errors or an interruption
    /// succeeds; only contradictory figures do not.
    pub(crate) fn elsewhere(document: &Document) -> Exit {
        if document.is_contradictory() { Exit::NotTrustworthy } else { Exit::Fine }
    }

    /// The code of an experiment that ended early and kept its document.
    pub(crate) fn stopped(why: &LabError) -> Exit {
        match why {
            LabError::Advised { error, .. } => Exit::stopped(error),
            LabError::Interrupted | LabError::Stopped(_) => Exit::Interrupted,
            LabError::Engine(error) if error.is_usage() => Exit::Usage,
            _ => Exit::CouldNotRun,
        }
    }
}

impl From<Outcome> for Exit {
    fn from(gate: Outcome) -> Self {
        match gate {
            Outcome::Met => Exit::Fine,
            Outcome::NotMet => Exit::ExpectationNotMet,
            Outcome::CannotTell => Exit::CannotTell,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An error for the user: an exit code and a sentence.
#[derive(Debug)]
pub(crate) struct UserError {
    exit: Exit,
    message: String,
}

impl UserError {
    /// A failure for a reason outside of the command line.
    pub(crate) fn could_not_run(message: impl Display) -> Self {
        UserError { exit: Exit::CouldNotRun, message: message.to_string() }
    }

    /// A wrong command line.
    pub(crate) fn usage(message: impl Display) -> Self {
        UserError { exit: Exit::Usage, message: message.to_string() }
    }

    /// The same after a signal, whose code comes first.
    pub(crate) fn of_interrupted(self) -> Self {
        UserError { exit: Exit::Interrupted, ..self }
    }

    /// A signal came before there was a result.
    pub(crate) fn interrupted() -> Self {
        let message = format!("interrupted: {}", sent::without_result());
        UserError { exit: Exit::Interrupted, message }
    }

    /// An error under the command line of another tool.
    pub(crate) fn elsewhere(error: &LabError) -> Self {
        UserError::of(error, remedy::told_elsewhere(error))
    }

    fn of(error: &LabError, told: String) -> Self {
        match error {
            LabError::Advised { error, .. } => UserError::of(error, told),
            LabError::Interrupted => UserError::interrupted(),
            LabError::Stopped(_) => UserError { exit: Exit::Interrupted, message: told },
            LabError::Usage(_)
            | LabError::NoCore { .. }
            | LabError::NoPeak { .. }
            | LabError::UnknownScenario { .. }
            | LabError::NoResults { .. }
            | LabError::NotOurs { .. }
            | LabError::Held { .. } => UserError::usage(told),
            LabError::Engine(why) if why.is_usage() => UserError::usage(told),
            LabError::Plan(why) if why.is_usage() => UserError::usage(told),
            LabError::Engine(_)
            | LabError::Plan(_)
            | LabError::AltSvc { .. }
            | LabError::AltSvcElsewhere { .. }
            | LabError::Credential { .. }
            | LabError::Script(_)
            | LabError::Fleet(_)
            | LabError::Verify(_)
            | LabError::Response { .. }
            | LabError::NotInstalled { .. }
            | LabError::Target { .. }
            | LabError::NoPortFile { .. }
            | LabError::NoDirectory { .. }
            | LabError::File { .. } => UserError::could_not_run(told),
        }
    }

    /// The same, of something with this name.
    pub(crate) fn of_part(self, name: impl Display) -> Self {
        UserError { message: format!("{name}: {}", self.message), ..self }
    }

    /// The exit code of the process.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

impl Display for UserError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<LabError> for UserError {
    fn from(error: LabError) -> Self {
        UserError::of(&error, remedy::told(&error))
    }
}

impl From<PlanError> for UserError {
    fn from(error: PlanError) -> Self {
        match error.is_usage() {
            true => UserError::usage(error),
            false => UserError::could_not_run(error),
        }
    }
}

impl From<ServeError> for UserError {
    fn from(error: ServeError) -> Self {
        UserError::could_not_run(remedy::told_of_server(&error))
    }
}
