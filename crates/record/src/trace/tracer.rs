//! A worker's side of the trace: outcomes come in, blocks go out, and their memory is reused.

use super::{Rule, TraceCounts, Traced};

/// Requests in a block: some 80 KB, a hundredth of a second of a fast run.
const BLOCK_REQUESTS: usize = 1024;
/// Blocks of a worker: room for the outcomes between two visits of the collector.
const BLOCKS: usize = 64;

/// The settings of a tracer.
#[derive(Debug, Clone, Copy)]
pub struct TraceSettings {
    /// Which requests are traced.
    pub rule: Rule,
    /// This worker.
    pub worker: u32,
    /// The number of workers.
    pub workers: u32,
}

/// Keeps the outcomes that the rule chooses until the collector takes them.
#[derive(Debug)]
pub struct Tracer {
    settings: TraceSettings,
    current: Vec<Traced>,
    full: Vec<Vec<Traced>>,
    empty: Vec<Vec<Traced>>,
    counts: TraceCounts,
}

impl Tracer {
    /// Allocates all memory in advance.
    pub fn new(settings: TraceSettings) -> Self {
        let block = || Vec::with_capacity(BLOCK_REQUESTS);
        Tracer {
            settings,
            current: block(),
            full: Vec::with_capacity(BLOCKS),
            empty: (1..BLOCKS).map(|_| block()).collect(),
            counts: TraceCounts::default(),
        }
    }

    /// A request ended. Its `connection` is still the worker's own number of it.
    #[inline]
    pub fn record(&mut self, traced: &Traced) {
        if !self.settings.rule.chooses(traced.index) {
            self.counts.not_traced += 1;
            return;
        }
        if self.current.len() == self.current.capacity() && !self.next_block() {
            self.counts.not_traced += 1;
            self.counts.dropped += 1;
            return;
        }
        self.counts.traced += 1;
        let TraceSettings { worker, workers, .. } = self.settings;
        let connection = match traced.was_sent() {
            true => traced.connection * workers + worker,
            false => 0,
        };
        self.current.push(Traced { connection, ..*traced });
    }

    #[cold]
    fn next_block(&mut self) -> bool {
        let Some(empty) = self.empty.pop() else { return false };
        let done = std::mem::replace(&mut self.current, empty);
        if !done.is_empty() {
            self.full.push(done);
        }
        true
    }

    /// Whether [`take_full`](Self::take_full) has one.
    #[inline]
    pub fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    /// The oldest full block, if any.
    pub fn take_full(&mut self) -> Option<Vec<Traced>> {
        (!self.full.is_empty()).then(|| self.full.remove(0))
    }

    /// Ends the block that is being filled, so that [`Tracer::take_full`] gives it.
    pub fn end_block(&mut self) {
        if !self.current.is_empty() {
            self.full.push(std::mem::take(&mut self.current));
        }
        if self.current.capacity() == 0 {
            self.current = self.empty.pop().unwrap_or_default();
        }
    }

    /// Gives a block's memory back.
    pub fn recycle(&mut self, mut block: Vec<Traced>) {
        block.clear();
        self.empty.push(block);
    }

    /// From now on only requests whose rank is not above `bound` are chosen.
    pub fn narrow(&mut self, bound: u64) {
        self.settings.rule = self.settings.rule.narrowed_to(bound);
    }

    /// The counts so far.
    pub fn counts(&self) -> TraceCounts {
        self.counts
    }
}
