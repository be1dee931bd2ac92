//! ghz's options and their spellings. A switch has a counterpart with `no-` in front.

use crate::getopt::Flag;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    Config,
    Proto,
    Protoset,
    Call,
    ImportPaths,
    CaCert,
    Cert,
    Key,
    CName,
    SkipTls,
    Insecure,
    Authority,
    Async,
    Rps,
    LoadSchedule,
    LoadStart,
    LoadStep,
    LoadEnd,
    LoadStepDuration,
    LoadMaxDuration,
    Concurrency,
    ConcurrencySchedule,
    Total,
    Timeout,
    Duration,
    MaxDuration,
    DurationStop,
    Data,
    DataFile,
    Metadata,
    MetadataFile,
    StreamCallCount,
    Output,
    Format,
    Connections,
    ConnectTimeout,
    Name,
    Tags,
    Cpus,
    MaxReceive,
    Literal,
    /// It has no effect here.
    Idle,
    /// It is not supported: the sentence says why, or what to use instead.
    Refused(&'static str),
    Version,
    Help,
    Result,
    ShowSecrets,
    /// `--no-…` of a switch that is off by default.
    Off,
}

const fn both(id: Id, short: char, long: &'static str) -> Flag<Id> {
    Flag { id, short: Some(short), long, takes_value: true, rank: Some(0) }
}

const fn value(id: Id, long: &'static str) -> Flag<Id> {
    Flag { id, short: None, long, takes_value: true, rank: None }
}

const fn switch(id: Id, short: Option<char>, long: &'static str) -> Flag<Id> {
    Flag { id, short, long, takes_value: false, rank: None }
}

const NO_STEPS: Id =
    Id::Refused("the concurrency is the same in the whole run; use --load-schedule");
const BINARY: Id = Id::Refused("messages are written as JSON; use -d or -D");
const PACE: Id = Id::Refused("all messages of a call are sent at once; leave it out");

pub(super) const FLAGS: &[Flag<Id>] = &[
    value(Id::Config, "config"),
    value(Id::Proto, "proto"),
    value(Id::Protoset, "protoset"),
    value(Id::Call, "call"),
    both(Id::ImportPaths, 'i', "import-paths"),
    value(Id::CaCert, "cacert"),
    value(Id::Cert, "cert"),
    value(Id::Key, "key"),
    value(Id::CName, "cname"),
    switch(Id::SkipTls, None, "skipTLS"),
    switch(Id::Insecure, None, "insecure"),
    value(Id::Authority, "authority"),
    switch(Id::Async, None, "async"),
    both(Id::Rps, 'r', "rps"),
    value(Id::LoadSchedule, "load-schedule"),
    value(Id::LoadStart, "load-start"),
    value(Id::LoadStep, "load-step"),
    value(Id::LoadEnd, "load-end"),
    value(Id::LoadStepDuration, "load-step-duration"),
    value(Id::LoadMaxDuration, "load-max-duration"),
    both(Id::Concurrency, 'c', "concurrency"),
    value(Id::ConcurrencySchedule, "concurrency-schedule"),
    value(NO_STEPS, "concurrency-start"),
    value(NO_STEPS, "concurrency-end"),
    value(NO_STEPS, "concurrency-step"),
    value(NO_STEPS, "concurrency-step-duration"),
    value(NO_STEPS, "concurrency-max-duration"),
    both(Id::Total, 'n', "total"),
    both(Id::Timeout, 't', "timeout"),
    both(Id::Duration, 'z', "duration"),
    both(Id::MaxDuration, 'x', "max-duration"),
    value(Id::DurationStop, "duration-stop"),
    both(Id::Data, 'd', "data"),
    both(Id::DataFile, 'D', "data-file"),
    switch(BINARY, Some('b'), "binary"),
    both(BINARY, 'B', "binary-file"),
    both(Id::Metadata, 'm', "metadata"),
    both(Id::MetadataFile, 'M', "metadata-file"),
    value(PACE, "stream-interval"),
    value(PACE, "stream-call-duration"),
    value(Id::StreamCallCount, "stream-call-count"),
    switch(
        Id::Refused("every message of a call has the values of the call; leave it out"),
        None,
        "stream-dynamic-messages",
    ),
    value(
        Id::Refused("the server is asked for its schema with the metadata of the calls; use -m"),
        "reflect-metadata",
    ),
    both(Id::Output, 'o', "output"),
    both(Id::Format, 'O', "format"),
    value(Id::Refused("use --warm-up TIME of candor grpc"), "skipFirst"),
    switch(Id::Refused("latencies are of successful calls; leave it out"), None, "count-errors"),
    value(Id::Connections, "connections"),
    value(Id::ConnectTimeout, "connect-timeout"),
    value(Id::Idle, "keepalive"),
    value(Id::Name, "name"),
    value(Id::Tags, "tags"),
    value(Id::Cpus, "cpus"),
    value(
        Id::Refused(
            "use --trace FILE of candor grpc for single calls; findings are on the standard error",
        ),
        "debug",
    ),
    switch(
        Id::Refused("messages are not compressed; leave it out"),
        Some('e'),
        "enable-compression",
    ),
    value(Id::Idle, "lb-strategy"),
    value(Id::MaxReceive, "max-recv-message-size"),
    value(Id::Idle, "max-send-message-size"),
    switch(Id::Literal, None, "disable-template-functions"),
    switch(Id::Literal, None, "disable-template-data"),
    switch(Id::Off, None, "no-skipTLS"),
    switch(Id::Off, None, "no-insecure"),
    switch(Id::Off, None, "no-async"),
    switch(Id::Version, Some('v'), "version"),
    switch(Id::Help, Some('h'), "help"),
    value(Id::Result, "result"),
    switch(Id::ShowSecrets, None, "show-secrets"),
];
