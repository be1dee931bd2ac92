//! Streams of events: when the events of responses came.
//!
//! Times count from when a request was due. The figures of events are recorded as these come, those of whole
//! streams when the expected response is complete. A gap between two events that were read together is unknown: it
//! is counted, and never recorded as zero.

use serde::{Deserialize, Serialize};

use crate::add;
use crate::histogram::Histogram;

/// Events that were read together, of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamParts {
    /// If the first event of the response is among them: due → first byte, due → now.
    pub begins: Option<(u64, u64)>,
    /// From the event before them to the first of them.
    pub gap_ns: Option<u64>,
    /// Gaps between events that were read together.
    pub coalesced: u64,
}

/// A stream whose response was the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamEnd {
    /// Its events.
    pub parts: u64,
    /// due → last event, if there was any.
    pub last_part_ns: Option<u64>,
    /// The longest of its gaps, if one is known.
    pub longest_gap_ns: Option<u64>,
    /// From its first event to its last.
    pub span_ns: u64,
    /// Its tokens, if they are counted and known.
    pub tokens: Option<u64>,
}

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
    /// From the first event to the last, for each token after the first.
    pub time_per_token: Histogram,
}

impl StreamCounts {
    /// None so far.
    pub fn new(digits: u8) -> Self {
        let new = || Histogram::new(digits);
        StreamCounts {
            first_byte: new(),
            first_part: new(),
            gap: new(),
            last_part: new(),
            longest_gap: new(),
            parts: new(),
            coalesced: 0,
            unbegun: 0,
            tokens: 0,
            tokens_of_one: new(),
            time_per_token: new(),
        }
    }

    pub(crate) fn parts(&mut self, parts: StreamParts) {
        if let Some((first_byte_ns, first_part_ns)) = parts.begins {
            self.first_byte.record(first_byte_ns);
            self.first_part.record(first_part_ns);
        }
        if let Some(gap_ns) = parts.gap_ns {
            self.gap.record(gap_ns);
        }
        self.coalesced += parts.coalesced;
    }

    pub(crate) fn ended(&mut self, end: StreamEnd) {
        self.parts.record(end.parts);
        if let Some(last_part_ns) = end.last_part_ns {
            self.last_part.record(last_part_ns);
        }
        if let Some(longest_gap_ns) = end.longest_gap_ns {
            self.longest_gap.record(longest_gap_ns);
        }
        let Some(tokens) = end.tokens else { return };
        // The number comes from the server.
        add(&mut self.tokens, tokens);
        self.tokens_of_one.record(tokens);
        if tokens > 1 && end.span_ns > 0 {
            self.time_per_token.record(end.span_ns / (tokens - 1));
        }
    }

    pub(crate) fn merge(&mut self, other: &StreamCounts) {
        for (mine, theirs) in self.timed_mut().into_iter().zip(other.timed()) {
            mine.merge(theirs);
        }
        add(&mut self.coalesced, other.coalesced);
        add(&mut self.unbegun, other.unbegun);
        add(&mut self.tokens, other.tokens);
    }

    pub(crate) fn clear(&mut self) {
        self.timed_mut().into_iter().for_each(Histogram::clear);
        (self.coalesced, self.unbegun, self.tokens) = (0, 0, 0);
    }

    pub(crate) fn timed(&self) -> [&Histogram; 8] {
        [
            &self.first_byte,
            &self.first_part,
            &self.gap,
            &self.last_part,
            &self.longest_gap,
            &self.parts,
            &self.tokens_of_one,
            &self.time_per_token,
        ]
    }

    fn timed_mut(&mut self) -> [&mut Histogram; 8] {
        [
            &mut self.first_byte,
            &mut self.first_part,
            &mut self.gap,
            &mut self.last_part,
            &mut self.longest_gap,
            &mut self.parts,
            &mut self.tokens_of_one,
            &mut self.time_per_token,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, wire};

    fn some() -> StreamCounts {
        let mut counts = StreamCounts::new(3);
        counts.parts(StreamParts { begins: Some((10, 20)), gap_ns: None, coalesced: 2 });
        counts.parts(StreamParts { begins: None, gap_ns: Some(30), coalesced: 0 });
        counts.ended(StreamEnd {
            parts: 4,
            last_part_ns: Some(50),
            longest_gap_ns: Some(30),
            span_ns: 30,
            tokens: Some(11),
        });
        counts.unbegun = 1;
        counts
    }

    #[test]
    fn each_figure_has_its_place() {
        let counts = some();
        let max = counts.timed().map(|one| (one.count(), one.max_ns()));
        let wanted = [10, 20, 30, 50, 30, 4, 11, 3].map(|ns| (1, Some(ns)));
        assert_eq!(max, wanted);
        assert_eq!((counts.coalesced, counts.unbegun, counts.tokens), (2, 1, 11));
    }

    #[test]
    fn what_is_not_known_is_not_recorded() {
        let mut counts = StreamCounts::new(3);
        let end = StreamEnd {
            parts: 0,
            last_part_ns: None,
            longest_gap_ns: None,
            span_ns: 0,
            tokens: None,
        };
        counts.ended(end);
        // One token has no time per token, and neither have those that were read together.
        counts.ended(StreamEnd { tokens: Some(1), span_ns: 5, ..end });
        counts.ended(StreamEnd { tokens: Some(7), ..end });
        let samples = counts.timed().map(Histogram::count);
        assert_eq!(samples, [0, 0, 0, 0, 0, 3, 2, 0]);
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
        assert_eq!((twice.gap.count(), twice.coalesced, twice.tokens), (2, 4, 22));
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
