//! `candor run`: one run, from what was typed to the exit code.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use candor_engine::{Control, ReactorChoice};
use candor_plan::options::{Options, ReadFile, looks_like_plan};
use candor_plan::{Outputs, Plan, redact};
use candor_record::{RunEnd, RunRecord};
use candor_report::render::text;
use candor_report::{Document, Expectation, Facts, Host, Severity};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::arguments::RunArguments;
use crate::console::{self, Progress};
use crate::embedded::Embedded;
use crate::exit::{Exit, Failure};
use crate::files::{self, Disk};

pub(crate) fn run(arguments: RunArguments, typed: &[String]) -> Result<ExitCode, Failure> {
    let mut options = with_plan_file(arguments.options)?;
    let embedded = match &options.url {
        Some(_) => None,
        None => Some(Embedded::start()?),
    };
    if let Some(embedded) = &embedded {
        options.url = Some(embedded.url.clone());
    }
    let (plan, outputs) = options.build(&Disk).map_err(Failure::usage)?;
    let expectations = expectations(&outputs)?;
    files::check_writable(&outputs)?;

    let started_unix_ms = unix_ms();
    let record = measure(&plan, &outputs)?;
    let facts = Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: redact::arguments(typed),
        host: host(),
        started_unix_ms,
        target_note: embedded.is_some().then(|| "embedded".to_owned()),
    };
    drop(embedded);
    let mut document = Document::new(&facts, &plan, &record);
    let met = document.judge_expectations(&expectations);
    if !outputs.quiet {
        console::print(&text::render(&document, console::stdout_style()))?;
    }
    files::write(&document, &outputs)?;
    Ok(exit(&document, record.end, met, outputs.strict).into())
}

/// An argument that names a plan is read; what was typed beside it goes before.
fn with_plan_file(mut options: Options) -> Result<Options, Failure> {
    let Some(path) = options.url.take_if(|url| looks_like_plan(url)) else { return Ok(options) };
    let bytes = Disk
        .read(path.as_ref())
        .map_err(|error| Failure::usage(format!("cannot read the plan {path}: {error}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("the plan {path} is not UTF-8 text")))?;
    let plan = Options::from_toml(&path, &text).map_err(Failure::usage)?;
    Ok(options.or(plan))
}

fn expectations(outputs: &Outputs) -> Result<Vec<Expectation>, Failure> {
    let parse = |text: &String| {
        Expectation::parse(text).map_err(|error| Failure::usage(format!("--expect: {error}")))
    };
    outputs.expect.iter().map(parse).collect()
}

/// Makes the run, with progress for who looks and signals turned into stops.
fn measure(plan: &Plan, outputs: &Outputs) -> Result<RunRecord, Failure> {
    let control = Arc::new(Control::default());
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::could_not_run(format!("cannot watch for signals: {error}")))?;
    let handle = signals.handle();
    let watched = Arc::clone(&control);
    let watcher = thread::spawn(move || signals.forever().for_each(|_| watched.stop()));
    let mut progress = Progress::new(outputs.quiet);
    let record = candor_engine::run(plan, ReactorChoice::Auto, &control, &mut |interval| {
        progress.show(interval);
    });
    progress.clear();
    handle.close();
    // The watcher has nothing to say; it only has to be gone.
    let _ = watcher.join();
    record.map_err(Failure::could_not_run)
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

fn host() -> Host {
    let host = candor_engine::host();
    Host {
        cpu: host.cpu,
        cores: u32::try_from(host.usable_cores).ok(),
        kernel: host.kernel,
        virtualisation: host.virtualisation,
        governor: host.governor,
    }
}

/// An interruption says most, then doubt about the numbers, then numbers that are not good
/// enough.
fn exit(document: &Document, end: RunEnd, met: bool, strict: bool) -> Exit {
    let doubtful = document.verdicts.iter().any(|one| one.severity >= Severity::Warning);
    if end == RunEnd::Interrupted {
        Exit::Interrupted
    } else if document.is_invalid() || (strict && doubtful) {
        Exit::NotTrustworthy
    } else if !met {
        Exit::ExpectationNotMet
    } else {
        Exit::Fine
    }
}
