//! Journeys: what a user does, step by step.
//!
//! A user is one run through a journey. Each step is a request of the plan's list; what it captures from a response,
//! later steps can use as `${NAME}`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// A sequence of requests that a user makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Journey {
    /// Its name in reports; no other journey has it.
    pub name: String,
    /// Its share of the users, at least 1.
    pub weight: u32,
    /// At least one.
    pub steps: Vec<Step>,
    /// Whether its users keep cookies (RFC 6265).
    pub cookies: bool,
    /// What follows a step that failed.
    pub on_failure: OnFailure,
}

/// A request of a journey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The request, by its place in the plan's list; no other step has it.
    pub request: u32,
    /// How long the user thinks before it. Before the first step of a journey nobody thinks.
    pub think: Think,
    /// How often it is made, from the lowest to the highest number, each with the same probability.
    pub repeat: (u32, u32),
    /// A template: the step is made only if this is not empty.
    pub when: Option<String>,
    /// What it takes from its response.
    pub captures: Vec<Capture>,
}

/// A value that is taken from a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capture {
    /// The variable that has it from then on.
    pub variable: String,
    /// Where it is, such as `json:$.token`.
    pub source: String,
}

/// How long a user thinks before a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Think {
    /// Not at all.
    #[default]
    None,
    /// Always as long.
    Fixed {
        /// The time, above zero.
        ns: u64,
    },
    /// Exponentially distributed.
    Exponential {
        /// The mean, above zero.
        mean_ns: u64,
    },
    /// Each time between two with the same probability.
    Uniform {
        /// The shortest.
        low_ns: u64,
        /// The longest, not below the shortest.
        high_ns: u64,
    },
}

/// Whose the connections of users are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// Each request takes any that is free.
    #[default]
    Shared,
    /// Each user has one, from its first step until it leaves.
    Own,
}

/// What a rate counts in a plan with journeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateOf {
    /// Users who come.
    Users,
    /// Requests, if every step is made.
    Requests,
}

/// What follows a step that failed, or whose captures found nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The journey ends.
    #[default]
    End,
    /// The next step.
    GoOn,
}

/// The journey, by its place, whose steps have this request of the plan among them, if any have.
fn journey_of(journeys: &[Journey], request: u32) -> Option<usize> {
    let begins = |one: &Journey| one.steps.first().is_none_or(|step| step.request <= request);
    journeys.partition_point(begins).checked_sub(1)
}

/// The journey and the step of this request, of journeys whose steps have the requests of their plan in order.
pub fn step_of(journeys: &[Journey], request: u32) -> Option<(&Journey, &Step)> {
    let journey = &journeys[journey_of(journeys, request)?];
    let at = journey.steps.binary_search_by_key(&request, |step| step.request).ok()?;
    Some((journey, &journey.steps[at]))
}

/// The variables of a plan's journeys: which there are, and which of them are known before a request.
#[derive(Debug, Default)]
pub struct Variables<'p> {
    /// In the order of their first capture.
    names: Vec<&'p str>,
    /// The place of each in `names`, which is the variable's number.
    numbers: HashMap<&'p str, usize>,
    journeys: &'p [Journey],
    /// For a journey and a variable, by their numbers, the first request whose response has it.
    first: HashMap<(usize, usize), u32>,
}

impl<'p> Variables<'p> {
    /// Those of `journeys`, whose steps have the requests of the plan in order.
    pub fn of(journeys: &'p [Journey]) -> Self {
        let mut all = Variables { journeys, ..Variables::default() };
        for (journey, one) in journeys.iter().enumerate() {
            for step in &one.steps {
                for capture in &step.captures {
                    let name = capture.variable.as_str();
                    let next = all.names.len();
                    let number = *all.numbers.entry(name).or_insert(next);
                    if number == next {
                        all.names.push(name);
                    }
                    all.first.entry((journey, number)).or_insert(step.request);
                }
            }
        }
        all
    }

    /// Their names, each at the place of its number.
    pub fn names(&self) -> &[&'p str] {
        &self.names
    }

    /// The number of a variable.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Those that earlier steps of its journey capture before this request of the plan.
    pub fn before(&self, request: u32) -> Known<'_> {
        let before = |journey| Before { all: self, journey, request };
        Known(journey_of(self.journeys, request).map(before))
    }
}

/// The variables that are known before a request; by default none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a>(Option<Before<'a>>);

#[derive(Debug, Clone, Copy)]
struct Before<'a> {
    all: &'a Variables<'a>,
    journey: usize,
    request: u32,
}

impl<'a> Known<'a> {
    /// The number of a variable, if it is known.
    pub fn number(self, name: &str) -> Option<usize> {
        let Before { all, journey, request } = self.0?;
        let number = all.number(name)?;
        let first = *all.first.get(&(journey, number))?;
        (first < request).then_some(number)
    }

    /// The names of those that are known.
    pub fn names(self) -> impl Iterator<Item = &'a str> {
        let all = self.0.map_or(&[][..], |before| before.all.names());
        all.iter().copied().filter(move |name| self.number(name).is_some())
    }
}
