//! `candor serve`: the embedded target, until SIGTERM.

use std::io::{self, Read};
use std::process::ExitCode;
use std::thread;

use candor_plan::units::fmt_plural;
use rustix::process::{Signal, getpid, kill_process};

use crate::arguments::ServeArguments;
use crate::exit::{Exit, Failure};

pub(crate) fn serve(arguments: ServeArguments) -> Result<ExitCode, Failure> {
    let server = candor_serve::Server::bind(arguments.options.into_config())
        .map_err(Failure::could_not_run)?;
    if arguments.stop_with_stdin {
        thread::spawn(stop_with_stdin);
    } else {
        match server.certificate() {
            None => eprintln!("candor serve: listening on http://{}/", server.address()),
            Some(file) => eprintln!(
                "candor serve: listening on https://{}/, certificate in {} (for --cacert)",
                server.address(),
                file.display()
            ),
        }
    }
    let stats = server.run_until_signal().map_err(Failure::could_not_run)?;
    if !arguments.stop_with_stdin {
        eprintln!(
            "candor serve: {}, {}, {}",
            fmt_plural(stats.connections_accepted, "connection"),
            fmt_plural(stats.requests_accepted, "request"),
            fmt_plural(stats.requests_answered, "answer")
        );
    }
    Ok(Exit::Fine.into())
}

/// Waits for the end of the standard input, then asks this process to stop.
fn stop_with_stdin() {
    let mut rest = [0; 64];
    while !matches!(io::stdin().read(&mut rest), Ok(0) | Err(_)) {}
    // If even that fails, the process was about to end anyway.
    let _ = kill_process(getpid(), Signal::TERM);
}
