//! All metrics of a run as an update for each interval, and one with the final values at the end. They are totals, so an
//! update that is lost loses no count.

use candor_plan::Tag;
use candor_record::{RunRecord, Stretch};
use candor_report::Document;

use super::post::Outgoing;
use super::totals::{Family, Totals};

/// The least time between two updates: receivers tell them apart by milliseconds.
const APART_NS: u64 = 1_000_000;

/// What an update is written from.
pub(super) struct Update<'a> {
    pub(super) families: &'a [Family<'a>],
    /// Of each metric.
    pub(super) tags: &'a [Tag],
    /// When the run began, since 1970.
    pub(super) from_ns: u64,
    /// When the values were these.
    pub(super) at_ns: u64,
}

/// Totals and the way to the receiver.
pub(super) struct Pushed {
    pub(super) out: Outgoing,
    totals: Totals,
    tags: Vec<Tag>,
    write: fn(&Update<'_>) -> Vec<u8>,
    last_ns: u64,
}

impl Pushed {
    pub(super) fn new(out: Outgoing, tags: &[Tag], write: fn(&Update<'_>) -> Vec<u8>) -> Self {
        Pushed { out, totals: Totals::default(), tags: tags.to_vec(), write, last_ns: 0 }
    }

    pub(super) fn stretch(&mut self, stretch: &Stretch<'_>) {
        self.totals.add(stretch.interval);
        self.offer(stretch.summary.end_ns);
    }

    pub(super) fn settle(&mut self, record: &RunRecord) {
        self.totals = Totals::whole(&record.total);
    }

    /// Offers the final values.
    pub(super) fn end(&mut self, document: &Document) {
        self.totals.end(&document.expectations);
        self.offer(document.time.elapsed_ns);
    }

    fn offer(&mut self, end_ns: u64) {
        let at_ns = self.out.unix_ns(end_ns).max(self.last_ns + APART_NS);
        self.last_ns = at_ns;
        let from_ns = self.out.unix_ns(0);
        let families = self.totals.families();
        let update = Update { families: &families, tags: &self.tags, from_ns, at_ns };
        self.out.offer((self.write)(&update), 1);
    }
}
