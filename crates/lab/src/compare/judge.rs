//! Judges the figures of a comparison's runs.
//!
//! One metric decides: the primary one. It is tested at the promised level, divided among the
//! variants (Holm). All other metrics together have the same level again, divided among them, so
//! that looking at six metrics does not find a difference by chance. A difference is claimed only
//! if the test finds it *and* the interval excludes zero.

use std::collections::BTreeMap;

use candor_plan::units::{fmt_digits, fmt_plural, fmt_share};
use candor_report::document::Judgement;
use candor_report::document::Outcome;
use candor_report::experiment::comparison::{
    Change, Conclusion, Finding, Limit, Metric, Noise, Trial, Variant, why_too_few,
};
use candor_report::experiment::figures::FAILURES;
use candor_stats::bootstrap::{RESAMPLES, cliffs_delta};
use candor_stats::rounds::{self, Shift};
use candor_stats::stationary::median;

use super::Settings;

/// The fewest rounds with which the primary metric can differ, however far apart the figures are.
pub(crate) fn rounds_needed(variants: usize, confidence: f64, interleaved: bool) -> u64 {
    rounds::fewest(1.0 - confidence, variants.saturating_sub(1), interleaved)
}

/// The place of the variant that is the baseline once more.
pub(super) const TWIN: u64 = 1;

/// The A/A: the largest difference in the primary metric, either way, that the interval of the baseline against itself
/// has.
pub(crate) fn noise(findings: &[Finding]) -> Noise {
    let mut primaries = findings.iter().filter(|one| one.primary && one.variant == TWIN);
    let known = primaries.find(|one| one.conclusion != Conclusion::TooFew);
    let change = known.and_then(Finding::slowdown);
    Noise { variant: TWIN, floor: change.map(|one| one.low.abs().max(one.high.abs())) }
}

/// Judges the objective that no variant may be slower by more than this share. It is met only if the whole interval
/// is below it: a variant that fails is slower than any limit, and what is not known is not met.
///
/// With an A/A, a difference below the noise floor is never too slow, and one that the noise floor could lift above the
/// limit is never met. Rounds in which the variant's own run has no figure are left out of the interval, and may be those
/// in which it was slow: with more than a few of them the limit is never met.
pub(crate) fn limit(
    variants: &[Variant],
    findings: &[Finding],
    slower: f64,
    needed: u64,
    noise: Option<&Noise>,
    settings: &Settings,
) -> Limit {
    let primary_of = |at: u64| findings.iter().find(|one| one.primary && one.variant == at);
    let twin = noise.and_then(|noise| variants.get(noise.variant as usize));
    let why_unknown = noise.zip(twin).and_then(|(noise, twin)| {
        let primary = primary_of(noise.variant)?;
        why_too_few([&variants[0], twin], primary.metric, primary.rounds, needed)
    });
    let why_unknown = why_unknown.map_or(String::new(), |why| format!(" ({why})"));
    let of = |(at, variant): (u64, &Variant)| {
        let noise = noise.map(|noise| (noise, why_unknown.as_str()));
        let failure = variant.failure(&variants[0]);
        // What base measured twice does as well says nothing about this variant.
        let doubt = failure.as_ref().and_then(|_| doubt(&variants[0], twin?, variant, settings));
        let failed = (failure, doubt);
        of_variant(&variants[0], variant, primary_of(at), failed, slower, needed, noise)
    };
    let judged = (0..).zip(variants).skip(1);
    let judged = judged.filter(|(at, _)| noise.is_none_or(|noise| noise.variant != *at));
    let mut limit = Limit { slower, judgements: judged.map(of).collect() };
    let unstable =
        noise.and_then(|noise| variants.get(noise.variant as usize)?.failure(&variants[0]));
    if let Some(why) = unstable {
        let met = limit.judgements.iter_mut().filter(|one| one.outcome == Outcome::Met);
        met.for_each(|one| cannot_tell(one, &why));
    }
    limit
}

/// Says of what cannot be told that a signal ended the rounds.
pub(crate) fn interrupt(limit: &mut Limit) {
    let open = limit.judgements.iter_mut().filter(|one| one.outcome == Outcome::CannotTell);
    for one in open {
        let word = format!("{}, ", Outcome::CannotTell.word());
        one.sentence = one.sentence.replacen(&word, &format!("{word}interrupted: "), 1);
    }
}

fn cannot_tell(judgement: &mut Judgement, why: &str) {
    judgement.outcome = Outcome::CannotTell;
    judgement.sentence =
        format!("{}: {}, {why}.", judgement.expression, Outcome::CannotTell.word());
}

/// Judges the objectives of a variant by those of its runs: an outcome that more than half of them have.
pub(crate) fn expectations(name: &str, runs: &[Vec<Judgement>]) -> Vec<Judgement> {
    let objectives = runs.first().map_or(0, Vec::len);
    let judged = (0..objectives).map(|at| {
        let all: Vec<&Judgement> = runs.iter().filter_map(|run| run.get(at)).collect();
        let count = |outcome| all.iter().filter(|one| one.outcome == outcome).count();
        let most =
            [Outcome::Met, Outcome::NotMet].into_iter().find(|one| 2 * count(*one) > all.len());
        let outcome = most.unwrap_or(Outcome::CannotTell);
        let measured: Vec<f64> = all.iter().filter_map(|one| one.measured).collect();
        let expression = format!("{name}: {}", all[0].expression);
        let runs = fmt_plural(all.len() as u64, "run");
        // Without what the sentence begins with already.
        let example = all.iter().find(|one| one.outcome == outcome).map_or(String::new(), |one| {
            let said = format!("{}: {}, ", one.expression, one.outcome.word());
            match one.sentence.strip_prefix(&said) {
                Some(found) => format!("; in one of them {found}"),
                None => format!(". {}", one.sentence),
            }
        });
        Judgement {
            sentence: format!(
                "{expression}: {}; met in {} of {runs}, missed in {}{example}",
                outcome.word(),
                count(Outcome::Met),
                count(Outcome::NotMet),
            )
            .trim_end()
            .to_owned(),
            expression,
            outcome,
            measured: (!measured.is_empty()).then(|| median(&measured)),
        }
    });
    judged.collect()
}

/// Why the failure of a variant may be the machine's: the baseline, measured twice, fails as well, and the difference of the
/// failed shares is not significant, or no larger than the baseline's from itself. `None`: the failure is its own.
fn doubt(
    baseline: &Variant,
    twin: &Variant,
    variant: &Variant,
    settings: &Settings,
) -> Option<String> {
    let share = [baseline, twin].into_iter().filter_map(Variant::failed_share).reduce(f64::max)?;
    if share <= FAILURES || variant.broken.is_some() || variant.is_failed() {
        return None;
    }
    // Of all runs: one in which nothing worked has this figure, if no other.
    let shift = |other| {
        let shares = Sets::of(baseline, other, true, |trial| trial.figures.failed_share);
        shares.shift(Metric::Errors, settings.confidence, settings.seed)
    };
    let floor =
        shift(twin).map_or(f64::INFINITY, |it| it.interval.low.abs().max(it.interval.high.abs()));
    let is_own = shift(variant).is_some_and(|it| {
        it.p <= 1.0 - settings.confidence && it.interval.low > 0.0 && it.interval.estimate > floor
    });
    (!is_own).then(|| {
        format!("but {}, measured twice, had up to {}, too", baseline.name, fmt_share(share))
    })
}

/// Of ten runs of a variant that meets the limit at most one has no figure.
const FEW_OF: usize = 10;

fn of_variant(
    baseline: &Variant,
    variant: &Variant,
    primary: Option<&Finding>,
    (failure, doubt): (Option<String>, Option<String>),
    slower: f64,
    needed: u64,
    noise: Option<(&Noise, &str)>,
) -> Judgement {
    let name = &variant.name;
    let metric = primary.map_or("", |one| one.metric.name());
    let rounds = primary.map_or(0, |one| one.rounds);
    let too_few = || {
        let why =
            primary.and_then(|one| why_too_few([baseline, variant], one.metric, rounds, needed));
        why.unwrap_or_else(|| {
            format!(
                "{} {} {metric} of both, and {needed} are needed",
                fmt_plural(rounds, "round"),
                if rounds == 1 { "has" } else { "have" }
            )
        })
    };
    let change = primary.filter(|one| one.conclusion != Conclusion::TooFew);
    let change = change.and_then(Finding::slowdown);
    let is_claim = primary.is_some_and(|one| one.conclusion == Conclusion::Worse);
    let percent = |share: f64| fmt_digits(share * 100.0);
    let (outcome, found) = match (baseline.is_no_baseline(), failure, change) {
        (Some(why), ..) => (Outcome::CannotTell, why),
        (None, Some(failure), _) => match doubt {
            None => (Outcome::NotMet, failure),
            Some(doubt) => (Outcome::CannotTell, format!("{failure}; {doubt}")),
        },
        (None, None, None) => (Outcome::CannotTell, too_few()),
        (None, None, Some(change)) => {
            let floor = noise.map_or(Some(0.0), |(one, _)| one.floor).unwrap_or(f64::INFINITY);
            let told = match noise {
                None => String::new(),
                Some((Noise { floor: None, .. }, why)) => {
                    format!(", the noise floor is not known{why}")
                }
                Some((Noise { floor: Some(floor), .. }, _)) => {
                    format!(", the noise floor is {} %", percent(*floor))
                }
            };
            let Change { estimate, low, high } = change;
            let found = match (low < 0.0, high > 0.0) {
                (false, _) => {
                    format!("{name} is slower by {} … {} %{told}", percent(low), percent(high))
                }
                (true, true) => format!(
                    "{name} is between {} % faster and {} % slower{told}",
                    percent(-low),
                    percent(high)
                ),
                (true, false) => {
                    format!("{name} is faster by {} … {} %{told}", percent(-high), percent(-low))
                }
            };
            let (lacking, runs) =
                (primary.map_or(0, |one| variant.lacking(one.metric)), variant.trials.len());
            if high.max(estimate + floor) <= slower {
                match lacking * FEW_OF <= runs {
                    true => (Outcome::Met, found),
                    false => (
                        Outcome::CannotTell,
                        format!(
                            "{found}, without {lacking} of its {runs} runs, whose {metric} is not known and may be \
                             that of a slower one; make longer runs"
                        ),
                    ),
                }
            } else if low > slower && is_claim && estimate > floor {
                (Outcome::NotMet, found)
            } else {
                (Outcome::CannotTell, format!("{found}, which does not decide"))
            }
        }
    };
    // Without digits that the user did not write: 0.07 × 100 is not 7 to the last bit.
    let limit = (slower * 1e6).round() / 1e4;
    let expression = format!("{name} slower by at most {limit} % in {metric}");
    Judgement {
        sentence: format!("{expression}: {}, {found}.", outcome.word()),
        expression,
        outcome,
        measured: change.map(|one| one.estimate),
    }
}

/// Every metric of every variant against the first.
pub(crate) fn findings(
    variants: &[Variant],
    interleaved: bool,
    settings: &Settings,
) -> Vec<Finding> {
    let Some((baseline, others)) = variants.split_first() else { return Vec::new() };
    let level = 1.0 - settings.confidence;
    let mut found: Vec<Finding> = Vec::new();
    for (index, variant) in (1..).zip(others) {
        for metric in Metric::ALL {
            let primary = metric == settings.primary;
            let sets = Sets::of_metric(baseline, variant, metric, interleaved);
            if sets.a.is_empty() && sets.b.is_empty() && !primary {
                continue;
            }
            // The interval of the primary metric has the confidence of its share of the level.
            let share = if primary { level / others.len() as f64 } else { level };
            let seed = settings.seed.wrapping_add(index).wrapping_mul(31) ^ metric as u64;
            found.push(sets.finding(index, metric, primary, 1.0 - share, seed));
        }
    }
    for primary in [true, false] {
        let family: Vec<usize> = (0..found.len())
            .filter(|&i| found[i].primary == primary && found[i].p.is_some())
            .collect();
        let p: Vec<f64> = family.iter().filter_map(|&i| found[i].p).collect();
        let fewest = rounds::fewest(level, family.len(), interleaved);
        for (&i, adjusted) in family.iter().zip(rounds::holm(&p)) {
            found[i].p_adjusted = Some(adjusted);
            found[i].conclusion = conclusion(&found[i], level, fewest);
        }
    }
    found
}

fn conclusion(finding: &Finding, level: f64, fewest: u64) -> Conclusion {
    let (Some(change), Some(p)) = (finding.change, finding.p_adjusted) else {
        return Conclusion::TooFew;
    };
    if finding.rounds < fewest {
        return Conclusion::TooFew;
    }
    if p > level || (change.low <= 0.0 && change.high >= 0.0) {
        return Conclusion::Noise;
    }
    match (change.estimate > 0.0) == finding.metric.more_is_better() {
        true => Conclusion::Better,
        false => Conclusion::Worse,
    }
}

/// The figures of one metric for the tests: logarithms if ratios are compared.
struct Sets {
    /// Of the baseline.
    a: Vec<f64>,
    /// Of the variant.
    b: Vec<f64>,
    /// Whether the n-th figures of both come from the same round.
    paired: bool,
}

impl Sets {
    /// Of a metric, in the runs that may be compared.
    fn of_metric(baseline: &Variant, variant: &Variant, metric: Metric, paired: bool) -> Sets {
        Sets::of(baseline, variant, paired, |trial| metric.comparable(&trial.figures))
    }

    fn of(
        baseline: &Variant,
        variant: &Variant,
        paired: bool,
        figure: impl Fn(&Trial) -> Option<f64>,
    ) -> Sets {
        let figures = |one: &Variant| -> BTreeMap<u64, f64> {
            one.trials.iter().filter_map(|trial| Some((trial.round, figure(trial)?))).collect()
        };
        let (mut a, mut b) = (figures(baseline), figures(variant));
        if paired {
            a.retain(|round, _| b.contains_key(round));
            b.retain(|round, _| a.contains_key(round));
        }
        Sets { a: a.into_values().collect(), b: b.into_values().collect(), paired }
    }

    fn finding(
        &self,
        variant: u64,
        metric: Metric,
        primary: bool,
        confidence: f64,
        seed: u64,
    ) -> Finding {
        let shift = self.shift(metric, confidence, seed);
        let middle = |set: &[f64]| (!set.is_empty()).then(|| median(set));
        Finding {
            variant,
            metric,
            primary,
            rounds: self.a.len().min(self.b.len()) as u64,
            baseline: middle(&self.a),
            value: middle(&self.b),
            change: shift.map(|one| change(one, metric)),
            effect: shift.map(|_| cliffs_delta(&self.a, &self.b)),
            higher_in: self
                .paired
                .then(|| self.a.iter().zip(&self.b).filter(|(a, b)| b > a).count() as u64),
            p: shift.map(|one| one.p),
            p_adjusted: None,
            conclusion: Conclusion::TooFew,
        }
    }

    fn shift(&self, metric: Metric, confidence: f64, seed: u64) -> Option<Shift> {
        let scaled = |set: &[f64]| -> Vec<f64> {
            set.iter().map(|x| if metric.is_difference() { *x } else { x.ln() }).collect()
        };
        let (a, b) = (scaled(&self.a), scaled(&self.b));
        match self.paired {
            true => {
                let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
                rounds::paired(&differences, confidence, RESAMPLES, seed)
            }
            false => rounds::unpaired(&a, &b, confidence, RESAMPLES / 5, seed),
        }
    }
}

fn change(shift: Shift, metric: Metric) -> Change {
    let of = |x: f64| if metric.is_difference() { x } else { x.exp_m1() };
    let interval = shift.interval;
    Change { estimate: of(interval.estimate), low: of(interval.low), high: of(interval.high) }
}

/// Warnings about the runs that the reader needs before the conclusions.
pub(crate) fn cautions(variants: &[Variant], primary: Metric) -> Vec<String> {
    let mut all = Vec::new();
    for variant in variants {
        let runs = variant.trials.len();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for id in variant.trials.iter().flat_map(|one| &one.figures.warnings) {
            *counts.entry(id).or_default() += 1;
        }
        let ids: Vec<_> = counts.iter().map(|(id, n)| format!("{id} in {n} of {runs}")).collect();
        if !ids.is_empty() {
            all.push(format!("the runs of {} have warnings: {}", variant.name, ids.join(", ")));
        }
        if variant.trials.iter().any(|one| one.figures.is_profiled()) {
            all.push(format!(
                "runs of {} were profiled: figures are not comparable, despite the conclusions above",
                variant.name
            ));
        }
        if variant.trials.iter().any(|one| one.figures.is_unverified()) {
            all.push(format!(
                "runs of {} did not check certificates: any server could have responded",
                variant.name
            ));
        }
        // That nothing worked is said as a failure, with its reason.
        let is_unusable = |one: &&Trial| one.figures.unusable && !one.figures.nothing_worked();
        let unusable = variant.trials.iter().filter(is_unusable).count();
        if unusable > 0 {
            all.push(format!(
                "{unusable} of {runs} runs of {} are left out: they ended early, or their figures cannot be true",
                variant.name
            ));
        }
        let is_unknown = |one: &&Trial| {
            !one.figures.unusable
                && !one.figures.nothing_worked()
                && primary.comparable(&one.figures).is_none()
        };
        let unknown = variant.trials.iter().filter(is_unknown).count();
        if (1..runs).contains(&unknown) {
            all.push(format!(
                "{unknown} of {runs} runs of {} are left out of {}: their responses are too few, or scatter too much",
                variant.name,
                primary.name()
            ));
        }
    }
    all
}
