//! The checks, in order.
//!
//! A check is an experiment (flags of a server and of a load) and a judge, a pure function from the
//! experiment's evidence to lines. The symbols are those of candor-stats' `closed_form`.

mod calls;
mod closed;
mod delays;
mod events;
mod fifo;
mod gaps;
mod overload;
mod pause;
mod quic;
mod shedding;
mod stall;
mod stamps;
mod targets;
mod tokens;
mod users;
mod websocket;

#[cfg(test)]
mod tests;

use super::Settings;
use super::line::Line;
use crate::error::LabError;

/// One check of the battery.
pub struct Check {
    /// The name for `--only`.
    pub id: &'static str,
    /// The subject of the check.
    pub title: &'static str,
    /// Makes the experiment and judges it.
    pub run: fn(&Settings) -> Result<Vec<Line>, LabError>,
}

/// All checks.
pub const CHECKS: [Check; 17] = [
    Check { id: "stall", title: "the server stalls once", run: stall::check },
    Check { id: "overload", title: "twice what the server can do", run: overload::check },
    Check { id: "delays", title: "a server with a known delay", run: delays::check },
    Check { id: "constant", title: "even arrivals at a queue", run: fifo::check_constant },
    Check {
        id: "poisson",
        title: "Poisson arrivals at a queue (Lindley)",
        run: fifo::check_poisson,
    },
    Check {
        id: "closed",
        title: "a closed loop on a server with a known delay",
        run: closed::check,
    },
    Check { id: "shedding", title: "five places and no queue (Erlang B)", run: shedding::check },
    Check { id: "stamps", title: "responses timed by the kernel's stamps", run: stamps::check },
    Check { id: "users", title: "users who log in, think and go on", run: users::check },
    Check { id: "targets", title: "two servers, one of which stalls", run: targets::check },
    Check { id: "events", title: "streams of events at known times", run: events::check },
    Check { id: "gaps", title: "streams that stall once", run: gaps::check },
    Check { id: "tokens", title: "streams of tokens at known times", run: tokens::check },
    Check { id: "websocket", title: "WebSockets that echo at known times", run: websocket::check },
    Check { id: "grpc", title: "calls of gRPC at known times", run: calls::check },
    Check { id: "quic", title: "a stall and a known delay over HTTP/3", run: quic::check },
    Check { id: "pause", title: "candor itself is stopped for a while", run: pause::check },
];
