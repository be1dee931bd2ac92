//! The recorder: a worker's side of recording, with one call for each event.
//!
//! Every call has the time of its event, and the recorder puts it into the interval of that time.
//! Times are nanoseconds from the beginning of the run and do not go back. Events before
//! [`Recorder::begin_run`] count as at the beginning of the run. Finished intervals are taken with
//! [`Recorder::take_finished`] and given back with [`Recorder::recycle`], which empties them, so
//! nothing is allocated while requests are recorded. A histogram of touched requests is made when an
//! interval is over.

mod connections;
mod slots;

use crate::errors::{DeviationKind, ErrorKind, Reason};
use crate::figure::count;
use crate::histogram::Histogram;
use crate::interval::{Interval, StatusCount, StepCounts};
use crate::latencies::{Blocked, BlockedCounts};
use crate::pauses::{LEAST_PAUSE_NS, Pauses, SlowRequests};
use crate::streams::{StreamCounts, StreamEnd, StreamParts};
use crate::users::{Failures, JourneyCounts, StepFailure};
use connections::Absence;
use slots::Slots;

pub use connections::Disconnect;

/// Whether a request counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Counted separately, not in any histogram.
    WarmUp,
    /// Counted and recorded.
    Measured,
}

/// The times of one request that got the expected response, from the beginning of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When the schedule says that it should leave. Closed load: equal to `ready_ns`.
    pub due_ns: u64,
    /// First moment that it could leave.
    pub ready_ns: u64,
    /// When its first byte was handed to the kernel.
    pub sent_ns: u64,
    /// When the first byte of its response was read.
    pub first_byte_ns: u64,
    /// When the last byte of its response was read.
    pub done_ns: u64,
    /// Which request of the plan.
    pub request: u32,
    /// Status of the response; 0: it is a message, which has none.
    pub status: u16,
    /// Length of the response's body.
    pub body_bytes: u64,
    /// Whether it counts.
    pub phase: Phase,
}

#[cfg(test)]
impl Sample {
    /// One that left when it was due, and whose response came at once when it was done.
    pub(crate) fn done_at(done_ns: u64, due_ns: u64, phase: Phase) -> Self {
        Sample {
            due_ns,
            ready_ns: due_ns,
            sent_ns: due_ns,
            first_byte_ns: done_ns,
            done_ns,
            request: 0,
            status: 200,
            body_bytes: 0,
            phase,
        }
    }
}

/// The settings of a recorder.
#[derive(Debug, Clone, Copy)]
pub struct RecorderSettings {
    /// Significant digits of the histograms, 1 to 5.
    pub digits: u8,
    /// Length of an interval, above zero.
    pub interval_ns: u64,
    /// Where the measured window begins.
    pub warm_up_ns: u64,
    /// Where the measured window ends, if that is known; an interval ends there too.
    pub window_end_ns: Option<u64>,
    /// How long after the window to wait for responses. Later events belong to the last interval,
    /// so a leap of the clock creates no intervals.
    pub drain_ns: u64,
    /// Number of requests in the plan.
    pub requests: usize,
    /// Number of journeys in the plan.
    pub journeys: usize,
}

/// A worker's record of the current interval.
#[derive(Debug)]
pub struct Recorder {
    settings: RecorderSettings,
    current: Interval,
    /// The end of the current interval, exclusive.
    boundary_ns: u64,
    /// Samples of the rate, whose slots are independent of intervals.
    slots: Slots,
    /// The end of the interval or of the slot, whichever is earlier: until then there is only
    /// recording to do.
    next_ns: u64,
    established: u64,
    /// Requests sent before the current interval that had no outcome by then.
    in_flight: u64,
    absence: Absence,
    /// Measured ones, until [`Recorder::judge`].
    slow: SlowRequests,
    finished: Vec<Interval>,
    spare: Vec<Interval>,
}

impl Recorder {
    /// A recorder at the beginning of a run.
    pub fn new(settings: RecorderSettings) -> Self {
        let mut recorder = Recorder::before_run(settings);
        recorder.begin_run();
        recorder
    }

    /// A recorder of events before a run: all of them are entered at the beginning, whatever their
    /// time.
    pub fn before_run(settings: RecorderSettings) -> Self {
        let fresh = || Interval::new(settings.digits, settings.requests, settings.journeys);
        let mut recorder = Recorder {
            settings,
            current: fresh(),
            boundary_ns: 0,
            slots: Slots::new(settings.warm_up_ns),
            next_ns: u64::MAX,
            established: 0,
            in_flight: 0,
            absence: Absence::default(),
            slow: SlowRequests::new(),
            finished: Vec::with_capacity(4),
            spare: vec![fresh(), fresh()],
        };
        if settings.window_end_ns.is_some_and(|end_ns| end_ns < recorder.slots.end_ns()) {
            recorder.slots.stop();
        }
        recorder.place(0);
        recorder
    }

    /// The run begins: from now on, the times of events count.
    pub fn begin_run(&mut self) {
        self.absence = Absence::default();
        self.current.connections.refused_ns = 0;
        self.begin(0);
    }

    /// Begins the interval that contains `start_ns`.
    fn begin(&mut self, start_ns: u64) {
        self.place(start_ns);
        self.next_ns = self.boundary_ns.min(self.slots.end_ns());
    }

    /// Sets index, beginning and boundary of the current interval for time `start_ns`.
    fn place(&mut self, start_ns: u64) {
        let RecorderSettings { interval_ns, warm_up_ns, window_end_ns, drain_ns, .. } =
            self.settings;
        self.current.start_ns = start_ns;
        // A window that ends in the warm-up ends the warm-up too: what follows is the drain.
        if start_ns < warm_up_ns && window_end_ns.is_none_or(|end_ns| start_ns < end_ns) {
            self.current.index = None;
            self.boundary_ns = warm_up_ns;
            return;
        }
        let index = start_ns.saturating_sub(warm_up_ns) / interval_ns;
        self.current.index = Some(index);
        self.boundary_ns = warm_up_ns + (index + 1) * interval_ns;
        if let Some(end_ns) = window_end_ns {
            if start_ns < end_ns {
                self.boundary_ns = self.boundary_ns.min(end_ns);
            } else {
                // After the window: the drain has the index after the last interval of the window,
                // even if the end of the window cut that interval short.
                let last = end_ns.saturating_sub(warm_up_ns).div_ceil(interval_ns);
                let beyond = (start_ns - end_ns) / interval_ns;
                self.current.index = Some(last + beyond);
                let next_ns = end_ns.saturating_add((beyond + 1).saturating_mul(interval_ns));
                let is_last = next_ns > end_ns.saturating_add(drain_ns);
                self.boundary_ns = if is_last { u64::MAX } else { next_ns };
            }
        }
    }

    /// Moves on to the interval that contains `now_ns`. Every recording call does this; a worker
    /// with nothing to record calls it now and then.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        if now_ns >= self.next_ns {
            self.roll(now_ns);
        }
    }

    #[cold]
    fn roll(&mut self, now_ns: u64) {
        while now_ns >= self.next_ns {
            // A slot that ends with its interval belongs to it.
            if self.slots.end_ns() <= self.boundary_ns {
                self.slots.close(&mut self.current);
                if self.settings.window_end_ns.is_some_and(|end| self.slots.end_ns() > end) {
                    self.slots.stop();
                }
            }
            if now_ns >= self.boundary_ns {
                let end_ns = self.boundary_ns;
                self.close_current(end_ns);
                self.begin(end_ns);
            } else {
                self.next_ns = self.boundary_ns.min(self.slots.end_ns());
            }
        }
    }

    fn close_current(&mut self, end_ns: u64) {
        let next = self.spare.pop().unwrap_or_else(|| {
            Interval::new(self.settings.digits, self.settings.requests, self.settings.journeys)
        });
        let mut done = std::mem::replace(&mut self.current, next);
        self.slots.carry(&done);
        done.end_ns = end_ns;
        done.connections.watched_ns = end_ns.saturating_sub(done.start_ns);
        done.connections.refused_ns += self.absence.until(end_ns);
        // Gauges that are the sum of all changes are right whenever an interval ends.
        done.connections.established = self.established;
        let ledgers = || [&done.warm_up, &done.ledger].into_iter();
        let sent = ledgers().fold(self.in_flight, |sum, one| sum + one.sent);
        self.in_flight = ledgers().fold(sent, |left, one| left.saturating_sub(one.outcomes()));
        done.in_flight = self.in_flight;
        // The others stay as they are until they are set again.
        self.current.users = done.users;
        self.current.backlog = done.backlog;
        self.finished.push(done);
    }

    /// Ends the measured window at `now_ns`, unless it has ended already; later events belong to
    /// the drain. If the current interval began after `now_ns`, the window ends where that interval
    /// began.
    pub fn end_window(&mut self, now_ns: u64) {
        self.advance(now_ns);
        let now_ns = now_ns.max(self.current.start_ns);
        if self.settings.window_end_ns.is_none_or(|end_ns| end_ns > now_ns) {
            self.settings.window_end_ns = Some(now_ns);
            self.slots.stop();
            self.close_current(now_ns);
            self.begin(now_ns);
        }
    }

    /// When the current interval ends.
    pub fn boundary_ns(&self) -> u64 {
        self.boundary_ns
    }

    /// The oldest finished interval, if any.
    #[inline]
    pub fn take_finished(&mut self) -> Option<Interval> {
        (!self.finished.is_empty()).then(|| self.finished.remove(0))
    }

    /// Whether [`take_finished`](Self::take_finished) has one.
    #[inline]
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Gives an interval's memory back.
    pub fn recycle(&mut self, mut interval: Interval) {
        interval.clear();
        self.spare.push(interval);
    }

    /// Whether too many slow requests wait for [`Recorder::judge`] to leave it to the end of the interval.
    #[inline]
    pub fn has_many_slow(&self) -> bool {
        self.slow.are_many()
    }

    /// Counts the slow requests that a pause touched. Pauses are known until `known_ns`: later requests wait for
    /// another call. A count enters the interval in which the request was done, or the first one after that which was
    /// not taken yet.
    pub fn judge(&mut self, pauses: &Pauses, known_ns: u64) {
        let (finished, current) = (&mut self.finished, &mut self.current);
        let fresh = || Box::new(Histogram::new(self.settings.digits));
        self.slow.judge(pauses, known_ns, |due_ns, done_ns| {
            let interval = finished.iter_mut().find(|one| done_ns < one.end_ns);
            let interval = interval.unwrap_or(&mut *current);
            interval.touched.get_or_insert_with(fresh).record(done_ns - due_ns);
        });
    }

    /// Ends the run at `now_ns`; [`Recorder::take_finished`] then returns the last intervals.
    pub fn finish(&mut self, now_ns: u64, backlog: u64) {
        self.advance(now_ns);
        self.current.backlog = backlog;
        self.close_current(now_ns);
    }

    /// Sets the gauge of requests that are due and not sent.
    pub fn set_backlog(&mut self, backlog: u64) {
        self.current.backlog = backlog;
    }

    #[inline]
    fn ledger(&mut self, phase: Phase) -> &mut crate::ledger::Ledger {
        match phase {
            Phase::WarmUp => &mut self.current.warm_up,
            Phase::Measured => &mut self.current.ledger,
        }
    }

    /// A request was scheduled and its first byte was handed to the kernel.
    #[inline]
    pub fn sent(&mut self, now_ns: u64, phase: Phase, request: u32) {
        self.advance(now_ns);
        let ledger = self.ledger(phase);
        ledger.scheduled += 1;
        ledger.sent += 1;
        if phase == Phase::Measured {
            self.current.requests[request as usize].sent += 1;
        }
    }

    /// A request got the expected response.
    #[inline]
    pub fn ok(&mut self, sample: &Sample) {
        self.expected(sample, 0);
    }

    /// The same, of one that its transport held back before it was sent, and no longer than from ready to sent.
    #[cold]
    pub fn ok_after(&mut self, sample: &Sample, blocked: Blocked) {
        self.expected(sample, blocked.total_ns());
        if sample.phase == Phase::Measured && blocked != Blocked::default() {
            BlockedCounts::add(&mut self.current.blocked, self.settings.digits, blocked);
        }
    }

    #[inline(always)]
    fn expected(&mut self, sample: &Sample, blocked_ns: u64) {
        self.advance(sample.done_ns);
        let current = &mut self.current;
        current.bytes.bodies += sample.body_bytes;
        if sample.phase == Phase::WarmUp {
            current.warm_up.ok += 1;
            return;
        }
        current.ledger.ok += 1;
        if sample.status > 0 {
            current.add_status(sample.status, 1);
        }
        let response_ns = sample.done_ns - sample.due_ns;
        let latencies = &mut current.latencies;
        latencies.response.record(response_ns);
        latencies.queue_wait.record(sample.ready_ns - sample.due_ns);
        let send_lag_ns = sample.sent_ns - sample.ready_ns - blocked_ns;
        latencies.send_lag.record(send_lag_ns);
        latencies.service.record(sample.done_ns - sample.sent_ns);
        latencies.first_byte.record(sample.first_byte_ns - sample.sent_ns);
        let one = &mut current.requests[sample.request as usize];
        one.ok += 1;
        if let Some(histogram) = &mut one.response {
            histogram.record(response_ns);
        }
        if let Some(step) = &mut one.step {
            ok_of_step(step, sample, send_lag_ns);
        }
        if response_ns >= LEAST_PAUSE_NS {
            self.slow.keep(sample.due_ns, sample.done_ns);
        }
    }

    /// A sent request failed. `age_ns` counts from its due time; `status` is that of a complete
    /// response, if there was one.
    pub fn error<E: Into<Reason>>(
        &mut self,
        now_ns: u64,
        failure: FailedRequest,
        example: impl FnOnce() -> E,
    ) {
        self.advance(now_ns);
        let FailedRequest { phase, request, kind, status, age_ns } = failure;
        self.ledger(phase).errors.add(kind as usize, example);
        if phase == Phase::WarmUp {
            return;
        }
        let one = &mut self.current.requests[request as usize];
        one.errors += 1;
        one.unanswered += u64::from(!kind.has_response());
        if let Some(status) = status {
            if let Some(step) = &mut one.step {
                count(&mut step.statuses, StatusCount { status, count: 1 });
            }
            self.current.add_status(status, 1);
        }
        if matches!(kind, ErrorKind::Timeout | ErrorKind::IdleTimeout) {
            self.current.censored.record(age_ns);
        }
    }

    /// A sent request was broken off by us, without a response before the break. `status` is that
    /// of a complete response afterwards, if there was one.
    pub fn broken_off(&mut self, now_ns: u64, phase: Phase, status: Option<u16>) {
        self.advance(now_ns);
        self.ledger(phase).broken_off += 1;
        if let (Phase::Measured, Some(status)) = (phase, status) {
            self.current.add_broken_off_status(status, 1);
        }
    }

    /// A complete response deviates from the RFC; its outcome is counted separately.
    pub fn deviation(
        &mut self,
        now_ns: u64,
        phase: Phase,
        kind: DeviationKind,
        example: impl FnOnce() -> String,
    ) {
        self.advance(now_ns);
        if phase == Phase::Measured {
            self.current.deviations.add(kind as usize, example);
        }
    }

    /// A request was dropped unsent because it was too old.
    pub fn shed(&mut self, now_ns: u64, phase: Phase) {
        self.advance(now_ns);
        let ledger = self.ledger(phase);
        ledger.scheduled += 1;
        ledger.shed += 1;
    }

    /// A request was still in the backlog at the end.
    pub fn unsent(&mut self, now_ns: u64, phase: Phase, age_ns: u64) {
        self.advance(now_ns);
        let ledger = self.ledger(phase);
        ledger.scheduled += 1;
        ledger.unsent += 1;
        if phase == Phase::Measured {
            self.current.censored.record(age_ns);
        }
    }

    /// The lowest age that the histogram cannot distinguish from `age_ns`.
    pub fn lowest_alike_age_ns(&self, age_ns: u64) -> u64 {
        self.current.censored.lowest_alike(age_ns)
    }

    /// `count` requests were still in the backlog at the end, with ages that the histogram cannot
    /// distinguish: they are spread evenly over `ages_ns`, from the lowest to the highest.
    pub fn unsent_alike(&mut self, now_ns: u64, phase: Phase, ages_ns: (u64, u64), count: u64) {
        self.advance(now_ns);
        let ledger = self.ledger(phase);
        ledger.scheduled += count;
        ledger.unsent += count;
        if phase == Phase::Measured {
            self.current.censored.record_alike(ages_ns, count);
        }
    }

    /// A sent request had no complete response when the drain ended.
    pub fn unfinished(&mut self, now_ns: u64, phase: Phase, age_ns: u64) {
        self.advance(now_ns);
        self.ledger(phase).unfinished += 1;
        if phase == Phase::Measured {
            self.current.censored.record(age_ns);
        }
    }

    /// A user of a journey came and began.
    pub fn user_started(&mut self, now_ns: u64, journey: u32) {
        self.journey(now_ns, journey).started += 1;
    }

    /// A user came to the end of a journey, `duration_ns` after the arrival, of which `thought_ns` were thinking.
    pub fn user_completed(&mut self, now_ns: u64, journey: u32, duration_ns: u64, thought_ns: u64) {
        let one = self.journey(now_ns, journey);
        one.completed += 1;
        one.duration.record(duration_ns);
        one.active.record(duration_ns.saturating_sub(thought_ns));
    }

    /// A step of a user failed, and with it the journey, if it `ends`.
    pub fn step_failed(
        &mut self,
        now_ns: u64,
        journey: u32,
        (request, why): (u32, StepFailure),
        ends: bool,
    ) {
        let one = self.journey(now_ns, journey);
        let list = if ends { &mut one.failed } else { &mut one.passed_over };
        count(list, Failures { request, why, count: 1 });
    }

    /// A user was under way when the run ended.
    pub fn user_unfinished(&mut self, now_ns: u64, journey: u32) {
        self.journey(now_ns, journey).unfinished += 1;
    }

    /// Users of an open load came, did not begin, and will not.
    pub fn users_not_begun(&mut self, now_ns: u64, count: u64) {
        self.advance(now_ns);
        self.current.users_not_begun += count;
    }

    fn journey(&mut self, now_ns: u64, journey: u32) -> &mut JourneyCounts {
        self.advance(now_ns);
        &mut self.current.journeys[journey as usize]
    }

    /// Sets the gauge of users under way.
    pub fn set_users(&mut self, users: u64) {
        self.current.users = users;
    }

    /// Parts came: `count` of them, with this many bytes of payload; `is_asked`: to a request.
    pub fn parts(&mut self, now_ns: u64, count: u32, bytes: u64, is_asked: bool) {
        self.advance(now_ns);
        let parts = &mut self.current.parts;
        parts.count += u64::from(count);
        parts.bytes += bytes;
        parts.unasked += if is_asked { 0 } else { u64::from(count) };
    }

    /// A silence was given an early acknowledgement; whether it ended by that.
    pub fn acknowledged_early(&mut self, now_ns: u64, moved: bool) {
        self.advance(now_ns);
        self.current.acks.tried += 1;
        self.current.acks.moved += u64::from(moved);
    }

    /// Events of a measured request were read together.
    pub fn stream_parts(&mut self, now_ns: u64, parts: StreamParts) {
        self.streams(now_ns).parts(parts);
    }

    /// The stream of a measured request is complete, as expected.
    pub fn stream_ended(&mut self, now_ns: u64, end: StreamEnd) {
        self.streams(now_ns).ended(end);
    }

    /// A measured request had a timeout, or was unfinished, before its first event.
    pub fn stream_unbegun(&mut self, now_ns: u64) {
        self.streams(now_ns).unbegun += 1;
    }

    /// A measured request goes on with a stream that ended so long before it.
    pub fn reconnected(&mut self, now_ns: u64, after_ns: u64) {
        self.streams(now_ns).reconnect.record(after_ns);
    }

    /// A measured request got the expected response under the plan's limits.
    pub fn good(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.current.good += 1;
    }

    fn streams(&mut self, now_ns: u64) -> &mut StreamCounts {
        self.advance(now_ns);
        let digits = self.settings.digits;
        self.current.streams.get_or_insert_with(|| Box::new(StreamCounts::new(digits)))
    }
}

/// The figures of a step of a journey, of a request with the expected response.
fn ok_of_step(step: &mut StepCounts, sample: &Sample, send_lag_ns: u64) {
    count(&mut step.statuses, StatusCount { status: sample.status, count: 1 });
    step.service.record(sample.done_ns - sample.sent_ns);
    step.queue_wait.record(sample.ready_ns - sample.due_ns);
    step.send_lag.record(send_lag_ns);
}

/// A sent request that failed.
#[derive(Debug, Clone, Copy)]
pub struct FailedRequest {
    /// Whether it counts.
    pub phase: Phase,
    /// Which request of the plan.
    pub request: u32,
    /// How it failed.
    pub kind: ErrorKind,
    /// Status, if the response was complete.
    pub status: Option<u16>,
    /// From due to now.
    pub age_ns: u64,
}

#[cfg(test)]
mod tests;
