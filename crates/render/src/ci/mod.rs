//! Forms for continuous integration: what was checked, and how it came out.
//!
//! All are made of the same list of checks, which every kind of document has ([`Checks`]); [`forms`] writes them. A check
//! passes only if it is met: what cannot be told is an error in JUnit and a warning beside a pull request, so that it is
//! not overlooked, and the exit code leaves the decision to the caller. Nothing is judged here.

mod forms;
mod matrices;

use candor_plan::units::{fmt_per_second, fmt_share};
use candor_report::document::{Document, Judgement, Outcome, Severity, Verdict};
use candor_report::experiment::comparison::Comparison;
use candor_report::experiment::peak::Peak;
use candor_report::experiment::sweep::Sweep;

use crate::compose;
use crate::page::{Depth, Page};

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    name: String,
    outcome: Outcome,
    sentence: String,
}

/// Checks that belong together: a suite of JUnit's.
#[derive(Debug)]
struct Group {
    name: String,
    list: Vec<Check>,
}

/// Something that deserves a look, and is no failure.
#[derive(Debug)]
struct Warning {
    name: String,
    sentence: String,
}

/// What was checked, in what.
#[derive(Debug)]
pub struct Checks {
    title: String,
    /// The file that a failure points at: that of the suite, if there is one.
    file: String,
    started_at: String,
    time_s: f64,
    groups: Vec<Group>,
    warnings: Vec<Warning>,
    /// Names and values, for metrics.
    figures: Vec<(String, f64)>,
    /// The report on one screen.
    report: Page,
}

/// A form: its name, and what writes it.
pub type Form = (&'static str, fn(&Checks) -> String);

/// Every form.
pub const FORMS: [Form; 5] = [
    ("junit", forms::junit),
    ("github", forms::github),
    ("github-summary", forms::github_summary),
    ("gitlab", forms::gitlab),
    ("gitlab-quality", forms::gitlab_quality),
];

impl Checks {
    /// Of a command without any run, for this reason: nothing else is known.
    pub fn of_nothing(title: String, why: String) -> Self {
        let list = vec![Check::unless("there is a result", Some(why))];
        Checks {
            report: Page::new(Depth::Short, title.clone()),
            title,
            file: NO_FILE.to_owned(),
            started_at: String::new(),
            time_s: 0.0,
            groups: vec![Group { name: "run".to_owned(), list }],
            warnings: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Of a run: that most requests succeeded, that its figures can be true, and each objective.
    pub fn of_run(document: &Document) -> Self {
        let misses = compose::misses_of_run(document);
        let failure = (document.nothing_worked() || document.mostly_failed())
            .then(|| misses.into_iter().next());
        let invalid: Vec<String> = with(document, Severity::Invalid).map(in_words).collect();
        let sound = (!invalid.is_empty()).then(|| invalid.join(" "));
        let mut list = vec![
            Check::unless("most requests succeed", failure.map(Option::unwrap_or_default)),
            Check::unless("figures can be true", sound),
        ];
        list.extend(document.expectations.iter().map(Check::of));
        let warnings = with(document, Severity::Warning)
            .map(|one| Warning { name: one.id.clone(), sentence: in_words(one) });
        let mut figures = vec![
            ("candor_requests_ok".to_owned(), document.ledger.ok as f64),
            ("candor_requests_failed".to_owned(), document.ledger.failed() as f64),
        ];
        let rate = document.rate.achieved_per_s;
        figures.extend(rate.map(|per_s| ("candor_requests_per_second".to_owned(), per_s)));
        figures.extend(["p50", "p99", "p99.9"].into_iter().filter_map(|name| {
            let ns = document.latencies.response.percentile_ns(name)?;
            Some((format!("candor_response_seconds{{quantile=\"{name}\"}}"), ns as f64 / 1e9))
        }));
        Checks {
            title: format!("candor {}", document.plan.target.url),
            file: NO_FILE.to_owned(),
            started_at: document.started_at.clone(),
            time_s: document.time.elapsed_ns as f64 / 1e9,
            groups: vec![Group { name: "run".to_owned(), list }],
            warnings: warnings.collect(),
            figures,
            report: compose::run(document, Depth::Short),
        }
    }

    /// Of a comparison: that each variant works, and the limit if there is one.
    pub fn of_comparison(comparison: &Comparison) -> Self {
        let others = (1..comparison.variants.len()).filter(|at| !comparison.is_twin(*at));
        let works = (0..comparison.variants.len()).filter(|at| !comparison.is_twin(*at));
        let works = works.map(|variant| {
            let name = format!("{} works", comparison.variants[variant].name);
            match comparison.failure(variant) {
                // Another one ended the comparison before.
                None if comparison.variants[variant].trials.is_empty() => Check::unmeasured(name),
                failure => Check::unless(name, failure),
            }
        });
        let slowdowns = others.filter_map(|at| {
            let change = comparison.primary_of(at)?.slowdown()?;
            let name = forms::label(&comparison.variants[at].name);
            Some((format!("candor_slower{{variant=\"{name}\"}}"), change.estimate))
        });
        let floor = comparison.noise.as_ref().and_then(|one| one.floor);
        let floor = floor.map(|share| ("candor_noise_floor".to_owned(), share));
        let names = compose::entrants(comparison);
        let trials = comparison.variants.iter().flat_map(|one| &one.trials);
        let cautions = comparison.cautions.iter();
        Checks {
            title: format!("candor compare: {}", names.join(", ")),
            file: NO_FILE.to_owned(),
            started_at: comparison.started_at.clone(),
            time_s: trials.map(|one| one.figures.window_s).sum(),
            groups: vec![Group {
                name: "comparison".to_owned(),
                list: works.chain(comparison.judgements().map(Check::of)).collect(),
            }],
            warnings: cautions
                .map(|one| Warning { name: "caution".to_owned(), sentence: one.clone() })
                .collect(),
            figures: slowdowns.chain(floor).collect(),
            report: compose::comparison(comparison, Depth::Short),
        }
    }

    /// Of a peak: that a rate meets the objectives.
    pub fn of_peak(peak: &Peak) -> Self {
        let name = match peak.objectives.is_empty() {
            true => "a peak is found".to_owned(),
            false => format!("a rate meets {}", peak.objectives.join(" and ")),
        };
        let outcome = match (&peak.answer, &peak.cannot_tell, &peak.partial) {
            _ if peak.nothing_worked() => Outcome::NotMet,
            (_, Some(_), _) | (_, _, Some(_)) => Outcome::CannotTell,
            (Some(_), None, None) => Outcome::Met,
            (None, None, None) => Outcome::NotMet,
        };
        let trials = peak.steps.iter().flat_map(|one| &one.trials);
        let rate = peak.answer.filter(|_| peak.is_confirmed());
        let rate = rate.map(|one| ("candor_peak_per_second".to_owned(), one.rate_per_s));
        Checks {
            title: format!("candor peak {}", peak.plan.target.url),
            file: NO_FILE.to_owned(),
            started_at: peak.started_at.clone(),
            time_s: trials.map(|one| one.figures.window_s).sum(),
            groups: vec![Group {
                name: "peak".to_owned(),
                list: vec![Check { name, outcome, sentence: peak.sentences.join(" ") }],
            }],
            warnings: Vec::new(),
            figures: rate.into_iter().collect(),
            report: compose::peak(peak, Depth::Short),
        }
    }

    /// Of a sweep: that requests succeed at each rate.
    pub fn of_sweep(sweep: &Sweep) -> Self {
        let list = sweep.rows.iter().map(|row| {
            let name = format!("requests succeed at {}", fmt_per_second(row.rate_per_s));
            if row.trials.is_empty() {
                return Check::unmeasured(name);
            }
            let figures = &row.shown().unwrap_or(&row.trials[0]).figures;
            let failure = match (row.nothing_worked(), row.fails()) {
                (true, _) => Some(format!("no request succeeded ({})", figures.failures)),
                (false, true) => {
                    let share = fmt_share(figures.errors_share.unwrap_or(1.0));
                    Some(format!("{share} of the requests failed ({})", figures.failures))
                }
                (false, false) => None,
            };
            Check::unless(name, failure)
        });
        let figures = sweep.rows.iter().filter_map(|row| {
            let p99 = row.shown()?.figures.response.p99_ns?;
            let rate = row.rate_per_s;
            let name = format!("candor_response_seconds{{rate_per_s=\"{rate}\",quantile=\"p99\"}}");
            Some((name, p99 as f64 / 1e9))
        });
        let trials = sweep.rows.iter().flat_map(|one| &one.trials);
        Checks {
            title: format!("candor sweep {}", sweep.plan.target.url),
            file: NO_FILE.to_owned(),
            started_at: sweep.started_at.clone(),
            time_s: trials.map(|one| one.figures.window_s).sum(),
            groups: vec![Group { name: "sweep".to_owned(), list: list.collect() }],
            warnings: Vec::new(),
            figures: figures.collect(),
            report: compose::sweep(sweep, Depth::Short),
        }
    }

    /// In the form of this name; `None`: there is none.
    pub fn in_form(&self, name: &str) -> Option<String> {
        let (_, write) = FORMS.into_iter().find(|(one, _)| *one == name)?;
        Some(write(self))
    }

    fn all(&self) -> impl Iterator<Item = &Check> {
        self.groups.iter().flat_map(|one| &one.list)
    }
}

/// Stands for the file where no suite has one.
const NO_FILE: &str = "candor";

impl Check {
    /// Met, unless there is a failure.
    fn unless(name: impl Into<String>, failure: Option<String>) -> Check {
        let outcome = if failure.is_some() { Outcome::NotMet } else { Outcome::Met };
        Check { name: name.into(), outcome, sentence: failure.unwrap_or_default() }
    }

    /// Of something without a run.
    fn unmeasured(name: String) -> Check {
        let sentence = format!("{name}: cannot tell: it was not measured.");
        Check { name, outcome: Outcome::CannotTell, sentence }
    }

    fn of(judgement: &Judgement) -> Check {
        Check {
            name: judgement.expression.clone(),
            outcome: judgement.outcome,
            sentence: judgement.sentence.clone(),
        }
    }
}

fn with(document: &Document, severity: Severity) -> impl Iterator<Item = &Verdict> {
    document.verdicts.iter().filter(move |one| one.severity == severity)
}

/// The words of a verdict: the finding and its remedy.
fn in_words(verdict: &Verdict) -> String {
    match verdict.remedy.is_empty() {
        true => verdict.sentence.clone(),
        false => format!("{} → {}", verdict.sentence, verdict.remedy),
    }
}

#[cfg(test)]
mod tests;
