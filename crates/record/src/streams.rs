//! Streams of events: when the events of responses came.
//!
//! Times count from when a request was due. The figures of events are recorded as these come, those of whole
//! streams when the expected response is complete. A gap between two events that were read together is unknown: it
//! is counted, and never recorded as zero.

use serde::{Deserialize, Serialize};

use crate::add;
use crate::figure::{Figure, figures};
use crate::histogram::Histogram;

/// Things of a response that were read together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// due → now, if the first of the response is among them.
    pub first_ns: Option<u64>,
    /// From the one before them to the first of them.
    pub gap_ns: Option<u64>,
    /// Gaps between those that were read together.
    pub coalesced: u64,
}

/// Events that were read together, of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamParts {
    /// The events.
    pub events: Arrived,
    /// due → first byte, for the first of them.
    pub first_byte_ns: u64,
    /// Those that are tokens.
    pub tokens: Option<Arrived>,
}

/// A stream whose response was the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamEnd {
    /// Its events.
    pub parts: u64,
    /// due → first event, if there was any.
    pub first_part_ns: Option<u64>,
    /// due → last event, if there was any.
    pub last_part_ns: Option<u64>,
    /// The longest of its gaps, if one is known.
    pub longest_gap_ns: Option<u64>,
    /// due → first event that is a token, if there was any.
    pub first_token_ns: Option<u64>,
    /// The longest gap between two events that are tokens, if one is known.
    pub longest_token_gap_ns: Option<u64>,
    /// From its first event that is a token to the last one.
    pub tokens_span_ns: u64,
    /// Its tokens, if they are counted and known.
    pub tokens: Option<u64>,
    /// Those of its request, if the response says how many there are.
    pub input_tokens: Option<u64>,
}

impl StreamEnd {
    /// From the first token to the last, for each token after the first: of two or more that were not read together.
    pub fn time_per_token_ns(&self) -> Option<u64> {
        let tokens = self.tokens.filter(|&count| count > 1 && self.tokens_span_ns > 0)?;
        Some(self.tokens_span_ns / (tokens - 1))
    }
}

figures! {
    /// The streams of one stretch of time, measured requests alone.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct StreamCounts {
        /// due → first byte of the response, of responses with an event.
        pub first_byte: Histogram,
        /// due → first event.
        pub first_part: Histogram,
        /// From one event to the next.
        pub gap: Histogram,
        /// due → last event, of expected responses.
        pub last_part: Histogram,
        /// The longest gap of each expected response.
        pub longest_gap: Histogram,
        /// Events of each expected response: counts, no times.
        pub parts: Histogram,
        /// Gaps between events that were read together.
        pub coalesced: u64,
        /// Requests that had a timeout or were unfinished before their first event.
        pub unbegun: u64,
        /// Tokens of expected responses.
        pub tokens: u64,
        /// Tokens of each expected response: counts, no times.
        pub tokens_of_one: Histogram,
        /// From the first token to the last, for each token after the first.
        pub time_per_token: Histogram,
        /// due → first event that is a token.
        pub first_token: Histogram,
        /// From one event that is a token to the next.
        pub token_gap: Histogram,
        /// Gaps between tokens that were read together.
        pub tokens_coalesced: u64,
        /// Tokens of the requests of expected responses that say how many there are.
        pub input_tokens: u64,
        /// From the end of a stream to the request that goes on with it.
        pub reconnect: Histogram,
    }
}

impl StreamCounts {
    /// None so far.
    pub fn new(digits: u8) -> Self {
        Figure::new(digits)
    }

    pub(crate) fn parts(&mut self, parts: StreamParts) {
        let StreamParts { events, first_byte_ns, tokens } = parts;
        if let Some(first_ns) = events.first_ns {
            self.first_byte.record(first_byte_ns);
            self.first_part.record(first_ns);
        }
        if let Some(gap_ns) = events.gap_ns {
            self.gap.record(gap_ns);
        }
        self.coalesced += events.coalesced;
        let Some(tokens) = tokens else { return };
        if let Some(first_ns) = tokens.first_ns {
            self.first_token.record(first_ns);
        }
        if let Some(gap_ns) = tokens.gap_ns {
            self.token_gap.record(gap_ns);
        }
        self.tokens_coalesced += tokens.coalesced;
    }

    pub(crate) fn ended(&mut self, end: StreamEnd) {
        self.parts.record(end.parts);
        if let Some(last_part_ns) = end.last_part_ns {
            self.last_part.record(last_part_ns);
        }
        if let Some(longest_gap_ns) = end.longest_gap_ns {
            self.longest_gap.record(longest_gap_ns);
        }
        // These numbers come from the server.
        add(&mut self.input_tokens, end.input_tokens.unwrap_or_default());
        let Some(tokens) = end.tokens else { return };
        add(&mut self.tokens, tokens);
        self.tokens_of_one.record(tokens);
        if let Some(time_ns) = end.time_per_token_ns() {
            self.time_per_token.record(time_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, wire};

    fn counts(one: &StreamCounts) -> [u64; 5] {
        [one.coalesced, one.unbegun, one.tokens, one.tokens_coalesced, one.input_tokens]
    }

    fn timed(one: &StreamCounts) -> [&Histogram; 10] {
        [
            &one.first_byte,
            &one.first_part,
            &one.gap,
            &one.last_part,
            &one.longest_gap,
            &one.parts,
            &one.tokens_of_one,
            &one.time_per_token,
            &one.first_token,
            &one.token_gap,
        ]
    }

    fn some() -> StreamCounts {
        let mut counts = StreamCounts::new(3);
        let first = Arrived { first_ns: Some(20), gap_ns: None, coalesced: 2 };
        counts.parts(StreamParts { events: first, first_byte_ns: 10, tokens: None });
        let next = Arrived { first_ns: None, gap_ns: Some(30), coalesced: 0 };
        let token = Arrived { first_ns: Some(50), gap_ns: None, coalesced: 3 };
        counts.parts(StreamParts { events: next, first_byte_ns: 10, tokens: Some(token) });
        let gap = Arrived { first_ns: None, gap_ns: Some(7), coalesced: 0 };
        let none = Arrived::default();
        counts.parts(StreamParts { events: none, first_byte_ns: 10, tokens: Some(gap) });
        counts.ended(StreamEnd {
            parts: 4,
            first_part_ns: Some(20),
            last_part_ns: Some(50),
            longest_gap_ns: Some(30),
            first_token_ns: Some(50),
            longest_token_gap_ns: Some(7),
            tokens_span_ns: 30,
            tokens: Some(11),
            input_tokens: Some(5),
        });
        counts.unbegun = 1;
        counts
    }

    #[test]
    fn each_figure_has_its_place() {
        let some = some();
        let max = timed(&some).map(|one| (one.count(), one.max_ns()));
        let wanted = [10, 20, 30, 50, 30, 4, 11, 3, 50, 7].map(|ns| (1, Some(ns)));
        assert_eq!(max, wanted);
        assert_eq!(counts(&some), [2, 1, 11, 3, 5]);
    }

    #[test]
    fn what_is_not_known_is_not_recorded() {
        let mut counts = StreamCounts::new(3);
        let end = StreamEnd {
            parts: 0,
            first_part_ns: None,
            last_part_ns: None,
            longest_gap_ns: None,
            first_token_ns: None,
            longest_token_gap_ns: None,
            tokens_span_ns: 0,
            tokens: None,
            input_tokens: None,
        };
        counts.ended(end);
        // One token has no time per token, and neither have those that were read together.
        counts.ended(StreamEnd { tokens: Some(1), tokens_span_ns: 5, ..end });
        counts.ended(StreamEnd { tokens: Some(7), ..end });
        let samples = timed(&counts).map(Histogram::count);
        assert_eq!(samples, [0, 0, 0, 0, 0, 3, 2, 0, 0, 0]);
        counts.ended(StreamEnd { tokens: Some(u64::MAX), ..end });
        assert_eq!(counts.tokens, u64::MAX, "a server may say anything");
    }

    #[test]
    fn intervals_are_merged_in_both_directions() {
        let with = |streams: Option<StreamCounts>| Interval {
            streams: streams.map(Box::new),
            ..Interval::new(3, 1, 0)
        };
        let mut twice = some();
        twice.merge(&some());
        assert_eq!((twice.gap.count(), counts(&twice)), (2, [4, 2, 22, 6, 10]));
        for merge in [Interval::merge_worker, Interval::merge_later] {
            for (one, other, sum) in [
                (None, None, None),
                (None, Some(some()), Some(some())),
                (Some(some()), None, Some(some())),
                (Some(some()), Some(some()), Some(twice.clone())),
            ] {
                let mut whole = with(one);
                merge(&mut whole, &with(other));
                assert_eq!(whole, with(sum));
            }
        }
        let mut cleared = with(Some(some()));
        cleared.clear();
        assert_eq!(cleared, with(Some(StreamCounts::new(3))));
        let bytes = wire::to_bytes(&with(Some(some())));
        assert_eq!(wire::from_bytes::<Interval>(&bytes).unwrap(), with(Some(some())));
    }

    #[test]
    fn streams_of_another_precision_do_not_fit() {
        let of = |digits| Interval {
            streams: Some(Box::new(StreamCounts::new(digits))),
            ..Interval::new(3, 1, 0)
        };
        let plain = Interval::new(3, 1, 0);
        assert!(of(3).fits(&plain) && plain.fits(&of(3)));
        assert!(!of(2).fits(&plain) && !plain.fits(&of(2)));
    }
}
