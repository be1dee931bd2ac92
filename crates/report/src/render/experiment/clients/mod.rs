//! Matrices of client libraries for people and for programs: the README of a suite's directory, a text
//! for the terminal, and every trial as CSV.
//!
//! Of each cell one run is shown as a whole row. A cell without a run whose counts agree with the
//! server's has no figures in a table, only what is wrong with it.

mod csv;
pub(in crate::render) mod tables;
#[cfg(test)]
pub(crate) mod tests;

use candor_plan::units::{fmt_duration_ns, fmt_plural};

use super::super::lines::{Lines, code, escaped};
use super::matrix;
use crate::experiment::clients::{Client, Clients};

pub use csv::{COLUMNS, csv};
pub use tables::in_words;

/// What stands beside figures of the tables.
pub(in crate::render) const MARKS: &str = "Of each cell one run is shown, the one with the median \
     rate, of those whose counts agree with the server's. ± is how far the rates of the others lie from \
     it at most. Errors are shares of the requests that ended in the window, by kind. CPU is the whole \
     driver's, user and kernel, over the whole cell by all of its requests; overhead is what the null \
     client of the same driver costs with as many callers.";

/// The README.
pub fn markdown(clients: &Clients) -> String {
    let mut out = matrix::title("HTTP client libraries", &clients.heading);
    environment(&mut out, clients);
    let (made, all) = clients.progress();
    if made > 0 || all > 0 {
        out.line(escaped(MARKS));
        out.blank();
    }
    for (heading, table) in tables::rates(clients) {
        out.heading(2, escaped(&heading));
        out.append(table.markdown());
        out.blank();
    }
    out.heading(2, "Every cell");
    out.append(tables::cells(clients).markdown());
    out.blank();
    list(&mut out, "Driver overhead", &tables::overheads(clients));
    list(&mut out, "Counts that do not agree", &tables::wrong(clients));
    list(&mut out, "Trials that could not be made", &tables::failures(clients));
    list(&mut out, "Left out", &tables::notes(clients));
    reading(&mut out);
    out.finish()
}

/// Every cell for a terminal, and what went wrong.
pub fn text(clients: &Clients) -> String {
    let mut out = Lines::default();
    out.blank();
    out.append(tables::cells(clients).text());
    let (made, all) = clients.progress();
    out.blank();
    out.line(format!("{made} of {all} trials are there."));
    for (what, lines) in [
        ("driver overhead", tables::overheads(clients)),
        ("COUNTS DO NOT AGREE", tables::wrong(clients)),
        ("failed", tables::failures(clients)),
        ("left out", tables::notes(clients)),
    ] {
        for (name, line) in lines {
            out.line(format!("{what}: {name}: {line}"));
        }
    }
    out.finish()
}

fn environment(out: &mut Lines, clients: &Clients) {
    matrix::captured(out, "candor clients", &clients.heading);
    if !clients.complete {
        matrix::not_complete(out, clients.progress());
    }
    let wrong = clients.wrong();
    if wrong > 0 {
        out.line(format!(
            "> **Not to be trusted as it is.** In {} the driver and the server do not count the \
             same requests; see below.",
            fmt_plural(wrong, "trial")
        ));
        out.blank();
    }
    matrix::hardware(out, &clients.heading);
    out.line(format!(
        "- {} a cell, in rounds, the order within a round drawn at random (seed {}); a fresh driver \
         for each run, one at a time, against one server",
        fmt_plural(clients.heading.rounds, "run"),
        clients.heading.seed
    ));
    out.line(format!("- {}", escaped(&asked(clients))));
    out.line(format!("- Server: {}", code(&clients.server)));
    for client in &clients.clients {
        let (name, command) = (code(&client.name), code(&client.command.join(" ")));
        out.line(format!("- Client {name}: {}: {command}", escaped(&what(client))));
    }
    out.blank();
    matrix::again(out, &clients.heading);
}

/// What every cell was asked for, in words.
pub(in crate::render) fn asked(clients: &Clients) -> String {
    let asked = &clients.asked;
    let path = asked.path.as_deref().map_or(String::new(), |path| format!("GET {path}, "));
    let body = asked
        .expect_body_bytes
        .map_or(String::new(), |bytes| format!(" with {}", fmt_plural(bytes, "byte")));
    format!(
        "Each run: {path}warm-up {}, window {}, time-out {}; right is status {}{body}; pools: {}",
        fmt_duration_ns(asked.warm_up_ns),
        fmt_duration_ns(asked.duration_ns),
        fmt_duration_ns(asked.timeout_ns),
        asked.expect_status,
        clients.pools
    )
}

/// A client in words: its library, what that runs on, and what its suite says of it.
pub(in crate::render) fn what(client: &Client) -> String {
    let about =
        if client.about.is_empty() { String::new() } else { format!(" ({})", client.about) };
    format!("{} {}, {}{about}", client.library, client.version, client.runtime)
}

fn list(out: &mut Lines, heading: &str, lines: &[(String, String)]) {
    if lines.is_empty() {
        return;
    }
    out.heading(2, heading);
    for (name, line) in lines {
        out.line(format!("- {}: {}", code(name), escaped(line)));
    }
    out.blank();
}

fn reading(out: &mut Lines) {
    out.fixed(
        "## Reading the numbers\n\n\
         - Rates are of right answers that ended in the window; an error is never a success.\n\
         - A latency counts from before the library was called until it returned, so waiting for a \
         connection of the pool is in it.\n\
         - These are closed loops: while a library is slow it is asked less. Latencies are those under \
         the load that it took.\n\
         - A percentile that so many requests do not bound is not printed.\n\
         - Units and columns of `results.csv` are in candor's docs/clients.md.\n",
    );
}
