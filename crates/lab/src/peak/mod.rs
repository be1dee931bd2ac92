//! The search for a peak: the highest rate that meets the objectives.
//!
//! First, closed loops find the ceiling, the highest throughput ([`ceiling`]). With objectives,
//! open loads below it close in on the edge ([`edge`]); without, the ceiling is the result. A few
//! more open loads give the curve of latency against rate. [`summary`] puts the result into words.
//! The search is pure over the [`Runner`]: it reads no clock and draws no number, so tests compare
//! it with servers whose peak is known by calculation.

mod ceiling;
mod edge;
mod step;
mod summary;

use candor_plan::{Parts, Plan};
use candor_report::document::{Tool, rfc3339};
use candor_report::experiment::peak::{Answer, Ceiling, FORMAT, Peak, Phase, Step};
use candor_report::experiment::trial::Subject;
use candor_report::{Expectation, Facts};

use crate::error::LabError;
use crate::trial::{Progress, Runner};

/// How to search.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The objectives; none: search for the highest throughput.
    pub objectives: Vec<Expectation>,
    /// The number of connections; `None`: as many as necessary.
    pub connections: Option<u32>,
    /// The most connections to try.
    pub most_connections: u32,
    /// The search ends when the highest rate that meets the objectives and the lowest that does not
    /// are this close, as a share.
    pub precision: f64,
    /// The most runs of one load, while chance leaves the judgement open; at least 1.
    pub most_runs: u32,
    /// Runs that confirm the ceiling, at least 2.
    pub confirmations: u32,
    /// Fractions of the peak that are measured for the plot.
    pub curve: Vec<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            objectives: Vec::new(),
            connections: None,
            most_connections: 1024,
            precision: 0.02,
            most_runs: 4,
            confirmations: 3,
            curve: vec![0.25, 0.5, 0.75, 0.9, 0.95],
        }
    }
}

/// Finds the peak of the target that `runner` measures by `plan`. If the search cannot continue, it
/// returns what it found so far; it returns an error only without any finding.
pub fn find(
    plan: &Plan,
    settings: &Settings,
    about: &Facts,
    runner: &mut dyn Runner,
    progress: &mut dyn Progress,
) -> Result<Peak, LabError> {
    let arguments = about.typed.shown(plan.secrets);
    let mut search =
        Search { plan, settings, runner, progress, steps: Vec::new(), runs: 0, first: None };
    let mut found = Found::default();
    let stopped = search.all(&mut found).err();
    let Search { steps, first, .. } = search;
    let (plan, subject) = match (first, stopped.as_ref()) {
        (Some(first), _) => first,
        (None, _) => return Err(stopped.map_or(LabError::Interrupted, SearchEnd::into_error)),
    };
    let mut peak = Peak {
        format: FORMAT.to_owned(),
        tool: Tool::of(about),
        arguments,
        started_at: rfc3339(about.started_unix_ms),
        host: about.host.clone(),
        limit: summary::limit(&steps, subject.cores.len()),
        subject,
        plan,
        objectives: settings.objectives.iter().map(|one| one.expression.clone()).collect(),
        answer: found.answer,
        sentences: Vec::new(),
        ceiling: found.ceiling,
        knee: summary::knee(&steps, &settings.objectives),
        steps,
        partial: stopped.map(|stop| stop.to_string()),
    };
    peak.sentences = summary::sentences(&peak);
    Ok(peak)
}

/// The findings of a search so far.
#[derive(Default)]
struct Found {
    ceiling: Option<Ceiling>,
    answer: Option<Answer>,
}

/// A search in progress.
struct Search<'a> {
    plan: &'a Plan,
    settings: &'a Settings,
    runner: &'a mut dyn Runner,
    progress: &'a mut dyn Progress,
    steps: Vec<Step>,
    runs: u64,
    /// The plan of the first run, and its subject.
    first: Option<(Parts, Subject)>,
}

impl Search<'_> {
    fn all(&mut self, found: &mut Found) -> Result<(), SearchEnd> {
        let ceiling = self.ceiling()?;
        found.ceiling = Some(ceiling);
        let reference = match self.settings.objectives.is_empty() {
            true => {
                let answer = summary::of_ceiling(&ceiling);
                found.answer = Some(answer);
                answer.rate_per_s
            }
            false => {
                let edge = self.edge(&ceiling);
                // Even a search that was cut short has valid findings.
                found.answer = summary::of_edge(&self.steps);
                edge?;
                found.answer.map_or(ceiling.rate_per_s, |answer| answer.rate_per_s)
            }
        };
        self.curve(reference, &ceiling)
    }

    /// Loads below the peak for the plot, without those tried already.
    fn curve(&mut self, reference: f64, ceiling: &Ceiling) -> Result<(), SearchEnd> {
        for fraction in self.settings.curve.clone() {
            let rate_per_s = reference * fraction;
            let is_near = |step: &Step| {
                step.rate_per_s.is_some_and(|other| (other / rate_per_s - 1.0).abs() < NEAR)
            };
            if !self.steps.iter().any(is_near) {
                let connections = self.open_connections(ceiling);
                self.step(Phase::Curve, connections, Some(rate_per_s), 1)?;
            }
        }
        Ok(())
    }

    /// Connections of open loads: twice as many as the ceiling needs, so that requests queue at the
    /// target and not in the loader.
    fn open_connections(&self, ceiling: &Ceiling) -> u32 {
        let twice = (2 * ceiling.connections).max(FEWEST_OPEN);
        self.settings.connections.unwrap_or(twice.min(self.settings.most_connections.max(1)))
    }
}

/// Rates within this share of each other are the same on a plot.
const NEAR: f64 = 0.04;
/// Fewest connections of an open load.
const FEWEST_OPEN: u32 = 16;

/// Why a search cannot continue.
#[derive(Debug)]
enum SearchEnd {
    /// A run could not be made.
    Error(LabError),
    /// A run ended before its time.
    Ended(String),
}

impl SearchEnd {
    fn into_error(self) -> LabError {
        match self {
            SearchEnd::Error(error) => error,
            SearchEnd::Ended(_) => LabError::Interrupted,
        }
    }
}

impl std::fmt::Display for SearchEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SearchEnd::Error(error) => error.fmt(f),
            SearchEnd::Ended(why) => f.write_str(why),
        }
    }
}
