//! The document of a comparison: variants measured side by side, and the conclusions.
//!
//! Crate `lab` makes it from the [`Figures`] of runs, with crate `stats`. The first variant is the
//! baseline. The conclusion is about the primary metric; the other metrics have their own
//! correction for multiple tests (see [`Finding::p_adjusted`]).

use candor_plan::units::{fmt_count, fmt_plural, fmt_share};
use candor_stats::stationary::median;
use candor_stats::{Quantile, order, rounds};
use serde::{Deserialize, Serialize};

use super::figures::{FAILURES, Figures};
use crate::document::{Host, Tool};
use crate::document::{Judgement, Outcome};
use crate::read::{self, ReadError, Saved};

/// The value of [`Comparison::format`] that this version writes.
pub const FORMAT: &str = "candor.comparison/1";

/// Several variants, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// `candor.comparison/1`. Fields may be added under the same number.
    pub format: String,
    /// The program that made the document.
    pub tool: Tool,
    /// The command line, secrets redacted.
    pub arguments: Vec<String>,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// The machine of the loader.
    pub host: Host,
    /// The load, in words.
    pub load: String,
    /// The variants; the first is the baseline.
    pub variants: Vec<Variant>,
    /// Whether each round has one run of every variant, in its own order. Otherwise these are
    /// saved, unrelated runs.
    pub interleaved: bool,
    /// Rounds asked for; with saved results, the most of a variant.
    pub rounds_asked: u64,
    /// Confidence of the intervals, and one minus the chance of a false claim.
    pub confidence: f64,
    /// Seed of the order within rounds and of the intervals.
    pub seed: u64,
    /// The metric that decides.
    pub primary: Metric,
    /// The fewest rounds for a conclusion.
    pub rounds_needed: u64,
    /// The findings, for each variant and metric.
    pub findings: Vec<Finding>,
    /// Cautions to read before the conclusions, one sentence each.
    pub cautions: Vec<String>,
    /// The objective of `--fail-if-slower`; null without one.
    pub limit: Option<Limit>,
    /// The A/A: what two equal things differ by here and now. Omitted if the baseline was not measured twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// Objectives of the variants after the first, each by the outcomes of its runs; omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Judgement>,
    /// Whether it ended before all rounds were made.
    pub partial: bool,
    /// Whether a signal ended it; omitted if none did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Variant {
    /// Its name in sentences.
    pub name: String,
    /// Its source: a URL, a command, a plan, saved results.
    pub source: String,
    /// Its runs.
    pub trials: Vec<Trial>,
    /// Why it could not be measured to the end: its server did not start, or ended. Omitted if it could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// The baseline, compared with itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Noise {
    /// The index of the variant that is the baseline once more.
    pub variant: u64,
    /// The noise floor: the end of its interval in the primary metric that is farther from zero, as a share by which it
    /// may seem slower. Null with too few rounds.
    pub floor: Option<f64>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// Its round, from 1.
    pub round: u64,
    /// Its place within the round, from 1; 0 for saved results.
    pub position: u64,
    /// Its result document, if it is kept in a file.
    pub file: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Its figures.
    pub figures: Figures,
}

/// The compared metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Correct responses per second.
    Rate,
    /// The median of the response time.
    P50,
    /// Its 90th percentile.
    P90,
    /// Its 99th percentile.
    P99,
    /// Its 99.9th percentile.
    #[serde(rename = "p99.9")]
    P999,
    /// Share of requests without the expected response.
    Errors,
    /// The target's CPU time per response.
    Cpu,
}

impl Metric {
    /// Every metric, in the order of tables.
    pub const ALL: [Metric; 7] = [
        Metric::Rate,
        Metric::P50,
        Metric::P90,
        Metric::P99,
        Metric::P999,
        Metric::Errors,
        Metric::Cpu,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Rate => "rate",
            Metric::P50 => "p50",
            Metric::P90 => "p90",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::Errors => "errors",
            Metric::Cpu => "cpu",
        }
    }

    /// The metric of this name.
    pub fn of_name(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self == Metric::Rate
    }

    /// Whether changes are differences and not ratios: a share may be zero.
    pub fn is_difference(self) -> bool {
        self == Metric::Errors
    }

    /// The fewest independent responses of a run that bound it, if it is a percentile.
    pub fn responses_needed(self) -> Option<u64> {
        let q = Quantile::nearest(self.quantile()?);
        (1u64..).find(|n| order::is_bounded(*n, q, order::CONFIDENCE))
    }

    /// The share of responses below its figure, if it is a percentile.
    fn quantile(self) -> Option<f64> {
        match self {
            Metric::P50 => Some(0.5),
            Metric::P90 => Some(0.9),
            Metric::P99 => Some(0.99),
            Metric::P999 => Some(0.999),
            Metric::Rate | Metric::Errors | Metric::Cpu => None,
        }
    }

    /// Its value for a run: requests a second, nanoseconds, a share, microseconds.
    pub fn of(self, figures: &Figures) -> Option<f64> {
        let ns = |ns: Option<u64>| ns.map(|ns| ns as f64);
        match self {
            Metric::Rate => figures.rate_per_s,
            Metric::P50 => ns(figures.response.p50_ns),
            Metric::P90 => ns(figures.response.p90_ns),
            Metric::P99 => ns(figures.response.p99_ns),
            Metric::P999 => ns(figures.response.p999_ns),
            Metric::Errors => figures.failed_share,
            Metric::Cpu => figures.target_cpu_us,
        }
    }

    /// The same where it can be compared: the figures can be true, and it has a logarithm if ratios are compared.
    pub fn comparable(self, figures: &Figures) -> Option<f64> {
        let figure = self.of(figures).filter(|figure| figure.is_finite())?;
        (!figures.unusable && (self.is_difference() || figure > 0.0)).then_some(figure)
    }
}

/// The finding about one variant and one metric, against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// The index of the variant.
    pub variant: u64,
    /// The metric.
    pub metric: Metric,
    /// Whether it is the one that decides.
    pub primary: bool,
    /// Rounds in which both figures are known; with saved results, the smaller number of the two.
    pub rounds: u64,
    /// Median of the baseline's figures.
    pub baseline: Option<f64>,
    /// Median of the variant's figures.
    pub value: Option<f64>,
    /// The change from the baseline; null with fewer than two rounds.
    pub change: Option<Change>,
    /// Cliff's delta, in [−1, 1]: how far apart the sets of figures are.
    pub effect: Option<f64>,
    /// Rounds in which the variant's figure was higher; null if not interleaved.
    pub higher_in: Option<u64>,
    /// The chance of figures at least this far apart if the variants are the same.
    pub p: Option<f64>,
    /// The same, adjusted (Holm): the primary metric for the number of variants, all others for
    /// the number of variants times other metrics.
    pub p_adjusted: Option<f64>,
    /// The conclusion.
    pub conclusion: Conclusion,
}

/// A change: of a rate or a time (b / a) − 1, of a share b − a.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Change {
    /// The estimate.
    pub estimate: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The conclusion of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// The variant is better than the baseline.
    Better,
    /// The variant is worse.
    Worse,
    /// No difference could be distinguished from noise.
    Noise,
    /// There are too few rounds for a conclusion.
    TooFew,
}

/// An objective: no variant may be slower by more than this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limit {
    /// The share by which the primary metric may be worse.
    pub slower: f64,
    /// The outcome for each variant after the first, in their order; none in results of older versions.
    #[serde(default)]
    pub judgements: Vec<Judgement>,
}

impl Variant {
    /// Whether no request succeeded in any of its runs.
    pub fn is_failed(&self) -> bool {
        !self.trials.is_empty() && self.trials.iter().all(|trial| trial.figures.nothing_worked())
    }

    /// How it failed, other than the baseline: it could not be measured, nothing worked in a run, or more of its
    /// requests fail. `None`: it did not.
    pub fn failure(&self, baseline: &Variant) -> Option<String> {
        if let Some(why) = self.unmeasured().or_else(|| self.nothing_worked()) {
            return Some(why);
        }
        let (mine, theirs) = (self.failed_share()?, baseline.failed_share().unwrap_or(0.0));
        (mine - theirs > FAILURES).then(|| {
            format!(
                "{} of the requests of {} failed, and {} of those of {}",
                fmt_share(mine),
                self.name,
                fmt_share(theirs),
                baseline.name
            )
        })
    }

    /// That it could not be measured, and why. `None`: it could.
    fn unmeasured(&self) -> Option<String> {
        self.broken.as_ref().map(|why| format!("{} could not be measured: {why}", self.name))
    }

    /// Why nothing can be compared with it: it could not be measured, or no request succeeded. `None`: something can.
    pub fn is_no_baseline(&self) -> Option<String> {
        self.unmeasured().or_else(|| self.nothing_worked().filter(|_| self.is_failed()))
    }

    /// How many of its runs have no figure of this metric that can be compared.
    pub fn lacking(&self, metric: Metric) -> usize {
        self.trials.iter().filter(|one| metric.comparable(&one.figures).is_none()).count()
    }

    /// In how many of its runs no request succeeded, and why. `None`: in none.
    pub fn nothing_worked(&self) -> Option<String> {
        let failed = || self.trials.iter().filter(|trial| trial.figures.nothing_worked());
        let failures = &failed().next()?.figures.failures;
        let runs = fmt_plural(self.trials.len() as u64, "run");
        Some(format!(
            "no request of {} succeeded in {} of {runs} ({failures})",
            self.name,
            failed().count()
        ))
    }

    /// The median over its runs of the share of failed requests.
    pub fn failed_share(&self) -> Option<f64> {
        let shares: Vec<f64> =
            self.trials.iter().filter_map(|trial| trial.figures.failed_share).collect();
        (!shares.is_empty()).then(|| median(&shares))
    }

    /// That its runs have too few responses for this metric, and by how much. `None`: they do not.
    fn too_few_responses(&self, metric: Metric) -> Option<String> {
        let needed = metric.responses_needed()?;
        let lack = |trial: &&Trial| metric.of(&trial.figures).is_none();
        let counts: Vec<f64> =
            self.trials.iter().filter(lack).map(|trial| trial.figures.ok as f64).collect();
        let few = median(&counts) as u64;
        (!counts.is_empty() && few < needed).then(|| {
            format!(
                "{} needs at least {} responses in a run, and {} of {} had {}; make runs {} times as long{}",
                metric.name(),
                fmt_count(needed),
                fmt_plural(counts.len() as u64, "run"),
                self.name,
                fmt_count(few),
                fmt_count(needed.div_ceil(few.max(1))),
                if metric == Metric::P50 { "" } else { ", or decide by p50" }
            )
        })
    }
}

/// Why the metric has too few rounds with a figure of both variants, and what would help. `None`: no run lacks it.
pub fn why_too_few(
    both: [&Variant; 2],
    metric: Metric,
    rounds: u64,
    needed: u64,
) -> Option<String> {
    if let Some(why) = both.iter().find_map(|one| one.nothing_worked()) {
        return Some(why);
    }
    if let Some(why) = both.iter().find_map(|one| one.too_few_responses(metric)) {
        return Some(why);
    }
    let of_runs = |one: &&Variant| {
        let lacking = one.lacking(metric) as u64;
        (lacking > 0).then(|| format!("{} of {}", fmt_plural(lacking, "run"), one.name))
    };
    let lacks: Vec<String> = both.iter().filter_map(of_runs).collect();
    let mut trials = both.iter().flat_map(|one| &one.trials);
    let or = match trials.any(|trial| trial.figures.unusable) {
        true => "the figures cannot be true, or ",
        false => "",
    };
    let made = both.iter().map(|one| one.trials.len() as u64).min().unwrap_or(0);
    let help = match rounds {
        0 => "make longer runs".to_owned(),
        _ => format!("make {} rounds, or longer runs", (needed * made).div_ceil(rounds)),
    };
    (!lacks.is_empty()).then(|| {
        format!(
            "{} {} {} of both, and {needed} are needed: {or}the responses scatter too \
             much for it in {}; {help}",
            fmt_plural(rounds, "round"),
            if rounds == 1 { "has" } else { "have" },
            metric.name(),
            lacks.join(" and ")
        )
    })
}

impl Finding {
    /// How much slower the variant is, as a share of the baseline, with its interval: for times,
    /// the change itself; for a rate, how much longer a request takes, a / b − 1.
    pub fn slowdown(&self) -> Option<Change> {
        let change = self.change?;
        Some(match self.metric.more_is_better() {
            false => change,
            true => {
                let inverse = |share: f64| 1.0 / (1.0 + share) - 1.0;
                Change {
                    estimate: inverse(change.estimate),
                    low: inverse(change.high),
                    high: inverse(change.low),
                }
            }
        })
    }

    /// Whether a difference is claimed.
    pub fn is_claim(&self) -> bool {
        matches!(self.conclusion, Conclusion::Better | Conclusion::Worse)
    }
}

impl Saved for Comparison {
    const FORMAT: &'static str = FORMAT;

    fn check(&self) -> Result<(), String> {
        super::at_most("variants", self.variants.len(), 1000)?;
        super::at_most("findings", self.findings.len(), 20_000)
    }
}

impl Comparison {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        read::read(text)
    }

    /// The findings about the variant with this index.
    pub fn of_variant(&self, variant: usize) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |one| one.variant == variant as u64)
    }

    /// The finding about the variant's primary metric.
    pub fn primary_of(&self, variant: usize) -> Option<&Finding> {
        self.of_variant(variant).find(|one| one.primary)
    }

    /// The limit and the objectives, as judged.
    pub fn judgements(&self) -> impl Iterator<Item = &Judgement> {
        self.limit.iter().flat_map(|limit| &limit.judgements).chain(&self.expectations)
    }

    /// The outcome of all of them; `None` without any.
    pub fn gate(&self) -> Option<Outcome> {
        let has_some = self.limit.is_some() || !self.expectations.is_empty();
        has_some.then(|| Outcome::of_all(self.judgements().map(|one| one.outcome)))
    }

    /// Whether the variant at this place is the baseline once more.
    pub fn is_twin(&self, variant: usize) -> bool {
        self.noise.as_ref().is_some_and(|one| one.variant == variant as u64)
    }

    /// How the variant at this place failed, if it did.
    pub fn failure(&self, variant: usize) -> Option<String> {
        self.variants.get(variant)?.failure(self.variants.first()?)
    }

    /// Why too little is known of the variant at this place to conclude something. `None`: there are too few rounds.
    pub fn why_too_few(&self, variant: usize) -> Option<String> {
        let both = [self.variants.first()?, self.variants.get(variant)?];
        // Of so few saved results, longer ones would not help.
        let are_few = both.iter().any(|one| (one.trials.len() as u64) < self.rounds_needed);
        if are_few && !self.interleaved {
            return both.into_iter().find_map(Variant::nothing_worked);
        }
        let rounds = self.primary_of(variant).map_or(0, |one| one.rounds);
        why_too_few(both, self.primary, rounds, self.rounds_needed)
    }

    /// The rounds of which every variant has a run.
    pub fn complete_rounds(&self) -> u64 {
        self.variants.iter().map(|one| one.trials.len() as u64).min().unwrap_or(0)
    }

    /// The fewest rounds with which a metric other than the primary one can differ.
    pub fn rounds_for_others(&self) -> u64 {
        let tests = self.findings.iter().filter(|one| !one.primary && one.p.is_some()).count();
        rounds::fewest(1.0 - self.confidence, tests, self.interleaved)
    }

    /// What leads the conclusion about the variant at this place: the claim of the primary metric, or else of another,
    /// one that is worse before one that is better.
    pub fn leading(&self, variant: usize) -> Option<&Finding> {
        let claims = || self.of_variant(variant).filter(|one| one.is_claim());
        let worse = || claims().find(|one| one.conclusion == Conclusion::Worse);
        claims().find(|one| one.primary).or_else(worse).or_else(|| claims().next())
    }

    /// The judgement of the limit about the variant at this place.
    fn judged(&self, variant: usize) -> Option<&Judgement> {
        let at = (1..variant).filter(|at| !self.is_twin(*at)).count();
        self.limit.as_ref()?.judgements.get(at)
    }

    /// What the interval of the variant's primary metric leaves open, where no difference in it is claimed.
    pub fn open(&self, variant: usize) -> Open {
        let primary = self.primary_of(variant).filter(|one| one.conclusion == Conclusion::Noise);
        let is_undecided = self.judged(variant).is_some_and(|one| !one.met());
        let Some(change) = primary.and_then(Finding::slowdown).filter(|_| !is_undecided) else {
            return Open::Anything;
        };
        let matters = if self.primary.is_difference() { FAILURES } else { MATTERS };
        let limit = self.limit.as_ref().map_or(matters, |limit| limit.slower);
        match limit.min(matters) {
            least if change.low >= -least && change.high <= least => Open::Nothing,
            _ if change.high <= limit => Open::Faster,
            _ => Open::Anything,
        }
    }
}

/// A change of this share matters, unless the limit is smaller.
const MATTERS: f64 = 0.05;

/// What an interval leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// No change of a size that matters.
    Nothing,
    /// That the variant is faster; not that it is slower by more than is allowed.
    Faster,
    /// That it is slower too.
    Anything,
}
