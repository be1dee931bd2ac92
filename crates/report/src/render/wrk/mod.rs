//! The outputs of wrk, of wrk2 and of yicwang's fork, in their form and with our figures.
//!
//! Scrapers read these: every line, label and column is as the original prints it, and nothing
//! is added. What candor knows beyond that belongs on the standard error. Everything is made from
//! the document; a periodic report is the report of a document of that stretch of time.
//!
//! Parts: [`text`] wrk's and wrk2's report, `spectrum` its percentiles by HdrHistogram, [`json`]
//! the fork's object, `figures` what they all have in common, `units` how numbers are written.

mod figures;
pub mod json;
mod spectrum;
pub mod text;
mod units;

#[cfg(test)]
mod tests;
