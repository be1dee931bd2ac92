//! `candor run`: one run, from what was typed to the exit code.

use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use candor_engine::script::Scripts;
use candor_engine::{Control, EngineError, Observer};
use candor_lab::engine_runner::with_own_threads;
use candor_lab::site::Beside;
use candor_lab::{Interrupt, Site};
use candor_plan::options::{Options, ReadFile, looks_like_plan};
use candor_plan::{Outputs, Plan, ReactorChoice, Secrets};
use candor_record::{IntervalSummary, RunRecord, Traced};
use candor_report::document::EndReason;
use candor_report::render::{Depth, compose};
use candor_report::{Document, Expectation, Facts, Host, Severity};

use crate::arguments::{self, RunArguments};
use crate::console::{self, Progress};
use crate::embedded::Embedded;
use crate::exit::{Exit, Failure};
use crate::files::{self, Disk};
use crate::scripting::Scripting;
use crate::signals;
use crate::trace_file::TraceFile;
use crate::typed;

pub(crate) fn run(arguments: RunArguments, typed: &[String]) -> Result<ExitCode, Failure> {
    let (target, profile) = (arguments.target.clone(), arguments.profile.clone());
    let (mut options, plan_file) = with_plan_file(arguments)?;
    let profile = profile.spec(options.json.as_deref())?;
    // Whoever wants a profile of the embedded target has it managed.
    let mut site = target.site(&mut options, profile.is_some())?;
    if profile.is_some() && site.running.is_none() {
        return Err(Failure::usage(
            "--profile-command: the target is not ours to profile; start it with --target, or leave \
             this out",
        ));
    }
    site.profile = profile;
    let has_target =
        options.url.is_some() || options.unix_socket.is_some() || options.connect_to.is_some();
    let flags: &[String] = if options.tls { &["--tls".to_owned()] } else { &[] };
    let embedded = if has_target { None } else { Some(Embedded::start(flags)?) };
    if let Some(embedded) = &embedded {
        options.url = Some(embedded.url.clone());
        if !options.insecure && options.cacert.is_none() {
            options.cacert.clone_from(&embedded.certificate);
        }
    }
    let (plan, outputs) = options.build(&Disk).map_err(|error| match plan_file {
        Some(file) => Failure::usage(format!("with {file}: {error}")),
        None => Failure::usage(error),
    })?;
    let expectations = expectations(&outputs)?;
    files::check_writable(&outputs)?;

    let mut facts = facts(typed);
    facts.target_note = site.note.clone().or(embedded.is_some().then(|| "embedded".to_owned()));
    let own = with_own_threads(&plan, site.split.as_ref());
    let (scripting, scripts) = Scripting::load(&own)?;
    let mut watched = Watched::new(site);
    let (record, traced) = watch(&own, &scripts, &outputs, &mut watched)?;
    let failed = scripting.ended();
    drop(embedded);
    let mut document = Document::new(&facts, &plan, &record);
    watched.enter(&record, &mut document);
    let met = document.judge_expectations(&expectations);
    let printed = match outputs.quiet {
        true => Ok(()),
        false => {
            console::print(&compose::run(&document, Depth::Brief).text(console::stdout_style()))
        }
    };
    let done = failed.and_then(|()| scripting.done(&plan, &record));
    // Files are written even if nothing could be printed, or the result would be lost.
    let written = files::write(&document, &outputs).and(traced).and(printed).and(done);
    watched.end();
    written?;
    Ok(exit(&document, met, outputs.strict).into())
}

/// The options, and the file of the plan if there is one. What was typed goes before what the
/// plan says.
fn with_plan_file(arguments: RunArguments) -> Result<(Options, Option<String>), Failure> {
    let mut options = arguments.options;
    let (file, url) = plan_and_url(options.url.take(), arguments.instead)?;
    options.url = url;
    let Some(file) = file else { return Ok((options, None)) };
    let bytes = Disk
        .read(file.as_ref())
        .map_err(|error| Failure::usage(format!("cannot read the plan {file}: {error}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("the plan {file} is not UTF-8 text")))?;
    let plan = Options::from_toml(&file, &text).map_err(Failure::usage)?;
    Ok((options.or(plan), Some(file)))
}

/// Tells which of two arguments is a plan and which is a URL; their order does not matter.
fn plan_and_url(
    first: Option<String>,
    second: Option<String>,
) -> Result<(Option<String>, Option<String>), Failure> {
    let given = first.into_iter().chain(second);
    let (mut plans, mut urls): (Vec<_>, Vec<_>) = given.partition(|one| looks_like_plan(one));
    match (plans.len(), urls.len()) {
        (0 | 1, 0 | 1) => Ok((plans.pop(), urls.pop())),
        (0, _) => Err(Failure::usage(format!(
            "two URLs are given, {} and {}; give one, or several requests in a plan",
            Secrets::Hidden.url(&urls[0]),
            Secrets::Hidden.url(&urls[1])
        ))),
        _ => Err(Failure::usage(format!(
            "two plans are given, {} and {}; give one",
            plans[0], plans[1]
        ))),
    }
}

fn expectations(outputs: &Outputs) -> Result<Vec<Expectation>, Failure> {
    let parse = |text: &String| Expectation::parse(text).map_err(Failure::usage);
    outputs.expect.iter().map(parse).collect()
}

/// A managed target beside a single run, if there is one, and what goes on beside the run.
struct Watched {
    // Before the target: a profiler is gone before what it looks at.
    beside: Option<Beside>,
    site: Site,
    interrupt: Arc<Interrupt>,
}

impl Watched {
    fn new(site: Site) -> Self {
        Watched { site, interrupt: Arc::default(), beside: None }
    }

    /// The run begins: from here on this thread has the loader's cores.
    fn begin(&mut self, plan: &Plan) -> Arc<Control> {
        let control = self.interrupt.next_run();
        self.beside = Some(self.site.begin(plan, &control));
        control
    }

    /// The run is over: puts into its document what was seen of the target.
    fn enter(&mut self, record: &RunRecord, document: &mut Document) {
        if let Some(beside) = self.beside.take() {
            beside.finish(&self.site, record, document, self.interrupt.is_asked());
        }
    }

    fn end(self) {
        if let Some(running) = self.site.running
            && let Err(error) = running.stop()
        {
            console::say(format_args!("candor: {error}"));
        }
    }
}

/// Makes the run, with progress for who looks and a trace if one is asked for. A trace that could
/// not be written does not take the run's record away.
fn watch(
    plan: &Plan,
    scripts: &Scripts,
    outputs: &Outputs,
    watched: &mut Watched,
) -> Result<(RunRecord, Result<(), Failure>), Failure> {
    let trace = outputs.trace.as_ref().map(|path| TraceFile::create(path, plan)).transpose()?;
    let mut watching = Watching { progress: Progress::new(outputs.quiet), trace };
    let control = watched.begin(plan);
    let made = measure_under(plan, scripts, &watched.interrupt, &control, &mut watching);
    let Watching { mut progress, trace } = watching;
    progress.clear();
    match (made, trace) {
        (Ok(record), None) => Ok((record, Ok(()))),
        (Ok(mut record), Some(trace)) => {
            let traced = trace.finish(&mut record);
            Ok((record, traced))
        }
        (Err(why), trace) => {
            trace.into_iter().for_each(TraceFile::discard);
            // That nobody listens has a reason if the target has ended.
            watched.site.check_alive()?;
            Err(why.into())
        }
    }
}

/// Who looks on while the run goes on.
struct Watching {
    progress: Progress,
    trace: Option<TraceFile>,
}

impl Observer for Watching {
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        console::public_target(host, addresses);
    }

    fn interval(&mut self, summary: &IntervalSummary) {
        self.progress.show(summary);
    }

    fn traced(&mut self, requests: &[Traced]) {
        if let Some(trace) = &mut self.trace {
            trace.traced(requests);
        }
    }
}

/// Why there is no record of a run.
#[derive(Debug)]
pub(crate) enum NotMade {
    /// A signal came first.
    Interrupted,
    /// Signals cannot be heard here.
    Unwatched(Failure),
    /// The engine could not run the plan.
    Engine(EngineError),
}

impl From<NotMade> for Failure {
    fn from(why: NotMade) -> Self {
        match why {
            NotMade::Interrupted => Failure::interrupted(),
            NotMade::Unwatched(failure) => failure,
            NotMade::Engine(error) => error.into(),
        }
    }
}

/// Makes the run, with signals turned into stops. `observer` sees it while it goes on.
pub(crate) fn measure(
    plan: &Plan,
    scripts: &Scripts,
    observer: &mut impl Observer,
) -> Result<RunRecord, NotMade> {
    let interrupt = Arc::new(Interrupt::default());
    let control = interrupt.next_run();
    measure_under(plan, scripts, &interrupt, &control, observer)
}

/// The same with the control of the run, which others may stop too.
fn measure_under(
    plan: &Plan,
    scripts: &Scripts,
    interrupt: &Arc<Interrupt>,
    control: &Control,
    observer: &mut impl Observer,
) -> Result<RunRecord, NotMade> {
    if plan.threads.reactor == ReactorChoice::Uring
        && let Err(why) = candor_engine::probe_uring()
    {
        console::say(format_args!(
            "candor: io_uring cannot be used here ({why}); epoll is used instead"
        ));
    }
    let told = Arc::clone(interrupt);
    signals::on_signal(move || told.stop()).map_err(NotMade::Unwatched)?;
    let record = candor_engine::run_scripted(plan, scripts, control, observer);
    record.map_err(|error| match interrupt.is_asked() {
        true => NotMade::Interrupted,
        false => NotMade::Engine(error),
    })
}

/// What is known of this run before it begins.
pub(crate) fn facts(typed: &[String]) -> Facts {
    Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        typed: typed::typed(typed, &arguments::command()),
        host: host(),
        started_unix_ms: unix_ms(),
        target_note: None,
    }
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn host() -> Host {
    let host = candor_engine::host();
    Host {
        cpu: host.cpu,
        cores: u32::try_from(host.usable_cores).ok(),
        kernel: host.kernel,
        virtualisation: host.virtualisation,
        governor: host.governor,
    }
}

/// An interruption says most, then a target that went away, then doubt about the numbers, then
/// numbers that are not good enough.
fn exit(document: &Document, met: bool, strict: bool) -> Exit {
    let end = document.end.reason;
    let doubtful = document.verdicts.iter().any(|one| one.severity >= Severity::Warning);
    if end == EndReason::Interrupted {
        Exit::Interrupted
    } else if matches!(end, EndReason::GaveUp | EndReason::TargetEnded) {
        Exit::CouldNotRun
    } else if document.is_invalid() || (strict && doubtful) {
        Exit::NotTrustworthy
    } else if !met {
        Exit::ExpectationNotMet
    } else {
        Exit::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::plan_and_url;

    fn told(first: Option<&str>, second: Option<&str>) -> Option<[Option<String>; 2]> {
        plan_and_url(first.map(str::to_owned), second.map(str::to_owned)).ok().map(Into::into)
    }

    #[test]
    fn a_plan_and_a_url_in_any_order_and_one_of_each_at_most() {
        let (plan, url) = (Some("p.toml"), Some("http://h/x.toml"));
        let owned = |one: Option<&str>| one.map(str::to_owned);
        assert_eq!(told(None, None), Some([None, None]));
        assert_eq!(told(plan, None), Some([owned(plan), None]));
        assert_eq!(told(url, None), Some([None, owned(url)]));
        assert_eq!(told(plan, url), Some([owned(plan), owned(url)]));
        assert_eq!(told(url, plan), Some([owned(plan), owned(url)]));
        assert_eq!(told(plan, plan), None);
        assert_eq!(told(url, url), None);
    }
}
