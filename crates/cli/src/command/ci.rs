//! `candor ci`: base against head in one job, with the noise floor of this machine. A comparison whose baseline is
//! measured twice.

use std::path::Path;
use std::process::ExitCode;

use candor_lab::Interrupt;
use candor_lab::revision::Revision;
use candor_plan::options::Options;
use candor_plan::redact::Typed;
use candor_plan::{Secrets, words};
use clap::Args;

use crate::comparing::what::{self, Kind, What};
use crate::comparing::{Comparing, ComparingFlags, Usual};
use crate::exit::UserError;
use crate::facts::facts;
use crate::{console, measure};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor ci -R 500 base='./base/server --port {port}' head='./head/server --port {port}'
      Two commands, each started anew for each of its runs. p99 decides.
  candor ci -c 50 --primary rate --fail-if-slower 3% base='./old {port}' head='./new {port}'
      A closed loop; the rate decides, and 3 % are allowed.
  candor ci -R 500 --base main --head HEAD --build 'make' --run './server --port {port}'
      Two revisions of the repository in this directory, each in a worktree of its own.
  candor ci -R 500 --expect 'p99 < 20ms' --out github base='./base/server' head='./head/server'
      An objective beside it, met or missed by most runs of head; annotations for GitHub.

A round takes three runs, of 5 s after 1 s of warm-up (--duration, --warm-up); 12 rounds some four minutes.
docs/ci.md has workflows to copy, docs/compare.md the method.";

/// The rounds: each of the six orders twice.
const ROUNDS: u64 = 12;
/// By how much head may be slower.
const SLOWER: f64 = 0.02;
/// The names of operands without one.
const NAMES: [&str; 2] = ["base", "head"];

#[derive(Debug, Args)]
pub(crate) struct CiArguments {
    #[command(flatten)]
    options: Options,
    /// The head: a command, a URL or a plan
    #[arg(value_name = "[NAME=]HEAD", index = 2)]
    other: Option<String>,
    /// The revision of git that is the base
    #[arg(long, value_name = "REV", help_heading = "Revisions", requires_all = ["head", "run"], conflicts_with = "url")]
    base: Option<String>,
    /// The revision that is the head
    #[arg(long, value_name = "REV", help_heading = "Revisions", requires = "base")]
    head: Option<String>,
    /// Build a revision with this command of a shell, in its worktree
    #[arg(long, value_name = "COMMAND", help_heading = "Revisions", requires = "base")]
    build: Option<String>,
    /// Start the server of a revision with this command, in its worktree
    ///
    /// Program and arguments in one word; there is no shell. {port} in it becomes a free port.
    #[arg(long, value_name = "COMMAND", help_heading = "Revisions", requires = "base")]
    run: Option<String>,
    #[command(flatten)]
    flags: ComparingFlags,
}

pub(crate) fn ci(arguments: CiArguments, typed: Typed) -> Result<ExitCode, UserError> {
    let CiArguments { mut options, other, base, head, build, run, flags } = arguments;
    let quiet = options.output.quiet;
    let first = options.url.take();
    let usual = Usual { rounds: ROUNDS, slower_limit: Some(SLOWER) };
    let comparing = Comparing::new("ci", flags, options, usual)?.with_twin()?;
    let (whats, _revisions) = match (base, head, run) {
        (Some(base), Some(head), Some(run)) => {
            let build = Build { command: build.as_deref(), run: &run, quiet };
            build.both([base, head], comparing.secrets())?
        }
        _ => {
            let words: Vec<String> = first.into_iter().chain(other).collect();
            if words.len() < 2 {
                return Err(UserError::usage(
                    "candor ci needs a base and a head: two commands, or --base REV --head REV --run COMMAND; \
                     `candor ci --help` has examples",
                ));
            }
            (what::all(&words, &NAMES, comparing.secrets())?, Vec::new())
        }
    };
    if let Some(saved) = whats.iter().find(|one| matches!(one.kind, Kind::Saved(_))) {
        return Err(UserError::usage(format!(
            "{}: candor ci measures both sides in turn; `candor compare` compares saved results",
            saved.source
        )));
    }
    comparing.check(&whats)?;
    let outcome = comparing.measure("ci", whats, facts(typed))?;
    comparing.give_out(outcome)
}

/// How revisions become servers.
struct Build<'a> {
    command: Option<&'a str>,
    run: &'a str,
    quiet: bool,
}

impl Build<'_> {
    /// Both revisions, checked out and built. They are there as long as the second value is.
    fn both(
        &self,
        names: [String; 2],
        secrets: Secrets,
    ) -> Result<(Vec<What>, Vec<Revision>), UserError> {
        let command = words::split(self.run)
            .map_err(|problem| UserError::usage(format!("--run: {problem}")))?;
        let interrupt = measure::interrupt();
        let mut whats = Vec::new();
        let mut revisions = Vec::new();
        for (name, revision) in NAMES.into_iter().zip(names) {
            let made = self.one(&revision, &interrupt)?;
            whats.push(What {
                name: name.to_owned(),
                source: format!(
                    "{revision} ({}): {}",
                    made.short(),
                    secrets.command_line(self.run)
                ),
                kind: Kind::Command(command.clone()),
                dir: Some(made.path().to_owned()),
            });
            revisions.push(made);
        }
        Ok((whats, revisions))
    }

    fn one(&self, name: &str, interrupt: &Interrupt) -> Result<Revision, UserError> {
        let made = Revision::check_out(name, Path::new("."))?;
        if let Some(command) = self.command {
            if !self.quiet {
                console::say(format_args!("candor: building {name} ({})", made.short()));
            }
            made.build(command, interrupt)?;
        }
        Ok(made)
    }
}
