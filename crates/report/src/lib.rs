//! The result document, and what is judged of it.
//!
//! A finished run comes in as a plan, a record and a few facts, which become one [`Document`] with
//! its [`verdicts`]. Every rendering is made only from that document, in crate render. This crate does
//! not print, write files or use the network; only [`read`] reads files. Each module names modules above it alone:
//!
//! ```text
//!  texts        style.rs     colours, or none         visible.rs   text from outside, made visible
//!               remedies.rs  what to do about the errors of requests
//!               read.rs      any document from text: bounds, older versions, checks
//!  the result   document/    the values of a run, and what was judged of it     json.rs  as JSON
//!  judged       verdicts/    how far it can be trusted; Document::new
//!               expect/      whether it is as the user expects
//!               merge.rs     a run from its parts, judged as a whole
//!  experiments  experiment/  documents of several runs
//!               findings/    what is found in them
//!  for tests    testing/     documents to test with    schema.rs  JSON schemas of all documents
//! ```
#![forbid(unsafe_code)]

pub mod document;
pub mod expect;
pub mod experiment;
pub mod findings;
pub mod json;
pub mod merge;
pub mod read;
pub mod remedies;
#[cfg(test)]
mod schema;
mod style;
pub mod verdicts;
mod visible;

/// Documents for tests.
#[cfg(any(test, feature = "samples"))]
#[allow(missing_docs, clippy::unwrap_used, reason = "for tests, whose names say what they are")]
pub mod testing;

pub use document::{Document, Facts, Host};
pub use expect::{AbortRule, Expectation};
pub use read::ReadError;
pub use style::{Style, Tone};
pub use visible::{shorten, visible, visible_lines, visible_styled};
