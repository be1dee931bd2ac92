//! `candor peak`: the highest rate that still meets an objective.

use std::path::PathBuf;
use std::process::ExitCode;

use candor_lab::peak::{Settings, find};
use candor_plan::options::Options;
use candor_plan::redact::Typed;
use candor_plan::units::{fmt_duration_ns, parse_share};
use candor_plan::values::{PositiveNanos, SmallCount};
use candor_plan::{Out, Outputs};
use candor_report::Expectation;
use candor_report::experiment::peak::{Peak, Who};
use clap::Args;

use crate::console;
use crate::exit::{Exit, UserError};
use crate::experiment::{Made, Ready};
use crate::fleet::FleetFlags;
use crate::forms::{self, PEAK};
use crate::profiling::NoProfile;
use crate::target_flags::TargetFlags;

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor peak http://localhost:8080/
      The highest throughput: connections are doubled until more of them bring no gain.
  candor peak --objective 'p99 < 10ms' 'errors < 0.1%' --arrivals poisson URL
      The highest rate that meets both, with arrivals like those of independent users.
  candor peak --target './server --port 0' --objective 'p99 < 10ms' --json peak.json
      Starts the server on the first half of the cores, and ends it. `candor sweep --peak
      peak.json` continues from there.

Each run takes --duration after --warm-up. Both ends of the result are confirmed by
repetitions in random order: eight of eight runs agree, or 12 of 13. If they do not, the result is a wider
interval, with 95 % confidence, or `cannot tell`. Exit codes as of `candor run`; 3: no rate meets the
objectives, 6: cannot tell.";

#[derive(Debug, Args)]
pub(crate) struct PeakArguments {
    /// The objectives to meet, e.g. 'p99 < 10ms' or 'errors < 0.1%' [default: none: find the
    /// highest throughput]
    ///
    /// The grammar is that of `candor run --expect`. Takes several values.
    #[arg(long, value_name = "OBJECTIVE", num_args = 1.., help_heading = "Peak")]
    objective: Vec<String>,
    /// Stop when the highest rate that meets the objectives and the lowest that misses them are
    /// this close
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = precision, help_heading = "Peak")]
    precision: f64,
    /// Most runs of one load; fewer than 9 confirm nothing
    #[arg(long, value_name = "N", default_value = "20", help_heading = "Peak")]
    most_runs: SmallCount,
    /// Most time of the search [default: that of 100 runs]
    #[arg(long, value_name = "TIME", help_heading = "Peak")]
    most_time: Option<PositiveNanos>,
    /// Most connections to try; --connections fixes the number instead
    #[arg(long, value_name = "N", default_value = "1024", help_heading = "Peak")]
    most_connections: SmallCount,
    /// Keep the result of every single run in this directory
    #[arg(long, value_name = "DIR", help_heading = "Peak")]
    keep: Option<PathBuf>,
    /// Write the report as Markdown
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    profile: NoProfile,
    #[command(flatten)]
    fleet: FleetFlags,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn peak(arguments: PeakArguments, typed: Typed) -> Result<ExitCode, UserError> {
    arguments.profile.check("peak")?;
    let PeakArguments { objective, precision, keep, markdown, target, fleet, mut options, .. } =
        arguments;
    options.output.out.extend(markdown.map(|path| Out::new("markdown", path)));
    let objectives = objectives(objective, &mut options)?;
    let ready = Ready::new("peak", options, &target, &fleet, typed)?;
    let settings = Settings {
        objectives,
        connections: ready.connections,
        most_connections: arguments.most_connections.get(),
        precision,
        most_runs: arguments.most_runs.get(),
        most_time_ns: arguments.most_time.map(PositiveNanos::get),
        ..Settings::default()
    };
    if !ready.outputs.quiet {
        let most = fmt_duration_ns(settings.most_time_ns(&ready.plan));
        console::say(format_args!("candor: the search takes at most {most} (--most-time)"));
    }
    let facts = ready.facts().clone();
    let made = ready.make(keep.as_deref(), |plan, runner, progress| {
        Ok(find(plan, &settings, &facts, runner, progress)?)
    })?;
    PEAK.give_out(&made.document, &made.outputs)?;
    if forms::depth(made.outputs.report).is_none() && made.document.answer.is_none() {
        console::misses(made.document.sentences.iter().cloned());
    }
    Ok(exit(&made).into())
}

/// The objectives. If a URL follows the values of `--objective`, the parser takes it for one of
/// them.
fn objectives(words: Vec<String>, options: &mut Options) -> Result<Vec<Expectation>, UserError> {
    let (urls, objectives): (Vec<String>, Vec<String>) =
        words.into_iter().partition(|word| is_url(word));
    match (urls.as_slice(), &options.url) {
        ([], _) => {}
        ([url], None) => options.url = Some(url.clone()),
        _ => return Err(UserError::usage("two URLs are given; give one")),
    }
    let parse = |text: &String| {
        Expectation::parse(text).map_err(|error| UserError::usage(format!("--objective {error}")))
    };
    objectives.iter().map(parse).collect()
}

fn is_url(word: &str) -> bool {
    word.contains("://") || candor_plan::looks_like_plan(word)
}

fn precision(text: &str) -> Result<f64, String> {
    let share = parse_share(text).map_err(|error| error.to_string())?;
    match (0.001..=0.5).contains(&share) {
        true => Ok(share),
        false => Err("write a share from 0.1% to 50%".to_owned()),
    }
}

fn exit(made: &Made<Peak>) -> Exit {
    let Made { document: peak, outputs: Outputs { strict, .. }, is_interrupted } = made;
    match (&peak.partial, &peak.answer) {
        (Some(_), _) if *is_interrupted => Exit::Interrupted,
        (Some(_), _) => Exit::CouldNotRun,
        _ if peak.cannot_tell.is_some() => Exit::CannotTell,
        (None, None) => Exit::ExpectationNotMet,
        (None, Some(_)) if *strict && peak.limit.who == Who::Loader => Exit::NotTrustworthy,
        (None, Some(_)) => Exit::Fine,
    }
}
