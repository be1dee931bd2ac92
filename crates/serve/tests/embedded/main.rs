//! The target from outside: what it answers, how it fails, what it counts, how it starts and ends.
#![allow(clippy::unwrap_used, reason = "a panic is a failing test with a line number")]

mod counting;
mod faults;
mod program;
mod scenarios;
mod truth;

use candor_serve::{Config, Faults, Running, Server};
use candor_testkit::client::Client;

fn start(config: Config) -> Running {
    Server::bind(config).unwrap().start()
}

fn start_with(faults: Faults) -> Running {
    start(Config { faults, ..Config::default() })
}

fn connect(server: &Running) -> Client {
    Client::connect(server.address())
}
