//! `candor run`: one run, from the command line to the exit code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use candor_lab::{Running, history, revision};
use candor_plan::options::Options;
use candor_plan::redact::{Hidden, Typed};
use candor_plan::{Outputs, Plan, looks_like_plan};
use candor_render::compose;
use candor_report::document::EndReason;
use candor_report::document::{Outcome, Severity};
use candor_report::json;
use candor_report::{AbortRule, Document, Expectation};
use clap::Args;

use crate::exit::{Exit, UserError};
use crate::facts::facts;
use crate::fleet::FleetFlags;
use crate::measure;
use crate::part::PartFlags;
use crate::profiling::ProfileFlags;
use crate::scenario::Meant;
use crate::show::{Asked, Show};
use crate::target_flags::{self, TargetFlags};
use crate::{console, forms, input, last, outputs, refusals};

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    profile: ProfileFlags,
    #[command(flatten)]
    part: PartFlags,
    #[command(flatten)]
    fleet: FleetFlags,
    /// Keep the result in this directory, with its tags and the revision of git: see `candor history`
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    keep: Option<PathBuf>,
    /// After a plan: URL that overrides the plan's
    #[arg(value_name = "URL")]
    instead: Option<String>,
}

/// `candor ws`: the same over WebSockets.
pub(crate) fn ws(mut arguments: RunArguments, typed: Typed) -> Result<ExitCode, UserError> {
    check_own(&arguments, "ws")?;
    let options = &mut arguments.options;
    let scheme = if options.tls.tls { "wss" } else { "ws" };
    for url in options.url.iter_mut().chain(&mut arguments.instead) {
        if looks_like_plan(url) {
            continue;
        }
        *url = match url.split_once("://") {
            None => format!("{scheme}://{url}"),
            Some(("http", rest)) => format!("ws://{rest}"),
            Some(("https", rest)) => format!("wss://{rest}"),
            Some(_) => continue,
        };
    }
    run_to(arguments, typed, Some("/ws/echo"))
}

/// `candor grpc`: the same with calls of gRPC. A URL and a method come in any order.
pub(crate) fn grpc(mut arguments: RunArguments, typed: Typed) -> Result<ExitCode, UserError> {
    check_own(&arguments, "grpc")?;
    let options = &mut arguments.options;
    let scheme = if options.tls.tls { "https" } else { "http" };
    let given = options.url.take().into_iter().chain(arguments.instead.take());
    let (others, methods): (Vec<_>, Vec<_>) =
        given.partition(|one| one.contains(':') || looks_like_plan(one));
    if let [one, other] = &methods[..] {
        return Err(UserError::usage(format!(
            "{one} and {other}: which of them is the server? Write HOST:PORT or a URL, and one method"
        )));
    }
    for method in methods {
        options.calls.call = Some(method.parse().map_err(UserError::usage)?);
    }
    let mut others =
        others.into_iter().map(|one| match one.contains("://") || looks_like_plan(&one) {
            true => one,
            false => format!("{scheme}://{one}"),
        });
    (options.url, arguments.instead) = (others.next(), others.next());
    let is_own = options.url.is_none() && options.calls.call.is_none();
    if is_own {
        options.calls.call = Some(OWN_CALL.parse().map_err(UserError::usage)?);
    } else if options.calls.call.is_none() && !options.url.as_deref().is_some_and(looks_like_plan) {
        return Err(UserError::usage(
            "no method; write PACKAGE.SERVICE/METHOD after the server, e.g. shop.Orders/Get",
        ));
    }
    run_to(arguments, typed, None)
}

fn check_own(arguments: &RunArguments, command: &str) -> Result<(), UserError> {
    const WHY: &str = "a scenario says itself how it is sent: candor run";
    match arguments.target.scenario {
        Some(_) => Err(refusals::has_no(command, "scenario", WHY)),
        None => Ok(()),
    }
}

/// A method of the embedded target.
const OWN_CALL: &str = "candor.Echo/Unary";

pub(crate) fn run(arguments: RunArguments, typed: Typed) -> Result<ExitCode, UserError> {
    run_to(arguments, typed, None)
}

/// Without a URL, to the embedded target: over WebSockets at `socket`, if given.
fn run_to(
    arguments: RunArguments,
    typed: Typed,
    socket: Option<&str>,
) -> Result<ExitCode, UserError> {
    let RunArguments { mut options, target, profile, part, fleet, keep, instead } = arguments;
    let fleet = fleet.open()?;
    input::look_for_slips(&options)?;
    let plan_file = input::take_plan_file(&mut options, instead)?;
    if let Some(file) = &plan_file {
        options = options.or(input::plan(file)?);
    }
    let profile = profile.spec(options.output.json.as_deref())?;
    if fleet.is_some() && profile.is_some() {
        return Err(UserError::usage(
            "--profile-command: the profile would be of this machine's target, and agents know none; leave it or \
             --fleet out",
        ));
    }
    // A profile of the embedded target needs it to be managed.
    let (mut site, scenario) = target.site(&mut options, profile.is_some())?;
    if profile.is_some() && site.running.is_none() {
        return Err(UserError::usage(
            "--profile-command: the target is not managed; start it with --target, or leave \
             this out",
        ));
    }
    site.profile = profile;
    let embedded = match input::is_elsewhere(&options) {
        true => None,
        false => Some(Running::start(&scenario.embedded(&options)?)?),
    };
    if let Some(embedded) = &embedded {
        target_flags::point(&mut options, embedded);
        if let (Some(path), Some(url)) = (socket, &mut options.url) {
            *url = target_flags::socket(url, path);
        }
    }
    if let Some(fleet) = &fleet {
        fleet.connect_each(&mut options);
    }
    let (plan, outputs, meant) = scenario.build(options).map_err(|error| match plan_file {
        Some(file) => error.of_part(format_args!("with {file}")),
        None => error,
    })?;
    let begins_unix_ms = part.begins_unix_ms();
    let part = part.of(&plan)?;
    if fleet.is_some() && part.is_some() {
        let why = "--part cannot be used with --fleet, which divides the run itself; leave one of them out";
        return Err(UserError::usage(why));
    }
    if let Some(fleet) = &fleet {
        fleet.check(&plan, embedded.is_some())?;
    }
    let expectations = expectations(&outputs, &plan)?;
    let conditions = conditions(&outputs)?;

    let mut facts = facts(typed);
    facts.started_unix_ms = begins_unix_ms.unwrap_or(facts.started_unix_ms);
    facts.target_note = site.note.clone().or(embedded.is_some().then(|| "embedded".to_owned()));
    // Before the outputs, so that a signal always removes those of a run that does not happen.
    let interrupt = measure::interrupt();
    facts.target_delay_ns = embedded.as_ref().and_then(|_| target_flags::least_delay_ns(&plan));
    // The agents of a fleet, and not this machine, may send to the target.
    if let Some(directory) = &keep {
        history::prepare(directory)?;
    }
    let meant = if fleet.is_some() || part.is_some() { Meant::default() } else { meant };
    let title = format!("candor {}", plan.secrets.url(&plan.target.url));
    let of_nothing = |why| forms::of_nothing(&title, &outputs, UserError::from(why));
    meant.check(&interrupt).map_err(of_nothing)?;
    let written = outputs::Outputs::open(&outputs, &plan, &facts)?;
    // A script prints to the standard output during the run.
    let shares_stdout = plan.work.script().is_some() || outputs::write_meanwhile(&outputs.list);
    let asked = Asked { shares_stdout, ..Asked::of(&outputs) };
    let shown = Some((plan.clone(), facts.clone()));
    let show = Show::start(asked, "", Some(Arc::clone(&interrupt)), shown)?;
    // What is watched may repeat what is sent.
    console::hide(Hidden::of(&plan));
    let mut written = written
        .show(show, &plan)
        .abort_if(conditions, Arc::clone(&interrupt))
        .watch(&outputs.watch)?;
    let made = match &fleet {
        Some(fleet) => measure::run_fleet(&mut site, &plan, fleet, &interrupt, &mut written),
        None => measure::run_part(&mut site, &plan, part, &interrupt, &mut written),
    };
    let (mut run, beside) = match made {
        Ok(made) => made,
        Err(why) => {
            // It removes its files.
            drop(written);
            return Err(of_nothing(why));
        }
    };
    let watched = written.watched();
    written.settle(&mut run.record);
    let mut document = Document::new(&facts, &plan, &run.record);
    beside.finish(&site, &run.record, &mut document, interrupt.is_asked());
    let is_right = meant.check_after(&document, &interrupt).map_err(UserError::from);
    drop(embedded);
    document.judge_expectations(&expectations);
    if let Some(why) = written.aborted()
        && document.end.reason == EndReason::Interrupted
        && !interrupt.is_asked()
    {
        document.set_aborted(why);
    }
    document.watched = watched;
    document.tags = tags(&outputs, keep.is_some());
    let is_kept = outputs.keep && last::keep(outputs.quiet, || json::render(&document));
    // Files first: the reader of the standard output may be slow.
    let kept = keep.map_or(Ok(()), |directory| keep_in(&directory, &document, outputs.quiet));
    let lingering = written.lingering();
    let written = written.end(&document);
    let printed = match forms::depth(outputs.report) {
        None => {
            console::misses(compose::misses_of_run(&document));
            Ok(())
        }
        Some(depth) => console::report(outputs::take_stdout(&outputs.list), |style| {
            forms::of_run(&document, depth, style, is_kept)
        }),
    };
    let done = run.done(&plan).map(drop).map_err(UserError::from);
    measure::end(site);
    lingering.into_iter().for_each(|one| one.wait(&document));
    let code = exit(&document, &outputs);
    written.and(kept).and(printed).and(done).and(is_right).map_err(|why| match code {
        Exit::Interrupted => why.of_interrupted(),
        _ => why,
    })?;
    Ok(code.into())
}

/// What the user says of the result; of one that is kept, also which revision was measured, if this is a work tree of git.
fn tags(outputs: &Outputs, is_kept: bool) -> BTreeMap<String, String> {
    let given = outputs.tags.iter().map(|tag| (tag.name.clone(), tag.value.clone()));
    let mut tags: BTreeMap<String, String> = given.collect();
    if is_kept
        && !tags.contains_key(REVISION)
        && let Some(revision) = revision::here()
    {
        tags.insert(REVISION.to_owned(), revision);
    }
    tags
}

/// The tag with the revision of git.
const REVISION: &str = "revision";

fn keep_in(directory: &Path, document: &Document, quiet: bool) -> Result<(), UserError> {
    let file = history::keep(directory, document)?;
    if !quiet {
        console::say(format_args!(
            "candor: the result is kept in {}",
            directory.join(file).display()
        ));
    }
    Ok(())
}

fn expectations(outputs: &Outputs, plan: &Plan) -> Result<Vec<Expectation>, UserError> {
    let wrong = |error: String| UserError::usage(format!("--expect {error}"));
    let parse = |text: &String| {
        let one = Expectation::parse(text).map_err(|error| wrong(error.to_string()))?;
        one.check(plan).map_err(wrong)?;
        Ok(one)
    };
    outputs.expect.iter().map(parse).collect()
}

fn conditions(outputs: &Outputs) -> Result<Vec<AbortRule>, UserError> {
    let parse = |text: &String| {
        AbortRule::parse(text).map_err(|error| UserError::usage(format!("--abort-if {error}")))
    };
    outputs.abort_if.iter().map(parse).collect()
}

/// The order of precedence: an interruption, a target that ended, a ledger that does not balance, a condition that
/// ended the run, a run in which nothing worked, wrong numbers, a lost agent, doubts about the numbers, a missed
/// objective, a run in which little worked, an objective that cannot be told.
fn exit(document: &Document, outputs: &Outputs) -> Exit {
    let end = document.end.reason;
    let is_degraded = document.lost_agents().next().is_some();
    let doubtful = document.verdicts.iter().any(|one| one.severity >= Severity::Warning);
    if end == EndReason::Interrupted {
        Exit::Interrupted
    } else if matches!(end, EndReason::GaveUp | EndReason::TargetEnded) {
        Exit::CouldNotRun
    } else if !document.ledger.balances() {
        Exit::NotTrustworthy
    } else if !is_degraded
        && end != EndReason::Aborted
        && document.nothing_worked()
        && !outputs.allow_failures
    {
        Exit::CouldNotRun
    } else if end == EndReason::Aborted && document.nothing_worked() {
        Exit::ExpectationNotMet
    } else if document.is_invalid() {
        Exit::NotTrustworthy
    } else if is_degraded {
        Exit::Degraded
    } else if end == EndReason::Aborted {
        Exit::ExpectationNotMet
    } else if outputs.strict && doubtful {
        Exit::NotTrustworthy
    } else {
        match document.gate() {
            Outcome::NotMet => Exit::ExpectationNotMet,
            _ if document.mostly_failed() && !outputs.allow_failures => Exit::CouldNotRun,
            gate => gate.into(),
        }
    }
}

/// Why these arguments give no plan; for tests of documentation pages. Reads no plan files, and
/// ignores the content of other files.
#[cfg(test)]
pub(crate) fn refusal(arguments: RunArguments) -> Option<String> {
    struct AnyFile;
    impl candor_plan::options::ReadFile for AnyFile {
        fn read(&self, _: &std::path::Path) -> std::io::Result<Vec<u8>> {
            Ok(b"0\n".to_vec())
        }

        fn columns(
            &self,
            _: &std::path::Path,
            _: candor_plan::DataFormat,
        ) -> Result<Vec<String>, String> {
            Ok(["name", "password", "id", "method", "path"].map(str::to_owned).to_vec())
        }

        fn variable(&self, _: &str) -> Option<String> {
            Some(String::new())
        }
    }
    let RunArguments { mut options, part, instead, .. } = arguments;
    let built = input::take_plan_file(&mut options, instead).and_then(|plan_file| {
        if plan_file.is_some() {
            return Ok(());
        }
        // No server is asked for its schema.
        options.calls = candor_plan::options::CallsOptions::default();
        let scheme = if options.tls.tls { "https" } else { "http" };
        options.url.get_or_insert_with(|| format!("{scheme}://localhost:8080/"));
        let (plan, outputs) = options.build(&AnyFile)?;
        part.of(&plan)?;
        conditions(&outputs)?;
        expectations(&outputs, &plan).map(drop)
    });
    built.err().map(|failure| failure.to_string())
}
