//! An experiment of verify: a truth server in a process of its own, a load in this one.
//!
//! Both are described by a user's flags and parsed by the same code, so the verified code is the
//! code that users run, and a user can repeat the experiment by hand.

use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::thread;

use candor_engine::{Control, Observer};
use candor_files::{Private, private};
use candor_plan::options::{Options, ReadFile};
use candor_plan::{Order, Parts, Plan, Request, Requests, Trace, Work};
use candor_record::RunRecord;
use candor_record::trace::Traced;
use candor_serve::{PartLog, truth};
use clap::Parser;

use super::Settings;
use super::evidence::Evidence;
use crate::error::LabError;
use crate::target::{Running, TargetSpec};

/// A truth server and a load, as flags: `candor serve …` and `candor run … URL`.
#[derive(Debug, Clone)]
pub(super) struct Experiment {
    server: String,
    load: String,
    /// Queues of the server; each gets the same share of requests.
    queues: NonZeroU32,
    /// Changes the plan that the flags make.
    change: fn(&mut Parts),
}

impl Experiment {
    pub(super) fn new(server: impl Into<String>, load: impl Into<String>) -> Self {
        Experiment {
            server: server.into(),
            load: load.into(),
            queues: NonZeroU32::MIN,
            change: |_| (),
        }
    }

    /// The same with `queues` queues side by side: the load is divided among them at random, so
    /// that Poisson arrivals are Poisson arrivals at each of them.
    pub(super) fn with_queues(mut self, queues: NonZeroU32) -> Self {
        self.server = format!("{} --queues {queues}", self.server);
        self.queues = queues;
        self
    }

    /// The same with a plan that flags alone cannot make.
    pub(super) fn with_plan(self, change: fn(&mut Parts)) -> Self {
        Experiment { change, ..self }
    }

    /// Makes the experiment. If server and loader have a core each, the server spins, and the loader waits as the
    /// settings say, or spins if such a load cannot: wake-up latency is not under test. `meanwhile` runs beside the load
    /// in its own thread, with the URL at which the server is asked about itself.
    pub(super) fn make(
        &self,
        settings: &Settings,
        meanwhile: impl FnOnce(&str) + Send,
    ) -> Result<Evidence, LabError> {
        if candor_engine::core_count() == 1 {
            return self.make_as_typed(meanwhile);
        }
        let server = format!("{} --spin", self.server);
        let load = format!("{} --pacing spin", self.load);
        let spinning = Experiment { server, load, ..*self };
        spinning.made(|plan| waits(settings, plan), meanwhile)
    }

    /// Makes the experiment with exactly these flags.
    pub(super) fn make_as_typed(
        &self,
        meanwhile: impl FnOnce(&str) + Send,
    ) -> Result<Evidence, LabError> {
        self.made(|plan| plan, meanwhile)
    }

    fn made(
        &self,
        waits: impl FnOnce(Plan) -> Plan,
        meanwhile: impl FnOnce(&str) + Send,
    ) -> Result<Evidence, LabError> {
        let server = Server::start(&self.server)?;
        let url = server.url();
        let plan = plan(&self.load, url)?;
        let plan = plan.with(|parts| {
            divide(&mut parts.work, self.queues);
            (self.change)(parts);
        })?;
        let plan = waits(plan);
        let asked_at = server.asked_at();
        let (record, traced) = traced(&plan, || meanwhile(asked_at))?;
        Ok(Evidence::new(plan, record, traced, server.end()?))
    }
}

/// The plan with the reactor and the way to wait of the settings, where it can have them.
pub(super) fn waits(settings: &Settings, plan: Plan) -> Plan {
    let plan = plan.with(|parts| parts.threads.reactor = settings.reactor).unwrap_or(plan);
    plan.with(|parts| parts.threads.pacing = settings.pacing).unwrap_or(plan)
}

/// Makes a load, and what runs beside it; with the trace of every request.
pub(super) fn traced(
    plan: &Plan,
    meanwhile: impl FnOnce() + Send,
) -> Result<(RunRecord, Vec<Traced>), LabError> {
    let mut traced = Traces::default();
    let record = thread::scope(|scope| {
        scope.spawn(meanwhile);
        candor_engine::run(plan, &Control::default(), &mut traced)
    })?;
    Ok((record, traced.0))
}

/// The plan of a load, every request traced.
pub(super) fn plan(flags: &str, url: &str) -> Result<Plan, LabError> {
    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        options: Options,
    }
    let words = ["candor"].into_iter().chain(flags.split_whitespace()).chain([url]);
    let typed = Typed::try_parse_from(words).map_err(failed)?;
    let (plan, _) = typed.options.build(&NoFiles).map_err(failed)?;
    Ok(plan.with(|parts| {
        parts.recording.held_up = true;
        parts.recording.trace = Some(Trace::All);
    })?)
}

/// Divides the requests of a plan with one request among the queues.
fn divide(work: &mut Work, queues: NonZeroU32) {
    if queues.get() > 1 {
        let one = work.requests()[0].clone();
        let to = |queue| Request { path: format!("/{queue}"), ..one.clone() };
        let list = (0..queues.get()).map(to).collect();
        *work = Work::Requests(Requests { list, order: Order::Weighted, sequence: [].into() });
    }
}

/// Keeps every request.
#[derive(Default)]
pub(super) struct Traces(pub(super) Vec<Traced>);

impl Observer for Traces {
    fn traced(&mut self, requests: &[Traced]) {
        self.0.extend_from_slice(requests);
    }
}

/// Loads of experiments read no files but the schema of the embedded target's calls.
struct NoFiles;

impl ReadFile for NoFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.to_str() {
            Some("echo") => Ok(candor_serve::ECHO_PROTOSET.to_vec()),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// A truth server, or an embedded target, in a process of its own.
pub(super) struct Server {
    running: Running,
    log: PathBuf,
    /// The directory of the log.
    _private: Private,
}

impl Server {
    pub(super) fn start(flags: &str) -> Result<Self, LabError> {
        let private = private().map_err(LabError::no_temporary)?;
        let log = private.name("csv");
        let mut arguments: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        arguments.extend(["--log".to_owned(), log.to_string_lossy().into_owned()]);
        let running = Running::start(&TargetSpec::embedded(arguments)?)?;
        Ok(Server { running, log, _private: private })
    }

    /// Its URL, which ends with a slash.
    pub(super) fn url(&self) -> &str {
        self.running.url()
    }

    /// The same for requests about itself, which are in clear text.
    fn asked_at(&self) -> &str {
        let stats = self.running.announced().stats.as_deref();
        stats.and_then(|url| url.strip_suffix("__stats")).unwrap_or(self.url())
    }

    /// Ends the server and returns its record.
    pub(super) fn end(self) -> Result<truth::Record, LabError> {
        truth::Record::from_csv(&self.end_with_log()?).map_err(failed)
    }

    /// The same for the embedded target, whose log has parts.
    pub(super) fn end_with_parts(self) -> Result<PartLog, LabError> {
        PartLog::from_csv(&self.end_with_log()?).map_err(failed)
    }

    fn end_with_log(self) -> Result<String, LabError> {
        self.running.stop()?;
        std::fs::read_to_string(&self.log)
            .map_err(|error| failed(format!("the server left no log: {error}")))
    }
}

/// The error of an experiment that failed.
pub(super) fn failed(why: impl ToString) -> LabError {
    LabError::Verify(why.to_string())
}
