//! Pages: a document as one file of HTML that needs nothing else.
//!
//! A page is readable as it is, and a script adds a cursor with figures and zoom. It asks no other
//! host for anything, and nothing in it runs but that script: see [`page`]. Everything comes from the
//! document, so the same document gives the same page, byte by byte.
//!
//! ```text
//!  run.rs           what is on the page of a run
//!  experiment/      the same of peaks, sweeps, comparisons, suites, client libraries
//!    page.rs        sections, tables, findings;  page.css, page.js
//!    course.rs      the intervals, as many as a chart can show
//!    heat.rs        latency over time
//!    chart.rs       axes (axis.rs), series, marks as a value
//!      svg.rs       the figure of a chart
//!        markup.rs  elements; the only way for text into a page, and it escapes
//! ```
//!
//! The charts are drawn here and not by a library in the browser. What one would draw has to be in
//! the page anyway for whoever has no script, and then the library is a second drawing of the same
//! that has to agree with the first.

mod axis;
mod chart;
mod course;
mod experiment;
mod heat;
mod markup;
mod page;
#[cfg(test)]
mod poison;
mod run;
mod svg;

pub use experiment::clients::render as clients;
pub use experiment::comparison::render as comparison;
pub use experiment::peak::render as peak;
pub use experiment::suite::render as suite;
pub use experiment::sweep::render as sweep;
pub use run::render as run;
