//! Journeys: what a user does, step by step.
//!
//! A user is one run through a journey. Each step is a request of the plan's list; what it captures from a response,
//! later steps can use as `${NAME}`.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Request;
use super::template::{self, Names, TemplateError};
use crate::error::{PlanError, need};
use crate::redact::{Secrets, outside_holes, without_refused};
use crate::units::{self, UnitError, is_time};
use crate::values::{Typed, ValueError, is_small, refuse};

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

impl Journey {
    /// The steps that users make in their turn, each with the redirects that it may have.
    pub fn with_redirects(&self) -> impl Iterator<Item = (&Step, &[Step])> {
        let all = self.steps.chunk_by(|_, next| next.redirect.is_some());
        all.filter_map(|chain| chain.split_first())
    }

    /// Whether its steps fit each other, and find the names in their templates.
    pub(super) fn check<'a>(
        &self,
        requests: &[Request],
        names: &dyn Fn(u32) -> Names<'a>,
    ) -> Result<(), PlanError> {
        if self.steps.is_empty() {
            return Err(self.wrong("it has no step; add a [[journey.step]]"));
        }
        need(self.steps[0].redirect.is_none(), "a journey", "begins with no redirect")?;
        if self.steps[0].ending || !self.steps.is_sorted_by_key(|step| step.ending) {
            return Err(self.wrong(
                "steps with once = \"end\" come after all others, of which there is one at least; change the order",
            ));
        }
        need(is_small(self.weight), "a journey's weight", "is from 1 to 1,000,000")?;
        let mut taken = HashSet::new();
        for step in &self.steps {
            let name = &requests[step.request as usize].name;
            let wrong = |problem: String| self.wrong(&format!("step {name:?}: {problem}"));
            if !taken.insert(name) {
                return Err(wrong("two steps have this name; give one of them another".to_owned()));
            }
            step.check(names(step.request), wrong)?;
        }
        Ok(())
    }

    /// It cannot be made as it is.
    pub(super) fn wrong(&self, problem: &str) -> PlanError {
        PlanError::Journey { name: self.name.clone(), problem: problem.to_owned() }
    }

    /// Leaves out what may be secret.
    pub(super) fn redact(&mut self, secrets: Secrets) {
        for when in self.steps.iter_mut().filter_map(|step| step.when.as_mut()) {
            if secrets == Secrets::Hidden {
                *when = outside_holes(when);
            }
        }
    }
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
    /// Whether a user of a closed load makes it only until it has succeeded, in all iterations together. What it
    /// captures stays.
    #[serde(default)]
    pub once: bool,
    /// Whether a user of a closed load makes it after its last iteration, when the run is over.
    #[serde(default)]
    pub ending: bool,
    /// The redirect that it follows; `None`: the user makes it in its turn.
    #[serde(default)]
    pub redirect: Option<Redirect>,
}

/// A redirect that a step may have, after the redirects with lower numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Redirect {
    /// Which of a row of redirects it is, from 1 to 20.
    pub number: u32,
    /// Whether it has the method and the body of the step; otherwise it is a GET.
    pub keeps: bool,
}

impl Redirect {
    /// The most in a row, as in browsers (Fetch, 4.4).
    pub const MOST: u32 = 20;
    /// The variable that has the path of a redirect. No capture has this name.
    pub const VARIABLE: &'static str = "<location>";
    /// The path of a redirect.
    pub(crate) const PATH: &'static str = "${path <location>}";
}

impl Step {
    /// A step that is made at once, one time, whatever was before.
    pub fn plain(request: u32) -> Self {
        Step {
            request,
            think: Think::None,
            repeat: (1, 1),
            when: None,
            captures: Vec::new(),
            once: false,
            ending: false,
            redirect: None,
        }
    }

    fn check(
        &self,
        names: Names<'_>,
        wrong: impl Fn(String) -> PlanError,
    ) -> Result<(), PlanError> {
        let is_row = |one: Redirect| (1..=Redirect::MOST).contains(&one.number);
        need(self.redirect.is_none_or(is_row), "a redirect's number", "is from 1 to 20")?;
        let (low, high) = self.repeat;
        need(low <= high && is_small(high), "a step's repeat", "is a range up to 1,000,000")?;
        let is_think = match self.think {
            Think::None => true,
            Think::Fixed { ns } | Think::Exponential { mean_ns: ns } => is_time(ns),
            Think::Uniform { low_ns, high_ns } => low_ns <= high_ns && is_time(high_ns),
        };
        need(is_think, "a step's think", "is a time above zero")?;
        if self.ending && self.think != Think::None {
            return Err(wrong("nobody thinks when the run is over; leave think out".to_owned()));
        }
        for capture in &self.captures {
            if let Err(error) = candor_memory::Source::parse(&capture.source) {
                let problem = without_refused(&error.to_string(), &capture.source);
                return Err(wrong(format!("capture {}: {problem}", capture.variable)));
            }
        }
        let when = self.when.as_ref().map(|when| template::compile_text(when, names));
        match when {
            Some(Err(TemplateError(problem))) => Err(wrong(format!("when: {problem}"))),
            _ => Ok(()),
        }
    }
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

/// As `1s`, `exp 2s` or `uniform 1s..3s`.
impl FromStr for Think {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let time = |text: &str| {
            let wrong = |error: UnitError| ValueError(error.to_string());
            units::parse_duration_ns(text.trim()).map_err(wrong)
        };
        let think = match text.split_once(char::is_whitespace) {
            None => match time(text)? {
                0 => Think::None,
                ns => Think::Fixed { ns },
            },
            Some(("exp", mean)) => match time(mean)? {
                0 => return refuse("a mean of 0s is no distribution; use e.g. exp 2s"),
                mean_ns => Think::Exponential { mean_ns },
            },
            Some(("uniform", range)) => {
                let Some((low, high)) = range.split_once("..") else {
                    return refuse(format!("`{range}` is not a range; use e.g. uniform 1s..3s"));
                };
                let (low_ns, high_ns) = (time(low)?, time(high)?);
                if low_ns > high_ns || high_ns == 0 {
                    return refuse(format!("{range} is empty; write the shorter time first"));
                }
                Think::Uniform { low_ns, high_ns }
            }
            Some((word, _)) => {
                return refuse(format!(
                    "`{word}` is not a distribution; use e.g. 1s, exp 2s or uniform 1s..3s"
                ));
            }
        };
        Ok(think)
    }
}

impl Typed for Think {
    const EXPECTING: &'static str = "a think time such as \"1s\" or \"exp 2s\"";
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

/// The step whose redirect this request is; of a step that is none, itself.
pub fn redirected(journeys: &[Journey], request: u32) -> Option<u32> {
    let journey = &journeys[journey_of(journeys, request)?];
    let before = journey.steps.iter().rev().skip_while(|step| step.request > request);
    before.filter(|step| step.redirect.is_none()).map(|step| step.request).next()
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
                    all.add(journey, &capture.variable, step.request);
                }
                if step.redirect.is_some() {
                    all.add(journey, Redirect::VARIABLE, step.request.saturating_sub(1));
                }
            }
        }
        all
    }

    fn add(&mut self, journey: usize, name: &'p str, request: u32) {
        let next = self.names.len();
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        self.first.entry((journey, number)).or_insert(request);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times() {
        let table = [
            ("1s", Think::Fixed { ns: 1_000_000_000 }),
            ("0s", Think::None),
            ("exp 2s", Think::Exponential { mean_ns: 2_000_000_000 }),
            ("uniform 1ms..3ms", Think::Uniform { low_ns: 1_000_000, high_ns: 3_000_000 }),
        ];
        for (text, think) in table {
            assert_eq!(text.parse(), Ok(think), "{text}");
        }
        let refused = [
            ("exp 0s", "a mean of 0s is no distribution"),
            ("uniform 3s..1s", "3s..1s is empty"),
            ("uniform 3s", "`3s` is not a range"),
            ("normal 1s", "`normal` is not a distribution"),
            ("soon", "not a duration"),
        ];
        for (text, message) in refused {
            let error = text.parse::<Think>().expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
