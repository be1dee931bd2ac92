//! The collector: sums the intervals of all workers, off the engine threads.
//!
//! Workers deliver intervals in order, each at its own pace. An interval is summarised when every
//! worker has delivered it or has ended; a worker that has ended is not waited for.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::batches::Batches;
use crate::figure::Figure;
use crate::histogram::Encoded;
use crate::interval::Interval;
use crate::kernel::KernelTimes;
use crate::run::{EndReason, Machine, RunRecord, WorkerReport, Workers};
use crate::summary::{IntervalSummary, OfMachine};
use crate::trace::TraceCounts;
use crate::wire;

/// One finished interval over all workers, with all its data, borrowed while it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Stretch<'a> {
    /// Its summary, which is kept.
    pub summary: &'a IntervalSummary,
    /// The whole interval; its memory is reused.
    pub interval: &'a Interval,
    /// Each worker, from the beginning of the window to its last delivered interval. Until a worker
    /// has ended, only its figures are known.
    pub workers: &'a [WorkerReport],
    /// Each machine that has a part in it; empty for a run on one machine.
    pub machines: &'a [OfMachine],
}

/// Position of an interval in time: the warm-up is before index 0.
pub(crate) type Position = Option<u64>;

/// Sums intervals into a [`RunRecord`]; nothing else makes one.
///
/// Its input comes from workers of this process, or from records of other processes, each of a part
/// of the same run.
#[derive(Debug, Clone)]
pub struct Collector {
    settings: CollectorSettings,
    total: Interval,
    pending: BTreeMap<Position, Interval>,
    /// Of intervals that are pending: the machines, by their feeds.
    of_machines: BTreeMap<Position, BTreeMap<usize, OfMachine>>,
    /// For each feed, the last position that it delivered; `Err(())` when it has ended.
    delivered: Vec<Result<Option<Position>, ()>>,
    summaries: Vec<IntervalSummary>,
    batches: Batches,
    machines: Vec<Machine>,
    reports: Vec<WorkerReport>,
    trace: TraceCounts,
    kernel: Option<KernelTimes>,
    /// Emptied intervals, for workers to use again.
    spare: Vec<Interval>,
    whole: Vec<Vec<u8>>,
    keeps_whole: bool,
    /// Feeds that were lost, by their place, and the last position of each.
    lost: Vec<(u32, Option<Position>)>,
    /// Intervals that were shown while feeds were lost, as bytes: a lost feed may come back with its own.
    provisional: BTreeMap<Position, Vec<u8>>,
    /// The last position that was shown.
    shown: Option<Position>,
}

/// The settings of a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectorSettings {
    /// Significant decimal digits of the histograms.
    pub digits: u8,
    /// Requests of the plan.
    pub requests: usize,
    /// Journeys of the plan.
    pub journeys: usize,
    /// Where the measured window begins.
    pub warm_up_ns: u64,
    /// Connections asked for by the collected workers.
    pub connections_asked: u64,
    /// The workers of the record.
    pub workers: Workers,
}

impl Collector {
    /// A collector without intervals.
    pub fn new(settings: CollectorSettings) -> Self {
        let count = settings.workers.count as usize;
        Collector {
            settings,
            total: Interval::new(settings.digits, settings.requests, settings.journeys),
            pending: BTreeMap::new(),
            of_machines: BTreeMap::new(),
            delivered: vec![Ok(None); count],
            summaries: Vec::new(),
            batches: Batches::default(),
            machines: Vec::new(),
            reports: vec![WorkerReport::new(0, EndReason::Duration); count],
            trace: TraceCounts::default(),
            kernel: None,
            spare: Vec::new(),
            whole: Vec::new(),
            keeps_whole: !settings.workers.is_all(),
            lost: Vec::new(),
            provisional: BTreeMap::new(),
            shown: None,
        }
    }

    /// Keeps settled intervals as bytes, also those of a whole run.
    pub fn keep_whole(&mut self) {
        self.keeps_whole = true;
    }

    /// The bytes of the intervals that were settled and not taken yet, the warm-up included. The record
    /// has those that are not taken.
    pub fn take_whole(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.whole)
    }

    /// An empty collector with `feeds` feeds: each is a part of the run with all its workers.
    pub(crate) fn of_feeds(settings: CollectorSettings, feeds: usize) -> Self {
        Collector { delivered: vec![Ok(None); feeds], ..Collector::new(settings) }
    }

    /// The settings.
    pub fn settings(&self) -> CollectorSettings {
        self.settings
    }

    /// Takes a finished interval of the collected worker `worker`. Returns an empty one for the
    /// worker to reuse, if there is one.
    pub fn deliver(&mut self, worker: usize, interval: Interval) -> Option<Interval> {
        self.reports[worker].figures.add(&interval);
        self.feed(worker, interval)
    }

    /// Takes an interval of a machine with this agent.
    pub(crate) fn feed_of_machine(&mut self, feed: usize, interval: Interval, agent: Option<&str>) {
        if self.shown >= Some(interval.index) {
            return self.feed_late(feed, interval);
        }
        let machines = self.of_machines.entry(interval.index).or_default();
        machines.insert(feed, OfMachine::of(&interval, agent));
        self.feed(feed, interval);
    }

    /// Takes an interval that was shown without this feed, which was lost then.
    fn feed_late(&mut self, feed: usize, interval: Interval) {
        let position = interval.index;
        self.delivered[feed] = Ok(Some(position));
        let known = self.provisional.remove(&position);
        let mut sum = known.and_then(|bytes| unpacked(&bytes)).unwrap_or_else(|| {
            let CollectorSettings { digits, requests, journeys, .. } = self.settings;
            let empty = Interval::new(digits, requests, journeys);
            Interval { index: position, start_ns: interval.start_ns, ..empty }
        });
        sum.merge_worker(&interval);
        self.provisional.insert(position, wire::to_bytes(&sum));
    }

    fn feed(&mut self, feed: usize, mut interval: Interval) -> Option<Interval> {
        let position = interval.index;
        self.delivered[feed] = Ok(Some(position));
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
    pub fn worker_ended(&mut self, worker: usize, mut report: WorkerReport) {
        self.delivered[worker] = Err(());
        self.trace.merge(&report.trace);
        self.add_kernel(report.kernel.take());
        report.figures = self.reports[worker].figures;
        self.reports[worker] = report;
    }

    /// A feed has ended: it has delivered everything.
    pub(crate) fn feed_ended(&mut self, feed: usize) {
        self.delivered[feed] = Err(());
    }

    /// A feed ends early: later intervals name it as missing.
    pub(crate) fn feed_lost(&mut self, feed: usize) {
        if let Ok(position) = std::mem::replace(&mut self.delivered[feed], Err(())) {
            self.lost.push((feed as u32, position));
        }
    }

    /// A lost feed delivers again.
    pub(crate) fn feed_back(&mut self, feed: usize) {
        if let Some(at) = self.lost.iter().position(|(lost, _)| *lost == feed as u32) {
            self.delivered[feed] = Ok(self.lost.remove(at).1);
        }
    }

    /// Names a feed as missing in the intervals after its last one, although it has ended.
    pub(crate) fn name_missing(&mut self, feed: usize, last: Option<Position>) {
        let feed = feed as u32;
        for summary in &mut self.summaries {
            let is_later = last.is_none_or(|last| last < Some(summary.index));
            if is_later && let Err(at) = summary.missing.binary_search(&feed) {
                summary.missing.insert(at, feed);
            }
        }
    }

    /// Adds the rest of a part's record, besides its intervals; `workers` are their places here.
    pub(crate) fn add_part(
        &mut self,
        workers: Range<usize>,
        reports: Vec<WorkerReport>,
        trace: TraceCounts,
        kernel: Option<KernelTimes>,
    ) {
        self.reports.splice(workers, reports);
        self.trace.merge(&trace);
        self.add_kernel(kernel);
    }

    /// The sum of the settled intervals.
    pub(crate) fn total(&mut self) -> &mut Interval {
        &mut self.total
    }

    fn add_kernel(&mut self, times: Option<KernelTimes>) {
        match (&mut self.kernel, times) {
            (Some(sum), Some(times)) => sum.merge(&times),
            (none @ None, times) => *none = times,
            (Some(_), None) => {}
        }
    }

    /// The trace counts of the workers that have ended.
    pub fn trace(&self) -> TraceCounts {
        self.trace
    }

    /// Summarises the intervals that every worker has delivered.
    pub fn settle(&mut self) {
        self.settle_with(&mut |_| {});
    }

    /// The same, and shows each interval of the window and the drain to `watch`.
    pub fn settle_with(&mut self, watch: &mut dyn FnMut(&Stretch<'_>)) {
        if self.lost.is_empty() {
            self.absorb_provisional(|collector, position| collector.is_complete(position));
        }
        while let Some((&position, _)) = self.pending.first_key_value() {
            if !self.is_complete(position) {
                break;
            }
            let machines = self.of_machines.remove(&position).unwrap_or_default();
            let machines: Vec<OfMachine> = machines.into_values().collect();
            if let Some((_, mut interval)) = self.pending.pop_first() {
                self.shown = Some(position);
                let summary = position.map(|index| self.summary(&interval, index));
                if let Some(summary) = &summary {
                    let (interval, workers) = (&interval, &self.reports[..]);
                    watch(&Stretch { summary, interval, workers, machines: &machines });
                }
                match self.lost.is_empty() && self.provisional.is_empty() {
                    true => self.absorb(&interval, summary),
                    false => drop(self.provisional.insert(position, wire::to_bytes(&interval))),
                }
                interval.clear();
                self.spare.push(interval);
            }
        }
    }

    /// Whether every feed that is not lost has delivered this position, or has ended.
    fn is_complete(&self, position: Position) -> bool {
        let mut delivered = self.delivered.iter();
        delivered.all(|up_to| up_to.map_or(true, |up_to| up_to.is_some_and(|p| p >= position)))
    }

    fn summary(&self, interval: &Interval, index: u64) -> IntervalSummary {
        let mut summary = IntervalSummary::of(interval, index);
        let is_missing =
            |(_, up_to): &&(u32, Option<Position>)| up_to.is_none_or(|up_to| up_to < Some(index));
        summary.missing = self.lost.iter().filter(is_missing).map(|(feed, _)| *feed).collect();
        summary.missing.sort_unstable();
        summary
    }

    /// Adds an interval to the record, to which nothing will be added any more.
    fn absorb(&mut self, interval: &Interval, summary: Option<IntervalSummary>) {
        if self.keeps_whole {
            self.whole.push(wire::to_bytes(interval));
        }
        self.total.merge_later(interval);
        if let Some(summary) = summary {
            self.batches.push(interval);
            self.summaries.push(summary);
        }
    }

    /// Absorbs the first intervals that were shown without a lost feed, as far as `is_final`.
    fn absorb_provisional(&mut self, is_final: impl Fn(&Self, Position) -> bool) {
        while let Some((&position, _)) = self.provisional.first_key_value()
            && is_final(self, position)
        {
            let bytes = self.provisional.pop_first().map(|(_, bytes)| bytes);
            if let Some(interval) = bytes.and_then(|bytes| unpacked(&bytes)) {
                let summary = position.map(|index| self.summary(&interval, index));
                self.absorb(&interval, summary);
            }
        }
    }

    /// The same for all intervals: what is lost now stays lost.
    pub(crate) fn settle_all(&mut self) {
        self.settle();
        self.absorb_provisional(|_, _| true);
    }

    /// Follows another collector: adds an interval that it showed, if that is before `window_end_ns`
    /// or in the drain. For records of single stretches of a run during the run, whose rows have no
    /// histograms.
    pub fn follow(&mut self, stretch: &Stretch<'_>, window_end_ns: u64) {
        let Stretch { summary, interval, workers, .. } = *stretch;
        if self.summaries.is_empty() {
            self.settings.warm_up_ns = summary.start_ns;
        }
        let reached_ns = if summary.start_ns < window_end_ns {
            summary.end_ns
        } else {
            self.reports.first().map_or(window_end_ns, |one| one.window_end_ns)
        };
        self.total.merge_later(interval);
        // The histogram, which is most of a row, is kept once: by the collector that is followed.
        let (response_hdr, missing) = (Encoded::default(), summary.missing.clone());
        self.summaries.push(IntervalSummary { response_hdr, missing, ..*summary });
        self.reports = workers.to_vec();
        self.reports.iter_mut().for_each(|one| one.window_end_ns = reached_ns);
    }

    /// The record of workers on one machine, with the final trace counts. Every worker must have
    /// ended.
    pub fn finish(mut self, machine: Machine, trace: TraceCounts) -> RunRecord {
        let held_up = self.reports.iter_mut().flat_map(|one| std::mem::take(&mut one.held_up));
        let mut held_up: Vec<_> = held_up.collect();
        held_up.sort_unstable();
        let workers = Some(self.settings.workers);
        self.machines = vec![Machine { workers, held_up, ..machine }];
        self.trace = trace;
        self.record()
    }

    /// The record of the intervals followed so far.
    pub fn so_far(&self) -> RunRecord {
        Collector { machines: vec![Machine::default()], ..self.clone() }.record()
    }

    /// The record of parts on these machines.
    pub(crate) fn finish_parts(mut self, machines: Vec<Machine>) -> RunRecord {
        self.machines = machines;
        self.record()
    }

    fn record(mut self) -> RunRecord {
        self.settle_all();
        let reports = || self.reports.iter();
        let window_end_ns = reports().map(|one| one.window_end_ns).max().unwrap_or(0);
        let end = reports().map(|one| one.end).max().unwrap_or(EndReason::Duration);
        for summary in &mut self.summaries {
            summary.in_window = summary.start_ns < window_end_ns;
        }
        let in_window = || self.summaries.iter().filter(|one| one.in_window);
        let CollectorSettings { warm_up_ns, connections_asked, workers, .. } = self.settings;
        RunRecord {
            of: workers,
            warm_up_ns,
            window_ns: window_end_ns.saturating_sub(warm_up_ns),
            answered_in_window: in_window().fold(0, |sum, one| one.answered.saturating_add(sum)),
            connections_asked,
            connections_least: in_window().map(|one| one.connections).min().unwrap_or(0),
            end,
            trace: self.trace,
            kernel: self.kernel,
            elapsed_ns: self.total.end_ns,
            machines: self.machines,
            workers: self.reports,
            intervals: self.summaries,
            batches: self.batches.finish(),
            total: self.total,
            whole: self.whole,
            credentials: Vec::new(),
            alternatives: Vec::new(),
        }
    }
}

/// An interval that this collector packed itself.
fn unpacked(bytes: &[u8]) -> Option<Interval> {
    let interval = wire::from_bytes(bytes);
    debug_assert!(interval.is_ok(), "what was packed can be unpacked");
    interval.ok()
}
