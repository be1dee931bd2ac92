//! ghz's command line: every option checked alone.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use candor_plan::options::ReadFile;
use candor_plan::units::parse_duration_ns;
use candor_plan::values::{CallName, Count, PositiveNanos, Size, SmallCount};
use serde_json::Value;

use super::Name;
use super::data;
use super::flags::{FLAGS, Id};
use crate::getopt::{self, Flag, Refusal, Taker};

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    #[default]
    Summary,
    Json,
    Pretty,
    Csv,
    Html,
    InfluxSummary,
    InfluxDetails,
}

/// How the rate changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Schedule {
    #[default]
    Const,
    Step,
    Line,
}

/// What happens to calls in flight when the time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AtEnd {
    #[default]
    GiveUp,
    Wait,
}

/// How the concurrency changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Workers {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) step: i64,
    pub(super) step_duration: Option<PositiveNanos>,
    pub(super) max_duration: Option<PositiveNanos>,
}

impl Default for Workers {
    fn default() -> Self {
        Workers { start: 0, end: 0, step: 1, step_duration: None, max_duration: None }
    }
}

impl Workers {
    /// The most at a time; `None`: there is no end.
    pub(super) fn most(&self) -> Option<u32> {
        const SECOND_NS: u64 = 1_000_000_000;
        if self.end > 0 || self.step <= 0 {
            return Some(self.start.max(self.end));
        }
        let each_ns = self.step_duration.map_or(SECOND_NS, PositiveNanos::get);
        let steps = i64::try_from(self.max_duration?.get() / each_ns).ok()?;
        u32::try_from(i64::from(self.start).checked_add(self.step.checked_mul(steps)?)?).ok()
    }
}

/// The options of a command line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Asked {
    pub(super) host: String,
    pub(super) call: Option<CallName>,
    pub(super) proto: Option<PathBuf>,
    pub(super) protoset: Option<PathBuf>,
    pub(super) import_paths: Vec<PathBuf>,
    pub(super) cacert: Option<PathBuf>,
    pub(super) cert: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) cname: Option<String>,
    pub(super) skip_tls: bool,
    pub(super) insecure: bool,
    pub(super) authority: Option<String>,
    pub(super) is_async: bool,
    pub(super) rps: Option<Count>,
    pub(super) schedule: Schedule,
    pub(super) load_start: u64,
    pub(super) load_step: i64,
    pub(super) load_end: Option<u64>,
    pub(super) load_step_duration: Option<PositiveNanos>,
    pub(super) load_max_duration: Option<PositiveNanos>,
    pub(super) concurrency: Option<SmallCount>,
    /// The concurrency follows `workers`.
    pub(super) workers_change: bool,
    pub(super) workers: Workers,
    pub(super) connections: Option<SmallCount>,
    pub(super) total: Option<Count>,
    /// `Some(None)`: without end.
    pub(super) timeout: Option<Option<PositiveNanos>>,
    pub(super) duration: Option<PositiveNanos>,
    pub(super) max_duration: Option<PositiveNanos>,
    pub(super) at_end: AtEnd,
    pub(super) data: Option<String>,
    pub(super) data_file: Option<PathBuf>,
    /// A file of messages in binary.
    pub(super) binary: Option<PathBuf>,
    pub(super) metadata: Option<String>,
    pub(super) metadata_file: Option<PathBuf>,
    pub(super) stream_call_count: Option<Count>,
    pub(super) is_literal: bool,
    pub(super) output: Option<PathBuf>,
    pub(super) format: Format,
    pub(super) connect_timeout: Option<PositiveNanos>,
    pub(super) name: Option<String>,
    pub(super) tags: Option<Value>,
    pub(super) cpus: Option<SmallCount>,
    pub(super) max_receive: Option<Size>,
    /// This number of calls, the first to end, is in no figure.
    pub(super) skip_first: u64,
    pub(super) count_errors: bool,
    /// Where to write candor's own document.
    pub(super) result: Option<PathBuf>,
    pub(super) show_secrets: bool,
    /// Notes about options without effect.
    pub(super) notes: Vec<String>,
}

impl Asked {
    /// Whether the output has single calls, or figures that only those tell.
    pub(super) fn needs_calls(&self) -> bool {
        let by_format = match self.format {
            Format::Json | Format::Pretty | Format::Csv | Format::InfluxDetails => true,
            Format::Summary | Format::Html | Format::InfluxSummary => false,
        };
        by_format || self.skip_first > 0 || self.count_errors
    }
}

/// The meaning of a command line.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Run(Box<Asked>),
    Help,
    Version,
}

/// Parses the words after the program's name. Options of a file come before those of the command line, which count
/// more.
pub(super) fn parse(
    name: Name,
    words: &[String],
    files: &dyn ReadFile,
) -> Result<Request, Refusal> {
    let mut typed = Reader::new(name);
    getopt::read(&mut typed, words)?;
    let Some(file) = typed.config.take() else { return typed.request() };
    let text = getopt::text(files, &file, "--config")?;
    let of_file = data::config(&file.to_string_lossy(), &text)?;
    let mut reader = Reader::new(name);
    getopt::read(&mut reader, &of_file)?;
    if reader.config.take().is_some() {
        return Err(Refusal::new(
            "--config: a file of options names no other one; leave config out of it",
        ));
    }
    if !typed.places.is_empty() {
        reader.places.clear();
    }
    getopt::read(&mut reader, words)?;
    reader.request()
}

struct Reader {
    name: Name,
    instead: Option<Request>,
    config: Option<PathBuf>,
    places: Vec<String>,
    asked: Asked,
}

impl Taker for Reader {
    type Id = Id;
    type Refusal = Refusal;
    const FLAGS: &'static [Flag<Id>] = FLAGS;

    fn set(&mut self, id: Id, shown: &str, value: Option<String>) -> Result<(), Refusal> {
        let text = value.unwrap_or_default();
        let text = text.trim();
        let asked = &mut self.asked;
        match id {
            Id::Config => self.config = Some(text.into()),
            Id::Proto => asked.proto = Some(text.into()),
            Id::Protoset => asked.protoset = Some(text.into()),
            Id::Call => asked.call = Some(parsed(shown, text)?),
            Id::ImportPaths => {
                asked.import_paths = text.split(',').map(|path| path.trim().into()).collect();
            }
            Id::CaCert => asked.cacert = Some(text.into()),
            Id::Cert => asked.cert = Some(text.into()),
            Id::Key => asked.key = Some(text.into()),
            Id::CName => asked.cname = Some(text.to_owned()),
            Id::SkipTls => asked.skip_tls = true,
            Id::Insecure => asked.insecure = true,
            Id::Authority => asked.authority = Some(text.to_owned()),
            Id::Async => asked.is_async = true,
            Id::Rps => asked.rps = above_zero(shown, text)?,
            Id::LoadSchedule => {
                asked.schedule = match text {
                    "const" => Schedule::Const,
                    "step" => Schedule::Step,
                    "line" => Schedule::Line,
                    other => return Err(unknown(shown, other, "const, step or line")),
                };
            }
            Id::LoadStart => asked.load_start = number(shown, text)?,
            Id::LoadStep => asked.load_step = number(shown, text)?,
            Id::LoadEnd => asked.load_end = Some(number(shown, text)?).filter(|end| *end > 0),
            Id::LoadStepDuration => asked.load_step_duration = duration(shown, text)?,
            Id::LoadMaxDuration => asked.load_max_duration = duration(shown, text)?,
            Id::Concurrency => asked.concurrency = Some(parsed(shown, text)?),
            Id::ConcurrencySchedule => match text {
                "const" => asked.workers_change = false,
                "step" | "line" => asked.workers_change = true,
                other => return Err(unknown(shown, other, "const, step or line")),
            },
            Id::ConcurrencyStart => asked.workers.start = number(shown, text)?,
            Id::ConcurrencyEnd => asked.workers.end = number(shown, text)?,
            Id::ConcurrencyStep => asked.workers.step = number(shown, text)?,
            Id::ConcurrencyStepDuration => asked.workers.step_duration = duration(shown, text)?,
            Id::ConcurrencyMaxDuration => asked.workers.max_duration = duration(shown, text)?,
            Id::Total => asked.total = above_zero(shown, text)?,
            Id::Timeout => asked.timeout = Some(duration(shown, text)?),
            Id::Duration => asked.duration = duration(shown, text)?,
            Id::MaxDuration => asked.max_duration = duration(shown, text)?,
            Id::DurationStop => {
                asked.at_end = match text {
                    "close" | "ignore" => AtEnd::GiveUp,
                    "wait" => AtEnd::Wait,
                    other => return Err(unknown(shown, other, "close, wait or ignore")),
                };
            }
            Id::Data => match text.strip_prefix('@') {
                Some("") => asked.data_file = Some("-".into()),
                Some(file) => asked.data_file = Some(file.into()),
                None => asked.data = Some(text.to_owned()),
            },
            Id::DataFile => asked.data_file = Some(text.into()),
            Id::Binary => asked.binary = Some("-".into()),
            Id::BinaryFile => asked.binary = Some(text.into()),
            Id::SkipFirst => asked.skip_first = number(shown, text)?,
            Id::CountErrors => asked.count_errors = true,
            Id::Metadata => asked.metadata = Some(text.to_owned()),
            Id::MetadataFile => asked.metadata_file = Some(text.into()),
            Id::StreamCallCount => asked.stream_call_count = above_zero(shown, text)?,
            Id::Output => asked.output = Some(text.into()),
            Id::Format => {
                asked.format = match text {
                    "summary" => Format::Summary,
                    "json" => Format::Json,
                    "pretty" => Format::Pretty,
                    "csv" => Format::Csv,
                    "html" => Format::Html,
                    "influx-summary" => Format::InfluxSummary,
                    "influx-details" => Format::InfluxDetails,
                    "prometheus" => {
                        return Err(Refusal(format!(
                            "{shown}: {text} is not supported; use --json FILE of candor grpc, or another format"
                        )));
                    }
                    other => {
                        let known =
                            "summary, json, pretty, csv, html, influx-summary or influx-details";
                        return Err(unknown(shown, other, known));
                    }
                };
            }
            Id::Connections => asked.connections = Some(parsed(shown, text)?),
            Id::ConnectTimeout => asked.connect_timeout = duration(shown, text)?,
            Id::Name => asked.name = Some(text.to_owned()),
            Id::Tags => {
                asked.tags = Some(
                    serde_json::from_str(text)
                        .map_err(|error| Refusal(format!("{shown}: {error}")))?,
                );
            }
            Id::Cpus => asked.cpus = Some(parsed(shown, text)?),
            Id::MaxReceive => asked.max_receive = Some(size(shown, text)?),
            Id::Literal => asked.is_literal = true,
            Id::Idle => asked.notes.push(format!("{shown} has no effect")),
            Id::Refused(why) => return Err(Refusal(format!("{shown}: {why}"))),
            Id::Off => {}
            Id::Version => self.instead = Some(Request::Version),
            Id::Help => self.instead = Some(Request::Help),
            Id::Result => asked.result = Some(text.into()),
            Id::ShowSecrets => asked.show_secrets = true,
        }
        Ok(())
    }

    fn place(&mut self, word: String) {
        self.places.push(word);
    }

    fn wrong(&self, what: String) -> Refusal {
        Refusal(format!("{}: {what}", self.name.as_str()))
    }
}

impl Reader {
    fn new(name: Name) -> Self {
        Reader { name, instead: None, config: None, places: Vec::new(), asked: Asked::default() }
    }

    fn request(self) -> Result<Request, Refusal> {
        if let Some(instead) = self.instead {
            return Ok(instead);
        }
        let host = match &self.places[..] {
            [host] => host.clone(),
            [] => return Err(Refusal::new("host: is required; write HOST:PORT")),
            [_, other, ..] => {
                return Err(Refusal(format!("unexpected {other}; write one HOST:PORT")));
            }
        };
        let asked = Asked { host, ..self.asked };
        if asked.call.is_none() {
            return Err(Refusal::new("call: is required; write --call package.Service/Method"));
        }
        Ok(Request::Run(Box::new(asked)))
    }
}

fn parsed<T: FromStr<Err: Display>>(shown: &str, text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|error| Refusal(format!("{shown}: {error}")))
}

fn number<T: FromStr<Err: Display>>(shown: &str, text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|_| Refusal(format!("{shown}: {text:?} is not a whole number")))
}

fn unknown(shown: &str, text: &str, known: &str) -> Refusal {
    Refusal(format!("{shown}: {text:?} is not known; write {known}"))
}

/// A count; zero is none.
fn above_zero(shown: &str, text: &str) -> Result<Option<Count>, Refusal> {
    let count: u64 = number(shown, text)?;
    Ok(Count::new(count))
}

/// A duration as Go writes it, such as `1m30s`; zero is none.
fn duration(shown: &str, text: &str) -> Result<Option<PositiveNanos>, Refusal> {
    let wrong = || Refusal(format!("{shown}: {text:?} is not a duration; write e.g. 10s or 1m30s"));
    if text == "0" {
        return Ok(None);
    }
    let mut sum_ns = 0u64;
    let mut rest = text;
    while !rest.is_empty() {
        let unit = rest.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').ok_or_else(wrong)?;
        let digit = rest[unit..].find(|c: char| c.is_ascii_digit() || c == '.');
        let end = digit.map_or(rest.len(), |at| unit + at);
        let ns = parse_duration_ns(&rest[..end].replace('µ', "u")).map_err(|_| wrong())?;
        sum_ns = sum_ns.checked_add(ns).ok_or_else(wrong)?;
        rest = &rest[end..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(PositiveNanos::new(sum_ns)) }
}

/// A size as `4MB`, which is 4,000,000 bytes, `4MiB`, or in bytes.
fn size(shown: &str, text: &str) -> Result<Size, Refusal> {
    let text = text.replace(' ', "");
    match text.strip_suffix('B').filter(|rest| !rest.ends_with('i')) {
        Some(decimal) => parsed(shown, decimal),
        None => parsed(shown, &text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_go_writes_them() {
        let ns = |text| duration("-z", text).unwrap().map(PositiveNanos::get);
        assert_eq!(ns("1m30s"), Some(90_000_000_000));
        assert_eq!(ns("1.5s"), Some(1_500_000_000));
        assert_eq!(ns("20µs"), Some(20_000));
        assert_eq!((ns("0"), ns("0s")), (None, None));
        for wrong in ["", "s", "1x", "x1s", "1s1", "10"] {
            assert!(duration("-z", wrong).is_err(), "{wrong}");
        }
        assert_eq!(size("x", "4 MB").unwrap(), Size(4_000_000));
        assert_eq!(size("x", "4MiB").unwrap(), Size(4 << 20));
        assert_eq!(size("x", "17").unwrap(), Size(17));
    }
}
