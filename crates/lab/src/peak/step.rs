//! One load of a search: as many runs as it takes to judge it, and the judgement.

use candor_plan::units::{fmt_per_second, fmt_plural};
use candor_report::expect::{Standing, Weighed};
use candor_report::experiment::peak::{Judged, Phase, Step, StepOutcome};
use candor_report::experiment::trial::{Subject, Trial};
use candor_report::{Document, Expectation};

use super::{Search, SearchEnd};
use crate::loads;
use crate::trial::{Ahead, in_words, why_no_more};

/// A single run below this share of its rate did not hold it; chance cannot explain that much.
const FAR_FROM_HELD: f64 = 0.9;
/// How many runs of a load may be repeated because the loader's own machine paused.
const MOST_DISTURBED: usize = 2;

impl Search<'_> {
    /// Tries a load, with `most_runs` runs at most. Returns where the step is.
    pub(super) fn step(
        &mut self,
        phase: Phase,
        connections: u32,
        rate_per_s: Option<f64>,
        most_runs: u32,
    ) -> Result<usize, SearchEnd> {
        let at = self.steps.len();
        self.steps.push(Step {
            phase,
            connections,
            rate_per_s,
            trials: Vec::new(),
            judged: Vec::new(),
            outcome: StepOutcome::Measured,
        });
        let is_judged = rate_per_s.is_some() && !self.settings.objectives.is_empty();
        let objectives = if is_judged { self.settings.objectives.clone() } else { Vec::new() };
        let (mut calm, mut disturbed) = (Vec::new(), Vec::new());
        loop {
            let (document, stopped) = match self.run(at, connections, rate_per_s) {
                Ok(made) => made,
                Err(stop) => {
                    if self.steps[at].trials.is_empty() {
                        self.steps.pop();
                    }
                    return Err(stop);
                }
            };
            let step = &mut self.steps[at];
            let was_disturbed = step.trials.last().is_some_and(|trial| trial.disturbed);
            let kind = if was_disturbed { &mut disturbed } else { &mut calm };
            kind.push(document);
            let counted = if calm.is_empty() { &disturbed } else { &calm };
            let judgement = Judgement::of(&objectives, counted, &step.counted());
            step.outcome = judgement.outcome(rate_per_s.is_some(), is_judged);
            let is_decided = judgement.is_decided() || !is_judged;
            step.judged = judgement.judged;
            if let Some(why) = stopped {
                return Err(SearchEnd::Ended(why));
            }
            let may_go_again = was_disturbed && disturbed.len() <= MOST_DISTURBED;
            let has_enough = is_decided || counted.len() as u32 >= most_runs;
            if has_enough && !(calm.is_empty() && may_go_again) {
                return Ok(at);
            }
        }
    }

    /// One run, and the reason if there can be no further one.
    fn run(
        &mut self,
        at: usize,
        connections: u32,
        rate_per_s: Option<f64>,
    ) -> Result<(Document, Option<String>), SearchEnd> {
        let nth = self.runs;
        let plan = match rate_per_s {
            Some(rate_per_s) => loads::open(self.plan, rate_per_s, connections, nth),
            None => loads::closed(self.plan, connections, nth),
        };
        let plan = plan.map_err(|error| SearchEnd::Error(error.into()))?;
        let with = fmt_plural(connections.into(), "connection");
        let (what, name) = match rate_per_s {
            Some(rate_per_s) => {
                let rate = fmt_per_second(rate_per_s);
                (format!("{rate}, {with}"), format!("{:03}-open-{rate_per_s:.0}", nth + 1))
            }
            None => {
                (format!("closed loop, {with}"), format!("{:03}-closed-{connections}", nth + 1))
            }
        };
        // The number of further runs depends on their results.
        self.progress.begins(&what, &Ahead::default());
        let document = self.runner.run(0, &plan).map_err(SearchEnd::Error)?;
        self.runs += 1;
        self.progress.result(&name, &document);
        self.first.get_or_insert_with(|| (document.plan.clone(), Subject::of(&document)));
        let trial = Trial::of(name, &document);
        self.progress.done(&what, &in_words(&trial));
        self.steps[at].trials.push(trial);
        let stopped = why_no_more(&document);
        Ok((document, stopped))
    }
}

/// The judgement of all runs of one load.
struct Judgement {
    judged: Vec<Judged>,
    weighed: Vec<(Weighed, bool)>,
    held: Held,
}

/// Whether the rate was held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Yes,
    No,
    /// Some runs held it, or the only one nearly did; and whether most did.
    Unsure(bool),
}

impl Judgement {
    fn of(objectives: &[Expectation], documents: &[Document], trials: &[&Trial]) -> Self {
        let all: Vec<&Document> = documents.iter().collect();
        let weighed: Vec<(Weighed, bool)> = objectives
            .iter()
            .map(|objective| {
                let weighed = objective.weigh(&all);
                // Requests without a response count as infinitely slow.
                let value = weighed.measured.unwrap_or(f64::INFINITY);
                (weighed, weighed.low.is_some() && objective.is_met_by(value))
            })
            .collect();
        let judged = objectives.iter().zip(&weighed).map(|(objective, (weighed, _))| Judged {
            expression: objective.expression.clone(),
            standing: match weighed.standing {
                Standing::Met => "met",
                Standing::NotMet => "not-met",
                Standing::Unsure => "unsure",
            }
            .to_owned(),
            measured: weighed.measured,
            low: weighed.low,
            high: weighed.high,
        });
        let judged = judged.collect();
        Judgement { judged, weighed, held: Held::of(trials) }
    }

    fn is_decided(&self) -> bool {
        let is = |standing| self.weighed.iter().any(|(one, _)| one.standing == standing);
        match self.held {
            Held::No => true,
            Held::Unsure(_) => false,
            Held::Yes => is(Standing::NotMet) || !is(Standing::Unsure),
        }
    }

    fn outcome(&self, is_open: bool, is_judged: bool) -> StepOutcome {
        let is = |standing| self.weighed.iter().any(|(one, _)| one.standing == standing);
        match self.held {
            Held::No | Held::Unsure(false) if is_open => StepOutcome::NotHeld,
            _ if !is_judged => StepOutcome::Measured,
            _ if is(Standing::NotMet) => StepOutcome::Missed,
            held if !is(Standing::Unsure) && held == Held::Yes => StepOutcome::Met,
            _ if self.weighed.iter().all(|(_, met)| *met) => StepOutcome::MetPerhaps,
            _ => StepOutcome::MissedPerhaps,
        }
    }
}

impl Held {
    fn of(trials: &[&Trial]) -> Held {
        let held = trials.iter().filter(|trial| trial.held).count();
        let far =
            |trial: &Trial| trial.figures.achieved_share.is_none_or(|share| share < FAR_FROM_HELD);
        match (held, trials.len()) {
            (held, all) if held == all => Held::Yes,
            (0, 1) if !trials.iter().any(|trial| far(trial)) => Held::Unsure(false),
            (0, _) => Held::No,
            (held, all) => Held::Unsure(2 * held > all),
        }
    }
}
