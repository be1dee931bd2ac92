//! Suites for people and for programs: the README of a suite's directory, a short text for the
//! terminal, and every trial as CSV.
//!
//! The README has the form of the tables that servers publish: throughput by scenario and server,
//! latency at shares of each server's own peak, resources. Of each cell one run is shown as a whole
//! row, the one with the median rate, with the spread over runs beside it.

mod csv;
pub(in crate::render) mod tables;

use candor_plan::units::fmt_plural;

use super::super::lines::{Lines, code, escaped};
use super::{matrix, trials};
use crate::experiment::suite::{Cell, Suite};

pub use csv::{COLUMNS, csv};

/// The README.
pub fn markdown(suite: &Suite) -> String {
    let mut out = matrix::title("Benchmark results", &suite.heading);
    environment(&mut out, suite);
    tables::throughput(&mut out, suite);
    tables::kinds(&mut out, suite);
    tables::below_the_peak(&mut out, suite);
    tables::resources(&mut out, suite);
    left_out(&mut out, suite);
    reading(&mut out);
    out.finish()
}

/// The throughput for a terminal, and what went wrong.
pub fn text(suite: &Suite) -> String {
    let mut out = tables::text(suite);
    let (made, all) = suite.progress();
    out.blank();
    out.line(format!("{made} of {all} trials are there."));
    remarks(suite).for_each(|remark| out.line(remark));
    for failure in &suite.failures {
        out.line(format!("failed: {}: {}", failure.trial, failure.why));
    }
    for note in &suite.notes {
        out.line(format!("left out: {}: {}", note.what, note.why));
    }
    out.finish()
}

/// What is to be known of all trials together.
pub(in crate::render) fn remarks(suite: &Suite) -> impl Iterator<Item = &'static str> {
    trials::remarks(suite.cells.iter().flat_map(|cell| &cell.trials).map(|trial| &trial.figures))
}

fn environment(out: &mut Lines, suite: &Suite) {
    matrix::captured(out, "candor bench", &suite.heading);
    if !suite.complete {
        matrix::not_complete(out, suite.progress());
    }
    for remark in remarks(suite) {
        out.line(format!("> **{remark}**"));
        out.blank();
    }
    matrix::hardware(out, &suite.heading);
    out.line(format!(
        "- {} a cell, in rounds, the order within a round drawn at random (seed {}); one server \
         at a time, in a fresh process for each run",
        fmt_plural(suite.heading.rounds, "run"),
        suite.heading.seed
    ));
    for load in &suite.loads {
        out.line(format!("- Load {}: {}", code(&load.name), escaped(&load.about)));
    }
    for server in &suite.servers {
        let about =
            if server.about.is_empty() { String::new() } else { format!(" ({})", server.about) };
        let (name, source) = (code(&server.name), code(&server.source));
        out.line(format!("- Server {name}: {source}{}", escaped(&about)));
    }
    out.fixed(
        "\nEach figure is of **one run**: of a cell's runs the one with the median rate, as a whole \
         row. `±` is how far the rates of the others lie from it at most. `†` marks runs with \
         warnings, `✗` a share of failed requests; both are explained below the tables. Units and \
         columns of `results.csv` are in candor's docs/suites.md.\n\n",
    );
    matrix::again(out, &suite.heading);
}

fn left_out(out: &mut Lines, suite: &Suite) {
    let warned: Vec<&Cell> = suite
        .cells
        .iter()
        .filter(|cell| cell.speaker().is_some_and(|trial| !trial.figures.warnings.is_empty()))
        .collect();
    if !warned.is_empty() {
        out.fixed(
            "## Warnings\n\nVerdicts of the runs that are shown; see candor's docs/report.md.\n\n",
        );
        for cell in warned {
            let warnings = cell.speaker().map(|trial| trial.figures.warnings.join(", "));
            let warnings = warnings.unwrap_or_default();
            out.line(format!("- {}: {}", code(&cell.name()), escaped(&warnings)));
        }
        out.blank();
    }
    if !suite.failures.is_empty() {
        out.heading(2, "Trials that could not be made");
        for failure in &suite.failures {
            out.line(format!("- {}: {}", code(&failure.trial), escaped(&failure.why)));
        }
        out.blank();
    }
    if !suite.notes.is_empty() {
        out.heading(2, "Left out");
        for note in &suite.notes {
            out.line(format!("- {}: {}", code(&note.what), escaped(&note.why)));
        }
        out.blank();
    }
}

fn reading(out: &mut Lines) {
    out.fixed(
        "## Reading the numbers\n\n\
         - Rates are of right answers: a wrong status or body is a failure and never a success.\n\
         - Each request is timed by itself, also in pipelined and multiplexed scenarios.\n\
         - Rates of a closed load are the servers' peaks; their latencies are those of a server that \
         is as busy as it can be. Latency is to be read below the peak.\n\
         - A difference that is not well above the spread is noise; `candor compare` says how sure it \
         is of one.\n",
    );
}
