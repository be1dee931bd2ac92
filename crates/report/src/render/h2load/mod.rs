//! h2load's output in its form and with our figures.
//!
//! Scrapers read it: every line, label and column is as the original prints it, and nothing is
//! added. What candor knows beyond that belongs on the standard error. Everything is made from the
//! document; what is printed while a run goes on, from the document of that stretch of time.
//!
//! Parts: [`text`] the lines in the order in which they are printed, `figures` what h2load's words
//! count, `units` how numbers are written.

mod figures;
pub mod text;
mod units;

#[cfg(test)]
mod tests;
