//! The summary of a finished interval: one row of the time series of a run.
//!
//! The collector makes it, displays of a running run show it, and documents contain it.

use candor_stats::{Quantile, order};
use serde::{Deserialize, Serialize};

use crate::histogram::{Encoded, Histogram};
use crate::interval::Interval;
use crate::streams::StreamCounts;

/// Declares a row of figures: each field with how it is read, which makes `of`.
macro_rules! row {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident: $visible:vis of($($source:ident: $from:ty),+) {
            $($(#[$field_attribute:meta])* pub $field:ident: $type:ty = $read:expr,)*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$field_attribute])* pub $field: $type,)*
        }

        impl $name {
            /// Reads the figures.
            $visible fn of($($source: $from),+) -> Self {
                $name { $($field: $read,)* }
            }
        }
    };
}

row! {
    /// One interval over all workers.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct IntervalSummary: pub(crate) of(interval: &Interval, index: u64) {
        /// Index from the beginning of the measured window.
        pub index: u64 = index,
        /// Whether it belongs to the measured window; otherwise to the drain. True during a run,
        /// because the end of the window is not known yet.
        pub in_window: bool = true,
        /// Beginning, from the beginning of the run.
        pub start_ns: u64 = interval.start_ns,
        /// End, from the beginning of the run.
        pub end_ns: u64 = interval.end_ns,
        /// Measured requests sent.
        pub sent: u64 = interval.ledger.sent,
        /// Got the expected response.
        pub ok: u64 = interval.ledger.ok,
        /// Failed.
        pub errors: u64 = interval.ledger.errors.total(),
        /// Complete responses, expected or not.
        pub answered: u64 = interval.answered(),
        /// Shed.
        pub shed: u64 = interval.ledger.shed,
        /// In the backlog when the run ended.
        #[serde(default)]
        pub unsent: u64 = interval.ledger.unsent,
        /// Broken off by us, as intended.
        #[serde(default)]
        pub broken_off: u64 = interval.ledger.broken_off,
        /// Sent, and without a complete response when the drain ended.
        #[serde(default)]
        pub unfinished: u64 = interval.ledger.unfinished,
        /// Bytes written.
        pub bytes_sent: u64 = interval.bytes.sent,
        /// Bytes read.
        pub bytes_received: u64 = interval.bytes.received,
        /// Connections established at its end.
        pub connections: u64 = interval.connections.established,
        /// Attempts to connect that failed.
        #[serde(default)]
        pub connect_errors: u64 = interval.connections.failed.total(),
        /// Share of its time in which the target took connections, in [0, 1]; null in results of older versions.
        #[serde(default)]
        pub availability: Option<f64> = interval.connections.availability(),
        /// Requests due and not sent at its end.
        pub backlog: u64 = interval.backlog,
        /// Requests sent and without an outcome at its end, of the warm-up too: over HTTP/2, open streams.
        #[serde(default)]
        pub in_flight: u64 = interval.in_flight,
        /// Users under way at its end.
        #[serde(default)]
        pub users: u64 = interval.users,
        /// Parts of responses: events of streams, messages.
        #[serde(default)]
        pub parts: u64 = interval.parts.count,
        /// Requests that a pause of the loader's machine touched, as far as they were found in it: a few of them were done
        /// before.
        #[serde(default)]
        pub touched: u64 = interval.touched.as_ref().map_or(0, |one| one.count()),
        /// Responses as expected that were under the plan's limits; 0 if it has none.
        #[serde(default)]
        pub good: u64 = interval.good,
        /// Complete responses divided by the interval's length; null if that is zero.
        #[serde(default)]
        pub answered_per_s: Option<f64> = answered_per_s(interval),
        /// Machines that are missing in it because their agents were lost, as indices into the list of
        /// machines.
        #[serde(default)]
        pub missing: Vec<u32> = Vec::new(),
        /// Response times.
        pub response: Brief = Brief::of(&interval.latencies.response),
        /// Service times.
        pub service: Brief = Brief::of(&interval.latencies.service),
        /// Send lags.
        pub send_lag: Brief = Brief::of(&interval.latencies.send_lag),
        /// Blocked times, of the requests that were blocked.
        #[serde(default)]
        pub blocked: Brief = interval.blocked.as_ref().map(|all| Brief::of(&all.time)).unwrap_or_default(),
        /// Times from due to the first event, of streams.
        #[serde(default)]
        pub first_event: Brief = of_streams(interval, |all| &all.first_part),
        /// Times from one event to the next, of streams.
        #[serde(default)]
        pub gap: Brief = of_streams(interval, |all| &all.gap),
        /// The response-time histogram: HdrHistogram V2, compressed, base64.
        pub response_hdr: Encoded = Encoded::of(&interval.latencies.response),
    }
}

/// `None` without a length.
fn answered_per_s(interval: &Interval) -> Option<f64> {
    let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
    (length_ns > 0).then(|| interval.answered() as f64 * 1e9 / length_ns as f64)
}

fn of_streams(interval: &Interval, figure: fn(&StreamCounts) -> &Histogram) -> Brief {
    interval.streams.as_deref().map(|all| Brief::of(figure(all))).unwrap_or_default()
}

/// The first row that contradicts the ledger, by its index, and how. Up to the end of each row, what was sent has an
/// outcome or is in flight, beside requests of the warm-up, of which there were `warm_up_sent`. Rows from which a
/// machine is missing are not looked at.
pub fn contradiction(rows: &[IntervalSummary], warm_up_sent: u64) -> Option<(u64, &'static str)> {
    let (mut sent, mut ended) = (0u64, 0u64);
    for row in rows.iter().take_while(|row| row.missing.is_empty()) {
        sent = sent.saturating_add(row.sent);
        let outcomes = [row.ok, row.errors, row.broken_off, row.unfinished];
        ended = outcomes.into_iter().fold(ended, u64::saturating_add);
        let Some(measured) = sent.checked_sub(ended) else {
            return Some((row.index, "more outcomes than requests sent"));
        };
        if row.in_flight.checked_sub(measured).is_none_or(|warm_up| warm_up > warm_up_sent) {
            return Some((row.index, "in flight is not what was sent and has no outcome"));
        }
        if row.in_flight > 0 && row.connections == 0 {
            return Some((row.index, "requests are in flight on no connection"));
        }
        if [row.response, row.service, row.send_lag].iter().any(|one| one.count != row.ok) {
            return Some((row.index, "samples and requests ok differ"));
        }
        if row.good > row.ok {
            return Some((row.index, "more good responses than responses as expected"));
        }
        if row.answered > row.ok.saturating_add(row.errors) {
            return Some((row.index, "more responses than outcomes"));
        }
    }
    None
}

row! {
    /// What one machine of several did in an interval.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct OfMachine: pub(crate) of(interval: &Interval, agent: Option<&str>) {
        /// Its agent; null if it has none.
        pub agent: Option<String> = agent.map(str::to_owned),
        /// Measured requests sent.
        pub sent: u64 = interval.ledger.sent,
        /// Got the expected response.
        pub ok: u64 = interval.ledger.ok,
        /// Failed.
        pub errors: u64 = interval.ledger.errors.total(),
        /// Complete responses, expected or not.
        pub answered: u64 = interval.answered(),
        /// Requests due and not sent at its end.
        pub backlog: u64 = interval.backlog,
        /// 99th percentile of response times; null with too few for it.
        pub response_p99_ns: Option<u64> = bounded(&interval.latencies.response, Quantile::P99),
        /// 99th percentile of send lags; null with too few for it.
        pub send_lag_p99_ns: Option<u64> = bounded(&interval.latencies.send_lag, Quantile::P99),
    }
}

/// A percentile, if there are enough samples to bound it.
fn bounded(histogram: &Histogram, q: Quantile) -> Option<u64> {
    let enough = order::is_bounded(histogram.count(), q, order::CONFIDENCE);
    histogram.quantile_ns(q).filter(|_| enough)
}

row! {
    /// A few numbers of a distribution. Null without samples, or with too few for the percentile.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Brief: pub of(histogram: &Histogram) {
        /// Samples.
        pub count: u64 = histogram.count(),
        /// Smallest.
        pub min_ns: Option<u64> = histogram.min_ns(),
        /// Mean.
        pub mean_ns: Option<f64> = histogram.mean_ns(),
        /// Median.
        pub p50_ns: Option<u64> = bounded(histogram, Quantile::P50),
        /// 90th percentile.
        pub p90_ns: Option<u64> = bounded(histogram, Quantile::P90),
        /// 99th percentile.
        pub p99_ns: Option<u64> = bounded(histogram, Quantile::P99),
        /// 99.9th percentile.
        pub p999_ns: Option<u64> = bounded(histogram, Quantile::P99_9),
        /// Largest.
        pub max_ns: Option<u64> = histogram.max_ns(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `--interval` says in its help: 2 KiB, up to 8 KiB where response times spread widely.
    #[test]
    fn a_row_takes_as_much_memory_as_it_says() {
        let bytes = |samples: u64, decades: f64| {
            let mut interval = Interval::new(3, 1, 0);
            let mut state = 42u64;
            for _ in 0..samples {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
                interval.latencies.response.record(10f64.powf(5.0 + decades * uniform) as u64);
            }
            let row = IntervalSummary::of(&interval, 0);
            size_of::<IntervalSummary>() + row.response_hdr.0.capacity()
        };
        for (samples, decades, most) in
            [(100, 1.0, 2), (20_000, 0.3, 2), (5_000, 4.0, 4), (50_000, 4.0, 8)]
        {
            let bytes = bytes(samples, decades);
            assert!(bytes <= most << 10, "{samples} samples over {decades} decades: {bytes} bytes");
        }
    }
}
