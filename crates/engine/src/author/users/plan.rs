//! Journeys, compiled for a worker.

use candor_memory::{Capture, Captures, Source};
use candor_pace::{below, exponential};
use candor_plan::journey::Variables;
use candor_plan::template::{Names, Piece, Template, compile_text};
use candor_plan::{BodyExpect, OnFailure, Plan, Think};
use candor_protocol::{Codings, Keep};

use super::redirects::Hops;

/// A journey.
pub(super) struct Journey {
    /// The request of its first step.
    pub(super) first: u32,
    /// The first of those that a user makes when the run is over.
    pub(super) ending: Option<u32>,
    pub(super) cookies: bool,
    pub(super) on_failure: OnFailure,
}

/// A step.
pub(super) struct Step {
    /// The request of the step after it.
    pub(super) next: Option<u32>,
    pub(super) think: Think,
    pub(super) repeat: (u32, u32),
    /// It is made only if this is not empty.
    pub(super) when: Option<Vec<Piece>>,
    /// Variables that its request has in it.
    pub(super) needs: Vec<u32>,
    pub(super) captures: Captures,
    /// Which it is of those that a user makes once, if it is one.
    pub(super) once: Option<usize>,
    /// If it may be redirected, or follows a redirect.
    pub(super) hops: Option<Box<Hops>>,
}

/// The journeys of a plan, whose check has compiled all of this before.
pub(super) fn journeys(plan: &Plan) -> Vec<Journey> {
    let compiled = |one: &candor_plan::Journey| Journey {
        first: one.steps[0].request,
        ending: one.steps.iter().find(|step| step.ending).map(|step| step.request),
        cookies: one.cookies,
        on_failure: one.on_failure,
    };
    plan.work.journeys().iter().map(compiled).collect()
}

/// The steps of all journeys, each at the place of its request.
pub(super) fn steps(plan: &Plan) -> Vec<Step> {
    let variables = Variables::of(plan.work.journeys());
    let of_journey = |journey: &'_ candor_plan::Journey| {
        let chains = journey.with_redirects();
        let pairs = journey.with_redirects().zip(journey.with_redirects().skip(1));
        // An iteration does not lead to the steps that are made when the run is over.
        let following =
            pairs.map(|((one, _), (next, _))| (one.ending == next.ending).then_some(next.request));
        let all: Vec<Step> = chains
            .zip(following.chain([None]))
            .flat_map(|((one, redirects), next)| {
                let steps = std::iter::once(one).chain(redirects);
                steps.map(move |one| (one, next))
            })
            .map(|(one, next)| step(plan, &variables, one, next))
            .collect();
        all
    };
    let mut all: Vec<Step> = plan.work.journeys().iter().flat_map(of_journey).collect();
    all.iter_mut().zip(Hops::of(plan)).for_each(|(step, hops)| step.hops = hops);
    let mut once = 0;
    let planned = plan.work.journeys().iter().flat_map(|one| &one.steps);
    for (step, planned) in all.iter_mut().zip(planned).filter(|(_, planned)| planned.once) {
        once += usize::from(planned.redirect.is_none());
        // A redirect belongs to its step.
        step.once = Some(once - 1);
    }
    all
}

fn step(
    plan: &Plan,
    variables: &Variables<'_>,
    step: &candor_plan::Step,
    next: Option<u32>,
) -> Step {
    let captured = variables.before(step.request);
    let names = Names { data: &plan.data, environment: &plan.environment, captured };
    let request = &plan.work.requests()[step.request as usize];
    let template = Template::compile(request, step.request as usize, names).ok();
    let capture = |one: &candor_plan::Capture| {
        let variable = variables.number(&one.variable)? as u32;
        let source = Source::parse(&one.source).ok()?;
        Some(Capture { variable, name: one.variable.as_str().into(), source })
    };
    Step {
        next,
        think: step.think,
        repeat: step.repeat,
        when: step.when.as_ref().and_then(|when| compile_text(when, names).ok()),
        needs: template.filter(|_| request.holes).map(|one| needs(&one)).unwrap_or_default(),
        captures: Captures::new(step.captures.iter().filter_map(capture).collect())
            .unwrap_or_default(),
        once: None,
        hops: None,
    }
}

/// The variables of a request.
fn needs(template: &Template) -> Vec<u32> {
    let mut all = Vec::new();
    let texts = [&template.method, &template.path, &template.body];
    for text in texts.into_iter().chain(template.headers.iter().map(|(_, value)| value)) {
        text.iter().for_each(|piece| piece.variables(&mut all));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// How much is kept of the responses to each request; `None`: nothing of any.
pub(crate) fn kept(plan: &Plan) -> Option<Box<[Keep]>> {
    let redirects = Hops::of(plan);
    let is_redirected = |step: &candor_plan::Step| redirects[step.request as usize].is_some();
    let of_step = |cookies: bool, step: &candor_plan::Step| {
        let in_body = |one: &candor_plan::Capture| {
            Source::parse(&one.source).is_ok_and(|source| source.is_in_body())
        };
        match step.captures.iter().any(in_body) {
            true => Keep::Whole,
            false if cookies || !step.captures.is_empty() || is_redirected(step) => Keep::Fields,
            false => Keep::Nothing,
        }
    };
    let mut kept: Vec<Keep> = plan
        .work
        .journeys()
        .iter()
        .flat_map(|one| one.steps.iter().map(|step| of_step(one.cookies, step)))
        .collect();
    if plan.compressed {
        // What is looked into is decoded, and has to be known for that.
        let requests = plan.work.requests();
        kept.resize(requests.len(), Keep::Nothing);
        for (kept, request) in kept.iter_mut().zip(requests) {
            let looked = match request.expect.body {
                BodyExpect::Any if request.stream.is_some() => Keep::Stream,
                BodyExpect::Any => Keep::Nothing,
                BodyExpect::Length(_) | BodyExpect::Exact(_) => Keep::Whole,
            };
            *kept = looked.max(*kept);
        }
    }
    kept.iter().any(|one| *one != Keep::Nothing).then(|| kept.into())
}

/// What becomes of the content codings of responses: who asks for one in a field of his own can read it, too.
pub(crate) fn codings(plan: &Plan) -> Codings {
    let asks = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("accept-encoding") && value != "identity"
    };
    let asked = plan.compressed
        || plan.work.requests().iter().any(|request| request.headers.iter().any(asks));
    if asked { Codings::Decoded } else { Codings::Refused }
}

/// How long a user thinks, drawn by random bits.
pub(super) fn think_ns(think: Think, bits: u64) -> u64 {
    match think {
        Think::None => 0,
        Think::Fixed { ns } => ns,
        // Below 37 means.
        Think::Exponential { mean_ns } => (exponential(bits) * mean_ns as f64) as u64,
        Think::Uniform { low_ns, high_ns } => {
            low_ns.saturating_add(below(u128::from(high_ns - low_ns) + 1, bits))
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_pace::draw;

    use super::*;

    #[test]
    fn think_times_have_the_mean_and_the_bounds_that_were_asked_for() {
        let n = 100_000u64;
        let mean = |think| {
            (0..n).map(|index| think_ns(think, draw(1, 2, index)) as f64).sum::<f64>() / n as f64
        };
        let off = |mean: f64, expected: f64, deviation: f64| {
            (mean - expected).abs() / (deviation / (n as f64).sqrt())
        };
        assert!(off(mean(Think::Exponential { mean_ns: 1_000_000 }), 1e6, 1e6) < 4.0);
        let uniform = Think::Uniform { low_ns: 1000, high_ns: 3000 };
        assert!(off(mean(uniform), 2000.0, 2000.0 / 12f64.sqrt()) < 4.0);
        let ends = (think_ns(uniform, 0), think_ns(uniform, u64::MAX));
        assert_eq!(ends, (1000, 3000));
        assert_eq!(think_ns(Think::Fixed { ns: 7 }, 9), 7);
        assert_eq!(think_ns(Think::None, 9), 0);
    }
}
