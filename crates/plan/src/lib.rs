//! From what a user typed to what a run does.
//!
//! Command-line flags, URLs and TOML files come in; one validated, immutable [`Plan`] goes out,
//! and nothing downstream checks it again. This crate reads no file, no clock and no environment:
//! whoever calls it hands in the bytes of files by way of [`options::ReadFile`].
#![forbid(unsafe_code)]

pub mod load;
pub mod model;
mod suggest;
pub mod units;
pub mod url;

pub use model::*;
