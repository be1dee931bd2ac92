//! The renderings of experiments' documents, for the commands that make them and for `candor
//! report`.

use candor_plan::{Out, Outputs, ReportDepth};
use candor_render::ci::Checks;
use candor_render::{Depth, Page, compose, csv};
use candor_report::experiment::clients::Clients;
use candor_report::experiment::comparison::Comparison;
use candor_report::experiment::peak::Peak;
use candor_report::experiment::suite::Suite;
use candor_report::experiment::sweep::Sweep;
use candor_report::{Document, ReadError};
use candor_report::{Style, json};
use serde::Serialize;

use crate::exit::UserError;
use crate::{console, last, outputs};

/// How to read and render one kind of document.
pub(crate) struct Forms<T> {
    pub(crate) read: fn(&str) -> Result<T, ReadError>,
    pub(crate) page: fn(&T, Depth) -> Page,
    pub(crate) csv: fn(&T) -> String,
    /// What it checks; `None`: nothing.
    pub(crate) checks: Option<fn(&T) -> Checks>,
}

pub(crate) const PEAK: Forms<Peak> =
    Forms { read: Peak::from_json, page: compose::peak, csv: csv::peak, checks: None };

pub(crate) const SWEEP: Forms<Sweep> =
    Forms { read: Sweep::from_json, page: compose::sweep, csv: csv::sweep, checks: None };

pub(crate) const COMPARISON: Forms<Comparison> = Forms {
    read: Comparison::from_json,
    page: compose::comparison,
    csv: csv::comparison,
    checks: Some(Checks::of_comparison),
};

pub(crate) const SUITE: Forms<Suite> =
    Forms { read: Suite::from_json, page: compose::suite, csv: csv::suite, checks: None };

pub(crate) const CLIENTS: Forms<Clients> =
    Forms { read: Clients::from_json, page: compose::clients, csv: csv::clients, checks: None };

/// The depth of a report; `None`: nothing is printed.
pub(crate) fn depth(report: ReportDepth) -> Option<Depth> {
    match report {
        ReportDepth::Short => Some(Depth::Short),
        ReportDepth::Full => Some(Depth::Terminal),
        ReportDepth::None => None,
    }
}

/// The report of a run, and a line about where to find more: also in `last`, if it `is_last`.
pub(crate) fn of_run(document: &Document, depth: Depth, style: Style, is_last: bool) -> String {
    compose::run(document, depth).text(style) + more(depth, is_last)
}

/// Where there is more than a short page has.
fn more(depth: Depth, is_last: bool) -> &'static str {
    match (depth, is_last) {
        (Depth::Short, true) => "\nmore: --report full · candor report last --html run.html\n",
        (Depth::Short, false) => "\nmore: --report full\n",
        _ => "",
    }
}

/// The forms of experiments, and those of experiments that check something.
const FORMS: [&str; 4] = ["json", "csv", "html", "markdown"];
const CHECKS: [&str; 3] = ["junit", "github", "gitlab"];

/// Refuses outputs that an experiment does not have, and files that cannot be written.
pub(crate) fn check(outputs: &Outputs, has_checks: bool) -> Result<(), UserError> {
    let checks = CHECKS.into_iter().filter(|_| has_checks);
    outputs::check(&outputs.list, FORMS.into_iter().chain(checks))?;
    outputs::check_paths(outputs::files(&outputs.list))
}

impl<T> Forms<T> {
    /// The report of an experiment, and where there is more of it, as [`of_run`].
    pub(crate) fn text(&self, document: &T, depth: Depth, style: Style, is_last: bool) -> String {
        (self.page)(document, depth).text(style) + more(depth, is_last)
    }
}

impl<T: Serialize> Forms<T> {
    /// Keeps the result, writes the requested outputs and prints the report. Returns the first failure
    /// to write an output.
    pub(crate) fn give_out(&self, document: &T, to: &Outputs) -> Result<(), UserError> {
        let is_last = to.keep && last::keep(to.quiet, || json::any(document));
        let write = |out: &Out| {
            let text = match out.kind.as_str() {
                "csv" => (self.csv)(document),
                "html" => (self.page)(document, Depth::Full).html(),
                "markdown" => (self.page)(document, Depth::Full).markdown(),
                form @ ("junit" | "github" | "gitlab") => match self.checks {
                    // Refused before.
                    None => return Ok(()),
                    Some(checks) => checks(document).in_form(form),
                },
                _ => json::any(document),
            };
            outputs::write(&out.place, &text)
        };
        // Files first: the reader of the standard output may be slow.
        let failed: Vec<_> = to.list.iter().filter_map(|out| write(out).err()).collect();
        let printed = match depth(to.report) {
            None => Ok(()),
            Some(depth) => console::report(outputs::take_stdout(&to.list), |style| {
                self.text(document, depth, style, is_last)
            }),
        };
        failed.into_iter().next().map_or(printed, Err)
    }
}
