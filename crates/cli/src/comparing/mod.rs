//! Comparisons of what is measured, for `candor compare` and `candor ci`: the operands, the flags of both, the rounds, and
//! what is left of them: the report, and the exit code. The statistics are lab's.

mod rounds;
pub(crate) mod what;

use std::path::PathBuf;
use std::process::ExitCode;

use candor_lab::compare::{About, DEFAULT_CONFIDENCE, Settings};
use candor_lab::{LabError, Outcome};
use candor_plan::options::Options;
use candor_plan::units::parse_share;
use candor_plan::values::SmallCount;
use candor_plan::{Out, Outputs, ReportDepth, Secrets};
use candor_render::compose;
use candor_report::document::Outcome as Gate;
use candor_report::document::Tool;
use candor_report::experiment::comparison::{Comparison, Metric, Variant};
use candor_report::{Expectation, Facts};
use clap::Args;

use crate::exit::{Exit, UserError};
use crate::forms::{self, COMPARISON};
use crate::profiling::NoProfile;
use crate::target_flags::{CoreFlags, ReadyFlags};
use crate::{console, input, refusals, remedy};
use what::{Kind, What};

/// The flags of comparisons.
#[derive(Debug, Clone, Args)]
pub(crate) struct ComparingFlags {
    /// Rounds; each has one run of every variant [default: 10; of ci: 12]
    #[arg(long, value_name = "N", help_heading = "Comparison")]
    rounds: Option<SmallCount>,
    /// The metric that decides: rate, p50, p90, p99, p99.9, errors or cpu
    /// [default: rate in a closed loop, p99 in an open load]
    #[arg(long, value_name = "METRIC", value_parser = metric, help_heading = "Comparison")]
    primary: Option<Metric>,
    /// Confidence of intervals and conclusions [default: 95%]
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Comparison")]
    confidence: Option<f64>,
    /// Exit with 3 if a variant fails, or is slower than the first by more than this, with confidence [default of ci: 2%]
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

/// The settings that the user did not choose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usual {
    pub(crate) rounds: u64,
    pub(crate) slower_limit: Option<f64>,
}

/// A comparison that was asked for.
#[derive(Debug)]
pub(crate) struct Comparing {
    flags: ComparingFlags,
    usual: Usual,
    pub(crate) options: Options,
    outputs: Outputs,
    /// Objectives of the variants.
    objectives: Vec<Expectation>,
    /// Whether the baseline is measured twice.
    has_twin: bool,
}

impl Comparing {
    /// Refuses flags of single runs, and outputs that cannot be written. `command` is its name, for errors.
    pub(crate) fn new(
        command: &str,
        mut flags: ComparingFlags,
        mut options: Options,
        usual: Usual,
    ) -> Result<Self, UserError> {
        flags.profile.check(command)?;
        refusals::check(command, &options)?;
        input::look_for_slips(&options)?;
        let markdown = flags.markdown.take().map(|path| Out::new("markdown", path));
        options.output.out.extend(markdown);
        let outputs = options.outputs();
        forms::check(&outputs)?;
        Ok(Comparing { flags, usual, options, outputs, objectives: Vec::new(), has_twin: false })
    }

    /// Measures the baseline twice, and judges each run of the others by the objectives of the options.
    pub(crate) fn with_twin(mut self) -> Result<Self, UserError> {
        let parse = |text: &String| {
            Expectation::parse(text).map_err(|error| UserError::usage(format!("--expect {error}")))
        };
        self.objectives = self.options.output.expect.iter().map(parse).collect::<Result<_, _>>()?;
        self.has_twin = true;
        Ok(self)
    }

    pub(crate) fn secrets(&self) -> Secrets {
        Secrets::shown_if(self.options.output.show_secrets)
    }

    pub(crate) fn settings(&self, is_open: bool) -> Settings {
        let usual = if is_open { Metric::P99 } else { Metric::Rate };
        let flags = &self.flags;
        Settings {
            rounds: flags.rounds.map_or(self.usual.rounds, |count| count.get().into()),
            confidence: flags.confidence.unwrap_or(DEFAULT_CONFIDENCE),
            seed: self.options.load.seed.unwrap_or(1),
            primary: flags.primary.unwrap_or(usual),
            slower_limit: flags.fail_if_slower.or(self.usual.slower_limit),
            has_twin: self.has_twin,
        }
    }

    pub(crate) fn about(&self, facts: Facts, load: String) -> About {
        let arguments = facts.typed.shown(self.secrets());
        About { tool: Tool::of(&facts), arguments, host: facts.host, load }
    }

    /// Refuses flags of managed targets where none is started.
    pub(crate) fn check(&self, whats: &[What]) -> Result<(), UserError> {
        let starts_one = whats.iter().any(|what| matches!(what.kind, Kind::Command(_)));
        self.flags.ready.check(starts_one, "give a command as a variant")
    }

    /// Makes the rounds of `command`.
    pub(crate) fn measure(
        &self,
        command: &str,
        whats: Vec<What>,
        facts: Facts,
    ) -> Result<Outcome<Comparison>, UserError> {
        rounds::measure(self, command, whats, facts)
    }

    /// Writes the outputs and the report, and returns the exit code.
    pub(crate) fn give_out(&self, outcome: Outcome<Comparison>) -> Result<ExitCode, UserError> {
        let Outcome { document: comparison, stopped } = outcome;
        let broken = comparison.variants.iter().skip(1).any(|one| one.broken.is_some());
        // Without a single run, the reason is all that there is to print. Of an interruption no other line says anything.
        let has_reason = stopped.as_ref().is_some_and(|why| !matches!(why, LabError::Interrupted));
        let is_empty = comparison.started_at.is_empty() && has_reason && !broken;
        let mut outputs = self.outputs.clone();
        if is_empty {
            outputs.report = ReportDepth::None;
        }
        COMPARISON.give_out(&comparison, &outputs)?;
        if let Some(why) = &stopped
            && !matches!(why, LabError::Interrupted)
        {
            console::say(format_args!("candor: {}", remedy::told(why)));
        }
        if forms::depth(self.outputs.report).is_none() && !is_empty {
            console::misses(compose::misses_of_comparison(&comparison));
        }
        let nothing_worked = comparison.variants.iter().any(Variant::is_failed);
        let has_baseline = comparison.variants.first().is_some_and(|one| !one.is_failed());
        Ok(match (stopped, comparison.gate()) {
            // A server that does not start is slower than any limit.
            (Some(_), Some(Gate::NotMet)) if broken => Exit::ExpectationNotMet,
            (Some(why), _) => Exit::stopped(&why),
            (None, Some(_)) if !has_baseline => Exit::CouldNotRun,
            (None, Some(gate)) => gate.into(),
            (None, None) if nothing_worked && !self.outputs.allow_failures => Exit::CouldNotRun,
            (None, None) => Exit::Fine,
        }
        .into())
    }
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
