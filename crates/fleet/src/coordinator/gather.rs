//! Finds agents: those that are free for a run, and those of a run whose coordinator died.

use candor_record::{Agent, Merging, Workers};

use super::member::Member;
use super::{Coordinator, Event, Loss, Stage, Threads, Void, Wanted};
use crate::S;
use crate::grant::{Caps, Grant};
use crate::identity::{AgentName, RunKey};
use crate::message::{Command, Have, Head, Hello, Message, Order, Reserve};
use crate::policy::Demand;
use crate::share::{Shares, split};
use crate::timings::MOST_ROUND_TRIP_NS;

/// The most agents that are known.
pub(super) const MOST: usize = 4096;

/// From the beginning until the user is told which agents are missing.
const TELL_NS: u64 = 3 * S;
/// The most agents that such a sentence names.
const MOST_NAMED: usize = 4;

/// An agent that sent a hello.
#[derive(Debug)]
pub(super) struct Candidate {
    hello: Hello,
    heard_ns: u64,
    /// Another life under this name that was heard too, and when.
    other: Option<(u64, u64)>,
}

impl Candidate {
    /// Whether two agents have this name: a life that was heard before the present one is heard after it too.
    fn is_double(&self, is_fresh: impl Fn(u64) -> bool) -> bool {
        self.other.is_some_and(|(_, heard_ns)| is_fresh(heard_ns))
    }
}

impl Coordinator {
    pub(super) fn handle_hello(&mut self, now_ns: u64, from: &AgentName, hello: Hello) {
        if let Some(&at) = self.places.get(from) {
            return self.handle_hello_of_member(now_ns, at, &hello);
        }
        if self.stage != Stage::Gathering {
            return;
        }
        let key = self.settings.key;
        if let Some(busy) = hello.busy.filter(|busy| busy.run == key.run && busy.epoch < key.epoch)
        {
            // It did not hear that this attempt was given up.
            self.release(from.clone(), Head { key: busy, boot: hello.boot });
        }
        let known = self.candidates.get(from);
        if self.candidates.len() < MOST || known.is_some() {
            self.foreign.remove(from);
            let other = match known {
                Some(known) if known.hello.boot != hello.boot => {
                    Some((known.hello.boot, known.heard_ns))
                }
                Some(known) => known.other,
                None => None,
            };
            self.candidates.insert(from.clone(), Candidate { hello, heard_ns: now_ns, other });
        }
    }

    /// Frees an agent of an attempt that was given up.
    fn release(&mut self, agent: AgentName, head: Head) {
        let (command, have) = (Command::Stop, Have::default());
        let order = Order { beat_ns: None, lease_ns: 0, command, have };
        self.transmits.push_back((agent, Message::Lease { head, order }));
    }

    /// An agent is busy with another run, which asked it at the same time or before. The run with the lower
    /// identity waits for it for a while; the other gives its agents free and begins again, with others. So two runs
    /// never wait for each other.
    pub(super) fn handle_busy(&mut self, now_ns: u64, at: usize, other: RunKey) {
        let patience_ns = self.settings.timings.suspect_ns;
        let waits = now_ns.saturating_sub(self.since_ns) < patience_ns;
        if self.settings.key.run < other.run && waits {
            return;
        }
        let key = self.settings.key;
        for member in std::mem::take(&mut self.members) {
            self.release(member.name.clone(), member.head(key));
        }
        // Agents that were asked have to say that they are free.
        self.candidates.retain(|name, _| !self.places.contains_key(name));
        let hello = Hello {
            boot: 0,
            version: String::new(),
            cores: 0,
            policy: self.plan_digest,
            clock_ns: 0,
            busy: Some(other),
            kept: Vec::new(),
        };
        let busy =
            self.places.iter().find(|(_, place)| **place == at).map(|(name, _)| name.clone());
        if let Some(busy) = busy {
            self.candidates.insert(busy, Candidate { hello, heard_ns: now_ns, other: None });
        }
        self.places.clear();
        self.merging = None;
        self.settings.key.epoch += 1;
        self.enter(now_ns, Stage::Gathering);
    }

    /// An agent of the run whose hello contradicts its beats has left it.
    fn handle_hello_of_member(&mut self, now_ns: u64, at: usize, hello: &Hello) {
        let key = self.settings.key;
        let member = &mut self.members[at];
        // A hello that was sent before the last beat is out of date.
        let is_free = hello.busy != Some(key) && member.silence.is_before(hello.clock_ns);
        let has_results = hello.kept.iter().any(|one| one.key == key);
        if hello.boot != member.boot {
            // If its own life goes on, this is another agent of the same name.
            let beats_ns = (2 * self.settings.timings.beat_ns).saturating_add(member.round_trip_ns);
            if member.silence.silent_ns(now_ns) > beats_ns {
                member.gone = Some(Loss::Restarted);
            }
        } else if is_free && has_results && self.stage < Stage::Over {
            // It is asked for them.
            let head = member.head(key);
            (member.request, member.is_asked) = (Message::Recall { head }, true);
            self.hear(now_ns, at, hello.clock_ns);
        } else if is_free {
            member.gone = Some(Loss::Dropped);
        }
        self.look_after(now_ns, at);
    }

    /// Begins as soon as enough agents are free. Those that would have no thread are not needed.
    pub(super) fn gather(&mut self, now_ns: u64) {
        let fresh_ns = self.settings.timings.suspect_ns;
        let is_fresh = |heard_ns: u64| now_ns.saturating_sub(heard_ns) < fresh_ns;
        let is_free = |one: &Candidate| {
            one.hello.busy.is_none() && is_fresh(one.heard_ns) && !one.is_double(is_fresh)
        };
        let most = match self.settings.threads {
            Threads::ByCores => self.settings.plan.most_threads() as usize,
            Threads::Given(_) => usize::MAX,
        };
        let free = self.candidates.iter().filter(|(_, one)| is_free(one));
        let (mut chosen, wanted): (Vec<_>, usize) = match &self.settings.wanted {
            Wanted::Count(count) => (free.take((*count).min(most)).collect(), *count),
            Wanted::Named(names) => {
                (free.filter(|(name, _)| names.contains(name)).collect(), names.len())
            }
        };
        let wanted = wanted.min(most);
        if chosen.len() < wanted || wanted == 0 {
            let waited_ns = now_ns.saturating_sub(self.began_ns);
            let is_over = waited_ns >= self.settings.timings.gather_ns;
            if is_over || waited_ns >= TELL_NS && !self.has_told {
                let found = chosen.len();
                let others = self.lacking(&is_fresh);
                let few = Void::TooFewAgents { wanted, found, others };
                match is_over {
                    true => self.void(now_ns, few),
                    false => {
                        self.has_told = true;
                        self.events.push_back(Event::Gathers(few));
                    }
                }
            }
            return;
        }
        chosen.truncate(wanted);
        let cores: Vec<u32> = chosen.iter().map(|(_, one)| one.hello.cores).collect();
        let agents: Vec<(AgentName, u64)> =
            chosen.iter().map(|(name, one)| ((*name).clone(), one.hello.boot)).collect();
        match split(&self.settings.plan, &self.settings.threads, &cores) {
            Ok(shares) => self.reserve(now_ns, agents, &shares),
            Err(why) => self.void(now_ns, Void::Share(why)),
        }
    }

    /// Why agents are missing, as the rest of a sentence.
    fn lacking(&self, is_fresh: &dyn Fn(u64) -> bool) -> String {
        let of = |name: &AgentName| match self.candidates.get(name) {
            Some(one) if one.is_double(is_fresh) => {
                Some(format!("there are two agents with the name {name}, stop one of them"))
            }
            Some(Candidate { hello: Hello { busy: Some(key), .. }, .. }) => {
                Some(format!("{name} is in run {}", key.run))
            }
            Some(one) if is_fresh(one.heard_ns) => None,
            _ => match self.foreign.get(name) {
                Some(why) => Some(format!("{name}: {why}")),
                None => Some(format!("{name} is not heard")),
            },
        };
        let heard = || self.candidates.iter().filter(|(_, one)| is_fresh(one.heard_ns));
        let reasons: Vec<String> = match &self.settings.wanted {
            Wanted::Named(names) => {
                let names_heard: Vec<&str> =
                    heard().take(MOST_NAMED).map(|(name, _)| name.as_str()).collect();
                let is_unknown = |name: &AgentName| !self.candidates.contains_key(name);
                let others = names.iter().any(is_unknown) && !names_heard.is_empty();
                let others = others.then(|| format!("heard are {}", names_heard.join(", ")));
                names.iter().filter_map(of).chain(others).collect()
            }
            Wanted::Count(_) => {
                self.candidates.keys().chain(self.foreign.keys()).filter_map(of).collect()
            }
        };
        let more = reasons.len().saturating_sub(MOST_NAMED + 1);
        let mut text: String =
            reasons.iter().take(MOST_NAMED + 1).map(|one| format!("; {one}")).collect();
        if more > 0 {
            text += &format!("; and {more} more");
        }
        text
    }

    /// Asks each of these agents to run its share.
    fn reserve(&mut self, now_ns: u64, agents: Vec<(AgentName, u64)>, shares: &[Workers]) {
        let settings = &self.settings;
        let plan = &settings.plan;
        let demand = Demand::of(plan, Workers::all(1));
        let targets = plan.targets().filter_map(|target| match &target.endpoint {
            candor_plan::Endpoint::Tcp { host, port } => Some((host.clone(), *port)),
            // Every agent refuses it with a reason.
            candor_plan::Endpoint::Unix { .. } => None,
        });
        let grant = settings.operator.sign(&Grant {
            key: settings.key,
            plan: self.plan_digest,
            targets: targets.collect(),
            caps: Caps {
                rate: demand.rate,
                connections: Some(demand.connections),
                duration_ns: demand.duration_ns,
            },
            agents: (agents.iter().zip(shares))
                .map(|((name, boot), share)| (name.clone(), *boot, *share))
                .collect(),
            expires_unix_s: settings.expires_unix_s,
            nonce: settings.nonce_of(settings.key.epoch),
        });
        if grant.body.len() > Grant::MOST_BYTES {
            return self.void(now_ns, Void::TooManyAgents(agents.len()));
        }
        let member = |((name, boot), workers): ((AgentName, u64), &Workers)| {
            let reserve = Reserve {
                lease_ns: settings.timings.lease_ns.saturating_add(MOST_ROUND_TRIP_NS),
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
