//! The embedded target as a program of its own, so that tests can send it signals.
//!
//! The flags are those of `candor serve`; on exit the counts go to standard output as JSON.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example is its own edge")]

use std::pin::pin;
use std::process::ExitCode;

use candor_serve::{Config, ServeError, ServeOptions, Server, Stats};
use clap::Parser;
use futures_util::future::select;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Parser)]
struct Target {
    #[command(flatten)]
    options: ServeOptions,
}

fn main() -> ExitCode {
    match serve(Target::parse().options.into_config()) {
        Ok(stats) => {
            println!("{}", serde_json::to_string(&stats).expect("counts always are JSON"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(config: Config) -> Result<Stats, ServeError> {
    Server::bind(config)?.run(async {
        let heard = |kind| signal(kind).expect("the event loop has signals");
        let (mut interrupt, mut terminate) =
            (heard(SignalKind::interrupt()), heard(SignalKind::terminate()));
        select(pin!(interrupt.recv()), pin!(terminate.recv())).await;
    })
}
