//! The options of wrk, wrk2 and its fork, and their spellings.
//!
//! A long name may be abbreviated if it is unique among wrk's options, or else among wrk2's, or
//! else among the fork's: so each tool's own abbreviations keep their meaning.

use crate::getopt::Flag;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    Connections,
    Duration,
    Threads,
    Script,
    Header,
    Latency,
    Timeout,
    Help,
    Version,
    Rate,
    ULatency,
    BatchLatency,
    ReportInterval,
    Digits,
    Encoded,
    HistFormat,
    Result,
    ShowSecrets,
}

/// Ranks of abbreviations.
const WRK: u8 = 0;
const WRK2: u8 = 1;
const FORK: u8 = 2;

const fn both(id: Id, short: char, long: &'static str, takes_value: bool, rank: u8) -> Flag<Id> {
    Flag { id, short: Some(short), long, takes_value, rank: Some(rank) }
}

const fn long(id: Id, long: &'static str, takes_value: bool, rank: Option<u8>) -> Flag<Id> {
    Flag { id, short: None, long, takes_value, rank }
}

pub(super) const FLAGS: &[Flag<Id>] = &[
    both(Id::Connections, 'c', "connections", true, WRK),
    both(Id::Duration, 'd', "duration", true, WRK),
    both(Id::Threads, 't', "threads", true, WRK),
    both(Id::Script, 's', "script", true, WRK),
    both(Id::Header, 'H', "header", true, WRK),
    both(Id::Latency, 'L', "latency", false, WRK),
    both(Id::Timeout, 'T', "timeout", true, WRK),
    both(Id::Help, 'h', "help", false, WRK),
    both(Id::Version, 'v', "version", false, WRK),
    both(Id::Rate, 'R', "rate", true, WRK2),
    both(Id::ULatency, 'U', "u_latency", false, WRK2),
    both(Id::BatchLatency, 'B', "batch_latency", false, WRK2),
    both(Id::ReportInterval, 'p', "report_interval", true, FORK),
    both(Id::Digits, 'D', "digits", true, FORK),
    both(Id::Encoded, 'e', "encoded", false, FORK),
    long(Id::Encoded, "json_encoding", false, Some(FORK)),
    long(Id::HistFormat, "hist-format", true, None),
    long(Id::Result, "result", true, None),
    long(Id::ShowSecrets, "show-secrets", false, None),
];
