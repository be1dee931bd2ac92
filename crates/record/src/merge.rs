//! Merges the records of the parts of a run into the record of the whole.
//!
//! Merging is exact: ledgers add up, histograms merge bucket by bucket, intervals are aligned by
//! their index, as if one process had all the workers. The caller checks that the plans are the
//! same; this module refuses records that cannot be added.

use crate::collector::{Collector, CollectorSettings};
use crate::interval::Interval;
use crate::kernel::KernelTimes;
use crate::run::{RunRecord, Workers};
use crate::trace::TraceCounts;
use crate::wire::{self, WireError};

/// Why records are not the parts of one run. Records are named by their place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeError {
    /// There are none.
    Nothing,
    /// This one is of the whole run.
    Whole(usize),
    /// This one contradicts itself.
    Damaged(usize, String),
    /// These two have workers in common.
    Overlap(usize, usize),
    /// These two come from runs with different numbers of workers.
    OtherSize(usize, usize),
    /// These two differ in histograms, requests or warm-up.
    Shape(usize, usize),
    /// No record has these workers, which lie between those of others.
    Missing(Workers),
}

/// The record of the run with these parts. `digits` and `requests` are the plan's.
pub fn merge(
    records: Vec<RunRecord>,
    digits: u8,
    requests: usize,
) -> Result<RunRecord, MergeError> {
    let mut records: Vec<(usize, RunRecord)> = records.into_iter().enumerate().collect();
    records.sort_by_key(|(_, record)| (record.of.first, record.of.count));
    let (first, last) = match (records.first(), records.last()) {
        (Some((_, first)), Some((_, last))) => (first, last),
        _ => return Err(MergeError::Nothing),
    };
    let (of, warm_up_ns) = (first.of.of, first.warm_up_ns);
    let workers = Workers {
        first: first.of.first,
        count: last.of.indices().end.saturating_sub(first.of.first),
        of,
    };
    for (at, record) in &records {
        check(*at, record, digits)?;
    }
    for pair in records.windows(2) {
        let [(at, one), (behind, other)] = pair else { continue };
        if other.of.of != of {
            return Err(MergeError::OtherSize(*at, *behind));
        }
        if other.warm_up_ns != warm_up_ns {
            return Err(MergeError::Shape(*at, *behind));
        }
        let (end, begin) = (one.of.indices().end, other.of.first);
        if begin < end {
            return Err(MergeError::Overlap(*at, *behind));
        }
        if begin > end {
            return Err(MergeError::Missing(Workers { first: end, count: begin - end, of }));
        }
    }
    let connections_asked =
        records.iter().fold(0u64, |sum, (_, one)| sum.saturating_add(one.connections_asked));
    let settings = CollectorSettings { digits, requests, warm_up_ns, connections_asked, workers };
    let (mut trace, mut kernel) = (TraceCounts::default(), Vec::new());
    let (mut machines, mut reports, mut feeds) = (Vec::new(), Vec::new(), Vec::new());
    let first = records[0].0;
    for (at, record) in records {
        trace.merge(record.trace);
        kernel.extend(record.kernel);
        machines.extend(record.machines);
        reports.extend(record.workers);
        feeds.push(Feed { at, first, whole: record.whole.into_iter(), last: None, settings });
    }
    Collector::fed(settings, machines, reports, (trace, kernel), feeds)
}

fn check(at: usize, record: &RunRecord, digits: u8) -> Result<(), MergeError> {
    let damaged = |why: &str| Err(MergeError::Damaged(at, why.to_owned()));
    let Workers { first, count, of } = record.of;
    if record.of.is_all() {
        return Err(MergeError::Whole(at));
    }
    if count == 0 || u64::from(first) + u64::from(count) > u64::from(of) {
        return damaged("its workers do not belong to the run");
    }
    if record.workers.len() != count as usize || record.machines.is_empty() {
        return damaged("it does not have the stated workers");
    }
    if record.whole.is_empty() {
        return damaged("it has no intervals");
    }
    let is_in_order = |pairs: &[(u64, u64)]| pairs.iter().all(|(from_ns, to_ns)| from_ns <= to_ns);
    if !record.workers.iter().all(|one| is_in_order(&one.gaps))
        || !record.machines.iter().all(|one| is_in_order(&one.held_up))
    {
        return damaged("times in it are not in order");
    }
    if record.kernel.as_ref().is_some_and(|times| !times.fits(&KernelTimes::new(digits))) {
        return damaged("its histograms do not match its plan");
    }
    Ok(())
}

/// The intervals of one record.
struct Feed {
    at: usize,
    first: usize,
    whole: std::vec::IntoIter<Vec<u8>>,
    last: Option<Option<u64>>,
    settings: CollectorSettings,
}

impl Iterator for Feed {
    type Item = Result<Interval, MergeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.whole.next()?;
        Some(self.decode(&bytes))
    }
}

impl Feed {
    fn decode(&mut self, bytes: &[u8]) -> Result<Interval, MergeError> {
        let damaged = |why: String| MergeError::Damaged(self.at, why);
        let interval: Interval =
            wire::from_bytes(bytes).map_err(|error: WireError| damaged(error.to_string()))?;
        if !interval.fits(&Interval::new(self.settings.digits, self.settings.requests)) {
            return Err(match self.at == self.first {
                true => damaged("its histograms do not match its plan".to_owned()),
                false => MergeError::Shape(self.first, self.at),
            });
        }
        if interval.start_ns > interval.end_ns
            || self.last.is_some_and(|last| interval.index <= last)
        {
            return Err(damaged("its intervals are not in order".to_owned()));
        }
        self.last = Some(interval.index);
        Ok(interval)
    }
}
