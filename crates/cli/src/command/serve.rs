//! `candor serve`: the embedded target or the truth server, until SIGTERM.

use std::io::{self, Read};
use std::process::ExitCode;
use std::thread;

use candor_plan::units::{fmt_duration_ns, fmt_plural};
use candor_serve::{Config, Served, truth};
use rustix::process::{Signal, getpid, kill_process};

use crate::arguments::ServeArguments;
use crate::console;
use crate::exit::{Exit, Failure};
use crate::signals;

pub(crate) fn serve(arguments: ServeArguments) -> Result<ExitCode, Failure> {
    let talks = !arguments.stop_with_stdin;
    if arguments.stop_with_stdin {
        thread::spawn(stop_with_stdin);
    }
    match arguments.options.into_served() {
        Served::Target(config) => serve_target(config, talks)?,
        Served::Truth(config) => serve_truth(config, talks)?,
    }
    Ok(Exit::Fine.into())
}

fn serve_target(config: Config, talks: bool) -> Result<(), Failure> {
    let server = candor_serve::Server::bind(config).map_err(Failure::could_not_run)?;
    if talks {
        match server.certificate() {
            None => console::say(format_args!(
                "candor serve: listening on http://{}/",
                server.address()
            )),
            Some(file) => console::say(format_args!(
                "candor serve: listening on https://{}/, certificate in {} (for --cacert)",
                server.address(),
                file.display()
            )),
        }
    }
    let stats = server.run_until_signal().map_err(Failure::could_not_run)?;
    if talks {
        console::say(format_args!(
            "candor serve: {}, {}, {}",
            fmt_plural(stats.connections_accepted, "connection"),
            fmt_plural(stats.requests_accepted, "request"),
            fmt_plural(stats.requests_answered, "answer")
        ));
    }
    Ok(())
}

fn serve_truth(config: truth::Config, talks: bool) -> Result<(), Failure> {
    let server = truth::Server::bind(config).map_err(Failure::could_not_run)?;
    let stopper = server.stopper();
    // Before the port file tells anybody of the server, so that a signal always ends it in order.
    signals::on_signal(move || stopper.stop())?;
    if talks {
        console::say(format_args!(
            "candor serve: truth server, listening on http://{}/",
            server.address()
        ));
    }
    let record = server.run().map_err(Failure::could_not_run)?;
    if talks {
        let late = record.lateness();
        console::say(format_args!(
            "candor serve: {}, {}, late by p50 {}, p99 {}, at most {}",
            fmt_plural(record.entries.len() as u64 + record.unlogged, "request"),
            fmt_plural(late.answers, "logged answer"),
            fmt_duration_ns(late.p50_ns),
            fmt_duration_ns(late.p99_ns),
            fmt_duration_ns(late.max_ns)
        ));
    }
    Ok(())
}

/// Waits for the end of the standard input, then asks this process to stop.
fn stop_with_stdin() {
    let mut rest = [0; 64];
    while !matches!(io::stdin().read(&mut rest), Ok(0) | Err(_)) {}
    // If even that fails, the process was about to end anyway.
    let _ = kill_process(getpid(), Signal::TERM);
}
