//! What happened in a run: the ledger, the histograms, the intervals.
//!
//! A worker owns a [`Recorder`] and gives it one [`Sample`] for every answered request and one
//! call for every other outcome. The recorder fills an [`Interval`]; finished intervals go, off
//! the hot path, into a [`Collector`], which sums them to one [`RunRecord`]. There is one path
//! and one set of numbers: totals are the sum of the intervals and nothing else.
//!
//! This crate does no I/O, reads no clock and knows no protocol. Memory is a function of the
//! number of histograms and of the length of the run in intervals, never of requests.
#![forbid(unsafe_code)]

mod batches;
mod collector;
mod errors;
mod held_up;
mod hiccups;
mod histogram;
mod interval;
pub mod kernel;
mod ledger;
mod rates;
mod recorder;
mod run;
pub mod trace;

pub use batches::{Batch, Buckets};
pub use collector::{Collector, IntervalSummary, Percentiles, RunFacts, Stretch};
pub use errors::{ConnectErrorKind, DeviationKind, ErrorKind, LossKind, Tally};
pub use held_up::HeldUp;
pub use hiccups::{Hiccup, Hiccups};
pub use histogram::{
    EncodingError, Exact, HIGHEST_NS, Histogram, Latencies, PlacesError, add_v2, decode_v2,
};
pub use interval::{ConnectionCounts, GoAways, Handshake, Interval, RequestCounts};
pub use ledger::Ledger;
pub use rates::{RateSamples, SLOT_NS};
pub use recorder::{Disconnect, Failure, Phase, Recorder, Sample, Settings};
pub use run::{Memory, RunEnd, RunRecord, SentTogether, WorkerFigures, WorkerHealth};
pub use trace::{Outcome, TraceCounts, Traced};
