//! The figures behind ghz's words.

use std::collections::BTreeMap;

use candor_record::ErrorKind;
use candor_stats::Quantile;

use candor_report::document::Document;
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
    pub(super) fn of(document: &Document) -> Result<Self, DecodeError> {
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
            let says = one.example.as_deref().unwrap_or(&one.sentence);
            let says = match says.split_once(": ") {
                Some((_, message)) if says.starts_with("gRPC status") => message,
                _ => says,
            };
            *errors.entry(format!("rpc error: code = {status} desc = {says}")).or_insert(0) +=
                one.count;
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
        let width = (slowest_ns - fastest_ns) as f64 / BARS as f64;
        let mark = |number: u64| match number {
            BARS => slowest_ns as f64,
            number => fastest_ns as f64 + width * number as f64,
        };
        let mut below = 0;
        let bar = |number: u64| {
            let mark = mark(number);
            let through = match number {
                BARS => ledger.ok,
                _ => values.count_between(0, mark as u64),
            };
            let own = through.saturating_sub(std::mem::replace(&mut below, through));
            (mark / NS_PER_S, own)
        };
        let histogram = if ledger.ok == 0 { Vec::new() } else { (0..=BARS).map(bar).collect() };
        Ok(Figures {
            count,
            total_ns,
            average_ns: latency.mean_ns.unwrap_or(0.0) as u64,
            fastest_ns,
            slowest_ns,
            per_s: if total_ns > 0 { count as f64 * NS_PER_S / total_ns as f64 } else { 0.0 },
            statuses,
            errors,
            percentiles,
            histogram,
        })
    }
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
