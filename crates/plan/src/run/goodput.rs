//! Goodput: the limits that a response is under to count as a good one.
//!
//! A limit is about one response, unlike an objective, which is about all of them. Nothing is measured here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, value};
use crate::suggest::did_you_mean;
use crate::units::{fmt_duration_ns, is_time, parse_duration_ns};
use crate::values::{Typed, ValueError, refuse};

/// The limits of a good response, in nanoseconds: each figure has to be below its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Goodput {
    /// due → last byte.
    pub response_ns: Option<u64>,
    /// due → first event.
    pub first_event_ns: Option<u64>,
    /// Every gap between two events.
    pub gap_ns: Option<u64>,
    /// due → first event that is a token.
    pub ttft_ns: Option<u64>,
    /// Every gap between two events that are tokens.
    pub itl_ns: Option<u64>,
    /// (last token − first token) / (tokens − 1).
    pub tpot_ns: Option<u64>,
}

/// What a limit needs of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Events,
    Tokens,
}

const NAMES: [(&str, Needs); 6] = [
    ("response", Needs::Nothing),
    ("first-event", Needs::Events),
    ("gap", Needs::Events),
    ("ttft", Needs::Tokens),
    ("itl", Needs::Tokens),
    ("tpot", Needs::Tokens),
];

impl Goodput {
    fn places(&mut self) -> [&mut Option<u64>; NAMES.len()] {
        let Goodput { response_ns, first_event_ns, gap_ns, ttft_ns, itl_ns, tpot_ns } = self;
        [response_ns, first_event_ns, gap_ns, ttft_ns, itl_ns, tpot_ns]
    }

    /// The limits that there are, with their names.
    pub fn limits(mut self) -> impl Iterator<Item = (&'static str, u64)> {
        let limits = self.places().map(|one| *one);
        NAMES.into_iter().zip(limits).filter_map(|((name, _), limit)| Some((name, limit?)))
    }

    /// Whether each limit is of a figure that some request has: those of events, and of tokens.
    pub(crate) fn check(mut self, has_events: bool, has_tokens: bool) -> Result<(), PlanError> {
        if self == Goodput::default() || self.limits().any(|(_, ns)| !is_time(ns)) {
            return Err(value("--goodput", "a limit is a time above zero; write e.g. response<2s"));
        }
        for ((name, needs), limit) in NAMES.into_iter().zip(self.places()) {
            let (has, what) = match needs {
                Needs::Nothing => continue,
                Needs::Events => (has_events, "no request has a stream of events; add --stream"),
                Needs::Tokens => (has_tokens, "no tokens are counted; add --llm or --token"),
            };
            if limit.is_some() && !has {
                return Err(value("--goodput", format!("{name}: {what}")));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Goodput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, ns)) in self.limits().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{name} < {}", fmt_duration_ns(ns))?;
        }
        Ok(())
    }
}

impl FromStr for Goodput {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut all = Goodput::default();
        for limit in text.split(',') {
            let Some((name, time)) = limit.split_once('<') else {
                return refuse("a limit is missing; write e.g. ttft<300ms,tpot<50ms,response<2s");
            };
            let (name, time) = (name.trim(), time.trim());
            let names = NAMES.map(|(known, _)| known);
            let Some(at) = names.iter().position(|known| *known == name) else {
                return match did_you_mean(name, names) {
                    hint if hint.is_empty() => {
                        refuse(format!("a limit is for one of {}", names.join(", ")))
                    }
                    hint => refuse(format!("'{name}' has no limit{hint}")),
                };
            };
            // Elsewhere a bare number means seconds; of tokens, users would mean milliseconds.
            if time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
                return refuse(format!("the limit of {name} has no unit; write e.g. {name}<300ms"));
            }
            let ns = match parse_duration_ns(time) {
                Ok(0) => return refuse(format!("{name}: no response takes less than no time")),
                Ok(ns) => ns,
                Err(problem) => return refuse(format!("{name}: {problem}")),
            };
            if let Some(place) = all.places().into_iter().nth(at)
                && place.replace(ns).is_some()
            {
                return refuse(format!("{name} has two limits; leave one of them out"));
            }
        }
        Ok(all)
    }
}

impl Typed for Goodput {
    const EXPECTING: &'static str = "limits such as \"ttft<300ms,tpot<50ms\"";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_shown() {
        let all: Goodput = "ttft<300ms, tpot < 50ms,response<2s".parse().unwrap();
        let wanted = Goodput {
            response_ns: Some(2_000_000_000),
            ttft_ns: Some(300_000_000),
            tpot_ns: Some(50_000_000),
            ..Goodput::default()
        };
        assert_eq!(all, wanted);
        let names: Vec<_> = all.limits().collect();
        let wanted =
            [("response", 2_000_000_000), ("ttft", 300_000_000), ("tpot", 50_000_000)].to_vec();
        assert_eq!(names, wanted);
        assert_eq!(all.to_string().parse(), Ok(all), "{all}");
        let others: Goodput = "itl<20ms,gap<30ms,first-event<1s".parse().unwrap();
        assert_eq!(others.limits().count(), 3);
    }

    #[test]
    fn what_is_no_limit_is_refused_with_a_remedy() {
        for (text, part) in [
            ("", "e.g. ttft<300ms"),
            ("ttft", "e.g. ttft<300ms"),
            ("ttft<300", "write e.g. ttft<300ms"),
            ("ttft<", "write e.g. ttft<300ms"),
            ("ttft:300 tpot:50", "e.g. ttft<300ms"),
            ("tfft<300ms", "did you mean \"ttft\"?"),
            ("latency of all<300ms", "one of response, first-event, gap, ttft, itl, tpot"),
            ("ttft<300parsec", "ttft: not a duration"),
            ("ttft<0s", "less than no time"),
            ("ttft<1s,ttft<2s", "two limits"),
            ("ttft<1s,", "a limit is missing"),
        ] {
            let error = text.parse::<Goodput>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
