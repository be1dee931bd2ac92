//! What an expectation is about: the whole run, a step, or a journey.

use candor_plan::Parts;
use candor_plan::redact::refused;
use candor_plan::suggest::did_you_mean;
use candor_record::ErrorKind;

use super::{Counter, Expectation, Metric, Series};
use crate::document::Document;
use crate::document::counts::RequestRow;
use crate::document::latency::Distribution;
use crate::document::users::JourneyRow;

/// The part of a document that an expectation is about.
pub(super) enum Scope<'a> {
    Run(&'a Document),
    Step(&'a RequestRow),
    Journey(&'a JourneyRow),
}

/// All and failed: requests of a run that were due, requests of a step that were sent, users of a journey that began.
pub(super) struct Outcomes {
    pub(super) all: u64,
    pub(super) failed: u64,
}

/// The times of one kind, and how many requests have none.
pub(super) struct Timed<'a> {
    pub(super) distribution: &'a Distribution,
    /// Without any response: how long their users waited is not known.
    pub(super) never: u64,
    /// Without the expected response, those included. In a percentile they are slower than all others.
    pub(super) failed: u64,
}

impl<'a> Timed<'a> {
    /// Times that every request has, or that failures do not change.
    fn whole(distribution: &'a Distribution) -> Self {
        Timed { distribution, never: 0, failed: 0 }
    }
}

pub(super) const NO_RATE: &str = "a closed load has no asked rate; write e.g. rate >= 20k/s";
const NO_JOURNEY: &str = "the plan has no journeys; leave it out";

/// In front of the name of a target.
const TARGET: &str = "target:";

impl Expectation {
    /// Checks that the plan has what it is about.
    ///
    /// # Errors
    /// No step, request or journey has the name, or no run of the plan can have the figure: a sentence with its remedy.
    pub fn check(&self, plan: &Parts) -> Result<(), String> {
        let is_goodput = matches!(self.metric, Metric::Goodput | Metric::GoodputShare);
        if is_goodput && plan.recording.goodput.is_none() {
            let shown = refused(&self.expression);
            return Err(format!(
                "'{shown}': the plan has no limits for good responses; add goodput, e.g. response<2s"
            ));
        }
        if let Some(why) = self.without_figure(plan) {
            return Err(format!("'{}': {why}", refused(&self.expression)));
        }
        let Some(scope) = &self.scope else { return Ok(()) };
        let steps = plan.work.requests().iter().map(|one| one.name.as_str());
        let journeys = plan.work.journeys().iter().map(|one| one.name.as_str());
        let targets: Vec<String> =
            plan.targets().map(|one| format!("{TARGET}{}", one.name)).collect();
        let known: Vec<&str> =
            steps.chain(journeys).chain(targets.iter().map(String::as_str)).collect();
        let bearers = plan.work.requests().iter().filter(|one| one.name == *scope).count();
        if bearers > 1 {
            return Err(format!(
                "'{}': {bearers} requests or steps are named '{scope}'; give each a name of its own",
                refused(&self.expression),
            ));
        }
        if known.contains(&scope.as_str()) {
            return Ok(());
        }
        match did_you_mean(scope, known.iter().copied()) {
            hint if hint.is_empty() => Err(format!(
                "'{}': the plan has no step or journey '{}'; use one of {}",
                refused(&self.expression),
                refused(scope),
                known.join(", ")
            )),
            hint => Err(format!(
                "'{}': the plan has no step or journey '{scope}'{hint}",
                self.expression
            )),
        }
    }

    /// Why no run of the plan has its figure, if so.
    fn without_figure(&self, plan: &Parts) -> Option<&'static str> {
        match self.metric {
            Metric::RateShare if !plan.load.is_open() => Some(NO_RATE),
            Metric::Journeys if plan.work.journeys().is_empty() => Some(NO_JOURNEY),
            _ => None,
        }
    }

    /// What it is about in this document; `None`: that has nothing of the name.
    pub(super) fn scope<'a>(&self, document: &'a Document) -> Option<Scope<'a>> {
        let Some(name) = &self.scope else { return Some(Scope::Run(document)) };
        if let Some(target) = name.strip_prefix(TARGET) {
            let row = document.targets.iter().find(|one| one.name == target);
            return row.map(Scope::Step).or_else(|| {
                let is_only =
                    document.plan.others.is_empty() && document.plan.target.name == target;
                is_only.then_some(Scope::Run(document))
            });
        }
        // Of a plan's only request there is no row: it is the run.
        if let [only] = document.plan.work.requests()
            && document.requests.is_empty()
            && only.name == *name
        {
            return Some(Scope::Run(document));
        }
        let step = document.requests.iter().find(|one| one.name == *name).map(Scope::Step);
        let mut journeys = document.users.iter().flat_map(|users| &users.journeys);
        step.or_else(|| journeys.find(|one| one.name == *name).map(Scope::Journey))
    }
}

impl<'a> Scope<'a> {
    /// The times of a series; `None`: there is none.
    pub(super) fn latencies(&self, series: Series) -> Option<Timed<'a>> {
        Some(match self {
            Scope::Run(document) => return of_run(document, series),
            Scope::Step(row) => {
                let failed = row.sent.saturating_sub(row.ok);
                let never = failed.saturating_sub(row.errors).saturating_add(row.unanswered);
                let timed = |distribution| Timed { distribution, never, failed };
                match series {
                    Series::Response => timed(row.response.as_ref()?),
                    Series::Service => timed(&row.step.as_ref()?.service),
                    Series::QueueWait => Timed::whole(&row.step.as_ref()?.queue_wait),
                    Series::SendLag => Timed::whole(&row.step.as_ref()?.send_lag),
                    _ => return None,
                }
            }
            // Users who are under way at the end have not been slow: they came late.
            Scope::Journey(row) => {
                let timed = |distribution| Timed { distribution, never: 0, failed: row.failed };
                match series {
                    Series::Response => timed(&row.duration),
                    Series::Service => timed(&row.active),
                    _ => return None,
                }
            }
        })
    }

    /// How many ended as intended.
    pub(super) fn succeeded(&self) -> u64 {
        match self {
            // Steps may have succeeded whose journeys all failed.
            Scope::Run(document) if document.all_journeys_failed() => 0,
            Scope::Run(document) => document.ledger.succeeded(),
            Scope::Step(row) => row.ok,
            Scope::Journey(row) => row.completed,
        }
    }

    /// A count; `None`: there is none of that.
    pub(super) fn count(&self, counter: Counter) -> Option<u64> {
        match self {
            Scope::Run(document) => {
                let ledger = &document.ledger;
                Some(match counter {
                    Counter::Scheduled => ledger.scheduled,
                    Counter::Sent => ledger.sent,
                    Counter::Ok => ledger.ok,
                    Counter::BrokenOff => ledger.broken_off,
                    Counter::Errors => ledger.errors,
                    Counter::Shed => ledger.shed,
                    Counter::Unsent => ledger.unsent,
                    Counter::Unfinished => ledger.unfinished,
                    Counter::ConnectErrors => {
                        let counts = document.connect_errors.iter().map(|one| one.count);
                        counts.fold(0, u64::saturating_add)
                    }
                })
            }
            Scope::Step(row) => match counter {
                Counter::Sent => Some(row.sent),
                Counter::Ok => Some(row.ok),
                Counter::Errors => Some(row.errors),
                _ => None,
            },
            Scope::Journey(row) => match counter {
                Counter::Sent => Some(row.started),
                Counter::Ok => Some(row.completed),
                Counter::Errors => Some(row.failed),
                Counter::Unfinished => Some(row.unfinished),
                _ => None,
            },
        }
    }

    /// What the error rate is the share of.
    pub(super) fn outcomes(&self) -> Outcomes {
        match self {
            Scope::Run(document) => {
                Outcomes { all: document.ledger.accounted(), failed: document.ledger.failed() }
            }
            Scope::Step(row) => Outcomes { all: row.sent, failed: row.sent.saturating_sub(row.ok) },
            Scope::Journey(row) => Outcomes { all: row.started, failed: row.failed },
        }
    }
}

/// `None`: the run has no such series.
fn of_run<'a>(document: &'a Document, series: Series) -> Option<Timed<'a>> {
    let latencies = &document.latencies;
    let ledger = &document.ledger;
    let errors = |counts: fn(ErrorKind) -> bool| {
        let of = |id: &str| ErrorKind::of_id(id).is_some_and(counts);
        let all = document.errors.iter().filter(|one| of(&one.kind)).map(|one| one.count);
        all.fold(0, u64::saturating_add)
    };
    let unanswered = errors(|kind| !kind.has_response()).saturating_add(ledger.unfinished);
    let unserved = ledger.unsent.saturating_add(ledger.shed);
    let streams = document.streams.as_ref();
    let from_due = |distribution| Timed {
        distribution,
        never: unanswered.saturating_add(unserved),
        failed: ledger.failed(),
    };
    let from_sent = |distribution| Timed {
        distribution,
        never: unanswered,
        failed: ledger.errors.saturating_add(ledger.unfinished),
    };
    // Whatever became of a stream later, its first event came when it came: those that it never came of are counted for
    // themselves where a time-out ended them.
    let unbegun = errors(|kind| {
        use ErrorKind::{IdleTimeout, StreamCut, Timeout};
        !kind.has_response() && !matches!(kind, Timeout | IdleTimeout | StreamCut)
    });
    let first = |distribution: &'a Distribution, late: u64| {
        let never = unbegun.saturating_add(late).saturating_add(unserved);
        let never = never.max(ledger.accounted().saturating_sub(distribution.count));
        Timed { distribution, never, failed: never }
    };
    // A value of each whole stream: how long a gap was when its stream failed is not known.
    let of_streams = |distribution| Timed { distribution, never: 0, failed: ledger.failed() };
    Some(match series {
        Series::Response => from_due(&latencies.response),
        Series::Service => from_sent(&latencies.service),
        Series::FirstByte => from_sent(&latencies.first_byte),
        Series::QueueWait => Timed::whole(&latencies.queue_wait),
        Series::SendLag => Timed::whole(&latencies.send_lag),
        Series::Connect => Timed::whole(&latencies.connect),
        Series::FirstEvent => first(&streams?.first_event, streams?.unbegun),
        Series::FirstToken => {
            first(&streams?.tokens.as_ref()?.time_to_first_token, streams?.unbegun)
        }
        Series::TokenGap => Timed::whole(&streams?.tokens.as_ref()?.inter_token_latency),
        Series::LastEvent => from_due(&streams?.last_event),
        Series::Gap => Timed::whole(&streams?.gap),
        Series::LongestGap => of_streams(&streams?.longest_gap),
        Series::TimePerOutputToken => of_streams(&streams?.tokens.as_ref()?.time_per_output_token),
    })
}
