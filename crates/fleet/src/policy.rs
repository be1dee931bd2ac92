//! An agent's policy: the limits of its machine's owner, for every grant.
//!
//! It is a TOML file:
//!
//! ```toml
//! operators = ["ed25519:…"]       # keys that may sign grants
//! rate = "20k/s"                  # the highest rate of this agent
//! connections = 1000
//! duration = "10m"
//! scripts = "sandboxed"           # or "refused", which is the default
//!
//! [[target]]
//! host = "*.staging.example.com"  # the name, and
//! networks = ["10.0.0.0/8"]       # every address that it resolves to
//! ports = [80, 443]               # empty: any
//! ```
//!
//! A target is allowed if, for each of its addresses, one of the entries allows name, address and port.
//! The run uses the checked addresses and no others ([`Policy::pin`]). The engine also asks the lists
//! of its own machine.

use std::net::IpAddr;

use candor_pace::LANES;
use candor_plan::allow::{AllowList, Allowed, Asked};
use candor_plan::plan_file::{explain, keys_of};
use candor_plan::units::{parse_duration_ns, parse_rate};
use candor_plan::{
    Arrivals, Endpoint, Journey, Load, NS_PER_S, Plan, PlanError, Rate, Segment, Step,
};
use candor_record::Workers;
use serde::Deserialize;

use crate::grant::{Caps, Grant, GrantError, PublicKey};
use crate::identity::Digest;
use crate::refusal::{PolicyRefusal, Refusal, words};

/// The policy of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The keys that may sign grants.
    pub operators: Vec<PublicKey>,
    /// Limits of this agent.
    pub caps: Caps,
    /// The rule for plans with a script.
    pub scripts: Scripts,
    /// Digest of the file.
    pub digest: Digest,
    targets: Vec<Target>,
}

/// The rule for plans with a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scripts {
    /// Such plans are refused.
    #[default]
    Refused,
    /// The script must be in a sandbox.
    Sandboxed,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    host: Option<AllowList>,
    networks: Option<AllowList>,
    ports: Vec<u16>,
}

impl Target {
    /// Whether this name at some address is allowed.
    fn is_about(&self, name: &str, port: u16) -> bool {
        let host = self.host.as_ref().is_none_or(|list| list.allows(&Asked::Name(name)));
        host && (self.ports.is_empty() || self.ports.contains(&port))
    }

    /// `name`: the name that this machine's own resolver resolved to `address`.
    fn allows(&self, name: Option<&str>, address: IpAddr, port: u16) -> bool {
        let asked = Asked::Tcp { name, address };
        let host = self.host.as_ref().is_none_or(|list| list.allows(&asked));
        let networks = self.networks.as_ref().is_none_or(|list| list.allows(&asked));
        host && networks && (self.ports.is_empty() || self.ports.contains(&port))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    operators: Vec<String>,
    rate: Option<String>,
    connections: Option<u32>,
    duration: Option<String>,
    #[serde(default)]
    scripts: Scripts,
    #[serde(default)]
    target: Vec<TargetFile>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct TargetFile {
    host: Option<String>,
    networks: Vec<String>,
    ports: Vec<u16>,
}

impl Policy {
    /// The policy in this text; `name` is its file.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, PlanError> {
        let keys = |path: &str| match path {
            "target" => keys_of::<TargetFile>(),
            _ => keys_of::<File>(),
        };
        let file: File =
            toml::from_str(text).map_err(|error| explain(name, text, &error, &keys))?;
        let wrong = |key: &str, problem: String| PlanError::Allow {
            source_name: format!("{name}: {key}"),
            problem,
        };
        let operator = |text: &String| {
            text.parse().map_err(|error| wrong("operators", format!("{text:?} is {error}")))
        };
        let target =
            |file: TargetFile| Target::of(file).map_err(|problem| wrong("target", problem));
        let unit = |key: &str, error: &dyn std::fmt::Display| wrong(key, error.to_string());
        Ok(Policy {
            operators: file.operators.iter().map(operator).collect::<Result<_, _>>()?,
            caps: Caps {
                rate: (file.rate.as_deref().map(parse_rate).transpose())
                    .map_err(|error| unit("rate", &error))?,
                connections: file.connections,
                duration_ns: (file.duration.as_deref().map(parse_duration_ns).transpose())
                    .map_err(|error| unit("duration", &error))?,
            },
            scripts: file.scripts,
            digest: Digest::of(text.as_bytes()),
            targets: file.target.into_iter().map(target).collect::<Result<_, _>>()?,
        })
    }

    /// Whether these workers of a plan may run here, as far as that is known before its target's name is
    /// resolved.
    pub fn check(&self, plan: &Plan, workers: Workers, grant: &Grant) -> Result<(), Refusal> {
        for target in plan.targets() {
            let Endpoint::Tcp { host, port } = &target.endpoint else {
                return Err(PolicyRefusal::UnixSocket.into());
            };
            if target.proxy.is_some() {
                return Err(PolicyRefusal::Proxy.into());
            }
            if target.auth.is_some() {
                return Err(PolicyRefusal::Credential.into());
            }
            if !grant.targets.iter().any(|(name, number)| name == host && number == port) {
                return Err(GrantError::Target.into());
            }
        }
        if plan.data.iter().any(|set| set.content.is_none()) {
            return Err(PolicyRefusal::Data.into());
        }
        if let Some(script) = plan.work.script() {
            match self.scripts {
                Scripts::Refused => return Err(PolicyRefusal::Script("refused".to_owned()).into()),
                Scripts::Sandboxed if !script.sandbox => {
                    return Err(
                        PolicyRefusal::Script("allowed in a sandbox only".to_owned()).into()
                    );
                }
                Scripts::Sandboxed => {}
            }
        }
        let whole = Demand::of(plan, Workers::all(workers.of));
        whole.check(&grant.caps).map_err(|_| GrantError::Caps)?;
        Ok(Demand::of(plan, workers).check(&self.caps)?)
    }

    /// What the policy allows a name to resolve to.
    fn allowed(&self, name: &str, port: u16) -> Vec<Allowed> {
        let list = |of: &Target| match &of.networks {
            Some(networks) => networks.entries.clone(),
            None => vec![Allowed::Host(name.trim_end_matches('.').to_ascii_lowercase())],
        };
        self.targets.iter().filter(|one| one.is_about(name, port)).flat_map(list).collect()
    }

    /// The plan with the target of this number at these addresses and no others, if each of them is allowed.
    /// `addresses` are the ones that this machine resolved the target's name to.
    pub fn pin(&self, plan: &Plan, number: usize, addresses: &[IpAddr]) -> Result<Plan, Refusal> {
        let target = plan.targets().nth(number).unwrap_or(&plan.target);
        let Endpoint::Tcp { host, port } = &target.endpoint else {
            return Err(PolicyRefusal::UnixSocket.into());
        };
        // The name does not vouch for addresses that the plan gives.
        let given = &target.resolved;
        let (name, addresses) = match given.is_empty() && host.parse::<IpAddr>().is_err() {
            true => (Some(host.as_str()), addresses),
            false if given.is_empty() => (None, addresses),
            false => (None, given.as_slice()),
        };
        let forbidden =
            |address: &&IpAddr| !self.targets.iter().any(|one| one.allows(name, **address, *port));
        if let Some(address) = addresses.iter().find(forbidden) {
            let target = format!("{host}:{port}, which is {address}");
            return Err(PolicyRefusal::Target(words(target)).into());
        }
        let is_own = |address: &&IpAddr| {
            let asked = Asked::Tcp { name, address: **address };
            target.allow.as_ref().is_none_or(|list| list.allows(&asked))
        };
        if let Some(address) = addresses.iter().find(|one| !is_own(one)) {
            let problem = format!("its allow list does not have {host}, which is {address} here");
            return Err(Refusal::Plan(words(problem)));
        }
        if addresses.is_empty() {
            return Err(Refusal::Resolve("the name has no address".to_owned()));
        }
        let network = |address: &IpAddr| Allowed::Network {
            address: *address,
            bits: if address.is_ipv4() { 32 } else { 128 },
        };
        // A name that is resolved again may have any of the addresses that the policy allows.
        let asked_again = name.filter(|_| plan.connections.dns_refresh_ns.is_some());
        if asked_again.is_some() && target.allow.is_some() {
            let problem =
                "its name is resolved again, so the policy replaces its allow list; leave that out";
            return Err(Refusal::Plan(problem.to_owned()));
        }
        let (resolved, entries) = match asked_again {
            Some(name) => (Vec::new(), self.allowed(name, *port)),
            None => (addresses.to_vec(), addresses.iter().map(network).collect()),
        };
        let pinned = plan.with(|parts| {
            let all = std::iter::once(&mut parts.target).chain(&mut parts.others);
            let Some(target) = all.into_iter().nth(number) else { return };
            target.resolved = resolved;
            target.allow = Some(AllowList { source: "the agent's policy".to_owned(), entries });
        });
        pinned.map_err(|error| Refusal::Plan(words(error.to_string())))
    }
}

impl Target {
    fn of(file: TargetFile) -> Result<Self, String> {
        let TargetFile { host, networks, ports } = file;
        let entry = |text: &str, is_fine: fn(&Allowed) -> bool, what: &str| {
            let entry: Allowed = text.parse().map_err(|error| format!("{error}"))?;
            match is_fine(&entry) {
                true => Ok(entry),
                false => Err(format!("{text:?} is not a {what}")),
            }
        };
        let is_host = |one: &Allowed| matches!(one, Allowed::Host(_) | Allowed::Below(_));
        let is_network = |one: &Allowed| matches!(one, Allowed::Network { .. });
        let list = |entries: Vec<Allowed>| {
            (!entries.is_empty()).then(|| AllowList { source: String::new(), entries })
        };
        let host = host.map(|text| entry(&text, is_host, "host")).transpose()?;
        let networks: Result<Vec<_>, String> =
            networks.iter().map(|text| entry(text, is_network, "network")).collect();
        let target =
            Target { host: list(host.into_iter().collect()), networks: list(networks?), ports };
        match target.host.is_none() && target.networks.is_none() {
            true => Err("it has neither host nor networks; for any target write networks = \
                         [\"0.0.0.0/0\", \"::/0\"]"
                .to_owned()),
            false => Ok(target),
        }
    }
}

/// The demand of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// The highest rate of its schedule; `None` in a closed load. Bursts and replays count by their busiest
    /// second. A user counts as the requests of the longest journey, with all repetitions: a bound, which a run reaches
    /// only if all users make them.
    pub rate: Option<Rate>,
    /// The most requests of a user; `None`: there are no users.
    pub each: Option<u64>,
    /// The most connections.
    pub connections: u32,
    /// How long it sends; `None` if the server decides that.
    pub duration_ns: Option<u64>,
}

impl Demand {
    /// The demand of these workers of a plan; a rate is rounded up.
    pub fn of(plan: &Plan, workers: Workers) -> Self {
        let warm_up_ns = plan.recording.warm_up_ns;
        let stop_ns = plan.stop.duration_ns.map(|length_ns| warm_up_ns.saturating_add(length_ns));
        let each = plan.work.journeys().iter().map(most_requests).max();
        let (rate, schedule_ns) = match &plan.load {
            Load::Open(open) => {
                let most = open.segments.iter().map(most_in_a_second).max().unwrap_or(0);
                // Workers share even arrivals equally, and a Poisson process by whole lanes.
                let (own, all) = match open.arrivals {
                    Arrivals::Constant => (workers.count.into(), workers.of.into()),
                    Arrivals::Poisson => (part(LANES, workers), LANES),
                };
                let most = u128::from(most).saturating_mul(each.unwrap_or(1).into());
                let events = most.saturating_mul(own.into()).div_ceil(all.max(1).into());
                let events = u64::try_from(events).unwrap_or(u64::MAX);
                (Some(Rate::per_second(events)), open.duration_ns())
            }
            Load::Closed { .. } => (None, None),
        };
        let (count, max) = plan.connections_in_all();
        let connections = if plan.load.is_open() { count.max(max) } else { count };
        Demand {
            rate,
            each,
            connections: part(connections.into(), workers) as u32,
            duration_ns: [stop_ns, schedule_ns].into_iter().flatten().min(),
        }
    }

    /// Whether it is within caps.
    pub fn check(&self, caps: &Caps) -> Result<(), PolicyRefusal> {
        match (caps.rate, self.rate) {
            (Some(_), None) => return Err(PolicyRefusal::NoRate),
            (Some(most), Some(asked)) if is_more(asked, most) => {
                return Err(PolicyRefusal::Rate { asked, each: self.each, most });
            }
            _ => {}
        }
        match caps.connections {
            Some(most) if self.connections > most => {
                return Err(PolicyRefusal::Connections { asked: self.connections, most });
            }
            _ => {}
        }
        match (caps.duration_ns, self.duration_ns) {
            (Some(_), None) => Err(PolicyRefusal::NoDuration),
            (Some(most_ns), Some(asked_ns)) if asked_ns > most_ns => {
                Err(PolicyRefusal::Duration { asked_ns, most_ns })
            }
            _ => Ok(()),
        }
    }
}

/// These workers' part of `total`, which all workers of a run share in turn, as in the engine.
fn part(total: u64, workers: Workers) -> u64 {
    let of = u64::from(workers.of.max(1));
    let (first, end) = (u64::from(workers.first), u64::from(workers.indices().end));
    let before = |worker: u64| total / of * worker + worker.min(total % of);
    before(end).saturating_sub(before(first))
}

/// The most requests of a user of this journey.
fn most_requests(journey: &Journey) -> u64 {
    let most = |(step, redirects): (&Step, &[Step])| {
        let in_a_row = redirects.iter().filter_map(|one| one.redirect).map(|one| one.number).max();
        u64::from(step.repeat.1) * (1 + u64::from(in_a_row.unwrap_or(0)))
    };
    journey.with_redirects().map(most).fold(0, u64::saturating_add)
}

fn is_more(one: Rate, other: Rate) -> bool {
    u128::from(one.events) * u128::from(other.per_ns)
        > u128::from(other.events) * u128::from(one.per_ns)
}

fn most_in_a_second(segment: &Segment) -> u64 {
    let in_a_second = |rate: &Rate| {
        let events = u128::from(rate.events) * u128::from(NS_PER_S);
        u64::try_from(events.div_ceil(u128::from(rate.per_ns.max(1)))).unwrap_or(u64::MAX)
    };
    match segment {
        Segment::Hold { rate, .. } => in_a_second(rate),
        Segment::Ramp { from, to, .. } => in_a_second(from).max(in_a_second(to)),
        Segment::Burst { size, every_ns, .. } => {
            size.saturating_mul(NS_PER_S.div_ceil((*every_ns).max(1)))
        }
        Segment::Replay { offsets_ns, .. } => {
            let all = offsets_ns.whole();
            let mut from = 0;
            let within = |(at, due_ns): (usize, &u64)| {
                while due_ns.saturating_sub(all[from]) >= NS_PER_S {
                    from += 1;
                }
                (at - from + 1) as u64
            };
            all.iter().enumerate().map(within).max().unwrap_or(0)
        }
    }
}
