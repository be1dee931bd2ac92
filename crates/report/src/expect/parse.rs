//! `METRIC COMPARISON VALUE` to an [`Expectation`].
//!
//! A metric is `error-rate`, `rate`, `availability`, a count of the ledger, or a figure of a distribution:
//! `[SERIES.]min|mean|max|pN`, where the series is `response` by default. The unit of the value
//! follows from the metric.

use std::cmp::Ordering::{Equal, Greater, Less};

use candor_plan::redact::{refused, without_refused};
use candor_plan::suggest::did_you_mean;
use candor_plan::units;
use candor_stats::Quantile;

use super::{Comparison, Counter, Expectation, Metric, Series, Statistic};

/// The error for an invalid expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}', character {position}: {}",
    refused(expression),
    without_refused(problem, expression)
)]
pub struct ParseError {
    /// The expression.
    pub expression: String,
    /// The place in it, in characters from 1.
    pub position: usize,
    /// The fault there, and the remedy.
    pub problem: String,
}

const COMPARISONS: [(&str, Comparison); 8] = [
    ("<=", Comparison(&[Less, Equal])),
    (">=", Comparison(&[Greater, Equal])),
    ("==", Comparison(&[Equal])),
    ("!=", Comparison(&[Less, Greater])),
    ("<", Comparison(&[Less])),
    (">", Comparison(&[Greater])),
    ("≤", Comparison(&[Less, Equal])),
    ("≥", Comparison(&[Greater, Equal])),
];

const SERIES: [(&str, Series); 16] = [
    ("response", Series::Response),
    ("queue_wait", Series::QueueWait),
    ("send_lag", Series::SendLag),
    ("service", Series::Service),
    ("first_byte", Series::FirstByte),
    ("connect", Series::Connect),
    ("first_event", Series::FirstEvent),
    ("gap", Series::Gap),
    ("last_event", Series::LastEvent),
    ("longest_gap", Series::LongestGap),
    ("time_to_first_token", Series::FirstToken),
    ("ttft", Series::FirstToken),
    ("inter_token_latency", Series::TokenGap),
    ("itl", Series::TokenGap),
    ("time_per_output_token", Series::TimePerOutputToken),
    ("tpot", Series::TimePerOutputToken),
];

const COUNTERS: [(&str, Counter); 9] = [
    ("scheduled", Counter::Scheduled),
    ("sent", Counter::Sent),
    ("ok", Counter::Ok),
    ("broken-off", Counter::BrokenOff),
    ("errors", Counter::Errors),
    ("shed", Counter::Shed),
    ("unsent", Counter::Unsent),
    ("unfinished", Counter::Unfinished),
    ("connect-errors", Counter::ConnectErrors),
];

const STATISTICS: [(&str, Statistic); 3] =
    [("min", Statistic::Min), ("mean", Statistic::Mean), ("max", Statistic::Max)];

/// A problem at a byte of the expression.
type Problem = (usize, String);

impl Expectation {
    /// Parses an expression, e.g. `p99 < 5ms`.
    pub fn parse(expression: &str) -> Result<Self, ParseError> {
        parse(expression).map_err(|(byte, problem)| ParseError {
            expression: expression.to_owned(),
            position: expression[..byte].chars().count() + 1,
            problem,
        })
    }
}

fn parse(expression: &str) -> Result<Expectation, Problem> {
    let trimmed_start = expression.len() - expression.trim_start().len();
    let comparison_at = expression.find(['<', '>', '=', '!', '≤', '≥']).ok_or_else(|| {
        let end = expression.trim_end().len();
        (end, "a comparison is missing; write for example 'p99 < 5ms'".to_owned())
    })?;
    let (scope, name) =
        scoped(expression[..comparison_at].trim()).map_err(|problem| (trimmed_start, problem))?;
    if name.is_empty() {
        return Err((
            comparison_at,
            "a metric is missing before the comparison, such as p99".into(),
        ));
    }
    let (symbol, comparison) = comparison_of(&expression[comparison_at..]).ok_or_else(|| {
        (comparison_at, "this is not a comparison; use <, <=, >, >=, == or !=".to_owned())
    })?;
    let rest_at = comparison_at + symbol.len();
    let rest = &expression[rest_at..];
    let value_at = rest_at + (rest.len() - rest.trim_start().len());
    let value = rest.trim();
    if value.is_empty() {
        return Err((value_at, "a value is missing after the comparison".to_owned()));
    }
    let metric = metric(name).map_err(|problem| (trimmed_start, problem))?;
    let (metric, wanted) = wanted(metric, value).map_err(|problem| (value_at, problem))?;
    let expression = expression.trim().to_owned();
    Ok(Expectation { expression, scope, metric, comparison, wanted })
}

/// `[login] p99`: the step or journey, and the metric.
fn scoped(text: &str) -> Result<(Option<String>, &str), String> {
    let Some(inner) = text.strip_prefix('[') else { return Ok((None, text)) };
    match inner.split_once(']') {
        Some((name, metric)) if !name.trim().is_empty() => {
            Ok((Some(name.trim().to_owned()), metric.trim()))
        }
        Some(_) => {
            Err("the brackets are empty; write the name of a step or journey in them".to_owned())
        }
        None => Err("the bracket does not end; write for example '[login] p99 < 5ms'".to_owned()),
    }
}

fn comparison_of(text: &str) -> Option<(&'static str, Comparison)> {
    COMPARISONS.into_iter().find(|(symbol, _)| text.starts_with(symbol))
}

fn metric(name: &str) -> Result<Metric, String> {
    match name {
        "error-rate" | "error_rate" => return Ok(Metric::ErrorRate),
        "rate" => return Ok(Metric::RateShare),
        "goodput" => return Ok(Metric::GoodputShare),
        "availability" => return Ok(Metric::Availability),
        "journeys/s" => return Ok(Metric::Journeys),
        _ => {}
    }
    if let Some(counter) = lookup(&COUNTERS, name) {
        return Ok(Metric::Count(counter));
    }
    // `gap p99` is `gap.p99`; `service.p99.9`: the series is before the first point, unless that is `p99.9` itself.
    let (series_name, statistic_name) = match name.split_once(char::is_whitespace) {
        Some((series, statistic)) => (series, statistic.trim_start()),
        None => match name.split_once('.') {
            Some((series, statistic)) if percentile_number(series).is_none() => (series, statistic),
            _ => ("response", name),
        },
    };
    let Some(series) = lookup(&SERIES, &series_name.replace('-', "_")) else {
        return Err(unknown(series_name, &SERIES.map(|(name, _)| name)));
    };
    if let Some(statistic) = lookup(&STATISTICS, statistic_name) {
        return Ok(Metric::Latency(series, statistic));
    }
    match percentile_number(statistic_name).map(|percent| Quantile::nearest(percent / 100.0)) {
        Some(q) if q.is_inside() => Ok(Metric::Latency(series, Statistic::Quantile(q))),
        Some(_) => Err(format!("'{statistic_name}' is not between p0 and p100; use min or max")),
        None => {
            let mut known = vec!["p50", "p90", "p99", "p99.9"];
            known.extend(STATISTICS.map(|(name, _)| name));
            known.extend(["error-rate", "rate", "goodput", "availability", "journeys/s"]);
            known.extend(COUNTERS.map(|(name, _)| name));
            Err(unknown(statistic_name, &known))
        }
    }
}

/// The number of `p99.9`; `None` if it is not of that form.
fn percentile_number(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
        .then(|| digits.parse().ok())
        .flatten()
}

/// The value in the unit of the metric. Its form decides between the two metrics of `rate`, and of `goodput`.
fn wanted(metric: Metric, value: &str) -> Result<(Metric, f64), String> {
    let parsed = match metric {
        // Elsewhere a bare number means seconds; here users would more often mean milliseconds.
        Metric::Latency(..) if value.bytes().all(|b| b.is_ascii_digit() || b == b'.') => {
            return Err(format!("'{value}' has no unit; write for example {value}ms"));
        }
        Metric::Latency(..) => units::parse_duration_ns(value).map(|ns| (metric, ns as f64)),
        // For errors, a share means the error rate.
        Metric::Count(Counter::Errors) if value.ends_with('%') => {
            units::parse_share(value).map(|share| (Metric::ErrorRate, share))
        }
        Metric::Count(_) => units::parse_count(value).map(|count| (metric, count as f64)),
        // It is the whole, of which every run has less: hardly what is meant.
        Metric::ErrorRate if value.parse() == Ok(1.0) => {
            return Err(format!("'{value}' is 100 %; write 1% or 100%"));
        }
        Metric::ErrorRate | Metric::Availability => {
            units::parse_share(value).map(|share| (metric, share))
        }
        Metric::RateShare | Metric::Rate if value.ends_with('%') => {
            units::parse_share(value).map(|share| (Metric::RateShare, share))
        }
        Metric::GoodputShare | Metric::Goodput if value.ends_with('%') => {
            units::parse_share(value).map(|share| (Metric::GoodputShare, share))
        }
        Metric::GoodputShare | Metric::Goodput => {
            units::parse_rate_or_zero(value).map(|rate| (Metric::Goodput, rate.per_s_f64()))
        }
        Metric::Journeys => units::parse_rate_or_zero(value).map(|rate| (metric, rate.per_s_f64())),
        Metric::RateShare | Metric::Rate => {
            units::parse_rate_or_zero(value).map(|rate| (Metric::Rate, rate.per_s_f64()))
        }
    };
    parsed.map_err(|error| format!("'{value}': {error}"))
}

fn lookup<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn unknown(name: &str, known: &[&str]) -> String {
    match did_you_mean(name, known.iter().copied()) {
        hint if hint.is_empty() => {
            format!("'{name}' is not known; use one of {}", known.join(", "))
        }
        hint => format!("'{name}' is not known{hint}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(expression: &str) -> (Metric, Comparison, f64) {
        let expectation = Expectation::parse(expression).unwrap();
        (expectation.metric, expectation.comparison, expectation.wanted)
    }

    fn latency(series: Series, percent: f64) -> Metric {
        Metric::Latency(series, Statistic::Quantile(Quantile::nearest(percent / 100.0)))
    }

    #[test]
    fn what_can_be_said() {
        let below = Comparison(&[Less]);
        let at_least = Comparison(&[Greater, Equal]);
        let response = Series::Response;
        assert_eq!(parsed("p99 < 5ms"), (latency(response, 99.0), below, 5e6));
        assert_eq!(
            parsed(" p99.9<=10ms "),
            (latency(response, 99.9), Comparison(&[Less, Equal]), 1e7)
        );
        assert_eq!(
            parsed("response.p50 > 1us"),
            (latency(response, 50.0), Comparison(&[Greater]), 1e3)
        );
        assert_eq!(parsed("service.p99.99 < 1s").0, latency(Series::Service, 99.99));
        assert_eq!(parsed("send-lag.p99 < 1ms").0, latency(Series::SendLag, 99.0));
        assert_eq!(
            parsed("queue_wait.max < 1s").0,
            Metric::Latency(Series::QueueWait, Statistic::Max)
        );
        assert_eq!(parsed("gap  p99.9 < 1s").0, latency(Series::Gap, 99.9));
        assert_eq!(parsed("first-event p99 < 1s").0, latency(Series::FirstEvent, 99.0));
        assert_eq!(parsed("mean < 1s").0, Metric::Latency(response, Statistic::Mean));
        assert_eq!(parsed("error-rate < 0.1%"), (Metric::ErrorRate, below, 0.001));
        assert_eq!(parsed("errors < 0.1%"), (Metric::ErrorRate, below, 0.001));
        assert_eq!(
            parsed("errors == 0"),
            (Metric::Count(Counter::Errors), Comparison(&[Equal]), 0.0)
        );
        assert_eq!(parsed("rate >= 99%"), (Metric::RateShare, at_least, 0.99));
        assert_eq!(parsed("rate ≥ 20k/s"), (Metric::Rate, at_least, 20_000.0));
        assert_eq!(parsed("rate>20k").0, Metric::Rate);
        assert_eq!(parsed("goodput >= 95%"), (Metric::GoodputShare, at_least, 0.95));
        assert_eq!(parsed("goodput >= 4/s"), (Metric::Goodput, at_least, 4.0));
        assert_eq!(parsed("availability >= 99.9%"), (Metric::Availability, at_least, 0.999));
        assert_eq!(parsed("connect-errors == 0").0, Metric::Count(Counter::ConnectErrors));
        assert_eq!(parsed("journeys/s > 150"), (Metric::Journeys, Comparison(&[Greater]), 150.0));
        let of_step = Expectation::parse(" [log in] p99 < 300ms").unwrap();
        assert_eq!(of_step.scope.as_deref(), Some("log in"));
        assert_eq!(of_step.metric, latency(response, 99.0));
        for counter in ["shed", "unsent", "unfinished", "ok", "broken-off", "sent", "scheduled"] {
            assert!(matches!(parsed(&format!("{counter} != 1k")).0, Metric::Count(_)));
        }
    }

    #[test]
    fn what_cannot_and_where() {
        for (expression, position, part) in [
            ("", 1, "comparison is missing"),
            ("p99", 4, "comparison is missing"),
            ("< 5ms", 1, "metric is missing"),
            ("p99 <", 6, "value is missing"),
            ("p99 = 5ms", 5, "not a comparison"),
            ("p99 < 5", 7, "5ms"),
            ("p99 < > 5ms", 7, "'> 5ms': not a duration; write"),
            ("p99 < 5parsec", 7, "'5parsec': not a duration; write"),
            ("p99 < -1ms", 7, "negative"),
            ("rate >= 5/fortnight", 9, "not a rate; write"),
            ("  eror-rate < 1%", 3, "did you mean"),
            ("error < 1", 1, "did you mean \"errors\"?"),
            ("servce.p99 < 1ms", 1, "did you mean \"service\"?"),
            ("p100 < 1ms", 1, "use min or max"),
            ("p1.2.3 < 1ms", 1, "not known"),
            ("wibble-wobble < 1", 1, "use one of p50"),
            ("shed < 1%", 8, "'1%': not a count; write"),
            ("µ99 < 5", 1, "did you mean \"p99\"?"),
            ("[login p99 < 5ms", 1, "the bracket does not end"),
            ("[] p99 < 5ms", 1, "the brackets are empty"),
            ("[login] < 5ms", 9, "metric is missing"),
            ("error-rate < 5", 14, "'5': too large; a share can be at most 1 without a % sign"),
            ("error-rate < 1", 14, "'1' is 100 %"),
        ] {
            let error = Expectation::parse(expression).unwrap_err();
            assert_eq!(error.position, position, "{error}");
            assert!(error.problem.contains(part), "{error}");
        }
    }

    #[test]
    fn a_mistyped_percentile_is_shown() {
        let error = Expectation::parse("pp99 < 5ms").unwrap_err();
        let said = "'pp99 < 5ms', character 1: 'pp99' is not known; did you mean \"p99\"?";
        assert_eq!(error.to_string(), said);
        let token = Expectation::parse("s3cretToken42 < 5ms").unwrap_err().to_string();
        assert!(!token.contains("s3cret") && token.contains("use one of p50"), "{token}");
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,24}") {
            let _ = Expectation::parse(&text);
        }

        #[test]
        fn no_mangled_expression_is_too_odd(text in "[a-z]{0,4}[p.]{0,2}[0-9.]{0,4} ?[<>=!≤≥]{0,2} ?[0-9.]{0,4}[a-zµ%/]{0,3}") {
            let _ = Expectation::parse(&text);
        }
    }
}
