//! Coordinators and agents, a module a subject. They are one binary, because linking them one by one would be most of the build.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod agent;
mod authority;
mod common;
mod coordinator;
mod operators;
mod recall;
mod shares;
mod simulation;
