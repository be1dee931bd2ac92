//! The search for a peak: the highest rate that meets the objectives.
//!
//! First, closed loops find the connections that reach the ceiling, the highest throughput ([`ceiling`]). With
//! objectives, open loads below it close in on the edge ([`edge`]); without, the ceiling is the result. A few more open
//! loads give the curve of latency against rate. What is said to be certain comes from repetitions that are spread
//! over the time of the search, in random order; [`summary`] puts the result into words. The search is pure over the
//! [`Runner`]: it reads no clock, and its order follows the plan's seed, so tests compare it with servers whose peak is
//! known by calculation.

mod ceiling;
mod edge;
mod step;
mod summary;

use candor_plan::{Parts, Plan};
use candor_report::document::{Tool, rfc3339};
use candor_report::experiment::peak::{Confidence, FORMAT, Peak, Phase, Step};
use candor_report::experiment::trial::Subject;
use candor_report::{Document, Expectation, Facts};
use candor_stats::bootstrap::Random;
use candor_stats::threshold::{self, Next};

use crate::compare::order::shuffle;
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
    /// The search narrows until the highest rate that meets the objectives and the lowest that does not
    /// are this close, as a share. The runs' own noise may keep them further apart.
    pub precision: f64,
    /// The most runs of one load that count, at least 1. A few confirm nothing.
    pub most_runs: u32,
    /// The most time that the search takes, in nanoseconds; `None`: that of a hundred runs.
    pub most_time_ns: Option<u64>,
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
            most_runs: 20,
            most_time_ns: None,
            curve: vec![0.25, 0.5, 0.75, 0.9, 0.95],
        }
    }
}

/// The time of a search, in runs, unless the settings have another. On a quiet machine it takes less than half of it.
const USUAL_RUNS: u64 = 100;

impl Settings {
    /// The most time that a search with runs of `plan` takes, in nanoseconds.
    pub fn most_time_ns(&self, plan: &Plan) -> u64 {
        self.most_time_ns.unwrap_or(step::length_ns(plan).saturating_mul(USUAL_RUNS))
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
    let most_time_ns = settings.most_time_ns(plan);
    let mut search = Search {
        plan,
        settings,
        most_time_ns,
        runner,
        progress,
        random: Random::new(plan.seed),
        steps: Vec::new(),
        documents: Vec::new(),
        runs: 0,
        first: None,
        connections: 0,
        confirming: Vec::new(),
        threshold: None,
    };
    let stopped = search.all().err();
    let Search { steps, first, connections, confirming, threshold, runs, .. } = search;
    let Some((plan, subject)) = first else {
        return Err(stopped.map_or(LabError::Interrupted, SearchEnd::into_error));
    };
    let is_time_over = matches!(stopped, Some(SearchEnd::TimeOver));
    let ceiling = ceiling::ceiling(&confirming, connections).or_else(|| ceiling::so_far(&steps));
    // The most connections that were tried, if more of them might bring more.
    let most = settings.most_connections.max(1);
    let bound = settings.connections.or((connections >= most).then_some(most));
    let answer = match (&threshold, &ceiling) {
        (Some(threshold), _) => summary::of_edge(threshold),
        (None, Some(ceiling)) if settings.objectives.is_empty() => {
            Some(summary::of_ceiling(ceiling))
        }
        (None, _) => None,
    };
    let mut peak = Peak {
        format: FORMAT.to_owned(),
        tool: Tool::of(about),
        arguments,
        started_at: rfc3339(about.started_unix_ms),
        host: about.host.clone(),
        limit: summary::limit(&steps, subject.cores.len(), bound),
        subject,
        plan,
        objectives: settings.objectives.iter().map(|one| one.expression.clone()).collect(),
        answer,
        sentences: Vec::new(),
        ceiling,
        steps,
        most_time_ns: Some(most_time_ns),
        cannot_tell: None,
        partial: stopped.filter(|_| !is_time_over).map(|stop| stop.to_string()),
    };
    if peak.partial.is_none() {
        peak.cannot_tell = summary::doubt(&peak, settings, threshold.as_ref(), is_time_over, runs);
    }
    if let (Some(answer), Some(_)) = (&mut peak.answer, &peak.cannot_tell) {
        answer.confidence = Confidence::Poor;
    }
    peak.sentences = summary::sentences(&peak);
    Ok(peak)
}

/// A search in progress.
struct Search<'a> {
    plan: &'a Plan,
    settings: &'a Settings,
    most_time_ns: u64,
    runner: &'a mut dyn Runner,
    progress: &'a mut dyn Progress,
    /// Of the order of repetitions.
    random: Random,
    steps: Vec<Step>,
    /// The documents of each step's runs.
    documents: Vec<Vec<Document>>,
    runs: u64,
    /// The plan of the first run, and its subject.
    first: Option<(Parts, Subject)>,
    /// The fewest connections that reach the ceiling.
    connections: u32,
    /// The closed loops that confirm it: connections and throughput, in the order of time.
    confirming: Vec<(u32, f64)>,
    /// What the runs say about the edge.
    threshold: Option<threshold::Search>,
}

/// A load to measure once more.
#[derive(Debug, Clone, Copy)]
enum Load {
    /// A closed loop of this many connections, which confirms the ceiling.
    Closed(u32),
    /// An open load at a rate.
    Open(Phase, f64),
    /// An open load at a share of the peak as far as it is known, unless there was one near.
    Share(f64),
}

impl Search<'_> {
    fn all(&mut self) -> Result<(), SearchEnd> {
        let (fewest, other, highest_per_s) = self.fewest_connections()?;
        self.connections = fewest;
        let is_of_ceiling = self.settings.objectives.is_empty();
        // Without objectives the ceiling is the result, so that another number may not be better.
        let numbers = [Some(fewest), other.filter(|_| is_of_ceiling)].into_iter().flatten();
        let repeated = ceiling::CONFIRMATIONS.min(self.settings.most_runs.max(1)) as usize;
        let mut others: Vec<Load> =
            numbers.flat_map(|number| vec![Load::Closed(number); repeated]).collect();
        others.extend(self.settings.curve.iter().map(|&share| Load::Share(share)));
        shuffle(&mut others, &mut self.random);
        if !is_of_ceiling && highest_per_s > 0.0 {
            self.edge(highest_per_s, &mut others)?;
        }
        while let Some(load) = others.pop() {
            self.make(load)?;
        }
        // Those that were made for an earlier guess of the peak may be missing.
        let shares = self.settings.curve.iter();
        shares.map(|&share| Load::Share(share)).try_for_each(|load| self.make(load))
    }

    /// A run of a load, and what it says about the edge.
    fn make(&mut self, load: Load) -> Result<(), SearchEnd> {
        let (phase, rate_per_s) = match load {
            Load::Closed(connections) => {
                let at = self.run_once(Phase::Confirm, connections, None)?;
                let rate_per_s =
                    self.steps[at].trials.last().and_then(|one| one.figures.rate_per_s);
                self.confirming.push((connections, rate_per_s.unwrap_or(0.0)));
                return Ok(());
            }
            Load::Open(phase, rate_per_s) => (phase, rate_per_s),
            Load::Share(share) => {
                let rate_per_s = share * self.reference_per_s();
                let is_near = |step: &Step| {
                    step.rate_per_s.is_some_and(|other| (other / rate_per_s - 1.0).abs() < NEAR)
                };
                if rate_per_s <= 0.0 || self.steps.iter().any(is_near) {
                    return Ok(());
                }
                (Phase::Curve, rate_per_s)
            }
        };
        let at = self.run_once(phase, self.open_connections(), Some(rate_per_s))?;
        let met = self.steps[at].trials.last().and_then(|trial| trial.met);
        // What was confirmed stays so: the test may stop as soon as it has enough.
        let search = self.threshold.as_mut().filter(|search| search.next() != Next::Done);
        if let (Some(search), Some(met)) = (search, met) {
            search.tell(rate_per_s, met);
        }
        Ok(())
    }

    /// The peak as far as it is known.
    fn reference_per_s(&self) -> f64 {
        match self.threshold.as_ref().map(|threshold| threshold.ends()) {
            Some((Some(low), _)) => low.rate,
            Some((None, Some(_))) => 0.0,
            _ => {
                let closed = self.steps.iter().filter(|step| step.rate_per_s.is_none());
                let runs = closed.flat_map(Step::counted);
                runs.filter_map(|trial| trial.figures.rate_per_s).fold(0.0, f64::max)
            }
        }
    }

    /// Connections of open loads: twice as many as the ceiling needs, so that requests queue at the
    /// target and not in the loader.
    fn open_connections(&self) -> u32 {
        let twice = self.connections.saturating_mul(2).max(FEWEST_OPEN);
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
    /// No request succeeded, for this reason: at other loads none would.
    Failed(String),
    /// The time of the search does not suffice for another run.
    TimeOver,
}

impl SearchEnd {
    fn into_error(self) -> LabError {
        match self {
            SearchEnd::Error(error) => error,
            SearchEnd::Ended(_) | SearchEnd::Failed(_) => LabError::Interrupted,
            SearchEnd::TimeOver => LabError::Usage(
                "the most time of the search is shorter than one of its runs".to_owned(),
            ),
        }
    }
}

impl std::fmt::Display for SearchEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SearchEnd::Error(error) => error.fmt(f),
            SearchEnd::Ended(why) => f.write_str(why),
            SearchEnd::Failed(why) => write!(f, "no request succeeded: {why}"),
            SearchEnd::TimeOver => f.write_str("its time was over"),
        }
    }
}
