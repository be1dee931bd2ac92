//! The options that wrk, wrk2 and its fork have between them, and how each may be written.
//!
//! A long name may be shortened to what is unique among wrk's options, or failing that among
//! wrk2's, or the fork's: so each tool's own abbreviations keep their meaning.

use crate::getopt;

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
    Result,
    ShowSecrets,
}

/// Whose option it is: abbreviations are looked for in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tool {
    Wrk,
    Wrk2,
    Fork,
    /// Never abbreviated, so that it takes no abbreviation away.
    Candor,
}

/// An option.
pub(super) struct Flag {
    pub(super) id: Id,
    short: Option<char>,
    long: &'static str,
    takes_value: bool,
    tool: Tool,
}

impl getopt::Flag for Flag {
    fn long(&self) -> &'static str {
        self.long
    }

    fn takes_value(&self) -> bool {
        self.takes_value
    }
}

const fn flag(id: Id, short: char, long: &'static str, takes_value: bool, tool: Tool) -> Flag {
    Flag { id, short: Some(short), long, takes_value, tool }
}

const FLAGS: [Flag; 18] = [
    flag(Id::Connections, 'c', "connections", true, Tool::Wrk),
    flag(Id::Duration, 'd', "duration", true, Tool::Wrk),
    flag(Id::Threads, 't', "threads", true, Tool::Wrk),
    flag(Id::Script, 's', "script", true, Tool::Wrk),
    flag(Id::Header, 'H', "header", true, Tool::Wrk),
    flag(Id::Latency, 'L', "latency", false, Tool::Wrk),
    flag(Id::Timeout, 'T', "timeout", true, Tool::Wrk),
    flag(Id::Help, 'h', "help", false, Tool::Wrk),
    flag(Id::Version, 'v', "version", false, Tool::Wrk),
    flag(Id::Rate, 'R', "rate", true, Tool::Wrk2),
    flag(Id::ULatency, 'U', "u_latency", false, Tool::Wrk2),
    flag(Id::BatchLatency, 'B', "batch_latency", false, Tool::Wrk2),
    flag(Id::ReportInterval, 'p', "report_interval", true, Tool::Fork),
    flag(Id::Digits, 'D', "digits", true, Tool::Fork),
    flag(Id::Encoded, 'e', "encoded", false, Tool::Fork),
    Flag {
        id: Id::Encoded,
        short: None,
        long: "json_encoding",
        takes_value: false,
        tool: Tool::Fork,
    },
    Flag { id: Id::Result, short: None, long: "result", takes_value: true, tool: Tool::Candor },
    Flag {
        id: Id::ShowSecrets,
        short: None,
        long: "show-secrets",
        takes_value: false,
        tool: Tool::Candor,
    },
];

/// The option of this letter.
pub(super) fn short(letter: char) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.short == Some(letter))
}

/// The option of this name, which may be shortened; or the C library's words for why there is
/// none.
pub(super) fn long(typed: &str) -> Result<&'static Flag, String> {
    if let Some(exact) = FLAGS.iter().find(|flag| flag.long == typed) {
        return Ok(exact);
    }
    for tool in [Tool::Wrk, Tool::Wrk2, Tool::Fork] {
        let known = FLAGS.iter().filter(|flag| flag.tool <= tool);
        let matches: Vec<&Flag> = known.filter(|flag| flag.long.starts_with(typed)).collect();
        match matches[..] {
            [] => {}
            [only] => return Ok(only),
            _ => {
                let all: Vec<String> =
                    matches.iter().map(|flag| format!("'--{}'", flag.long)).collect();
                let all = all.join(" ");
                return Err(format!("option '--{typed}' is ambiguous; possibilities: {all}"));
            }
        }
    }
    Err(format!("unrecognized option '--{typed}'"))
}
