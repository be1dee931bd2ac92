//! The target from outside: its responses, its faults, its counts, its start and its end.
#![allow(clippy::unwrap_used, reason = "a panic is a failing test with a line number")]

mod calls;
mod counting;
mod events;
mod faults;
mod http2;
mod program;
mod scenarios;
mod sockets;
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
