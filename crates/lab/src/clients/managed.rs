//! The bench that starts processes: one server for the whole matrix, and for each trial a driver of its
//! own, alone on the loader's cores.
//!
//! A driver that kept running would carry its heap, its compiled code and its broken connections
//! from one cell into the next. The server keeps running because its count continues; if it ends,
//! the current trial fails and the next one restarts it. Each has a keeper, which ends its
//! processes even if this program dies.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use candor_plan::allow::AllowList;
use candor_plan::url::HttpUrl;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::driver::{self, Driver, Spec};
use super::file::EMBEDDED_PATH;
use super::matrix::{Absent, Found};
use super::model::{Asked, Client, Server};
use super::protocol::{self, Ask, DESCRIBE};
use super::{Bench, CellPlan, Measured};
use crate::error::LabError;
use crate::interrupt::Interrupt;
use crate::matrix::{self, Place, Trouble};
use crate::target::cores::Split;
use crate::target::{Running, TargetSpec, http};
use crate::trial::unix_ms;

/// At the end a request may wait for a connection and then for its response, each up to the
/// timeout.
const TIMEOUTS_AT_END: u32 = 2;
/// Interval between two readings of the server's count until it has settled.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// A count that has not changed for this long has settled, if the server does not announce how
/// often it counts.
const SETTLED: Duration = Duration::from_millis(60);
/// A server that never settles is given up.
const PATIENCE_TO_SETTLE: Duration = Duration::from_secs(20);
const STATS_PATIENCE: Duration = Duration::from_secs(5);
/// Open files beside those of connections.
const OTHER_FILES: u64 = 1024;

/// Starts the server and the drivers.
pub struct Managed {
    /// Where the server and drivers are started.
    pub place: Place,
    /// The server.
    pub server: Server,
    /// Interrupts the matrix.
    pub interrupt: Arc<Interrupt>,
    /// Hosts that drivers may send to; `None`: any.
    pub allow: Option<AllowList>,
    /// The server, once it is started.
    pub up: Option<Up>,
}

/// A server that is up.
#[derive(Debug)]
pub struct Up {
    running: Running,
    /// The URL of its own count.
    stats: String,
    /// The count when it was last at rest.
    at_rest: Option<u64>,
}

/// Describes a client, or says why it cannot be measured here. Its driver has `patience` to start.
pub fn describe(
    client: &Client,
    patience: Duration,
    split: &Split,
    interrupt: &Interrupt,
) -> Result<Found, LabError> {
    let asked = start(client, split, None).and_then(|mut driver| {
        let line = driver.ask(DESCRIBE, patience, interrupt)?;
        let described = protocol::described(&line).map_err(|what| driver.broken(&what))?;
        driver.end();
        Ok(described)
    });
    match asked {
        Ok(described) => Ok(Ok(described)),
        Err(driver::Trouble::Interrupted) => Err(LabError::Interrupted),
        Err(driver::Trouble::Missing(why)) => Ok(Err(Absent::Missing(why))),
        Err(driver::Trouble::Broken(why)) => Ok(Err(Absent::Broken(why))),
    }
}

fn start(
    client: &Client,
    split: &Split,
    log: Option<&std::path::Path>,
) -> Result<Driver, driver::Trouble> {
    Driver::start(&Spec { command: &client.command, env: &client.env, cores: &split.loader, log })
}

/// Raises the limit of open files to what cells with `most` connections need, as far as the system
/// allows. A driver that gets fewer reports it in its errors.
pub fn allow_connections(most: u64) {
    let limit = getrlimit(Resource::Nofile);
    let wanted = most.saturating_mul(2).saturating_add(OTHER_FILES);
    let wanted = limit.maximum.map_or(wanted, |hard| wanted.min(hard));
    if limit.current.is_some_and(|soft| soft < wanted) {
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

impl Bench for Managed {
    fn trial(&mut self, cell: &CellPlan, asked: &Asked) -> Result<Measured, Trouble> {
        self.bring_up().map_err(Trouble::Everything)?;
        let measured = self.measure(cell, asked);
        // If the server has ended, that explains every complaint of the driver.
        let ended = self.up.as_mut().and_then(Up::ended);
        if let Some(how) = ended {
            self.up = None;
            return Err(Trouble::Cell(how));
        }
        if measured.is_err()
            && let Some(up) = &mut self.up
        {
            // The server may still respond to requests that a broken driver left behind.
            up.at_rest = None;
        }
        measured
    }
}

impl Managed {
    /// Starts the server if it is not up.
    pub fn bring_up(&mut self) -> Result<(), LabError> {
        if self.up.is_some() {
            return Ok(());
        }
        let spec = match &self.server {
            Server::Embedded { arguments } => {
                let path = ["--path", EMBEDDED_PATH].map(str::to_owned);
                TargetSpec::embedded(path.into_iter().chain(arguments.iter().cloned()))?
            }
            Server::Command { command, env, ready_timeout } => {
                let mut spec = TargetSpec::new("server", command.clone());
                spec.env.clone_from(env);
                spec.ready_timeout = *ready_timeout;
                spec
            }
        };
        let name = spec.name.clone();
        let running = self.place.start(spec, "server")?;
        let Some(stats) = running.announced().stats.clone() else {
            return Err(LabError::Target {
                name,
                problem: "its port file does not give the URL of its own count; write \
                          STATS=URL, for JSON with \"requests_answered\""
                    .to_owned(),
                log_tail: running.log_tail(),
            });
        };
        self.up = Some(Up { running, stats, at_rest: None });
        Ok(())
    }

    /// Ends the server.
    pub fn take_down(&mut self) -> Result<(), LabError> {
        self.up.take().map_or(Ok(()), |up| up.running.stop())
    }

    fn measure(&mut self, cell: &CellPlan, asked: &Asked) -> Result<Measured, Trouble> {
        let Some(up) = &mut self.up else {
            return Err(Trouble::Cell("the server is gone".to_owned()));
        };
        let url = up.url(asked).map_err(|why| Trouble::Everything(LabError::Usage(why)))?;
        // A driver resolves the name itself, but only after this check.
        http::permit(&url, self.allow.as_ref())
            .map_err(|error| Trouble::Everything(LabError::Engine(error)))?;
        let log = self.place.directory.log_of(&cell.client.name);
        let mut driver = start(&cell.client, &self.place.split, Some(&log)).map_err(told)?;
        let line = driver.ask(DESCRIBE, asked.grace, &self.interrupt).map_err(told)?;
        protocol::described(&line).map_err(|what| told(driver.broken(&what)))?;
        let before = up.count_at_rest(&self.interrupt)?;
        let started_unix_ms = unix_ms();
        let cpu_before_s = driver.cpu_s();
        let ms =
            |time: Duration| u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let ask = Ask {
            what: "run",
            url: &url,
            pool: cell.pool,
            concurrency: cell.concurrency,
            warm_up_ms: ms(asked.warm_up),
            duration_ms: ms(asked.duration),
            timeout_ms: ms(asked.timeout),
            expect_status: asked.expect_status,
            expect_body_bytes: asked.expect_body_bytes,
        };
        let patience =
            asked.warm_up + asked.duration + TIMEOUTS_AT_END * asked.timeout + asked.grace;
        let begun = Instant::now();
        let line = driver.ask(&ask.line(), patience, &self.interrupt).map_err(told)?;
        let took = begun.elapsed();
        let cpu_s = driver.cpu_s() - cpu_before_s;
        let answer =
            protocol::answered(&line, &ask, took).map_err(|what| told(driver.broken(&what)))?;
        driver.end();
        let after = up.settled(&self.interrupt)?;
        up.at_rest = Some(after);
        let server_answered = after.saturating_sub(before);
        Ok(Measured { started_unix_ms, answer, server_answered, cpu_s: cpu_s.max(0.0) })
    }
}

impl Up {
    /// The URL of requests.
    fn url(&self, asked: &Asked) -> Result<String, String> {
        let announced = self.running.url();
        let Some(path) = &asked.path else { return Ok(announced.to_owned()) };
        let parsed = HttpUrl::parse(announced)
            .map_err(|error| format!("{}: {error}", http::shown(announced)))?;
        let scheme = if parsed.is_https { "https" } else { "http" };
        Ok(format!("{scheme}://{}{path}", parsed.authority_here()))
    }

    /// How it ended, if it did.
    fn ended(&mut self) -> Option<String> {
        let how = self.running.ended()?;
        Some(matrix::ended(&how, self.running.log_tail().last()))
    }

    /// Its count before a cell.
    fn count_at_rest(&self, interrupt: &Interrupt) -> Result<u64, Trouble> {
        match self.at_rest {
            Some(count) if self.count()?.0 == count => Ok(count),
            _ => self.settled(interrupt),
        }
    }

    /// The server's count once it has stopped growing: at first it may lack the last responses.
    fn settled(&self, interrupt: &Interrupt) -> Result<u64, Trouble> {
        let begun = Instant::now();
        let (mut count, _) = self.count()?;
        let mut since = Instant::now();
        while begun.elapsed() < PATIENCE_TO_SETTLE {
            if interrupt.is_asked() {
                return Err(Trouble::Everything(LabError::Interrupted));
            }
            thread::sleep(LOOK_AGAIN);
            let (now, interval) = self.count()?;
            if now != count {
                (count, since) = (now, Instant::now());
            } else if since.elapsed() > interval.saturating_mul(2).max(SETTLED) {
                return Ok(count);
            }
        }
        Err(Trouble::Cell(format!(
            "the server still responds {PATIENCE_TO_SETTLE:?} after the driver has ended; \
             another client uses it, or the driver left requests behind"
        )))
    }

    /// The responses that it counted so far, and the interval at which it counts.
    fn count(&self) -> Result<(u64, Duration), Trouble> {
        let read = || -> Result<(u64, Duration), String> {
            let begun = Instant::now();
            let mut answer = http::get(&self.stats, STATS_PATIENCE)?;
            // A server that counts at intervals has no figures at first.
            while answer.status == 503 && begun.elapsed() < STATS_PATIENCE {
                thread::sleep(LOOK_AGAIN);
                answer = http::get(&self.stats, STATS_PATIENCE)?;
            }
            if answer.status != 200 {
                return Err(format!("{} answers {}", http::shown(&self.stats), answer.status));
            }
            http::counted(&http::shown(&self.stats), &answer.body)
        };
        read().map_err(|why| Trouble::Cell(format!("the server's own count cannot be read: {why}")))
    }
}

/// A driver's trouble in a cell.
fn told(trouble: driver::Trouble) -> Trouble {
    match trouble {
        driver::Trouble::Interrupted => Trouble::Everything(LabError::Interrupted),
        driver::Trouble::Missing(why) | driver::Trouble::Broken(why) => Trouble::Cell(why),
    }
}
