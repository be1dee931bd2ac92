//! wrk's Lua API on LuaJIT.
//!
//! A [`Program`] is a plan's script, loaded into one state for each thread of the run and one more
//! in which `setup` and `done` run. The engine gets a [`candor_engine::script::Script`] for each
//! thread and knows nothing of Lua. Values cross between states as copies.
//!
//! States are made and read through mlua; the functions that are called for each request
//! (`request`, `response`, `delay`, `wrk.format`) go through raw calls, which are in [`raw`] with
//! all of this crate's unsafe code. `stats.rs` and `prelude.lua` define a script's view of a run.
//! Nothing here prints, and no other crate may use mlua.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod error;
mod hooks;
mod pattern;
mod program;
#[allow(unsafe_code)]
mod raw;
mod sandbox;
mod seat;
mod state;
mod stats;
mod thread;
mod user;
mod users;
mod value;
mod watch;

pub use error::ScriptError;
pub use program::Program;
