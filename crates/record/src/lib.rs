//! The record of a run: the ledger, the histograms, the intervals.
//!
//! A worker owns a [`Recorder`] and gives it one [`Sample`] for every request with the expected
//! response, and one call for every other outcome. The recorder fills an [`Interval`]; finished
//! intervals go, off the hot path, into a [`Collector`], which sums them into one [`RunRecord`].
//! There is one path and one set of numbers: totals are the sum of the intervals and nothing else.
//! All of it can be serialised ([`wire`]), and the records of the parts of a run can be merged
//! ([`merge`]).
//!
//! This crate does no I/O, reads no clock and knows no protocol. Memory is a function of the
//! number of histograms and of the length of the run in intervals, never of requests.
#![forbid(unsafe_code)]

mod addresses;
mod alternatives;
mod batches;
mod collector;
mod credentials;
mod errors;
mod figure;
mod held_up;
mod hiccups;
mod histogram;
mod interval;
pub mod kernel;
mod latencies;
mod ledger;
mod merge;
mod paths;
mod pauses;
mod rates;
mod recorder;
mod run;
mod streams;
mod summary;
pub mod trace;
mod users;
pub mod wire;

pub use addresses::{AddressCounts, AddressRequests, NameCounts};
pub use alternatives::Alternative;
pub use batches::Batch;
pub use candor_stats::Quantile;
pub use collector::{Collector, CollectorSettings, Stretch};
pub use credentials::CredentialCounts;
pub use errors::{Cause, ConnectErrorKind, DeviationKind, ErrorKind, LossKind, Reason, Tally};
pub use held_up::HeldUp;
pub use hiccups::{Hiccup, Hiccups};
pub use histogram::{
    Buckets, Encoded, EncodingError, Exact, HIGHEST_NS, Histogram, PlacesError, value_at_rank,
};
pub use interval::{
    AckCounts, Bytes, CloseReason, ConnectionCounts, DatagramCounts, GoAways, Handshake, Interval,
    PartCounts, RequestCounts, StatusCount, StepCounts,
};
pub use latencies::{Blocked, BlockedCounts, Latencies};
pub use ledger::Ledger;
pub use merge::{MergeError, Merging, Planned, merge};
pub use paths::{Path, PathCounts, Paths};
pub use pauses::{LEAST_PAUSE_NS, Pauses};
pub use rates::{RateSamples, SLOT_NS};
pub use recorder::{Disconnect, FailedRequest, Phase, Recorder, RecorderSettings, Sample};
pub use run::{
    Agent, Batches, EndReason, Host, Lost, Machine, Memory, RunRecord, Throttled, WorkerFigures,
    WorkerHealth, WorkerReport, Workers,
};
pub use streams::{Arrived, StreamCounts, StreamEnd, StreamParts};
pub use summary::{Brief, IntervalSummary, OfMachine, contradiction};
pub use trace::{Outcome, TraceCounts, Traced};
pub use users::{Failures, JourneyCounts, StepFailure};

/// Adds a count, saturating: counts from other processes may be anything.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}
