//! `candor compare`: variants under the same load in interleaved rounds, or saved results, and the
//! conclusion.

mod rounds;
pub(crate) mod what;

use candor_plan::describe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use candor_lab::compare::{self, About, DEFAULT_CONFIDENCE, DEFAULT_ROUNDS, Group, Settings};
use candor_lab::{LabError, Outcome};
use candor_plan::Out;
use candor_plan::Secrets;
use candor_plan::options::Options;
use candor_plan::redact::Typed;
use candor_plan::units::parse_share;
use candor_plan::values::SmallCount;
use candor_render::compose;
use candor_report::document::Tool;
use candor_report::experiment::comparison::{Comparison, Metric, Variant};
use candor_report::{Document, Facts, read};
use clap::Args;

use crate::exit::{Exit, UserError};
use crate::facts::facts;
use crate::forms::{self, COMPARISON};
use crate::profiling::NoProfile;
use crate::target_flags::{CoreFlags, ReadyFlags};
use crate::{console, input, remedy};
use what::{Kind, What};

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
    /// Rounds; each has one run of every variant [default: 10]
    #[arg(long, value_name = "N", help_heading = "Comparison")]
    rounds: Option<SmallCount>,
    /// The metric that decides: rate, p50, p90, p99, p99.9, errors or cpu
    /// [default: rate in a closed loop, p99 in an open load]
    #[arg(long, value_name = "METRIC", value_parser = metric, help_heading = "Comparison")]
    primary: Option<Metric>,
    /// Confidence of intervals and conclusions [default: 95%]
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Comparison")]
    confidence: Option<f64>,
    /// Exit with 3 if a variant fails, or is slower than the first by more than this, with confidence
    ///
    /// Exit with 6 if that cannot be told: the interval contains the limit, or samples are too few.
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Comparison")]
    fail_if_slower: Option<f64>,
    /// Keep the result of every single run in this directory
    #[arg(long, value_name = "DIR", help_heading = "Comparison")]
    keep: Option<PathBuf>,
    /// Write the report as Markdown
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    ready: ReadyFlags,
    #[command(flatten)]
    cores: CoreFlags,
    #[command(flatten)]
    profile: NoProfile,
}

pub(crate) fn compare(
    mut arguments: CompareArguments,
    typed: Typed,
) -> Result<ExitCode, UserError> {
    arguments.profile.check("compare")?;
    let first = arguments.options.url.take();
    let words: Vec<String> =
        first.into_iter().chain(std::mem::take(&mut arguments.others)).collect();
    let whats = what::all(&words, arguments.secrets())?;
    check_options(&arguments.options)?;
    let markdown = arguments.markdown.take().map(|path| Out::new("markdown", path));
    arguments.options.output.out.extend(markdown);
    let outputs = arguments.options.outputs();
    forms::check(&outputs)?;
    let facts = facts(typed);
    let starts_one = whats.iter().any(|what| matches!(what.kind, Kind::Command(_)));
    arguments.ready.check(starts_one, "give a command as a variant")?;
    let is_saved = whats.iter().any(|one| matches!(one.kind, Kind::Saved(_)));
    let Outcome { document: comparison, stopped } = match is_saved {
        true => Outcome { document: of_saved(&arguments, &whats, facts)?, stopped: None },
        false => rounds::measure(&arguments, whats, facts)?,
    };
    COMPARISON.give_out(&comparison, &outputs)?;
    if let Some(why) = &stopped
        && !matches!(why, LabError::Interrupted)
    {
        console::say(format_args!("candor: {}", remedy::told(why)));
    }
    if forms::depth(outputs.report).is_none() {
        console::misses(compose::misses_of_comparison(&comparison));
    }
    let nothing_worked = comparison.variants.iter().any(Variant::is_failed);
    Ok(match (stopped, comparison.gate()) {
        (Some(why), _) => Exit::stopped(&why),
        (None, Some(gate)) => gate.into(),
        (None, None) if nothing_worked && !outputs.allow_failures => Exit::CouldNotRun,
        (None, None) => Exit::Fine,
    }
    .into())
}

/// Refuses options of single runs.
fn check_options(options: &Options) -> Result<(), UserError> {
    let refused =
        [("--expect", !options.output.expect.is_empty(), "a comparison has --fail-if-slower")];
    input::refuse("compare", refused)?;
    input::refuse_outputs_of_runs("compare", &options.output)
}

impl CompareArguments {
    fn secrets(&self) -> Secrets {
        Secrets::shown_if(self.options.output.show_secrets)
    }

    fn settings(&self, is_open: bool) -> Settings {
        let usual = if is_open { Metric::P99 } else { Metric::Rate };
        Settings {
            rounds: self.rounds.map_or(DEFAULT_ROUNDS, |count| count.get().into()),
            confidence: self.confidence.unwrap_or(DEFAULT_CONFIDENCE),
            seed: self.options.load.seed.unwrap_or(1),
            primary: self.primary.unwrap_or(usual),
            slower_limit: self.fail_if_slower,
        }
    }
}

fn about(facts: Facts, load: String, secrets: Secrets) -> About {
    About { tool: Tool::of(&facts), arguments: facts.typed.shown(secrets), host: facts.host, load }
}

fn of_saved(
    arguments: &CompareArguments,
    whats: &[What],
    facts: Facts,
) -> Result<Comparison, UserError> {
    let groups: Vec<Group> = whats.iter().map(group).collect::<Result<_, _>>()?;
    let first = groups.iter().flat_map(|one| &one.results).next();
    let is_open = first.is_some_and(|(_, one)| one.rate.asked_per_s.is_some());
    let load = first.map(|(_, one)| describe::load(&one.plan)).unwrap_or_default();
    Ok(compare::saved(
        &groups,
        &arguments.settings(is_open),
        about(facts, load, arguments.secrets()),
    )?)
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

fn metric(text: &str) -> Result<Metric, String> {
    Metric::of_name(text).ok_or_else(|| {
        let names = Metric::ALL.map(Metric::name);
        let hint = candor_plan::suggest::did_you_mean(text, names);
        format!("there is no metric \"{text}\"; write {}{hint}", names.join(", "))
    })
}

fn share(text: &str) -> Result<f64, String> {
    parse_share(text).map_err(|error| error.to_string())
}
