//! The loader's threads, and how they wait.

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, need, value};
use crate::values::named;

/// Threads and cores of the loader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threads {
    /// The number of workers; `None`: half of the usable cores, but never more than connections.
    pub count: Option<u32>,
    /// Pin each worker to a core.
    pub pin: bool,
    /// How a worker waits for due times.
    pub pacing: Pacing,
    /// How a worker waits for network events.
    pub reactor: ReactorChoice,
}

impl Threads {
    /// Whether there is a connection for each, and a user if those are limited. As in wrk, a thread without is refused.
    pub(crate) fn check(&self, connections: u32, users: Option<u32>) -> Result<(), PlanError> {
        let Some(threads) = self.count else { return Ok(()) };
        need(threads > 0, "threads.count", "is above zero")?;
        let cannot = |count: u32, what: &str, option: &str| {
            let why = format!(
                "{threads} threads cannot share {count} {what}; raise {option}, or lower --threads"
            );
            Err(value("--threads", why))
        };
        if threads > connections {
            return cannot(connections, "connections", "--connections");
        }
        match users.filter(|users| threads > *users) {
            Some(users) => cannot(users, "users", "--users"),
            None => Ok(()),
        }
    }
}

/// How a worker waits for network events on its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReactorChoice {
    /// The one that was measured to be cheaper for the load.
    #[default]
    #[value(
        help = "io_uring in closed loops with --pipeline 8 or more, where it is cheaper, else epoll"
    )]
    Auto,
    /// epoll.
    #[value(help = "On any kernel")]
    Epoll,
    /// io_uring, or epoll where the kernel forbids it.
    #[value(help = "io_uring: Linux 6.0 or later, unless forbidden")]
    Uring,
}

named!(ReactorChoice: "\"auto\", \"epoll\" or \"uring\"");

/// How a worker waits for a due time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Sleep, then spin for the last stretch, within a budget of CPU time; where stamps can be had, with them.
    #[default]
    #[value(help = "Sleep, then spin for the last stretch")]
    Auto,
    /// Sleep only: the least CPU, but late by the time that the machine takes to wake.
    #[value(help = "The least CPU, and some lateness")]
    Sleep,
    /// Never sleep while a request is still to come: a whole core, and the least lag.
    #[value(help = "A whole core, and the least lateness")]
    Spin,
    /// Sleep until a request is due, whatever arrives, and take the times of responses from the kernel's stamps.
    #[value(help = "Wake for requests alone; the kernel's stamps say when responses came")]
    Stamps,
}

named!(Pacing: "\"auto\", \"sleep\", \"spin\" or \"stamps\"");

/// Why a thread has to read a response at once.
pub(crate) const WAITS: &str = "what comes next waits for a response; leave one of them out";

/// Why a thread has to read each response by itself.
pub(crate) const SEVERAL_IN_A_READ: &str =
    "the kernel has one stamp for several responses in a read; leave one of them out";
