//! Running a plan: workers, reactors and the clock.
//!
//! The crate that moves bytes and waits. A [`run`] starts one worker per thread; a worker asks pace when the next
//! request is due, drives protocol sessions over a [`reactor::Reactor`], and tells record what happened. Workers share
//! nothing while they run: finished intervals go over a channel to the thread that called [`run`], which sums them.
//!
//! Each module names modules above it alone:
//!
//! ```text
//!  below        thread.rs   what the kernel counts of a thread           control.rs  how a run is stopped from outside
//!               reactor/    the clock, sockets, waiting                  error.rs    why a run could not be made
//!               machine/    cores, limits, pauses, memory                credentials.rs  those that change meanwhile
//!  a worker     load/       its share of the plan; what is due when      flight.rs   a request on its way, as values
//!               author/     who writes requests: the plan, with filled holes or without, a script, users
//!               books/      requests in flight and their outcomes
//!               worker/     the loop; connections, waiting
//!  a run        sessions/   what each target speaks, and who makes its sessions
//!               run/        addresses, threads, the one that collects; `drive.rs` runs workers on any reactor, which is
//!                           how whole runs are tested on simulated time
//! ```
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod author;
mod books;
mod control;
mod credentials;
mod error;
mod flight;
mod load;
mod machine;
pub mod reactor;
mod run;
mod sessions;
mod thread;
mod worker;

pub use author::filling::{rows, rows_limit};
pub use author::script;
pub use control::{Control, Course};
pub use credentials::Credentials;
pub use error::EngineError;
pub use machine::child::end_with_this_thread;
pub use machine::topology::physical_cores;
pub use machine::{core_count, host, keep_to_cores, usable_cores, within_quota};
pub use reactor::choice::probe_uring;
pub use run::drive::{drive, drive_observed, drive_part, drive_scripted, drive_sessions};
pub use run::observer::Observer;
pub use run::resolve::{Permission, permitted, public_addresses};
pub use run::{Part, collecting, run, run_part, run_scripted, workers};
pub use sessions::exchanges::{Exchange, Exchanges, Response, Text};
pub use thread::monotonic_ns;

/// The fault that this build has on purpose, if any: a control that the checks of the measuring
/// must fail on. `send_time`: latency counts from when a request was sent and not from when it was
/// due. `mixed_users`: what one user captures, another one has. `late_parts`: a part of a response has
/// the time at which it was understood, not that of its read. `read_time`: with `--pacing stamps` a response has the time
/// of its read. Only `make mutants` builds such a thing.
pub const MUTANT: Option<&str> = if cfg!(candor_mutant = "send_time") {
    Some("send_time")
} else if cfg!(candor_mutant = "mixed_users") {
    Some("mixed_users")
} else if cfg!(candor_mutant = "late_parts") {
    Some("late_parts")
} else if cfg!(candor_mutant = "read_time") {
    Some("read_time")
} else {
    None
};
