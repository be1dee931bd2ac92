//! The runs of a search: each belongs to a load, which has one or several of them, and is judged by itself.

use candor_plan::units::{fmt_per_second, fmt_plural};
use candor_plan::{NS_PER_S, Plan};
use candor_report::expect::Standing;
use candor_report::experiment::peak::{Judged, Phase, Step, StepOutcome};
use candor_report::experiment::trial::{Subject, Trial};
use candor_report::{Document, Expectation};

use super::{Search, SearchEnd};
use crate::loads;
use crate::trial::{Ahead, in_words, why_no_more};

impl Search<'_> {
    /// One more run of a load that counts; a disturbed one is made again while [`Step::is_made_again`] allows it.
    /// Returns where the step of the load is; its last run is the one that counts.
    pub(super) fn run_once(
        &mut self,
        phase: Phase,
        connections: u32,
        rate_per_s: Option<f64>,
    ) -> Result<usize, SearchEnd> {
        let is_it = |step: &Step| {
            (step.phase, step.connections, step.rate_per_s) == (phase, connections, rate_per_s)
        };
        let at = self.steps.iter().position(is_it).unwrap_or(self.steps.len());
        loop {
            let (trial, document) = self.run(connections, rate_per_s)?;
            if at == self.steps.len() {
                self.documents.push(Vec::new());
                self.steps.push(Step {
                    phase,
                    connections,
                    rate_per_s,
                    trials: Vec::new(),
                    judged: Vec::new(),
                    outcome: StepOutcome::Measured,
                });
            }
            let stopped = why_no_more(&document);
            let step = &mut self.steps[at];
            step.trials.push(trial);
            self.documents[at].push(document);
            let is_repeated = step.is_made_again();
            self.judge(at);
            match stopped {
                Some(why) => return Err(SearchEnd::Ended(why)),
                None if is_repeated => {}
                None => return Ok(at),
            }
        }
    }

    /// Judges a step by all of its runs.
    fn judge(&mut self, at: usize) {
        let step = &self.steps[at];
        let counted = step.counted();
        let is_any = |is: fn(&&&Trial) -> bool| counted.iter().filter(is).count();
        let (held, met) = (is_any(|one| one.held), is_any(|one| one.met == Some(true)));
        let all = counted.len();
        let is_judged = counted.iter().any(|trial| trial.met.is_some());
        let outcome = match is_judged {
            _ if 2 * held < all => StepOutcome::NotHeld,
            false => StepOutcome::Measured,
            true if met == all => StepOutcome::Met,
            true if met == 0 => StepOutcome::Missed,
            true if 2 * met > all => StepOutcome::MetPerhaps,
            true => StepOutcome::MissedPerhaps,
        };
        let runs = step.trials.iter().zip(&self.documents[at]);
        let counts = |trial: &Trial| counted.iter().any(|one| std::ptr::eq(*one, trial));
        let runs: Vec<&Document> = runs.filter(|one| counts(one.0)).map(|one| one.1).collect();
        let objectives = self.settings.objectives.iter().filter(|_| is_judged);
        let judged = objectives.map(|one| judged(one, &runs)).collect();
        let step = &mut self.steps[at];
        (step.outcome, step.judged) = (outcome, judged);
    }

    /// One run, if there is time for it.
    fn run(
        &mut self,
        connections: u32,
        rate_per_s: Option<f64>,
    ) -> Result<(Trial, Document), SearchEnd> {
        let elapsed_ns = self.runner.elapsed_ns();
        let left_ns = self.most_time_ns.saturating_sub(elapsed_ns);
        let length_ns = length_ns(self.plan);
        if left_ns < length_ns || self.runs >= self.most_time_ns / length_ns {
            return Err(SearchEnd::TimeOver);
        }
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
        // The number of further runs depends on their results; their time is bounded.
        self.progress.begins(&what, &Ahead { most_ns: Some(left_ns), ..Ahead::default() });
        let document = self.runner.run(0, &plan).map_err(SearchEnd::Error)?;
        self.runs += 1;
        self.progress.result(&name, &document);
        self.first.get_or_insert_with(|| (document.plan.clone(), Subject::of(&document)));
        let objectives = &self.settings.objectives;
        let met = (rate_per_s.is_some() && !objectives.is_empty())
            .then(|| objectives.iter().all(|one| is_met(one, &document)));
        let mut trial = Trial::of(name, &document);
        trial.met = met.map(|met| met && trial.held && !trial.figures.unusable);
        self.progress.done(&what, &in_words(&trial));
        Ok((trial, document))
    }
}

/// The usual length of a run.
pub(super) fn length_ns(plan: &Plan) -> u64 {
    let window_ns = plan.stop.duration_ns.unwrap_or(NS_PER_S);
    window_ns.saturating_add(plan.recording.warm_up_ns).max(1)
}

/// Whether a run meets an objective by its own figure. Chance within the run is part of the noise between runs, and
/// is found there.
fn is_met(objective: &Expectation, run: &Document) -> bool {
    let weighed = objective.weigh(&[run]);
    match weighed.standing {
        Standing::Met => true,
        Standing::NotMet => false,
        // Requests without a response count as infinitely slow.
        Standing::Unsure => objective.is_met_by(weighed.measured.unwrap_or(f64::INFINITY)),
    }
}

fn judged(objective: &Expectation, runs: &[&Document]) -> Judged {
    let weighed = objective.weigh(runs);
    Judged {
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
        enough: weighed.enough,
    }
}
