//! Conditions that end a run early: `error-rate > 5% for 10s`.
//!
//! A condition is an expectation's expression about single intervals, which has to hold for some time without a
//! break. This module judges intervals as they come; its caller ends the run.

use candor_plan::units::{self, fmt_duration_ns};
use candor_record::{Brief, IntervalSummary};
use candor_stats::Quantile;

use super::{Counter, Expectation, Metric, ParseError, Series, Statistic};
use crate::document::{Judgement, Outcome};

/// A condition, and how long it has held until now.
#[derive(Debug, Clone, PartialEq)]
pub struct AbortRule {
    /// As the user wrote it, trimmed.
    expression: String,
    condition: Expectation,
    for_ns: u64,
    /// Where it began to hold, without a break until now.
    since_ns: Option<u64>,
    /// Whether an interval had the figure.
    is_judged: bool,
}

impl AbortRule {
    /// Parses a condition, e.g. `error-rate > 5% for 10s`. Without `for`, one interval is enough.
    ///
    /// Errors: those of expectations; a duration that is none; a metric that intervals do not have.
    pub fn parse(expression: &str) -> Result<Self, ParseError> {
        let (condition, for_ns) = match expression.rsplit_once(" for ") {
            None => (expression, 0),
            Some((condition, duration)) => {
                let at = expression.len() - duration.trim_start().len();
                let parsed = units::parse_duration_ns(duration.trim());
                let wrong = |problem| fault(expression, at, problem);
                (condition, parsed.map_err(|error| wrong(error.to_string()))?)
            }
        };
        let condition = Expectation::parse(condition)
            .map_err(|error| ParseError { expression: expression.to_owned(), ..error })?;
        let at = expression.len() - expression.trim_start().len();
        if condition.scope.is_some() {
            let problem = "a condition is about the whole run; leave the brackets out";
            return Err(fault(expression, at, problem.to_owned()));
        }
        if !condition.is_of_intervals() {
            let problem = "intervals do not have this figure; use error-rate, availability, rate with a number, \
                           sent, ok, errors, shed, connect-errors, or min, mean, p50, p90, p99, p99.9 or max of response, service or send_lag";
            return Err(fault(expression, at, problem.to_owned()));
        }
        let expression = expression.trim().to_owned();
        Ok(AbortRule { expression, condition, for_ns, since_ns: None, is_judged: false })
    }

    /// The condition, if no interval until now had its figure.
    pub fn unjudged(&self) -> Option<&str> {
        (!self.is_judged).then_some(&self.expression)
    }

    /// An interval is over. Returns the outcome if the condition has now held for its time. An interval that has
    /// no such figure, because nothing ended or too little for the percentile, changes nothing.
    pub fn see(&mut self, interval: &IntervalSummary) -> Option<Judgement> {
        let value = self.condition.of_interval(interval)?;
        self.is_judged = true;
        if !self.condition.comparison.holds(value, self.condition.wanted) {
            self.since_ns = None;
            return None;
        }
        let since_ns = *self.since_ns.get_or_insert(interval.start_ns);
        let held_ns = interval.end_ns.saturating_sub(since_ns);
        (held_ns >= self.for_ns).then(|| Judgement {
            expression: self.expression.clone(),
            outcome: Outcome::NotMet,
            measured: Some(value),
            sentence: format!(
                "{}: this ended the run; it held from {} to {}, and in the last interval {}.",
                self.expression,
                fmt_duration_ns(since_ns),
                fmt_duration_ns(interval.end_ns),
                self.condition.show(value)
            ),
        })
    }
}

fn fault(expression: &str, byte: usize, problem: String) -> ParseError {
    let position = expression[..byte].chars().count() + 1;
    ParseError { expression: expression.to_owned(), position, problem }
}

impl Expectation {
    /// Whether intervals have its figure.
    fn is_of_intervals(&self) -> bool {
        match self.metric {
            Metric::ErrorRate | Metric::Rate | Metric::Availability => true,
            Metric::RateShare | Metric::Goodput | Metric::GoodputShare | Metric::Journeys => false,
            Metric::Count(counter) => count(counter).is_some(),
            Metric::Latency(series, statistic) => {
                times(series).is_some() && brief(&Brief::default(), statistic).is_some()
            }
        }
    }

    /// Its figure of an interval, if there is one.
    fn of_interval(&self, interval: &IntervalSummary) -> Option<f64> {
        match self.metric {
            Metric::ErrorRate => {
                let failed = interval.errors + interval.shed;
                let ended = interval.ok + failed;
                (ended > 0).then(|| failed as f64 / ended as f64)
            }
            Metric::Rate => {
                let correct = interval.ok as f64 / interval.answered.max(1) as f64;
                interval.answered_per_s.map(|per_s| per_s * correct.min(1.0))
            }
            Metric::Availability => interval.availability,
            Metric::RateShare | Metric::Goodput | Metric::GoodputShare | Metric::Journeys => None,
            Metric::Count(counter) => count(counter).map(|count| count(interval) as f64),
            Metric::Latency(series, statistic) => brief(times(series)?(interval), statistic)?,
        }
    }
}

/// How intervals count it; `None` if they do not.
fn count(counter: Counter) -> Option<fn(&IntervalSummary) -> u64> {
    match counter {
        Counter::Sent => Some(|interval| interval.sent),
        Counter::Ok => Some(|interval| interval.ok),
        Counter::Errors => Some(|interval| interval.errors),
        Counter::Shed => Some(|interval| interval.shed),
        Counter::ConnectErrors => Some(|interval| interval.connect_errors),
        _ => None,
    }
}

/// The times that intervals keep of it; `None` if they keep none.
fn times(series: Series) -> Option<fn(&IntervalSummary) -> &Brief> {
    match series {
        Series::Response => Some(|interval| &interval.response),
        Series::Service => Some(|interval| &interval.service),
        Series::SendLag => Some(|interval| &interval.send_lag),
        _ => None,
    }
}

/// A figure of an interval's distribution, if there are samples enough; `None` if intervals do not keep it.
fn brief(of: &Brief, statistic: Statistic) -> Option<Option<f64>> {
    let ns = match statistic {
        Statistic::Mean => return Some(of.mean_ns),
        Statistic::Min => of.min_ns,
        Statistic::Max => of.max_ns,
        Statistic::Quantile(Quantile::P50) => of.p50_ns,
        Statistic::Quantile(Quantile::P90) => of.p90_ns,
        Statistic::Quantile(Quantile::P99) => of.p99_ns,
        Statistic::Quantile(Quantile::P99_9) => of.p999_ns,
        Statistic::Quantile(_) => return None,
    };
    Some(ns.map(|ns| ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const S: u64 = 1_000_000_000;

    /// An interval of a second.
    fn second(number: u64, ok: u64, errors: u64) -> IntervalSummary {
        let one = testing::healthy_open_run().document().intervals[0].clone();
        let response = Brief { count: ok, p99_ns: Some(number * 1_000_000), ..Brief::default() };
        let (start_ns, end_ns) = (number * S, (number + 1) * S);
        IntervalSummary { start_ns, end_ns, ok, errors, response, ..one }
    }

    #[test]
    fn a_condition_that_no_interval_could_be_held_against_is_known() {
        let mut rule = AbortRule::parse(" p99.9 > 1ns ").unwrap();
        assert_eq!(rule.see(&second(0, 20, 0)), None);
        assert_eq!(rule.unjudged(), Some("p99.9 > 1ns"));
        let mut rule = AbortRule::parse("p99 > 10s").unwrap();
        assert_eq!(rule.see(&second(0, 20, 0)), None);
        assert_eq!(rule.unjudged(), None);
    }

    fn ends_at(rule: &str, seconds: &[(u64, u64)]) -> Option<(usize, Judgement)> {
        let mut rule = AbortRule::parse(rule).unwrap();
        let see =
            |(number, (ok, errors))| Some((number, rule.see(&second(number as u64, ok, errors))?));
        seconds.iter().copied().enumerate().find_map(see)
    }

    #[test]
    fn it_has_to_hold_without_a_break_for_its_time() {
        let bad = (90, 10);
        let good = (99, 1);
        let rule = "error-rate > 5% for 3s";
        assert_eq!(ends_at(rule, &[bad, bad, good, bad, bad, good]), None);
        let (at, judged) = ends_at(rule, &[good, bad, bad, bad, bad]).unwrap();
        assert_eq!((at, judged.outcome, judged.measured), (3, Outcome::NotMet, Some(0.1)));
        let sentence = "error-rate > 5% for 3s: this ended the run; it held from 1 s to 4 s, and in the last interval \
                        10.0 % of the scheduled requests did not succeed.";
        assert_eq!(judged.sentence, sentence);
        // Nothing ended: neither the condition nor its opposite.
        assert_eq!(ends_at(rule, &[bad, (0, 0), bad]).map(|(at, _)| at), Some(2));
        assert_eq!(ends_at(rule, &[(0, 0), (0, 0), (0, 0), bad]), None);
    }

    #[test]
    fn without_a_time_one_interval_is_enough() {
        assert_eq!(ends_at("p99 >= 2ms", &[(9, 0); 5]).map(|(at, _)| at), Some(2));
        assert_eq!(ends_at("errors > 2", &[(9, 2), (9, 3)]).map(|(at, _)| at), Some(1));
    }

    #[test]
    fn a_target_that_takes_no_connection_and_shed_requests_are_seen() {
        let healthy = second(0, 100, 0);
        let gone = IntervalSummary {
            availability: Some(0.0),
            connect_errors: 5,
            answered: 0,
            answered_per_s: Some(0.0),
            ..second(1, 0, 0)
        };
        let shed = IntervalSummary { shed: 100, ..second(1, 100, 0) };
        for (rule, one) in [
            ("availability < 50%", &gone),
            ("connect-errors > 0", &gone),
            ("rate < 1/s", &gone),
            ("error-rate >= 50%", &shed),
        ] {
            let mut rule = AbortRule::parse(rule).unwrap();
            assert!(rule.see(&healthy).is_none() && rule.see(one).is_some(), "{rule:?}");
        }
    }

    #[test]
    fn what_is_refused_and_where() {
        for (expression, position, part) in [
            ("error-rate > 5% for ever", 21, "not a duration"),
            ("error-rate > many for 5s", 14, "'many'"),
            ("[login] p99 > 1s", 1, "leave the brackets out"),
            ("p99.99 > 1s", 1, "do not have this figure"),
            ("connect.p99 > 1s", 1, "do not have this figure"),
            ("rate < 99%", 1, "do not have this figure"),
            ("unfinished > 5", 1, "do not have this figure"),
            ("eror-rate > 1% for 5s", 1, "did you mean"),
        ] {
            let error = AbortRule::parse(expression).unwrap_err();
            assert_eq!(error.position, position, "{error}");
            assert!(error.problem.contains(part), "{error}");
            assert_eq!(error.expression, expression);
        }
    }
}
