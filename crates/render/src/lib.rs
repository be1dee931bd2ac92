//! Renderings of the documents of crate report. Each is a pure function from a document to a string, which the caller
//! writes to its place. Nothing is judged here: verdicts, objectives and findings come with the document.
//!
//! For people there are [`Page`]s: composed once for each kind of document ([`compose`]), and printed as
//! text, Markdown or HTML. Each form for programs has a module. The figures of intervals are one table (`intervals`).
#![forbid(unsafe_code)]

pub mod ci;
pub mod compose;
pub mod csv;
pub mod ghz;
pub mod h2load;
pub mod hgrm;
pub mod hlog;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod identities;
mod intervals;
mod page;
mod print;
mod targets;
pub mod trace;
pub mod v1;
pub mod wrk;

use candor_report::{shorten, visible};

pub use page::{Depth, Page};
pub use print::text::wrap;
