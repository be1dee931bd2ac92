//! ghz's output in its form and with our figures.
//!
//! Scrapers read it: every line, label, tab and blank is as in the original. Candor's further findings belong on the
//! standard error. Latency counts from when a call was due.

pub mod json;
pub mod summary;

mod figures;

#[cfg(test)]
mod tests;
