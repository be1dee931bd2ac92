//! Measures the rounds of a comparison. Managed servers are fresh for each run, so that chance
//! properties of one process (its heap, its memory layout) do not look like those of the variant.

use std::path::{Path, PathBuf};

use candor_lab::compare::{Entrant, Measured, Slot, interleaved};
use candor_lab::target::cores::Split;
use candor_lab::{Ahead, EngineRunner, LabError, Outcome, Runner, Running, Site, TargetSpec};
use candor_plan::options::Options;
use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second};
use candor_plan::{Arrivals, Load, Plan, Segment};
use candor_report::experiment::comparison::{Comparison, Metric};
use candor_report::json;
use candor_report::{Document, Facts};

use super::Comparing;
use super::what::{Kind, What};
use crate::exit::UserError;
use crate::experiment::make_directory;
use crate::files::Disk;
use crate::measure::Watched;
use crate::scenario::Chosen;
use crate::show::Asked;
use crate::{console, input, target_flags};

/// A variant, ready to be measured.
#[derive(Clone)]
struct Variant {
    /// The name that the user knows: that of the baseline, if it is the baseline once more.
    name: String,
    options: Options,
    /// The server to start for each run; `None`: it is already running.
    target: Option<(TargetSpec, &'static str)>,
}

/// Makes the rounds of `command`.
pub(super) fn measure(
    comparing: &Comparing,
    command: &str,
    whats: Vec<What>,
    facts: Facts,
) -> Result<Outcome<Comparison>, UserError> {
    let Comparing { flags, options, objectives, .. } = comparing;
    let split = flags.cores.split()?;
    let mut entrants: Vec<Entrant> = whats
        .iter()
        .map(|one| Entrant { name: one.name.clone(), source: one.source.clone() })
        .collect();
    let mut variants: Vec<Variant> =
        whats.into_iter().map(|what| variant(what, comparing)).collect::<Result<_, _>>()?;
    if comparing.has_twin {
        let name = format!("{}-again", entrants[0].name);
        entrants.insert(1, Entrant { name, source: entrants[0].source.clone() });
        variants.insert(1, variants[0].clone());
    }
    // Every fault of a plan is reported before the first server is started.
    let plans: Vec<Plan> = variants.iter().map(Variant::checked).collect::<Result<_, _>>()?;
    for objective in objectives {
        let wrong = |why| UserError::usage(format!("--expect {why}"));
        plans.iter().try_for_each(|plan| objective.check(plan)).map_err(wrong)?;
    }
    let is_open = plans.iter().all(|plan| matches!(plan.load, Load::Open(_)));
    let load = load_of(&plans);
    make_directory(flags.keep.as_deref())?;
    let settings = comparing.settings(is_open);
    if let Some(why) = plans.iter().find_map(|plan| too_few_requests(plan, settings.primary))
        && !options.output.quiet
    {
        console::say(format_args!("candor: {why}"));
    }
    let names: Vec<&str> = entrants.iter().map(|one| one.name.as_str()).collect();
    let title = format!("{command} {}", names.join(", "));
    let shares_stdout = plans.iter().any(|plan| plan.work.script().is_some());
    let asked = Asked { shares_stdout, ..Asked::of(&options.outputs()) };
    let (mut watched, show) = Watched::show(asked, &title)?;
    let mut runner = watched.runner(facts.clone(), None);
    let mut left = settings.rounds * variants.len() as u64;
    let mut trial = |slot: Slot| {
        let variant = &variants[slot.variant];
        let name = &entrants[slot.variant].name;
        let what = format!("round {} of {}, {name}", slot.round, settings.rounds);
        left = left.saturating_sub(1);
        show.begins(&what, Ahead { steps: Some(left), ..Ahead::default() }, None);
        let mut document = variant.measure(&mut runner, &split, slot)?;
        document.judge_expectations(objectives);
        let measured = Measured::of(&document, keep(flags.keep.as_deref(), name, slot, &document)?);
        if !measured.interrupted {
            let figures = &measured.figures;
            let rate = figures.rate_per_s.map_or("–".to_owned(), fmt_per_second);
            let p99 = figures.response.p99_ns.map_or("–".to_owned(), fmt_duration_ns);
            show.done(&what, &format!("{rate}, p99 {p99}"), false);
        }
        Ok(measured)
    };
    let outcome = interleaved(&entrants, &settings, comparing.about(facts, load), &mut trial);
    watched.outputs.hide();
    Ok(outcome?)
}

fn variant(what: What, comparing: &Comparing) -> Result<Variant, UserError> {
    let mut options = comparing.options.clone();
    if let Kind::Plan(file) = &what.kind {
        options = options.or(input::plan(file)?);
    }
    input::set_usual_length(&mut options);
    let serve = |arguments: Vec<String>, options: &Options| -> Result<_, UserError> {
        let mut spec = Chosen::default().embedded(options)?;
        spec.command.extend(arguments);
        Ok(Some((spec, "embedded")))
    };
    let target = match what.kind {
        Kind::Url(url) => {
            options.url = Some(url);
            None
        }
        Kind::Plan(_) => {
            let elsewhere = options.url.is_some() || options.connecting.unix_socket.is_some();
            if elsewhere { None } else { serve(Vec::new(), &options)? }
        }
        Kind::Embedded(arguments) => serve(arguments, &options)?,
        Kind::Command(command) => {
            let mut spec = comparing.flags.ready.spec(what.name.clone(), command);
            if let Some(dir) = what.dir {
                spec.dir = Some(dir.join(spec.dir.unwrap_or_default()));
            }
            target_flags::check_place(&spec, false)?;
            Some((spec, "managed"))
        }
        Kind::Saved(_) => {
            return Err(UserError::usage("saved results are compared with saved results"));
        }
    };
    Ok(Variant { name: what.name, options, target })
}

impl Variant {
    /// Its plan, with a made-up address if its server is not running yet.
    fn checked(&self) -> Result<Plan, UserError> {
        let mut options = self.options.clone();
        if options.url.is_none() {
            let scheme = if options.tls.tls { "https" } else { "http" };
            options.url = Some(format!("{scheme}://127.0.0.1:9/"));
        }
        let built = options.build(&Disk);
        let (plan, _) = built.map_err(|error| UserError::from(error).of_part(&self.name))?;
        Ok(plan)
    }

    /// One run.
    fn measure(
        &self,
        runner: &mut EngineRunner<'_>,
        split: &Split,
        slot: Slot,
    ) -> Result<Document, LabError> {
        let mut options = self.options.clone();
        options.load.seed = Some(slot.seed);
        let site = match &self.target {
            None => Site::default(),
            Some((spec, note)) => {
                let (name, cores) = (self.name.clone(), Some(split.target.clone()));
                let running = Running::start(&TargetSpec { name, cores, ..spec.clone() })?;
                target_flags::point(&mut options, &running);
                let (running, split) = (Some(running), Some(split.clone()));
                Site { note: Some((*note).to_owned()), running, split, profile: None }
            }
        };
        let built = options.build(&Disk);
        let (plan, _) = built.map_err(|error| match error.is_usage() {
            true => LabError::Usage(format!("{}: {error}", self.name)),
            false => LabError::Plan(error),
        })?;
        runner.sites = vec![site];
        let made = runner.run(0, &plan);
        let stopped = match runner.sites.pop().and_then(|site| site.running) {
            Some(running) => running.stop(),
            None => Ok(()),
        };
        let document = made?;
        stopped.map(|()| document)
    }
}

/// Why no run of this plan can have the metric that decides, if that is known beforehand.
fn too_few_requests(plan: &Plan, primary: Metric) -> Option<String> {
    let needed = primary.responses_needed()?;
    let most = most_requests(plan).filter(|most| *most < needed)?;
    let by_p50 = if primary == Metric::P50 { "" } else { ", or decide by --primary p50" };
    Some(format!(
        "{} needs at least {} responses in a run, and at most {} are due, so nothing will be concluded; make runs {} \
         times as long (--duration){by_p50}",
        primary.name(),
        fmt_count(needed),
        fmt_count(most),
        fmt_count(needed.div_ceil(most.max(1)))
    ))
}

/// The most requests that are due in the window, where the plan alone says so.
fn most_requests(plan: &Plan) -> Option<u64> {
    let Load::Open(open) = &plan.load else { return plan.stop.count };
    let window_s = plan.stop.duration_ns? as f64 / 1e9;
    let rate = |segment: &Segment| match segment {
        Segment::Hold { rate, .. } => Some(rate.per_s_f64()),
        _ => None,
    };
    let rates: Option<Vec<f64>> = open.segments.iter().map(rate).collect();
    // Users make several requests, and other arrivals come in any number.
    let is_even = open.arrivals == Arrivals::Constant && plan.work.journeys().is_empty();
    let most =
        (rates.filter(|_| is_even)?.into_iter().fold(0.0, f64::max) * window_s).ceil() as u64;
    Some(plan.stop.count.map_or(most, |count| most.min(count)))
}

/// The load in words, if all have the same.
fn load_of(plans: &[Plan]) -> String {
    let mut texts: Vec<String> = plans
        .iter()
        .map(|plan| {
            let connections =
                candor_plan::units::fmt_plural(plan.connections.count.into(), "connection");
            format!("{}, {connections}", candor_plan::describe::load(plan))
        })
        .collect();
    texts.dedup();
    texts.join(" | ")
}

fn keep(
    directory: Option<&Path>,
    name: &str,
    slot: Slot,
    document: &Document,
) -> Result<Option<String>, LabError> {
    let Some(directory) = directory else { return Ok(None) };
    let path: PathBuf = directory.join(format!("{name}.r{}.json", slot.round));
    candor_files::write_atomically(&path, json::render(document).as_bytes()).map_err(|error| {
        LabError::File {
            what: "cannot write",
            path: path.display().to_string(),
            reason: error.cause.to_string(),
        }
    })?;
    Ok(Some(path.display().to_string()))
}
