//! The figures behind ghz's words: of a run's document, or of the calls that are looked at.

use std::collections::BTreeMap;

use candor_record::trace::Outcome;
use candor_record::{ErrorKind, Traced};
use candor_stats::Quantile;

use super::Run;
use candor_report::document::Document;
use candor_report::document::counts::ErrorCount;
use candor_report::document::latency::DecodeError;

/// A run as ghz sees it. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    /// Calls with an outcome.
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) average_ns: u64,
    pub(super) fastest_ns: u64,
    pub(super) slowest_ns: u64,
    pub(super) per_s: f64,
    /// Calls by status.
    pub(super) statuses: BTreeMap<&'static str, u64>,
    /// Errors by what they say.
    pub(super) errors: BTreeMap<String, u64>,
    /// Percentages, and the latency that this share of successful calls did not exceed.
    pub(super) percentiles: Vec<(u8, u64)>,
    /// Marks, each with the calls up to it and above the one before.
    pub(super) histogram: Vec<(f64, u64)>,
}

const PERCENTAGES: [u8; 7] = [10, 25, 50, 75, 90, 95, 99];
const BARS: u64 = 10;
const NS_PER_S: f64 = 1e9;

impl Figures {
    pub(super) fn of(run: &Run<'_>) -> Result<Self, DecodeError> {
        match run.chosen {
            true => Ok(Figures::of_calls(run)),
            false => Figures::of_document(run.document),
        }
    }

    /// Of single calls. As in ghz, the average is that of all of them, and the other latencies are of those that
    /// succeeded, unless errors count.
    fn of_calls(run: &Run<'_>) -> Self {
        let mut statuses = BTreeMap::new();
        let mut errors = BTreeMap::new();
        let (mut sum_ns, mut latencies) = (0u128, Vec::new());
        for call in run.calls {
            let latency_ns = latency_ns(call);
            sum_ns += u128::from(latency_ns);
            let (status, error) = told(run.document, call.outcome);
            *statuses.entry(status).or_insert(0) += 1;
            if run.count_errors || error.is_none() {
                latencies.push(latency_ns);
            }
            if let Some(error) = error {
                *errors.entry(error).or_insert(0) += 1;
            }
        }
        latencies.sort_unstable();
        let (count, total_ns) = (run.calls.len() as u64, run.document.time.elapsed_ns);
        let at_rank = |percentage: u8| {
            let rank = Quantile::new(percentage.into(), 100).rank(latencies.len() as u64);
            (percentage, latencies[rank as usize - 1])
        };
        let fastest_ns = latencies.first().copied().unwrap_or(0);
        let slowest_ns = latencies.last().copied().unwrap_or(0);
        let through = |ns: u64| latencies.partition_point(|latency| *latency <= ns) as u64;
        Figures {
            count,
            total_ns,
            average_ns: (sum_ns / u128::from(count.max(1))) as u64,
            fastest_ns,
            slowest_ns,
            per_s: per_s(count, total_ns),
            statuses,
            errors,
            percentiles: match latencies.is_empty() {
                true => Vec::new(),
                false => PERCENTAGES.into_iter().map(at_rank).collect(),
            },
            histogram: match latencies.is_empty() {
                true => Vec::new(),
                false => bars(fastest_ns, slowest_ns, through),
            },
        }
    }

    fn of_document(document: &Document) -> Result<Self, DecodeError> {
        let (ledger, latency) = (&document.ledger, &document.latencies.response);
        let count = ledger.ok + ledger.errors;
        let total_ns = document.time.elapsed_ns;
        let (fastest_ns, slowest_ns) = (latency.min_ns.unwrap_or(0), latency.max_ns.unwrap_or(0));
        let mut statuses = BTreeMap::new();
        if ledger.ok > 0 {
            statuses.insert("OK", ledger.ok);
        }
        let mut errors = BTreeMap::new();
        for one in &document.errors {
            let status = status(&one.kind);
            *statuses.entry(status).or_insert(0) += one.count;
            *errors.entry(error(status, one)).or_insert(0) += one.count;
        }
        let values = latency.decode()?;
        let percentile = |percentage: &u8| {
            (
                *percentage,
                latency
                    .at_rank(&values, Quantile::new((*percentage).into(), 100).rank(latency.count)),
            )
        };
        let percentiles = match ledger.ok {
            0 => Vec::new(),
            _ => PERCENTAGES.iter().map(percentile).collect(),
        };
        let through = |ns: u64| match ns >= slowest_ns {
            true => ledger.ok,
            false => values.count_between(0, ns),
        };
        let histogram = match ledger.ok {
            0 => Vec::new(),
            _ => bars(fastest_ns, slowest_ns, through),
        };
        Ok(Figures {
            count,
            total_ns,
            average_ns: latency.mean_ns.unwrap_or(0.0) as u64,
            fastest_ns,
            slowest_ns,
            per_s: per_s(count, total_ns),
            statuses,
            errors,
            percentiles,
            histogram,
        })
    }
}

fn per_s(count: u64, total_ns: u64) -> f64 {
    if total_ns > 0 { count as f64 * NS_PER_S / total_ns as f64 } else { 0.0 }
}

/// The marks, each with the calls up to it; `through` counts those that took this long at most.
fn bars(fastest_ns: u64, slowest_ns: u64, through: impl Fn(u64) -> u64) -> Vec<(f64, u64)> {
    let width = (slowest_ns - fastest_ns) as f64 / BARS as f64;
    let mut below = 0;
    let bar = |number: u64| {
        let mark = match number {
            BARS => slowest_ns as f64,
            number => fastest_ns as f64 + width * number as f64,
        };
        let through = through(mark as u64);
        (mark / NS_PER_S, through.saturating_sub(std::mem::replace(&mut below, through)))
    };
    (0..=BARS).map(bar).collect()
}

/// The latency of a call that ended: from when it was due.
pub(super) fn latency_ns(call: &Traced) -> u64 {
    call.done_ns.saturating_sub(call.due_ns)
}

/// The status of a call that ended so, and what the error says.
pub(super) fn told(document: &Document, outcome: Outcome) -> (&'static str, Option<String>) {
    let Outcome::Failed(kind) = outcome else { return ("OK", None) };
    let status = status(kind.id());
    let one = document.errors.iter().find(|one| one.kind == kind.id());
    let error = one.map_or_else(
        || format!("rpc error: code = {status} desc = {}", kind.sentence()),
        |one| error(status, one),
    );
    (status, Some(error))
}

/// What errors of a kind say.
fn error(status: &str, one: &ErrorCount) -> String {
    let says = one.example.as_deref().unwrap_or(&one.sentence);
    let says = match says.split_once(": ") {
        Some((_, message)) if says.starts_with("gRPC status") => message,
        _ => says,
    };
    format!("rpc error: code = {status} desc = {says}")
}

/// A kind of error as the client of gRPC in Go names it: what is no status of the server's is the client's own.
fn status(kind: &str) -> &'static str {
    let kind = ErrorKind::ALL.into_iter().find(|one| one.id() == kind);
    match kind {
        Some(ErrorKind::GrpcCancelled) => "Canceled",
        Some(ErrorKind::GrpcUnknown) => "Unknown",
        Some(ErrorKind::GrpcInvalidArgument) => "InvalidArgument",
        Some(ErrorKind::GrpcDeadlineExceeded | ErrorKind::Timeout | ErrorKind::IdleTimeout) => {
            "DeadlineExceeded"
        }
        Some(ErrorKind::GrpcNotFound) => "NotFound",
        Some(ErrorKind::GrpcAlreadyExists) => "AlreadyExists",
        Some(ErrorKind::GrpcPermissionDenied) => "PermissionDenied",
        Some(ErrorKind::GrpcResourceExhausted | ErrorKind::BodyLimit) => "ResourceExhausted",
        Some(ErrorKind::GrpcFailedPrecondition) => "FailedPrecondition",
        Some(ErrorKind::GrpcAborted) => "Aborted",
        Some(ErrorKind::GrpcOutOfRange) => "OutOfRange",
        Some(ErrorKind::GrpcUnimplemented) => "Unimplemented",
        Some(ErrorKind::GrpcInternal | ErrorKind::Malformed | ErrorKind::GrpcNoStatus) => {
            "Internal"
        }
        Some(ErrorKind::GrpcDataLoss) => "DataLoss",
        Some(ErrorKind::GrpcUnauthenticated) => "Unauthenticated",
        _ => "Unavailable",
    }
}
