//! Users of K steps on a server that responds after D, with a think time of Z between two steps: a journey takes
//! K·D + (K−1)·Z, and each step is due when the response before it was read and the think time is over. Then users
//! with tokens, on a server that knows whose each of them is.

use std::collections::HashMap;

use candor_engine::Control;
use candor_plan::{Capture, Journey, OnFailure, Parts, Plan, Request, Step, Think, Work};
use candor_record::RunRecord;
use candor_record::trace::Traced;

use super::super::Settings;
use super::super::evidence::{Evidence, Theory};
use super::super::experiment::{Experiment, Traces, plan};
use super::super::line::{Line, Unit};
use super::super::parts::at;
use super::super::settle::settled;
use crate::error::LabError;
use crate::target::{Running, TargetSpec};

pub(super) const SERVICE_NS: u64 = 10_000_000;
const THINK_NS: u64 = 20_000_000;
const STEPS: u32 = 3;
/// The tolerance of the median journey.
const WITHIN_NS: f64 = 1e6;

pub(super) fn check(settings: &Settings) -> Result<Vec<Line>, LabError> {
    let run_s = settings.length.pick("2.5", "1");
    let experiment = Experiment::new(
        "--truth delay --service-time 10ms",
        format!("-R 100 -c 50 -t 1 -d {run_s}s"),
    );
    let experiment = experiment.with_plan(journey);
    let mut lines = settled(|| Ok(judge(&experiment.make(settings, |_| ())?)))?;
    lines.extend(judge_tokens(&with_tokens(run_s)?));
    Ok(Line::join(lines))
}

fn step(request: u32, think: Think) -> Step {
    Step { think, ..Step::plain(request) }
}

fn of_steps(requests: Vec<Request>, steps: Vec<Step>) -> Work {
    let name = "journey".to_owned();
    let one = Journey { name, weight: 1, steps, cookies: false, on_failure: OnFailure::End };
    Work::from(requests).walked(vec![one], None)
}

/// Makes the one request of a plan the steps of a journey.
pub(super) fn journey(parts: &mut Parts) {
    let one = parts.work.requests()[0].clone();
    let named = |step| Request { name: format!("step {step}"), ..one.clone() };
    let think = Think::Fixed { ns: THINK_NS };
    let steps = (0..STEPS).map(|request| step(request, think)).collect();
    parts.work = of_steps((0..STEPS).map(named).collect(), steps);
}

pub(super) fn judge(evidence: &Evidence) -> Vec<Line> {
    let mut lines = evidence.books(Theory::Delay { service_ns: SERVICE_NS });
    let users = &evidence.record.total.journeys[0];
    let ends = users.completed + users.failures() + users.unfinished;
    lines.push(Line::exactly("users: completed, failed, unfinished", users.started, ends));
    let (wrong, detail) = wrong_times(&evidence.traced);
    lines.push(Line::never("steps due at another time than done + Z", wrong, detail));
    let expected_ns = u64::from(STEPS) * SERVICE_NS + u64::from(STEPS - 1) * THINK_NS;
    let what = "a journey, p50: K·D + (K−1)·Z";
    // A pause makes a journey longer, so the untouched ones are the shortest.
    let median_ns = at(Some(&users.duration), 0.5 * untouched_journeys(evidence));
    lines.push(Line::near(what, Unit::Ns, expected_ns as f64, WITHIN_NS, median_ns));
    evidence.told(lines)
}

/// The share of the journeys of which no pause touched a step.
fn untouched_journeys(evidence: &Evidence) -> f64 {
    let mut touched: HashMap<u64, bool> = HashMap::new();
    for (one, is_touched) in evidence.sent().iter().zip(evidence.touched()) {
        *touched.entry(one.index).or_default() |= is_touched;
    }
    touched.values().filter(|touched| !**touched).count() as f64 / touched.len() as f64
}

/// Steps whose due time is not the end of the step before and the think time.
fn wrong_times(traced: &[Traced]) -> (u64, String) {
    let steps: HashMap<(u64, u32), &Traced> =
        traced.iter().map(|one| ((one.index, one.request), one)).collect();
    let is_wrong = |one: &&Traced| {
        let before = one.request.checked_sub(1).map(|request| steps.get(&(one.index, request)));
        before.is_some_and(|before| {
            before.is_none_or(|before| before.done_ns + THINK_NS != one.due_ns)
        })
    };
    let wrong: Vec<&Traced> = traced.iter().filter(is_wrong).collect();
    let detail =
        wrong.first().map(|one| format!("first step {} of user {}", one.request, one.index));
    (wrong.len() as u64, detail.unwrap_or_default())
}

/// Users who fetch a token and use it, many at a time.
fn with_tokens(run_s: &str) -> Result<RunRecord, LabError> {
    let server = Running::start(&TargetSpec::embedded(Vec::new())?)?;
    let flags = format!("-R 400 --arrivals poisson -c 20 -t 1 -d {run_s}s");
    let plan: Plan = plan(&flags, server.url())?.with(|parts| {
        let one = parts.work.requests()[0].clone();
        let get = |path: &str| Request {
            name: path.to_owned(),
            path: path.to_owned(),
            holes: true,
            literal_body: false,
            call: None,
            ..one.clone()
        };
        let requests = vec![get("/token/${seq}"), get("/token/${seq}/${token}")];
        let token = Capture { variable: "token".to_owned(), source: "body".to_owned() };
        let login = Step { captures: vec![token], ..step(0, Think::None) };
        let uses = step(1, Think::Exponential { mean_ns: THINK_NS });
        parts.work = of_steps(requests, vec![login, Step { repeat: (1, 3), ..uses }]);
    })?;
    let record = candor_engine::run(&plan, &Control::default(), &mut Traces::default())?;
    server.stop()?;
    Ok(record)
}

pub(super) fn judge_tokens(record: &RunRecord) -> Vec<Line> {
    let users = &record.total.journeys[0];
    let ends = users.completed + users.failures() + users.unfinished;
    let rejected = record.total.requests[1].errors;
    let used = record.total.requests[1].sent;
    vec![
        Line::exactly("users with tokens: completed, failed, unfinished", users.started, ends),
        Line::never("tokens of another user", rejected, format!("{rejected} of {used}")),
    ]
}
