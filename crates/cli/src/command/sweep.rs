//! `candor sweep`: latency at fractions of the peak, or at listed rates.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use candor_lab::sweep::{Asked, Settings, run};
use candor_lab::{EngineRunner, Progress, peak};
use candor_plan::Out;
use candor_plan::options::Options;
use candor_plan::redact::Typed;
use candor_plan::units::{parse_rate, parse_share};
use candor_plan::values::SmallCount;
use candor_plan::{Connections, Outputs, Plan, Rate};
use candor_report::experiment::peak::Peak;
use candor_report::experiment::sweep::Sweep;
use candor_report::read;
use clap::Args;

use crate::exit::{Exit, UserError};
use crate::experiment::{Made, Ready};
use crate::fleet::FleetFlags;
use crate::forms::SWEEP;
use crate::profiling::NoProfile;
use crate::target_flags::TargetFlags;

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor sweep http://localhost:8080/
      Measures the highest throughput, then latency at 50, 75, 90 and 95 % of it.
  candor sweep --peak peak.json --fractions 10%,50%,90% --rounds 5 URL
      Fractions of a peak found by `candor peak --json`.
  candor sweep --rates 1k,2k,5k,10k -c 100 --arrivals poisson URL
      Your own rates.

Each rate runs for --duration after --warm-up, once in each round, in an order
drawn for each round from --seed. Rows with less than 99 % of their rate are
marked (saturated), rows of which more than 1 % of the requests failed (errors).";

/// The default fractions, as in published tables.
const FRACTIONS: &str = "50%,75%,90%,95%";
/// The default connections: a multiple of those of the peak, but at least this number.
const FEWEST_CONNECTIONS: u32 = 16;
const TIMES_THE_PEAKS: u32 = 2;
/// Runs of a closed loop that measure the peak as the reference of fractions.
const REFERENCE_RUNS: u32 = 3;

#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// Rates to measure, e.g. 1k,2k,5k
    #[arg(long, value_name = "RATE[,RATE]", value_delimiter = ',', value_parser = rate, conflicts_with_all = ["fractions", "peak"], help_heading = "Sweep")]
    rates: Vec<Rate>,
    /// Fractions of the peak to measure [default: 50%,75%,90%,95%]
    #[arg(long, value_name = "SHARE[,SHARE]", value_delimiter = ',', value_parser = fraction, help_heading = "Sweep")]
    fractions: Vec<f64>,
    /// The peak: a file written by `candor peak --json`, a rate (12k/s), or now
    #[arg(long, value_name = "FILE|RATE|now", default_value = "now", help_heading = "Sweep")]
    peak: String,
    /// How often each rate is measured
    #[arg(long, value_name = "N", default_value = "3", help_heading = "Sweep")]
    rounds: SmallCount,
    /// Keep the result of every single run in this directory
    #[arg(long, value_name = "DIR", help_heading = "Sweep")]
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

/// The reference of fractions.
enum Reference {
    /// Nothing: rates are listed.
    None,
    /// A known rate, its source, and the connections that it needs, if known.
    Known(f64, String, Option<u32>),
    /// The highest throughput, to be measured first.
    Now,
}

pub(crate) fn sweep(arguments: SweepArguments, typed: Typed) -> Result<ExitCode, UserError> {
    arguments.profile.check("sweep")?;
    let reference = reference(&arguments)?;
    let SweepArguments {
        rates,
        mut fractions,
        rounds,
        keep,
        markdown,
        target,
        fleet,
        mut options,
        ..
    } = arguments;
    options.output.out.extend(markdown.map(|path| Out::new("markdown", path)));
    if fractions.is_empty() {
        fractions = FRACTIONS.split(',').filter_map(|share| parse_share(share).ok()).collect();
    }
    let ready = Ready::new("sweep", options, &target, &fleet, typed)?;
    let (facts, asked) = (ready.facts().clone(), ready.connections);
    let made = ready.make(keep.as_deref(), |plan, runner, progress| {
        let known = match reference {
            Reference::None => None,
            Reference::Known(rate_per_s, from, connections) => {
                Some((rate_per_s, from, connections))
            }
            Reference::Now => Some(measured(plan, asked, &facts, runner, progress)?),
        };
        let plan = match (&known, asked) {
            (Some((_, _, Some(connections))), None) => {
                let count = (TIMES_THE_PEAKS * connections).max(FEWEST_CONNECTIONS);
                let Connections { count: least, max, .. } = plan.connections;
                let most = if max > least { max.max(count) } else { count };
                plan.with(|parts| parts.connect(count, most)).map_err(UserError::usage)?
            }
            _ => plan.clone(),
        };
        let rates = match &known {
            None => {
                let of = |rate: &Rate| Asked { rate_per_s: rate.per_s_f64(), fraction: None };
                rates.iter().map(of).collect()
            }
            Some((peak_per_s, _, _)) => {
                let of = |&fraction: &f64| Asked {
                    rate_per_s: peak_per_s * fraction,
                    fraction: Some(fraction),
                };
                fractions.iter().map(of).collect()
            }
        };
        let peak = known.map(|(peak_per_s, from, _)| (peak_per_s, from));
        let settings = Settings { rates, rounds: rounds.get(), peak };
        Ok(run(&plan, &settings, &facts, runner, progress)?)
    })?;
    SWEEP.give_out(&made.document, &made.outputs)?;
    Ok(exit(&made).into())
}

fn reference(arguments: &SweepArguments) -> Result<Reference, UserError> {
    if !arguments.rates.is_empty() {
        return Ok(Reference::None);
    }
    let given = arguments.peak.as_str();
    if given == "now" {
        return Ok(Reference::Now);
    }
    if let Ok(rate) = parse_rate(given) {
        return Ok(Reference::Known(rate.per_s_f64(), "as given".to_owned(), None));
    }
    let wrong = |what: String| {
        UserError::usage(format!(
            "--peak {given}: {what}; give a file of `candor peak --json`, a rate or now"
        ))
    };
    let text = read::text_of(Path::new(given)).map_err(|error| wrong(error.to_string()))?;
    let peak = Peak::from_json(&text).map_err(|error| wrong(error.to_string()))?;
    match peak.answer {
        Some(answer) if answer.rate_per_s > 0.0 => Ok(Reference::Known(
            answer.rate_per_s,
            given.to_owned(),
            peak.ceiling.map(|ceiling| ceiling.connections),
        )),
        _ => Err(wrong("it has no result".to_owned())),
    }
}

/// The highest throughput, measured now.
fn measured(
    plan: &Plan,
    connections: Option<u32>,
    facts: &candor_report::Facts,
    runner: &mut EngineRunner<'_>,
    progress: &mut dyn Progress,
) -> Result<(f64, String, Option<u32>), UserError> {
    // Rates are chosen by it; how certain it is does not matter.
    let (curve, most_runs) = (Vec::new(), REFERENCE_RUNS);
    let settings = peak::Settings { connections, curve, most_runs, ..peak::Settings::default() };
    let found = peak::find(plan, &settings, facts, runner, progress)?;
    match (found.answer, found.partial) {
        (_, Some(_)) if runner.interrupt.is_asked() => Err(UserError::interrupted()),
        (_, Some(why)) => Err(UserError::could_not_run(format!("the peak was not found: {why}"))),
        (Some(answer), None) if answer.rate_per_s > 0.0 => {
            let connections = found.ceiling.map(|ceiling| ceiling.connections);
            Ok((answer.rate_per_s, "measured before, closed loop".to_owned(), connections))
        }
        _ => Err(UserError::could_not_run(
            "the peak was not found: no response was as expected; make a single run first",
        )),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    parse_rate(text.trim()).map_err(|error| error.to_string())
}

fn fraction(text: &str) -> Result<f64, String> {
    // Fractions above the peak are allowed.
    let text = text.trim();
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    };
    let fraction = number.filter(|share| *share > 0.0 && *share <= 10.0);
    fraction.ok_or_else(|| "write a share of the peak, such as 90% or 0.9".to_owned())
}

fn exit(made: &Made<Sweep>) -> Exit {
    let Made { document: sweep, outputs: outputs @ Outputs { strict, .. }, is_interrupted } = made;
    let trials = || sweep.rows.iter().flat_map(|row| &row.trials);
    let nothing_worked = trials().all(|trial| trial.figures.nothing_worked());
    let unusable = trials().any(|trial| trial.figures.unusable);
    let doubtful = trials().any(|trial| !trial.loader_findings.is_empty());
    // As of a run, in most of them.
    let failed = trials().filter(|trial| trial.figures.mostly_failed()).count();
    let mostly_failed = 2 * failed > trials().count();
    match &sweep.partial {
        Some(_) if *is_interrupted => Exit::Interrupted,
        Some(_) => Exit::CouldNotRun,
        None if nothing_worked && !outputs.allow_failures => Exit::CouldNotRun,
        None if unusable || (*strict && doubtful) => Exit::NotTrustworthy,
        None if mostly_failed && !outputs.allow_failures => Exit::CouldNotRun,
        None => Exit::Fine,
    }
}
