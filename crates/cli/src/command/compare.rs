//! `candor compare`: variants under the same load in interleaved rounds, or saved results, and the
//! conclusion.

use std::path::Path;
use std::process::ExitCode;

use candor_lab::Outcome;
use candor_lab::compare::{self, DEFAULT_ROUNDS, Group};
use candor_plan::describe;
use candor_plan::options::Options;
use candor_plan::redact::Typed;
use candor_report::experiment::comparison::Comparison;
use candor_report::{Document, Facts, read};
use clap::Args;

use crate::comparing::what::{self, Kind, What};
use crate::comparing::{Comparing, ComparingFlags, Usual};
use crate::exit::UserError;
use crate::facts::facts;

pub(crate) const EXAMPLES: &str = "\
What can be compared:
  http://localhost:8080/json            a running server
  'my-server --workers 4'               a command: started for each run, with --port-file FILE
  'embedded --threads 2'                the embedded target, with arguments of `candor serve`
  plan.toml                             a plan; typed options override it
  before-1.json,before-2.json or DIR    results saved by --json or --keep
Each may have a name in front: old=http://localhost:8080/

Examples:
  candor compare http://localhost:8080/ http://localhost:8081/
      Ten rounds, each with a closed-loop run of both in random order. The rate decides.
  candor compare -R 5k --primary p99 old='./server-1.2' new='./server-1.3'
      An open load; both servers are started fresh for each run. p99 decides.
  candor compare --fail-if-slower 5% --rounds 12 old=./a.toml new=./b.toml
      For CI: exit code 3 if the second fails or is slower by more than 5 %, 6 if it cannot tell.
  candor compare results/monday results/tuesday
      Saved results. They were not interleaved, so a drift of the machine is part of the difference.

A difference is claimed only if equal variants would show one as large in fewer than one of twenty
comparisons (--confidence). docs/compare.md explains the method.";

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    options: Options,
    /// The variant to compare with A; may be repeated
    #[arg(value_name = "[NAME=]B", index = 2)]
    others: Vec<String>,
    #[command(flatten)]
    flags: ComparingFlags,
}

pub(crate) fn compare(arguments: CompareArguments, typed: Typed) -> Result<ExitCode, UserError> {
    let CompareArguments { mut options, others, flags } = arguments;
    let words: Vec<String> = options.url.take().into_iter().chain(others).collect();
    let usual = Usual { rounds: DEFAULT_ROUNDS, slower_limit: None };
    let comparing = Comparing::new("compare", flags, options, usual)?;
    let whats = what::all(&words, &[], comparing.secrets())?;
    comparing.check(&whats)?;
    let facts = facts(typed);
    let outcome = match whats.iter().any(|one| matches!(one.kind, Kind::Saved(_))) {
        true => Outcome { document: of_saved(&comparing, &whats, facts)?, stopped: None },
        false => comparing.measure("compare", whats, facts)?,
    };
    comparing.give_out(outcome)
}

fn of_saved(comparing: &Comparing, whats: &[What], facts: Facts) -> Result<Comparison, UserError> {
    let groups: Vec<Group> = whats.iter().map(group).collect::<Result<_, _>>()?;
    let first = groups.iter().flat_map(|one| &one.results).next();
    let is_open = first.is_some_and(|(_, one)| one.rate.asked_per_s.is_some());
    let load = first.map(|(_, one)| describe::load(&one.plan)).unwrap_or_default();
    Ok(compare::saved(&groups, &comparing.settings(is_open), comparing.about(facts, load))?)
}

fn group(what: &What) -> Result<Group, UserError> {
    let Kind::Saved(files) = &what.kind else {
        return Err(UserError::usage(format!(
            "{} is not a saved result, but others are; compare either saved results or targets to measure",
            what.source
        )));
    };
    let results = files.iter().map(|file| Ok((file.display().to_string(), saved(file)?)));
    Ok(Group {
        name: what.name.clone(),
        source: what.source.clone(),
        results: results.collect::<Result<_, UserError>>()?,
    })
}

fn saved(file: &Path) -> Result<Document, UserError> {
    let wrong = |why: String| UserError::usage(format!("{}: {why}", file.display()));
    let text = read::text_of(file).map_err(|error| wrong(error.to_string()))?;
    Document::from_json(&text).map_err(|error| wrong(error.to_string()))
}
