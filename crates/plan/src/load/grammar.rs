//! The grammar of `--load`: from `ramp 1k..20k over 30s; hold 20k` to segments of a schedule.
//!
//! ```text
//! shape = part { ";" part }
//! part  = "hold"   RATE [ "for" DURATION ]
//!       | "ramp"   RATE ".." RATE "over" DURATION
//!       | "step"   RATE ".." RATE "by" RATE "every" DURATION
//!       | "burst"  COUNT "every" DURATION [ "for" DURATION ]
//!       | "replay" FILE
//! ```
//!
//! Only the last part may have no end. A step visits both of its ends: if the step does not divide
//! the range, the last step is smaller. A file of due offsets is only named here; it is read when
//! the plan is built.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::Segment;
use crate::suggest::did_you_mean;
use crate::units::{self, Rate, UnitError, parse_rate, parse_rate_or_zero};
use crate::values::{Count, PositiveNanos, from_text};

/// The most segments that a `step` may expand to.
pub const MAX_STEPS: usize = 10_000;

const SHAPES: [&str; 5] = ["hold", "ramp", "step", "burst", "replay"];
const CLAUSES: [&str; 4] = ["for", "over", "by", "every"];

/// The content of `--load`: parts in order, files not yet read.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// At least one; only the last may have no end.
    pub parts: Vec<Part>,
}

/// One part of a shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Segments that are complete: a `hold`, `ramp` or `burst`, or all holds of a `step`.
    Segments(Vec<Segment>),
    /// Due offsets from this file.
    Replay(PathBuf),
}

/// Why a text is not a load. Parts are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Nothing between two semicolons, or nothing at all.
    #[error("part {part} is empty; write a shape such as `hold 20k for 1m`")]
    Empty {
        /// Which part.
        part: usize,
    },
    /// The first word is not a shape.
    #[error(
        "part {part}: unknown shape \"{word}\"; write one of hold, ramp, step, burst, replay{hint}"
    )]
    Shape {
        /// Which part.
        part: usize,
        /// The word.
        word: String,
        /// `; did you mean …?` or nothing.
        hint: String,
    },
    /// A word that belongs to no shape.
    #[error("part {part}: unknown word \"{word}\"; write `{usage}`{hint}")]
    Word {
        /// Which part.
        part: usize,
        /// The word.
        word: String,
        /// How the shape is written.
        usage: &'static str,
        /// `; did you mean …?` or nothing.
        hint: String,
    },
    /// A clause is missing, given twice, or of another shape.
    #[error("part {part}: {problem}; write `{usage}`")]
    Clause {
        /// Which part.
        part: usize,
        /// The fault.
        problem: String,
        /// How the shape is written.
        usage: &'static str,
    },
    /// A quantity is wrong.
    #[error("part {part}: \"{value}\": {error}")]
    Value {
        /// Which part.
        part: usize,
        /// The value as given.
        value: String,
        /// The fault.
        error: UnitError,
    },
    /// The quantities do not fit together.
    #[error("part {part}: {problem}")]
    Range {
        /// Which part.
        part: usize,
        /// The fault and its remedy.
        problem: &'static str,
    },
    /// A part without end is not the last one.
    #[error(
        "part {part} has no end, so part {} would never begin; add `for DURATION` to it", .part + 1
    )]
    Endless {
        /// Which part.
        part: usize,
    },
}

impl Shape {
    /// Whether any part reads a file.
    pub fn has_replay(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Replay(_)))
    }

    /// All segments, with files read by `read`.
    pub fn segments<E>(
        self,
        mut read: impl FnMut(&Path) -> Result<Segment, E>,
    ) -> Result<Vec<Segment>, E> {
        let mut all = Vec::new();
        for part in self.parts {
            match part {
                Part::Segments(segments) => all.extend(segments),
                Part::Replay(file) => all.push(read(&file)?),
            }
        }
        Ok(all)
    }
}

impl FromStr for Shape {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let text = text.trim();
        // A semicolon at the very end is harmless.
        let text = text.strip_suffix(';').unwrap_or(text);
        let texts: Vec<&str> = text.split(';').collect();
        let mut parts = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            let part = parse_part(index + 1, text)?;
            if index + 1 < texts.len() && is_endless(&part) {
                return Err(LoadError::Endless { part: index + 1 });
            }
            parts.push(part);
        }
        Ok(Shape { parts })
    }
}

from_text! { Shape: "a load such as \"ramp 1k..20k over 30s; hold 20k\"", }

fn is_endless(part: &Part) -> bool {
    match part {
        Part::Segments(segments) => segments.iter().any(|one| one.duration_ns().is_none()),
        Part::Replay(_) => false,
    }
}

fn parse_part(part: usize, text: &str) -> Result<Part, LoadError> {
    let text = text.trim();
    let (shape, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let usage = match shape {
        "" => return Err(LoadError::Empty { part }),
        "hold" => "hold RATE [for DURATION]",
        "ramp" => "ramp RATE..RATE over DURATION",
        "step" => "step RATE..RATE by RATE every DURATION",
        "burst" => "burst COUNT every DURATION [for DURATION]",
        "replay" => {
            return match rest.trim() {
                "" => Err(LoadError::Clause {
                    part,
                    problem: "no file is named".to_owned(),
                    usage: "replay FILE",
                }),
                file => Ok(Part::Replay(file.into())),
            };
        }
        word => {
            let hint = did_you_mean(word, SHAPES);
            return Err(LoadError::Shape { part, word: word.to_owned(), hint });
        }
    };
    let mut clauses = Clauses::parse(part, usage, rest)?;
    let segments = match shape {
        "hold" => vec![hold(&mut clauses)?],
        "ramp" => vec![ramp(&mut clauses)?],
        "step" => step(&mut clauses)?,
        _ => vec![burst(&mut clauses)?],
    };
    clauses.finish()?;
    Ok(Part::Segments(segments))
}

fn hold(clauses: &mut Clauses) -> Result<Segment, LoadError> {
    Ok(Segment::Hold {
        rate: clauses.value("", parse_rate)?,
        duration_ns: clauses.optional("for", duration_ns)?,
    })
}

fn ramp(clauses: &mut Clauses) -> Result<Segment, LoadError> {
    let (from, to) = clauses.range(parse_rate_or_zero)?;
    if from.events == 0 && to.events == 0 {
        return Err(clauses.range_error("a ramp from 0 to 0 sends nothing; raise one end"));
    }
    Ok(Segment::Ramp { from, to, duration_ns: clauses.value("over", duration_ns)? })
}

fn burst(clauses: &mut Clauses) -> Result<Segment, LoadError> {
    let size = clauses.value("", str::parse::<Count>)?.get();
    let every_ns = clauses.value("every", duration_ns)?;
    if size > every_ns {
        return Err(clauses.range_error("more than 1G/s; make the burst smaller or rarer"));
    }
    let duration_ns = clauses.optional("for", duration_ns)?;
    Ok(Segment::Burst { size, every_ns, duration_ns })
}

/// Expands a step to one hold for each of its rates, up or down, both ends included.
fn step(clauses: &mut Clauses) -> Result<Vec<Segment>, LoadError> {
    let (from, to) = clauses.range(parse_rate)?;
    let by = clauses.value("by", parse_rate)?;
    let every_ns = clauses.value("every", duration_ns)?;
    let rates = step_rates(from, to, by).map_err(|problem| clauses.range_error(problem))?;
    let hold = |rate| Segment::Hold { rate, duration_ns: Some(every_ns) };
    Ok(rates.into_iter().map(hold).collect())
}

fn step_rates(from: Rate, to: Rate, by: Rate) -> Result<Vec<Rate>, &'static str> {
    const TOO_FINE: &str = "these rates have no common fraction; give them in the same unit";
    let per_ns = common_multiple(from.per_ns, to.per_ns)
        .and_then(|per_ns| common_multiple(per_ns, by.per_ns))
        .ok_or(TOO_FINE)?;
    let events = |rate: Rate| rate.events.checked_mul(per_ns / rate.per_ns).ok_or(TOO_FINE);
    let (start, end, by) = (events(from)?, events(to)?, events(by)?);
    let whole_steps = start.abs_diff(end).div_ceil(by);
    if whole_steps >= MAX_STEPS as u64 {
        return Err("more than 10,000 steps; take larger ones, or a ramp");
    }
    let rate = |index: u64| {
        let way = index * by;
        let events = if start <= end { start + way } else { start - way };
        Rate { events, per_ns }
    };
    // The last rate is the typed end, so a remainder makes the last step smaller.
    Ok((0..whole_steps).map(rate).chain([to]).collect())
}

fn common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

fn duration_ns(text: &str) -> Result<u64, UnitError> {
    text.parse().map(PositiveNanos::get)
}

/// A part, split at its keywords: the text before the first one has the keyword `""`.
struct Clauses {
    part: usize,
    usage: &'static str,
    /// Keyword and its value, without the blanks in the value.
    list: Vec<(&'static str, String)>,
}

impl Clauses {
    fn parse(part: usize, usage: &'static str, text: &str) -> Result<Self, LoadError> {
        let mut list = vec![("", String::new())];
        for word in text.split_whitespace() {
            if let Some(keyword) = CLAUSES.into_iter().find(|keyword| *keyword == word) {
                list.push((keyword, String::new()));
            } else if is_stray(word) {
                let hint = did_you_mean(word, CLAUSES);
                return Err(LoadError::Word { part, word: word.to_owned(), usage, hint });
            } else if let Some((_, value)) = list.last_mut() {
                value.push_str(word);
            }
        }
        Ok(Clauses { part, usage, list })
    }

    /// The value after `keyword`, which must be there.
    fn value<T>(
        &mut self,
        keyword: &'static str,
        parse: fn(&str) -> Result<T, UnitError>,
    ) -> Result<T, LoadError> {
        match self.optional(keyword, parse)? {
            Some(value) => Ok(value),
            None => Err(self.clause_error(format!("`{keyword}` is missing"))),
        }
    }

    /// The value after `keyword`, if that is there.
    fn optional<T>(
        &mut self,
        keyword: &'static str,
        parse: fn(&str) -> Result<T, UnitError>,
    ) -> Result<Option<T>, LoadError> {
        match self.take(keyword)? {
            Some(text) => self.parsed(&text, parse).map(Some),
            None => Ok(None),
        }
    }

    /// The two ends of `A..B`.
    fn range<T>(&mut self, parse: fn(&str) -> Result<T, UnitError>) -> Result<(T, T), LoadError> {
        let text = self.take("")?.unwrap_or_default();
        match text.split_once("..") {
            Some((from, to)) => Ok((self.parsed(from, parse)?, self.parsed(to, parse)?)),
            None => Err(self.clause_error(format!("\"{text}\" is no range"))),
        }
    }

    fn parsed<T>(
        &self,
        text: &str,
        parse: fn(&str) -> Result<T, UnitError>,
    ) -> Result<T, LoadError> {
        parse(text).map_err(|error| LoadError::Value {
            part: self.part,
            value: text.to_owned(),
            error,
        })
    }

    fn take(&mut self, keyword: &'static str) -> Result<Option<String>, LoadError> {
        let Some(at) = self.list.iter().position(|(name, _)| *name == keyword) else {
            return Ok(None);
        };
        let (_, text) = self.list.remove(at);
        match text.as_str() {
            "" if keyword.is_empty() => Err(self.clause_error("no value is given".to_owned())),
            "" => Err(self.clause_error(format!("nothing stands after `{keyword}`"))),
            _ => Ok(Some(text)),
        }
    }

    /// Checks that every clause was used.
    fn finish(self) -> Result<(), LoadError> {
        match self.list.first() {
            Some((keyword, _)) => {
                Err(self.clause_error(format!("`{keyword}` does not belong here, or stands twice")))
            }
            None => Ok(()),
        }
    }

    fn clause_error(&self, problem: String) -> LoadError {
        LoadError::Clause { part: self.part, problem, usage: self.usage }
    }

    fn range_error(&self, problem: &'static str) -> LoadError {
        LoadError::Range { part: self.part, problem }
    }
}

/// Whether a word is neither a keyword nor part of a value, e.g. of `30 s` or `1k .. 2k`.
fn is_stray(word: &str) -> bool {
    word.chars().all(char::is_alphabetic)
        && !units::is_time_unit(word)
        && !["k", "K", "M", "g", "G"].contains(&word)
}

#[cfg(test)]
mod tests;
