//! `candor history`: the results that `run --keep` has kept: all of them, one, two beside each other, and what became of
//! their figures.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use candor_lab::history::History;
use candor_plan::Tag;
use candor_plan::units::{fmt_count, fmt_plural};
use candor_plan::values::{PositiveNanos, SmallCount};
use candor_render::{Depth, Page, compose, csv};
use candor_report::experiment::history::{Entry, KINDS};
use clap::{Args, Subcommand, ValueEnum};

use crate::exit::{Exit, UserError};
use crate::{console, forms, outputs};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor run --keep results --tag branch=main -d 30s http://localhost:8080/
      Measure, and keep the result.
  candor history list --keep results
      All results, a line for each.
  candor history trend --keep results --html trend.html
      How their figures changed, and where their level moved.
  candor history diff --keep results last-1 last
      The last two beside each other.";

const LIST: &str = "\
Examples:
  candor history list
      All results in the directory results.
  candor history list --keep nightly --tag branch=main
      Those of one branch in another directory.";
const SHOW: &str = "\
Examples:
  candor history show
      The last result.
  candor history show 20251128T0102 --report full
      The one whose file's name begins like this, in full.";
const DIFF: &str = "\
Examples:
  candor history diff
      The last two results.
  candor history diff last-7 last
      The last and the one seven before it.";
const TREND: &str = "\
Examples:
  candor history trend --tag branch=main
      All figures of one branch.
  candor history trend --figure response-p99 --html trend.html
      One of them as a page.";
const EXPORT: &str = "\
Examples:
  candor history export > results.csv
      A row for each result.
  candor history export --format ndjson --plan 1a2b3c4d
      The results of one plan as lines of JSON.";
const PRUNE: &str = "\
Examples:
  candor history prune --last 100 --dry-run
      Which results would go, if the last hundred of each plan stay?
  candor history prune --older-than 2160h
      Those of the last ninety days stay.";

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    #[command(subcommand)]
    what: What,
    /// Directory of the results
    #[arg(long, value_name = "DIR", global = true, default_value = "results")]
    keep: PathBuf,
    /// Only results with this tag; may be repeated
    #[arg(long, value_name = "NAME=VALUE", global = true)]
    tag: Vec<Tag>,
    /// Only results of this plan, as `list` names it
    #[arg(long, value_name = "PLAN", global = true)]
    plan: Option<String>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// All results, a line for each
    #[command(after_long_help = LIST)]
    List,
    /// The report of a result
    #[command(after_long_help = SHOW)]
    Show {
        /// Its file, or the beginning of its name; `last`, `last-1` and so on
        #[arg(default_value = "last")]
        result: String,
        /// How much to print
        #[arg(long, value_enum, default_value = "short", value_name = "HOW MUCH")]
        report: candor_plan::ReportDepth,
    },
    /// Two results beside each other
    #[command(after_long_help = DIFF)]
    Diff {
        /// The one
        #[arg(default_value = "last-1")]
        a: String,
        /// The other
        #[arg(default_value = "last")]
        b: String,
    },
    /// How the figures of each plan changed on each machine, and where their level moved
    #[command(after_long_help = TREND)]
    Trend {
        /// Only this figure: rate, failed, response-p50, response-p99, response-p99.9, service-p50, service-p99, target-cpu
        #[arg(long, value_name = "FIGURE", value_parser = figure)]
        figure: Option<String>,
        /// Write it as a self-contained HTML page
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Write it as Markdown
        #[arg(long, value_name = "FILE")]
        markdown: Option<PathBuf>,
    },
    /// The figures of all results, for other programs
    #[command(after_long_help = EXPORT)]
    Export {
        /// The form
        #[arg(long, value_enum, default_value = "csv")]
        format: Form,
    },
    /// Remove results
    #[command(after_long_help = PRUNE)]
    Prune {
        /// Of each plan on each machine, keep the last N
        #[arg(long, value_name = "N")]
        last: Option<SmallCount>,
        /// Remove those that began longer ago than this, e.g. 2160h
        #[arg(long, value_name = "TIME")]
        older_than: Option<PositiveNanos>,
        /// Only say which
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// A row for each result
    Csv,
    /// A line of JSON for each result
    Ndjson,
}

fn figure(name: &str) -> Result<String, String> {
    match KINDS.iter().any(|one| one.name == name) {
        true => Ok(name.to_owned()),
        false => {
            let all: Vec<&str> = KINDS.iter().map(|one| one.name).collect();
            Err(format!("there is no such figure; there are {}", all.join(", ")))
        }
    }
}

pub(crate) fn history(arguments: HistoryArguments) -> Result<ExitCode, UserError> {
    let HistoryArguments { what, keep, tag, plan } = arguments;
    if !keep.exists() {
        return Err(UserError::could_not_run(format!(
            "{0} does not exist; candor run --keep {0} URL makes it, and --keep names another",
            keep.display()
        )));
    }
    let mut history = History::open(&keep)?;
    history.entries.retain(|one| {
        plan.as_ref().is_none_or(|plan| one.plan == *plan)
            && tag.iter().all(|tag| one.tags.get(&tag.name) == Some(&tag.value))
    });
    for (name, why) in &history.unread {
        console::say(format_args!("candor: {}: {why}", keep.join(name).display()));
    }
    let entries = &history.entries;
    if entries.is_empty() {
        return Err(UserError::could_not_run(format!(
            "{} has no results that are asked for; candor run --keep {0} URL adds one",
            keep.display()
        )));
    }
    match what {
        What::List => print(|depth| compose::results(entries, depth))?,
        What::Show { result, report } => {
            let document = history.read(history.find(&result)?)?;
            let depth = forms::depth(report).unwrap_or(Depth::Short);
            console::print(&forms::of_run(&document, depth, console::stdout_style(), false))?;
        }
        What::Diff { a, b } => {
            let (a, b) = (history.find(&a)?, history.find(&b)?);
            print(|depth| compose::difference(a, b, depth))?;
        }
        What::Trend { figure, html, markdown } => {
            let page = |depth| compose::trend(entries, figure.as_deref(), depth);
            for (path, is_html) in
                html.iter().map(|it| (it, true)).chain(markdown.iter().map(|it| (it, false)))
            {
                let page = page(Depth::Full);
                let text = if is_html { page.html() } else { page.markdown() };
                outputs::write(&candor_plan::Out::new("", path.clone()).place, &text)?;
            }
            print(page)?;
        }
        What::Export { format } => console::print(&match format {
            Form::Csv => csv::history(entries),
            Form::Ndjson => lines(entries)?,
        })?,
        What::Prune { last, older_than, dry_run } => prune(&history, last, older_than, dry_run)?,
    }
    Ok(Exit::Fine.into())
}

fn print(page: impl Fn(Depth) -> Page) -> Result<(), UserError> {
    console::print(&page(Depth::Terminal).text(console::stdout_style()))
}

fn lines(entries: &[Entry]) -> Result<String, UserError> {
    let mut text = String::new();
    for entry in entries {
        text += &serde_json::to_string(entry).map_err(UserError::could_not_run)?;
        text.push('\n');
    }
    Ok(text)
}

fn prune(
    history: &History,
    last: Option<SmallCount>,
    older_than: Option<PositiveNanos>,
    dry_run: bool,
) -> Result<(), UserError> {
    if last.is_none() && older_than.is_none() {
        return Err(UserError::usage(
            "candor history prune: it is not said what goes; use --last N or --older-than TIME",
        ));
    }
    let now_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let since = older_than.map(|time| now_ms.saturating_sub(time.get() / 1_000_000));
    let surplus = history.surplus(last.map(|last| last.get() as usize), since);
    for entry in &surplus {
        if !dry_run {
            history.remove(entry)?;
        }
        console::print(&format!("{}\n", entry.file()))?;
    }
    let (count, left) = (surplus.len() as u64, (history.entries.len() - surplus.len()) as u64);
    let word = if dry_run { "would go" } else { "are gone" };
    console::say(format_args!(
        "candor: {} {word}, {} stay",
        fmt_plural(count, "result"),
        fmt_count(left)
    ));
    Ok(())
}
