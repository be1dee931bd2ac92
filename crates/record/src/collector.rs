//! The collector: sums the intervals of all workers, off the engine threads.
//!
//! Workers deliver intervals in order, each at its own pace. An interval is summarised when every
//! worker has delivered it or has ended; a worker that delivers nothing for an index (it ended)
//! is not waited for.

use std::collections::BTreeMap;

use crate::batches::Batches;
use crate::histogram::Histogram;
use crate::interval::Interval;
use crate::kernel::KernelTimes;
use crate::run::{RunEnd, RunRecord, WorkerFigures, WorkerHealth};
use crate::trace::TraceCounts;

/// A few numbers of a histogram. All zero without samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Percentiles {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 90 % are below.
    pub p90_ns: u64,
    /// 99 % are below.
    pub p99_ns: u64,
    /// 99.9 % are below.
    pub p999_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl Percentiles {
    /// Of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let at = |q| histogram.quantile_ns(q).unwrap_or(0);
        Percentiles {
            count: histogram.count(),
            min_ns: histogram.min_ns().unwrap_or(0),
            mean_ns: histogram.mean_ns().unwrap_or(0.0),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: histogram.max_ns().unwrap_or(0),
        }
    }
}

/// One interval over all workers, as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalSummary {
    /// Index from the beginning of the measured window.
    pub index: u64,
    /// Beginning, from the beginning of the run.
    pub start_ns: u64,
    /// End, from the beginning of the run.
    pub end_ns: u64,
    /// Measured requests sent.
    pub sent: u64,
    /// Answered as expected.
    pub ok: u64,
    /// Failed.
    pub errors: u64,
    /// Complete answers, expected or not.
    pub answered: u64,
    /// Shed.
    pub shed: u64,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// Connections established at its end.
    pub connections: u64,
    /// Requests due and not sent at its end.
    pub backlog: u64,
    /// Requests in flight at its end: over HTTP/2, open streams.
    pub in_flight: u64,
    /// Response times.
    pub response: Percentiles,
    /// Service times.
    pub service: Percentiles,
    /// Send lags.
    pub send_lag: Percentiles,
    /// The response-time histogram, HdrHistogram V2 compressed.
    pub response_v2: Vec<u8>,
}

impl IntervalSummary {
    fn of(interval: &Interval, index: u64) -> Self {
        let ledger = &interval.ledger;
        IntervalSummary {
            index,
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            sent: ledger.sent,
            ok: ledger.ok,
            errors: ledger.errors.total(),
            answered: interval.answered(),
            shed: ledger.shed,
            bytes_sent: interval.bytes_sent,
            bytes_received: interval.bytes_received,
            connections: interval.connections.established,
            backlog: interval.backlog,
            in_flight: interval.in_flight,
            response: Percentiles::of(&interval.latencies.response),
            service: Percentiles::of(&interval.latencies.service),
            send_lag: Percentiles::of(&interval.latencies.send_lag),
            response_v2: interval.latencies.response.encode_v2(),
        }
    }
}

/// One finished interval over all workers, with everything that is known of it for this moment.
#[derive(Debug, Clone, Copy)]
pub struct Stretch<'a> {
    /// What is kept of it.
    pub summary: &'a IntervalSummary,
    /// All of it; its memory is used again.
    pub interval: &'a Interval,
    /// Each worker, from the beginning of the window up to what it has delivered.
    pub workers: &'a [WorkerFigures],
}

/// Position of an interval in time: the warm-up is before index 0.
type Position = Option<u64>;

/// Sums intervals to a [`RunRecord`].
#[derive(Debug)]
pub struct Collector {
    total: Interval,
    pending: BTreeMap<Position, Interval>,
    /// For each worker the position it has delivered up to; `Err(())` when it has ended.
    delivered: Vec<Result<Option<Position>, ()>>,
    summaries: Vec<IntervalSummary>,
    batches: Batches,
    healths: Vec<WorkerHealth>,
    figures: Vec<WorkerFigures>,
    /// Emptied intervals, for workers to use again.
    spare: Vec<Interval>,
}

/// What is known of the run besides its intervals.
#[derive(Debug, Clone)]
pub struct RunFacts {
    /// The origin of all times, on the reactor's own clock.
    pub origin_monotonic_ns: u64,
    /// Where the measured window begins.
    pub warm_up_ns: u64,
    /// Where it ends, from the beginning of the run.
    pub window_end_ns: u64,
    /// Connections asked for.
    pub connections_asked: u64,
    /// Why the run ended.
    pub end: RunEnd,
    /// How many requests were traced.
    pub trace: TraceCounts,
    /// Service time by the kernel's time stamps.
    pub kernel: Option<KernelTimes>,
}

impl Collector {
    /// For `workers` workers.
    pub fn new(digits: u8, requests: usize, workers: usize) -> Self {
        Collector {
            total: Interval::new(digits, requests),
            pending: BTreeMap::new(),
            delivered: vec![Ok(None); workers],
            summaries: Vec::new(),
            batches: Batches::default(),
            healths: vec![WorkerHealth::default(); workers],
            figures: vec![WorkerFigures::default(); workers],
            spare: Vec::new(),
        }
    }

    /// Takes a finished interval of a worker. Returns an empty one that the worker can use again,
    /// if there is one.
    pub fn deliver(&mut self, worker: usize, mut interval: Interval) -> Option<Interval> {
        let position = interval.index;
        self.delivered[worker] = Ok(Some(position));
        self.figures[worker].add(&interval);
        match self.pending.entry(position) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(interval);
                self.spare.pop()
            }
            std::collections::btree_map::Entry::Occupied(mut occupied) => {
                occupied.get_mut().merge_worker(&interval);
                interval.clear();
                Some(interval)
            }
        }
    }

    /// A worker has delivered everything.
    pub fn worker_ended(&mut self, worker: usize, health: WorkerHealth) {
        self.delivered[worker] = Err(());
        self.healths[worker] = health;
    }

    /// Summarises what every worker has delivered.
    pub fn settle(&mut self) {
        self.settle_with(&mut |_| {});
    }

    /// The same; each interval of the window and the drain is shown to `watch` on the way.
    pub fn settle_with(&mut self, watch: &mut dyn FnMut(&Stretch<'_>)) {
        while let Some((&position, _)) = self.pending.first_key_value() {
            let complete = self
                .delivered
                .iter()
                .all(|up_to| up_to.map_or(true, |up_to| up_to.is_some_and(|p| p >= position)));
            if !complete {
                break;
            }
            if let Some((_, mut interval)) = self.pending.pop_first() {
                self.total.merge_later(&interval);
                if let Some(index) = position {
                    self.batches.push(&interval);
                    let summary = IntervalSummary::of(&interval, index);
                    let workers = &self.figures;
                    watch(&Stretch { summary: &summary, interval: &interval, workers });
                    self.summaries.push(summary);
                }
                interval.clear();
                self.spare.push(interval);
            }
        }
    }

    /// The record. Every worker must have ended.
    pub fn finish(mut self, facts: RunFacts) -> RunRecord {
        self.settle();
        let in_window = || self.summaries.iter().filter(|one| one.start_ns < facts.window_end_ns);
        RunRecord {
            origin_monotonic_ns: facts.origin_monotonic_ns,
            warm_up_ns: facts.warm_up_ns,
            window_ns: facts.window_end_ns.saturating_sub(facts.warm_up_ns),
            answered_in_window: in_window().map(|one| one.answered).sum(),
            connections_asked: facts.connections_asked,
            connections_least: in_window().map(|one| one.connections).min().unwrap_or(0),
            end: facts.end,
            trace: facts.trace,
            kernel: facts.kernel,
            elapsed_ns: self.total.end_ns,
            workers: self.healths,
            figures: self.figures,
            intervals: self.summaries,
            batches: self.batches.finish(),
            gaps: Vec::new(),
            held_up: Vec::new(),
            hiccups: None,
            connection_answers: Vec::new(),
            memory: None,
            total: self.total,
        }
    }
}
