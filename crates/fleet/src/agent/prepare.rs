//! From reserved to prepared: the agent fetches and reads the plan, checks it against policy and grant,
//! and pins it to addresses; then the host prepares it.

use std::net::IpAddr;

use candor_plan::{Endpoint, Plan};
use candor_record::wire;

use super::{Agent, Event, Now, Stage};
use crate::MS;
use crate::codec::{MOST_WANTED, PIECE_BYTES};
use crate::message::{Digest, Head, RunKey};
use crate::refusal::{Refusal, words};

/// The time until missing chunks are asked for again.
const AGAIN_NS: u64 = 500 * MS;

/// The chunks of a plan.
#[derive(Debug)]
pub(super) struct Fetch {
    chunks: Vec<Option<Vec<u8>>>,
    /// Their bytes in total.
    bytes: u32,
    missing: usize,
    /// Chunks that were asked for and have not arrived.
    pending: usize,
    next_ns: u64,
}

impl Fetch {
    pub(super) fn new(bytes: u32, now_ns: u64) -> Self {
        let count = (bytes as usize).div_ceil(PIECE_BYTES).max(1);
        Fetch { chunks: vec![None; count], bytes, missing: count, pending: 0, next_ns: now_ns }
    }

    /// When to ask again.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The chunks to ask for now.
    pub(super) fn want(&mut self, now_ns: u64) -> Option<Vec<u32>> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns.saturating_add(AGAIN_NS);
        let missing = (0..).zip(&self.chunks).filter(|(_, chunk)| chunk.is_none());
        let wanted: Vec<u32> = missing.map(|(at, _)| at).take(MOST_WANTED).collect();
        self.pending = wanted.len();
        Some(wanted)
    }

    /// Takes a chunk. After the last of those that were asked for, others are due.
    pub(super) fn take(&mut self, index: u32, bytes: Vec<u8>, now_ns: u64) {
        let at = index as usize;
        let begins = at.saturating_mul(PIECE_BYTES);
        let length = (self.bytes as usize).saturating_sub(begins).min(PIECE_BYTES);
        match self.chunks.get_mut(at) {
            Some(chunk @ None) if bytes.len() == length => *chunk = Some(bytes),
            _ => return,
        }
        self.missing -= 1;
        self.pending = self.pending.saturating_sub(1);
        if self.pending == 0 {
            self.next_ns = now_ns;
        }
    }

    /// The whole plan, once all chunks are here.
    pub(super) fn complete(&mut self) -> Option<Vec<u8>> {
        (self.missing == 0).then(|| {
            let chunks = std::mem::take(&mut self.chunks);
            chunks.into_iter().flatten().flatten().collect()
        })
    }
}

impl Agent {
    pub(super) fn handle_chunk(&mut self, now: Now, head: Head, index: u32, bytes: Vec<u8>) {
        let Some(run) = self.own(head) else { return };
        run.heard_ns = now.ns;
        let Stage::Fetching(fetch) = &mut run.stage else { return };
        fetch.take(index, bytes, now.ns);
        let Some(bytes) = fetch.complete() else { return };
        let (plan, key) = (run.plan, head.key);
        match self.read_plan(&bytes, plan) {
            Err(why) => self.refuse_run(now, why),
            Ok(plan) => {
                let host = match &plan.target.endpoint {
                    Endpoint::Tcp { host, .. } if plan.target.resolved.is_empty() => host.clone(),
                    _ => String::new(),
                };
                let given = host.parse::<IpAddr>().ok();
                let Some(run) = self.own(head) else { return };
                run.stage = Stage::Resolving(plan);
                if host.is_empty() || given.is_some() {
                    let addresses: Vec<IpAddr> = given.into_iter().collect();
                    self.handle_resolved(now, key, Ok(&addresses));
                } else {
                    self.events.push_back(Event::Resolve { key, host });
                }
            }
        }
    }

    fn read_plan(&mut self, bytes: &[u8], digest: Digest) -> Result<Box<Plan>, Refusal> {
        if Digest::of(bytes) != digest {
            return Err(Refusal::PlanDigest);
        }
        let plan: Plan =
            wire::from_bytes(bytes).map_err(|error| Refusal::Plan(words(error.to_string())))?;
        let run = self.run.as_ref().expect("a fetched plan belongs to a run");
        self.settings.policy.check(&plan, run.workers, &run.grant)?;
        Ok(Box::new(plan))
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
