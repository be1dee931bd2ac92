//! Running a plan: workers, reactors and the clock.
//!
//! The crate that moves bytes and waits. A [`run`] starts one worker per thread;
//! a worker asks pace when the next request is due, drives protocol sessions over a
//! [`reactor::Reactor`], and tells record what happened. Workers share nothing while they run:
//! finished intervals go over a channel to the thread that called [`run`], which sums them.
//!
//! [`drive`] runs one worker on any reactor, which is how whole runs are tested on
//! simulated time.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod author;
mod books;
mod chain;
mod child;
mod connection;
mod control;
mod drive;
mod error;
mod exchange;
mod fill;
mod flight;
mod gaps;
mod health;
mod hiccup;
mod machine;
mod memory;
mod observer;
mod pacing;
mod plan_share;
pub mod reactor;
mod registry;
mod resolve;
mod roots;
mod run;
pub mod script;
mod source;
mod storm;
mod streams;
mod throttle;
mod users;
mod worker;

pub use child::end_with_this_thread;
pub use control::{Control, Course};
pub use drive::{drive, drive_observed, drive_part, drive_scripted, drive_sessions};
pub use error::EngineError;
pub use exchange::{Exchange, Exchanges, Response, Text};
pub use fill::{rows, rows_limit};
pub use health::monotonic_ns;
pub use machine::{core_count, host, keep_to_cores, usable_cores, within_quota};
pub use observer::Observer;
pub use reactor::choice::{ReactorKind, pick, probe_uring};
pub use resolve::{Permission, permitted, public_addresses};
pub use run::{Part, collecting, run, run_part, run_scripted, workers};

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
