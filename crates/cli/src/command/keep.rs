//! The hidden command by which this program is the keeper of a target: see
//! [`candor_lab::target::keeper`].

use std::process::ExitCode;

use candor_lab::target::keeper;

/// The words after the command, if these arguments are a keeper's.
pub(crate) fn invocation(typed: &[String]) -> Option<&[String]> {
    match typed {
        [_, word, rest @ ..] if word == keeper::WORD => Some(rest),
        _ => None,
    }
}

pub(crate) fn keep(words: &[String]) -> ExitCode {
    keeper::keep(words).into()
}
