//! Data sets: tables of a file whose rows requests take their values from.
//!
//! A plan has a set's name, file and columns, but not its rows: a file may have gigabytes. Whoever runs the plan
//! reads it. A plan that goes to another machine has the file's bytes with it, or says which file it is by their digest.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::kept::Kept;

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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
