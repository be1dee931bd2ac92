//! `candor ghz`: ghz's command line and its output. The program also does this when it is started under the name `ghz`.
//!
//! The words become [`arguments::Asked`], which becomes options of a run ([`plan`]), and the run's document becomes the
//! output. Candor's additional findings go to the standard error.

mod arguments;
mod data;
mod flags;
mod plan;
mod tags;
mod usage;

use std::net::IpAddr;
use std::process::ExitCode;

use candor_engine::Observer;
use candor_lab::Site;
use candor_plan::redact::{Kind, Typed};
use candor_record::Traced;
use candor_render::ghz::{self, Run, csv, influx, json, summary};
use candor_render::{Depth, compose};
use candor_report::Document;
use candor_report::document::latency::DecodeError;

use self::arguments::{Asked, Format, Request};
use self::flags::{FLAGS, Id};
use crate::exit::{Exit, UserError};
use crate::facts::facts;
use crate::files::Disk;
use crate::getopt::{self, Meaning, Refusal};
use crate::outputs::Outputs;
use crate::{console, findings, measure};

pub(crate) use usage::HELP;

/// The name under which the program was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// `candor ghz`.
    CandorGhz,
    /// `ghz`, by a link.
    Ghz,
}

impl Name {
    fn as_str(self) -> &'static str {
        match self {
            Name::CandorGhz => "candor ghz",
            Name::Ghz => "ghz",
        }
    }
}

/// The name and the arguments after it, if the command line is for this module.
pub(crate) fn invocation(typed: &[String]) -> Option<(Name, &[String])> {
    let (is_link, rest) = getopt::invocation(typed, "ghz")?;
    Some((if is_link { Name::Ghz } else { Name::CandorGhz }, rest))
}

/// The meanings of its options' values.
pub(crate) fn meaning(name: getopt::Name<'_>) -> Option<Meaning> {
    getopt::meaning(FLAGS, name, |id| match id {
        Id::Data | Id::Metadata | Id::Tags => Kind::Hidden,
        _ => Kind::Plain,
    })
}

pub(crate) fn ghz(name: Name, words: &[String], typed: Typed) -> Result<ExitCode, UserError> {
    let asked = match arguments::parse(name, words, &Disk) {
        Ok(Request::Run(asked)) => asked,
        Ok(Request::Help) => {
            console::print(HELP)?;
            return Ok(Exit::Fine.into());
        }
        Ok(Request::Version) => {
            console::print(&usage::version())?;
            return Ok(Exit::Fine.into());
        }
        Err(refusal) => return Ok(refuse(&refusal)),
    };
    let (plan, outputs) = match plan::build(&asked, &Disk) {
        Ok(built) => built,
        Err(refusal) => return Ok(refuse(&refusal)),
    };
    let facts = facts(typed);
    let written = Outputs::open(&outputs, &plan, &facts)?;
    if let Some(path) = &asked.output {
        candor_files::check(path).map_err(|error| {
            UserError::usage(format!("output: {}: {error}; choose another file", path.display()))
        })?;
    }
    for note in &asked.notes {
        console::say(format_args!("candor: {note}"));
    }
    let interrupt = measure::interrupt();
    let mut watcher = Watcher::default();
    let run = measure::run(&mut Site::default(), &plan, &interrupt, &mut watcher);
    let (run, _) = run.map_err(|error| UserError::elsewhere(&error))?;
    let document = Document::new(&facts, &plan, &run.record);
    let calls = ghz::ended(watcher.calls, asked.skip_first);
    let text = text(&document, &asked, &calls).map_err(UserError::could_not_run)?;
    let printed = match &asked.output {
        Some(path) => candor_files::write_atomically(path, text.as_bytes())
            .map_err(|error| UserError::could_not_run(format!("output: {error}"))),
        None => console::print(&text),
    };
    // The result is written, and findings are reported, even if nothing could be printed.
    console::lines(&findings::render(&document, "ghz"));
    written.end(&document).and(printed)?;
    Ok(Exit::elsewhere(&document).into())
}

/// As many calls are kept as by ghz.
const MOST_CALLS: usize = 1_000_000;

/// Prints nothing that ghz would not print, but where calls go. Keeps calls, if the run has a trace.
#[derive(Default)]
struct Watcher {
    calls: Vec<Traced>,
}

impl Observer for Watcher {
    fn traced(&mut self, requests: &[Traced]) {
        let room = MOST_CALLS - self.calls.len();
        self.calls.extend_from_slice(&requests[..requests.len().min(room)]);
    }

    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        console::public_target(host, addresses);
    }
}

fn text(document: &Document, asked: &Asked, calls: &[Traced]) -> Result<String, DecodeError> {
    let run = Run {
        document,
        name: asked.name.as_deref(),
        tags: asked.tags.as_ref(),
        calls,
        chosen: asked.skip_first > 0 || asked.count_errors,
        count_errors: asked.count_errors,
    };
    match asked.format {
        Format::Summary => summary::summary(&run),
        Format::Json => json::report(&run, false),
        Format::Pretty => json::report(&run, true),
        Format::Csv => Ok(csv(&run)),
        Format::Html => Ok(compose::run(document, Depth::Full).html()),
        Format::InfluxSummary => influx::summary(&run, &tags::tags(asked)),
        Format::InfluxDetails => Ok(influx::details(&run, &tags::tags(asked))),
    }
}

/// Refuses like ghz: with a line on the standard error, and exit code 1.
fn refuse(refusal: &Refusal) -> ExitCode {
    console::say(&refusal.0);
    Exit::CouldNotRun.into()
}

/// Why these words are refused; for tests of documentation pages.
#[cfg(test)]
pub(crate) fn refusal(name: Name, words: &[String]) -> Option<String> {
    arguments::parse(name, words, &Disk).err().map(|refusal| refusal.0)
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
        assert_eq!(told(&["/usr/bin/ghz", "-c1"]), Some((Name::Ghz, rest.clone())));
        assert_eq!(told(&["./candor", "ghz", "-c1"]), Some((Name::CandorGhz, rest)));
        assert_eq!(told(&["candor", "run", "ghz"]), None);
    }
}
