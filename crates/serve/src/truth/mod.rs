//! The truth server: responses at known times, for proving a loader's measurements.
//!
//! The embedded target is a server like any other; its behaviour is known only by measuring it.
//! This one is the opposite: the departure of each response is *computed* when its request arrives,
//! from a queue with a closed form ([`Discipline`]), and the lateness of one response does not add
//! to the next. It records when each request arrived, when its response should have left and when
//! it left ([`Record`]), on the clock that loaders on the same machine read too. So a loader can be
//! compared with the server's intended and actual times.
//!
//! Connections and a [`Config`] come in; responses and a [`Record`] go out. It must stay simple:
//! one thread, one path from a read to the clock, responses of a few bytes. It does not use hyper,
//! because a task that another thread wakes, on a timer of whole milliseconds, cannot be punctual,
//! and time stamps taken behind a scheduler are not those of the socket.
//!
//! - `queue.rs`: when each response has to leave. Pure, exact, tested on simulated time.
//! - `http.rs`: where a request ends. Pure.
//! - `config.rs`: what it should do, as values.
//! - `server.rs`: from a configuration to a record; `serving.rs`: the loop; `connection.rs`: bytes;
//!   `quic.rs`: datagrams.
//! - `record.rs`: what happened, as CSV, and how late the server was.

mod config;
mod connection;
mod http;
mod queue;
mod quic;
mod record;
mod server;
mod serving;

pub use config::Config;
pub use queue::Discipline;
pub use record::{Entry, Fate, Lateness, Record};
pub use server::{Running, Server, Stopper};
pub(crate) use serving::cpu_ns;
pub use serving::now_ns;
