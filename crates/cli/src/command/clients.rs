//! `candor clients`: a suite of client libraries in, a directory of results out.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use candor_lab::clients::managed::{Managed, allow_connections, describe};
use candor_lab::clients::model::{Client, Pools, Server, Suite, sizes};
use candor_lab::clients::{CellPlan, KIND, Matrix, Selection, expand, file, run};
use candor_lab::matrix::Place;
use candor_plan::allow::AllowList;
use candor_plan::redact::Typed;
use candor_plan::units::{fmt_duration_ns, fmt_plural};
use candor_plan::values::{Nanos, PositiveNanos, SmallCount};
use candor_render::compose;
use candor_report::experiment::clients::{Cell, Clients};
use clap::Args;

use crate::exit::{Exit, UserError};
use crate::facts::facts;
use crate::forms::CLIENTS;
use crate::matrix::{self, Flags, Shown};
use crate::show::Show;
use crate::{console, measure, remedy};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor clients suites/http-clients-quick.toml
      A few clients, as far as installed, against the embedded target, in a minute.
  candor clients suites/http-clients.toml --list
      Lists the installed clients, what would be measured, and how long it takes.
  candor clients suites/http-clients.toml --clients httpc,gun --concurrencies 4,64 -d 2s --rounds 1
      A part of it. A client that you name must be installed.
  candor clients suites/http-clients.toml --pools concurrency/4 --timeout 50ms --clients gun
      Callers that wait for a connection, and errors by kind if they wait too long.
  candor clients suites/http-clients.toml --pools 4,16,64 --concurrencies 4,16,64
      Every pool with every number of callers.
  candor clients suites/http-clients.toml
      After an interruption: measures what is missing.

A client library is measured through a driver, a program that makes requests and counts their outcomes
(docs/drivers.md). In every cell its counts must agree with the server's own count; otherwise the cell
is marked, it has no figures in the tables, and the exit code is 4.

The directory has README.md (tables), index.html (the same with charts), results.csv (every trial;
columns in docs/clients.md), clients.json (candor.clients/1), trials/ and logs/.

Exit codes: 0 fine; 1 a cell could not be measured, or no request of it succeeded; 2 usage; 4 counts
do not agree; 130 interrupted, the measurements so far are kept.";

#[derive(Debug, Args)]
pub(crate) struct ClientsArguments {
    /// The suite's file
    #[arg(value_name = "SUITE.toml")]
    suite: PathBuf,
    /// Directory of the results; resumed if it is of the same suite [default: NAME-results]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only these clients; add their null client to get the overhead
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',', help_heading = "Selection")]
    clients: Option<Vec<String>>,
    /// Connections instead of the suite's: sizes, or a rule, e.g. concurrency+1
    ///
    /// Sizes are combined with every concurrency. Rules: concurrency, concurrency+N, concurrency-N,
    /// concurrency/N, never less than 1. With a pool smaller than the concurrency, callers wait for
    /// a connection, and the latency includes that wait.
    #[arg(long, value_name = "N[,N]|RULE", help_heading = "Selection")]
    pools: Option<Pools>,
    /// Callers instead of the suite's
    #[arg(long, value_name = "N[,N]", value_parser = concurrencies, help_heading = "Selection")]
    concurrencies: Option<Concurrencies>,
    /// Rounds instead of the suite's; a higher number than before adds rounds to the existing ones
    #[arg(long, value_name = "N", help_heading = "Selection")]
    rounds: Option<SmallCount>,
    /// Length of each window instead of the suite's
    #[arg(short, long, value_name = "TIME", help_heading = "Selection")]
    duration: Option<PositiveNanos>,
    /// Warm-up before each window instead of the suite's
    #[arg(long, value_name = "TIME", help_heading = "Selection")]
    warm_up: Option<Nanos>,
    /// Timeout of each request instead of the suite's
    #[arg(long, value_name = "TIME", help_heading = "Selection")]
    timeout: Option<PositiveNanos>,
    /// Use the embedded target instead of the suite's server
    #[arg(long, help_heading = "Selection")]
    embedded: bool,
    /// List the cells to measure, and measure nothing
    #[arg(long, help_heading = "Selection")]
    list: bool,
    #[command(flatten)]
    flags: Flags,
}

/// A list of numbers; clap would take a bare list for a flag that may be repeated.
#[derive(Debug, Clone)]
struct Concurrencies(Vec<u64>);

fn concurrencies(text: &str) -> Result<Concurrencies, String> {
    sizes(text).map(Concurrencies)
}

pub(crate) fn clients(arguments: &ClientsArguments, typed: Typed) -> Result<ExitCode, UserError> {
    let flags = &arguments.flags;
    let suite = matrix::read(&arguments.suite, file::parse)?;
    let selection = arguments.selection();
    let split = flags.split()?;
    let interrupt = measure::interrupt();
    if !flags.quiet {
        let clients = selection.clients.as_ref().map_or(suite.clients.len(), Vec::len);
        let clients = fmt_plural(clients as u64, "client");
        console::say(format_args!("candor: querying the drivers of {clients}"));
    }
    let grace = suite.asked.grace;
    let mut find = |client: &Client| describe(client, grace, &split, &interrupt);
    let cells = expand(&suite, &selection, &mut find)?;
    if arguments.list {
        return list(&suite, &cells);
    }
    let fingerprint = run::fingerprint(&suite, &selection);
    let (facts, out) = (facts(typed), arguments.out.as_deref());
    let directory = matrix::directory(out, &suite.head, &KIND, &fingerprint, &facts.host)?;
    let most = cells.cells.iter().map(|cell| cell.pool.max(cell.concurrency)).max();
    allow_connections(most.unwrap_or(0));
    let about = flags.about(facts, &split, "server", "drivers");
    let mut bench = Managed {
        place: Place { split, directory: directory.clone() },
        server: match selection.embedded {
            true => Server::Embedded { arguments: Vec::new() },
            false => suite.server.clone(),
        },
        interrupt,
        allow: AllowList::of_option(&flags.allow),
        up: None,
    };
    let title = format!("clients {}", suite.head.name);
    let mut show = Show::start(flags.asked(), &title, Some(Arc::clone(&bench.interrupt)), None)?;
    let told = &mut Shown { show: show.clone(), in_words: compose::in_words };
    let outcome = run::run(&suite, &cells, &selection, about, &directory, &mut bench, told);
    let stopped = bench.take_down();
    show.end();
    let outcome = outcome?;
    if let Err(error) = stopped {
        console::say(format_args!("candor: {}", remedy::told(&error)));
    }
    let document = &outcome.document;
    flags.write(&directory, &CLIENTS, document)?;
    let stopped = outcome.stopped.as_ref();
    flags.finish(&directory, matrix::PAGE, &CLIENTS, document, stopped, || exit(document, &cells))
}

impl ClientsArguments {
    fn selection(&self) -> Selection {
        let positive = |time: Option<PositiveNanos>| time.map(|t| Duration::from_nanos(t.get()));
        Selection {
            clients: self.clients.clone(),
            pools: self.pools.clone(),
            concurrencies: self.concurrencies.as_ref().map(|Concurrencies(list)| list.clone()),
            rounds: self.rounds.map(|count| count.get().into()),
            duration: positive(self.duration),
            warm_up: self.warm_up.map(|Nanos(ns)| Duration::from_nanos(ns)),
            timeout: positive(self.timeout),
            embedded: self.embedded,
        }
    }
}

/// The exit code: of what was to be measured. The directory may have more.
fn exit(clients: &Clients, selected: &Matrix) -> Exit {
    let is_selected = |cell: &&Cell| {
        selected.cells.iter().any(|plan| {
            let (pool, concurrency) = (plan.pool, plan.concurrency);
            (&plan.client.name, pool, concurrency) == (&cell.client, cell.pool, cell.concurrency)
        })
    };
    let fails = |cell: &&Cell| {
        !cell.trials.is_empty() && cell.trials.iter().all(|one| one.ok == 0 && one.failed() > 0)
    };
    let own: Vec<&Cell> = clients.cells.iter().filter(is_selected).collect();
    let failing: Vec<&Cell> = own.iter().copied().filter(fails).collect();
    console::misses(failing.iter().map(|cell| {
        let Cell { client, pool, concurrency, .. } = cell;
        format!("{client}, pool {pool}, {concurrency} callers: no request succeeded")
    }));
    let wrong: u64 = own.iter().map(|one| one.wrong().count() as u64).sum();
    match (wrong, clients.failures.is_empty() && failing.is_empty()) {
        (1.., _) => Exit::NotTrustworthy,
        (0, false) => Exit::CouldNotRun,
        (0, true) => Exit::Fine,
    }
}

fn list(suite: &Suite, cells: &Matrix) -> Result<ExitCode, UserError> {
    let each = cells.asked.warm_up + cells.asked.duration;
    let trials = cells.cells.len() as u64 * cells.rounds;
    let all_s = each.as_secs_f64() * trials as f64;
    let mut out = format!(
        "{}, {} without starts\n",
        matrix::extent(&suite.head, cells.cells.len(), cells.rounds),
        fmt_duration_ns((all_s.ceil() * 1e9) as u64),
    );
    for present in &cells.clients {
        let described = &present.described;
        out.push_str(&format!(
            "client {}: {} {}, {}\n",
            present.client.name, described.client, described.version, described.runtime
        ));
    }
    out.push_str(&matrix::listed(cells.cells.iter().map(CellPlan::key), &cells.notes));
    for failure in &cells.failures {
        out.push_str(&format!("broken: {}: {}\n", failure.trial, failure.why));
    }
    console::print(&out)?;
    Ok(Exit::Fine.into())
}
