//! The renderings of experiments' documents, for the commands that make them and for `candor
//! report`.

use candor_plan::{Out, Outputs, ReportDepth};
use candor_render::ci::{self, Checks};
use candor_render::{Depth, Page, compose, csv};
use candor_report::experiment::board::Board;
use candor_report::experiment::clients::Clients;
use candor_report::experiment::comparison::Comparison;
use candor_report::experiment::peak::Peak;
use candor_report::experiment::suite::Suite;
use candor_report::experiment::sweep::Sweep;
use candor_report::{Document, ReadError};
use candor_report::{Style, json, visible};
use clap::ValueEnum;
use serde::Serialize;

use crate::exit::{Exit, UserError};
use crate::{console, last, outputs};

/// The renderings of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// The report that a run prints
    Text,
    /// The document itself
    Json,
    /// The intervals, every request of a trace, or every run of an experiment
    Csv,
    /// The requests, steps and journeys of a run
    CsvSteps,
    /// A self-contained HTML page
    Html,
    /// The report, as Markdown
    Markdown,
    /// Response-time percentiles in the format of HdrHistogram's plotter
    Hgrm,
    /// The same for service times
    HgrmService,
    /// The intervals' histograms, as an HdrHistogram log
    Hlog,
    /// What was checked, e.g. objectives, as JUnit's XML
    Junit,
    /// The same as annotations of a GitHub workflow
    Github,
    /// The same as Markdown for the summary of a GitHub job
    GithubSummary,
    /// The same as GitLab's metrics report
    Gitlab,
    /// The same as GitLab's report of code quality
    GitlabQuality,
}

impl Format {
    /// The form of this name, if experiments have it.
    pub(crate) fn of_experiment(text: &str) -> Result<Format, String> {
        let of_runs = [Format::CsvSteps, Format::Hgrm, Format::HgrmService, Format::Hlog];
        let all = Format::value_variants().iter().filter(|one| !of_runs.contains(one));
        let named = all.filter_map(|one| Some((one, one.to_possible_value()?)));
        let named: Vec<_> = named.map(|(one, value)| (*one, value.get_name().to_owned())).collect();
        let found = named.iter().find(|(_, name)| name == text).map(|(one, _)| *one);
        found.ok_or_else(|| {
            let names: Vec<&str> = named.iter().map(|(_, name)| name.as_str()).collect();
            format!("write one of {}", names.join(", "))
        })
    }

    /// These checks in this form; `None`: it is not one of checks.
    pub(crate) fn of_checks(self, checks: impl FnOnce() -> Checks) -> Option<String> {
        let named = self.to_possible_value()?;
        let (_, write) = ci::FORMS.into_iter().find(|(name, _)| *name == named.get_name())?;
        Some(write(&checks()))
    }
}

/// How to read and render one kind of document.
pub(crate) struct Forms<T> {
    pub(crate) read: fn(&str) -> Result<T, ReadError>,
    pub(crate) page: fn(&T, Depth) -> Page,
    pub(crate) csv: fn(&T) -> String,
    /// What it checks.
    checks: fn(&T) -> Checks,
}

pub(crate) const PEAK: Forms<Peak> =
    Forms { read: Peak::from_json, page: compose::peak, csv: csv::peak, checks: Checks::of_peak };

pub(crate) const SWEEP: Forms<Sweep> = Forms {
    read: Sweep::from_json,
    page: compose::sweep,
    csv: csv::sweep,
    checks: Checks::of_sweep,
};

pub(crate) const COMPARISON: Forms<Comparison> = Forms {
    read: Comparison::from_json,
    page: compose::comparison,
    csv: csv::comparison,
    checks: Checks::of_comparison,
};

pub(crate) const SUITE: Forms<Suite> = Forms {
    read: Suite::from_json,
    page: compose::suite,
    csv: csv::suite,
    checks: Checks::of_suite,
};

pub(crate) const BOARD: Forms<Board> = Forms {
    read: Board::from_json,
    page: compose::board,
    csv: csv::board,
    checks: Checks::of_board,
};

pub(crate) const CLIENTS: Forms<Clients> = Forms {
    read: Clients::from_json,
    page: compose::clients,
    csv: csv::clients,
    checks: Checks::of_clients,
};

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

/// The forms of experiments, beside those of [`ci::FORMS`].
const FORMS: [&str; 4] = ["json", "csv", "html", "markdown"];

/// Refuses outputs that an experiment does not have, and files that cannot be written.
pub(crate) fn check(outputs: &Outputs) -> Result<(), UserError> {
    let checks = ci::FORMS.into_iter().map(|(name, _)| name);
    outputs::check(&outputs.list, FORMS.into_iter().chain(checks))?;
    outputs::check_paths(outputs::files(&outputs.list))
}

/// Writes the forms for CI of a command that made no run, where they are asked for: a system that reads them must not
/// take their absence for a success. Returns the reason; of a wrong command line and an interruption there are none.
pub(crate) fn of_nothing(title: &str, outputs: &Outputs, why: UserError) -> UserError {
    if why.exit() != Exit::CouldNotRun {
        return why;
    }
    let checks = || Checks::of_nothing(title.to_owned(), visible(&why.to_string()).into_owned());
    for out in &outputs.list {
        if let Some(text) = checks().in_form(&out.kind)
            && let Err(error) = outputs::write(&out.place, &text)
        {
            console::say(format_args!("candor: {error}"));
        }
    }
    why
}

impl<T> Forms<T> {
    /// The report of an experiment, and where there is more of it, as [`of_run`].
    pub(crate) fn text(&self, document: &T, depth: Depth, style: Style, is_last: bool) -> String {
        (self.page)(document, depth).text(style) + more(depth, is_last)
    }
}

impl<T: Serialize> Forms<T> {
    /// An experiment in this form; `None`: it does not have it. `text` makes its report.
    pub(crate) fn in_format(
        &self,
        document: &T,
        format: Format,
        text: impl FnOnce() -> String,
    ) -> Option<String> {
        match format {
            Format::Text => Some(text()),
            Format::Markdown => Some((self.page)(document, Depth::Full).markdown()),
            Format::Csv => Some((self.csv)(document)),
            Format::Html => Some((self.page)(document, Depth::Full).html()),
            Format::Json => Some(json::any(document)),
            Format::CsvSteps | Format::Hgrm | Format::HgrmService | Format::Hlog => None,
            Format::Junit
            | Format::Github
            | Format::GithubSummary
            | Format::Gitlab
            | Format::GitlabQuality => format.of_checks(|| (self.checks)(document)),
        }
    }

    /// Keeps the result, writes the requested outputs and prints the report. Returns the first failure
    /// to write an output.
    pub(crate) fn give_out(&self, document: &T, to: &Outputs) -> Result<(), UserError> {
        let is_last = to.keep && last::keep(to.quiet, || json::any(document));
        let write = |out: &Out| {
            let text = match out.kind.as_str() {
                "csv" => (self.csv)(document),
                "html" => (self.page)(document, Depth::Full).html(),
                "markdown" => (self.page)(document, Depth::Full).markdown(),
                "json" => json::any(document),
                // What it does not have was refused before.
                form => (self.checks)(document).in_form(form).unwrap_or_default(),
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
