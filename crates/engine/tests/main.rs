//! Workers and runs as a whole, a module a subject. They are one binary, because linking them one by one would be most of the build.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod acks;
mod batches;
mod closed_forms;
mod common;
mod deliveries;
mod dozing;
mod endings;
mod ends;
mod fairness;
mod fallback;
mod filled;
mod held;
mod http3;
mod journeys;
mod kernel_stamps;
mod names;
mod own_connections;
mod scripted;
mod simulated;
mod streams;
mod targets;
mod threads;
