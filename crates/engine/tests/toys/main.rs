//! Protocols that are in no registry, over the engine as it is: the example of ARCHITECTURE.md for
//! whoever adds one.
//!
//! [`asking`] speaks datagrams, with loss, retransmission and timers; [`pushing`] hears parts that no
//! request asked for. Both run on the simulated link, where every time is known in closed form; the
//! first on real sockets as well.
#![allow(clippy::unwrap_used, reason = "a panic is a failing test")]

#[path = "../common/mod.rs"]
mod common;

mod asking;
mod asking_runs;
mod pushing;
mod pushing_runs;
