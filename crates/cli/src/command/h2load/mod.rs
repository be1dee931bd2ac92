//! `candor h2load`: h2load's command line, its output and its exit codes. The program also does
//! this when it is started under the name `h2load`.
//!
//! The words become [`arguments::Asked`], which becomes options of a run ([`plan`]), and the run's
//! document becomes the output. The standard output has only text that h2load would print too;
//! Candor's additional findings go to the standard error.

mod arguments;
mod flags;
mod log_file;
mod output;
mod plan;
mod script;
mod tls_names;
mod usage;
mod values;

use std::process::ExitCode;

use candor_lab::Site;
use candor_plan::redact::{Kind, Typed};
use candor_report::Document;

use self::arguments::Request;
use self::flags::{FLAGS, Id};
use self::log_file::LogFile;
use self::output::Output;
use crate::exit::{Exit, UserError};
use crate::facts::facts;
use crate::files::Disk;
use crate::getopt::{self, Meaning, Refusal};
use crate::outputs::Outputs;
use crate::{console, findings, measure};

pub(crate) use usage::HELP;

/// The name under which the program was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Name {
    /// `candor h2load`.
    #[default]
    CandorH2load,
    /// `h2load`, by a link.
    H2load,
}

impl Name {
    fn as_str(self) -> &'static str {
        match self {
            Name::CandorH2load => "candor h2load",
            Name::H2load => "h2load",
        }
    }
}

/// The name and the arguments after it, if the command line is for this module.
pub(crate) fn invocation(typed: &[String]) -> Option<(Name, &[String])> {
    let (is_link, rest) = getopt::invocation(typed, "h2load")?;
    Some((if is_link { Name::H2load } else { Name::CandorH2load }, rest))
}

/// The meanings of its options' values.
pub(crate) fn meaning(name: getopt::Name<'_>) -> Option<Meaning> {
    getopt::meaning(FLAGS, name, |id| match id {
        Id::Header => Kind::Header,
        Id::BaseUri => Kind::Url,
        _ => Kind::Plain,
    })
}

pub(crate) fn h2load(name: Name, words: &[String], typed: Typed) -> Result<ExitCode, UserError> {
    let asked = match arguments::parse(name, words) {
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
    let log = match asked.log_file.as_deref().map(LogFile::create).transpose() {
        Ok(log) => log,
        Err(refusal) => return Ok(refuse(&refusal)),
    };
    for note in &asked.notes {
        console::say(format_args!("candor: {note}"));
    }

    let mut output = Output::new(facts.clone(), &plan, log, &asked);
    output.open();
    let interrupt = measure::interrupt();
    let run = measure::run(&mut Site::default(), &plan, &interrupt, &mut output);
    let (run, _) = run.map_err(|error| UserError::elsewhere(&error))?;
    let document = Document::new(&facts, &plan, &run.record);
    let printed = output.finish(&document, run.record.trace.dropped);
    // The result is written, and findings are reported, even if nothing could be printed.
    console::lines(&findings::render(&document, "h2load"));
    written.end(&document).and(printed)?;
    Ok(Exit::elsewhere(&document).into())
}

/// Refuses like h2load: with a line on the standard error, and exit code 1.
fn refuse(refusal: &Refusal) -> ExitCode {
    console::say(&refusal.0);
    Exit::CouldNotRun.into()
}

/// Why these words are refused; for tests of documentation pages.
#[cfg(test)]
pub(crate) fn refusal(name: Name, words: &[String]) -> Option<String> {
    arguments::parse(name, words).err().map(|refusal| refusal.0)
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
        assert_eq!(told(&["/usr/bin/h2load", "-c1"]), Some((Name::H2load, rest.clone())));
        assert_eq!(told(&["./candor", "h2load", "-c1"]), Some((Name::CandorH2load, rest)));
        assert_eq!(told(&["candor", "run", "h2load"]), None);
        assert_eq!(told(&["h2load2"]), None);
    }
}
