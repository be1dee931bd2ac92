//! h2load's output in its form and with our figures.
//!
//! Scrapers read it: every line, label and column is as in the original, and nothing is added.
//! Candor's further findings belong on the standard error. Everything is made from the document;
//! lines during a run are made from the document of that stretch of time.
//!
//! Parts: [`text`] the lines in their order, `figures` the figures behind h2load's words, `units`
//! the format of numbers.

mod figures;
pub mod text;
mod units;

#[cfg(test)]
mod tests;
