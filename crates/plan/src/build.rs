//! From options to the plan: defaults are filled in, and options that exclude each other are refused.
//!
//! Each value was checked by its type; the plan checks whether the parts fit together. Files are read
//! by the caller's [`ReadFile`], each once. The plan goes to the engine, the outputs to the command.

mod auth;
mod calls;
mod data;
mod delivery;
mod form;
mod journeys;
mod load;
mod once;
mod proxy;
mod redirects;
mod requests;
mod script;
mod streams;
mod target;
mod tls;
mod websocket;
mod work;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{PlanError, conflict, exclude, value};
use crate::options::{Options, ReadFile};
use crate::outputs::{Out, Outputs, ReportDepth};
use crate::plan::{Parts, Plan};
use crate::redact::Secrets;
use crate::run::{Connections, Recording, Stop, Threads, Timeouts, Trace};
use crate::units::NS_PER_S;
use crate::values::{Nanos, SmallCount};
use crate::wire::Wire;

/// The default number of connections.
pub const DEFAULT_CONNECTIONS: u32 = 10;
/// Users at a time in an open load in which each has a connection.
const DEFAULT_OWN_CONNECTIONS: u32 = 10_000;
/// The measured window of a run that would not end otherwise.
pub const DEFAULT_DURATION_NS: u64 = 10 * NS_PER_S;
/// The default seed: fixed, so that a run can be repeated without noting it.
pub const DEFAULT_SEED: u64 = 1;
const DEFAULT_DRAIN_NS: u64 = 5 * NS_PER_S;
const DEFAULT_GIVE_UP_NS: u64 = 10 * NS_PER_S;
const DEFAULT_TIMEOUT_NS: u64 = 30 * NS_PER_S;
const DEFAULT_CONNECT_TIMEOUT_NS: u64 = 10 * NS_PER_S;
const DEFAULT_DIGITS: u8 = 3;
const DEFAULT_INTERVAL_NS: u64 = NS_PER_S;

impl Options {
    /// Makes the plan.
    pub fn build(mut self, files: &dyn ReadFile) -> Result<(Plan, Outputs), PlanError> {
        let mut files = Files { files, known: HashMap::new() };
        work::check(&self)?;
        self.url_of_list(&files)?;
        websocket::complete(&mut self);
        let mut targets = target::Targets::new(&self, &mut files)?;
        let wire =
            websocket::websocket(&self, targets.url(), &files)?.map_or(Wire::Http, Wire::WebSocket);
        let own = journeys::own_connections(&self)?;
        let work = work::work(&self, &mut targets, own, &mut files)?;
        let work = redirects::follow(&self, work, &targets)?;
        let work = streams::reconnect(&self, work)?;
        let (target, others) = targets.into_parts();
        delivery::check(&self, work.requests())?;
        streams::check(&self, work.requests())?;
        once::check(&self)?;
        requests::check_compressed(&self, &wire)?;
        let mut load = load::load(&self, &mut files)?;
        journeys::count(&self, work.journeys(), &mut load.load)?;
        let mut parts = Parts {
            target,
            others,
            stop: self.stop(load.shape_ns),
            load: load.load,
            threads: Threads {
                count: self.load.threads.map(SmallCount::get),
                pin: !self.connecting.no_pin,
                pacing: self.load.pacing.unwrap_or_default(),
                reactor: self.connecting.reactor.unwrap_or_default(),
            },
            connections: self.connections(own)?,
            timeouts: Timeouts {
                connect_ns: self
                    .timeouts
                    .connect_timeout
                    .map_or(DEFAULT_CONNECT_TIMEOUT_NS, |one| one.get()),
                request_ns: self.timeouts.timeout.map_or(DEFAULT_TIMEOUT_NS, |one| one.get()),
                idle_ns: self.timeouts.idle_timeout.map(|one| one.get()),
            },
            recording: Recording {
                digits: self.recording.digits.map_or(DEFAULT_DIGITS, |one| one.get()),
                interval_ns: self.recording.interval.map_or(DEFAULT_INTERVAL_NS, |one| one.get()),
                warm_up_ns: self.warm_up_ns(),
                trace: self.trace()?,
                kernel_timestamps: self.recording.kernel_timestamps,
                held_up: false,
                by: self.recording.by,
                goodput: self.recording.goodput,
            },
            seed: self.load.seed.unwrap_or(DEFAULT_SEED),
            data: data::data(&self, &files)?,
            environment: data::environment(work.requests(), &files),
            work,
            wire,
            compressed: self.requests.compressed,
            secrets: Secrets::shown_if(self.output.show_secrets),
        };
        calls::complete(&self, &mut parts, &mut files)?;
        if self.requests.urls.is_some() && !parts.work.requests().iter().any(data::takes_urls) {
            let other =
                if parts.work.journeys().is_empty() { "[[request]]" } else { "[[journey]]" };
            let why = "no request takes a line of the list; leave out a path, or the list";
            return Err(conflict("--urls", other, why));
        }
        Ok((parts.try_into()?, self.outputs()))
    }

    /// Without a URL, the target is that of the list of URLs.
    fn url_of_list(&mut self, files: &Files<'_>) -> Result<(), PlanError> {
        if let (None, Some(list)) = (&self.url, &self.requests.urls) {
            let origin = files.files.origin(&list.file);
            self.url = origin.map_err(|problem| value("--urls", problem))?;
        }
        Ok(())
    }

    /// The duration is the user's or the shape's, whichever is shorter; if neither ends, the
    /// default.
    fn stop(&self, shape_ns: Option<u64>) -> Stop {
        let asked_ns = self.load.duration.map(|one| one.get());
        let count = self.load.requests.map(|one| one.get()).or(once::count(self));
        let duration_ns = asked_ns.into_iter().chain(shape_ns).min();
        Stop {
            duration_ns: match (duration_ns, count) {
                (None, None) => Some(DEFAULT_DURATION_NS),
                (duration_ns, _) => duration_ns,
            },
            count,
            drain_ns: self.load.drain.map_or(DEFAULT_DRAIN_NS, |Nanos(ns)| ns),
            give_up_ns: self.load.give_up.map_or(DEFAULT_GIVE_UP_NS, |one| one.get()),
        }
    }

    /// Users at a time who each have a connection.
    fn own_connections(&self) -> u32 {
        let is_open = self.load.rate.is_some() || self.load.load.is_some();
        let default = if is_open { DEFAULT_OWN_CONNECTIONS } else { DEFAULT_CONNECTIONS };
        self.load.users.map_or(default, SmallCount::get)
    }

    fn connections(&self, own: bool) -> Result<Connections, PlanError> {
        let count = match own {
            true => self.own_connections(),
            false => self.load.connections.map_or(DEFAULT_CONNECTIONS, SmallCount::get),
        };
        let max = self.load.max_connections.map_or(count, SmallCount::get);
        let pipeline = self.requests.pipeline.map_or(1, SmallCount::get);
        let mut per_connection = self.requests.requests_per_connection.map(|one| one.get());
        if self.load.once {
            per_connection = Some(1);
        }
        if self.requests.no_keepalive {
            let why = "a connection then has one request; leave one of them out";
            let several = [
                ("--requests-per-connection", per_connection.is_some_and(|count| count > 1)),
                ("--streams", self.http2.streams.is_some_and(|streams| streams.get() > 1)),
                ("--pipeline", pipeline > 1),
            ];
            exclude(several, "--no-keepalive", why)?;
            per_connection = Some(1);
        }
        Ok(Connections {
            count,
            max,
            pipeline,
            streams: tls::streams(self).max(websocket::in_flight(self)),
            windows: tls::windows(self),
            frames: tls::frames(self),
            quic: tls::quic(self),
            requests_per_connection: per_connection,
            dns_refresh_ns: self.connecting.dns_refresh.map(|one| one.get()),
            lifetime_ns: self.requests.connection_lifetime.map(|one| one.get()),
            connect_rate: self.load.connect_rate,
            connect_during_run: self.load.connect_during_run,
            once: self.load.once,
            own,
            nodelay: !self.connecting.no_nodelay,
            sources: self
                .connecting
                .source
                .clone()
                .map_or(Vec::new(), |sources| sources.into_vec()),
        })
    }

    fn trace(&self) -> Result<Option<Trace>, PlanError> {
        let is_traced =
            self.output.trace.is_some() || self.output.out.iter().any(|out| out.kind == Out::TRACE);
        match (is_traced, self.recording.trace_sample) {
            (false, Some(_)) => {
                Err(value("--trace-sample", "there is no trace to sample; add --trace FILE"))
            }
            (false, None) => Ok(None),
            (true, which) => Ok(Some(which.unwrap_or(Trace::All))),
        }
    }

    fn warm_up_ns(&self) -> u64 {
        self.load.warm_up.map_or(0, |Nanos(ns)| ns)
    }

    /// The outputs.
    pub fn outputs(&self) -> Outputs {
        let short = [
            ("json", &self.output.json),
            ("csv", &self.output.csv),
            ("html", &self.output.html),
            ("hgrm", &self.output.hgrm),
            ("hlog", &self.output.hlog),
            (Out::TRACE, &self.output.trace),
        ];
        let short =
            short.into_iter().filter_map(|(kind, path)| Some(Out::new(kind, path.clone()?)));
        Outputs {
            list: short.chain(self.output.out.iter().cloned()).collect(),
            report: match self.output.quiet {
                true => ReportDepth::None,
                false => self.output.report.unwrap_or_default(),
            },
            quiet: self.output.quiet,
            keep: !self.output.no_keep,
            tui: self.watching.tui.unwrap_or_default(),
            progress: self.watching.progress.unwrap_or_default(),
            expect: self.output.expect.clone(),
            abort_if: self.output.abort_if.clone(),
            allow_failures: self.output.allow_failures,
            strict: self.output.strict,
            tags: self.output.tag.clone(),
            linger_ns: self.output.linger.map(|one| one.get()),
            watch: self.output.watch.clone(),
        }
    }
}

/// The caller's files, each read once: the standard input cannot be read twice.
struct Files<'a> {
    files: &'a dyn ReadFile,
    known: HashMap<PathBuf, Arc<[u8]>>,
}

impl Files<'_> {
    fn read(&mut self, option: &'static str, file: &Path) -> Result<Arc<[u8]>, PlanError> {
        if let Some(bytes) = self.known.get(file) {
            return Ok(bytes.clone());
        }
        let bytes: Arc<[u8]> = match self.files.read(file) {
            Ok(bytes) => bytes.into(),
            Err(error) => {
                return Err(PlanError::Read { option, file: file.display().to_string(), error });
            }
        };
        self.known.insert(file.to_owned(), bytes.clone());
        Ok(bytes)
    }
}
