//! Exit codes and the one way to fail.

use std::fmt::Display;
use std::process::ExitCode;

use candor_engine::EngineError;

use crate::console;

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

    /// What is said.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Tells the user.
    pub(crate) fn report(self) -> ExitCode {
        console::say(format_args!("candor: {}", self.message));
        self.exit.into()
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error.is_usage() {
            true => Failure::usage(error),
            false => Failure::could_not_run(error),
        }
    }
}
