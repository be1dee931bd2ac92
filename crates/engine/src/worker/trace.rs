//! Giving the trace away: blocks go to the collector between two rounds of the loop.
//!
//! A block that is not full goes too when an interval ends, so that a slow run's trace is on its
//! way within a second.

use candor_pace::Share;
use candor_plan::{Plan, Trace};
use candor_protocol::Protocol;
use candor_record::TraceCounts;
use candor_record::trace::{Rule, TraceSettings, Tracer};

use super::{Sink, Worker};
use crate::reactor::Reactor;

/// The rule of a run's trace, before a sample of a given size has narrowed it.
pub(crate) fn rule(trace: Trace, seed: u64) -> Rule {
    match trace {
        Trace::All | Trace::Count(_) => Rule::all(seed),
        Trace::OneIn(n) => Rule::one_in(seed, n),
    }
}

/// The tracer of one worker, if the plan asks for a trace.
pub(super) fn tracer(plan: &Plan, share: Share) -> Option<Box<Tracer>> {
    let rule = rule(plan.recording.trace?, plan.seed);
    let Share { worker, workers } = share;
    Some(Box::new(Tracer::new(TraceSettings { rule, worker, workers })))
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// Whether there are full blocks to give away.
    #[inline]
    pub(super) fn has_full_trace(&self) -> bool {
        self.books.tracer.as_ref().is_some_and(|tracer| tracer.has_full())
    }

    /// Gives full blocks away, `all` also the one that is being filled, and takes back what is
    /// empty.
    #[inline]
    pub(super) fn deliver_trace(&mut self, all: bool, sink: &mut dyn Sink) {
        if let Some(tracer) = &mut self.books.tracer {
            deliver(tracer, all, sink);
        }
    }

    /// Gives everything away.
    pub(super) fn end_trace(&mut self, sink: &mut dyn Sink) -> TraceCounts {
        self.deliver_trace(true, sink);
        self.books.tracer.as_ref().map_or(TraceCounts::default(), |tracer| tracer.counts())
    }
}

fn deliver(tracer: &mut Tracer, all: bool, sink: &mut dyn Sink) {
    if all {
        tracer.end_block();
    }
    while let Some(block) = tracer.take_full() {
        sink.deliver_traced(block);
    }
    while let Some((block, bound)) = sink.take_back() {
        tracer.recycle(block);
        tracer.narrow(bound);
    }
}
