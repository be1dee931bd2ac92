//! Streams of events: when the events of responses came, and the tokens in them.

use candor_plan::{Parts, Streaming};
use candor_record::{Histogram, RunRecord, StreamCounts};
use candor_stats::Quantile;
use serde::{Deserialize, Serialize};

use super::latency::{Distribution, enough_samples};

/// The streams of measured requests. An event is an element of a stream: a server-sent event, a line,
/// a chunk, a message of gRPC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Streams {
    /// due → first byte of the response, of responses with an event.
    pub first_byte: Distribution,
    /// due → first event.
    pub first_event: Distribution,
    /// From one event to the next, of all events but those that were read together.
    pub gap: Distribution,
    /// due → last event, of expected responses.
    pub last_event: Distribution,
    /// The longest gap of each expected response.
    pub longest_gap: Distribution,
    /// Events of each expected response.
    pub events: Spread,
    /// Gaps between events that were read together: their lengths are unknown, and in no distribution.
    pub coalesced: u64,
    /// Requests that had a timeout or were unfinished before their first event.
    pub unbegun: u64,
    /// From the end of a stream, or the loss of its connection, to the request that goes on with it: one for each
    /// reconnect. Omitted unless users reconnect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconnect: Option<Distribution>,
    /// Tokens; null if they are not counted.
    pub tokens: Option<TokenFigures>,
}

/// The tokens of expected responses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenFigures {
    /// All of them.
    pub count: u64,
    /// Tokens of each response whose number is known.
    pub of_one: Spread,
    /// All of them, by the time from the beginning of the window to the end of the run. Null in results of older
    /// versions.
    #[serde(default)]
    pub per_s: Option<f64>,
    /// due → first event that is a token.
    pub time_to_first_token: Distribution,
    /// From one event that is a token to the next.
    pub inter_token_latency: Distribution,
    /// (last token − first token) / (tokens − 1), of each response with two tokens or more that were not all read
    /// together.
    pub time_per_output_token: Distribution,
    /// Gaps between tokens that were read together, in no distribution.
    #[serde(default)]
    pub coalesced: u64,
    /// Tokens of the requests; null if they are not counted.
    #[serde(default)]
    pub input: Option<u64>,
    /// These by the same time.
    #[serde(default)]
    pub input_per_s: Option<f64>,
}

/// A distribution of counts. Null without samples, or with too few for the percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spread {
    /// Number of samples.
    pub count: u64,
    /// Lowest.
    pub min: Option<u64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Highest.
    pub max: Option<u64>,
}

impl Streams {
    pub(super) fn of(plan: &Parts, record: &RunRecord) -> Option<Self> {
        let list = plan.work.requests();
        if !list.iter().any(candor_plan::Request::has_parts) {
            return None;
        }
        let streams = || list.iter().filter_map(|one| one.stream.as_ref());
        let counts_tokens = streams().any(Streaming::counts_tokens);
        let counts_input = streams().any(|one| one.input_tokens.is_some());
        let empty;
        let counts = match &record.total.streams {
            Some(counts) => &**counts,
            None => {
                empty = StreamCounts::new(plan.recording.digits);
                &empty
            }
        };
        let time_ns = record.elapsed_ns.saturating_sub(record.warm_up_ns);
        let per_s = |count: u64| (time_ns > 0).then(|| count as f64 * 1e9 / time_ns as f64);
        let input = counts_input.then_some(counts.input_tokens);
        Some(Streams {
            first_byte: Distribution::of(&counts.first_byte),
            first_event: Distribution::of(&counts.first_part),
            gap: Distribution::of(&counts.gap),
            last_event: Distribution::of(&counts.last_part),
            longest_gap: Distribution::of(&counts.longest_gap),
            events: Spread::of(&counts.parts),
            coalesced: counts.coalesced,
            unbegun: counts.unbegun,
            reconnect: streams()
                .any(|one| one.reconnect)
                .then(|| Distribution::of(&counts.reconnect)),
            tokens: counts_tokens.then(|| TokenFigures {
                count: counts.tokens,
                of_one: Spread::of(&counts.tokens_of_one),
                per_s: per_s(counts.tokens),
                time_to_first_token: Distribution::of(&counts.first_token),
                inter_token_latency: Distribution::of(&counts.token_gap),
                time_per_output_token: Distribution::of(&counts.time_per_token),
                coalesced: counts.tokens_coalesced,
                input,
                input_per_s: input.and_then(per_s),
            }),
        })
    }

    /// The distributions with their names.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Distribution)> {
        let own = [
            ("first_byte", &self.first_byte),
            ("first_event", &self.first_event),
            ("gap", &self.gap),
            ("last_event", &self.last_event),
            ("longest_gap", &self.longest_gap),
        ];
        let tokens = self.tokens.iter().flat_map(|one| {
            [
                ("tokens.time_to_first_token", &one.time_to_first_token),
                ("tokens.inter_token_latency", &one.inter_token_latency),
                ("tokens.time_per_output_token", &one.time_per_output_token),
            ]
        });
        own.into_iter().chain(self.reconnect.iter().map(|one| ("reconnect", one))).chain(tokens)
    }
}

impl Spread {
    fn of(counts: &Histogram) -> Self {
        let at = |q| counts.quantile_ns(q).filter(|_| enough_samples(counts.count(), q));
        Spread {
            count: counts.count(),
            min: counts.min_ns(),
            mean: counts.mean_ns(),
            p50: at(Quantile::P50),
            p99: at(Quantile::P99),
            max: counts.max_ns(),
        }
    }
}
