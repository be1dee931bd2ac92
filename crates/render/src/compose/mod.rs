//! Composes pages: one for each kind of document, for every printed form.
//!
//! ```text
//!  run/ the page of a run: charts.rs over course.rs (its intervals, joined to as many as fit), loader.rs;
//!                  short.rs, one screen of it
//!  peak.rs, sweep.rs, comparison.rs, suite.rs, board.rs, clients.rs
//!  history.rs      results that were kept
//!    curve.rs      latency against rate, of peaks and sweeps
//!    found.rs      findings at the head of a page; tables of short pages
//!    glance.rs     bars of a suite
//!    matrix.rs     common parts of suites and clients
//!    trials.rs     common parts of pages of several runs
//!  words.rs        sentences about a run
//!  bounds.rs       the intervals of its percentiles
//!  connections.rs  its connections, their bytes and paths
//! ```

mod board;
mod bounds;
mod clients;
mod comparison;
mod connections;
mod curve;
mod found;
mod glance;
mod history;
mod matrix;
mod peak;
mod run;
mod suite;
mod sweep;
mod trials;
mod words;

#[cfg(test)]
mod tests;

pub use board::page as board;
pub use clients::{in_words, page as clients};
pub use comparison::{entrants, misses as misses_of_comparison, page as comparison, sentence};
pub use history::{difference, list as results, trend};
pub use peak::page as peak;
pub use run::page as run;
pub use suite::page as suite;
pub use sweep::page as sweep;
pub use words::misses as misses_of_run;

use candor_plan::units::fmt_duration_ns;

use super::page::{NOTHING, Page};
use candor_report::document::{Host, Tool};

/// A time, or a dash.
fn time(ns: Option<u64>) -> String {
    or_nothing(ns, fmt_duration_ns)
}

/// A formatted figure, or a dash.
fn or_nothing<T>(figure: Option<T>, written: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), written)
}

/// Numbers of cores.
fn cores(cores: &[u64]) -> String {
    cores.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// The program and the document that made a page.
fn made_by(page: &mut Page, tool: &Tool, format: &str) {
    page.footer = format!("Made by {} {} from a {format} document.", tool.name, tool.version);
}

/// How to rerun an experiment: remarks, the loader's machine, and the command.
fn again(
    page: &mut Page,
    facts: impl IntoIterator<Item = (&'static str, String)>,
    host: &Host,
    arguments: &[String],
) {
    (page.again.anchor, page.again.heading) = ("again", "How it was done");
    page.again.full(|section| {
        section.facts(facts);
        section.facts(words::host(host).map(|host| ("Machine", host)));
    });
    words::again(&mut page.again, arguments);
}
