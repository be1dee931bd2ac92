//! The configuration of a truth server, decided before it starts.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::queue::Discipline;
use crate::{Certificate, PlannedStall};

/// The configuration of a truth server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Speaks HTTP/3 on the UDP port of the same number, too, with this certificate.
    pub h3: Option<Certificate>,
    /// The discipline of its queue.
    pub discipline: Discipline,
    /// The number of independent queues.
    pub queues: NonZeroUsize,
    /// Stalls, counted from when it begins to serve.
    pub stalls: Vec<PlannedStall>,
    /// Whether it polls for requests all the time instead of sleeping.
    pub spin: bool,
    /// Its port file, written once it is ready.
    pub port_file: Option<PathBuf>,
    /// A file for its record, written when it ends.
    pub log: Option<PathBuf>,
    /// The most requests to log; their memory is allocated at once.
    pub log_capacity: usize,
}
