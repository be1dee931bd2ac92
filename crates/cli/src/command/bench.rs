//! `candor bench`: a suite file in, a directory of results out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use candor_lab::LabError;
use candor_lab::suite::content::Contents;
use candor_lab::suite::managed::{Managed, missing};
use candor_lab::suite::matrix::{Matrix, Selection, check_plans};
use candor_lab::suite::model::Suite;
use candor_lab::suite::run::fingerprint;
use candor_lab::suite::{About, Outcome, Store, Watcher, expand, file, run};
use candor_lab::target::cores::{Split, fmt_cores};
use candor_plan::options::{Options, ReadFile};
use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural};
use candor_plan::values::{Nanos, PositiveNanos, SmallCount};
use candor_report::document::Tool;
use candor_report::experiment::figures::Figures;
use clap::Args;

use crate::command::run::facts;
use crate::console;
use crate::exit::{Exit, Failure};
use crate::experiment::Watched;
use crate::files::Disk;
use crate::forms::SUITE;
use crate::profiling::{self, ProfileFlags};
use crate::target_flags::CoreFlags;

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor bench suites/main.toml
      Everything of the suite, into the directory main-results.
  candor bench suites/main.toml --servers embedded,nginx --scenarios hello,json --rounds 1 --duration 1s
      A part of it, quickly. What a server cannot do is an error if it was named.
  candor bench suites/main.toml --list
      What would be measured, what not and why, and how long it takes.
  candor bench suites/main.toml
      After an interruption: goes on with what is missing in main-results.

The directory has README.md (tables), results.csv (every trial; columns in docs/suites.md),
suite.json (candor.suite/1), trials/ (a result document each) and logs/ (servers' output).

A suite file has [[server]], [[scenario]] and [[load]] tables; 42 scenarios are built in and are
chosen by name or set. docs/suites.md describes it.";

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// The suite
    #[arg(value_name = "SUITE.toml", required_unless_present = "list_scenarios")]
    suite: Option<PathBuf>,
    /// Directory of the results; taken up again if it is of the same suite
    /// [default: NAME-results]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only these servers
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "What of it")]
    servers: Option<Vec<String>>,
    /// Only these scenarios, or sets of them such as main
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "What of it")]
    scenarios: Option<Vec<String>>,
    /// Only these protocols: h1, h2, h1-tls, h2-tls
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "What of it")]
    protocols: Option<Vec<String>>,
    /// Only these loads
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "What of it")]
    loads: Option<Vec<String>>,
    /// Rounds instead of the suite's; more than before adds to what is there
    #[arg(long, value_name = "N", help_heading = "What of it")]
    rounds: Option<SmallCount>,
    /// Length of each run instead of the suite's
    #[arg(short, long, value_name = "TIME", help_heading = "What of it")]
    duration: Option<PositiveNanos>,
    /// Warm-up of each run instead of the suite's
    #[arg(long, value_name = "TIME", help_heading = "What of it")]
    warm_up: Option<Nanos>,
    /// Connections of each run instead of the suite's
    #[arg(short, long, value_name = "N", help_heading = "What of it")]
    connections: Option<SmallCount>,
    /// Say what would be measured, and measure nothing
    #[arg(long, help_heading = "What of it")]
    list: bool,
    /// Say which scenarios are built in
    #[arg(long, help_heading = "What of it")]
    list_scenarios: bool,
    /// Print no tables and no progress
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    cores: CoreFlags,
    #[command(flatten)]
    profile: ProfileFlags,
}

pub(crate) fn bench(arguments: &BenchArguments, typed: &[String]) -> Result<ExitCode, Failure> {
    let Some(path) = &arguments.suite else { return list_scenarios() };
    if let Some(command) = &arguments.profile.profile_command {
        profiling::spec(command, PathBuf::new())?;
    }
    let suite = read(path)?;
    let selection = arguments.selection();
    let matrix = expand(&suite, &selection, &missing)?;
    check_plans(&matrix, &Contents { files: &Disk })?;
    if arguments.list {
        return list(&suite, &matrix);
    }
    let split = arguments.cores.split()?;
    let directory =
        arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-results", suite.name)));
    let fingerprint = fingerprint(&suite, &selection);
    let store = Store::open(&directory, &fingerprint)?;
    let profile_command = selection.profiler(&suite).map(str::to_owned);
    let measured = Measured { suite: &suite, matrix: &matrix, fingerprint, profile_command };
    let outcome = measure(arguments, &measured, &store, split, typed)?;
    finish(arguments, &store, &outcome)
}

fn read(path: &Path) -> Result<Suite, Failure> {
    let name = path.display().to_string();
    let bytes = Disk
        .read(path)
        .map_err(|error| Failure::usage(format!("cannot read the suite {name}: {error}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("the suite {name} is not UTF-8 text")))?;
    Ok(file::parse(&name, &text)?)
}

impl BenchArguments {
    fn selection(&self) -> Selection {
        Selection {
            servers: self.servers.clone(),
            scenarios: self.scenarios.clone(),
            protocols: self.protocols.clone(),
            loads: self.loads.clone(),
            rounds: self.rounds.map(|count| count.get().into()),
            profile_command: self.profile.profile_command.clone(),
            run: Options {
                duration: self.duration,
                warm_up: self.warm_up,
                connections: self.connections,
                ..Options::default()
            },
        }
    }
}

/// What is to be measured.
struct Measured<'a> {
    suite: &'a Suite,
    matrix: &'a Matrix,
    fingerprint: String,
    profile_command: Option<String>,
}

fn measure(
    arguments: &BenchArguments,
    measured: &Measured<'_>,
    store: &Store,
    split: Split,
    typed: &[String],
) -> Result<Outcome, Failure> {
    let facts = facts(typed);
    let about = About {
        tool: Tool { name: "candor".to_owned(), version: facts.version.clone() },
        arguments: facts.arguments.clone(),
        host: facts.host.clone(),
        cores: format!(
            "servers {}, loader {}{}",
            fmt_cores(&split.target),
            fmt_cores(&split.loader),
            if split.is_shared() { " (shared: figures are of both)" } else { "" }
        ),
    };
    let program = std::env::current_exe().map_err(|error| {
        Failure::could_not_run(format!("cannot find this program's own file: {error}"))
    })?;
    let mut watched = Watched::new(arguments.quiet)?;
    let mut bench = Managed {
        runner: watched.runner(facts),
        program,
        split,
        store: store.clone(),
        files: &Disk,
        profile_command: measured.profile_command.clone(),
    };
    let mut told = Told { quiet: arguments.quiet, line: String::new() };
    let Measured { suite, matrix, fingerprint, .. } = measured;
    let outcome = run(suite, matrix, fingerprint, about, store, &mut bench, &mut told);
    watched.end();
    Ok(outcome?)
}

/// Writes what is made of the trials, and says what came of it.
fn finish(
    arguments: &BenchArguments,
    store: &Store,
    outcome: &Outcome,
) -> Result<ExitCode, Failure> {
    let suite = &outcome.suite;
    store.write("results.csv", &(SUITE.csv)(suite))?;
    store.write("README.md", &(SUITE.markdown)(suite))?;
    store.write("index.html", &(SUITE.html)(suite))?;
    if !arguments.quiet {
        console::print(&(SUITE.text)(suite))?;
        console::note(&format!("candor: the results are in {}", store.directory().display()));
    }
    Ok(match &outcome.stopped {
        Some(LabError::Interrupted) => {
            console::note("candor: interrupted; the same command goes on where it stopped");
            Exit::Interrupted
        }
        Some(why) => {
            console::note(&format!("candor: {why}"));
            Exit::CouldNotRun
        }
        None if !suite.failures.is_empty() => Exit::CouldNotRun,
        None => Exit::Fine,
    }
    .into())
}

/// Progress, a line for each trial.
struct Told {
    quiet: bool,
    line: String,
}

impl Watcher for Told {
    fn begins(&mut self, trial: &str, number: u64, of: u64, left: Duration) {
        let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
        // Whole seconds: it is a guess.
        let left_ns = left_ns.next_multiple_of(1_000_000_000);
        self.line = format!("[{number}/{of}, {} left] {trial}", fmt_duration_ns(left_ns));
    }

    fn done(&mut self, _: &str, figures: &Figures) {
        let rate = figures.rate_per_s.map_or("no rate".to_owned(), fmt_per_second);
        let p99 = figures.response.p99_ns.map_or("–".to_owned(), fmt_duration_ns);
        let failed = match figures.failed {
            0 => String::new(),
            failed => format!(", {} ({})", fmt_plural(failed, "failure"), figures.failures),
        };
        let is_unprofiled = figures.warnings.iter().any(|id| id == "profile-failed");
        let profile = if is_unprofiled { ", no whole profile: see its result" } else { "" };
        self.say(&format!("{}: {rate}, p99 {p99}{failed}{profile}", self.line));
    }

    fn failed(&mut self, trial: &str, why: &str) {
        self.say(&format!("{trial}: {why}"));
    }

    fn note(&mut self, line: &str) {
        self.say(line);
    }
}

impl Told {
    fn say(&self, line: &str) {
        if !self.quiet {
            console::note(&format!("candor: {line}"));
        }
    }
}

fn list(suite: &Suite, matrix: &Matrix) -> Result<ExitCode, Failure> {
    let mut out = format!(
        "{}: {} in {}\n",
        suite.name,
        fmt_plural(matrix.cells.len() as u64, "cell"),
        fmt_plural(matrix.rounds, "round")
    );
    for cell in &matrix.cells {
        out.push_str(&format!("  {}\n", cell.key()));
    }
    for note in &matrix.notes {
        out.push_str(&format!("left out: {}: {}\n", note.what, note.why));
    }
    console::print(&out)?;
    Ok(Exit::Fine.into())
}

fn list_scenarios() -> Result<ExitCode, Failure> {
    let mut out = String::new();
    for one in file::built_in()? {
        let protocols: Vec<_> = one.protocols.iter().map(|protocol| protocol.name()).collect();
        let sets =
            if one.sets.is_empty() { String::new() } else { format!(" [{}]", one.sets.join(", ")) };
        out.push_str(&format!(
            "{:<28} {:<22} {}{sets}\n",
            one.name,
            protocols.join(","),
            one.about
        ));
        if let Some(why) = &one.unsupported {
            out.push_str(&format!("{:<28} {:<22} not yet: {why}\n", "", ""));
        }
    }
    console::print(&out)?;
    Ok(Exit::Fine.into())
}
