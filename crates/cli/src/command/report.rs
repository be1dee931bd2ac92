//! `candor report`: renders saved results again, the last ones that were kept, and traces.

mod experiment;
mod trace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use candor_plan::{Out, Place, ReportDepth};
use candor_record::{MergeError, Workers};
use candor_render::ci::Checks;
use candor_render::{Depth, compose, csv, hgrm, hlog};
use candor_report::document::Outcome;
use candor_report::json;
use candor_report::merge::PartError;
use candor_report::{Document, Expectation, read};
use clap::Args;

use crate::exit::{Exit, UserError};
use crate::forms::Format;
use crate::{console, forms, last, outputs};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor report result.json
      Print the report of a saved run again.
  candor report --format html result.json > run.html
      The same run as an HTML page.
  candor report --format csv run.trace > requests.csv
      Every request of a trace as a line.
  candor report --merge one.json two.json
      Merge the parts of a run (candor run --part).";

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Results written by --json (of runs, peaks, sweeps, comparisons), suite.json, clients.json, or traces written by --trace
    ///
    /// `last` is the last kept result, `last-1` the one before it, up to `last-9`; for a file of that
    /// name write ./last.
    #[arg(required = true, value_name = "FILE|last")]
    files: Vec<PathBuf>,
    /// How to render them on the standard output [default: text, if nothing is written to files]
    #[arg(long, visible_alias = "to", value_name = "FORM")]
    format: Option<Format>,
    /// How much to print
    #[arg(long, value_name = "HOW MUCH", default_value = "short")]
    report: ReportDepth,
    #[command(flatten)]
    written: Written,
    /// Merge results of the parts of one run (run --part)
    ///
    /// Merging is exact: as if one process had made the run.
    #[arg(long)]
    merge: bool,
    /// Judge saved runs by this objective: exit with 3 if it is not met, 6 if that cannot be told; may be repeated
    ///
    /// It takes the place of the objectives that a run had itself.
    #[arg(long, value_name = "OBJECTIVE")]
    expect: Vec<String>,
}

/// Renderings to write to files.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
struct Written {
    /// Write the result document
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the intervals, every request of a trace, or every run of an experiment
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the report as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write response-time percentiles in the format of HdrHistogram's plotter
    #[arg(long, value_name = "FILE")]
    hgrm: Option<PathBuf>,
    /// Write the intervals' histograms, as an HdrHistogram log
    #[arg(long, value_name = "FILE")]
    hlog: Option<PathBuf>,
}

impl Written {
    /// Each form with its place.
    fn list(&self) -> Vec<(Format, Place)> {
        let all = [
            (Format::Json, &self.json),
            (Format::Csv, &self.csv),
            (Format::Html, &self.html),
            (Format::Markdown, &self.markdown),
            (Format::Hgrm, &self.hgrm),
            (Format::Hlog, &self.hlog),
        ];
        let place = |path: &PathBuf| Out::new("", path.clone()).place;
        all.into_iter().filter_map(|(form, path)| Some((form, place(path.as_ref()?)))).collect()
    }
}

/// The renderings of a result.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    format: Format,
    /// The objectives; none: those of the run stay.
    objectives: &'a [Expectation],
    /// How much text; `None`: no text.
    depth: Option<Depth>,
    /// Whether it is the last result.
    is_last: bool,
}

pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, UserError> {
    let named = arguments.files.iter().map(|file| match last::find(file) {
        Some(found) => found,
        None => Ok(file.clone()),
    });
    let files: Vec<PathBuf> = named.collect::<Result<_, _>>()?;
    let written = arguments.written.list();
    let printed = match arguments.format {
        None if written.is_empty() => Some(Format::Text),
        format => format,
    };
    let is_one = files.len() == 1 || arguments.merge;
    if !is_one && (!written.is_empty() || printed == Some(Format::Html)) {
        return Err(UserError::usage(
            "a page or a written file can have only one result; give one FILE",
        ));
    }
    outputs::check_paths(written.iter().filter_map(|(_, place)| place.file()))?;
    let depth = forms::depth(arguments.report);
    let is_last = arguments.files[0].as_os_str() == "last";
    let parse = |text: &String| {
        Expectation::parse(text).map_err(|error| UserError::usage(format!("--expect {error}")))
    };
    let objectives: Vec<_> = arguments.expect.iter().map(parse).collect::<Result<_, _>>()?;
    let asked = |format| Asked { format, objectives: &objectives, depth, is_last };
    let mut outcomes = Vec::new();
    let render = |format| match arguments.merge {
        true => merged(&files, asked(format)),
        false => rendered(&files[0], asked(format)),
    };
    for (format, place) in &written {
        if files[0].is_file() && trace::open(&files[0]).is_ok_and(|trace| trace.is_some()) {
            return Err(UserError::usage(format!(
                "{} is a trace, which is printed: leave the file out and write --format csv",
                files[0].display()
            )));
        }
        let (text, outcome) = render(*format)?;
        outputs::write(place, &text)?;
        outcomes.push(outcome);
    }
    let Some(format) = printed else { return Ok(Exit::from(Outcome::of_all(outcomes)).into()) };
    if arguments.merge {
        let (text, outcome) = render(format)?;
        console::print(&text)?;
        return Ok(Exit::from(outcome).into());
    }
    for (n, path) in files.iter().enumerate() {
        if n > 0 && format == Format::Text {
            console::print("\n")?;
        }
        // A file that cannot be opened is reported below, in the same words for every kind of file.
        if let Ok(Some(file)) = trace::open(path) {
            trace::print(file, format, path)?;
            continue;
        }
        let (text, outcome) = rendered(path, asked(format))?;
        console::print(&text)?;
        outcomes.push(outcome);
    }
    Ok(Exit::from(Outcome::of_all(outcomes)).into())
}

/// The rendering, and the outcome of the objectives that were asked for.
fn rendered(path: &Path, asked: Asked<'_>) -> Result<(String, Outcome), UserError> {
    let text = text_of(path)?;
    if let Some(rendered) = experiment::render(&text, asked, path)? {
        return Ok((rendered, Outcome::Met));
    }
    let document = Document::from_json(&text).map_err(|error| cannot_read(path, &error))?;
    // Together they could exceed the memory limit of this command.
    drop(text);
    of_run(document, asked, path)
}

/// Merges the parts of a run.
fn merged(paths: &[PathBuf], asked: Asked<'_>) -> Result<(String, Outcome), UserError> {
    let read = |path: &PathBuf| {
        let text = text_of(path)?;
        Document::from_json(&text).map_err(|error| cannot_read(path, &error))
    };
    let parts: Vec<Document> = paths.iter().map(read).collect::<Result<_, _>>()?;
    let whole = Document::merge(&parts).map_err(|why| cannot_merge(paths, &why))?;
    of_run(whole, asked, Path::new("the merged result"))
}

/// Why these files are not parts of one run.
fn cannot_merge(paths: &[PathBuf], why: &PartError) -> UserError {
    let file =
        |at: &usize| paths.get(*at).map_or_else(String::new, |path| path.display().to_string());
    UserError::could_not_run(match why {
        PartError::Whole(at) | PartError::Records(MergeError::Whole(at)) => format!(
            "{} is the result of a whole run and cannot be merged; give results of run --part",
            file(at)
        ),
        PartError::Record(at, why) => format!("the record in {} cannot be read: {why}", file(at)),
        PartError::Seed(one, other) => {
            format!("{} and {} have different seeds; give parts of one run", file(one), file(other))
        }
        PartError::Plan(one, other, what) => format!(
            "{} and {} have different plans: they differ in {what}; give parts of one run",
            file(one),
            file(other)
        ),
        PartError::Apart(ended, begun) => format!(
            "{} had ended when {} began: they are of different runs; give parts of one run",
            file(ended),
            file(begun)
        ),
        PartError::Records(MergeError::Nothing) => "there is nothing to merge".to_owned(),
        PartError::Records(MergeError::Damaged(at, why)) => {
            format!("the record in {} is damaged: {why}", file(at))
        }
        PartError::Records(MergeError::Overlap(one, other))
            if one == other || file(one) == file(other) =>
        {
            format!("{} is given twice; give each part once", file(one))
        }
        PartError::Records(MergeError::Overlap(one, other)) => {
            format!("{} and {} have threads in common; give each part once", file(one), file(other))
        }
        PartError::Records(MergeError::OtherSize(one, other)) => format!(
            "{} and {} are parts of runs with different numbers of threads",
            file(one),
            file(other)
        ),
        PartError::Records(MergeError::Shape(one, other)) => {
            format!("the records in {} and {} do not fit together", file(one), file(other))
        }
        PartError::Records(MergeError::Missing(missing)) => {
            let names: Vec<String> = missing.iter().map(named).collect();
            format!(
                "parts are missing: {} in none of the files; give all parts of the run",
                match &names[..] {
                    [one] => format!("{one} is"),
                    several => format!("{} are", several.join(", ")),
                }
            )
        }
    })
}

/// A part as it was asked for.
fn named(&Workers { first, count, of }: &Workers) -> String {
    match count > 0 && first % count == 0 && of % count == 0 {
        true => format!("part {}/{}", first / count + 1, of / count),
        false => format!("threads {} to {} of {of}", first + 1, first + count),
    }
}

/// The text of a result. A file that the system does not give is a slip in the command line.
fn text_of(path: &Path) -> Result<String, UserError> {
    read::text_of(path).map_err(|error| match error.raw_os_error() {
        Some(_) => UserError::usage(format!(
            "cannot read {}: {error}; name the file of a result, or last",
            path.display()
        )),
        None => cannot_read(path, &error),
    })
}

fn cannot_read(path: &Path, error: &dyn std::fmt::Display) -> UserError {
    UserError::could_not_run(format!("cannot read {}: {error}", path.display()))
}

fn of_run(
    mut document: Document,
    asked: Asked<'_>,
    path: &Path,
) -> Result<(String, Outcome), UserError> {
    if asked.objectives.is_empty() {
        return Ok((form_of_run(&document, asked, path)?, Outcome::Met));
    }
    for one in asked.objectives {
        let wrong = |why| UserError::usage(format!("{}: --expect {why}", path.display()));
        one.check(&document.plan).map_err(wrong)?;
    }
    document.judge_expectations(asked.objectives);
    if asked.format != Format::Text || asked.depth.is_none() {
        console::misses(compose::misses_of_run(&document));
    }
    Ok((form_of_run(&document, asked, path)?, document.gate()))
}

fn form_of_run(document: &Document, asked: Asked<'_>, path: &Path) -> Result<String, UserError> {
    let histogram = match asked.format {
        Format::Text => {
            let text =
                |depth| forms::of_run(document, depth, console::stdout_style(), asked.is_last);
            return Ok(asked.depth.map_or(String::new(), text));
        }
        Format::Json => return Ok(json::render(document)),
        Format::Csv => return Ok(csv::run(document)),
        Format::CsvSteps => return Ok(csv::steps(document)),
        Format::Html => return Ok(compose::run(document, Depth::Full).html()),
        Format::Hlog => return Ok(hlog::render(document)),
        Format::Markdown => return Ok(compose::run(document, Depth::Full).markdown()),
        Format::Junit
        | Format::Github
        | Format::GithubSummary
        | Format::Gitlab
        | Format::GitlabQuality => {
            return Ok(asked.format.of_checks(|| Checks::of_run(document)).unwrap_or_default());
        }
        Format::Hgrm => hgrm::response(document),
        Format::HgrmService => hgrm::service(document),
    };
    histogram.map_err(|error| {
        UserError::could_not_run(format!("a histogram in {} is damaged: {error}", path.display()))
    })
}
