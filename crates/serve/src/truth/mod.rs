//! The truth server: answers whose time is known, for proving what a loader measures.
//!
//! The embedded target is a server like any other, and what it does is learnt by measuring it.
//! This one is the opposite: when each answer leaves is *computed* when its request arrives, from
//! a queue with a closed form ([`Discipline`]), and what is late is late by itself and does not
//! add up. It writes down when each request arrived, when its answer should have left and when it
//! left ([`Record`]), on the clock that loaders on the same machine read too. So a loader can be
//! held against what the server was to do, and against what it really did.
//!
//! Connections and a [`Config`] come in; answers and a [`Record`] go out. It must not be clever:
//! one thread, one path from a read to the clock, answers of a few bytes. That is why it is no
//! service on hyper: a task that is woken by another thread, on a timer of whole milliseconds,
//! cannot be punctual, and time stamps taken beyond a scheduler are not those of the socket.
//!
//! - `queue.rs`: when each answer has to leave. Pure, exact, tested on simulated time.
//! - `http.rs`: where a request ends. Pure.
//! - `server.rs`: from a configuration to a record; `serving.rs`: the loop; `connection.rs`: bytes.
//! - `record.rs`: what happened, as CSV, and how late the server was.

mod connection;
mod http;
mod queue;
mod record;
mod server;
mod serving;

pub use queue::Discipline;
pub use record::{Entry, Fate, Lateness, Record};
pub use server::{Config, LOG_CAPACITY, Running, Server, Stopper};
pub use serving::now_ns;
