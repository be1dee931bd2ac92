//! The streams in flight on one worker: when the events of each came.
//!
//! A table beside that of requests in flight, by the same numbers, that only workers of plans with streams have: other
//! plans pay nothing for it. It takes the times of reads and hands figures to the recorder.

use candor_plan::Request;
use candor_protocol::RequestId;
use candor_record::{ErrorKind, Phase, Recorder, Sample, StreamEnd, StreamParts};

use crate::flight::Flight;

/// All streams in flight.
#[derive(Debug)]
pub(crate) struct Streams {
    /// Which requests of the plan have streams.
    of_plan: Box<[bool]>,
    in_flight: Vec<Stream>,
}

/// The events of one response so far.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    count: u64,
    first_ns: u64,
    last_ns: u64,
    longest_gap_ns: Option<u64>,
    tokens: Option<u64>,
}

impl Streams {
    /// Of these requests; `None`: none has a stream.
    pub(crate) fn of(requests: &[Request]) -> Option<Box<Self>> {
        let of_plan: Box<[bool]> = requests.iter().map(Request::has_parts).collect();
        of_plan.contains(&true).then(|| Box::new(Streams { of_plan, in_flight: Vec::new() }))
    }

    fn stream(&mut self, id: RequestId) -> &mut Stream {
        let place = id as usize;
        if place >= self.in_flight.len() {
            self.in_flight.resize(place + 1, Stream::default());
        }
        &mut self.in_flight[place]
    }

    /// A response has its outcome: what was known of its stream. Its number goes to another request.
    fn take(&mut self, id: RequestId) -> Stream {
        self.in_flight.get_mut(id as usize).map(std::mem::take).unwrap_or_default()
    }

    /// A response has an outcome that says nothing of its stream.
    pub(crate) fn forget(&mut self, id: RequestId) {
        self.take(id);
    }

    /// Events of its response were read at `at_ns`.
    pub(crate) fn parts(
        &mut self,
        id: RequestId,
        flight: &Flight,
        count: u32,
        at_ns: u64,
        recorder: &mut Recorder,
    ) {
        let stream = self.stream(id);
        let (is_first, before_ns) = (stream.count == 0, stream.last_ns);
        stream.count += u64::from(count);
        stream.last_ns = at_ns;
        if is_first {
            stream.first_ns = at_ns;
        }
        // The clock does not go back. Where it stands still, the reads were one for all that can be known.
        let gap_ns = at_ns.saturating_sub(before_ns);
        let gap_ns = (!is_first && gap_ns > 0).then_some(gap_ns);
        stream.longest_gap_ns = stream.longest_gap_ns.max(gap_ns);
        if flight.phase == Phase::Measured {
            let since_due = |ns: u64| ns.saturating_sub(flight.due_ns);
            let first_byte_ns = flight.first_byte_ns.min(at_ns);
            let is_known = is_first || gap_ns.is_some();
            recorder.stream_parts(
                at_ns,
                StreamParts {
                    begins: is_first.then(|| (since_due(first_byte_ns), since_due(at_ns))),
                    gap_ns,
                    coalesced: u64::from(count) - u64::from(is_known),
                },
            );
        }
    }

    /// The tokens of its response.
    pub(crate) fn tokens(&mut self, id: RequestId, count: u64) {
        self.stream(id).tokens = Some(count);
    }

    /// Its response is complete, as expected.
    pub(crate) fn ended(
        &mut self,
        id: RequestId,
        sample: &Sample,
        at_ns: u64,
        recorder: &mut Recorder,
    ) {
        let Stream { count, first_ns, last_ns, longest_gap_ns, tokens } = self.take(id);
        if sample.phase == Phase::WarmUp || !self.of_plan[sample.request as usize] {
            return;
        }
        recorder.stream_ended(
            at_ns,
            StreamEnd {
                parts: count,
                last_part_ns: (count > 0).then(|| last_ns.saturating_sub(sample.due_ns)),
                longest_gap_ns,
                span_ns: last_ns - first_ns,
                tokens,
            },
        );
    }

    /// Its response had not come when it was given up; `kind`: that of its error. The kind that it counts as: a
    /// stream that ends in the middle has one of its own.
    pub(crate) fn failed(
        &mut self,
        id: RequestId,
        flight: &Flight,
        kind: ErrorKind,
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> ErrorKind {
        if self.take(id).count > 0 {
            return match kind {
                ErrorKind::Truncated | ErrorKind::Reset | ErrorKind::StreamReset => {
                    ErrorKind::StreamCut
                }
                kind => kind,
            };
        }
        if matches!(kind, ErrorKind::Timeout | ErrorKind::IdleTimeout) {
            self.unbegun(flight, at_ns, recorder);
        }
        kind
    }

    /// Nothing more is awaited.
    pub(crate) fn unfinished(
        &mut self,
        id: RequestId,
        flight: &Flight,
        at_ns: u64,
        recorder: &mut Recorder,
    ) {
        if self.take(id).count == 0 {
            self.unbegun(flight, at_ns, recorder);
        }
    }

    fn unbegun(&self, flight: &Flight, at_ns: u64, recorder: &mut Recorder) {
        if flight.phase == Phase::Measured && self.of_plan[flight.request as usize] {
            recorder.stream_unbegun(at_ns);
        }
    }
}
