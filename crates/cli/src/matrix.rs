//! The common parts of `candor bench`, `candor board` and `candor clients`: reading a suite's file, the directory
//! of results, and the progress display of trials.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use candor_lab::matrix::{About, Directory, Head, Kind, Watcher};
use candor_lab::target::cores::{Split, fmt_cores};
use candor_lab::{Ahead, LabError};
use candor_plan::allow::Allowed;
use candor_plan::options::WatchingOptions;
use candor_plan::units::fmt_plural;
use candor_plan::{ReportDepth, Secrets};
use candor_render::Depth;
use candor_report::Facts;
use candor_report::document::{Host, Tool};
use candor_report::experiment::matrix::Note;
use candor_report::{json, shorten, visible};
use clap::Args;
use serde::Serialize;

use crate::exit::{Exit, UserError};
use crate::forms::{self, Format, Forms};
use crate::show::{Asked, Show};
use crate::target_flags::CoreFlags;
use crate::{console, input, last, remedy};

/// The page of a matrix in its directory.
pub(crate) const PAGE: &str = "index.html";

/// Flags of both.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Flags {
    /// How much to print at the end
    #[arg(long, value_name = "HOW MUCH", default_value = "short")]
    report: ReportDepth,

    /// What to print at the end instead of the report, e.g. junit or github [default: text]
    ///
    /// The forms are text, json, csv, html, markdown and, of what was checked, junit, github, github-summary, gitlab
    /// and gitlab-quality.
    #[arg(long, value_name = "FORM", value_parser = Format::of_experiment)]
    format: Option<Format>,

    /// Print no tables and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Connect to this host or network only; may be repeated
    ///
    /// A name, *.NAME, an address, a network (10.0.0.0/8), or unix:PATH. The lists in CANDOR_ALLOW
    /// and in candor/config.toml apply as well.
    #[arg(long, value_name = "HOST|CIDR")]
    pub(crate) allow: Vec<Allowed>,

    /// Do not redact results: keep the values of header fields, URLs and commands
    #[arg(long)]
    pub(crate) show_secrets: bool,

    /// Do not keep the result for `candor report last`
    #[arg(long)]
    no_keep: bool,

    #[command(flatten)]
    watching: WatchingOptions,

    #[command(flatten)]
    cores: CoreFlags,
}

impl Flags {
    /// The settings of the progress display.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            quiet: self.quiet,
            tui: self.watching.tui.unwrap_or_default(),
            progress: self.watching.progress.unwrap_or_default(),
            shares_stdout: false,
        }
    }

    /// The split of cores between target and loader.
    pub(crate) fn split(&self) -> Result<Split, UserError> {
        self.cores.split()
    }

    /// The head of a document. `target` and `loader` name the owners of the two sets of cores.
    pub(crate) fn about(&self, facts: Facts, split: &Split, target: &str, loader: &str) -> About {
        let secrets = Secrets::shown_if(self.show_secrets);
        let shared = if split.is_shared() { " (shared: figures cover both)" } else { "" };
        let (targets, loaders) = (fmt_cores(&split.target), fmt_cores(&split.loader));
        About {
            tool: Tool::of(&facts),
            arguments: facts.typed.shown(secrets),
            secrets,
            host: facts.host,
            cores: format!("{target} {targets}, {loader} {loaders}{shared}"),
        }
    }

    /// Writes the renderings of the trials.
    pub(crate) fn write<D: Serialize>(
        &self,
        directory: &Directory,
        forms: &Forms<D>,
        document: &D,
    ) -> Result<(), UserError> {
        directory.write("results.csv", &(forms.csv)(document))?;
        let page = (forms.page)(document, Depth::Full);
        directory.write("README.md", &page.markdown())?;
        Ok(directory.write(PAGE, &page.html())?)
    }

    /// Keeps and prints the document whose `page` is in the directory, and returns the exit code. `stopped` is why
    /// not all was measured, `exit` the code for a matrix that was not stopped.
    pub(crate) fn finish<D: Serialize>(
        &self,
        directory: &Directory,
        page: &str,
        forms: &Forms<D>,
        document: &D,
        stopped: Option<&LabError>,
        exit: impl FnOnce() -> Exit,
    ) -> Result<ExitCode, UserError> {
        if !self.no_keep {
            last::keep(self.quiet, || json::any(document));
        }
        if let Some(format) = self.format.filter(|format| *format != Format::Text) {
            let text = forms.in_format(document, format, String::new);
            console::print(&text.expect("a matrix has every form that is offered"))?;
        } else if let Some(depth) = forms::depth(self.report).filter(|_| !self.quiet) {
            let mut text = (forms.page)(document, depth).text(console::stdout_style());
            if depth == Depth::Short {
                let page = directory.path().join(page);
                text += &format!("\nmore: --report full · {}\n", visible(&page.to_string_lossy()));
            }
            console::print(&text)?;
            console::say(format_args!("candor: the results are in {}", directory.path().display()));
        }
        let Some(why) = stopped else { return Ok(exit().into()) };
        console::say(match why {
            LabError::Interrupted => "candor: interrupted; the same command resumes it".to_owned(),
            why => format!("candor: {}", remedy::told(why)),
        });
        Ok(Exit::stopped(why).into())
    }
}

/// The suite in the file at `path`; `parse` makes it from the file's name and text.
pub(crate) fn read<S>(
    path: &Path,
    parse: impl FnOnce(&str, &str) -> Result<S, LabError>,
) -> Result<S, UserError> {
    Ok(parse(&path.display().to_string(), &input::text("suite", path)?)?)
}

/// The directory of the results: `named`, or one with the suite's name.
pub(crate) fn directory(
    named: Option<&Path>,
    head: &Head,
    kind: &'static Kind,
    fingerprint: &str,
    host: &Host,
) -> Result<Directory, UserError> {
    let usual = PathBuf::from(format!("{}-results", head.name));
    Ok(Directory::open(named.unwrap_or(&usual), kind, fingerprint, host)?)
}

/// The number of cells and rounds, in words.
pub(crate) fn extent(head: &Head, cells: usize, rounds: u64) -> String {
    format!(
        "{}: {} in {}",
        head.name,
        fmt_plural(cells as u64, "cell"),
        fmt_plural(rounds, "round")
    )
}

/// Characters of a line about what is left out.
const LINE: usize = 100;

/// The cells to measure and the notes about those left out, a line each.
pub(crate) fn listed(keys: impl Iterator<Item = String>, notes: &[Note]) -> String {
    let cells = keys.map(|key| format!("  {key}\n"));
    let omitted = notes.iter().map(|note| format!("left out: {}: {}", note.what, note.why));
    let notes = omitted.map(|line| shorten(&line, LINE) + "\n");
    cells.chain(notes).collect()
}

/// Shows each trial; `in_words` describes it in half a sentence.
pub(crate) struct Shown<T> {
    pub(crate) show: Show,
    pub(crate) in_words: fn(&T) -> String,
}

impl<T> Watcher<T> for Shown<T> {
    fn begins(&mut self, trial: &str, number: u64, of: u64, left: Duration) {
        let ahead = Ahead { steps: Some(of.saturating_sub(number)), ..Ahead::default() };
        self.show.begins(trial, ahead, Some(left));
    }

    fn done(&mut self, trial: &str, made: &T) {
        self.show.done(trial, &(self.in_words)(made), false);
    }

    fn failed(&mut self, trial: &str, why: &str) {
        self.show.done(trial, why, true);
    }

    fn note(&mut self, line: &str) {
        self.show.note(line);
    }
}
