//! Finds agents: those that are free for a run, and those that kept results of one.

use candor_record::{Agent, Merging, Workers};

use super::member::{Fate, Member};
use super::{Coordinator, Loss, Stage, Void, Wanted};
use crate::grant::{Caps, Grant};
use crate::message::{AgentName, Head, Hello, Kept, Message, Reserve};
use crate::policy::Demand;
use crate::share::split;

/// The most agents that are known.
pub(super) const MOST: usize = 4096;

/// An agent that sent a hello.
#[derive(Debug)]
pub(super) struct Candidate {
    hello: Hello,
    heard_ns: u64,
}

impl Coordinator {
    pub(super) fn handle_hello(&mut self, now_ns: u64, from: &AgentName, hello: Hello) {
        if let Some(&at) = self.places.get(from) {
            return self.handle_hello_of_member(now_ns, at, &hello);
        }
        let is_gathering = matches!(self.stage, Stage::Gathering | Stage::Recalling);
        if is_gathering && (self.candidates.len() < MOST || self.candidates.contains_key(from)) {
            self.foreign.remove(from);
            self.candidates.insert(from.clone(), Candidate { hello, heard_ns: now_ns });
        }
    }

    /// An agent of the run whose hello contradicts its beats has left it.
    fn handle_hello_of_member(&mut self, now_ns: u64, at: usize, hello: &Hello) {
        let key = self.settings.key;
        let member = &mut self.members[at];
        if hello.boot != member.boot {
            member.is_gone = true;
            return self.lose(now_ns, at, Loss::Restarted);
        }
        // A hello that was sent before the last beat is out of date.
        if hello.busy != Some(key) && member.silence.is_before(hello.clock_ns) {
            member.is_gone = true;
            self.lose(now_ns, at, Loss::Dropped);
        }
    }

    /// Begins as soon as enough agents are free.
    pub(super) fn gather(&mut self, now_ns: u64) {
        let fresh_ns = self.settings.timings.suspect_ns;
        let is_free = |one: &Candidate| {
            one.hello.busy.is_none() && now_ns.saturating_sub(one.heard_ns) < fresh_ns
        };
        let free = self.candidates.iter().filter(|(_, one)| is_free(one));
        let (chosen, wanted): (Vec<_>, usize) = match &self.settings.wanted {
            Wanted::Count(count) => (free.take(*count).collect(), *count),
            Wanted::Named(names) => {
                (free.filter(|(name, _)| names.contains(name)).collect(), names.len())
            }
        };
        if chosen.len() < wanted || wanted == 0 {
            if now_ns.saturating_sub(self.since_ns) >= self.settings.timings.gather_ns {
                let others =
                    self.foreign.iter().next().map(|(name, why)| format!("; {name}: {why}"));
                let others = others.unwrap_or_default();
                let found = chosen.len();
                self.void(now_ns, Void::TooFewAgents { wanted, found, others });
            }
            return;
        }
        let cores: Vec<u32> = chosen.iter().map(|(_, one)| one.hello.cores).collect();
        let agents: Vec<(AgentName, u64)> =
            chosen.iter().map(|(name, one)| ((*name).clone(), one.hello.boot)).collect();
        match split(&self.settings.plan, &self.settings.threads, &cores) {
            Ok(shares) => self.reserve(now_ns, agents, &shares),
            Err(why) => self.void(now_ns, Void::Share(why)),
        }
    }

    /// Asks each of these agents to run its share.
    fn reserve(&mut self, now_ns: u64, agents: Vec<(AgentName, u64)>, shares: &[Workers]) {
        let settings = &self.settings;
        let plan = &settings.plan;
        let demand = Demand::of(plan, Workers::all(1));
        let target = match &plan.target.endpoint {
            candor_plan::Endpoint::Tcp { host, port } => Some((host.clone(), *port)),
            // Every agent refuses it with a reason.
            candor_plan::Endpoint::Unix { .. } => None,
        };
        let grant = settings.operator.sign(&Grant {
            key: settings.key,
            plan: self.plan_digest,
            targets: target.into_iter().collect(),
            caps: Caps {
                rate: demand.rate,
                connections: Some(demand.connections),
                duration_ns: demand.duration_ns,
            },
            agents: (agents.iter().zip(shares))
                .map(|((name, boot), share)| (name.clone(), *boot, *share))
                .collect(),
            expires_unix_s: settings.expires_unix_s,
            nonce: settings.nonce,
        });
        if grant.body.len() > Grant::MOST_BYTES {
            return self.void(now_ns, Void::TooManyAgents(agents.len()));
        }
        let member = |((name, boot), workers): ((AgentName, u64), &Workers)| {
            let reserve = Reserve {
                lease_ns: settings.timings.lease_ns,
                workers: *workers,
                plan: self.plan_digest,
                plan_bytes: u32::try_from(self.plan_bytes.len()).unwrap_or(u32::MAX),
                grant: grant.clone(),
            };
            let head = Head { key: settings.key, boot };
            Member::new(name, boot, *workers, Message::Reserve { head, reserve }, now_ns)
        };
        let members = agents.into_iter().zip(shares).map(member).collect();
        self.begin(now_ns, members, Stage::Reserving);
    }

    /// Begins with the results that agents kept, as soon as all workers are among them, or when time is
    /// over. The other workers are lost.
    pub(super) fn gather_kept(&mut self, now_ns: u64) {
        let key = self.settings.key;
        let kept = |one: &Candidate| {
            let is_it = |kept: &&Kept| kept.key == key && kept.plan == self.plan_digest;
            one.hello.kept.iter().find(is_it).map(|kept| (one.hello.boot, kept.workers))
        };
        let found = self.candidates.iter();
        let mut found: Vec<(AgentName, u64, Workers)> = found
            .filter_map(|(name, one)| {
                kept(one).map(|(boot, workers)| (name.clone(), boot, workers))
            })
            .collect();
        found.sort_by_key(|(_, _, workers)| workers.first);
        let of = found.first().map_or(1, |(_, _, workers)| workers.of);
        let (mut members, mut next, mut has_gap) = (Vec::new(), 0, false);
        let member = |name, boot, workers| {
            let head = Head { key, boot };
            Member::new(name, boot, workers, Message::Recall { head }, now_ns)
        };
        let gap = |first: u32, end: u32| {
            let workers = Workers { first, count: end - first, of };
            let name = format!("unknown-{first}").parse().expect("letters, a dash and digits");
            Member { fate: Fate::Lost(Loss::Unknown), ..member(name, 0, workers) }
        };
        for (name, boot, workers) in found {
            let end = u64::from(workers.first) + u64::from(workers.count);
            if workers.first < next || workers.of != of || end > u64::from(of) || workers.count == 0
            {
                continue;
            }
            if workers.first > next {
                has_gap = true;
                members.push(gap(next, workers.first));
            }
            next = workers.indices().end;
            members.push(member(name, boot, workers));
        }
        if next < of {
            has_gap = true;
            members.push(gap(next, of));
        }
        let is_late = now_ns.saturating_sub(self.since_ns) >= self.settings.timings.gather_ns;
        if members.iter().all(Member::is_lost) {
            if is_late {
                self.void(now_ns, Void::NothingKept);
            }
        } else if !has_gap || is_late {
            let lost: Vec<usize> = (0..members.len()).filter(|at| members[*at].is_lost()).collect();
            self.begin(now_ns, members, Stage::Settling);
            if let Some(merging) = &mut self.merging {
                lost.into_iter().for_each(|at| merging.lost(at));
            }
        }
    }

    fn begin(&mut self, now_ns: u64, members: Vec<Member>, stage: Stage) {
        self.candidates.clear();
        self.foreign.clear();
        self.places = members.iter().zip(0..).map(|(one, at)| (one.name.clone(), at)).collect();
        let parts: Vec<Workers> = members.iter().map(|one| one.workers).collect();
        self.members = members;
        let mut merging =
            Merging::new(self.collecting(), &parts).expect("shares are in order and without gaps");
        for (at, member) in self.members.iter().enumerate() {
            merging.describe(at, &Agent::named(&member.name.to_string()), None);
        }
        self.merging = Some(merging);
        self.enter(now_ns, stage);
    }
}
