//! `candor report`: renders saved results again, and traces.

mod experiment;
mod trace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use candor_report::render::{Depth, compose, csv, hgrm, hlog, json};
use candor_report::{Document, read};
use clap::Args;

use crate::console;
use crate::exit::{Exit, Failure};

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Results written by --json (of runs, peaks, sweeps, comparisons), suite.json, clients.json, or traces written by --trace
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How to render them on the standard output
    #[arg(long, visible_alias = "to", value_name = "FORM", default_value = "text")]
    format: Format,
}

/// The renderings of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The report that a run prints
    Text,
    /// The document itself
    Json,
    /// The intervals, every request of a trace, or every run of an experiment
    Csv,
    /// A page for a browser
    Html,
    /// The report, as Markdown
    Markdown,
    /// Response-time percentiles, as HdrHistogram's plotter takes them
    Hgrm,
    /// The same of service times
    HgrmService,
    /// The intervals' histograms, as an HdrHistogram log
    Hlog,
}

pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    if arguments.format == Format::Html && arguments.files.len() > 1 {
        return Err(Failure::usage("a page is of one result; give one FILE with --format html"));
    }
    for (n, path) in arguments.files.iter().enumerate() {
        if n > 0 && arguments.format == Format::Text {
            console::print("\n")?;
        }
        // What cannot be opened is said below, in the same words for whatever it would be.
        if let Ok(Some(file)) = trace::open(path) {
            trace::print(file, arguments.format, path)?;
            continue;
        }
        console::print(&rendered(path, arguments.format)?)?;
    }
    Ok(Exit::Fine.into())
}

fn rendered(path: &Path, format: Format) -> Result<String, Failure> {
    let text = read::text_of(path).map_err(|error| cannot_read(path, &error))?;
    if let Some(rendered) = experiment::render(&text, format, path)? {
        return Ok(rendered);
    }
    let document = Document::from_json(&text).map_err(|error| cannot_read(path, &error))?;
    // Both together may be all that this command may take.
    drop(text);
    of_run(&document, format, path)
}

fn cannot_read(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::could_not_run(format!("cannot read {}: {error}", path.display()))
}

fn of_run(document: &Document, format: Format, path: &Path) -> Result<String, Failure> {
    let histogram = match format {
        Format::Text => {
            return Ok(compose::run(document, Depth::Brief).text(console::stdout_style()));
        }
        Format::Json => return Ok(json::render(document)),
        Format::Csv => return Ok(csv::run(document)),
        Format::Html => return Ok(compose::run(document, Depth::Full).html()),
        Format::Hlog => return Ok(hlog::render(document)),
        Format::Markdown => return Ok(compose::run(document, Depth::Full).markdown()),
        Format::Hgrm => hgrm::response(document),
        Format::HgrmService => hgrm::service(document),
    };
    histogram.map_err(|error| {
        Failure::could_not_run(format!("a histogram in {} is damaged: {error}", path.display()))
    })
}
