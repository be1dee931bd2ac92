//! Work: what a plan sends. One kind of it excludes the others, with all that belongs to them.

use serde::{Deserialize, Serialize};

use crate::journey::Journey;
use crate::kept::Kept;
use crate::request::Request;
use crate::script::Script;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// One after the other, by index modulo the length of the list.
    Rotation,
    /// At random in proportion to the weights, as a pure function of seed and index.
    Weighted,
}

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

    /// The most users at a time, if they are limited.
    pub fn users(&self) -> Option<u32> {
        match self {
            Work::Journeys(journeys) => journeys.users,
            Work::Requests(_) | Work::Script { .. } => None,
        }
    }

    /// Its requests as the steps of these journeys.
    pub fn walked(&self, list: Vec<Journey>, users: Option<u32>) -> Work {
        Work::Journeys(Journeys { list, requests: self.requests().to_vec(), users })
    }

    /// The script, if one does the work.
    pub fn script(&self) -> Option<&Script> {
        match self {
            Work::Script { script, .. } => Some(script),
            Work::Requests(_) | Work::Journeys(_) => None,
        }
    }
}

impl From<Vec<Request>> for Work {
    /// One after the other.
    fn from(list: Vec<Request>) -> Self {
        Work::Requests(Requests { list, order: Order::Rotation, sequence: [].into() })
    }
}
