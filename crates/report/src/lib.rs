//! The result document and its renderings.
//!
//! A finished run comes in as a plan, a record and a few facts; one [`Document`] is made of them,
//! with its [`verdicts`]. Every rendering in [`render`] is made from that document and from
//! nothing else. Nothing here prints, writes files or talks to a network; [`read`] alone reads
//! files, on behalf of whoever has bytes to render.
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
pub use expect::Expectation;
pub use read::ReadError;
pub use render::Style;
pub use verdicts::{Severity, Verdict};
