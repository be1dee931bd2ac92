//! The errors of making a plan, one sentence each: what, where and the remedy.

use crate::load::ReplayError;
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
    #[error(transparent)]
    Replay(#[from] ReplayError),
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
