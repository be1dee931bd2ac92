//! `candor report`: renders saved results again, and traces.

mod trace;

use std::path::Path;
use std::process::ExitCode;

use candor_report::Document;
use candor_report::experiment::{self, ReadError, comparison, peak, suite, sweep};
use candor_report::render::experiment as render;
use candor_report::render::{csv, hgrm, hlog, json, text};

use crate::arguments::{Format, ReportArguments};
use crate::console;
use crate::exit::{Exit, Failure};

pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    for (n, path) in arguments.files.iter().enumerate() {
        if n > 0 && arguments.format == Format::Text {
            console::print("\n")?;
        }
        // What cannot be opened is said below, in the same words for whatever it would be.
        if let Ok(Some(file)) = trace::open(path) {
            trace::print(file, arguments.format, path)?;
            continue;
        }
        let text = text_of(path)?;
        if let Some(rendered) = experiment(&text, arguments.format, path)? {
            console::print(&rendered)?;
            continue;
        }
        let document = Document::from_json(&text).map_err(|error| cannot_read(path, &error))?;
        console::print(&of_run(&document, arguments.format, path)?)?;
    }
    Ok(Exit::Fine.into())
}

fn text_of(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| cannot_read(path, &error))
}

fn cannot_read(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::could_not_run(format!("cannot read {}: {error}", path.display()))
}

/// The rendering of an experiment's document; `None` if it is another.
fn experiment(text: &str, format: Format, path: &Path) -> Result<Option<String>, Failure> {
    let wrong = |error: ReadError| cannot_read(path, &error);
    let rendered = match experiment::format_of(text).as_deref() {
        Some(peak::FORMAT) => {
            let peak = peak::Peak::from_json(text).map_err(wrong)?;
            match format {
                Format::Text => Some(render::peak::text(&peak)),
                Format::Markdown => Some(render::peak::markdown(&peak)),
                Format::Csv => Some(render::peak::csv(&peak)),
                Format::Json => Some(json::any(&peak)),
                Format::Hgrm | Format::HgrmService | Format::Hlog => None,
            }
        }
        Some(sweep::FORMAT) => {
            let sweep = sweep::Sweep::from_json(text).map_err(wrong)?;
            match format {
                Format::Text => Some(render::sweep::text(&sweep)),
                Format::Markdown => Some(render::sweep::markdown(&sweep)),
                Format::Csv => Some(render::sweep::csv(&sweep)),
                Format::Json => Some(json::any(&sweep)),
                Format::Hgrm | Format::HgrmService | Format::Hlog => None,
            }
        }
        Some(comparison::FORMAT) => {
            let comparison = comparison::Comparison::from_json(text).map_err(wrong)?;
            match format {
                Format::Text => Some(render::comparison::text(&comparison)),
                Format::Markdown => Some(render::comparison::markdown(&comparison)),
                Format::Csv => Some(render::comparison::csv(&comparison)),
                Format::Json => Some(json::any(&comparison)),
                Format::Hgrm | Format::HgrmService | Format::Hlog => None,
            }
        }
        Some(suite::FORMAT) => {
            let suite = suite::Suite::from_json(text).map_err(wrong)?;
            match format {
                Format::Text => Some(render::suite::text(&suite)),
                Format::Markdown => Some(render::suite::markdown(&suite)),
                Format::Csv => Some(render::suite::csv(&suite)),
                Format::Json => Some(json::any(&suite)),
                Format::Hgrm | Format::HgrmService | Format::Hlog => None,
            }
        }
        _ => return Ok(None),
    };
    let why = "an experiment has no histogram of its own; render one of its runs (--keep DIR)";
    rendered.map(Some).ok_or_else(|| Failure::usage(format!("{}: {why}", path.display())))
}

fn of_run(document: &Document, format: Format, path: &Path) -> Result<String, Failure> {
    let histogram = match format {
        Format::Text => return Ok(text::render(document, console::stdout_style())),
        Format::Json => return Ok(json::render(document)),
        Format::Csv => return Ok(csv::render(document)),
        Format::Hlog => return Ok(hlog::render(document)),
        Format::Markdown => {
            let why = "this is a single run, which has no Markdown; take text";
            return Err(Failure::usage(format!("{}: {why}", path.display())));
        }
        Format::Hgrm => hgrm::response(document),
        Format::HgrmService => hgrm::service(document),
    };
    histogram.map_err(|error| {
        Failure::could_not_run(format!("a histogram in {} is damaged: {error}", path.display()))
    })
}
