//! `candor report` of an experiment: a peak, a sweep, a comparison, a suite or a matrix of client
//! libraries, rendered again.

use std::path::Path;

use candor_report::experiment::{clients, comparison, peak, suite, sweep};
use candor_report::read::{self, ReadError};
use candor_report::render::{Depth, Style, json};
use serde::Serialize;

use super::{Format, cannot_read};
use crate::exit::Failure;
use crate::forms::{CLIENTS, COMPARISON, Forms, PEAK, SUITE, SWEEP};

/// The rendering of an experiment's document; `None` if it is another.
pub(super) fn render(text: &str, format: Format, path: &Path) -> Result<Option<String>, Failure> {
    let rendered = match read::format_of(text).as_deref() {
        Some(peak::FORMAT) => rendered(&PEAK, text, format),
        Some(sweep::FORMAT) => rendered(&SWEEP, text, format),
        Some(comparison::FORMAT) => rendered(&COMPARISON, text, format),
        Some(suite::FORMAT) => rendered(&SUITE, text, format),
        Some(clients::FORMAT) => rendered(&CLIENTS, text, format),
        _ => return Ok(None),
    };
    let why = "an experiment has no histogram of its own; render one of its runs (--keep DIR)";
    let rendered = rendered.map_err(|error| cannot_read(path, &error))?;
    rendered.map(Some).ok_or_else(|| Failure::usage(format!("{}: {why}", path.display())))
}

/// `None`: there is no such form of it.
fn rendered<T: Serialize>(
    forms: &Forms<T>,
    text: &str,
    format: Format,
) -> Result<Option<String>, ReadError> {
    let document = (forms.read)(text)?;
    Ok(match format {
        Format::Text => Some((forms.page)(&document, Depth::Brief).text(Style::Plain)),
        Format::Markdown => Some((forms.page)(&document, Depth::Full).markdown()),
        Format::Csv => Some((forms.csv)(&document)),
        Format::Html => Some((forms.page)(&document, Depth::Full).html()),
        Format::Json => Some(json::any(&document)),
        Format::Hgrm | Format::HgrmService | Format::Hlog => None,
    })
}
