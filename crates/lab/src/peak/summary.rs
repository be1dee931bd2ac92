//! The summary of a search: the peak and its certainty, the limiting side.

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};
use candor_report::experiment::peak::{
    Answer, Ceiling, Confidence, Limit, Peak, Phase, Repeated, Step, Who,
};
use candor_report::experiment::trial::Trial;
use candor_stats::threshold::{self, End};

use super::Settings;
use super::ceiling::CONFIRMATIONS;

/// Two ends of a result within this share of each other are close.
const NEAR: f64 = 0.05;
/// Ends that are further apart than this share of the upper one say nothing.
const FAR: f64 = 0.5;
/// A target that uses more than this share of its cores is at its limit.
const CPU_LIMIT: f64 = 0.9;

/// The result of a search for the highest throughput.
pub(super) fn of_ceiling(ceiling: &Ceiling) -> Answer {
    let is_certain = ceiling.runs >= CONFIRMATIONS.into();
    let (low, high) = (Some(ceiling.low_per_s), Some(ceiling.high_per_s));
    let (low, high) = (low.filter(|_| is_certain), high.filter(|_| is_certain));
    Answer {
        rate_per_s: ceiling.rate_per_s,
        low_per_s: low,
        high_per_s: high,
        low_repeated: None,
        high_repeated: None,
        bracket_share: None,
        confidence: confidence(low, high),
    }
}

/// The result of a search with objectives; `None` if no rate met them.
pub(super) fn of_edge(search: &threshold::Search) -> Option<Answer> {
    let (low, high) = search.ends();
    let rate_per_s = low?.rate;
    let confirmed = |end: Option<End>| end.filter(|end| end.confirmed).map(|end| end.rate);
    let repeated = |end: End| Repeated {
        rate_per_s: end.rate,
        agreed: end.agreed.into(),
        of: (end.agreed + end.disagreed).into(),
    };
    Some(Answer {
        rate_per_s,
        low_per_s: confirmed(low),
        high_per_s: confirmed(high),
        low_repeated: low.map(repeated),
        high_repeated: high.map(repeated),
        bracket_share: high.map(|high| (high.rate - rate_per_s) / high.rate),
        confidence: confidence(confirmed(low), confirmed(high)),
    })
}

fn confidence(low: Option<f64>, high: Option<f64>) -> Confidence {
    match (low, high) {
        (Some(low), Some(high)) if high - low <= NEAR * high => Confidence::Good,
        (Some(low), Some(high)) if high - low <= FAR * high => Confidence::Fair,
        _ => Confidence::Poor,
    }
}

/// Why the search cannot tell the peak, and what would help; `None` if it can, or if it can tell that there is none.
pub(super) fn doubt(
    peak: &Peak,
    settings: &Settings,
    search: Option<&threshold::Search>,
    is_time_over: bool,
    runs: u64,
) -> Option<String> {
    let lacks_samples = peak.answer.is_some_and(|answer| {
        let is_low = |step: &&Step| step.rate_per_s == Some(answer.rate_per_s);
        let mut judged = peak.steps.iter().filter(is_low).flat_map(|step| &step.judged);
        judged.any(|one| !one.enough)
    });
    let reference = reference(peak);
    let ends = peak.answer.map(|answer| (answer.low_per_s, answer.high_per_s));
    let is_steady = match ends {
        Some((Some(low), Some(high))) => threshold::is_steady(&reference, low, high),
        _ => true,
    };
    match &peak.answer {
        Some(answer) if answer.confidence != Confidence::Poor && !lacks_samples && is_steady => {
            return None;
        }
        // No rate is met: the upper end alone says so.
        None if search.and_then(|one| one.ends().1).is_some_and(|high| high.confirmed) => {
            return None;
        }
        _ => {}
    }
    let needed = match settings.objectives.is_empty() {
        true => CONFIRMATIONS,
        false => threshold::Search::fewest_runs(),
    };
    let disturbed = peak.steps.iter().flat_map(|step| &step.trials).filter(|one| one.disturbed);
    let (why, help) = match ends {
        _ if lacks_samples => {
            ("the runs have too few requests for the objective".to_owned(), "make longer runs")
        }
        _ if !is_steady => {
            let least = reference.iter().copied().fold(f64::INFINITY, f64::min);
            let most = reference.iter().copied().fold(0.0, f64::max);
            let of = fmt_plural(reference.len() as u64, "run");
            let from = format!("from {} to {}", fmt_per_second(least), fmt_per_second(most));
            (format!("the same closed loop had {from} in {of} during the search"), QUIETER)
        }
        Some((Some(low), Some(high))) => {
            let ends = format!("{} and {}", fmt_per_second(low), fmt_per_second(high));
            (format!("the runs differ too much: the peak is between {ends}"), QUIETER)
        }
        _ if settings.most_runs < needed => {
            (format!("fewer than {needed} runs of a load confirm nothing"), "allow more")
        }
        _ if is_time_over => {
            let most = fmt_duration_ns(peak.most_time_ns.unwrap_or(0));
            (
                format!("{most} were over after {}", fmt_plural(runs, "run")),
                "allow more time, or use a quieter machine",
            )
        }
        _ if search.is_some_and(|one| one.ends().1.is_none()) => {
            ("no rate that was tried missed the objectives".to_owned(), "allow more connections")
        }
        _ => ("runs at the same rate contradict each other".to_owned(), QUIETER),
    };
    let paused = match disturbed.count() {
        0 => String::new(),
        count => format!(" This machine paused during {count} of {}.", fmt_plural(runs, "run")),
    };
    Some(format!("{why}; {help}.{paused}"))
}

/// The throughput of the ceiling's closed loop in all of its runs, from the first to the last of the search.
fn reference(peak: &Peak) -> Vec<f64> {
    let connections = peak.ceiling.map(|ceiling| ceiling.connections);
    let is_it = |step: &&Step| step.rate_per_s.is_none() && Some(step.connections) == connections;
    let runs = peak.steps.iter().filter(is_it).flat_map(Step::counted);
    runs.filter_map(|trial| trial.figures.rate_per_s).collect()
}

/// What helps against noise.
const QUIETER: &str = "make longer runs, or use a quieter machine";

/// What limits the peak, judged from the runs at the limit: the lowest rate that was too high, all
/// rates if all were too high, or the runs that confirm the ceiling.
pub(super) fn limit(steps: &[Step], target_cores: usize) -> Limit {
    let too_high = steps
        .iter()
        .filter(|step| step.phase == Phase::Search && !step.outcome.is_met())
        .min_by(|a, b| a.rate_per_s.unwrap_or(0.0).total_cmp(&b.rate_per_s.unwrap_or(0.0)));
    let confirming = || steps.iter().filter(|step| step.phase == Phase::Confirm);
    let searched = || steps.iter().filter(|step| step.phase == Phase::Search);
    let trials: Vec<&Trial> = match too_high {
        Some(step) if searched().any(|step| step.outcome.is_met()) => step.counted(),
        Some(_) => searched().flat_map(Step::counted).collect(),
        None => confirming().flat_map(Step::counted).collect(),
    };
    if trials.is_empty() {
        let why = "The search ended before it found a limit.".to_owned();
        return Limit { who: Who::Unknown, why };
    }
    let mean = |figure: &dyn Fn(&Trial) -> Option<f64>| {
        let figures: Vec<f64> = trials.iter().filter_map(|trial| figure(trial)).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    };
    let loader_cpu = mean(&|trial| trial.figures.loader_cpu_share);
    let loader = loader_cpu.map_or(String::new(), |share| {
        format!(" Its busiest thread used {} of a core.", fmt_share(share))
    });
    let busy = trials.iter().filter(|trial| !trial.loader_findings.is_empty()).count();
    if 2 * busy >= trials.len() {
        let mut findings: Vec<&str> =
            trials.iter().flat_map(|trial| &trial.loader_findings).map(String::as_str).collect();
        findings.sort_unstable();
        findings.dedup();
        let why = format!(
            "The loader, or its machine, was at its limit ({}), so the target may do more.{loader}",
            findings.join(", ")
        );
        return Limit { who: Who::Loader, why };
    }
    match mean(&|trial| trial.figures.target_cpu_share) {
        Some(cpu) if target_cores > 0 && cpu >= CPU_LIMIT * target_cores as f64 => Limit {
            who: Who::TargetCpu,
            why: format!(
                "The target used {} of its {}.{loader}",
                fmt_share(cpu / target_cores as f64),
                fmt_plural(target_cores as u64, "core")
            )
            .replace(" Its busiest", " The loader's busiest"),
        },
        Some(cpu) => Limit {
            who: Who::Target,
            why: format!(
                "The target was the limit, but not its CPU, of which it used {} of a core: it \
                 waited for something else.",
                fmt_share(cpu)
            ),
        },
        None => Limit {
            who: Who::Target,
            why: format!("The loader had CPU to spare, so the target was the limit.{loader}")
                .replace(" Its busiest", " The loader's busiest"),
        },
    }
}

/// The result, in sentences.
pub(super) fn sentences(peak: &Peak) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(why) = &peak.partial {
        said.push(format!("The search is incomplete: {why}."));
    }
    if let Some(why) = &peak.cannot_tell {
        said.push(format!("Cannot tell the peak: {why}"));
    }
    let objectives = peak.objectives.join(" and ");
    let is_certain = peak.partial.is_none() && peak.cannot_tell.is_none();
    match (&peak.answer, peak.objectives.is_empty()) {
        (None, true) => said.push("No throughput was found.".to_owned()),
        (None, false) => {
            let tried = peak.steps.iter().filter(|step| step.phase == Phase::Search);
            let rates = tried.filter_map(|step| step.rate_per_s).min_by(f64::total_cmp);
            said.push(match rates {
                Some(rate) => format!(
                    "No rate meets {objectives}: not even {}, the lowest one tried.",
                    fmt_per_second(rate)
                ),
                None => format!("No rate that could meet {objectives} was tried."),
            });
        }
        (Some(answer), true) => {
            let connections = peak.ceiling.map_or(0, |ceiling| ceiling.connections);
            let which = if is_certain {
                "The highest throughput"
            } else {
                "In these runs, the highest throughput"
            };
            said.push(format!(
                "{which} is {}, with {}.",
                fmt_per_second(answer.rate_per_s),
                fmt_plural(connections.into(), "connection")
            ));
            if let (Some(low), Some(high), Some(ceiling)) =
                (answer.low_per_s, answer.high_per_s, peak.ceiling)
            {
                said.push(format!(
                    "95 % interval of {} in random order: {} to {}.",
                    fmt_plural(ceiling.runs, "run"),
                    fmt_per_second(low),
                    fmt_per_second(high)
                ));
            }
        }
        (Some(answer), false) => {
            let rate = fmt_per_second(answer.rate_per_s);
            said.push(match is_certain {
                true => format!("{rate} is the highest rate that meets {objectives}."),
                false => {
                    format!("In these runs, {rate} is the highest rate that met {objectives}.")
                }
            });
            said.extend(repetitions(answer));
        }
    }
    if !peak.plan.work.journeys().is_empty() {
        said.push(
            "Rates of open loads count users, those of the closed loop responses.".to_owned(),
        );
    }
    said.push(peak.limit.why.clone());
    said
}

/// How often the runs at the ends agreed.
fn repetitions(answer: &Answer) -> Option<String> {
    let told = |one: Repeated, what: &str| {
        let Repeated { rate_per_s, agreed, of } = one;
        format!("{} {what} in {agreed} of {}", fmt_per_second(rate_per_s), fmt_plural(of, "run"))
    };
    let low = answer.low_repeated.filter(|one| one.of > 0).map(|one| told(one, "met it"));
    let high = answer.high_repeated.filter(|one| one.of > 0).map(|one| told(one, "missed it"));
    let ends: Vec<String> = low.into_iter().chain(high).collect();
    let width = answer
        .bracket_share
        .map_or(String::new(), |share| format!("; these are {} apart", fmt_share(share)));
    (!ends.is_empty()).then(|| format!("{}{width}.", ends.join(", ")))
}
