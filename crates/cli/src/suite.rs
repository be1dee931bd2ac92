//! The common parts of `candor bench` and `candor board`: which part of a suite is measured, and measuring it.

use std::path::{Path, PathBuf};

use candor_lab::Outcome;
use candor_lab::matrix::{Directory, Place};
use candor_lab::suite::content::Contents;
use candor_lab::suite::managed::{Managed, missing};
use candor_lab::suite::matrix::{CellPlan, Matrix, OwnProfile, Selection, check_plans};
use candor_lab::suite::model::Suite;
use candor_lab::suite::run::fingerprint;
use candor_lab::suite::{KIND, expand, file, run};
use candor_plan::redact::Typed;
use candor_plan::units::{fmt_duration_ns, fmt_per_second, fmt_plural};
use candor_plan::values::{Nanos, PositiveNanos, SmallCount};
use candor_report::experiment::figures::Figures;
use candor_report::experiment::suite::{Cell, Suite as Document};
use clap::Args;

use crate::console;
use crate::exit::{Exit, UserError};
use crate::facts::facts;
use crate::files::Disk;
use crate::matrix::{self, Flags, Shown};
use crate::measure::Watched;
use crate::profiling::{self, ProfileFlags};

/// Flags of both.
#[derive(Debug, Args)]
pub(crate) struct SuiteArguments {
    /// Directory of the results; resumed if it is of the same suite [default: NAME-results]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only these servers
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "Selection")]
    servers: Option<Vec<String>>,
    /// Only these scenarios, or sets of scenarios, e.g. main or all; also others than the suite's own
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "Selection")]
    scenarios: Option<Vec<String>>,
    /// Only these protocols: h1, h2, h1-tls, h2-tls, h3
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "Selection")]
    protocols: Option<Vec<String>>,
    /// Only these loads
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "Selection")]
    loads: Option<Vec<String>>,
    /// Rounds instead of the suite's; a higher number than before adds rounds to the existing ones
    #[arg(long, value_name = "N", help_heading = "Selection")]
    rounds: Option<SmallCount>,
    /// Length of each run instead of the suite's
    #[arg(short, long, value_name = "TIME", help_heading = "Selection")]
    duration: Option<PositiveNanos>,
    /// Warm-up of each run instead of the suite's
    #[arg(long, value_name = "TIME", help_heading = "Selection")]
    warm_up: Option<Nanos>,
    /// Connections of each run instead of the suite's
    #[arg(short, long, visible_alias = "clients", value_name = "N", help_heading = "Selection")]
    connections: Option<SmallCount>,
    /// Nothing more: the CPU time and memory of servers that candor starts are always measured
    #[arg(long, hide = true)]
    with_resources: bool,
    /// List the cells to measure, and measure nothing
    #[arg(long, help_heading = "Selection")]
    list: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten)]
    profiler: ProfileFlags,
    /// Let servers profile themselves in each run, into the folder profiles; the figures are then not comparable
    ///
    /// For servers with `profile-arguments` in the suite; the others are left out.
    #[arg(long, help_heading = "Managed target", conflicts_with = "profile_command")]
    profile: bool,
    /// With --profile: the profiler, as the servers call it: eprof or fprof of the Erlang kit
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Managed target",
        default_value = "eprof",
        requires = "profile"
    )]
    profile_tool: String,
    /// With --profile: whose time it is, as the servers call it: server or all of the Erlang kit
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Managed target",
        default_value = "server",
        requires = "profile"
    )]
    profile_scope: String,
}

/// A suite that was measured, and the directory of its results.
pub(crate) struct Measured {
    pub(crate) directory: Directory,
    pub(crate) outcome: Outcome<Document>,
    /// What was to be measured; the directory may have more.
    selected: Matrix,
}

impl SuiteArguments {
    /// Measures the suite in this file. `None`: it was listed. `command` is what measures it.
    pub(crate) fn measure(
        &self,
        path: &Path,
        command: &str,
        typed: Typed,
    ) -> Result<Option<Measured>, UserError> {
        if let Some(command) = &self.profiler.profile_command {
            profiling::spec(command, PathBuf::new())?;
        }
        let flags = &self.flags;
        let suite = matrix::read(path, file::parse)?;
        let selection = self.selection();
        let cells = expand(&suite, &selection, &missing)?;
        check_plans(&cells, &Contents { files: &Disk })?;
        if self.list {
            list(&suite, &cells)?;
            return Ok(None);
        }
        let split = flags.split()?;
        let fingerprint = fingerprint(&suite, &selection, &Disk);
        let facts = facts(typed);
        let out = self.out.as_deref();
        let directory = matrix::directory(out, &suite.head, &KIND, &fingerprint, &facts.host)?;
        let about = flags.about(facts.clone(), &split, "servers", "loader");
        let title = format!("{command} {}", suite.head.name);
        let (mut watched, show) = Watched::show(flags.asked(), &title)?;
        let mut bench = Managed {
            runner: watched.runner(facts, None),
            place: Place { split, directory: directory.clone() },
            suite: folder_of(path)?,
            files: &Disk,
            profile_command: selection.profiler(&suite).map(str::to_owned),
            own_profile: selection.own_profile.clone(),
        };
        let told = &mut Shown { show, in_words };
        let outcome = run(&suite, &cells, about, &directory, &mut bench, told);
        watched.outputs.hide();
        Ok(Some(Measured { directory, outcome: outcome?, selected: cells }))
    }

    fn selection(&self) -> Selection {
        Selection {
            servers: self.servers.clone(),
            scenarios: self.scenarios.clone(),
            protocols: self.protocols.clone(),
            loads: self.loads.clone(),
            rounds: self.rounds.map(|count| count.get().into()),
            profile_command: self.profiler.profile_command.clone(),
            own_profile: self.profile.then(|| OwnProfile {
                tool: self.profile_tool.clone(),
                scope: self.profile_scope.clone(),
            }),
            duration: self.duration,
            warm_up: self.warm_up,
            connections: self.connections,
            allow: self.flags.allow.clone(),
            show_secrets: self.flags.show_secrets,
        }
    }
}

/// The exit code for a suite that was not stopped: of what was to be measured.
pub(crate) fn exit(measured: &Measured) -> Exit {
    let suite = &measured.outcome.document;
    let is_selected = |cell: &Cell| {
        measured.selected.cells.iter().any(|plan| {
            let CellPlan { server, scenario, protocol, load, of_peak, .. } = plan;
            let names = [&server.name, &scenario.name, &load.name];
            names == [&cell.server, &cell.scenario, &cell.load]
                && (protocol.name(), *of_peak) == (cell.protocol.as_str(), cell.of_peak)
        })
    };
    let fails = |cell: &&Cell| {
        is_selected(cell)
            && !cell.trials.is_empty()
            && cell.trials.iter().all(|one| one.figures.nothing_worked())
    };
    let failing: Vec<&Cell> = suite.cells.iter().filter(fails).collect();
    console::misses(failing.iter().map(|cell| {
        let Cell { server, scenario, protocol, load, .. } = cell;
        format!("{server}, {scenario}, {protocol}, {load}: no request succeeded")
    }));
    // Of a suite whose servers are all left out nothing is measured.
    match suite.failures.is_empty() && failing.is_empty() && !suite.cells.is_empty() {
        true => Exit::Fine,
        false => Exit::CouldNotRun,
    }
}

/// A trial in half a sentence.
fn in_words(figures: &Figures) -> String {
    let rate = figures.rate_per_s.map_or("no rate".to_owned(), fmt_per_second);
    let p99 = figures.response.p99_ns.map_or("–".to_owned(), fmt_duration_ns);
    let failed = match figures.failed {
        0 => String::new(),
        failed => format!(", {} ({})", fmt_plural(failed, "failure"), figures.failures),
    };
    let is_unprofiled = figures.warnings.iter().any(|id| id == "profile-failed");
    let profile = if is_unprofiled { ", incomplete profile: see its result" } else { "" };
    format!("{rate}, p99 {p99}{failed}{profile}")
}

fn list(suite: &Suite, cells: &Matrix) -> Result<(), UserError> {
    let extent = matrix::extent(&suite.head, cells.cells.len(), cells.rounds);
    let listed = matrix::listed(cells.cells.iter().map(CellPlan::key), &cells.notes);
    console::print(&format!("{extent}\n{listed}"))
}

/// The folder of the suite's file, for commands that name files beside it.
fn folder_of(suite: &Path) -> Result<PathBuf, UserError> {
    let absolute = std::path::absolute(suite).map_err(UserError::could_not_run)?;
    Ok(absolute.parent().map(Path::to_path_buf).unwrap_or_default())
}
