//! From reserved to prepared: the agent fetches and reads the plan, checks it against policy and grant, fetches the
//! data files that it lacks, and pins the plan to addresses; then the host prepares it.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use candor_plan::{Endpoint, Plan};
use candor_record::wire;

use super::{Agent, Event, Now, Stage};
use crate::codec::{MOST_WANTED, PIECE_BYTES};
use crate::file::DataFile;
use crate::identity::{Digest, RunKey};
use crate::message::Head;
use crate::refusal::{Refusal, words};
use crate::{MS, S};

/// The shortest and the longest time until a chunk that does not arrive is asked for again.
const AGAIN_NS: [u64; 2] = [S, 16 * S];
/// How much later than the fastest chunk others may arrive: the time that the coordinator's other messages wait behind
/// chunks.
const QUEUE_NS: u64 = 300 * MS;

/// The chunks of a plan, or of a data file, and which of them are here. There are as many under way as the network takes
/// without a queue: one more when a chunk arrives soon, one fewer when it arrives late.
#[derive(Debug)]
pub(super) struct Fetch {
    /// What they are of.
    of: Digest,
    are_here: Vec<bool>,
    /// Their bytes in total.
    bytes: u64,
    missing: usize,
    /// Chunks below were asked for.
    next: usize,
    /// Those under way: when each was asked for first and last.
    asked: BTreeMap<usize, [u64; 2]>,
    /// The most that may be.
    window: usize,
    /// The shortest time from asking to arrival.
    least_ns: u64,
    again_ns: u64,
}

impl Fetch {
    pub(super) fn new(of: Digest, bytes: u64) -> Self {
        let count = (bytes as usize).div_ceil(PIECE_BYTES).max(1);
        Fetch {
            of,
            are_here: vec![false; count],
            bytes,
            missing: count,
            next: 0,
            asked: BTreeMap::new(),
            window: 2,
            least_ns: u64::MAX,
            again_ns: AGAIN_NS[0],
        }
    }

    /// When to ask; in the past if more chunks may be under way.
    pub(super) fn next_ns(&self) -> u64 {
        if self.asked.len() < self.window && self.next < self.are_here.len() {
            return 0;
        }
        let oldest_ns = self.asked.values().map(|[_, last_ns]| *last_ns).min();
        oldest_ns.map_or(u64::MAX, |last_ns| last_ns.saturating_add(self.again_ns))
    }

    /// The chunks to ask for now.
    pub(super) fn want(&mut self, now_ns: u64) -> Option<Vec<u32>> {
        let is_overdue = |asked_ns: u64| asked_ns.saturating_add(self.again_ns) <= now_ns;
        let overdue = self.asked.iter().filter(|(_, [_, last_ns])| is_overdue(*last_ns));
        let mut wanted: Vec<usize> = overdue.map(|(at, _)| *at).take(MOST_WANTED).collect();
        if !wanted.is_empty() {
            self.window = (self.window / 2).max(1);
            self.again_ns = (2 * self.again_ns).min(AGAIN_NS[1]);
            for at in &wanted {
                self.asked.entry(*at).and_modify(|[_, last_ns]| *last_ns = now_ns);
            }
        }
        while self.asked.len() < self.window
            && wanted.len() < MOST_WANTED
            && self.next < self.are_here.len()
        {
            wanted.push(self.next);
            self.asked.insert(self.next, [now_ns; 2]);
            self.next += 1;
        }
        (!wanted.is_empty()).then(|| wanted.into_iter().map(|at| at as u32).collect())
    }

    /// What is fetched.
    pub(super) fn of(&self) -> Digest {
        self.of
    }

    /// A chunk of this many bytes arrived. Returns whether it is one that was missing.
    fn take(&mut self, of: Digest, index: u32, length: usize, now_ns: u64) -> bool {
        let at = index as usize;
        let begins = (at as u64).saturating_mul(PIECE_BYTES as u64);
        let expected = self.bytes.saturating_sub(begins).min(PIECE_BYTES as u64);
        match self.are_here.get_mut(at) {
            Some(is_here @ false) if of == self.of && length as u64 == expected => *is_here = true,
            _ => return false,
        }
        self.missing -= 1;
        // Since the first time: since the last, what was on its way then would seem to have been faster than the
        // network is.
        let Some([first_ns, _]) = self.asked.remove(&at) else { return true };
        let took_ns = now_ns.saturating_sub(first_ns);
        self.least_ns = self.least_ns.min(took_ns);
        self.again_ns = took_ns.saturating_mul(4).clamp(AGAIN_NS[0], AGAIN_NS[1]);
        self.window = match took_ns <= self.least_ns.saturating_add(QUEUE_NS) {
            true => (self.window + 1).min(MOST_WANTED),
            false => (self.window - 1).max(1),
        };
        true
    }

    /// Whether all chunks are here.
    fn is_complete(&self) -> bool {
        self.missing == 0
    }
}

/// The plan of these bytes, if they have this digest.
pub fn read_plan(bytes: &[u8], digest: Digest) -> Result<Box<Plan>, Refusal> {
    if Digest::of(bytes) != digest {
        return Err(Refusal::PlanDigest);
    }
    let plan: Plan =
        wire::from_bytes(bytes).map_err(|error| Refusal::Plan(words(error.to_string())))?;
    Ok(Box::new(plan))
}

impl Agent {
    pub(super) fn handle_chunk(
        &mut self,
        now: Now,
        head: Head,
        of: Digest,
        index: u32,
        bytes: Vec<u8>,
    ) {
        let Some(run) = self.own(head) else { return };
        run.heard_ns = now.ns;
        let key = head.key;
        match &mut run.stage {
            Stage::Fetching { fetch, plan } => {
                if !fetch.take(of, index, bytes.len(), now.ns) {
                    return;
                }
                let begins = index as usize * PIECE_BYTES;
                let end = begins + bytes.len();
                plan.resize(plan.len().max(end), 0);
                plan[begins..end].copy_from_slice(&bytes);
                if fetch.is_complete() {
                    let (bytes, digest) = (std::mem::take(plan), run.plan);
                    run.stage = Stage::Reading;
                    self.events.push_back(Event::Read { key, bytes, digest });
                }
            }
            Stage::FetchingData { fetch, .. } => {
                if !fetch.take(of, index, bytes.len(), now.ns) {
                    return;
                }
                let is_complete = fetch.is_complete();
                self.events.push_back(Event::Piece { key, of, index, bytes });
                if is_complete {
                    self.events.push_back(Event::Seal { key, of });
                }
            }
            _ => {}
        }
    }

    /// The host has read the plan, or could not.
    pub fn handle_read(&mut self, now: Now, key: RunKey, read: Result<Box<Plan>, Refusal>) {
        self.keep_time(now);
        let Some(run) = self.run.as_deref_mut().filter(|run| run.head.key == key) else { return };
        if !matches!(run.stage, Stage::Reading) {
            return;
        }
        let checked = read.and_then(|plan| {
            self.settings.policy.check(&plan, run.workers, &run.grant)?;
            let files = DataFile::all(&plan)?;
            Ok((plan, files))
        });
        match checked {
            Ok((plan, files)) if files.is_empty() => self.resolve(now, plan, 0),
            Ok((plan, files)) => {
                run.stage = Stage::Finding(plan);
                self.events.push_back(Event::Find { key, files });
            }
            Err(why) => self.refuse_run(now, why),
        }
    }

    /// The host lacks these of the data files, or cannot keep them.
    pub fn handle_found(&mut self, now: Now, key: RunKey, missing: Result<Vec<DataFile>, String>) {
        self.keep_time(now);
        let Some(run) = self.of_key(key) else { return };
        match (std::mem::replace(&mut run.stage, Stage::Reading), missing) {
            (Stage::Finding(plan), Ok(missing)) => self.fetch_next(now, plan, missing.into()),
            (Stage::Finding(_), Err(why)) => self.refuse_run(now, Refusal::Data(words(why))),
            (stage, _) => run.stage = stage,
        }
    }

    /// The host has all of the data file that was fetched, and its digest is right; or not.
    pub fn handle_sealed(&mut self, now: Now, key: RunKey, sealed: Result<(), String>) {
        self.keep_time(now);
        let Some(run) = self.of_key(key) else { return };
        match (std::mem::replace(&mut run.stage, Stage::Reading), sealed) {
            (Stage::FetchingData { plan, left, .. }, Ok(())) => self.fetch_next(now, plan, left),
            (Stage::FetchingData { .. }, Err(why)) => {
                self.refuse_run(now, Refusal::Data(words(why)));
            }
            (stage, _) => run.stage = stage,
        }
    }

    /// Fetches the next of the data files, or goes on without.
    fn fetch_next(&mut self, now: Now, plan: Box<Plan>, mut left: VecDeque<DataFile>) {
        let Some(file) = left.pop_front() else { return self.resolve(now, plan, 0) };
        let Some(run) = &mut self.run else { return };
        let fetch = Fetch::new(file.digest, file.bytes);
        // The first chunks are due now, by poll_timeout.
        run.stage = Stage::FetchingData { plan, fetch, left };
    }

    /// Asks the host for the addresses of the target with this number, unless the plan has them.
    fn resolve(&mut self, now: Now, plan: Box<Plan>, number: usize) {
        let Some(run) = &mut self.run else { return };
        let key = run.head.key;
        let host = match plan.targets().nth(number).map(|one| (&one.endpoint, &one.resolved)) {
            Some((Endpoint::Tcp { host, .. }, resolved)) if resolved.is_empty() => host.clone(),
            _ => String::new(),
        };
        let given = host.parse::<IpAddr>().ok();
        run.stage = Stage::Resolving { plan, number };
        if host.is_empty() || given.is_some() {
            let addresses: Vec<IpAddr> = given.into_iter().collect();
            self.handle_resolved(now, key, Ok(&addresses));
        } else {
            self.events.push_back(Event::Resolve { key, host });
        }
    }

    /// The host resolved a target's name, or could not.
    pub fn handle_resolved(&mut self, now: Now, key: RunKey, found: Result<&[IpAddr], String>) {
        self.keep_time(now);
        let Some(run) = self.run.as_deref_mut().filter(|run| run.head.key == key) else { return };
        let Stage::Resolving { plan, number } = &run.stage else { return };
        let next = number + 1;
        let pinned = match found {
            Ok(addresses) => self.settings.policy.pin(plan, *number, addresses),
            Err(why) => Err(Refusal::Resolve(words(why))),
        };
        match pinned {
            Ok(plan) if next < plan.targets().count() => self.resolve(now, Box::new(plan), next),
            Ok(plan) => {
                run.stage = Stage::Preparing;
                run.drain_ns = plan.stop.drain_ns;
                let (plan, workers) = (Box::new(plan), run.workers);
                self.events.push_back(Event::Prepare { key, plan, workers });
            }
            Err(why) => self.refuse_run(now, why),
        }
    }

    /// The host has prepared a run and has these connections, or could not.
    pub fn handle_prepared(&mut self, now: Now, key: RunKey, prepared: Result<u32, String>) {
        self.keep_time(now);
        let Some(run) = self.of_key(key) else { return };
        if !matches!(run.stage, Stage::Preparing) {
            return;
        }
        match prepared {
            Ok(connections) => {
                run.stage = Stage::Prepared { connections };
                self.beat(now.ns);
            }
            Err(why) => self.refuse_run(now, Refusal::Prepare(words(why))),
        }
    }
}
