//! The summary of a search: the peak and its certainty, the limiting side, the knee.

use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural, fmt_share};
use candor_report::Expectation;
use candor_report::experiment::peak::{
    Answer, Ceiling, Confidence, Knee, Limit, Peak, Phase, Step, StepOutcome, Who,
};
use candor_report::experiment::trial::Trial;

/// Two ends of a result within this share of each other are close.
const NEAR: f64 = 0.05;
/// A target that uses more than this share of its cores is at its limit.
const CPU_LIMIT: f64 = 0.9;
/// Latency of this multiple of the latency at rest is beyond the knee.
const CLIMBED: f64 = 2.0;

/// The result of a search for the highest throughput.
pub(super) fn of_ceiling(ceiling: &Ceiling) -> Answer {
    let (low, high) = (Some(ceiling.low_per_s), Some(ceiling.high_per_s));
    Answer {
        rate_per_s: ceiling.rate_per_s,
        low_per_s: low,
        high_per_s: high,
        bracket_share: None,
        confidence: confidence(low, high),
    }
}

/// The result of a search with objectives; `None` if no rate met them.
pub(super) fn of_edge(steps: &[Step]) -> Option<Answer> {
    let tried = || {
        let steps = steps.iter().filter(|step| step.phase == Phase::Search);
        steps.filter_map(|step| Some((step.rate_per_s?, step.outcome)))
    };
    let lowest = |is_it: &dyn Fn(f64, StepOutcome) -> bool| {
        let those = tried().filter(|(rate, outcome)| is_it(*rate, *outcome));
        those.map(|(rate, _)| rate).min_by(f64::total_cmp)
    };
    let highest = |is_it: &dyn Fn(f64, StepOutcome) -> bool| {
        let those = tried().filter(|(rate, outcome)| is_it(*rate, *outcome));
        those.map(|(rate, _)| rate).max_by(f64::total_cmp)
    };
    let rate_per_s = highest(&|_, outcome| outcome.is_met())?;
    let missed = lowest(&|rate, outcome| rate > rate_per_s && !outcome.is_met());
    let low_per_s = highest(&|_, outcome| outcome == StepOutcome::Met);
    let beyond_doubt = |outcome| matches!(outcome, StepOutcome::Missed | StepOutcome::NotHeld);
    let high_per_s = lowest(&|rate, outcome| rate > rate_per_s && beyond_doubt(outcome));
    Some(Answer {
        rate_per_s,
        low_per_s,
        high_per_s,
        bracket_share: missed.map(|missed| (missed - rate_per_s) / missed),
        confidence: confidence(low_per_s, high_per_s),
    })
}

fn confidence(low: Option<f64>, high: Option<f64>) -> Confidence {
    match (low, high) {
        (Some(low), Some(high)) if high - low <= NEAR * high => Confidence::Good,
        (Some(_), Some(high)) if high.is_finite() => Confidence::Fair,
        _ => Confidence::Poor,
    }
}

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

/// The rate at which a percentile of response time is twice what it is at rest: the first
/// objective's, or p99.
pub(super) fn knee(steps: &[Step], objectives: &[Expectation]) -> Option<Knee> {
    let of_objective = objectives.iter().find_map(Expectation::percentile);
    let wanted = of_objective.as_deref().unwrap_or("p99");
    // If there are too few samples for the wanted percentile, a lower one.
    [wanted, "p99", "p90", "p50"].into_iter().find_map(|name| knee_of(steps, name))
}

fn knee_of(steps: &[Step], percentile: &str) -> Option<Knee> {
    let of = |step: &Step| {
        let trial = step.representative()?;
        let named = trial.figures.response.named();
        let (_, value) = named.into_iter().find(|(name, _)| *name == percentile)?;
        Some((step.rate_per_s?, value? as f64))
    };
    let mut points: Vec<(f64, f64)> = steps.iter().filter_map(of).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let &(_, at_rest) = points.first()?;
    let behind = points.iter().position(|(_, latency)| *latency >= at_rest * CLIMBED)?;
    let (before, behind) = (points[behind.checked_sub(1)?], points[behind]);
    let share = (at_rest * CLIMBED - before.1) / (behind.1 - before.1);
    Some(Knee {
        rate_per_s: before.0 + (behind.0 - before.0) * share.clamp(0.0, 1.0),
        percentile: percentile.to_owned(),
        at_rest_ns: at_rest as u64,
    })
}

/// The result, in sentences.
pub(super) fn sentences(peak: &Peak) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(why) = &peak.partial {
        said.push(format!("The search is incomplete: {why}."));
    }
    let objectives = peak.objectives.join(" and ");
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
            said.push(format!(
                "The highest throughput is {}, with {}.",
                fmt_per_second(answer.rate_per_s),
                fmt_plural(connections.into(), "connection")
            ));
            if let (Some(low), Some(high)) = (answer.low_per_s, answer.high_per_s) {
                said.push(format!(
                    "95 % interval of its runs: {} to {}.",
                    fmt_per_second(low),
                    fmt_per_second(high)
                ));
            }
        }
        (Some(answer), false) => {
            said.push(format!(
                "{} is the highest rate that meets {objectives}.",
                fmt_per_second(answer.rate_per_s)
            ));
            said.push(how_sure(answer));
        }
    }
    if !peak.plan.journeys.is_empty() {
        said.push(
            "Rates of open loads count users, those of the closed loop responses.".to_owned(),
        );
    }
    said.push(peak.limit.why.clone());
    if let Some(knee) = &peak.knee {
        said.push(format!(
            "The knee is near {}: there {} is twice its value at rest, {}.",
            fmt_per_second(knee.rate_per_s),
            knee.percentile,
            fmt_duration_ns(knee.at_rest_ns)
        ));
    }
    said
}

fn how_sure(answer: &Answer) -> String {
    let lower = answer.low_per_s.map(fmt_per_second);
    let upper = answer.high_per_s.map(fmt_per_second);
    let ends = match (lower, upper) {
        (Some(low), Some(high)) => format!("Beyond doubt, {low} meets it and {high} does not"),
        (Some(low), None) => {
            format!("Beyond doubt, {low} meets it; no rate certainly misses it")
        }
        (None, Some(high)) => {
            format!("Beyond doubt, {high} misses it; no rate certainly meets it: make longer runs")
        }
        (None, None) => "No rate is certain: make longer runs".to_owned(),
    };
    match answer.bracket_share {
        Some(share) => format!("{ends}; the search went down to {}.", fmt_share(share)),
        None => format!("{ends}."),
    }
}
