//! Journeys: what a user does, step by step.
//!
//! A user is one run through a journey. Each step is a request of the plan's list; what it captures from a response,
//! later steps can use as `${NAME}`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sequence of requests that a user makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// The variable that has it from then on.
    pub variable: String,
    /// Where it is, such as `json:$.token`.
    pub source: String,
}

/// How long a user thinks before a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The journey ends.
    #[default]
    End,
    /// The next step.
    GoOn,
}

/// Names of the variables of all journeys, in the order of their first capture. A variable's number is its place here.
pub fn variables(journeys: &[Journey]) -> Vec<&str> {
    let mut all = Vec::new();
    let captures = journeys.iter().flat_map(|one| &one.steps).flat_map(|step| &step.captures);
    for capture in captures {
        if !all.contains(&capture.variable.as_str()) {
            all.push(capture.variable.as_str());
        }
    }
    all
}

/// The variables that are known before this request of the plan, and their numbers: those that earlier steps of its
/// journey capture.
pub fn known_before(journeys: &[Journey], request: u32) -> Vec<(&str, usize)> {
    let all = variables(journeys);
    let is_of = |journey: &&Journey| journey.steps.iter().any(|step| step.request == request);
    let Some(journey) = journeys.iter().find(is_of) else { return Vec::new() };
    let earlier = journey.steps.iter().take_while(|step| step.request != request);
    let names = earlier.flat_map(|step| &step.captures).map(|capture| capture.variable.as_str());
    let numbered = |name| Some((name, all.iter().position(|one| *one == name)?));
    names.filter_map(numbered).collect()
}
