//! Work: what a plan sends. One kind of it excludes the others, with all that belongs to them.
//!
//! A rule for some of it stands with it; where it looks at targets, connections and the load, these are arguments. What
//! carries it is not known here.

mod data;
mod delivery;
pub mod journey;
mod request;
mod script;
mod stream;
pub mod template;

pub use data::{DataFormat, DataOrder, DataSet, Variable};
pub use delivery::{Delivery, Pieces};
pub(crate) use request::OF_LIST;
pub use request::{BodyExpect, Call, CallKind, Expect, OwnReply, Redacted, Request, StatusSet};
pub use script::{Script, ScriptLimits};
pub use stream::{ModelApi, StreamForm, Streaming, Tokens};

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, Refusal, conflict, need, value};
use crate::kept::Kept;
use crate::load::Load;
use crate::redact::{Hidden, Secrets};
use crate::run::{Connections, WAITS};
use crate::targets::{HttpVersion, Target};
use crate::units::fmt_count;
use crate::values::{is_small, named};
use journey::Journey;
use template::Names;

/// What a plan sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Requests, each by itself.
    Requests(Requests),
    /// What a script makes of a request.
    Script {
        /// What it begins with.
        request: Box<Request>,
        /// The script.
        script: Script,
    },
    /// What users do, step by step.
    Journeys(Journeys),
}

/// Requests and how they alternate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Requests {
    /// At least one request.
    pub list: Vec<Request>,
    /// How the next one is chosen.
    pub order: Order,
    /// The request of each index, repeated after the last; empty: by `order`.
    pub sequence: Kept<u32>,
}

/// How the next request is chosen from the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after the other, by index modulo the length of the list.
    #[value(help = "In turn")]
    Rotation,
    /// At random in proportion to the weights, as a pure function of seed and index.
    #[value(help = "At random, in proportion to their weights")]
    Weighted,
}

named!(Order: "\"rotation\" or \"weighted\"");

/// Journeys of users and the requests of their steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Journeys {
    /// At least one.
    pub list: Vec<Journey>,
    /// The requests of all steps, in order.
    pub requests: Vec<Request>,
    /// The most users at a time; in a closed load, how many there are.
    pub users: Option<u32>,
    /// How the next journey is chosen where each is one request of the plan with its redirects; null: by weights.
    #[serde(default)]
    pub order: Option<Order>,
}

impl Work {
    /// The requests, whoever makes them. Reports have a row for each.
    pub fn requests(&self) -> &[Request] {
        match self {
            Work::Requests(requests) => &requests.list,
            Work::Script { request, .. } => std::slice::from_ref(request),
            Work::Journeys(journeys) => &journeys.requests,
        }
    }

    /// The same, to change them.
    pub fn requests_mut(&mut self) -> &mut [Request] {
        match self {
            Work::Requests(requests) => &mut requests.list,
            Work::Script { request, .. } => std::slice::from_mut(request),
            Work::Journeys(journeys) => &mut journeys.requests,
        }
    }

    /// The journeys; none unless users do the work.
    pub fn journeys(&self) -> &[Journey] {
        match self {
            Work::Journeys(journeys) => &journeys.list,
            Work::Requests(_) | Work::Script { .. } => &[],
        }
    }

    /// The same, to change them.
    pub fn journeys_mut(&mut self) -> &mut [Journey] {
        match self {
            Work::Journeys(journeys) => &mut journeys.list,
            Work::Requests(_) | Work::Script { .. } => &mut [],
        }
    }

    /// Whether users do the work.
    pub fn has_users(&self) -> bool {
        matches!(self, Work::Journeys(_))
    }

    /// How many requests it has, each with its redirects.
    pub fn count(&self) -> usize {
        match self.has_users() {
            true => self.journeys().iter().map(|one| one.with_redirects().count()).sum(),
            false => self.requests().len(),
        }
    }

    /// Whether each journey is one request, with its redirects, and no more is said of users.
    pub fn are_requests(&self) -> bool {
        matches!(self, Work::Journeys(journeys) if journeys.order.is_some())
    }

    /// The most users at a time, if they are limited.
    pub fn users(&self) -> Option<u32> {
        match self {
            Work::Journeys(journeys) => journeys.users,
            Work::Requests(_) | Work::Script { .. } => None,
        }
    }

    /// Whether its parts fit each other, their targets, the connections and the load; and whether requests find the names
    /// in them.
    pub(crate) fn check<'a>(
        &self,
        target_of: &dyn Fn(&Request) -> &'a Target,
        connections: &Connections,
        load: &Load,
        names: &dyn Fn(u32) -> Names<'a>,
    ) -> Result<(), PlanError> {
        need(!connections.own || self.has_users(), "connections.own", "is for users")?;
        match self {
            Work::Requests(_) => {}
            Work::Script { script, .. } => script.check(names(0).data, load)?,
            Work::Journeys(journeys) => journeys.check(target_of, connections, names)?,
        }
        need(!self.requests().is_empty(), "work", "has at least one request")?;
        for (one, number) in self.requests().iter().zip(0..) {
            let target = target_of(one);
            one.check()?;
            one.delivery.check_in(target, self.script().is_some(), connections)?;
            if let Some(stream) = &one.stream {
                stream.check(target)?;
            }
            if one.holes {
                one.check_holes(target, self.script().is_some(), number, names(number))?;
            }
            if one.credential(target).is_some() {
                one.check_made("a credential that is taken", target, self.script().is_some())?;
            }
        }
        if let Work::Requests(Requests { list, sequence, .. }) = self
            && sequence.whole().iter().any(|&one| one as usize >= list.len())
        {
            return Err(value("sequence", "unknown request; use the names of [[request]]"));
        }
        Ok(())
    }

    /// Whether there are not too many requests.
    pub(crate) fn check_size(&self) -> Result<(), PlanError> {
        fits(self.requests().len())
    }

    /// Whether all of it may reach the server twice.
    pub(crate) fn check_early_data(&self) -> Result<(), PlanError> {
        /// An attacker may replay the first flight (RFC 8446 8, RFC 8470 2.1), so only requests that
        /// change nothing may leave in it (RFC 9110 9.2.1).
        const SAFE: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];
        const OPTION: &str = "--early-data";
        if self.script().is_some() {
            let why = "requests of a script may not be safe to repeat; leave one of them out";
            return Err(conflict(OPTION, "--script", why));
        }
        let is_unsafe = |one: &&Request| !SAFE.contains(&one.method.as_str());
        match self.requests().iter().find(is_unsafe) {
            Some(request) => Err(value(
                OPTION,
                format!(
                    "a {} in the first flight may reach the server twice; leave it out, or send GET, HEAD or OPTIONS only",
                    request.method
                ),
            )),
            None => Ok(()),
        }
    }

    /// Why it goes to one target, if it has to.
    pub(crate) fn alone(&self) -> Option<Refusal> {
        let why = "the script decides what is sent; leave one of them out";
        self.script().map(|_| ("--script", why))
    }

    /// Why a thread cannot sleep through its responses, if so.
    pub(crate) fn unstamped(&self) -> Option<Refusal> {
        match self {
            Work::Journeys(_) => Some(("journeys", WAITS)),
            Work::Script { .. } => Some(("--script", WAITS)),
            Work::Requests(requests) => {
                requests.list.iter().any(|one| one.stream.is_some()).then_some(("--stream", WAITS))
            }
        }
    }

    /// Leaves out what may be secret.
    pub(crate) fn redact(&mut self, secrets: Secrets) {
        self.requests_mut().iter_mut().for_each(|request| request.redact(secrets));
        match self {
            Work::Requests(requests) => requests.sequence = requests.sequence.redacted(),
            Work::Script { script, .. } => script.redact(secrets),
            Work::Journeys(journeys) => {
                journeys.list.iter_mut().for_each(|journey| journey.redact(secrets));
            }
        }
    }

    /// Whether something was left out of it.
    pub(crate) fn is_left_out(&self) -> bool {
        let own = match self {
            Work::Requests(requests) => requests.sequence.is_left_out(),
            Work::Script { script, .. } => script.source.is_left_out(),
            Work::Journeys(_) => false,
        };
        own || self.requests().iter().any(Request::is_left_out)
    }

    /// What is known to be secret of it.
    pub(crate) fn hide(&self, hidden: &mut Hidden) {
        /// More requests have the same secrets again.
        const MOST_SEARCHED: usize = 2000;
        self.requests().iter().take(MOST_SEARCHED).for_each(|request| request.hide(hidden));
        let script = self.script().into_iter();
        script.flat_map(|one| &one.arguments).for_each(|argument| hidden.unnamed(argument));
    }

    /// Its requests as the steps of these journeys.
    pub fn walked(&self, list: Vec<Journey>, users: Option<u32>) -> Work {
        Work::Journeys(Journeys { list, requests: self.requests().to_vec(), users, order: None })
    }

    /// The script, if one does the work.
    pub fn script(&self) -> Option<&Script> {
        match self {
            Work::Script { script, .. } => Some(script),
            Work::Requests(_) | Work::Journeys(_) => None,
        }
    }
}

impl Journeys {
    fn check<'a>(
        &self,
        target_of: &dyn Fn(&Request) -> &'a Target,
        connections: &Connections,
        names: &dyn Fn(u32) -> Names<'a>,
    ) -> Result<(), PlanError> {
        let Journeys { list, requests, users, order: _ } = self;
        let Connections { count, max, own, once, .. } = *connections;
        need(!list.is_empty(), "journeys", "has at least one")?;
        need(users.is_none_or(is_small), "users", "is from 1 to 1,000,000")?;
        let is_own = *users == Some(count) && max == count && !once;
        need(!own || is_own, "connections.own", "has a connection for each of the users")?;
        let steps = list.iter().flat_map(|one| &one.steps);
        let in_order = steps.map(|step| step.request as usize).eq(0..requests.len());
        need(in_order, "journeys", "has each request once, in order")?;
        if requests.iter().any(|one| target_of(one).http == HttpVersion::Upgrade) {
            let why = "an upgraded connection cannot be given requests of users; use --h2";
            return Err(conflict("--h2c-upgrade", "[[journey]]", why));
        }
        let mut taken = HashSet::new();
        for journey in list {
            if !taken.insert(&journey.name) {
                return Err(journey.wrong("two journeys have this name; give one of them another"));
            }
            journey.check(requests, names)?;
        }
        Ok(())
    }
}

/// Whether a plan may have this number of requests.
pub(crate) fn fits(requests: usize) -> Result<(), PlanError> {
    if requests <= MOST_REQUESTS {
        return Ok(());
    }
    let problem = format!(
        "{} requests and steps are more than the {} that a plan may have; take what differs between them from --data",
        fmt_count(requests as u64),
        fmt_count(MOST_REQUESTS as u64)
    );
    Err(value("[[request]]", problem))
}

/// The most requests of a plan, steps of journeys included: one takes some 6 kB from its line to its response.
const MOST_REQUESTS: usize = 250_000;

impl From<Vec<Request>> for Work {
    /// One after the other.
    fn from(list: Vec<Request>) -> Self {
        Work::Requests(Requests { list, order: Order::Rotation, sequence: [].into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_so_many_requests_and_no_more() {
        assert!(fits(MOST_REQUESTS).is_ok());
        let refused = fits(MOST_REQUESTS + 1).unwrap_err().to_string();
        assert!(
            refused.starts_with("[[request]]: 250,001 requests and steps are more"),
            "{refused}"
        );
    }
}
