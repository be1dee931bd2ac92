//! Merges the records of the parts of a run into the record of the whole: at once ([`merge`]), or while
//! the parts arrive ([`Merging`]).
//!
//! Merging is exact: ledgers add up, histograms merge bucket by bucket, intervals are aligned by
//! their index, as if one process had all the workers. The caller checks that the plans are the
//! same; this module refuses records that cannot be added, or that are not the whole run together.

use crate::collector::{Collector, CollectorSettings, Position, Stretch};
use crate::figure::Figure;
use crate::histogram::Layout;
use crate::interval::Interval;
use crate::ledger::Ledger;
use crate::run::{Agent, EndReason, Lost, Machine, RunRecord, WorkerReport, Workers};
use crate::users::JourneyCounts;
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
    /// No record has these workers, in pieces as large as the first record.
    Missing(Vec<Workers>),
}

impl MergeError {
    /// The error with the places of a list in another order.
    fn placed(self, places: &[usize]) -> Self {
        let at = |one: usize| places.get(one).copied().unwrap_or(one);
        match self {
            MergeError::Whole(one) => MergeError::Whole(at(one)),
            MergeError::Damaged(one, why) => MergeError::Damaged(at(one), why),
            MergeError::Overlap(one, other) => MergeError::Overlap(at(one), at(other)),
            MergeError::OtherSize(one, other) => MergeError::OtherSize(at(one), at(other)),
            MergeError::Shape(one, other) => MergeError::Shape(at(one), at(other)),
            other @ (MergeError::Nothing | MergeError::Missing(_)) => other,
        }
    }
}

/// The record of the run with these parts. `digits`, and how many requests and journeys there are, are the plan's.
pub fn merge(
    records: Vec<RunRecord>,
    digits: u8,
    requests: usize,
    journeys: usize,
) -> Result<RunRecord, MergeError> {
    let mut records: Vec<(usize, RunRecord)> = records.into_iter().enumerate().collect();
    records.sort_by_key(|(_, record)| (record.of.first, record.of.count));
    let (places, records): (Vec<usize>, Vec<RunRecord>) = records.into_iter().unzip();
    merge_sorted(records, (digits, requests, journeys)).map_err(|error| error.placed(&places))
}

fn merge_sorted(
    mut records: Vec<RunRecord>,
    (digits, requests, journeys): (u8, usize, usize),
) -> Result<RunRecord, MergeError> {
    let Some(first) = records.first() else { return Err(MergeError::Nothing) };
    let workers = Workers::all(first.of.of);
    for (at, record) in records.iter().enumerate() {
        if record.of.is_all() {
            return Err(MergeError::Whole(at));
        }
        check(at, record, digits)?;
        if record.whole.is_empty() {
            return Err(MergeError::Damaged(at, "it has no intervals".to_owned()));
        }
    }
    let connections_asked =
        records.iter().fold(0u64, |sum, one| sum.saturating_add(one.connections_asked));
    let warm_up_ns = first.warm_up_ns;
    let settings =
        CollectorSettings { digits, requests, journeys, warm_up_ns, connections_asked, workers };
    let parts: Vec<Workers> = records.iter().map(|one| one.of).collect();
    let mut merging = Merging::new(settings, &parts)?;
    let mut feeds: Vec<_> =
        records.iter_mut().map(|one| std::mem::take(&mut one.whole).into_iter()).collect();
    // Takes one interval of each part at a time, so only intervals that are out of step are in
    // memory at once.
    let mut records: Vec<Option<RunRecord>> = records.into_iter().map(Some).collect();
    while records.iter().any(Option::is_some) {
        for (part, intervals) in feeds.iter_mut().enumerate() {
            match intervals.next() {
                Some(bytes) => merging.deliver(part, &bytes)?,
                None => {
                    if let Some(record) = records[part].take() {
                        merging.ended(part, record)?;
                    }
                }
            }
        }
        merging.settle_with(&mut |_| {});
    }
    Ok(merging.finish())
}

fn check(at: usize, record: &RunRecord, digits: u8) -> Result<(), MergeError> {
    let damaged = |why: &str| Err(MergeError::Damaged(at, why.to_owned()));
    let Workers { first, count, of } = record.of;
    if count == 0 || u64::from(first) + u64::from(count) > u64::from(of) {
        return damaged("its workers do not belong to the run");
    }
    if record.workers.len() != count as usize || record.machines.is_empty() {
        return damaged("it does not have the stated workers");
    }
    let is_in_order = |pairs: &[(u64, u64)]| pairs.iter().all(|(from_ns, to_ns)| from_ns <= to_ns);
    if !record.workers.iter().all(|one| is_in_order(&one.gaps))
        || !record.machines.iter().all(|one| is_in_order(&one.held_up))
    {
        return damaged("times in it are not in order");
    }
    let layout = Layout::new(digits);
    let addresses = record.workers.iter().flat_map(|one| &one.addresses);
    if record.kernel.as_ref().is_some_and(|times| !times.fits(times, layout))
        || !addresses.into_iter().all(|one| one.fits(layout))
    {
        return damaged("its histograms do not match its plan");
    }
    Ok(())
}

/// Merges the parts of one run while they arrive: each part delivers its intervals in order, at its own
/// pace, and then ends with the rest of its record, or is lost.
///
/// An interval stays in memory, merged, until every part has delivered it; the caller bounds how far one
/// part may be ahead of others.
#[derive(Debug)]
pub struct Merging {
    collector: Collector,
    parts: Vec<Part>,
    /// The shape of every interval.
    empty: Interval,
}

/// A part, as far as it has arrived.
#[derive(Debug)]
struct Part {
    workers: Workers,
    last: Option<Position>,
    /// The end of its last interval.
    known_to_ns: u64,
    /// The counts of its warm-up, and the measured ones.
    known: [Known; 2],
    /// The same of the users of each journey: those who began, and their ends.
    users: Vec<Known>,
    /// Users who came and did not begin.
    not_begun: u64,
    has_ended: bool,
    /// It delivers nothing, unless it comes back.
    is_lost: bool,
    /// It did not do all of its share.
    is_short: bool,
    machines: Vec<Machine>,
}

/// The counts of a ledger that tell whether all of it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Known {
    scheduled: u64,
    sent: u64,
    outcomes: u64,
}

impl Known {
    fn of(ledger: &Ledger) -> Self {
        let Ledger { scheduled, sent, .. } = *ledger;
        Known { scheduled, sent, outcomes: ledger.outcomes() }
    }

    fn of_users(journey: &JourneyCounts) -> Self {
        let JourneyCounts { started, .. } = *journey;
        Known { scheduled: started, sent: started, outcomes: journey.ends() }
    }

    fn add(&mut self, other: Known) {
        crate::add(&mut self.scheduled, other.scheduled);
        crate::add(&mut self.sent, other.sent);
        crate::add(&mut self.outcomes, other.outcomes);
    }

    /// What was sent and has no outcome is unfinished, if nothing more is delivered.
    fn finish(&mut self, unfinished: &mut u64) {
        crate::add(unfinished, self.sent.saturating_sub(self.outcomes));
        self.outcomes = self.sent;
    }

    /// Closes the ledger of a part that delivers no more: its requests in flight are unfinished, and the
    /// rest of the `planned` requests is unaccounted for.
    fn close(&mut self, ledger: &mut Ledger, planned: u64) {
        self.finish(&mut ledger.unfinished);
        let rest = planned.saturating_sub(self.scheduled);
        crate::add(&mut ledger.unaccounted, rest);
        crate::add(&mut ledger.scheduled, rest);
        crate::add(&mut self.scheduled, rest);
    }
}

/// What the schedule has for a part: requests, or users with their journeys, of whose requests it knows nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Planned {
    /// Of the warm-up.
    pub warm_up: u64,
    /// Measured.
    pub measured: u64,
    /// Measured users.
    pub users: u64,
}

impl Merging {
    /// Merges parts with these workers, in order, which together are `settings.workers`.
    pub fn new(settings: CollectorSettings, parts: &[Workers]) -> Result<Self, MergeError> {
        let Workers { first: mut next, of, .. } = settings.workers;
        let end = settings.workers.indices().end;
        let mut missing = Vec::new();
        let mut leave_out = |mut from: u32, to: u32| {
            while from < to {
                let count = parts.first().map_or(1, |one| one.count).clamp(1, to - from);
                missing.push(Workers { first: from, count, of });
                from += count;
            }
        };
        for (at, workers) in parts.iter().enumerate() {
            if workers.of != of {
                return Err(MergeError::OtherSize(0, at));
            }
            if workers.first < next {
                return Err(MergeError::Overlap(at.saturating_sub(1), at));
            }
            leave_out(next, workers.first);
            next = workers.indices().end;
        }
        leave_out(next, end);
        if parts.is_empty() || next > end {
            return Err(MergeError::Nothing);
        }
        if !missing.is_empty() {
            return Err(MergeError::Missing(missing));
        }
        let part = |&workers: &Workers| Part {
            workers,
            last: None,
            known_to_ns: 0,
            known: [Known::default(); 2],
            users: vec![Known::default(); settings.journeys],
            not_begun: 0,
            has_ended: false,
            is_lost: false,
            is_short: false,
            machines: vec![Machine { workers: Some(workers), ..Machine::default() }],
        };
        Ok(Merging {
            collector: Collector::of_feeds(settings, parts.len()),
            parts: parts.iter().map(part).collect(),
            empty: Interval::new(settings.digits, settings.requests, settings.journeys),
        })
    }

    /// Takes the next interval of a part, as bytes.
    pub fn deliver(&mut self, part: usize, bytes: &[u8]) -> Result<(), MergeError> {
        let damaged = |why: &str| MergeError::Damaged(part, why.to_owned());
        let interval: Interval =
            wire::from_bytes(bytes).map_err(|error: WireError| damaged(&error.to_string()))?;
        if !interval.fits(&self.empty) {
            return Err(match part == 0 {
                true => damaged("its histograms do not match its plan"),
                false => MergeError::Shape(0, part),
            });
        }
        let known = &mut self.parts[part];
        if known.has_ended {
            return Err(damaged("an interval follows its end"));
        }
        if interval.start_ns > interval.end_ns
            || known.last.is_some_and(|last| interval.index <= last)
        {
            return Err(damaged("its intervals are not in order"));
        }
        known.last = Some(interval.index);
        known.known_to_ns = known.known_to_ns.max(interval.end_ns);
        known.known[0].add(Known::of(&interval.warm_up));
        known.known[1].add(Known::of(&interval.ledger));
        for (users, journey) in known.users.iter_mut().zip(&interval.journeys) {
            users.add(Known::of_users(journey));
        }
        crate::add(&mut known.not_begun, interval.users_not_begun);
        if std::mem::take(&mut known.is_lost) {
            self.collector.feed_back(part);
        }
        let agent = known.machines.first().and_then(|one| one.agent.as_ref());
        let agent = agent.map(|agent| agent.name.as_str());
        self.collector.feed_of_machine(part, interval, agent);
        Ok(())
    }

    /// A part has delivered all its intervals, and this is its record without them.
    pub fn ended(&mut self, part: usize, record: RunRecord) -> Result<(), MergeError> {
        let settings = self.collector.settings();
        check(part, &record, settings.digits)?;
        if record.warm_up_ns != settings.warm_up_ns {
            return Err(MergeError::Shape(0, part));
        }
        let damaged = |why: &str| MergeError::Damaged(part, why.to_owned());
        let known = &mut self.parts[part];
        if known.has_ended || record.of != known.workers {
            return Err(damaged("it is the record of another part"));
        }
        let users = record.total.journeys.iter().map(Known::of_users);
        if [&record.total.warm_up, &record.total.ledger].map(Known::of) != known.known
            || !users.eq(known.users.iter().copied())
        {
            return Err(damaged("its totals are not those of its intervals"));
        }
        if std::mem::take(&mut known.is_lost) {
            self.collector.feed_back(part);
        }
        known.has_ended = true;
        known.machines = record.machines;
        let from = (known.workers.first - settings.workers.first) as usize;
        let workers = from..from + known.workers.count as usize;
        self.collector.add_part(workers, record.workers, record.trace, record.kernel);
        self.collector.feed_ended(part);
        Ok(())
    }

    /// A part is lost, for this reason: it is not waited for, and what it delivers all the same is added.
    pub fn lost(&mut self, part: usize, end: EndReason) {
        let known = &mut self.parts[part];
        if !known.has_ended && !std::mem::replace(&mut known.is_lost, true) {
            let report = WorkerReport::new(known.known_to_ns, end);
            let from = (known.workers.first - self.collector.settings().workers.first) as usize;
            let count = known.workers.count as usize;
            let reports = vec![report; count];
            self.collector.add_part(from..from + count, reports, Default::default(), None);
            self.collector.feed_lost(part);
        }
    }

    /// Closes the ledgers of a part that did not do all that was `planned` for it. Returns the number of unaccounted
    /// requests, or users.
    pub fn close(&mut self, part: usize, planned: Planned) -> u64 {
        self.settle_with(&mut |_| {});
        let total = self.collector.total();
        let unaccounted = |total: &Interval| {
            let requests = total.warm_up.unaccounted.saturating_add(total.ledger.unaccounted);
            requests.saturating_add(total.users_unaccounted)
        };
        let before = unaccounted(total);
        let Part { known: [warm_up, measured], users, not_begun, .. } = &mut self.parts[part];
        warm_up.close(&mut total.warm_up, planned.warm_up);
        measured.close(&mut total.ledger, planned.measured);
        let mut came = *not_begun;
        for (known, journey) in users.iter_mut().zip(&mut total.journeys) {
            known.finish(&mut journey.unfinished);
            crate::add(&mut came, known.sent);
        }
        let rest = planned.users.saturating_sub(came);
        crate::add(&mut total.users_unaccounted, rest);
        crate::add(not_begun, rest);
        unaccounted(total).saturating_sub(before)
    }

    /// Describes a part's agent, whose name its intervals have from now on; `why` it was lost, if it was. Later
    /// intervals then name it as missing.
    pub fn describe(&mut self, part: usize, agent: &Agent, why: Option<&str>) {
        let known = &mut self.parts[part];
        let known_to_ns = known.known_to_ns;
        known.is_short = why.is_some();
        let lost = why.map(|why| Lost { why: why.to_owned(), known_to_ns });
        for machine in &mut known.machines {
            machine.agent = Some(Agent { lost: lost.clone(), ..agent.clone() });
        }
    }

    /// Summarises the intervals that every part has delivered, and shows them to `watch`.
    pub fn settle_with(&mut self, watch: &mut dyn FnMut(&Stretch<'_>)) {
        self.collector.settle_with(watch);
    }

    /// The record of the run. Every part has ended or is lost.
    pub fn finish(mut self) -> RunRecord {
        self.collector.settle_all();
        for (feed, part) in self.parts.iter().enumerate().filter(|(_, part)| part.is_short) {
            self.collector.name_missing(feed, part.last);
        }
        self.collector.finish_parts(self.parts.into_iter().flat_map(|one| one.machines).collect())
    }
}
