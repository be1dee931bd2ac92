//! Lines with an expected and a measured value, and a plain yes or no; or, where the machine paused too much for
//! either, cannot tell.

use candor_plan::units::{fmt_count, fmt_duration_ns, fmt_per_second, fmt_share};
use serde::Serialize;

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Requests, or other things that are counted.
    Count,
    /// Per second.
    PerS,
    /// A share of one.
    Share,
}

/// The expectation for a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Expected {
    /// Exactly this.
    Exactly {
        /// The number.
        value: f64,
    },
    /// This, within a tolerance.
    Near {
        /// The number.
        value: f64,
        /// How far off it may be.
        within: f64,
    },
    /// No more than this.
    AtMost {
        /// The number.
        value: f64,
    },
}

/// The answer of a line, of a check, or of all of them: the last one in this order that occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// As expected.
    Yes,
    /// The machine paused too much for a yes or a no.
    CannotTell,
    /// Not as expected.
    No,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The quantity compared.
    pub what: String,
    /// Unit of the numbers.
    pub unit: Unit,
    /// The expected value.
    pub expected: Expected,
    /// The measured value.
    pub measured: f64,
    /// Whether it must hold on any machine, however busy, because no timing is involved.
    pub exact: bool,
    /// Whether it holds.
    pub answer: Answer,
    /// How often its experiment was done.
    pub runs: u32,
    /// Further evidence, if it is no yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Line {
    /// A count with one right value, on any machine.
    pub fn exactly(what: impl Into<String>, value: u64, measured: u64) -> Self {
        let expected = Expected::Exactly { value: value as f64 };
        Line::new(what, Unit::Count, expected, measured as f64, true)
    }

    /// An event that must not happen on any machine; with the details if it did.
    pub fn never(what: impl Into<String>, measured: u64, detail: String) -> Self {
        let detail = (measured > 0).then_some(detail);
        Line { detail, ..Line::exactly(what, 0, measured) }
    }

    /// A number that may be off by `within`, which depends on how busy the machine is.
    pub fn near(
        what: impl Into<String>,
        unit: Unit,
        value: f64,
        within: f64,
        measured: f64,
    ) -> Self {
        Line::new(what, unit, Expected::Near { value, within }, measured, false)
    }

    /// A number with a limit, which depends on how busy the machine is.
    pub fn at_most(what: impl Into<String>, unit: Unit, value: f64, measured: f64) -> Self {
        Line::new(what, unit, Expected::AtMost { value }, measured, false)
    }

    fn new(
        what: impl Into<String>,
        unit: Unit,
        expected: Expected,
        measured: f64,
        exact: bool,
    ) -> Self {
        // A number that could not be measured is not as expected.
        let holds = match expected {
            Expected::Exactly { value } => measured == value,
            Expected::Near { value, within } => (measured - value).abs() <= within,
            Expected::AtMost { value } => measured <= value,
        };
        let answer = if holds { Answer::Yes } else { Answer::No };
        Line { what: what.into(), unit, expected, measured, exact, answer, runs: 1, detail: None }
    }

    /// The same line where the machine paused too much to judge it. Exact lines have no such excuse.
    pub fn cannot_tell(mut self) -> Self {
        if !self.exact {
            self.answer = Answer::CannotTell;
        }
        self
    }

    /// The same where the machine paused too much for a no.
    pub fn unless_it_holds(self) -> Self {
        if self.is_yes() { self } else { self.cannot_tell() }
    }

    /// Whether it holds.
    pub fn is_yes(&self) -> bool {
        self.answer == Answer::Yes
    }

    /// Whether it does not hold, although it must on any machine.
    pub fn is_contradiction(&self) -> bool {
        self.exact && !self.is_yes()
    }

    /// The worst answer of `lines`.
    pub fn worst<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Answer {
        lines.into_iter().map(|line| line.answer).max().unwrap_or(Answer::Yes)
    }

    /// The same line for one of several runs.
    pub fn of(mut self, run: &str) -> Self {
        self.what = format!("{}, {run}", self.what);
        self
    }

    /// Joins the same lines of several runs: counts add up, and of other numbers the one that comes closest to its own
    /// run's bound stands, with that bound.
    pub fn join(lines: Vec<Line>) -> Vec<Line> {
        let mut joined: Vec<Line> = Vec::new();
        for line in lines {
            let same = |known: &&mut Line| known.what == line.what;
            match joined.iter_mut().find(same) {
                Some(known) => known.take_in(line),
                None => joined.push(line),
            }
        }
        // Lines that hold on any machine come first.
        joined.sort_by_key(|line| !line.exact);
        joined
    }

    fn take_in(&mut self, other: Line) {
        match (self.expected, other.expected) {
            (Expected::Exactly { value }, Expected::Exactly { value: more }) => {
                self.expected = Expected::Exactly { value: value + more };
                self.measured += other.measured;
            }
            _ if (other.answer, other.strain()) > (self.answer, self.strain()) => {
                (self.expected, self.measured) = (other.expected, other.measured);
            }
            _ => {}
        }
        self.answer = self.answer.max(other.answer);
        self.runs = self.runs.max(other.runs);
        self.detail = match (self.detail.take(), other.detail) {
            (Some(one), Some(other)) if one != other => Some(format!("{one}; {other}")),
            (one, other) => one.or(other),
        };
    }

    /// How much of its tolerance is used, 1 for all of it.
    fn strain(&self) -> f64 {
        let (off, most) = match self.expected {
            Expected::Exactly { value } => ((self.measured - value).abs(), 0.0),
            Expected::Near { value, within } => ((self.measured - value).abs(), within),
            Expected::AtMost { value } => (self.measured, value),
        };
        match off.is_finite() {
            true => off / most.max(f64::MIN_POSITIVE),
            false => f64::INFINITY,
        }
    }

    /// The expectation as text: `10 ms ± 200 µs`.
    pub fn expected_text(&self) -> String {
        match self.expected {
            Expected::Exactly { value } => self.unit.text(value),
            Expected::Near { value, within } => {
                format!("{} ± {}", self.unit.text(value), self.unit.text(within))
            }
            Expected::AtMost { value } => format!("≤ {}", self.unit.text(value)),
        }
    }

    /// The measured value, as text.
    pub fn measured_text(&self) -> String {
        self.unit.text(self.measured)
    }
}

impl Unit {
    fn text(self, value: f64) -> String {
        if !value.is_finite() {
            return "–".to_owned();
        }
        let sign = if value < 0.0 { "−" } else { "" };
        let size = value.abs();
        let text = match self {
            Unit::Ns => fmt_duration_ns(size.round() as u64),
            Unit::Count => fmt_count(size.round() as u64),
            Unit::PerS => fmt_per_second(size),
            Unit::Share => fmt_share(size),
        };
        format!("{sign}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joined_line_has_the_bound_of_the_run_whose_number_it_has() {
        let touched = |most: f64, share: f64| Line::at_most("touched", Unit::Share, most, share);
        let near = |within: f64, rate: f64| Line::near("rate", Unit::PerS, 1000.0, within, rate);
        let joined = |lines: Vec<Line>| {
            let joined = Line::join(lines).remove(0);
            (joined.expected_text(), joined.measured_text(), joined.answer)
        };
        let shown = |expected: &str, measured: &str, answer| {
            (expected.to_owned(), measured.to_owned(), answer)
        };
        let lines = || vec![touched(0.95, 0.6), touched(1.0, 0.99), touched(0.95, 0.3)];
        assert_eq!(joined(lines()), shown("≤ 100 %", "99.00 %", Answer::Yes));
        assert_eq!(
            joined(lines().into_iter().rev().collect()),
            shown("≤ 100 %", "99.00 %", Answer::Yes)
        );
        // The lower one is farther off, and a no comes before any yes.
        let slow = vec![near(100.0, 1020.0), near(300.0, 720.0), near(300.0, 1010.0)];
        assert_eq!(joined(slow), shown("1,000/s ± 300/s", "720/s", Answer::Yes));
        let no = vec![near(100.0, 850.0), near(300.0, 1299.0)];
        assert_eq!(joined(no), shown("1,000/s ± 100/s", "850/s", Answer::No));
    }

    #[test]
    fn a_line_is_judged_and_written() {
        let line = Line::near("p50", Unit::Ns, 10e6, 200e3, 10.15e6);
        assert!(line.is_yes() && !line.exact);
        assert_eq!(line.expected_text(), "10 ms ± 200 µs");
        assert_eq!(line.measured_text(), "10.2 ms");
        assert!(!Line::near("p50", Unit::Ns, 10e6, 200e3, 10.3e6).is_yes());
        assert!(!Line::at_most("p50", Unit::Ns, 10e6, f64::NAN).is_yes(), "nothing is not little");
        let exact = Line::exactly("requests", 1000, 1000);
        assert!(exact.is_yes() && exact.exact);
        assert_eq!(Line::exactly("requests", 3, 2).cannot_tell().answer, Answer::No);
        assert_eq!(Line::never("lost", 2, "two".to_owned()).detail.as_deref(), Some("two"));
        assert_eq!(Line::near("error", Unit::Ns, 0.0, 5e3, -2e3).measured_text(), "−2 µs");
    }
}
