//! Fuzzing of every parser of foreign bytes.
//!
//! A [`Target`] is a function from any bytes to nothing: it returns, or it panics and has found a
//! fault. Besides "no panic", each checks an invariant: a whole input means the same as its single
//! bytes, a value that was read and written reads the same again, another parser agrees where there
//! is one.
//!
//! The functions do not know their caller. `make fuzz` calls them with libFuzzer, guided by
//! coverage, on the stable toolchain (`main.rs`, scripts/fuzz). Ordinary tests call them with
//! testkit's mutations, for a fixed number of inputs out of the corpus; and with every input in
//! `regressions/`, which once crashed.
#![forbid(unsafe_code)]

mod captures;
mod data;
mod documents;
mod drivers;
mod events;
mod fleet;
mod grpc;
mod h1;
mod h2;
mod h3;
mod histograms;
mod imports;
mod pieces;
mod plans;
mod records;
mod tls;
mod traces;
mod websocket;

/// A parser and its invariant.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Panics if the invariant does not hold.
    pub run: fn(&[u8]),
    /// Inputs of an ordinary test: fewer, where each takes long.
    pub inputs: u32,
}

const fn target(name: &'static str, run: fn(&[u8]), inputs: u32) -> Target {
    Target { name, run, inputs }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    target("h1", h1::response, 3000),
    target("chunks", h1::chunks, 3000),
    target("codings", h1::codings, 1000),
    target("h2", h2::frames, 2000),
    target("hpack", h2::hpack, 3000),
    target("qpack", h3::qpack, 3000),
    target("calls", grpc::call, 2000),
    target("protos", grpc::proto, 500),
    target("protosets", grpc::protoset, 1000),
    target("grpc-json", grpc::json, 1000),
    target("tls-handshake", tls::handshake, 1000),
    target("tls-records", tls::records, 100),
    target("websocket", websocket::session, 2000),
    target("events", events::body, 3000),
    target("made", h1::made, 3000),
    target("data", data::head, 2000),
    target("templates", data::template, 3000),
    target("captures", captures::response, 3000),
    target("locations", captures::location, 3000),
    target("alt-svc", captures::alt_svc, 3000),
    target("units", plans::units, 3000),
    target("plans", plans::plan, 1000),
    target("suites", plans::suite, 500),
    target("objectives", plans::objective, 3000),
    target("results", documents::result, 500),
    target("experiments", documents::experiment, 500),
    target("records", records::record, 300),
    target("messages", fleet::message, 300),
    target("policies", fleet::policy, 1000),
    target("imports", imports::import, 1000),
    target("histograms", histograms::histogram, 1000),
    target("traces", traces::trace, 2000),
    target("drivers", drivers::line, 2000),
    target("port-files", drivers::port_file, 3000),
    target("stats", drivers::stats, 3000),
];

/// The target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
