//! Expectations of the user: `p99 < 5ms`, `error-rate < 0.1%`, `rate >= 99%`.
//!
//! [`parse`](Expectation::parse) makes an [`Expectation`] from an expression, before the run;
//! [`judge`](Expectation::judge) compares it with a finished document. There are three outcomes: met, not
//! met, and cannot tell, if there are too few samples. Where no request succeeded nothing is met: a gate must
//! not pass because nothing worked. [`weigh`](Expectation::weigh) compares it with several runs under one load, and
//! may leave the question open, for callers that can make another run. An [`AbortRule`] compares it with
//! intervals while a run goes on.

mod abort;
mod judge;
mod parse;
mod scope;
mod weigh;

pub use abort::AbortRule;
pub use parse::ParseError;
pub use weigh::{Standing, Weighed};

use std::cmp::Ordering;

use candor_stats::Quantile;

/// A parsed expectation.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// As the user wrote it, trimmed.
    pub expression: String,
    /// The step or the journey that it is about, by its name; `None`: the whole run.
    scope: Option<String>,
    metric: Metric,
    comparison: Comparison,
    wanted: f64,
}

/// The compared quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    /// A figure of a distribution, in nanoseconds.
    Latency(Series, Statistic),
    /// A count of the ledger.
    Count(Counter),
    /// Requests that were due and did not end as intended, as a share of all that were due.
    ErrorRate,
    /// Correct responses a second as a share of the scheduled rate.
    RateShare,
    /// Correct responses a second.
    Rate,
    /// Responses under the limits of the plan, a second.
    Goodput,
    /// Their share of the requests that were due.
    GoodputShare,
    /// The share of the time in which the target took connections.
    Availability,
    /// Users who came to the end of a journey, per second.
    Journeys,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Series {
    Response,
    QueueWait,
    SendLag,
    Service,
    FirstByte,
    Connect,
    FirstEvent,
    Gap,
    LastEvent,
    LongestGap,
    FirstToken,
    TokenGap,
    TimePerOutputToken,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    Min,
    Mean,
    Max,
    Quantile(Quantile),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counter {
    Scheduled,
    Sent,
    Ok,
    BrokenOff,
    Errors,
    Shed,
    Unsent,
    Unfinished,
    ConnectErrors,
}

/// The orderings of measured and wanted value that satisfy it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Comparison(&'static [Ordering]);

impl Comparison {
    /// Whether it holds on exactly one side of the wanted value.
    fn is_ordering(self) -> bool {
        self.0.contains(&Ordering::Less) != self.0.contains(&Ordering::Greater)
    }

    fn holds(self, measured: f64, wanted: f64) -> bool {
        measured.partial_cmp(&wanted).is_some_and(|order| self.0.contains(&order))
    }
}
