//! Candor itself is stopped (SIGSTOP) for a while and continued: requests due meanwhile are sent
//! late. That is send lag, caused by the loader, and must not count as service time or queue wait;
//! the report has to say so.
//!
//! The load is a `candor run` in a process of its own, which can be stopped without stopping the
//! judge.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use candor_files::{Private, private};
use candor_report::Document;
use candor_report::document::latency::Distribution;
use candor_serve::truth::{Entry, now_ns};
use rustix::process::{Pid, Signal, kill_process};

use super::super::Settings;
use super::super::experiment::{Server, failed};
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use crate::error::LabError;
use crate::target::http;

const RATE_PER_S: u64 = 1000;
const PAUSE: Duration = Duration::from_millis(300);
/// Verdicts that blame the loader or its machine.
const BLAME: [&str; 2] = ["send-lag", "host-hiccup"];
/// The tolerance for the system to stop and continue a process.
const SLACK_NS: f64 = 10e6;
/// The lag from which a response counts as late.
const LATE_NS: u64 = 1_000_000;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    settled(|| once(settings))
}

fn once(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("3", "1.5");
    let server = Server::start("--truth delay --service-time 1ms")?;
    // A place for each request that is due in the pause, so that none waits for another.
    let flags = format!("-R {RATE_PER_S} -c 400 -t 1 -d {run_s}s --drain 1s --quiet");
    let mut loader = Loader::start(&flags, server.url())?;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) && answered(&server) < RATE_PER_S / 4 {
        thread::sleep(Duration::from_millis(10));
    }
    let from_ns = now_ns();
    let paused = loader.pause(PAUSE)?;
    let document = loader.finish()?;
    let log = server.end()?;
    let mut lines = judge(&document, paused, overdue(&log.entries, from_ns));
    let arrived = log.entries.len() as u64 + log.unlogged;
    lines.insert(1, Line::exactly("requests in the server's log", document.ledger.sent, arrived));
    Ok(lines)
}

/// Responses due by the server's own log that had not left when the loader, told to stop at
/// `from_ns`, had sent its last request before the pause: the server was stalled.
fn overdue(log: &[Entry], from_ns: u64) -> usize {
    let before = from_ns + SLACK_NS as u64;
    let arrivals = log.iter().map(|entry| entry.arrival_ns).filter(|at_ns| *at_ns < before);
    let stopped_ns = arrivals.max().unwrap_or(0);
    let is_overdue = |entry: &&Entry| {
        entry.computed_ns + LATE_NS < stopped_ns && entry.departed_ns >= stopped_ns
    };
    log.iter().filter(is_overdue).count()
}

/// Requests that the server has responded to.
fn answered(server: &Server) -> u64 {
    let stats = format!("{}__stats", server.url());
    let read = || http::counted(&stats, &http::get(&stats, Duration::from_secs(5))?.body);
    read().map_or(0, |(count, _)| count)
}

/// A `candor run`; killed on drop.
struct Loader {
    process: Child,
    result: PathBuf,
    /// The directory of the result.
    _private: Private,
}

impl Loader {
    fn start(flags: &str, url: &str) -> Result<Self, LabError> {
        let private = private().map_err(LabError::no_temporary)?;
        let result = private.name("json");
        let cannot = |error| failed(format!("cannot start a loader: {error}"));
        let mut command = Command::new(crate::target::own_program().map_err(cannot)?);
        command.arg("run").args(flags.split_whitespace()).arg("--json").arg(&result).arg(url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Loader { process: command.spawn().map_err(cannot)?, result, _private: private })
    }

    /// Stops it for about `length`; returns the least time for which it was stopped.
    fn pause(&mut self, length: Duration) -> Result<Duration, LabError> {
        let cannot = |errno| failed(format!("cannot pause the loader: {errno}"));
        // It is a child that was not waited for, so its process id is still valid.
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::STOP).map_err(cannot)?;
        let begun = Instant::now();
        thread::sleep(length);
        let paused = begun.elapsed();
        kill_process(pid, Signal::CONT).map_err(cannot)?;
        Ok(paused)
    }

    fn finish(mut self) -> Result<Document, LabError> {
        let failed = |why: String| failed(format!("the paused loader: {why}"));
        self.process.wait().map_err(|error| failed(error.to_string()))?;
        let text = std::fs::read_to_string(&self.result);
        let text = text.map_err(|error| failed(format!("it left no result: {error}")))?;
        Document::from_json(&text).map_err(|error| failed(error.to_string()))
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        // Killing an ended process is not an error; a stopped one dies as well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(super) fn judge(document: &Document, paused: Duration, overdue: usize) -> Vec<Line> {
    let paused_ns = paused.as_nanos() as u64;
    let latencies = &document.latencies;
    let long = |of: &Distribution| above(of, paused_ns / 2) as f64;
    let due_in_half = RATE_PER_S as f64 * paused.as_secs_f64() / 2.0;
    let max = latencies.send_lag.max_ns.unwrap_or(0) as f64;
    let blames = |id: &str| document.verdicts.iter().any(|one| one.id == id);
    let blamed = BLAME.into_iter().any(blames);
    vec![
        Line::exactly("requests with a response", document.ledger.scheduled, document.ledger.ok),
        // From the call to the actual stop, and from the end to the first reading of the clock.
        Line::near("longest send lag", Unit::Ns, paused_ns as f64, SLACK_NS, max),
        Line::near(
            "requests with half of it or more",
            Unit::Count,
            due_in_half,
            RATE_PER_S as f64 * SLACK_NS / 1e9,
            long(&latencies.send_lag),
        ),
        // Only the responses to requests in flight, R·D and perhaps one more, and those that the
        // server sent late, were read late.
        Line::at_most(
            "that long by service time",
            Unit::Count,
            2.0 + overdue as f64,
            long(&latencies.service),
        ),
        Line::at_most("that long by queue wait", Unit::Count, 0.0, long(&latencies.queue_wait)),
        Line::exactly("reports that blame the loader", 1, u64::from(blamed)),
    ]
}

/// How many samples are at least `value_ns`.
fn above(distribution: &Distribution, value_ns: u64) -> u64 {
    let Ok(histogram) = distribution.decode() else { return u64::MAX };
    histogram
        .iter_recorded()
        .filter(|one| one.value_iterated_to() >= value_ns)
        .map(|one| one.count_at_value())
        .sum()
}

#[cfg(test)]
mod tests {
    use candor_serve::truth::Fate;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn only_answers_that_were_late_when_the_loader_stopped_are_overdue() {
        let entry = |arrival_ms: u64, departed_ms: u64| Entry {
            arrival_ns: arrival_ms * MS,
            computed_ns: (arrival_ms + 1) * MS,
            departed_ns: departed_ms * MS,
            connection: 0,
            queue: 0,
            fate: Fate::Answered,
        };
        // Told to stop at 100 ms, it sent until 102; after the pause it continues at 400.
        let punctual: Vec<Entry> = (90..103).chain([400]).map(|at| entry(at, at + 1)).collect();
        assert_eq!(overdue(&punctual, 100 * MS), 0);
        // The server stalls from 94 to 110: responses due at 95 to 100 are late by then.
        let late: Vec<Entry> =
            (90..103).chain([400]).map(|at| entry(at, (at + 1).max(110))).collect();
        assert_eq!(overdue(&late[4..], 100 * MS), 6);
        assert_eq!(overdue(&[], 100 * MS), 0);
    }
}
