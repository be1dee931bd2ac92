//! The result document, and what is judged of it.
//!
//! A finished run comes in as a plan, a record and a few facts, which become one [`Document`] with
//! its [`verdicts`]. Every rendering is made only from that document, in crate render. This crate does
//! not print, write files or use the network; only [`read`] reads files.
#![forbid(unsafe_code)]

pub mod document;
pub mod expect;
pub mod experiment;
pub mod findings;
pub mod json;
pub mod read;
pub mod remedies;
mod style;
pub mod verdicts;
mod visible;

/// Documents for tests.
#[cfg(any(test, feature = "samples"))]
#[allow(missing_docs, clippy::unwrap_used, reason = "for tests, whose names say what they are")]
pub mod testing;

pub use document::{Document, Facts, Host};
pub use expect::{AbortRule, Expectation, Judgement};
pub use read::ReadError;
pub use style::{Style, Tone};
pub use verdicts::{Severity, Verdict};
pub use visible::{shorten, visible, visible_lines, visible_styled};
