//! Who looks on while a run goes on: finished intervals, and single requests as they are traced.
//!
//! An observer is called on the thread that called [`crate::run`], never on an engine thread.
//! However long it takes, no request waits for it: what is traced meanwhile and finds no memory
//! is counted as dropped.

use std::net::IpAddr;
use std::path::Path;

use candor_plan::{Plan, Trace};
use candor_record::trace::LowestRanks;
use candor_record::{IntervalSummary, Stretch, TraceCounts, Traced};

use crate::sessions::exchanges::Exchanges;
use crate::worker;

/// Sees a run while it goes on.
pub trait Observer {
    /// A run of `plan` is made. Comes before everything else of it.
    fn prepares(&mut self, plan: &Plan) {
        let _ = plan;
    }

    /// Connections will go to `addresses` of `host`, which may be anybody's on the internet. Comes
    /// before the first of them.
    fn goes_public(&mut self, host: &str, addresses: &[IpAddr]) {
        let _ = (host, addresses);
    }

    /// This many lines of an access log are left out, because their requests cannot be repeated.
    fn leaves_out(&mut self, file: &Path, lines: u64) {
        let _ = (file, lines);
    }

    /// Something happened beside the run that whoever looks on should know: a sentence.
    fn notice(&mut self, line: &str) {
        let _ = line;
    }

    /// All connections are made, and this many were established. Only a run that is held
    /// ([`crate::Control::hold`]) reports this.
    fn connected(&mut self, established: u32) {
        let _ = established;
    }

    /// Where to keep the exchanges of the run, if somebody wants to look at them. Such a run measures nothing: keeping
    /// them takes time.
    fn exchanges(&self) -> Option<Exchanges> {
        None
    }

    /// Whether [`Observer::finished`] takes the intervals.
    fn takes_intervals(&self) -> bool {
        false
    }

    /// An interval is over, the warm-up included: the bytes of its [`candor_record::Interval`], which the
    /// record then lacks.
    fn finished(&mut self, interval: Vec<u8>) {
        let _ = interval;
    }

    /// The run has begun; all times of requests count from here, which is `origin_monotonic_ns` of
    /// the system's monotonic clock. Comes before everything of the run itself.
    fn begins(&mut self, origin_monotonic_ns: u64) {
        let _ = origin_monotonic_ns;
    }

    /// An interval of the measured window or the drain is over.
    fn interval(&mut self, summary: &IntervalSummary) {
        let _ = summary;
    }

    /// The same with all that is known of it, for this moment.
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        self.interval(stretch.summary);
    }

    /// Some requests have ended, each of which is seen once: those of one worker in the order in
    /// which they ended, those of several in pieces. A sample of a given size comes at the end.
    fn traced(&mut self, requests: &[Traced]) {
        let _ = requests;
    }
}

/// No observer.
impl Observer for () {}

/// Stands between the workers' blocks and the observer.
pub(crate) struct TraceIntake(Option<LowestRanks>);

impl TraceIntake {
    pub(crate) fn new(plan: &Plan) -> Self {
        TraceIntake(match plan.recording.trace {
            Some(trace @ Trace::Count(size)) => {
                Some(LowestRanks::new(worker::trace::rule(trace, plan.seed), size as usize))
            }
            _ => None,
        })
    }

    /// Takes a block. Returns the highest rank that is still of interest.
    pub(crate) fn take(&mut self, block: &[Traced], observer: &mut dyn Observer) -> u64 {
        match &mut self.0 {
            Some(sample) => sample.take(block),
            None => {
                observer.traced(block);
                u64::MAX
            }
        }
    }

    /// All blocks were taken, of which workers say `taken`: what the trace has.
    pub(crate) fn finish(self, taken: TraceCounts, observer: &mut dyn Observer) -> TraceCounts {
        let Some(sample) = self.0 else { return taken };
        let (requests, counts) = sample.finish(taken);
        observer.traced(&requests);
        counts
    }
}
