//! Options of a run that other commands refuse: which, and why. Their help leaves them out.
//!
//! It does not parse, and does not know what a command does instead.

use candor_plan::options::Options;

use crate::exit::UserError;

/// An option that a command refuses.
pub(crate) struct Refusal {
    /// Its name, without `--`.
    pub(crate) option: &'static str,
    is_given: fn(&Options) -> bool,
    why: &'static str,
}

const fn refusal(
    option: &'static str,
    is_given: fn(&Options) -> bool,
    why: &'static str,
) -> Refusal {
    Refusal { option, is_given, why }
}

const SINGLE: &str = "that is for a single run";
const OF_SINGLE_RUNS: &[Refusal] = &[
    refusal("hgrm", |of| of.output.hgrm.is_some(), "that is for a single run; use --keep DIR"),
    refusal("hlog", |of| of.output.hlog.is_some(), "that is for a single run; use --keep DIR"),
    refusal("trace", |of| of.output.trace.is_some(), SINGLE),
    refusal("abort-if", |of| !of.output.abort_if.is_empty(), SINGLE),
    refusal("tag", |of| !of.output.tag.is_empty(), SINGLE),
    refusal("linger", |of| of.output.linger.is_some(), SINGLE),
    refusal("watch", |of| !of.output.watch.is_empty(), SINGLE),
];

const DECIDED_BY_SEARCHES: &[Refusal] = &[
    refusal("rate", |of| of.load.rate.is_some(), "it chooses the rates itself"),
    refusal("load", |of| of.load.load.is_some(), "it chooses the load itself"),
    refusal("requests", |of| of.load.requests.is_some(), "its runs have a length: --duration"),
    refusal("once", |of| of.load.once, "a burst has no rate to choose"),
    refusal("think-time", |of| of.load.think_time.is_some(), "it finds the highest rate itself"),
    refusal("expect", has_objectives, "objectives are given with --objective"),
];

const OBJECTIVES_OF_COMPARE: &[Refusal] =
    &[refusal("expect", has_objectives, "a comparison has --fail-if-slower")];

const NO_RESULT: &str = "it shows exchanges and measures nothing";
const OUTPUTS: &[Refusal] = &[
    refusal("json", |of| of.output.json.is_some(), NO_RESULT),
    refusal("csv", |of| of.output.csv.is_some(), NO_RESULT),
    refusal("html", |of| of.output.html.is_some(), NO_RESULT),
    refusal("hgrm", |of| of.output.hgrm.is_some(), NO_RESULT),
    refusal("hlog", |of| of.output.hlog.is_some(), NO_RESULT),
    refusal("trace", |of| of.output.trace.is_some(), NO_RESULT),
    refusal("out", |of| !of.output.out.is_empty(), NO_RESULT),
    refusal("watch", |of| !of.output.watch.is_empty(), NO_RESULT),
    refusal("expect", has_objectives, NO_RESULT),
];

fn has_objectives(options: &Options) -> bool {
    !options.output.expect.is_empty()
}

/// What this command refuses.
pub(crate) fn of(command: &str) -> impl Iterator<Item = &'static Refusal> {
    let (own, shared): (&[Refusal], &[Refusal]) = match command {
        "peak" | "sweep" => (DECIDED_BY_SEARCHES, OF_SINGLE_RUNS),
        "compare" => (OBJECTIVES_OF_COMPARE, OF_SINGLE_RUNS),
        "ci" => (&[], OF_SINGLE_RUNS),
        "try" => (OUTPUTS, &[]),
        _ => (&[], &[]),
    };
    own.iter().chain(shared)
}

/// Refuses options that make no sense for this command, with the reason.
pub(crate) fn check(command: &str, options: &Options) -> Result<(), UserError> {
    match of(command).find(|one| (one.is_given)(options)) {
        Some(Refusal { option, why, .. }) => Err(has_no(command, option, why)),
        None => Ok(()),
    }
}

/// The error for an option that a command has not.
pub(crate) fn has_no(command: &str, option: &str, why: &str) -> UserError {
    UserError::usage(format!("candor {command} has no --{option}: {why}; leave it out"))
}
