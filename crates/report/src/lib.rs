//! The result document and its renderings.
//!
//! A finished run comes in as a plan, a record and a few facts, which become one [`Document`] with
//! its [`verdicts`]. Every rendering in [`render`] is made only from that document. This crate does
//! not print, write files or use the network; only [`read`] reads files.
#![forbid(unsafe_code)]

pub mod document;
pub mod expect;
pub mod experiment;
pub mod findings;
pub mod read;
pub mod remedies;
pub mod render;
pub mod verdicts;

#[cfg(test)]
mod testing;

pub use document::{Document, Facts, Host};
pub use expect::{AbortRule, Expectation, Judgement};
pub use read::ReadError;
pub use render::Style;
pub use verdicts::{Severity, Verdict};
