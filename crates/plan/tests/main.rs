//! Plans from options and files, a module a subject. They are one binary, because linking them one by one would be most of the build.
#![allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]

mod bad_inputs;
mod calls;
mod common;
mod data;
mod deliveries;
mod flags;
mod form;
mod guide;
mod journeys;
mod plans;
mod streams;
mod targets;
mod travel;
mod websocket;
