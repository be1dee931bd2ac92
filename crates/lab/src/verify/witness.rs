//! The witness: when the machine paused one of the two processes of an experiment, and which requests that touched.
//!
//! Both processes spin and notice by their own CPU time, or by a poll that took long, that they did not run
//! ([`HeldUp`](candor_record::HeldUp)). None of that comes from a measured time, so a loader that measures wrongly
//! gets no excuse from it. What a pause can excuse is bounded too: it has to begin before the tolerance is over
//! ([`PATIENCE_NS`]), and of all requests only [`MOST_TOUCHED`] may be excused.
//!
//! A time without pauses is judged in full. With some, lines are about the rest:
//! - a figure of single requests leaves out those that were touched; where that leaves too few, it is that of all, and
//!   no answer if it does not hold ([`Rest::line`]);
//! - a histogram cannot, so its quantile says no only if it would whatever the touched values were
//!   ([`Rest::quantile_line`]);
//! - a formula for a whole run has a tolerance that includes the pauses' effect ([`with_effect`]).

use candor_plan::units::{fmt_duration_ns, fmt_plural};

use super::line::{Line, Unit};
use super::values::quantile;

/// A pause that begins longer than this after a moment does not excuse its lateness.
pub(super) const PATIENCE_NS: u64 = 1_000_000;
/// The largest share of requests that pauses may touch in an experiment that can tell. With three threads that spin on
/// two cores it is some 80 %.
const MOST_TOUCHED: f64 = 0.95;
/// The least number of untouched requests of such an experiment. Each of them has to be right: a loader that measures
/// wrongly does so without pauses too.
const LEAST_REST: usize = 5;
/// The largest effect of pauses that a tolerance may include, as a share of the expected value.
const MOST_EFFECT: f64 = 0.5;

/// The times in which the machine paused one of the two processes, each a beginning and an end, in order. The default
/// is no pauses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Machine<'a> {
    pub(super) loader: &'a [(u64, u64)],
    pub(super) server: &'a [(u64, u64)],
}

impl Machine<'_> {
    /// When the server sees a request that is due to leave the loader at `at_ns`.
    pub(super) fn arrival_ns(self, at_ns: u64) -> u64 {
        past(self.server, past(self.loader, at_ns))
    }

    /// When the loader sees a response that is due to leave the server at `at_ns`.
    pub(super) fn done_ns(self, at_ns: u64) -> u64 {
        past(self.loader, past(self.server, at_ns))
    }

    /// Whether a pause can be why what was due at `due_ns` happened at `at_ns`.
    pub(super) fn touched(self, due_ns: u64, at_ns: u64) -> bool {
        let until_ns = at_ns.min(due_ns + PATIENCE_NS);
        overlaps(self.loader, due_ns, until_ns) || overlaps(self.server, due_ns, until_ns)
    }

    /// Its pauses in the first `elapsed_ns` in words.
    pub(super) fn told(self, elapsed_ns: u64) -> String {
        let all = self.loader.iter().chain(self.server);
        let within = all.filter(|(from_ns, _)| *from_ns < elapsed_ns);
        let lengths: Vec<u64> = within.map(|(from_ns, to_ns)| to_ns - from_ns).collect();
        match lengths.iter().max() {
            None => "the machine was not seen to pause".to_owned(),
            Some(&longest_ns) => format!(
                "the machine paused {}, for up to {}",
                fmt_plural(lengths.len() as u64, "time"),
                fmt_duration_ns(longest_ns)
            ),
        }
    }
}

/// When a process with these pauses sees an event of `at_ns`.
fn past(pauses: &[(u64, u64)], at_ns: u64) -> u64 {
    let next = pauses.partition_point(|&(_, to_ns)| to_ns <= at_ns);
    match pauses.get(next) {
        Some(&(from_ns, to_ns)) if from_ns <= at_ns => to_ns,
        _ => at_ns,
    }
}

/// Whether one of these pauses has a moment from `from_ns` to `until_ns`.
fn overlaps(pauses: &[(u64, u64)], from_ns: u64, until_ns: u64) -> bool {
    let next = pauses.partition_point(|&(_, to_ns)| to_ns <= from_ns);
    pauses.get(next).is_some_and(|&(begins_ns, _)| begins_ns <= until_ns)
}

/// Values, and those of them that no pause touched.
#[derive(Debug, Clone, Default)]
pub(super) struct Rest {
    all: Vec<f64>,
    untouched: Vec<f64>,
}

impl Rest {
    /// Of values, each with whether a pause touched it.
    pub(super) fn of(values: impl IntoIterator<Item = (f64, bool)>) -> Self {
        let mut rest = Rest::default();
        for (value, touched) in values {
            rest.all.push(value);
            if !touched {
                rest.untouched.push(value);
            }
        }
        rest
    }

    /// The untouched ones; all of them if these are too few to judge by.
    pub(super) fn values(&self) -> &[f64] {
        if self.is_too_little() { &self.all } else { &self.untouched }
    }

    /// `line`, which is about these [`values`](Rest::values). What holds for all of them holds, whatever touched them;
    /// what does not, is no answer if too few are untouched.
    pub(super) fn line(&self, line: Line) -> Line {
        if self.is_too_little() { line.unless_it_holds() } else { line }
    }

    /// The share of the values that was touched.
    pub(super) fn touched(&self) -> f64 {
        1.0 - self.untouched.len() as f64 / self.all.len().max(1) as f64
    }

    /// Whether too few are left to judge by. A figure without values has no such excuse.
    fn is_too_little(&self) -> bool {
        let is_touched = self.untouched.len() < self.all.len();
        is_touched && (self.untouched.len() < LEAST_REST || self.touched() > MOST_TOUCHED)
    }

    /// `line`, which is about `measured`, a quantile `q` of all values, touched ones too. If it does not hold, but could
    /// for some touched values, it is no answer.
    pub(super) fn quantile_line(&self, line: Line, q: f64, measured: f64, within: f64) -> Line {
        if self.can_have(q, measured, within) { line.unless_it_holds() } else { line }
    }

    /// Whether a quantile `q` of all values can be within `within` of `measured`: at the ends the touched ones are all
    /// less than the others, or all greater.
    fn can_have(&self, q: f64, measured: f64, within: f64) -> bool {
        let left = 1.0 - self.touched();
        let (low, high) = ((q - self.touched()) / left, q / left);
        let at = |q: f64| quantile(&self.untouched, q);
        let not_below = low <= 0.0 || at(low) <= measured + within;
        let not_above = high > 1.0 || at(high) >= measured - within;
        left < 1.0 && (left == 0.0 || (not_below && not_above))
    }
}

/// The `lines` of an experiment with these requests, and one about the requests that were touched. If they were too
/// many, a line that depends on time and does not hold is no answer. `pauses` are the words for it.
pub(super) fn told(mut lines: Vec<Line>, requests: &Rest, pauses: &str) -> Vec<Line> {
    let share = requests.touched();
    let cannot_tell = requests.is_too_little();
    let holds = lines.iter().all(|line| line.exact || line.is_yes());
    // Where none had to be left out, all of them may be touched.
    let most = if cannot_tell && holds { 1.0 } else { MOST_TOUCHED };
    let touched = Line::at_most("requests touched by a pause", Unit::Share, most, share);
    lines.push(if cannot_tell && !holds { touched.cannot_tell() } else { touched });
    let told = |line: Line| {
        let line = if cannot_tell { line.unless_it_holds() } else { line };
        let detail = (!line.exact && !line.is_yes()).then(|| pauses.to_owned());
        Line { detail: line.detail.clone().or(detail), ..line }
    };
    lines.into_iter().map(told).collect()
}

/// A line about a whole run, whose tolerance includes the `effect` of the machine's pauses on it.
pub(super) fn with_effect(
    what: impl Into<String>,
    unit: Unit,
    value: f64,
    within: f64,
    effect: f64,
    measured: f64,
) -> Line {
    let line = Line::near(what, unit, value, within + effect, measured);
    if effect > value.abs() * MOST_EFFECT { line.cannot_tell() } else { line }
}
