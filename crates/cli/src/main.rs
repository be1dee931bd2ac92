//! The `candor` command: arguments in, a run, a report and an exit code out.
//!
//! This crate wires the others together and is the only one that prints. What a run is, is
//! decided in plan; what it does, in engine; what it means, in report.
#![forbid(unsafe_code)]

mod arguments;
mod command;
mod console;
mod exit;
mod experiment;
mod files;
mod forms;
mod matrix;
mod profiling;
mod scripting;
mod signals;
mod target_flags;
mod trace_file;
mod typed;

use std::process::ExitCode;

use arguments::Command;

fn main() -> ExitCode {
    let typed: Vec<String> = match arguments::from_environment() {
        Ok(typed) => typed,
        Err(failure) => return failure.report(),
    };
    if let Some(words) = command::keep::invocation(&typed) {
        return command::keep::keep(words);
    }
    if let Some(fault) = candor_engine::MUTANT {
        console::say(format_args!(
            "candor: this build has the fault {fault} on purpose; believe none of its figures"
        ));
    }
    if let Some((name, words)) = command::wrk::invocation(&typed) {
        return command::wrk::wrk(name, words, &typed).unwrap_or_else(|failure| failure.report());
    }
    if let Some((name, words)) = command::h2load::invocation(&typed) {
        return command::h2load::h2load(name, words, &typed)
            .unwrap_or_else(|failure| failure.report());
    }
    let outcome = match arguments::parse(&typed) {
        Command::Run(run) => command::run::run(*run, &typed),
        Command::Peak(arguments) => command::peak::peak(*arguments, &typed),
        Command::Sweep(arguments) => command::sweep::sweep(*arguments, &typed),
        Command::Compare(compare) => command::compare::compare(*compare, &typed),
        Command::Bench(bench) => command::bench::bench(&bench, &typed),
        Command::Clients(clients) => command::clients::clients(&clients, &typed),
        Command::Serve(serve) => command::serve::serve(*serve),
        Command::Verify(arguments) => command::verify::verify(&arguments),
        Command::Report(report) => command::report::report(&report),
        // Taken above: other tools' command lines are no matter of clap's.
        Command::Wrk(wrk) => command::wrk::wrk(command::wrk::Name::CandorWrk, &wrk.words, &typed),
        Command::H2load(h2load) => {
            command::h2load::h2load(command::h2load::Name::CandorH2load, &h2load.words, &typed)
        }
    };
    outcome.unwrap_or_else(|failure| failure.report())
}
