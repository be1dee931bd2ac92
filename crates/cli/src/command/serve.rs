//! `candor serve`: the embedded target or the truth server, until a signal.

use std::process::ExitCode;

use candor_plan::units::{fmt_duration_ns, fmt_plural};
use candor_serve::{Config, ServeOptions, Served, truth};

use crate::console;
use crate::exit::{Exit, UserError};
use crate::signals;

pub(crate) const EXAMPLES: &str = "\
Examples:
  candor serve --listen 8080
      Every scenario on http://127.0.0.1:8080/, until Ctrl-C.
  candor serve --listen 8080 --stall 2s@10s
      The same, with a stall of 2 s that begins 10 s after the start.
  candor serve --listen 8443 --tls --tls-cert-out ca.pem
      HTTP/2 and HTTP/1.1 over TLS; `candor --cacert ca.pem https://localhost:8443/` trusts it.
  candor serve --listen 8443 --h3 --tls-cert-out ca.pem
      HTTP/3 as well; `candor --h3 --cacert ca.pem https://localhost:8443/` uses it.
  candor serve --truth fifo --service-time 10ms --listen 8080
      The truth server: one request at a time, 10 ms each.

docs/target.md describes paths, faults and the truth server.";

pub(crate) fn serve(options: ServeOptions) -> Result<ExitCode, UserError> {
    match options.into_served() {
        Served::Target(config) => serve_target(config)?,
        Served::Truth(config) => serve_truth(config)?,
    }
    Ok(Exit::Fine.into())
}

fn serve_target(config: Config) -> Result<(), UserError> {
    let server = candor_serve::Server::bind(config)?;
    let stopper = server.stopper();
    // Before the port file announces the server, so that a signal always ends it in order.
    signals::on_signal(move || stopper.stop());
    match server.certificate() {
        None => {
            console::say(format_args!("candor serve: listening on http://{}/", server.address()))
        }
        Some(file) => console::say(format_args!(
            "candor serve: listening on https://{}/, certificate in {} (for --cacert)",
            server.address(),
            file.display()
        )),
    }
    let stats = server.run_until_stopped()?;
    console::say(format_args!(
        "candor serve: {}, {}, {}",
        fmt_plural(stats.connections_accepted, "connection"),
        fmt_plural(stats.requests_accepted, "request"),
        fmt_plural(stats.requests_answered, "response")
    ));
    Ok(())
}

fn serve_truth(config: truth::Config) -> Result<(), UserError> {
    let server = truth::Server::bind(config)?;
    let stopper = server.stopper();
    signals::on_signal(move || stopper.stop());
    console::say(format_args!(
        "candor serve: truth server, listening on http://{}/",
        server.address()
    ));
    if let Some(file) = server.certificate() {
        console::say(format_args!(
            "candor serve: the same over HTTP/3, certificate in {} (for --cacert)",
            file.display()
        ));
    }
    let record = server.run()?;
    let late = record.lateness();
    console::say(format_args!(
        "candor serve: {}, {}, late by p50 {}, p99 {}, at most {}",
        fmt_plural(record.entries.len() as u64 + record.unlogged, "request"),
        fmt_plural(late.answers, "logged response"),
        fmt_duration_ns(late.p50_ns),
        fmt_duration_ns(late.p99_ns),
        fmt_duration_ns(late.max_ns)
    ));
    Ok(())
}
