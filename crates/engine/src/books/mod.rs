//! The books of a worker: every request handed to a session comes back here exactly once.
//!
//! Requests in flight and the recorder are kept together, so that an outcome takes a request out
//! of the one and enters it into the other in a single step, and the ledger cannot come apart. In the same step the
//! author of the request hears of it.

pub(crate) mod addresses;
pub(crate) mod chain;
mod flights;
mod limits;
mod streams;

use std::num::NonZeroU16;
use std::sync::Arc;

use candor_plan::{Goodput, Request};
use std::collections::BTreeMap;

use candor_protocol::expect::Mismatch;
use candor_protocol::{Answer, CaptureRoom, Deviations, Part, RequestId, Session, Undecoded};
use candor_record::trace::Tracer;
use candor_record::{
    Blocked, DeviationKind, ErrorKind, FailedRequest, Outcome, Phase, Reason, Recorder, Sample,
    Traced,
};

use self::addresses::Addresses;
use self::chain::Chain;
use self::flights::Flights;
use self::limits::Limits;
use self::streams::Streams;
use crate::author::Author;
use crate::author::users::Followed;
use crate::flight::{Departure, Ended, Flight, NOBODY, NeverSent};

/// Where and when an outcome came, and who hears of it.
pub(crate) struct Came<'a> {
    /// The requests of its connection.
    pub(crate) chain: &'a mut Chain,
    pub(crate) author: &'a mut Author,
    /// Has what was kept of the response, if there is one.
    pub(crate) session: Option<&'a mut dyn Session>,
    pub(crate) at_ns: u64,
}

/// Requests in flight and the record of the others.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) flights: Flights,
    pub(crate) recorder: Recorder,
    /// Takes every outcome too, if there is a trace.
    pub(crate) tracer: Option<Box<Tracer>>,
    /// Streams of events, if the plan has any.
    streams: Option<Box<Streams>>,
    /// How long transports held back those in flight that they did hold back.
    blocked: BTreeMap<RequestId, Blocked>,
    /// Addresses, if there are some to tell apart.
    pub(crate) addresses: Option<Box<Addresses>>,
    /// Where bodies are decoded, if some are.
    decoding: Option<CaptureRoom>,
    /// What a good response is under, if good ones are counted.
    limits: Option<Limits>,
    /// Whether a response has a place beside the recorder.
    has_beside: bool,
    /// When the last response was complete, as expected or not.
    pub(crate) answered_ns: u64,
    /// Names of the plan's requests, for examples of errors.
    names: Arc<[String]>,
}

/// The mark of a request whose first byte has not left.
const NOT_SENT: u64 = u64::MAX;
/// The mark of a response whose first byte has not come.
pub(crate) const NOT_YET: u64 = u64::MAX;

impl Books {
    pub(crate) fn new(
        recorder: Recorder,
        tracer: Option<Box<Tracer>>,
        addresses: Option<Box<Addresses>>,
        requests: &[Request],
        goodput: Option<Goodput>,
    ) -> Self {
        let names = requests.iter().map(|request| request.name.clone()).collect();
        let streams = Streams::of(requests);
        let by_address = addresses.as_ref().is_some_and(|all| all.has_requests());
        let limits = goodput.map(|one| Limits::of(one, requests));
        let has_beside = tracer.is_some() || streams.is_some() || by_address || limits.is_some();
        Books {
            flights: Flights::default(),
            recorder,
            tracer,
            streams,
            blocked: BTreeMap::new(),
            addresses,
            decoding: None,
            limits,
            has_beside,
            answered_ns: 0,
            names,
        }
    }

    /// Counts the bytes of bodies that sessions decode in this room.
    pub(crate) fn count_decoded(&mut self, room: CaptureRoom) {
        self.decoding = Some(room);
        self.has_beside = true;
    }

    /// A request is handed to a session.
    #[inline]
    pub(crate) fn depart(&mut self, departure: Departure, chain: &mut Chain) -> RequestId {
        let Departure { index, due_ns, ready_ns, connection, request, user, phase } = departure;
        let flight = Flight {
            index,
            due_ns,
            ready_ns,
            sent_ns: NOT_SENT,
            first_byte_ns: NOT_YET,
            connection,
            request,
            user,
            phase,
        };
        self.flights.insert(flight, chain)
    }

    /// Its first byte was handed to the kernel, in a call that began at `at_ns`.
    #[inline]
    pub(crate) fn sent(&mut self, id: RequestId, at_ns: u64) {
        let flight = self.flights.get_mut(id);
        // A place's time is that of a read, and the clock does not go back; but the time given
        // to a batch of events may be older than the place's.
        flight.sent_ns = at_ns.max(flight.ready_ns);
        #[cfg(candor_mutant = "send_time")]
        {
            (flight.due_ns, flight.ready_ns) = (flight.sent_ns, flight.sent_ns);
        }
        self.recorder.sent(at_ns, flight.phase, flight.request);
    }

    /// Its transport held it back for so long before it was sent.
    #[cold]
    pub(crate) fn blocked(&mut self, id: RequestId, by: Blocked) {
        let flight = self.flights.get_mut(id);
        if flight.sent_ns != NOT_SENT {
            self.blocked.insert(id, by.at_most(flight.sent_ns - flight.ready_ns));
        }
    }

    /// Takes one out that did not end as it should.
    fn take(&mut self, id: RequestId, chain: &mut Chain) -> Flight {
        self.blocked.remove(&id);
        self.flights.remove(id, chain)
    }

    /// What was sent at `queued_ns` left at `at_ns`; unless it has ended since.
    #[inline]
    pub(crate) fn left(&mut self, id: RequestId, queued_ns: u64, at_ns: u64) {
        let flight = self.flights.get_mut(id);
        if flight.sent_ns == queued_ns.max(flight.ready_ns) {
            flight.sent_ns = at_ns.max(flight.sent_ns);
        }
    }

    /// The first byte of its response was read.
    #[inline]
    pub(crate) fn first_byte(&mut self, id: RequestId, at_ns: u64) {
        self.flights.get_mut(id).first_byte_ns = at_ns;
    }

    /// Parts of its response were read, or parts that no request asked for.
    #[inline(never)]
    pub(crate) fn parts(&mut self, part: &Part, at_ns: u64) {
        let Part { id, bytes, count, tokens, .. } = *part;
        self.recorder.parts(at_ns, count, bytes, id.is_some());
        if let (Some(id), Some(streams)) = (id, &mut self.streams) {
            let flight = self.flights.get_mut(id);
            streams.parts(id, flight, (count, tokens), at_ns, &mut self.recorder);
        }
    }

    /// Its response has so many tokens, and the request.
    #[inline(never)]
    pub(crate) fn tokens(&mut self, id: RequestId, output: Option<u64>, input: Option<u64>) {
        if let Some(streams) = &mut self.streams {
            streams.tokens(id, output, input);
        }
    }

    /// Its response is complete.
    #[inline]
    pub(crate) fn complete(&mut self, answer: &Answer, came: Came<'_>) {
        let at_ns = came.at_ns;
        self.answered_ns = at_ns;
        if answer.deviations != Deviations::default() {
            self.deviates(answer, at_ns);
        }
        match answer.expected {
            Ok(()) if came.author.hears() => self.heard(answer, came),
            Ok(()) => self.expected(answer, came),
            Err(mismatch) => self.mismatch(answer, mismatch, came),
        }
    }

    /// It is as it should be.
    #[inline(always)]
    fn expected(&mut self, answer: &Answer, came: Came<'_>) {
        let at_ns = came.at_ns;
        let expected = self.flights.remove(answer.id, came.chain);
        if expected.sent_ns == NOT_SENT {
            return self.answered_unsent(answer.id, expected, came);
        }
        let sample = Sample {
            due_ns: expected.due_ns,
            ready_ns: expected.ready_ns,
            sent_ns: expected.sent_ns,
            // Without a time of its own, it came with the last.
            first_byte_ns: expected.first_byte_ns.min(at_ns).max(expected.sent_ns),
            done_ns: at_ns.max(expected.sent_ns),
            request: expected.request,
            status: status(answer).unwrap_or(0),
            body_bytes: answer.body_bytes,
            phase: expected.phase,
        };
        match self.blocked.is_empty() {
            true => self.recorder.ok(&sample),
            false => self.was_blocked(answer.id, &sample),
        }
        self.tell(answer.id, &expected, (None, sample.status), came);
        if self.has_beside {
            self.complete_beside(answer.id, expected, &sample, at_ns);
        }
    }

    /// It is as it should be, as far as the author finds in it what it looks for.
    #[inline(never)]
    fn heard(&mut self, answer: &Answer, mut came: Came<'_>) {
        let flight = || *self.flights.get_mut(answer.id);
        let of_response = status(answer).unwrap_or(0);
        let Some((missing, capture)) = came.author.lacks(flight, of_response, &mut came.session)
        else {
            return self.expected(answer, came);
        };
        let flight = self.take(answer.id, came.chain);
        self.forget_stream(answer.id);
        let why = (ErrorKind::Capture, status(answer));
        let told = |name| {
            format!("{name}: capture {}: {}", capture.as_deref().unwrap_or("?"), missing.why)
        };
        self.enter_failure(answer.id, flight, why, came, told);
    }

    /// It may have been held back.
    #[cold]
    fn was_blocked(&mut self, id: RequestId, sample: &Sample) {
        match self.blocked.remove(&id) {
            Some(by) => self.recorder.ok_after(sample, by),
            None => self.recorder.ok(sample),
        }
    }

    /// The same for what plain runs do not have.
    #[cold]
    fn complete_beside(&mut self, id: RequestId, flight: Flight, sample: &Sample, at_ns: u64) {
        let streams = self.streams.as_mut();
        let stream = streams.and_then(|all| all.ended(id, sample, at_ns, &mut self.recorder));
        if let Some(limits) = &self.limits
            && sample.phase == Phase::Measured
            && limits.hold(sample, stream.as_ref())
        {
            self.recorder.good(at_ns);
        }
        if let Some(room) = &self.decoding {
            let (coded, decoded) = room.take_decoded();
            self.recorder.decoded(coded, decoded);
        }
        if let Some(tracer) = &mut self.tracer {
            let flight = Flight { first_byte_ns: sample.first_byte_ns, ..flight };
            tracer.record(&traced(&flight, Outcome::Ok, sample.status, sample.done_ns));
        }
        if let Some(addresses) = &mut self.addresses {
            addresses.ended(&flight, Outcome::Ok, sample.done_ns);
        }
    }

    #[cold]
    fn deviates(&mut self, answer: &Answer, at_ns: u64) {
        let &mut Flight { phase, request, .. } = self.flights.get_mut(answer.id);
        let Deviations { folded, not_chunked_last } = answer.deviations;
        let kinds =
            [(folded, DeviationKind::Folded), (not_chunked_last, DeviationKind::NotChunkedLast)];
        for (_, kind) in kinds.into_iter().filter(|(is_so, _)| *is_so) {
            self.recorder.deviation(at_ns, phase, kind, || {
                let status = status(answer).unwrap_or(0);
                format!("{}: status {status}", self.names[request as usize])
            });
        }
    }

    #[cold]
    fn mismatch(&mut self, answer: &Answer, mismatch: Mismatch, mut came: Came<'_>) {
        let kind = match mismatch {
            Mismatch::Status(status) => match self.redirected(answer.id, status, &mut came) {
                Some(Ok(())) => return self.expected(answer, came),
                Some(Err((kind, why))) => {
                    let flight = self.take(answer.id, came.chain);
                    let example = |name: String| format!("{name}: {mismatch}, {why}");
                    return self.enter_failure(
                        answer.id,
                        flight,
                        (kind, Some(status)),
                        came,
                        example,
                    );
                }
                None => ErrorKind::Status,
            },
            Mismatch::NotTls(_) => ErrorKind::Status,
            Mismatch::Length { .. } | Mismatch::Content { .. } => ErrorKind::Body,
            Mismatch::Coding(why) => match why {
                Undecoded::Unasked(_) => ErrorKind::CodingUnasked,
                Undecoded::Damaged(_) => ErrorKind::CodingDamaged,
                Undecoded::Truncated(_) => ErrorKind::CodingTruncated,
                Undecoded::Trailing(_) => ErrorKind::CodingTrailing,
                Undecoded::TooLong(_) | Undecoded::Ratio | Undecoded::Window => {
                    ErrorKind::CodingLimit
                }
            },
            Mismatch::ErrorEvent(_) => ErrorKind::StreamError,
            Mismatch::Unended(_) => ErrorKind::StreamUnended,
            Mismatch::NoStream => ErrorKind::NoStream,
            Mismatch::BrokenOff => {
                return self.break_off(answer.id, status(answer), came);
            }
        };
        let flight = self.take(answer.id, came.chain);
        self.forget_stream(answer.id);
        let why = (kind, status(answer));
        self.enter_failure(answer.id, flight, why, came, |name| mismatch.reason().of(name));
    }

    /// What the author makes of a response that may be a redirect.
    fn redirected(&mut self, id: RequestId, status: u16, came: &mut Came<'_>) -> Option<Followed> {
        let flight = self.flights.get_mut(id);
        let session = came.session.as_deref_mut()?;
        (flight.sent_ns != NOT_SENT)
            .then(|| came.author.redirected(flight, status, Some(session)))?
    }

    /// A response to a request that has not left is a response to nothing.
    #[cold]
    fn answered_unsent(&mut self, id: RequestId, flight: Flight, came: Came<'_>) {
        self.forget_stream(id);
        let why = (ErrorKind::Malformed, None);
        self.enter_failure(id, flight, why, came, |_| "answered before it was sent".to_owned());
    }

    /// The events of a response that does not count as a stream must not be those of the next one.
    #[cold]
    fn forget_stream(&mut self, id: RequestId) {
        if let Some(streams) = &mut self.streams {
            streams.forget(id);
        }
    }

    /// It failed without a complete response.
    #[cold]
    pub(crate) fn fail(&mut self, id: RequestId, kind: ErrorKind, reason: &Reason, came: Came<'_>) {
        let flight = self.take(id, came.chain);
        let kind = match &mut self.streams {
            Some(streams) => streams.failed(id, &flight, kind, came.at_ns, &mut self.recorder),
            None => kind,
        };
        self.enter_failure(id, flight, (kind, None), came, |name| reason.of(name));
    }

    fn enter_failure<E: Into<Reason>>(
        &mut self,
        id: RequestId,
        mut flight: Flight,
        (kind, status): (ErrorKind, Option<u16>),
        came: Came<'_>,
        example: impl FnOnce(String) -> E,
    ) {
        let at_ns = came.at_ns;
        if flight.sent_ns == NOT_SENT {
            // It was given to a connection that broke before it took the first byte. The
            // attempt was made, so it counts as sent, and as failed.
            self.recorder.sent(at_ns, flight.phase, flight.request);
            flight.sent_ns = at_ns.max(flight.ready_ns);
        }
        let failure = FailedRequest {
            phase: flight.phase,
            request: flight.request,
            kind,
            status,
            age_ns: at_ns.saturating_sub(flight.due_ns),
        };
        let (names, author) = (&self.names, &mut *came.author);
        self.recorder.error(at_ns, failure, || {
            let line = author.line(&flight);
            example(line.unwrap_or_else(|| names[flight.request as usize].clone()))
        });
        self.trace(&flight, Outcome::Failed(kind), status.unwrap_or(0), at_ns);
        self.tell(id, &flight, (Some(kind), status.unwrap_or(0)), came);
    }

    /// It was broken off, as it was meant to be, and had no response by then. `status` is that of one
    /// that came afterwards.
    pub(crate) fn break_off(&mut self, id: RequestId, status: Option<u16>, came: Came<'_>) {
        let at_ns = came.at_ns;
        let flight = self.take(id, came.chain);
        self.forget_stream(id);
        self.recorder.broken_off(at_ns, flight.phase, status);
        self.trace(&flight, Outcome::BrokenOff, status.unwrap_or(0), at_ns);
        self.tell(id, &flight, (None, status.unwrap_or(0)), came);
    }

    /// The author of a request hears what became of it.
    #[inline]
    fn tell(
        &mut self,
        id: RequestId,
        flight: &Flight,
        (error, status): (Option<ErrorKind>, u16),
        came: Came<'_>,
    ) {
        let ended = Ended { id, flight, error, status, at_ns: came.at_ns };
        came.author.ended(ended, came.session, &mut self.recorder);
    }

    /// The drain is over: what is in flight is unfinished.
    pub(crate) fn leave_unfinished(&mut self, id: RequestId, chain: &mut Chain, at_ns: u64) {
        let mut flight = self.take(id, chain);
        if flight.sent_ns == NOT_SENT {
            self.recorder.sent(at_ns, flight.phase, flight.request);
            flight.sent_ns = at_ns.max(flight.ready_ns);
        }
        self.recorder.unfinished(at_ns, flight.phase, at_ns.saturating_sub(flight.due_ns));
        if let Some(streams) = &mut self.streams {
            streams.unfinished(id, &flight, at_ns, &mut self.recorder);
        }
        self.trace(&flight, Outcome::Unfinished, 0, at_ns);
    }

    /// A request was dropped unsent because it was too old.
    pub(crate) fn shed(&mut self, one: NeverSent, at_ns: u64) {
        self.recorder.shed(at_ns, one.phase);
        self.trace(&one.into(), Outcome::Shed, 0, at_ns);
    }

    /// A request was in the backlog at `end_ns`, where the window ended; it is `at_ns` now.
    pub(crate) fn leave_unsent(&mut self, one: NeverSent, end_ns: u64, at_ns: u64) {
        self.recorder.unsent(at_ns, one.phase, end_ns - one.due.due_ns);
        self.trace(&one.into(), Outcome::Unsent, 0, end_ns);
    }

    #[inline]
    fn trace(&mut self, flight: &Flight, outcome: Outcome, status: u16, at_ns: u64) {
        if let Some(tracer) = &mut self.tracer {
            tracer.record(&traced(flight, outcome, status, at_ns));
        }
        if let Some(addresses) = &mut self.addresses {
            addresses.ended(flight, outcome, at_ns);
        }
    }

    /// When the request that was sent first was sent, and which it is.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<(RequestId, u64)> {
        self.flights.oldest().map(|(id, flight)| {
            (id, if flight.sent_ns == NOT_SENT { flight.ready_ns } else { flight.sent_ns })
        })
    }
}

#[inline]
fn status(answer: &Answer) -> Option<u16> {
    answer.status.map(NonZeroU16::get)
}

fn traced(flight: &Flight, outcome: Outcome, status: u16, at_ns: u64) -> Traced {
    let first_byte_ns = if flight.first_byte_ns == NOT_YET { 0 } else { flight.first_byte_ns };
    Traced {
        index: flight.index,
        due_ns: flight.due_ns,
        ready_ns: flight.ready_ns,
        sent_ns: flight.sent_ns,
        first_byte_ns,
        // The clock does not go back, but the time given to a batch of events may be older.
        done_ns: at_ns.max(flight.sent_ns).max(first_byte_ns),
        request: flight.request,
        connection: flight.connection,
        outcome,
        status,
        phase: flight.phase,
    }
}

impl From<NeverSent> for Flight {
    fn from(NeverSent { due, request, phase }: NeverSent) -> Self {
        Flight {
            index: due.index,
            due_ns: due.due_ns,
            ready_ns: 0,
            sent_ns: 0,
            first_byte_ns: 0,
            connection: 0,
            request,
            user: NOBODY,
            phase,
        }
    }
}
