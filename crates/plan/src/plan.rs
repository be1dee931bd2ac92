//! The plan: parts that fit together, and that never change again.
//!
//! The check in `rules.rs` is the only way to make a plan of [`Parts`], which come from options,
//! from a change to another plan ([`Plan::with`]), or from another machine. So every plan can run
//! without a second check. Nothing is measured or read here.

mod look;
mod redacted;
mod rules;

use std::collections::BTreeSet;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::load::Load;
use crate::redact::Secrets;
use crate::run::{Connections, Recording, Stop, Threads, Timeouts};
use crate::targets::{ConnectsTo, Target};
use crate::wire::Wire;
use crate::work::journey::{Step, Variables};
use crate::work::template::{Names, Template};
use crate::work::{DataSet, Request, Variable, Work};

/// The validated, immutable description of one run. Its parts can be read as fields (`plan.load`),
/// but not changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Parts")]
pub struct Plan(Parts);

impl Plan {
    /// This plan with `change` applied to its parts, if the result is still a valid plan.
    pub fn with(&self, change: impl FnOnce(&mut Parts)) -> Result<Plan, PlanError> {
        let mut parts = self.0.clone();
        change(&mut parts);
        parts.try_into()
    }
}

impl Deref for Plan {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl TryFrom<Parts> for Plan {
    type Error = PlanError;

    fn try_from(parts: Parts) -> Result<Self, PlanError> {
        rules::check(&parts)?;
        Ok(Plan(parts))
    }
}

/// The description of one run: whole in a [`Plan`](crate::Plan), redacted in a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// The server that the requests go to, unless they name another.
    pub target: Target,
    /// The others, each with a name of its own.
    #[serde(default)]
    pub others: Vec<Target>,
    /// What is sent.
    pub work: Work,
    /// What the requests are on the wire.
    pub wire: Wire,
    /// How requests are timed.
    pub load: Load,
    /// When the run ends.
    pub stop: Stop,
    /// How many connections there are and how they are made and used.
    pub connections: Connections,
    /// How long to wait before giving up.
    pub timeouts: Timeouts,
    /// What the run records.
    pub recording: Recording,
    /// Threads and cores of the loader.
    pub threads: Threads,
    /// Seed of everything random: Poisson gaps, weighted choice of requests.
    pub seed: u64,
    /// The data sets that requests take values from.
    #[serde(default)]
    pub data: Vec<DataSet>,
    /// The variables of the environment that requests take values from.
    #[serde(default)]
    pub environment: Vec<Variable>,
    /// Whether compressed responses were asked for: bodies that something looks into are decoded.
    #[serde(default)]
    pub compressed: bool,
    /// Whether results may contain in full what the user typed.
    pub secrets: Secrets,
}

impl Parts {
    /// All targets: the plan's own, then the others. A request has the number of its target among these.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.target).chain(&self.others)
    }

    /// The target of a request.
    pub fn target_of(&self, request: &Request) -> &Target {
        let others = (request.target as usize).checked_sub(1);
        others.and_then(|at| self.others.get(at)).unwrap_or(&self.target)
    }

    /// What the connections of all targets are made to; `None`: they differ.
    pub fn connects_to(&self) -> Option<ConnectsTo> {
        let first = self.target.connects_to();
        self.targets().all(|one| one.connects_to() == first).then_some(first)
    }

    /// The connections to a target that are open from the beginning, and the most of them.
    pub fn connections_to(&self, target: &Target) -> (u32, u32) {
        let Connections { count, max, .. } = self.connections;
        target
            .connections
            .map_or((count, max), |own| (own, own.saturating_add(max.saturating_sub(count))))
    }

    /// The same of all targets together.
    pub fn connections_in_all(&self) -> (u32, u32) {
        self.targets().map(|one| self.connections_to(one)).fold(
            (0, 0),
            |(all, most), (count, max)| {
                (u32::saturating_add(all, count), u32::saturating_add(most, max))
            },
        )
    }

    /// The data sets of which a user keeps its row, in all its iterations: those that steps made once have values of.
    pub fn sets_of_users(&self) -> BTreeSet<usize> {
        let variables = Variables::of(self.work.journeys());
        let all = self.work.journeys().iter().flat_map(|one| &one.steps);
        let columns = |step: &Step| {
            let captured = variables.before(step.request);
            let names = Names { data: &self.data, environment: &self.environment, captured };
            let request = &self.work.requests()[step.request as usize];
            let template = Template::compile(request, step.request as usize, names);
            template.map(|one| one.columns()).unwrap_or_default()
        };
        all.filter(|step| step.once || step.ending).flat_map(columns).map(|(set, _)| set).collect()
    }

    /// Whether requests have a time at which they are due, apart from that of a free place: in an open load, and
    /// those of users.
    pub fn has_due_times(&self) -> bool {
        self.load.is_open() || self.work.has_users()
    }

    /// The number of threads if `own` cores are usable: the number asked for, or else `own`, but
    /// never more than [`Parts::most_threads`].
    pub fn threads_of(&self, own: usize) -> u32 {
        let own = u32::try_from(own).unwrap_or(u32::MAX);
        self.threads.count.unwrap_or(own).clamp(1, self.most_threads())
    }

    /// The most threads: each needs a connection to every target, and a user if those are limited.
    pub fn most_threads(&self) -> u32 {
        let counts = self.targets().map(|one| self.connections_to(one).0);
        counts.chain(self.work.users()).min().unwrap_or(1)
    }

    /// Sets `count` connections and up to `max`, and lowers the number of threads to `count` if it
    /// is above.
    pub fn connect(&mut self, count: u32, max: u32) {
        (self.connections.count, self.connections.max) = (count, max);
        if let Work::Journeys(journeys) = &mut self.work
            && self.connections.own
        {
            (self.connections.count, journeys.users) = (max, Some(max));
        }
        let most = self.most_threads();
        self.threads.count = self.threads.count.map(|threads| threads.min(most));
    }
}
