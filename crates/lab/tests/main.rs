//! Experiments as a whole, a module a subject. They are one binary, because linking them one by one would be most of the build.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod added;
mod clients;
mod common;
mod parts;
mod peak;
mod suite;
mod sweep;
