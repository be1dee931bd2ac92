//! Who is ahead of whom in one place, and by how much, as the rounds of both tell.
//!
//! The unit is the round: both were measured in it, in an order drawn for it, so the ratio of their figures
//! is free of what the machine did from round to round. The interval is Student's, of the logarithms of these
//! ratios. Where it contains 1 there is no leader, and a single round, which shows no noise, has none either.
//! The intervals of all places hold together: the 5 % are divided among them (Bonferroni), so that among many
//! places none is called different by chance.

use std::collections::BTreeMap;

use candor_plan::units::{fmt_digits, fmt_duration_ns, fmt_short};
use candor_stats::rounds;

use super::{Finding, Kind, NAMED, Noun, range};
use crate::experiment::matrix::grouped;

/// Of all intervals of a measure together.
const CONFIDENCE: f64 = 0.95;
/// Ends within this factor of 1 are a tie and not ignorance.
const TIE: f64 = 1.1;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Correct responses per second.
    Rate,
    /// The 99th percentile of the response time, in nanoseconds.
    P99,
    /// CPU time of a request, in microseconds.
    Cpu,
}

/// What one server or client did in a place.
#[derive(Debug, Clone)]
pub(super) struct Entrant<'a> {
    name: &'a str,
    /// The figure of the run that speaks for it.
    shown: f64,
    by_round: BTreeMap<u64, f64>,
    /// It could have done better.
    is_bound: bool,
}

/// A place, and who was measured in it.
#[derive(Debug)]
pub(super) struct Contest<'a> {
    pub(super) place: String,
    pub(super) entrants: Vec<Entrant<'a>>,
}

/// How many times a figure is another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratio {
    pub(super) estimate: f64,
    /// Of its interval; `None`: there is one round in which both were measured, or none.
    ends: Option<(f64, f64)>,
}

/// Somebody is ahead in a place.
struct Lead<'a> {
    place: &'a str,
    leader: &'a Entrant<'a>,
    second: &'a Entrant<'a>,
    ratio: Ratio,
}

/// How a contest ended.
enum Outcome<'a> {
    Ahead(Lead<'a>),
    Level { place: &'a str, names: Vec<&'a str>, ratio: Ratio },
}

impl<'a> Entrant<'a> {
    /// `None` if there is no figure, or none that a ratio can be of.
    pub(super) fn of(
        name: &'a str,
        shown: Option<f64>,
        by_round: impl Iterator<Item = (u64, Option<f64>)>,
        is_bound: bool,
    ) -> Option<Self> {
        let sound = |figure: &f64| figure.is_finite() && *figure > 0.0;
        let shown = shown.filter(sound)?;
        let by_round = by_round.filter_map(|(round, one)| Some((round, one.filter(sound)?)));
        Some(Entrant { name, shown, by_round: by_round.collect(), is_bound })
    }

    /// What it did in several places: the geometric mean of its figures, in the rounds that all of them have.
    pub(super) fn mean_of(all: &[&Entrant<'a>]) -> Option<Self> {
        let first = all.first()?;
        let mean = |figures: Vec<f64>| {
            (figures.iter().map(|one| one.ln()).sum::<f64>() / figures.len() as f64).exp()
        };
        let of_round = |round: &u64| {
            let figures = all.iter().map(|one| one.by_round.get(round).copied());
            Some((*round, mean(figures.collect::<Option<Vec<_>>>()?)))
        };
        let by_round: BTreeMap<u64, f64> = first.by_round.keys().filter_map(of_round).collect();
        (!by_round.is_empty()).then(|| Entrant {
            name: first.name,
            shown: mean(all.iter().map(|one| one.shown).collect()),
            by_round,
            is_bound: all.iter().any(|one| one.is_bound),
        })
    }

    /// The geometric mean over rounds.
    pub(super) fn mean(&self) -> f64 {
        let logs = self.by_round.values().map(|one| one.ln());
        (logs.sum::<f64>() / self.by_round.len() as f64).exp()
    }

    /// Whether it could have done better.
    pub(super) fn is_bound(&self) -> bool {
        self.is_bound
    }
}

impl Ratio {
    /// What `a` has, divided by what `b` has; one of this many ratios whose intervals hold together.
    pub(super) fn of(a: &Entrant<'_>, b: &Entrant<'_>, together: usize) -> Self {
        let pairs =
            a.by_round.iter().filter_map(|(round, one)| Some((one, b.by_round.get(round)?)));
        let logs: Vec<f64> = pairs.map(|(one, other)| one.ln() - other.ln()).collect();
        match rounds::mean(&logs, 1.0 - (1.0 - CONFIDENCE) / together.max(1) as f64) {
            Some(mean) => Ratio {
                estimate: mean.estimate.exp(),
                ends: Some((mean.low.exp(), mean.high.exp())),
            },
            None => Ratio { estimate: a.shown / b.shown, ends: None },
        }
    }

    /// One round cannot tell variants apart.
    fn is_level(self) -> bool {
        self.ends.is_none_or(|(low, high)| low <= 1.0 && high >= 1.0)
    }

    /// Whether its interval is above 1.
    pub(super) fn is_above_1(self) -> bool {
        self.ends.is_some_and(|(low, _)| low > 1.0)
    }

    /// The ends of its interval, if there is one.
    pub(super) fn ends(self) -> Option<(f64, f64)> {
        self.ends
    }

    fn is_tie(self) -> bool {
        self.ends.is_some_and(|(low, high)| low >= 1.0 / TIE && high <= TIE)
    }

    /// ` (95 % interval 1.47 … 1.58)`; only the first one in a sentence says what it is.
    pub(super) fn interval(self, is_first: bool) -> String {
        match (self.ends, is_first) {
            (Some((low, high)), true) => {
                format!(" (95 % interval {} … {})", times(low), times(high))
            }
            (Some((low, high)), false) => format!(" ({} … {})", times(low), times(high)),
            (None, true) => " (of one round, so without an interval)".to_owned(),
            (None, false) => String::new(),
        }
    }
}

/// A ratio in three digits, and with one more where it is close to 1.
pub(super) fn times(ratio: f64) -> String {
    match ratio {
        near if (0.95..1.05).contains(&near) => format!("{near:.3}"),
        ratio if ratio < 999.5 => fmt_digits(ratio),
        ratio => fmt_short(ratio),
    }
}

impl Measure {
    /// How many times `worse` is worse than `better`.
    fn ratio(self, better: &Entrant<'_>, worse: &Entrant<'_>, together: usize) -> Ratio {
        match self {
            Measure::Rate => Ratio::of(better, worse, together),
            Measure::P99 | Measure::Cpu => Ratio::of(worse, better, together),
        }
    }

    fn written(self, figure: f64) -> String {
        match self {
            Measure::Rate => format!("{}/s", fmt_short(figure)),
            Measure::P99 => fmt_duration_ns(figure.round() as u64),
            Measure::Cpu => format!("{} µs", fmt_digits(figure)),
        }
    }
}

impl<'a> Contest<'a> {
    /// `None`: there are not two, or one that is not ahead might have been.
    fn outcome(&'a self, measure: Measure, together: usize) -> Option<Outcome<'a>> {
        let mut order: Vec<&Entrant<'_>> = self.entrants.iter().collect();
        order.sort_by(|a, b| match measure {
            Measure::Rate => b.shown.total_cmp(&a.shown),
            Measure::P99 | Measure::Cpu => a.shown.total_cmp(&b.shown),
        });
        let [first, next, ..] = order[..] else { return None };
        let ratio = measure.ratio(first, next, together);
        // The run that is shown is one of several, and the ratio is of all.
        let (leader, second, ratio) = match ratio.estimate < 1.0 {
            true => (next, first, measure.ratio(next, first, together)),
            false => (first, next, ratio),
        };
        let others = || self.entrants.iter().filter(|one| one.name != leader.name);
        if others().any(|one| one.is_bound) {
            return None;
        }
        let place = &self.place;
        if !ratio.is_level() {
            return Some(Outcome::Ahead(Lead { place, leader, second, ratio }));
        }
        let level = |one: &&Entrant<'_>| {
            one.name == leader.name || measure.ratio(leader, one, together).is_level()
        };
        let names = self.entrants.iter().filter(level).map(|one| one.name).collect();
        Some(Outcome::Level { place, names, ratio })
    }
}

/// Who is ahead and who is level in these places; `over` says what they have in common.
pub(super) fn told(
    contests: &[Contest<'_>],
    measure: Measure,
    noun: Noun,
    over: &str,
) -> Vec<Finding> {
    let of = contests.iter().filter(|one| one.entrants.len() > 1).count();
    let outcomes: Vec<Outcome<'_>> =
        contests.iter().filter_map(|one| one.outcome(measure, of)).collect();
    let leads = outcomes.iter().filter_map(|one| match one {
        Outcome::Ahead(lead) => Some((lead.leader.name, lead)),
        Outcome::Level { .. } => None,
    });
    let levels = outcomes.iter().filter_map(|one| match one {
        Outcome::Level { place, names, ratio } => Some(((names, ratio.is_tie()), (*place, *ratio))),
        Outcome::Ahead(_) => None,
    });
    let mut leaders = grouped(leads);
    leaders.sort_by_key(|(_, leads)| std::cmp::Reverse(leads.len()));
    let kind = if measure == Measure::Cpu { Kind::Frugal } else { Kind::Ahead };
    let ahead = leaders.into_iter().map(|(name, mut leads)| {
        leads.sort_by(|a, b| b.ratio.estimate.total_cmp(&a.ratio.estimate));
        let sentence = match leads[..] {
            [only] => one_lead(only, measure, noun, over),
            _ => several_leads(
                name,
                &leads,
                measure,
                &format!("{}{over}", noun.some_of(leads.len(), of)),
            ),
        };
        Finding { kind, sentence }
    });
    let level = grouped(levels).into_iter().filter(|_| measure != Measure::Cpu);
    let level = level.map(|((names, is_tie), places)| Finding {
        kind: if is_tie { Kind::Level } else { Kind::Unclear },
        sentence: level_in(names, is_tie, &places, measure, noun, over, of),
    });
    ahead.chain(level).collect()
}

fn one_lead(lead: &Lead<'_>, measure: Measure, noun: Noun, over: &str) -> String {
    let Lead { place, leader, second, ratio } = lead;
    let (times, interval) = (times(ratio.estimate), ratio.interval(true));
    let (best, next) = (measure.written(leader.shown), measure.written(second.shown));
    let (leads, seconds) = (leader.name, second.name);
    let at = format!("{} {place}{over}", noun.before);
    let least = if leader.is_bound { "at least " } else { "" };
    match measure {
        Measure::Rate => format!(
            "{leads} is ahead of {seconds} {at}: {least}{times} times its rate{interval}, {best} against {next}."
        ),
        Measure::P99 => format!(
            "{leads} is ahead of {seconds} {at}: p99 {best} against {next}, {times} times as long{interval}."
        ),
        Measure::Cpu => format!(
            "{leads} takes the least CPU {at}: {best} a request, {seconds} {times} times as much{interval}."
        ),
    }
}

fn several_leads(leader: &str, leads: &[&Lead<'_>], measure: Measure, places: &str) -> String {
    let all = range(leads.iter().map(|one| one.ratio.estimate), times);
    let told = leads.iter().take(NAMED).enumerate().map(|(n, one)| {
        let least = if one.leader.is_bound { "at least " } else { "" };
        let interval = one.ratio.interval(n == 0);
        format!(
            "{} {least}{} × {}{interval}",
            one.place,
            times(one.ratio.estimate),
            one.second.name
        )
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let rest = match leads.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(", and {rest} more"),
    };
    match measure {
        Measure::Rate => format!(
            "{leader} is ahead {places}, at {all} times the rate of the next: {told}{rest}."
        ),
        Measure::P99 => format!(
            "{leader} is ahead {places}, where the p99 of the next is {all} times as long: {told}{rest}."
        ),
        Measure::Cpu => format!(
            "{leader} takes the least CPU {places}, the next {all} times as much: {told}{rest}."
        ),
    }
}

fn level_in(
    names: &[&str],
    is_tie: bool,
    places: &[(&str, Ratio)],
    measure: Measure,
    noun: Noun,
    over: &str,
    of: usize,
) -> String {
    let who = super::list(names);
    let what = if measure == Measure::P99 { " at p99" } else { "" };
    let how = if is_tie { "are level" } else { "cannot be told apart" };
    let told = places.iter().take(NAMED).enumerate().map(|(n, (place, ratio))| {
        let name = if places.len() == 1 { String::new() } else { format!("{place} ") };
        format!("{name}{} ×{}", times(ratio.estimate), ratio.interval(n == 0))
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let rest = match places.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(", and {rest} more"),
    };
    let at = match places {
        [(place, _)] => format!("{} {place}{over}", noun.before),
        _ => format!("{}{over}", noun.some_of(places.len(), of)),
    };
    format!("{who} {how}{what} {at}: {told}{rest}.")
}
