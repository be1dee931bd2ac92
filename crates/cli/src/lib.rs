//! What the `candor` command does: arguments in, a run, a report and an exit code out.
//!
//! This crate wires the others together and is the only one that prints. Crate plan defines a run,
//! engine performs it, and report interprets it.
#![forbid(unsafe_code)]

mod arguments;
mod ascii;
mod asking;
mod command;
mod comparing;
mod console;
mod exit;
mod experiment;
mod facts;
mod files;
mod findings;
mod fitting;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(not(feature = "fleet"))]
#[path = "no_fleet.rs"]
mod fleet;
mod forms;
mod getopt;
mod input;
mod last;
mod matrix;
mod meant;
mod measure;
mod onlooker;
mod others;
mod outputs;
mod part;
mod profiling;
mod refusals;
mod remedy;
mod scenario;
mod scripting;
mod sent;
mod show;
#[cfg(test)]
mod shown;
mod signals;
mod suite;
mod target_flags;
mod typed;
mod version;

use std::process::ExitCode;

use arguments::Command;
use command::{ghz, h2load, keep, wrk};
use exit::UserError;

/// The whole of the process, for the arguments and the environment that it has.
pub fn main() -> ExitCode {
    run().unwrap_or_else(|failure| {
        console::say(format_args!("candor: {failure}"));
        failure.exit().into()
    })
}

fn run() -> Result<ExitCode, UserError> {
    let words = arguments::with_message(arguments::from_environment()?);
    if let Some(command) = keep::invocation(&words) {
        return Ok(keep::keep(command));
    }
    if version::is_asked(&words) {
        console::print(&version::json())?;
        return Ok(exit::Exit::Fine.into());
    }
    signals::listen()?;
    if let Some(fault) = candor_engine::MUTANT {
        console::say(format_args!(
            "candor: this build has the fault {fault} on purpose; believe none of its figures"
        ));
    }
    let typed = || typed::typed(&words, &arguments::command());
    if !words.iter().any(|word| word == "--show-secrets") {
        console::hide(typed().hidden());
    }
    if let Some((name, rest)) = wrk::invocation(&words) {
        return wrk::wrk(name, rest, typed());
    }
    if let Some((name, rest)) = h2load::invocation(&words) {
        return h2load::h2load(name, rest, typed());
    }
    if let Some((name, rest)) = ghz::invocation(&words) {
        return ghz::ghz(name, rest, typed());
    }
    let at_hand = words.clone();
    remedy::are_fitted(move |remedy| fitting::to_words(remedy, &at_hand));
    match arguments::parse(&words) {
        Command::Run(run) => command::run::run(*run, typed()),
        Command::Ws(run) => command::run::ws(*run, typed()),
        Command::Grpc(run) => command::run::grpc(*run, typed()),
        Command::Peak(peak) => command::peak::peak(*peak, typed()),
        Command::Sweep(sweep) => command::sweep::sweep(*sweep, typed()),
        Command::Compare(compare) => command::compare::compare(*compare, typed()),
        Command::Ci(ci) => command::ci::ci(*ci, typed()),
        Command::Bench(bench) => command::bench::bench(&bench, typed()),
        Command::Board(board) => command::board::board(&board, typed()),
        Command::Clients(clients) => command::clients::clients(&clients, typed()),
        #[cfg(feature = "fleet")]
        Command::Agent(agent) => command::agent::agent(&agent),
        #[cfg(feature = "fleet")]
        Command::Fleet(fleet) => run_fleet(fleet, typed()),
        Command::Serve(serve) => command::serve::serve(*serve),
        Command::Verify(verify) => command::verify::verify(&verify),
        Command::Report(report) => command::report::report(&report),
        Command::History(arguments) => command::history::history(*arguments),
        Command::Try(arguments) => command::try_out::try_out(*arguments),
        Command::Import(import) => command::import::import(&import),
        Command::Man(man) => command::man::man(&man, arguments::command()),
        Command::Completions(shell) => {
            command::completions::completions(&shell, arguments::command())
        }
        // Handled above: clap does not parse other tools' command lines.
        Command::Wrk(other) => wrk::wrk(wrk::Name::CandorWrk, &other.words, typed()),
        Command::Ghz(other) => ghz::ghz(ghz::Name::CandorGhz, &other.words, typed()),
        Command::H2load(other) => h2load::h2load(h2load::Name::CandorH2load, &other.words, typed()),
    }
}

/// A command of a fleet, and the run that follows `candor fleet up`.
#[cfg(feature = "fleet")]
fn run_fleet(
    fleet: command::fleet::FleetArguments,
    typed: candor_plan::redact::Typed,
) -> Result<ExitCode, UserError> {
    use command::fleet::Next;
    let (here, typed) = match command::fleet::fleet(fleet, typed)? {
        Next::Exit(code) => return Ok(code),
        Next::Run(here, typed) => (here, typed),
    };
    let code = match arguments::parse(here.words()) {
        Command::Run(run) => command::run::run(*run, typed),
        _ => Err(UserError::usage("candor fleet up: only a run can follow the number of agents")),
    };
    here.end();
    code
}
