//! Two servers and one load: even arrivals alternate between a server that responds after D and one that stalls once,
//! for S. What goes to the first is judged as if it went there alone: the stall of the other must not move it.

use std::thread;
use std::time::Duration;

use candor_plan::{Plan, Request, Target, Work};
use candor_record::RunRecord;
use candor_record::trace::Traced;
use candor_serve::truth;

use super::super::Settings;
use super::super::evidence::{Evidence, Theory};
use super::super::experiment::{self, Server, plan, traced};
use super::super::line::{Line, Unit};
use super::super::settle::settled;
use crate::error::LabError;
use crate::target::http;

/// Of the server that does not stall: a response leaves before the next request to the other, which may wake it on a core
/// of theirs.
pub(super) const SERVICE_NS: u64 = 1_000_000;
/// Requests a second to each of the servers.
pub(super) const RATE_PER_S: u64 = 100;
/// Connections to the server that stalls: so many of its requests are in flight, and the others wait.
const FEW: u32 = 2;

/// The evidence of both servers.
#[derive(Clone)]
pub(super) struct Both {
    /// Of the server that does not stall: its requests, and the plan that has no others.
    pub(super) quiet: Evidence,
    /// Every request of the loader.
    pub(super) traced: Vec<Traced>,
    /// The log of the server that stalls.
    pub(super) other: truth::Record,
}

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let (run_s, stall_ms) = settings.length.pick((4.0, 1000), (1.5, 400));
    settled(|| Ok(judge(&make(settings, run_s, stall_ms)?)))
}

fn make(settings: &Settings, run_s: f64, stall_ms: u64) -> Result<Both, LabError> {
    let spin = if candor_engine::core_count() == 1 { "" } else { " --spin" };
    let quiet = Server::start(&format!("--truth delay --service-time 1ms{spin}"))?;
    let other = Server::start("--truth fifo --service-time 100us")?;
    let stalls = other.url();
    let plan = experiment::waits(settings, to_both(run_s, quiet.url(), stalls)?);
    let (record, traced) = traced(&plan, || {
        thread::sleep(Duration::from_secs_f64(run_s / 4.0));
        // If the stall does not happen, it is missing from the log.
        let url = format!("{stalls}__stall?for={stall_ms}ms");
        let _ = http::ask("POST", &url, Duration::from_secs(5));
    })?;
    let alone = to_one(run_s, quiet.url(), 1)?;
    Ok(Both::new(alone, record, traced, [quiet.end()?, other.end()?]))
}

/// A load of this many servers in turn, with a connection for each request to the first of them: none waits for one.
fn to_one(run_s: f64, url: &str, servers: u64) -> Result<Plan, LabError> {
    let (rate, requests) = (RATE_PER_S * servers, RATE_PER_S as f64 * run_s);
    plan(&format!("-R {rate} -c {requests} -t 1 -d {run_s}s"), url)
}

/// The same rate for each of two servers.
pub(super) fn to_both(run_s: f64, quiet: &str, other: &str) -> Result<Plan, LabError> {
    let second = to_one(run_s, other, 2)?.target.clone();
    let plan = to_one(run_s, quiet, 2)?;
    Ok(plan.with(|parts| {
        let second = Target { name: "other".to_owned(), connections: Some(FEW), ..second };
        parts.others = vec![second];
        let one = parts.work.requests()[0].clone();
        let two = Request { name: "other".to_owned(), target: 1, ..one.clone() };
        parts.work = Work::from(vec![one, two]);
    })?)
}

impl Both {
    /// The evidence of a load and of the logs of both servers. `alone`: the plan of the first alone.
    pub(super) fn new(
        alone: Plan,
        record: RunRecord,
        traced: Vec<Traced>,
        [quiet, other]: [truth::Record; 2],
    ) -> Self {
        let own = traced.iter().filter(|one| one.request == 0).copied().collect();
        Both { quiet: Evidence::new(alone, record, own, quiet), traced, other }
    }
}

pub(super) fn judge(both: &Both) -> Vec<Line> {
    let Both { quiet, traced, other } = both;
    let total = &quiet.record.total;
    let balance = if total.ledger.balances() { total.ledger.scheduled } else { u64::MAX };
    let logged = |log: &truth::Record| log.entries.len() as u64 + log.unlogged;
    let (contradictions, detail) = quiet.contradictions(Theory::Delay { service_ns: SERVICE_NS });
    let waited = quiet.traced.iter().filter(|one| one.ready_ns > one.due_ns).count() as u64;
    let of_waits = format!("{waited} of {} found no free connection", quiet.traced.len());
    let stalls = &other.stalls_ns;
    let stall_ns = stalls.iter().map(|(from_ns, to_ns)| to_ns - from_ns).max().unwrap_or_default();
    let stalled = traced.iter().filter(|one| one.request == 1 && one.was_sent());
    let slowest_ns = stalled.map(|one| one.done_ns - one.due_ns).max().unwrap_or_default();
    let gap_ns = 1e9 / RATE_PER_S as f64;
    let mut lines = vec![
        Line::exactly("requests in the loader's trace", balance, traced.len() as u64),
        Line::exactly("requests in the server's log", total.requests[0].sent, logged(&quiet.log)),
        Line::exactly("requests in the other server's log", total.requests[1].sent, logged(other)),
        Line::exactly("stalls", 1, stalls.len() as u64),
        Line::never("contradictions of schedule, trace, log", contradictions, detail),
        Line::never("requests that waited for a connection", waited, of_waits),
        // Its first request comes up to a gap after it began.
        Line::near(
            "longest response time at the other server",
            Unit::Ns,
            stall_ns as f64,
            gap_ns + 1e6,
            slowest_ns as f64,
        ),
    ];
    lines.extend(quiet.single_requests(|expected_ns, _| expected_ns + SERVICE_NS));
    quiet.told(lines)
}
