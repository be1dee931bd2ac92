//! `candor wrk`: the command lines of wrk, of wrk2 and of yicwang's fork, their output and their
//! exit codes. The program also does this when it is started under the name `wrk` or `wrk2`.
//!
//! The words become [`arguments::Asked`], which becomes options of a run, and the run's documents
//! become the output. The standard output has only text that the original would print too; Candor's
//! additional findings go to the standard error.

mod arguments;
mod flags;
mod output;
mod plan;
mod usage;

use std::process::ExitCode;

use candor_engine::EngineError;
use candor_engine::reactor::ConnectCause;
use candor_lab::{LabError, Site};
use candor_plan::redact::{Kind, Typed};
use candor_plan::{Endpoint, Plan};
use candor_record::ConnectErrorKind;
use candor_report::Document;
use rustix::io::Errno;

use self::arguments::{Refusal, Request};
use self::flags::{FLAGS, Id};
use self::output::Output;
use crate::exit::{Exit, UserError};
use crate::facts::facts;
use crate::files::Disk;
use crate::getopt::{self, Meaning};
use crate::outputs::Outputs;
use crate::{console, findings, measure};

pub(crate) use usage::HELP;

/// The name under which the program was started: it decides the accepted options and the usage
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// `candor wrk`: every option of all three.
    CandorWrk,
    /// `wrk`: the same, with wrk's usage.
    Wrk,
    /// `wrk2`, `candor wrk2`: the same, with wrk2's usage, and a rate is required.
    Wrk2,
}

impl Name {
    fn as_str(self) -> &'static str {
        match self {
            Name::CandorWrk => "candor wrk",
            Name::Wrk => "wrk",
            Name::Wrk2 => "wrk2",
        }
    }
}

/// The name and the arguments after it, if the command line is for this module.
pub(crate) fn invocation(typed: &[String]) -> Option<(Name, &[String])> {
    let (program, rest) = typed.split_first()?;
    match program.rsplit('/').next() {
        Some("wrk") => return Some((Name::Wrk, rest)),
        Some("wrk2") => return Some((Name::Wrk2, rest)),
        _ => {}
    }
    match rest.split_first() {
        Some((first, rest)) if first == "wrk" => Some((Name::CandorWrk, rest)),
        Some((first, rest)) if first == "wrk2" => Some((Name::Wrk2, rest)),
        _ => None,
    }
}

/// The meanings of its options' values.
pub(crate) fn meaning(name: getopt::Name<'_>) -> Option<Meaning> {
    getopt::meaning(FLAGS, name, |id| match id {
        Id::Header => Kind::Header,
        _ => Kind::Plain,
    })
}

pub(crate) fn wrk(name: Name, words: &[String], typed: Typed) -> Result<ExitCode, UserError> {
    let parsed = arguments::parse(name, words);
    if parsed.version {
        console::print(&usage::version())?;
    }
    let asked = match parsed.request {
        Ok(Request::Run(asked)) => asked,
        Ok(Request::Help) => {
            console::print(HELP)?;
            return Ok(Exit::Fine.into());
        }
        Err(refusal) => return refuse(name, refusal),
    };
    for note in &asked.notes {
        console::say(format_args!("candor: {note}"));
    }
    let built = plan::build(plan::options(&asked), &Disk);
    let (plan, outputs) = match built {
        Ok(built) => built,
        Err(refusal) => return refuse(name, refusal),
    };
    let facts = facts(typed);
    let written = Outputs::open(&outputs, &plan, &facts)?;
    let mut output = Output::new(asked.form(), facts, &plan);
    let interrupt = measure::interrupt();
    let run = match measure::run(&mut Site::default(), &plan, &interrupt, &mut output) {
        Ok((run, _)) => run,
        Err(LabError::Engine(error)) => return not_reached(error, &plan),
        Err(why) => return Err(UserError::elsewhere(&why)),
    };
    let document = Document::new(output.facts(), &plan, &run.record);
    let printed = output.finish(&document);
    // The result is written, and findings are reported, even if nothing could be printed.
    console::lines(&findings::render(&document, "wrk"));
    let done = run.done(&plan).map(drop).map_err(|error| UserError::elsewhere(&error));
    written.end(&document).and(printed).and(done)?;
    Ok(Exit::elsewhere(&document).into())
}

/// Refuses like wrk: with a line on the standard error, the usage on the standard output, and exit
/// code 1.
fn refuse(name: Name, refusal: Refusal) -> Result<ExitCode, UserError> {
    if let Some(message) = refusal.message {
        console::say(message);
    }
    console::print(usage::of(name))?;
    Ok(Exit::CouldNotRun.into())
}

/// The error for an unreachable server, in wrk's words; any other error in ours.
fn not_reached(error: EngineError, plan: &Plan) -> Result<ExitCode, UserError> {
    let Endpoint::Tcp { host, port } = &plan.target.endpoint else {
        return Err(UserError::elsewhere(&LabError::Engine(error)));
    };
    // wrk names the service: the port if typed, otherwise the scheme.
    let service = match plan.target.authority.ends_with(&format!(":{port}")) {
        true => port.to_string(),
        false => "http".to_owned(),
    };
    match &error {
        EngineError::Resolve { reason, .. } => {
            console::say(format_args!("unable to resolve {host}:{service} {reason}"));
        }
        EngineError::NoConnection { first: Some(failure), .. }
            if failure.kind != ConnectErrorKind::Handshake =>
        {
            let reason = match &failure.why {
                ConnectCause::System(errno) => system_words(*errno),
                ConnectCause::Other(reason) => reason.to_string(),
            };
            console::say(format_args!("unable to connect to {host}:{service} {reason}"));
        }
        _ => return Err(UserError::elsewhere(&LabError::Engine(error))),
    }
    Ok(Exit::CouldNotRun.into())
}

/// Why these words are refused; for tests of documentation pages.
#[cfg(test)]
pub(crate) fn refusal(name: Name, words: &[String]) -> Option<String> {
    let refusal = arguments::parse(name, words).request.err()?;
    Some(refusal.message.unwrap_or_default())
}

/// The text of `strerror` for errors of a connection, as wrk prints it.
fn system_words(errno: i32) -> String {
    let words = match Errno::from_raw_os_error(errno) {
        Errno::CONNREFUSED => "Connection refused",
        Errno::CONNRESET => "Connection reset by peer",
        Errno::TIMEDOUT => "Connection timed out",
        Errno::NETUNREACH => "Network is unreachable",
        Errno::HOSTUNREACH => "No route to host",
        Errno::ADDRNOTAVAIL => "Cannot assign requested address",
        Errno::MFILE => "Too many open files",
        other => return std::io::Error::from(other).to_string(),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_under_which_it_is_started_counts() {
        let told = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            invocation(&words).map(|(name, rest)| (name, rest.to_vec()))
        };
        let rest = vec!["-c1".to_owned()];
        assert_eq!(told(&["/usr/bin/wrk", "-c1"]), Some((Name::Wrk, rest.clone())));
        assert_eq!(told(&["wrk2", "-c1"]), Some((Name::Wrk2, rest.clone())));
        assert_eq!(told(&["./candor", "wrk", "-c1"]), Some((Name::CandorWrk, rest.clone())));
        assert_eq!(told(&["./candor", "wrk2", "-c1"]), Some((Name::Wrk2, rest)));
        assert_eq!(told(&["candor", "run", "wrk"]), None);
        assert_eq!(told(&["candor"]), None);
        assert_eq!(told(&["wrk3"]), None);
    }
}
