//! The outputs of wrk, of wrk2 and of yicwang's fork, in their form and with our figures.
//!
//! Scrapers read these: every line, label and column is as in the original, and nothing is added.
//! Candor's further findings belong on the standard error. Everything is made from the document; a
//! periodic report is the report of a document of that stretch of time.
//!
//! Parts: [`text`] wrk's and wrk2's report, `spectrum` its percentiles by HdrHistogram, [`json`]
//! the fork's object, `figures` their common figures, `units` the format of numbers.

mod figures;
pub mod json;
mod spectrum;
pub mod text;
mod units;

#[cfg(test)]
mod tests;
