//! Files of suites: their common tables, and errors with the fault, its place and the remedy.
//!
//! The readers of the two kinds of suites extend [`Reader`] with the other tables.

use std::fmt;
use std::path::Path;
use std::time::Duration;

pub(crate) use candor_plan::redact::{FNV_START, fnv};
use candor_plan::values::PositiveNanos;
use candor_plan::{PlanError, plan_file, words};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::error::LabError;

/// The default number of rounds.
const DEFAULT_ROUNDS: u64 = 3;

/// The suite's description in its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// The file, as it was given.
    pub file: String,
    /// The suite's name.
    pub name: String,
    /// The subject of the suite.
    pub about: String,
    /// Rounds of each cell, at least 1.
    pub rounds: u64,
    /// Seed of orders, and of runs.
    pub seed: u64,
    /// Identifies the content of the file and of the files that it builds on.
    pub fingerprint: u64,
}

/// A command with at least one word: a list of them, or a line that is split into words as a shell does.
#[derive(Debug)]
pub(crate) struct CommandWords(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for CommandWords {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Vec<String>;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter
                    .write_str("a command, such as \"my-server {port}\", or its words in a list")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Self::Value, E> {
                words::split(line).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                let words: Vec<String> = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                match words.first().is_none_or(String::is_empty) {
                    true => Err(de::Error::custom(
                        "the command is empty; write [\"program\", \"argument\", …]",
                    )),
                    false => Ok(words),
                }
            }
        }

        input.deserialize_any(Either).map(Self)
    }
}

/// The same in the form of the file.
pub(crate) struct HeadKeys {
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) about: String,
    pub(crate) rounds: Option<Spanned<u64>>,
    pub(crate) seed: Option<u64>,
}

/// A typed time, or the default.
pub(crate) fn time(typed: Option<PositiveNanos>, usual: Duration) -> Duration {
    typed.map_or(usual, |one| Duration::from_nanos(one.get()))
}

/// The file and its text, which errors need.
pub(crate) struct Reader<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl Reader<'_> {
    /// The whole file. `keys` returns the keys of the table at a path, for suggestions.
    pub(crate) fn table<T: DeserializeOwned>(
        &self,
        keys: &dyn Fn(&str) -> &'static [&'static str],
    ) -> Result<T, LabError> {
        toml::from_str(self.text).map_err(|error| {
            LabError::Usage(plan_file::explain(self.name, self.text, &error, keys).to_string())
        })
    }

    /// A number of rounds.
    pub(crate) fn rounds(&self, typed: &Spanned<u64>) -> Result<u64, LabError> {
        match *typed.get_ref() {
            rounds @ 1..=1000 => Ok(rounds),
            rounds => Err(self.wrong(typed, format!("rounds = {rounds}: write 1 to 1000"))),
        }
    }

    /// The suite's description. `fingerprint` is that of the files that this one builds on.
    pub(crate) fn head(&self, keys: HeadKeys, fingerprint: u64) -> Result<Head, LabError> {
        let rounds = match &keys.rounds {
            Some(rounds) => self.rounds(rounds)?,
            None => DEFAULT_ROUNDS,
        };
        let by_file = Path::new(self.name).file_stem().map(|stem| stem.to_string_lossy());
        let name = match &keys.name {
            Some(name) => {
                self.check_name(name, "suite", std::iter::empty())?;
                name.get_ref().clone()
            }
            None => by_file.map_or_else(|| "suite".to_owned(), |stem| stem.into_owned()),
        };
        Ok(Head {
            file: self.name.to_owned(),
            name,
            about: keys.about,
            rounds,
            seed: keys.seed.unwrap_or(1),
            fingerprint: fnv(fingerprint, self.text.as_bytes()),
        })
    }

    /// Checks a name: names become parts of file names and tables.
    pub(crate) fn check_name<'n>(
        &self,
        name: &Spanned<String>,
        what: &str,
        mut known: impl Iterator<Item = &'n str>,
    ) -> Result<(), LabError> {
        let text = name.get_ref();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
        if text.is_empty() || text.len() > 64 || text.starts_with('.') || !text.chars().all(plain) {
            return Err(self.wrong(name, format!(
                "\"{text}\" cannot be the name of a {what}, because it becomes part of file names; write letters, digits and _ - . +"
            )));
        }
        match known.any(|one| one == text) {
            true => Err(self.wrong(
                name,
                format!("there are two {what}s with the name \"{text}\"; rename one"),
            )),
            false => Ok(()),
        }
    }

    /// An error at the place of `at`.
    pub(crate) fn wrong<T>(&self, at: &Spanned<T>, message: impl Into<String>) -> LabError {
        self.wrong_at(at.span().start, message)
    }

    /// The place of `at`: file, line and column.
    pub(crate) fn place<T>(&self, at: &Spanned<T>) -> String {
        let (line, column) = plan_file::position(self.text, at.span().start);
        format!("{}:{line}:{column}", self.name)
    }

    /// An error at this byte of the text.
    pub(crate) fn wrong_at(&self, byte: usize, message: impl Into<String>) -> LabError {
        let (line, column) = plan_file::position(self.text, byte);
        let (file, message) = (self.name.to_owned(), message.into());
        LabError::Usage(PlanError::PlanFile { file, line, column, message }.to_string())
    }

    /// An error about something missing.
    pub(crate) fn missing(&self, message: impl Into<String>) -> LabError {
        LabError::Usage(format!("{}: {}", self.name, message.into()))
    }
}
