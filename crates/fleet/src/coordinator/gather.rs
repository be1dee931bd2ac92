//! Finds agents: those that are free for a run, and those of a run whose coordinator died.

use candor_record::{Agent, Merging, Workers};

use super::member::Member;
use super::{Coordinator, Loss, Stage, Void, Wanted};
use crate::grant::{Caps, Grant};
use crate::message::{AgentName, Head, Hello, Message, Reserve};
use crate::policy::Demand;
use crate::share::{Shares, split};

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
        let is_gathering = self.stage == Stage::Gathering;
        if is_gathering && (self.candidates.len() < MOST || self.candidates.contains_key(from)) {
            self.foreign.remove(from);
            self.candidates.insert(from.clone(), Candidate { hello, heard_ns: now_ns });
        }
    }

    /// An agent of the run whose hello contradicts its beats has left it.
    fn handle_hello_of_member(&mut self, now_ns: u64, at: usize, hello: &Hello) {
        let key = self.settings.key;
        let member = &mut self.members[at];
        // A hello that was sent before the last beat is out of date.
        let is_free = hello.busy != Some(key) && member.silence.is_before(hello.clock_ns);
        if hello.boot != member.boot {
            member.gone = Some(Loss::Restarted);
        } else if is_free {
            member.gone = Some(Loss::Dropped);
        }
        self.look_after(now_ns, at);
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

    /// Begins with the shares of a run whose coordinator died: asks each agent for the results that it kept.
    pub(super) fn recall_from(&mut self, now_ns: u64, shares: Shares) {
        let key = self.settings.key;
        let member = |(name, boot, workers)| {
            let head = Head { key, boot };
            Member::new(name, boot, workers, Message::Recall { head }, now_ns)
        };
        let members = shares.into_iter().map(member).collect();
        self.begin(now_ns, members, Stage::Settling);
    }

    fn begin(&mut self, now_ns: u64, members: Vec<Member>, stage: Stage) {
        self.candidates.clear();
        self.foreign.clear();
        self.places = members.iter().zip(0..).map(|(one, at)| (one.name.clone(), at)).collect();
        let parts: Vec<Workers> = members.iter().map(|one| one.workers).collect();
        self.members = members;
        // Shares that were just split are in order and without gaps; recalled ones may be damaged.
        let Ok(mut merging) = Merging::new(self.collecting(), &parts) else {
            return self.void(now_ns, Void::NothingKept);
        };
        for (at, member) in self.members.iter().enumerate() {
            merging.describe(at, &Agent::named(&member.name.to_string()), None);
        }
        self.merging = Some(merging);
        self.enter(now_ns, stage);
    }
}
