//! Where requests take values from: data sets, which are tables of files, and variables of the environment.
//!
//! A plan has a set's name, file and columns, but not its rows: a file may have gigabytes. Whoever runs the plan
//! reads it. A plan that goes to another machine has the file's bytes with it, or says which file it is by their digest.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Request;
use crate::error::{PlanError, need};
use crate::kept::Kept;
use crate::redact::{REDACTED, Secrets, has_no_secret};

/// A table of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataSet {
    /// Its name, of letters, digits, `-` and `_`; no other set has it.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// How the file has its rows.
    pub format: DataFormat,
    /// Which row each index of the load has.
    pub order: DataOrder,
    /// Its columns, at least one, no two with the same name.
    pub columns: Vec<String>,
    /// The bytes of the file, for a machine that does not have it; then nobody opens it. Left out, with SHA-256 as their
    /// hash, they say which file it has to be.
    pub content: Option<Kept<u8>>,
}

/// How a file has its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DataFormat {
    /// Comma-separated values (RFC 4180); the first row has the names of the columns.
    Csv,
    /// An object of JSON in each line; the first one's members are the columns.
    JsonLines,
    /// `URL` or `METHOD URL` in each line, or a line of an access log in the Common or Combined Log Format. The
    /// columns are `method` and `path`.
    Urls,
}

/// Which row each index of the load has: always a function of index, number of rows and seed, so that it is the same
/// for any number of threads and machines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DataOrder {
    /// One after the other, and again from the first.
    #[default]
    Rotation,
    /// Each once in a random order, then each once in another random order.
    Shuffle,
    /// Any of them, each with the same probability.
    Random,
    /// Each once, in order; the run ends when none is left.
    Once,
}

/// A variable of the environment, as it was when the plan was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, always left out in a result.
    pub value: Kept<u8>,
}

impl DataSet {
    /// Whether these sets can be told apart, and have values.
    pub(crate) fn check_all(sets: &[DataSet]) -> Result<(), PlanError> {
        for (at, set) in sets.iter().enumerate() {
            let is_first = sets[..at].iter().all(|other| other.name != set.name);
            need(!set.name.is_empty() && is_first, "data", "has names, each once")?;
            need(!set.columns.is_empty(), "data", "has columns")?;
        }
        Ok(())
    }

    /// Leaves out what may be secret. Without a header, the names of a file's columns are values: they are shown if one
    /// of these requests names them.
    pub(crate) fn redact(&mut self, secrets: Secrets, requests: &[Request]) {
        let set = &self.name;
        let is_named = |column: &str| {
            let hole = format!("{set}.{column}");
            let names = |text: &str| text.contains(&hole);
            has_no_secret(column)
                || requests.iter().any(|one| {
                    names(&one.path)
                        || one.headers.iter().any(|(_, value)| names(value))
                        || names(&String::from_utf8_lossy(one.body.whole()))
                })
        };
        if secrets == Secrets::Hidden {
            let hidden = self.columns.iter_mut().filter(|column| !is_named(column));
            hidden.for_each(|column| *column = REDACTED.to_owned());
        }
        self.file = self.file.to_string_lossy().into_owned().into();
        self.content = self.content.as_ref().map(Kept::redacted);
    }
}
