//! `candor bench`: a suite file in, a directory of results out.

use std::path::PathBuf;
use std::process::ExitCode;

use candor_lab::suite::file;
use candor_plan::redact::Typed;
use clap::Args;

use crate::console;
use crate::exit::{Exit, UserError};
use crate::forms::SUITE;
use crate::matrix::PAGE;
use crate::suite::{SuiteArguments, exit};

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor bench suites/main.toml
      The whole suite, into the directory main-results.
  candor bench suites/main.toml --servers embedded,nginx --scenarios hello --rounds 1 --duration 1s
      A quick part of it. A combination that you name must be supported by its server.
  candor bench suites/main.toml --list
      Lists what would be measured, what not and why, and how long it takes.
  candor bench suites/main.toml
      After an interruption: measures what is missing in main-results.

The directory has README.md (tables), results.csv (every trial; columns in docs/suites.md),
suite.json (candor.suite/1), trials/ (a result document each) and logs/ (servers' output).

A suite file has [[server]], [[scenario]] and [[load]] tables; 45 scenarios are built in and
selected by name or set. docs/suites.md describes it.";

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// The suite's file
    #[arg(value_name = "SUITE.toml", required_unless_present = "list_scenarios")]
    suite: Option<PathBuf>,
    /// List the built-in scenarios
    #[arg(long, help_heading = "Selection", conflicts_with = "suite")]
    list_scenarios: bool,
    #[command(flatten)]
    how: SuiteArguments,
}

pub(crate) fn bench(arguments: &BenchArguments, typed: Typed) -> Result<ExitCode, UserError> {
    let Some(path) = &arguments.suite else { return list_scenarios() };
    let how = &arguments.how;
    let Some(measured) = how.measure(path, "bench", typed)? else { return Ok(Exit::Fine.into()) };
    let (directory, outcome) = (&measured.directory, &measured.outcome);
    how.flags.write(directory, &SUITE, &outcome.document)?;
    how.flags.finish(directory, PAGE, &SUITE, &outcome.document, outcome.stopped.as_ref(), || {
        exit(&measured)
    })
}

fn list_scenarios() -> Result<ExitCode, UserError> {
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
