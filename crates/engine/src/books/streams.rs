//! The streams in flight on one worker: when the events of each came.
//!
//! A table beside that of requests in flight, by the same numbers, that only workers of plans with streams have: other
//! plans pay nothing for it. It takes the times of reads and hands figures to the recorder.

use candor_plan::Request;
use candor_protocol::RequestId;
use candor_record::{Arrived, ErrorKind, Phase, Recorder, Sample, StreamEnd, StreamParts};

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
    events: Series,
    /// Those of them that are tokens.
    tokens: Series,
    /// How many tokens the response says that there are, and the request.
    output: Option<u64>,
    input: Option<u64>,
}

/// Things that came one after the other.
#[derive(Debug, Clone, Copy, Default)]
struct Series {
    count: u64,
    first_ns: u64,
    last_ns: u64,
    longest_gap_ns: Option<u64>,
}

impl Series {
    /// So many more were read at `at_ns`, for a request that was due at `due_ns`.
    fn came(&mut self, count: u32, at_ns: u64, due_ns: u64) -> Arrived {
        let (is_first, before_ns) = (self.count == 0, self.last_ns);
        self.count += u64::from(count);
        self.last_ns = at_ns;
        if is_first {
            self.first_ns = at_ns;
        }
        // The clock does not go back. Where it stands still, the reads were one for all that can be known.
        let gap_ns = at_ns.saturating_sub(before_ns);
        let gap_ns = (!is_first && gap_ns > 0).then_some(gap_ns);
        self.longest_gap_ns = self.longest_gap_ns.max(gap_ns);
        let is_known = is_first || gap_ns.is_some();
        Arrived {
            first_ns: is_first.then(|| at_ns.saturating_sub(due_ns)),
            gap_ns,
            coalesced: u64::from(count) - u64::from(is_known),
        }
    }
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

    /// Events of its response, some of them tokens, were read at `at_ns`.
    pub(crate) fn parts(
        &mut self,
        id: RequestId,
        flight: &Flight,
        (count, tokens): (u32, u32),
        at_ns: u64,
        recorder: &mut Recorder,
    ) {
        let stream = self.stream(id);
        let due_ns = flight.due_ns;
        let events = stream.events.came(count, at_ns, due_ns);
        let tokens = (tokens > 0).then(|| stream.tokens.came(tokens, at_ns, due_ns));
        if flight.phase == Phase::Measured {
            let first_byte_ns = flight.first_byte_ns.min(at_ns).saturating_sub(due_ns);
            recorder.stream_parts(at_ns, StreamParts { events, first_byte_ns, tokens });
        }
    }

    /// What its response says of tokens.
    pub(crate) fn tokens(&mut self, id: RequestId, output: Option<u64>, input: Option<u64>) {
        let stream = self.stream(id);
        (stream.output, stream.input) = (output, input);
    }

    /// Its response is complete, as expected: what is known of its stream, if it is measured and has one.
    pub(crate) fn ended(
        &mut self,
        id: RequestId,
        sample: &Sample,
        at_ns: u64,
        recorder: &mut Recorder,
    ) -> Option<StreamEnd> {
        let Stream { events, tokens, output, input } = self.take(id);
        if sample.phase == Phase::WarmUp || !self.of_plan[sample.request as usize] {
            return None;
        }
        let since_due = |series: Series, at_ns: u64| {
            (series.count > 0).then(|| at_ns.saturating_sub(sample.due_ns))
        };
        let end = StreamEnd {
            parts: events.count,
            first_part_ns: since_due(events, events.first_ns),
            last_part_ns: since_due(events, events.last_ns),
            longest_gap_ns: events.longest_gap_ns,
            first_token_ns: since_due(tokens, tokens.first_ns),
            longest_token_gap_ns: tokens.longest_gap_ns,
            tokens_span_ns: tokens.last_ns - tokens.first_ns,
            tokens: output,
            input_tokens: input,
        };
        recorder.stream_ended(at_ns, end);
        Some(end)
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
        if self.take(id).events.count > 0 {
            return match kind {
                ErrorKind::Truncated | ErrorKind::Reset | ErrorKind::StreamReset => {
                    ErrorKind::StreamCut
                }
                kind => kind,
            };
        }
        use ErrorKind::{GrpcDeadlineExceeded, IdleTimeout, Timeout};
        if matches!(kind, Timeout | IdleTimeout | GrpcDeadlineExceeded) {
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
        if self.take(id).events.count == 0 {
            self.unbegun(flight, at_ns, recorder);
        }
    }

    fn unbegun(&self, flight: &Flight, at_ns: u64, recorder: &mut Recorder) {
        if flight.phase == Phase::Measured && self.of_plan[flight.request as usize] {
            recorder.stream_unbegun(at_ns);
        }
    }
}
