//! Comparisons: several variants under the same load, and the conclusions.
//!
//! Variants are measured in rounds. Each round has one run of every variant, in an order drawn for
//! that round, so that drift of the machine (heat, other work, the page cache) affects all of them
//! alike, and a difference within a round is the variants' own. Saved results are compared as two
//! sets, which is weaker; the conclusion says so.
//!
//! This module gets its runs from a function and judges their figures ([`judge`]); it starts
//! nothing and reads no clock.

mod judge;
pub(crate) mod order;
mod saved;

use candor_report::Document;
use candor_report::document::{EndReason, Host, Judgement, Tool};
use candor_report::experiment::comparison::{Comparison, FORMAT, Metric, Trial, Variant};
use candor_report::experiment::figures::Figures;

use crate::error::LabError;
use crate::trial::Outcome;

pub use saved::{Group, saved};

/// How a comparison is made and judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Rounds to make.
    pub rounds: u64,
    /// Confidence of intervals; one minus the chance of a false claim.
    pub confidence: f64,
    /// Seed of orders, runs and intervals.
    pub seed: u64,
    /// The metric that decides.
    pub primary: Metric,
    /// The share by which a variant may be slower; `None`: any.
    pub slower_limit: Option<f64>,
    /// Whether the second variant is the baseline once more: the A/A, whose difference is the noise floor. Then each
    /// order of a round occurs equally often.
    pub has_twin: bool,
}

/// The default number of rounds: enough for the secondary metrics too.
pub const DEFAULT_ROUNDS: u64 = 10;
/// The default confidence.
pub const DEFAULT_CONFIDENCE: f64 = 0.95;

/// A variant of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entrant {
    /// Its name in sentences.
    pub name: String,
    /// Its source: a URL, a command, a plan.
    pub source: String,
}

/// The caller's facts about the whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The tool.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// The machine of the loader.
    pub host: Host,
    /// The load, in words.
    pub load: String,
}

/// One run to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Its round, from 1.
    pub round: u64,
    /// Its place within the round, from 1.
    pub position: u64,
    /// The index of its variant.
    pub variant: usize,
    /// The seed of the run: the same for all of a round, so that schedules are equal.
    pub seed: u64,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// When it began.
    pub started_at: String,
    /// The same in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Its document's file, if it is kept.
    pub file: Option<String>,
    /// Its figures.
    pub figures: Figures,
    /// The objectives, as judged by it.
    pub judgements: Vec<Judgement>,
    /// Whether a signal ended it.
    pub interrupted: bool,
}

impl Measured {
    /// Of a run's document.
    pub fn of(document: &Document, file: Option<String>) -> Self {
        Measured {
            started_at: document.started_at.clone(),
            started_unix_ms: document.started_unix_ms,
            file,
            figures: Figures::of(document),
            judgements: document.expectations.clone(),
            interrupted: document.end.reason == EndReason::Interrupted,
        }
    }
}

/// Makes the rounds and judges them. `trial` makes one run.
pub fn interleaved(
    entrants: &[Entrant],
    settings: &Settings,
    about: About,
    trial: &mut dyn FnMut(Slot) -> Result<Measured, LabError>,
) -> Result<Outcome<Comparison>, LabError> {
    check(entrants.len(), settings)?;
    let mut variants: Vec<Variant> = entrants
        .iter()
        .map(|one| Variant {
            name: one.name.clone(),
            source: one.source.clone(),
            trials: Vec::new(),
            broken: None,
        })
        .collect();
    let mut judged: Vec<Vec<Vec<Judgement>>> = vec![Vec::new(); entrants.len()];
    let balanced = match settings.has_twin {
        true => order::balanced(entrants.len(), settings.seed, settings.rounds),
        false => Vec::new(),
    };
    let mut started_at = String::new();
    let mut stopped = None;
    'rounds: for round in 1..=settings.rounds {
        let order = match balanced.get(round as usize - 1) {
            Some(order) => order.clone(),
            None => order::of_round(entrants.len(), settings.seed, round),
        };
        let seed = order::seed_of_round(settings.seed, round);
        for (position, variant) in (1..).zip(order) {
            let measured = match trial(Slot { round, position, variant, seed }) {
                Ok(one) if one.interrupted => Err(LabError::Interrupted),
                other => other,
            };
            match measured {
                Ok(one) => {
                    if started_at.is_empty() {
                        started_at.clone_from(&one.started_at);
                    }
                    variants[variant].trials.push(Trial {
                        round,
                        position,
                        file: one.file,
                        started_unix_ms: one.started_unix_ms,
                        figures: one.figures,
                    });
                    judged[variant].push(one.judgements);
                }
                Err(why) => {
                    // The twin is the baseline's own server.
                    let is_twin = settings.has_twin && variant == judge::TWIN as usize;
                    let broken = if is_twin { 0 } else { variant };
                    variants[broken].broken = why.is_of_target().then(|| in_one_line(&why));
                    stopped = Some(why);
                    break 'rounds;
                }
            }
        }
    }
    let others = entrants.iter().zip(&judged).skip(if settings.has_twin { 2 } else { 1 });
    let whole = Whole {
        about,
        started_at,
        expectations: others.flat_map(|(one, runs)| judge::expectations(&one.name, runs)).collect(),
        variants,
        interleaved: true,
        rounds_asked: settings.rounds,
        cautions: Vec::new(),
        partial: stopped.is_some(),
        interrupted: matches!(stopped, Some(LabError::Interrupted)),
    };
    Ok(Outcome { document: whole.judged(settings), stopped })
}

/// An error may end with the last lines of a log.
fn in_one_line(why: &LabError) -> String {
    let why = why.to_string();
    let lines: Vec<&str> = why.lines().map(str::trim).collect();
    lines.join(" · ")
}

/// Refuses settings that cannot work before anything runs.
fn check(variants: usize, settings: &Settings) -> Result<(), LabError> {
    let usage = |message: String| Err(LabError::Usage(message));
    if variants < 2 {
        return usage("a comparison needs at least two things to compare".to_owned());
    }
    if !(0.5..1.0).contains(&settings.confidence) {
        return usage(format!(
            "a confidence of {} is out of range; write one from 50% to below 100%, e.g. 95%",
            settings.confidence
        ));
    }
    let needed = judge::rounds_needed(variants, settings.confidence, true);
    if settings.rounds < needed {
        return usage(format!(
            "{} rounds cannot distinguish {variants} variants with {} % confidence, however \
             far apart they are; make at least {needed}",
            settings.rounds,
            // Without digits that the user did not write: 0.95 × 100 is not 95 to the last bit.
            (settings.confidence * 1e6).round() / 1e4
        ));
    }
    Ok(())
}

/// Everything but the judgement.
struct Whole {
    about: About,
    started_at: String,
    variants: Vec<Variant>,
    interleaved: bool,
    rounds_asked: u64,
    cautions: Vec<String>,
    expectations: Vec<Judgement>,
    partial: bool,
    interrupted: bool,
}

impl Whole {
    fn judged(self, settings: &Settings) -> Comparison {
        let findings = judge::findings(&self.variants, self.interleaved, settings);
        let rounds_needed =
            judge::rounds_needed(self.variants.len(), settings.confidence, self.interleaved);
        let noise = settings.has_twin.then(|| judge::noise(&findings));
        let limit = settings.slower_limit.map(|slower| {
            let mut limit = judge::limit(
                &self.variants,
                &findings,
                slower,
                rounds_needed,
                noise.as_ref(),
                settings,
            );
            if self.interrupted {
                judge::interrupt(&mut limit);
            }
            limit
        });
        let mut cautions = self.cautions;
        cautions.extend(judge::cautions(&self.variants, settings.primary));
        Comparison {
            format: FORMAT.to_owned(),
            tool: self.about.tool,
            arguments: self.about.arguments,
            started_at: self.started_at,
            host: self.about.host,
            load: self.about.load,
            rounds_needed,
            variants: self.variants,
            interleaved: self.interleaved,
            rounds_asked: self.rounds_asked,
            confidence: settings.confidence,
            seed: settings.seed,
            primary: settings.primary,
            findings,
            cautions,
            limit,
            noise,
            expectations: self.expectations,
            partial: self.partial,
            interrupted: self.interrupted,
        }
    }
}

#[cfg(test)]
mod tests;
