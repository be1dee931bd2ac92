//! The `candor` command: arguments in, a run, a report and an exit code out.
//!
//! This crate wires the others together and is the only one that prints. What a run is, is
//! decided in plan; what it does, in engine; what it means, in report.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod command;
mod console;
mod embedded;
mod exit;
mod files;
mod scripting;

use std::process::ExitCode;

use arguments::Command;

fn main() -> ExitCode {
    let typed: Vec<String> = match arguments::from_environment() {
        Ok(typed) => typed,
        Err(failure) => return failure.report(),
    };
    let outcome = match arguments::parse(&typed) {
        Command::Run(run) => command::run::run(*run, &typed),
        Command::Serve(serve) => command::serve::serve(serve),
        Command::Report(report) => command::report::report(&report),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}
