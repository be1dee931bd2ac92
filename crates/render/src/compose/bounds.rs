//! Intervals of percentiles as text: their ends, or a word why they are meaningless.
//!
//! It judges nothing: how an interval stands is the document's.

use candor_plan::units::fmt_duration_ns;
use candor_report::document::latency::{Distribution, PERCENTILES, Standing, enough_samples};

use super::words::ROWS;
use crate::page::NOTHING;

/// The interval of a percentile, or a word why it is meaningless; empty if there is none.
pub(super) fn text(distribution: &Distribution, row: &str) -> String {
    let Some(interval) = distribution.interval_ns(row) else { return String::new() };
    match (interval.standing(), interval.low_ns, interval.high_ns) {
        (Standing::Bounded, Some(low_ns), Some(high_ns)) => {
            let (low, high) = (fmt_duration_ns(low_ns), fmt_duration_ns(high_ns));
            // A common unit is written once.
            let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
            match low.split_once(' ') {
                Some((figure, own)) if unit(&high).as_deref() == Some(own) => {
                    format!("{figure}–{high}")
                }
                _ => format!("{low}–{high}"),
            }
        }
        (standing, ..) => {
            Word::of(distribution, row, standing).map_or(NOTHING, Word::text).to_owned()
        }
    }
}

/// The word for a meaningless interval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Unstable,
    OneStall,
    InClumps,
    TooFew,
}

const WORDS: [Word; 4] = [Word::Unstable, Word::OneStall, Word::InClumps, Word::TooFew];

impl Word {
    fn of(distribution: &Distribution, row: &str, standing: Standing) -> Option<Word> {
        // So many independent samples would have bounded it.
        let enough = || {
            let mut named = PERCENTILES.into_iter().filter(|q| q.to_string() == row);
            named.any(|q| enough_samples(distribution.count, q))
        };
        match standing {
            Standing::Bounded => None,
            Standing::Unstable => Some(Word::Unstable),
            Standing::OneStall => Some(Word::OneStall),
            Standing::TooFew if enough() => Some(Word::InClumps),
            Standing::TooFew => Some(Word::TooFew),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Word::Unstable => "unstable",
            Word::OneStall => "one stretch",
            Word::InClumps => "in clumps",
            Word::TooFew => "too few",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Word::Unstable => "the interval spans more than a factor of five",
            Word::OneStall => "most of the slower samples came in one stretch of the run",
            Word::InClumps => {
                "slow samples came together, and so few clumps do not bound the percentile"
            }
            Word::TooFew => "the samples do not bound the percentile from both sides",
        }
    }
}

/// An explanation of the words in place of intervals; `None` if there are none.
pub(super) fn meanings(distribution: &Distribution) -> Option<String> {
    let there: Vec<Word> = ROWS
        .iter()
        .filter_map(|row| {
            let interval = distribution.interval_ns(row)?;
            Word::of(distribution, row, interval.standing())
        })
        .collect();
    let explained: Vec<String> = WORDS
        .iter()
        .filter(|word| there.contains(word))
        .map(|word| format!("{}: {}", word.text(), word.meaning()))
        .collect();
    (!explained.is_empty()).then(|| format!("{}.", explained.join("; ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use candor_record::Histogram;
    use candor_report::document::latency::PercentileInterval;

    use super::*;

    /// `count` samples whose effective number bounds nothing.
    fn of(count: u64) -> Distribution {
        let mut histogram = Histogram::new(3);
        for sample_ns in 1..=count {
            histogram.record(sample_ns * 1000);
        }
        let interval = PercentileInterval {
            low_ns: Some(1000),
            high_ns: None,
            effective_samples: 3,
            standing: Some(Standing::TooFew),
        };
        let intervals_ns: BTreeMap<_, _> =
            PERCENTILES.into_iter().map(|q| (q.to_string(), interval)).collect();
        Distribution { intervals_ns, ..Distribution::of(&histogram) }
    }

    #[test]
    fn samples_that_would_be_enough_came_in_clumps() {
        assert_eq!(
            (text(&of(3), "p50"), text(&of(3), "p99")),
            ("too few".into(), "too few".into())
        );
        let many = of(200);
        assert_eq!(
            (text(&many, "p50"), text(&many, "p99")),
            ("in clumps".into(), "too few".into())
        );
        let meanings = meanings(&many).unwrap();
        assert!(
            meanings.starts_with("in clumps: ") && meanings.contains("; too few: "),
            "{meanings}"
        );
    }
}
