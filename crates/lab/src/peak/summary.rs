//! The summary of a search: the peak and its certainty, the limiting side.

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};
use candor_report::experiment::peak::{
    Answer, Ceiling, Confidence, Judged, Limit, Peak, Phase, Repeated, Step, Who,
};
use candor_report::experiment::trial::Trial;
use candor_stats::threshold::{self, End};

use super::Settings;
use super::ceiling::CONFIRMATIONS;

/// Two ends of a result within this share of each other are close.
const NEAR: f64 = 0.05;
/// Ends that are further apart than this share of the upper one say nothing.
const FAR: f64 = 0.5;
/// A loader that uses less than this share of a core is not what is at its limit.
const IDLE: f64 = 0.5;
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
        low_repeated: low.map(repeated).filter(|one| one.of > 0),
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
///
/// That the loader had CPU to spare is no evidence against the target where it had no more connections than `bound`.
pub(super) fn limit(steps: &[Step], target_cores: usize, bound: Option<u32>) -> Limit {
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
        // Requests that leave late from an idle loader wait for its machine.
        let why = match loader_cpu.filter(|share| *share < IDLE) {
            Some(share) => format!(
                "The loader's machine delayed it ({}), although its busiest thread used only {} of a core: the \
                 target may do more.",
                findings.join(", "),
                fmt_share(share)
            ),
            None => format!(
                "The loader, or its machine, was at its limit ({}), so the target may do more.{loader}",
                findings.join(", ")
            ),
        };
        return Limit { who: Who::Loader, why };
    }
    match (mean(&|trial| trial.figures.target_cpu_share), bound) {
        (Some(cpu), _) if target_cores > 0 && cpu >= CPU_LIMIT * target_cores as f64 => Limit {
            who: Who::TargetCpu,
            why: format!(
                "The target used {} of its {}.{loader}",
                fmt_share(cpu / target_cores as f64),
                fmt_plural(target_cores as u64, "core")
            )
            .replace(" Its busiest", " The loader's busiest"),
        },
        (_, Some(bound)) => Limit {
            who: Who::Connections,
            why: format!(
                "More than {} were not tried, so these may be the limit, and not the target; allow more.",
                fmt_plural(bound.into(), "connection")
            ),
        },
        (Some(cpu), None) => Limit {
            who: Who::Target,
            why: format!(
                "The target was the limit, but not its CPU, of which it used {} of a core: it \
                 waited for something else.",
                fmt_share(cpu)
            ),
        },
        (None, None) => Limit {
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
        if peak.nothing_worked() {
            let why = why.strip_prefix("no").map_or(why.clone(), |rest| format!("No{rest}"));
            return vec![format!("{why}.")];
        }
        said.push(format!("The search is incomplete: {why}."));
    }
    if let Some(why) = &peak.cannot_tell {
        said.push(format!("Cannot tell the peak: {why}"));
    }
    let objectives = peak.objectives.join(" and ");
    let is_certain = peak.partial.is_none() && peak.cannot_tell.is_none();
    let most = peak.steps.iter().map(|step| step.connections).max().unwrap_or(0);
    let with = match peak.limit.who {
        Who::Connections => format!(" with {}", fmt_plural(most.into(), "connection")),
        _ => String::new(),
    };
    match (&peak.answer, peak.objectives.is_empty()) {
        (None, true) => said.push("No throughput was found.".to_owned()),
        (None, false) => {
            let lowest = searched(peak)
                .min_by(|a, b| a.rate_per_s.unwrap_or(0.0).total_cmp(&b.rate_per_s.unwrap_or(0.0)));
            said.push(match lowest.and_then(|step| step.rate_per_s) {
                Some(rate) => format!(
                    "No rate {} {objectives}: not even {}, the lowest one tried.",
                    if is_certain { "meets" } else { "met" },
                    fmt_per_second(rate)
                ),
                None => format!("No rate that could meet {objectives} was tried."),
            });
            said.extend(lowest.and_then(failures));
        }
        (Some(answer), true) => {
            let connections = peak.ceiling.map_or(0, |ceiling| ceiling.connections);
            let which = match is_certain {
                true if peak.limit.who == Who::Connections => {
                    "The highest throughput that was found"
                }
                true => "The highest throughput",
                false => "In these runs, the highest throughput",
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
            said.push(match (is_certain, answer.low_per_s) {
                (true, _) => format!("{rate} is the highest rate that meets {objectives}{with}."),
                (false, Some(_)) => format!(
                    "In these runs {rate} met {objectives}; whether a higher rate does is not known."
                ),
                (false, None) => format!("No rate is confirmed to meet {objectives}."),
            });
            said.extend(repetitions(peak, answer));
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

/// The steps of the search for the edge.
fn searched(peak: &Peak) -> impl Iterator<Item = &Step> {
    peak.steps.iter().filter(|step| step.phase == Phase::Search)
}

/// How often the runs at the ends agreed: of those that count, as in the table of all loads.
fn repetitions(peak: &Peak, answer: &Answer) -> Option<String> {
    let told = |rate_per_s: f64, is_low: bool| {
        let step = searched(peak).find(|step| step.rate_per_s == Some(rate_per_s))?;
        let (met, of) = (step.met()?, step.counted().len());
        let (what, agreed) = if is_low { ("met it", met) } else { ("missed it", of - met) };
        let (rate, runs) = (fmt_per_second(rate_per_s), fmt_plural(of as u64, "run"));
        Some(format!("{rate} {what} in {agreed} of {runs}"))
    };
    let low = told(answer.rate_per_s, true);
    let high = answer.high_repeated.and_then(|high| told(high.rate_per_s, false));
    let ends: Vec<String> = low.into_iter().chain(high).collect();
    let width = answer
        .bracket_share
        .map_or(String::new(), |share| format!("; these are {} apart", fmt_share(share)));
    (!ends.is_empty()).then(|| format!("{}{width}.", ends.join(", ")))
}

/// That requests failed, where this decided: an objective for errors was missed, or so many failed that the percentile
/// is among them, for which there is no figure.
fn failures(step: &Step) -> Option<String> {
    let figures = &step.representative()?.figures;
    let share = figures.failed_share.filter(|share| *share > 0.0)?;
    let decides = |one: &Judged| one.measured.is_none() || one.expression.starts_with("err");
    step.judged.iter().filter(|one| one.standing != "met").any(decides).then(|| {
        format!(
            "There {} of the requests failed ({}); in a percentile they count as infinitely slow.",
            fmt_share(share),
            figures.failures
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_report::experiment::figures::Figures;
    use candor_report::experiment::peak::StepOutcome;

    #[test]
    fn a_loader_that_is_late_and_idle_is_not_called_at_its_limit() {
        let why = |cpu_share: f64| {
            let trial = Trial {
                name: "001".to_owned(),
                figures: Figures { loader_cpu_share: Some(cpu_share), ..Figures::default() },
                held: true,
                loader_findings: vec!["send-lag".to_owned()],
                disturbed: false,
                met: None,
            };
            let step = Step {
                phase: Phase::Confirm,
                connections: 1,
                rate_per_s: None,
                trials: vec![trial],
                judged: Vec::new(),
                outcome: StepOutcome::Measured,
            };
            let Limit { who, why } = limit(&[step], 0, Some(4));
            assert_eq!(who, Who::Loader);
            why
        };
        let idle = "The loader's machine delayed it (send-lag), although its busiest thread used only 4.13 % of a core";
        assert!(why(0.0413).starts_with(idle), "{}", why(0.0413));
        assert!(why(0.97).contains("at its limit (send-lag)") && why(0.97).contains("97.0 %"));
    }
}
