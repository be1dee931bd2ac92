//! Documents from text and to text.

use serde::Deserialize;

use super::{Document, FORMAT};

/// Text that is not a result document of this version.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON at all.
    #[error("this is not JSON ({0}); give a file written by --json")]
    NotJson(serde_json::Error),
    /// JSON of something else.
    #[error(
        "this JSON has no \"format\" beginning with \"candor.result/\"; give a file written by --json"
    )]
    NotAResult,
    /// A result of another major version.
    #[error(
        "this is a {found} document and this program reads {FORMAT}; use the version of candor that wrote it"
    )]
    OtherMajor {
        /// Its format.
        found: String,
    },
    /// A result with something wrong in it.
    #[error("this {FORMAT} document is damaged ({0}); save the result again")]
    Damaged(serde_json::Error),
}

/// The one field that tells how to read the others.
#[derive(Deserialize)]
struct Probe {
    #[serde(default)]
    format: Option<String>,
}

impl Document {
    /// Reads a document. Fields that this version does not know are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let _: serde::de::IgnoredAny = serde_json::from_str(text).map_err(ReadError::NotJson)?;
        let probe: Probe = serde_json::from_str(text).map_err(|_| ReadError::NotAResult)?;
        let format = probe.format.ok_or(ReadError::NotAResult)?;
        let version = format.strip_prefix("candor.result/").ok_or(ReadError::NotAResult)?;
        if version.split('.').next() != FORMAT.strip_prefix("candor.result/") {
            return Err(ReadError::OtherMajor { found: format });
        }
        serde_json::from_str(text).map_err(ReadError::Damaged)
    }
}
