//! The renderings of experiments' documents, for the commands that make one and for `candor report`.

use std::path::PathBuf;

use candor_plan::Outputs;
use candor_report::ReadError;
use candor_report::experiment::clients::Clients;
use candor_report::experiment::comparison::Comparison;
use candor_report::experiment::peak::Peak;
use candor_report::experiment::suite::Suite;
use candor_report::experiment::sweep::Sweep;
use candor_report::render::{Depth, Page, Style, compose, csv, json};
use serde::Serialize;

use crate::console;
use crate::exit::Failure;
use crate::files;

/// How one kind of document is read and rendered.
pub(crate) struct Forms<T> {
    pub(crate) read: fn(&str) -> Result<T, ReadError>,
    pub(crate) page: fn(&T, Depth) -> Page,
    pub(crate) csv: fn(&T) -> String,
}

pub(crate) const PEAK: Forms<Peak> =
    Forms { read: Peak::from_json, page: compose::peak, csv: csv::peak };

pub(crate) const SWEEP: Forms<Sweep> =
    Forms { read: Sweep::from_json, page: compose::sweep, csv: csv::sweep };

pub(crate) const COMPARISON: Forms<Comparison> =
    Forms { read: Comparison::from_json, page: compose::comparison, csv: csv::comparison };

pub(crate) const SUITE: Forms<Suite> =
    Forms { read: Suite::from_json, page: compose::suite, csv: csv::suite };

pub(crate) const CLIENTS: Forms<Clients> =
    Forms { read: Clients::from_json, page: compose::clients, csv: csv::clients };

/// Where renderings go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// Print no report.
    pub(crate) quiet: bool,
    pub(crate) json: Option<PathBuf>,
    pub(crate) csv: Option<PathBuf>,
    pub(crate) html: Option<PathBuf>,
    pub(crate) markdown: Option<PathBuf>,
}

impl Places {
    /// Those of a run, and one for what runs do not have.
    pub(crate) fn new(outputs: &Outputs, markdown: Option<PathBuf>) -> Self {
        let Outputs { quiet, json, csv, html, .. } = outputs.clone();
        Places { quiet, json, csv, html, markdown }
    }

    /// Refuses a file that cannot be written.
    pub(crate) fn check_writable(&self) -> Result<(), Failure> {
        files::check_paths(
            [&self.json, &self.csv, &self.html, &self.markdown].into_iter().flatten(),
        )
    }
}

impl<T: Serialize> Forms<T> {
    /// Prints the report and writes the files that were asked for, these also if nothing could be
    /// printed, or the result would be lost. Says of the first that could not be written.
    pub(crate) fn give_out(&self, document: &T, to: &Places) -> Result<(), Failure> {
        let printed = match to.quiet {
            true => Ok(()),
            false => console::print(&(self.page)(document, Depth::Brief).text(Style::Plain)),
        };
        let forms: [(&Option<PathBuf>, &dyn Fn() -> String); 4] = [
            (&to.json, &|| json::any(document)),
            (&to.csv, &|| (self.csv)(document)),
            (&to.markdown, &|| (self.page)(document, Depth::Full).markdown()),
            (&to.html, &|| (self.page)(document, Depth::Full).html()),
        ];
        let mut failed = Vec::new();
        for (path, text) in forms {
            failed.extend(path.as_ref().and_then(|path| files::write_one(path, text().as_bytes())));
        }
        failed.into_iter().next().map_or(printed, Err)
    }
}
