//! Exit codes and the one way to fail.

use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

use candor_lab::LabError;

/// What a process says when it ends; see `candor --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine = 0,
    CouldNotRun = 1,
    Usage = 2,
    ExpectationNotMet = 3,
    NotTrustworthy = 4,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An error on its way to the user: an exit code and a sentence.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// Something outside stood in the way.
    pub(crate) fn could_not_run(message: impl Display) -> Self {
        Failure { exit: Exit::CouldNotRun, message: message.to_string() }
    }

    /// What was typed makes no sense.
    pub(crate) fn usage(message: impl Display) -> Self {
        Failure { exit: Exit::Usage, message: message.to_string() }
    }

    /// A signal came before there was anything to measure.
    pub(crate) fn interrupted() -> Self {
        let message = "interrupted before a connection was made; nothing was measured".to_owned();
        Failure { exit: Exit::Interrupted, message }
    }

    /// The code that the process ends with.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match &error {
            LabError::Interrupted => Failure::interrupted(),
            LabError::Usage(_) | LabError::Plan(_) => Failure::usage(error),
            LabError::Engine(why) if why.is_usage() => Failure::usage(error),
            LabError::Engine(_)
            | LabError::Script(_)
            | LabError::Verify(_)
            | LabError::Target { .. }
            | LabError::File { .. } => Failure::could_not_run(error),
        }
    }
}
