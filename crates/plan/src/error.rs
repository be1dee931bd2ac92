//! The errors of making a plan, one sentence each: what, where and the remedy.

use crate::redact::name_of_request;
use crate::url::UrlError;

/// Why no plan could be made of the options.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Something in a plan file, at a line and column that count from 1.
    #[error("{file}:{line}:{column}: {message}")]
    PlanFile {
        /// The file.
        file: String,
        /// Its line.
        line: usize,
        /// The character in the line.
        column: usize,
        /// The fault and its remedy.
        message: String,
    },
    /// Neither a flag nor the plan has a URL.
    #[error("no URL; write http://HOST[:PORT]/PATH, or `url = \"…\"` in the plan")]
    NoUrl,
    /// The URL cannot be used.
    #[error("URL {url:?}: {error}")]
    Url {
        /// The URL, user information hidden.
        url: String,
        /// The fault.
        error: UrlError,
    },
    /// A file cannot be read.
    #[error("{option}: cannot read {file}: {error}; check its name and permissions")]
    Read {
        /// The option that names it.
        option: &'static str,
        /// The file.
        file: String,
        /// The system's message.
        error: std::io::Error,
    },
    /// A file of due offsets is wrong.
    #[error("{place}: {problem}")]
    Offsets {
        /// The file, with the line if it is in one.
        place: String,
        /// The fault and its remedy.
        problem: String,
    },
    /// Two options that exclude each other.
    #[error("{one} cannot be used with {other}: {why}")]
    Conflict {
        /// An option.
        one: &'static str,
        /// The other one, or a situation.
        other: &'static str,
        /// Why, and the remedy.
        why: &'static str,
    },
    /// Two numbers that do not fit together.
    #[error("{option}: {problem}")]
    Value {
        /// The option.
        option: &'static str,
        /// The fault and its remedy.
        problem: String,
    },
    /// A server that was asked for what the plan needs did not tell it.
    #[error("{option}: {problem}")]
    Unanswered {
        /// The option.
        option: &'static str,
        /// The fault and its remedy.
        problem: String,
    },
    /// A part that cannot come from options.
    #[error("this plan cannot be carried out: in a plan, {part} {rule}")]
    Part {
        /// Which part.
        part: &'static str,
        /// The rule for it in a plan.
        rule: &'static str,
    },
    /// The parts come from a result, which lacks values that a run needs.
    #[error("this plan comes from a result, which leaves values out; run the original plan")]
    LeftOut,
    /// A list of allowed hosts that cannot be read.
    #[error("{source_name}: {problem}")]
    Allow {
        /// Its place in the file.
        source_name: String,
        /// The fault and its remedy.
        problem: String,
    },
    /// A target cannot be had as it is.
    #[error("target {name:?}: {problem}")]
    Target {
        /// Its name.
        name: String,
        /// The fault and its remedy.
        problem: String,
    },
    /// A journey cannot be made as it is.
    #[error("journey {name:?}: {problem}")]
    Journey {
        /// Its name.
        name: String,
        /// The fault and its remedy.
        problem: String,
    },
    /// A request cannot be sent as it is.
    #[error("request {:?}: {problem}", name_of_request(name))]
    Request {
        /// Its name in reports.
        name: String,
        /// The fault and its remedy.
        problem: String,
    },
}

impl PlanError {
    /// Whether what the user wrote is wrong, and not what a server did.
    pub fn is_usage(&self) -> bool {
        !matches!(self, PlanError::Unanswered { .. })
    }
}

/// An option or a situation that excludes something else; and why, with the remedy.
pub(crate) type Refusal = (&'static str, &'static str);

/// Two options that exclude each other.
pub(crate) fn conflict(one: &'static str, other: &'static str, why: &'static str) -> PlanError {
    PlanError::Conflict { one, other, why }
}

/// Refuses the first of these options that was given: none of them can be used with `other`.
pub(crate) fn exclude<const N: usize>(
    options: [(&'static str, bool); N],
    other: &'static str,
    why: &'static str,
) -> Result<(), PlanError> {
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(conflict(option, other, why)),
        None => Ok(()),
    }
}

/// Refuses the first of these options that was given: none of them has an effect here.
pub(crate) fn without_effect<const N: usize>(
    options: [(&'static str, bool); N],
    problem: &str,
) -> Result<(), PlanError> {
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(value(option, problem)),
        None => Ok(()),
    }
}

/// The value of an option that does not fit.
pub(crate) fn value(option: &'static str, problem: impl Into<String>) -> PlanError {
    PlanError::Value { option, problem: problem.into() }
}

/// A rule for a part that no option can break.
pub(crate) fn need(holds: bool, part: &'static str, rule: &'static str) -> Result<(), PlanError> {
    if holds { Ok(()) } else { Err(PlanError::Part { part, rule }) }
}
