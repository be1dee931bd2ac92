//! The WebSocket session against the RFCs, against itself, and against the cases of the Autobahn TestSuite.
#![allow(clippy::unwrap_used, reason = "a panic is a failing test with a line number")]

mod cases;
mod compression;
mod examples;
mod opening;
mod properties;
mod sessions;
mod support;
mod tunnels;
