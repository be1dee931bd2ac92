//! `candor report` of an experiment: a peak, a sweep, a comparison, a suite or a matrix of client
//! libraries, rendered again.

use std::path::Path;

use candor_report::experiment::{self, ReadError, clients, comparison, peak, suite, sweep};
use candor_report::render::{experiment as plain, html, json};
use serde::Serialize;

use super::cannot_read;
use crate::arguments::Format;
use crate::exit::Failure;

/// The renderings of one kind of document.
struct Forms<T> {
    read: fn(&str) -> Result<T, ReadError>,
    text: fn(&T) -> String,
    markdown: fn(&T) -> String,
    csv: fn(&T) -> String,
    html: fn(&T) -> String,
}

/// The rendering of an experiment's document; `None` if it is another.
pub(super) fn render(text: &str, format: Format, path: &Path) -> Result<Option<String>, Failure> {
    let rendered = match experiment::format_of(text).as_deref() {
        Some(peak::FORMAT) => Forms {
            read: peak::Peak::from_json,
            text: plain::peak::text,
            markdown: plain::peak::markdown,
            csv: plain::peak::csv,
            html: html::peak,
        }
        .render(text, format),
        Some(sweep::FORMAT) => Forms {
            read: sweep::Sweep::from_json,
            text: plain::sweep::text,
            markdown: plain::sweep::markdown,
            csv: plain::sweep::csv,
            html: html::sweep,
        }
        .render(text, format),
        Some(comparison::FORMAT) => Forms {
            read: comparison::Comparison::from_json,
            text: plain::comparison::text,
            markdown: plain::comparison::markdown,
            csv: plain::comparison::csv,
            html: html::comparison,
        }
        .render(text, format),
        Some(suite::FORMAT) => Forms {
            read: suite::Suite::from_json,
            text: plain::suite::text,
            markdown: plain::suite::markdown,
            csv: plain::suite::csv,
            html: html::suite,
        }
        .render(text, format),
        Some(clients::FORMAT) => Forms {
            read: clients::Clients::from_json,
            text: plain::clients::text,
            markdown: plain::clients::markdown,
            csv: plain::clients::csv,
            html: html::clients,
        }
        .render(text, format),
        _ => return Ok(None),
    };
    let why = "an experiment has no histogram of its own; render one of its runs (--keep DIR)";
    let rendered = rendered.map_err(|error| cannot_read(path, &error))?;
    rendered.map(Some).ok_or_else(|| Failure::usage(format!("{}: {why}", path.display())))
}

impl<T: Serialize> Forms<T> {
    /// `None`: there is no such form of it.
    fn render(self, text: &str, format: Format) -> Result<Option<String>, ReadError> {
        let document = (self.read)(text)?;
        Ok(match format {
            Format::Text => Some((self.text)(&document)),
            Format::Markdown => Some((self.markdown)(&document)),
            Format::Csv => Some((self.csv)(&document)),
            Format::Html => Some((self.html)(&document)),
            Format::Json => Some(json::any(&document)),
            Format::Hgrm | Format::HgrmService | Format::Hlog => None,
        })
    }
}
