//! The line protocol of drivers (docs/drivers.md): commands, and the meaning of replies.
//!
//! Text comes in and checked values go out. Pure: no process, no clock. Drivers are untrusted, and
//! their figures are compared with those of others, so a reply that contradicts itself or the
//! command is refused with the reason.

use std::collections::BTreeMap;
use std::time::Duration;

use candor_plan::suggest::did_you_mean;
use candor_record::{Exact, Histogram};
use serde::{Deserialize, Serialize};

use super::driver::shown;

/// The protocol that a driver must announce.
const SPOKEN: &str = "candor.driver/1";
/// Significant digits of drivers' histograms.
const DIGITS: u8 = 3;
/// Kinds of errors, in the order of docs/drivers.md.
pub const KINDS: [&str; 8] =
    ["timeout", "pool-timeout", "refused", "closed", "status", "body", "crash", "other"];
/// Kinds of errors that are complete responses of the server.
const ANSWERED: [&str; 2] = ["status", "body"];
/// The longest part of an example to keep.
const EXAMPLE_CHARACTERS: usize = 200;

/// The line that asks a driver for its description.
pub(crate) const DESCRIBE: &str = r#"{"do":"describe"}"#;

/// A driver's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The client library.
    pub client: String,
    /// Its version.
    pub version: String,
    /// The language runtime of the driver.
    pub runtime: String,
}

/// A command to measure one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Ask<'a> {
    #[serde(rename = "do")]
    pub(crate) what: &'static str,
    pub(crate) url: &'a str,
    pub(crate) pool: u64,
    pub(crate) concurrency: u64,
    pub(crate) warm_up_ms: u64,
    pub(crate) duration_ms: u64,
    pub(crate) timeout_ms: u64,
    pub(crate) expect_status: u16,
    pub(crate) expect_body_bytes: Option<u64>,
}

impl Ask<'_> {
    /// The command as a line.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts always are JSON")
    }
}

/// Requests by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Got the expected response.
    pub ok: u64,
    /// Errors, by kind.
    pub errors: BTreeMap<String, u64>,
}

impl Counts {
    /// All requests.
    pub fn all(&self) -> u64 {
        self.ok + self.errors.values().sum::<u64>()
    }

    /// Requests that got a complete response, correct or wrong.
    pub fn answered(&self) -> u64 {
        self.ok + ANSWERED.iter().filter_map(|kind| self.errors.get(*kind)).sum::<u64>()
    }

    fn plus(&self, other: &Counts) -> Counts {
        let mut sum = self.clone();
        sum.ok += other.ok;
        for (kind, count) in &other.errors {
            *sum.errors.entry(kind.clone()).or_default() += count;
        }
        sum
    }
}

/// The counts of a driver in one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Length of the window.
    pub window_ns: u64,
    /// Requests that ended in it.
    pub inside: Counts,
    /// Requests that ended before or after it.
    pub outside: Counts,
    /// An example of each kind of error.
    pub examples: BTreeMap<String, String>,
    /// Latencies of the correct responses in the window.
    pub latency: Histogram,
}

impl Answer {
    /// Everything that the callers sent.
    pub fn total(&self) -> Counts {
        self.inside.plus(&self.outside)
    }
}

/// Parses the reply to `describe`; an error explains why the line is invalid.
pub(crate) fn described(line: &str) -> Result<Described, String> {
    #[derive(Deserialize)]
    struct Line {
        driver: Option<String>,
        client: Option<String>,
        version: Option<String>,
        runtime: Option<String>,
        error: Option<String>,
    }
    let said: Line = json(line)?;
    if let Some(error) = said.error {
        return Err(format!("the driver reports: {}", shown(&error)));
    }
    let driver = said.driver.unwrap_or_default();
    if driver != SPOKEN {
        return Err(format!(
            "the driver uses the protocol \"{}\" and not {SPOKEN}",
            shown(&driver)
        ));
    }
    let needed = |name: &str, value: Option<String>| match value {
        Some(value) if !value.is_empty() => Ok(shown(&value)),
        _ => Err(format!("the driver's reply to \"describe\" has no \"{name}\"")),
    };
    Ok(Described {
        client: needed("client", said.client)?,
        version: needed("version", said.version)?,
        runtime: needed("runtime", said.runtime)?,
    })
}

/// Parses the reply to `ask`; an error explains why the line is invalid. `took` is the time until
/// the reply came.
pub(crate) fn answered(line: &str, ask: &Ask<'_>, took: Duration) -> Result<Answer, String> {
    #[derive(Deserialize)]
    struct Refusal {
        error: Option<String>,
    }
    if let Refusal { error: Some(error) } = json(line)? {
        return Err(format!("the driver reports: {}", shown(&error)));
    }
    let said: Line = serde_json::from_str(line)
        .map_err(|error| format!("the driver's reply does not follow docs/drivers.md: {error}"))?;
    said.checked(ask, took)
        .map_err(|wrong| format!("the driver's reply contradicts itself: {wrong}"))
}

fn json<T: for<'de> Deserialize<'de>>(line: &str) -> Result<T, String> {
    serde_json::from_str(line)
        .map_err(|_| format!("the driver printed an invalid reply: {}", shown(line)))
}

#[derive(Deserialize)]
struct Line {
    pool: u64,
    concurrency: u64,
    window_ns: u64,
    ok: u64,
    errors: BTreeMap<String, u64>,
    examples: BTreeMap<String, String>,
    outside: Outside,
    latency_ns: Latency,
}

#[derive(Deserialize)]
struct Outside {
    ok: u64,
    errors: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Latency {
    min: Option<u64>,
    max: Option<u64>,
    sum: u64,
    counts: Vec<(u64, u64)>,
}

impl Line {
    fn checked(self, ask: &Ask<'_>, took: Duration) -> Result<Answer, String> {
        if (self.pool, self.concurrency) != (ask.pool, ask.concurrency) {
            return Err(format!(
                "it has pool {} and concurrency {}, but {} and {} were asked for",
                self.pool, self.concurrency, ask.pool, ask.concurrency
            ));
        }
        let asked_ns = ask.duration_ms * 1_000_000;
        if self.window_ns < asked_ns || u128::from(self.window_ns) > took.as_nanos() {
            return Err(format!(
                "the window is {} ns long, but {asked_ns} were asked for, and the reply came after {}",
                self.window_ns,
                took.as_nanos()
            ));
        }
        let inside = counts(self.ok, self.errors)?;
        let outside = counts(self.outside.ok, self.outside.errors)?;
        let mut sum = [inside.ok, outside.ok]
            .into_iter()
            .chain(inside.errors.values().chain(outside.errors.values()).copied());
        if sum.try_fold(0u64, u64::checked_add).is_none() {
            return Err("it has more requests than can be counted".to_owned());
        }
        let latency = self.latency_ns.histogram()?;
        if latency.count() != inside.ok {
            return Err(format!("{} latencies of {} responses", latency.count(), inside.ok));
        }
        let cut = |text: String| text.chars().take(EXAMPLE_CHARACTERS).collect();
        let examples = self.examples.into_iter().map(|(kind, text)| (kind, cut(text))).collect();
        Ok(Answer { window_ns: self.window_ns, inside, outside, examples, latency })
    }
}

fn counts(ok: u64, mut errors: BTreeMap<String, u64>) -> Result<Counts, String> {
    if let Some(kind) = errors.keys().find(|kind| !KINDS.contains(&kind.as_str())) {
        let hint = did_you_mean(kind, KINDS);
        return Err(format!("unknown kind of error \"{}\"{hint}", shown(kind)));
    }
    errors.retain(|_, count| *count > 0);
    Ok(Counts { ok, errors })
}

impl Latency {
    fn histogram(self) -> Result<Histogram, String> {
        let exact = match (self.min, self.max) {
            (Some(min_ns), Some(max_ns)) => Some(Exact { min_ns, max_ns, sum_ns: self.sum.into() }),
            _ => None,
        };
        Histogram::of_places(DIGITS, &self.counts, exact)
            .map_err(|wrong| format!("latency_ns: {wrong}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::ASK;

    const GOOD: &str = r#"{"pool":5,"concurrency":4,"window_ns":100000000,"ok":3,"errors":{"timeout":2,"body":1},
        "examples":{"timeout":"t","body":"b"},"outside":{"ok":7,"errors":{"timeout":1}},
        "latency_ns":{"min":5,"max":4097,"sum":8198,"counts":[[5,1],[4096,2]]}}"#;

    fn of(line: &str) -> Result<Answer, String> {
        answered(&line.replace('\n', " "), &ASK, Duration::from_millis(150))
    }

    #[test]
    fn the_question_is_that_of_the_page() {
        let line = ASK.line();
        for part in ["\"do\":\"run\"", "\"expect_body_bytes\":null", "\"warm_up_ms\":10"] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn an_answer_is_taken_as_it_is() {
        let answer = of(GOOD).unwrap();
        assert_eq!((answer.window_ns, answer.inside.ok, answer.outside.ok), (100_000_000, 3, 7));
        let total = answer.total();
        assert_eq!((total.all(), total.answered()), (14, 11));
        assert_eq!(total.errors["timeout"], 3);
        let mut recorded = Histogram::new(3);
        [5, 4096, 4097].into_iter().for_each(|value| recorded.record(value));
        assert_eq!(answer.latency, recorded);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (from, to, words) in [
            ("\"pool\":5", "\"pool\":6", "but 5 and 4 were asked for"),
            ("\"window_ns\":100000000", "\"window_ns\":99999999", "the window is"),
            ("\"window_ns\":100000000", "\"window_ns\":200000000", "the reply came after"),
            ("\"ok\":3", "\"ok\":4", "3 latencies of 4 responses"),
            ("\"timeout\":2", "\"timeot\":2", "did you mean \"timeout\""),
            ("[4096,2]", "[4097,2]", "lowest value of its bucket"),
            ("\"sum\":8198", "\"sum\":1", "latency_ns: the sum"),
            ("\"ok\":7", "\"ok\":18446744073709551615", "more requests than"),
            ("\"examples\"", "\"exampels\"", "missing field `examples`"),
            ("\"ok\":3", "\"ok\":-3", "docs/drivers.md"),
        ] {
            let line = GOOD.replacen(from, to, 1);
            assert_ne!(line, GOOD, "{from}");
            let error = of(&line).unwrap_err();
            assert!(error.contains(words), "{to}: {error}");
        }
        assert!(of(r#"{"error":"no such thing"}"#).unwrap_err().contains("no such thing"));
        for garbage in ["", "hello", "[]", "5", "{\"a\":"] {
            let error = of(garbage).unwrap_err();
            assert!(error.contains("driver"), "{garbage}: {error}");
        }
    }

    #[test]
    fn a_driver_says_what_it_is() {
        let line = r#"{"driver":"candor.driver/1","client":"c","version":"1","runtime":"r"}"#;
        let wanted = Described { client: "c".into(), version: "1".into(), runtime: "r".into() };
        assert_eq!(described(line), Ok(wanted));
        for (from, to, words) in [
            ("driver/1", "driver/2", "candor.driver/2"),
            ("\"version\":\"1\",", "", "no \"version\""),
            ("\"c\"", "\"\"", "no \"client\""),
        ] {
            assert!(described(&line.replacen(from, to, 1)).unwrap_err().contains(words), "{to}");
        }
        assert!(described("Hello, I am a driver").unwrap_err().contains("Hello, I am a driver"));
    }
}
