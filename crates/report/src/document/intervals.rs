//! The course of a run, one row an interval.

use candor_record::{IntervalSummary, Percentiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::latency;

/// One interval over all workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalRow {
    /// Index from the beginning of the measured window.
    pub index: u64,
    /// Whether it belongs to the measured window; otherwise to the drain.
    pub in_window: bool,
    /// Beginning, from the beginning of the run.
    pub start_ns: u64,
    /// End, from the beginning of the run.
    pub end_ns: u64,
    /// Measured requests sent.
    pub sent: u64,
    /// Answered as expected.
    pub ok: u64,
    /// Failed.
    pub errors: u64,
    /// Complete answers, expected or not.
    pub answered: u64,
    /// Shed.
    pub shed: u64,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// Connections established at its end.
    pub connections: u64,
    /// Requests due and not sent at its end.
    pub backlog: u64,
    /// Requests in flight at its end: over HTTP/2, open streams.
    #[serde(default)]
    pub in_flight: u64,
    /// Complete answers by its length; null where it has none.
    #[serde(default)]
    pub answered_per_s: Option<f64>,
    /// Response times.
    pub response: Brief,
    /// Service times.
    pub service: Brief,
    /// Send lags.
    pub send_lag: Brief,
    /// The response-time histogram: HdrHistogram V2, compressed, base64.
    pub response_hdr: String,
}

/// A few numbers of a distribution. Null without samples, or with too few for the percentile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min_ns: Option<u64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90 % are below.
    pub p90_ns: Option<u64>,
    /// 99 % are below.
    pub p99_ns: Option<u64>,
    /// 99.9 % are below.
    pub p999_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

impl Brief {
    /// Of a record's percentiles.
    pub fn of(percentiles: &Percentiles) -> Self {
        let count = percentiles.count;
        let any = |value_ns| (count > 0).then_some(value_ns);
        let at = |q, value_ns| latency::enough_samples(count, q).then_some(value_ns);
        Brief {
            count,
            min_ns: any(percentiles.min_ns),
            mean_ns: (count > 0).then_some(percentiles.mean_ns),
            p50_ns: at(0.5, percentiles.p50_ns),
            p90_ns: at(0.9, percentiles.p90_ns),
            p99_ns: at(0.99, percentiles.p99_ns),
            p999_ns: at(0.999, percentiles.p999_ns),
            max_ns: any(percentiles.max_ns),
        }
    }
}

impl IntervalRow {
    /// Of a record's summary. Also what the live view shows, before there is a document.
    pub fn of(summary: &IntervalSummary, in_window: bool) -> Self {
        IntervalRow {
            index: summary.index,
            in_window,
            start_ns: summary.start_ns,
            end_ns: summary.end_ns,
            sent: summary.sent,
            ok: summary.ok,
            errors: summary.errors,
            answered: summary.answered,
            shed: summary.shed,
            bytes_sent: summary.bytes_sent,
            bytes_received: summary.bytes_received,
            connections: summary.connections,
            backlog: summary.backlog,
            in_flight: summary.in_flight,
            answered_per_s: (summary.end_ns > summary.start_ns).then(|| {
                summary.answered as f64 * 1e9 / (summary.end_ns - summary.start_ns) as f64
            }),
            response: Brief::of(&summary.response),
            service: Brief::of(&summary.service),
            send_lag: Brief::of(&summary.send_lag),
            response_hdr: latency::encode(&summary.response_v2),
        }
    }
}
