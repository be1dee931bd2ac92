//! Imports as a whole, a module a subject. They are one binary, because linking them one by one would be most of the build.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod commands;
mod common;
mod described;
mod exact;
mod foreign;
mod golden;
mod hostile;
mod properties;
mod recordings;
mod secrets;
mod sent;
