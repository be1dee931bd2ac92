//! `candor report` of an experiment: a peak, a sweep, a comparison, a suite, a board or a matrix of client
//! libraries, rendered again.

use std::path::Path;

use candor_report::experiment::{board, clients, comparison, peak, suite, sweep};
use candor_report::read::{self, ReadError};
use serde::Serialize;

use super::{Asked, cannot_read};
use crate::console;
use crate::exit::UserError;
use crate::forms::{BOARD, CLIENTS, COMPARISON, Forms, PEAK, SUITE, SWEEP};

/// The rendering of an experiment's document; `None` if it is not one.
pub(super) fn render(
    text: &str,
    asked: Asked<'_>,
    path: &Path,
) -> Result<Option<String>, UserError> {
    let rendered = match read::format_of(text).as_deref() {
        Some(peak::FORMAT) => rendered(&PEAK, text, asked),
        Some(sweep::FORMAT) => rendered(&SWEEP, text, asked),
        Some(comparison::FORMAT) => rendered(&COMPARISON, text, asked),
        Some(suite::FORMAT) => rendered(&SUITE, text, asked),
        Some(board::FORMAT) => rendered(&BOARD, text, asked),
        Some(clients::FORMAT) => rendered(&CLIENTS, text, asked),
        _ => return Ok(None),
    };
    if !asked.objectives.is_empty() {
        let why =
            "--expect is about runs, and this is an experiment; give one of its runs (--keep DIR)";
        return Err(UserError::usage(format!("{}: {why}", path.display())));
    }
    let why = "an experiment does not have this form; render one of its runs (--keep DIR)";
    let rendered = rendered.map_err(|error| cannot_read(path, &error))?;
    rendered.map(Some).ok_or_else(|| UserError::usage(format!("{}: {why}", path.display())))
}

/// `None` if this document does not have this form.
fn rendered<T: Serialize>(
    forms: &Forms<T>,
    text: &str,
    asked: Asked<'_>,
) -> Result<Option<String>, ReadError> {
    let document = (forms.read)(text)?;
    let text = || {
        let text = |depth| forms.text(&document, depth, console::stdout_style(), asked.is_last);
        asked.depth.map_or(String::new(), text)
    };
    Ok(forms.in_format(&document, asked.format, text))
}
