//! What an expectation is about: the whole run, a step, or a journey.

use candor_plan::Parts;
use candor_plan::redact::refused;
use candor_plan::suggest::did_you_mean;

use super::{Counter, Expectation, Series};
use crate::document::Document;
use crate::document::counts::{RequestRow, count_of};
use crate::document::latency::Distribution;
use crate::document::users::JourneyRow;

/// The part of a document that an expectation is about.
pub(super) enum Scope<'a> {
    Run(&'a Document),
    Step(&'a RequestRow),
    Journey(&'a JourneyRow),
}

/// Sent and failed, or started and failed.
pub(super) struct Outcomes {
    pub(super) all: u64,
    pub(super) failed: u64,
}

impl Expectation {
    /// Checks that the plan has what it is about.
    ///
    /// # Errors
    /// No step, request or journey has the name: a sentence with its remedy.
    pub fn check(&self, plan: &Parts) -> Result<(), String> {
        let Some(scope) = &self.scope else { return Ok(()) };
        let steps = plan.requests.list.iter().map(|one| one.name.as_str());
        let journeys = plan.journeys.iter().map(|one| one.name.as_str());
        let known: Vec<&str> = steps.chain(journeys).collect();
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

    /// What it is about in this document; `None`: that has nothing of the name.
    pub(super) fn scope<'a>(&self, document: &'a Document) -> Option<Scope<'a>> {
        let Some(name) = &self.scope else { return Some(Scope::Run(document)) };
        let step = document.requests.iter().find(|one| one.name == *name).map(Scope::Step);
        let mut journeys = document.users.iter().flat_map(|users| &users.journeys);
        step.or_else(|| journeys.find(|one| one.name == *name).map(Scope::Journey))
    }
}

impl<'a> Scope<'a> {
    /// The distribution of a series, and the number of requests without a response; `None`: there is none.
    pub(super) fn latencies(&self, series: Series) -> Option<(&'a Distribution, u64)> {
        Some(match self {
            Scope::Run(document) => return never_answered(document, series),
            Scope::Step(row) => {
                let never = row.sent.saturating_sub(row.ok).saturating_sub(row.errors);
                match series {
                    Series::Response => (row.response.as_ref()?, never),
                    Series::Service => (&row.step.as_ref()?.service, never),
                    Series::QueueWait => (&row.step.as_ref()?.queue_wait, 0),
                    Series::SendLag => (&row.step.as_ref()?.send_lag, 0),
                    _ => return None,
                }
            }
            // Users who are under way at the end have not been slow: they came late.
            Scope::Journey(row) => match series {
                Series::Response => (&row.duration, 0),
                Series::Service => (&row.active, 0),
                _ => return None,
            },
        })
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
                let ledger = &document.ledger;
                Outcomes {
                    all: ledger.sent,
                    failed: ledger.errors.saturating_add(ledger.unfinished),
                }
            }
            Scope::Step(row) => Outcomes { all: row.sent, failed: row.errors },
            Scope::Journey(row) => Outcomes { all: row.started, failed: row.failed },
        }
    }
}

/// The distribution of a series, and the number of its requests without a response; `None`: the run has no such
/// series.
fn never_answered(document: &Document, series: Series) -> Option<(&Distribution, u64)> {
    let latencies = &document.latencies;
    let errors = |kind: &str| count_of(&document.errors, kind);
    let ledger = &document.ledger;
    let sent = errors("timeout").saturating_add(errors("idle-timeout"));
    let sent = sent.saturating_add(ledger.unfinished);
    let streams = document.streams.as_ref();
    Some(match series {
        Series::Response => (&latencies.response, sent.saturating_add(ledger.unsent)),
        Series::Service => (&latencies.service, sent),
        Series::FirstByte => (&latencies.first_byte, 0),
        Series::QueueWait => (&latencies.queue_wait, 0),
        Series::SendLag => (&latencies.send_lag, 0),
        Series::Connect => (&latencies.connect, 0),
        Series::FirstEvent => {
            let streams = streams?;
            (&streams.first_event, streams.unbegun.saturating_add(ledger.unsent))
        }
        Series::LastEvent => (&streams?.last_event, sent.saturating_add(ledger.unsent)),
        Series::Gap => (&streams?.gap, 0),
        Series::LongestGap => (&streams?.longest_gap, 0),
        Series::TimePerOutputToken => (&streams?.tokens.as_ref()?.time_per_output_token, 0),
    })
}
