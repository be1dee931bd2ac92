//! Documents of experiments: what several runs together say.
//!
//! Each is one versioned value, such as `candor.peak/1`, made by crate `lab` and rendered from
//! nothing else. The runs themselves are [`crate::Document`]s; here is what renderings need of them.

pub mod clients;
pub mod comparison;
pub mod figures;
pub mod matrix;
pub mod peak;
pub mod suite;
pub mod sweep;
pub mod trial;

use serde::de::DeserializeOwned;

/// Text that is not the document that was expected.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON at all.
    #[error("this is not JSON ({0})")]
    NotJson(serde_json::Error),
    /// Another document, or none of ours.
    #[error("this is {found} and not a {wanted} document")]
    Other {
        /// What it says that it is.
        found: String,
        /// What was expected.
        wanted: &'static str,
    },
    /// The right document with something wrong in it.
    #[error("this {wanted} document is damaged ({error}); make it again")]
    Damaged {
        /// What it is.
        wanted: &'static str,
        /// What is wrong.
        error: serde_json::Error,
    },
}

/// What a document says that it is, such as `candor.peak/1`.
pub fn format_of(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    Some(value.get("format")?.as_str()?.to_owned())
}

/// Reads a document of this format.
fn read<T: DeserializeOwned>(text: &str, wanted: &'static str) -> Result<T, ReadError> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(ReadError::NotJson)?;
    match value.get("format").and_then(serde_json::Value::as_str) {
        Some(found) if found == wanted => {
            serde_json::from_value(value).map_err(|error| ReadError::Damaged { wanted, error })
        }
        Some(found) => Err(ReadError::Other { found: format!("a {found} document"), wanted }),
        None => Err(ReadError::Other { found: "something without a format".to_owned(), wanted }),
    }
}
