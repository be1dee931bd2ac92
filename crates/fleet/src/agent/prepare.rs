//! From reserved to prepared: the agent fetches and reads the plan, checks it against policy and grant,
//! and pins it to addresses; then the host prepares it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use candor_plan::{Endpoint, Plan};
use candor_record::wire;

use super::{Agent, Event, Now, Stage};
use crate::codec::{MOST_WANTED, PIECE_BYTES};
use crate::message::{Digest, Head, RunKey};
use crate::refusal::{Refusal, words};
use crate::{MS, S};

/// The shortest and the longest time until a chunk that does not arrive is asked for again.
const AGAIN_NS: [u64; 2] = [S, 16 * S];
/// How much later than the fastest chunk others may arrive: so long the coordinator's other messages wait behind
/// chunks.
const QUEUE_NS: u64 = 300 * MS;

/// The chunks of a plan. There are as many under way as the network takes without a queue: one more when a chunk
/// arrives soon, one fewer when it arrives late.
#[derive(Debug)]
pub(super) struct Fetch {
    chunks: Vec<Option<Vec<u8>>>,
    /// Their bytes in total.
    bytes: u32,
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
    pub(super) fn new(bytes: u32) -> Self {
        let count = (bytes as usize).div_ceil(PIECE_BYTES).max(1);
        Fetch {
            chunks: vec![None; count],
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
        if self.asked.len() < self.window && self.next < self.chunks.len() {
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
            && self.next < self.chunks.len()
        {
            wanted.push(self.next);
            self.asked.insert(self.next, [now_ns; 2]);
            self.next += 1;
        }
        (!wanted.is_empty()).then(|| wanted.into_iter().map(|at| at as u32).collect())
    }

    /// Takes a chunk.
    pub(super) fn take(&mut self, index: u32, bytes: Vec<u8>, now_ns: u64) {
        let at = index as usize;
        let begins = at.saturating_mul(PIECE_BYTES);
        let length = (self.bytes as usize).saturating_sub(begins).min(PIECE_BYTES);
        match self.chunks.get_mut(at) {
            Some(chunk @ None) if bytes.len() == length => *chunk = Some(bytes),
            _ => return,
        }
        self.missing -= 1;
        // Since the first time: since the last, what was on its way then would seem to have been faster than the
        // network is.
        let Some([first_ns, _]) = self.asked.remove(&at) else { return };
        let took_ns = now_ns.saturating_sub(first_ns);
        self.least_ns = self.least_ns.min(took_ns);
        self.again_ns = took_ns.saturating_mul(4).clamp(AGAIN_NS[0], AGAIN_NS[1]);
        self.window = match took_ns <= self.least_ns.saturating_add(QUEUE_NS) {
            true => (self.window + 1).min(MOST_WANTED),
            false => (self.window - 1).max(1),
        };
    }

    /// The whole plan, once all chunks are here.
    pub(super) fn complete(&mut self) -> Option<Vec<u8>> {
        (self.missing == 0).then(|| {
            let chunks = std::mem::take(&mut self.chunks);
            chunks.into_iter().flatten().flatten().collect()
        })
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
    pub(super) fn handle_chunk(&mut self, now: Now, head: Head, index: u32, bytes: Vec<u8>) {
        let Some(run) = self.own(head) else { return };
        run.heard_ns = now.ns;
        let Stage::Fetching(fetch) = &mut run.stage else { return };
        fetch.take(index, bytes, now.ns);
        let Some(bytes) = fetch.complete() else { return };
        run.stage = Stage::Reading;
        let (digest, key) = (run.plan, head.key);
        self.events.push_back(Event::Read { key, bytes, digest });
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
            Ok(plan)
        });
        let plan = match checked {
            Ok(plan) => plan,
            Err(why) => return self.refuse_run(now, why),
        };
        let host = match &plan.target.endpoint {
            Endpoint::Tcp { host, .. } if plan.target.resolved.is_empty() => host.clone(),
            _ => String::new(),
        };
        let given = host.parse::<IpAddr>().ok();
        run.stage = Stage::Resolving(plan);
        if host.is_empty() || given.is_some() {
            let addresses: Vec<IpAddr> = given.into_iter().collect();
            self.handle_resolved(now, key, Ok(&addresses));
        } else {
            self.events.push_back(Event::Resolve { key, host });
        }
    }

    /// The host resolved the target's name, or could not.
    pub fn handle_resolved(&mut self, now: Now, key: RunKey, found: Result<&[IpAddr], String>) {
        self.keep_time(now);
        let Some(run) = self.run.as_deref_mut().filter(|run| run.head.key == key) else { return };
        let Stage::Resolving(plan) = &run.stage else { return };
        let pinned = match found {
            Ok(addresses) => self.settings.policy.pin(plan, addresses),
            Err(why) => Err(Refusal::Resolve(words(why))),
        };
        match pinned {
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
