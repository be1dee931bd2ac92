//! h2load's options and their spellings. A long name may be abbreviated as long as it is unique.

use crate::getopt::Flag;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    Requests,
    Clients,
    Threads,
    InputFile,
    Streams,
    FrameSize,
    WindowBits,
    ConnectionWindowBits,
    Header,
    Ciphers,
    Tls13Ciphers,
    NoTlsProto,
    Data,
    Rate,
    RatePeriod,
    Duration,
    WarmUp,
    ActiveTimeout,
    InactivityTimeout,
    TimingScript,
    BaseUri,
    Alpn,
    H1,
    TableSize,
    EncoderTableSize,
    LogFile,
    Qlog,
    ConnectTo,
    Rps,
    /// Of a fork: a line with the rate of each interval.
    Interval,
    Groups,
    /// An option of QUIC without effect.
    Udp,
    Ktls,
    Sni,
    Histogram,
    H3,
    /// Options that are refused, each for its own reason.
    SessionFile,
    OutputFile,
    Verbose,
    Version,
    Help,
    Result,
    ShowSecrets,
}

const fn both(id: Id, short: char, long: &'static str) -> Flag<Id> {
    Flag { id, short: Some(short), long, takes_value: true, rank: Some(0) }
}

const fn value(id: Id, long: &'static str) -> Flag<Id> {
    Flag { id, short: None, long, takes_value: true, rank: Some(0) }
}

const fn switch(id: Id, short: Option<char>, long: &'static str) -> Flag<Id> {
    Flag { id, short, long, takes_value: false, rank: Some(0) }
}

pub(super) const FLAGS: &[Flag<Id>] = &[
    both(Id::Requests, 'n', "requests"),
    both(Id::Clients, 'c', "clients"),
    both(Id::Threads, 't', "threads"),
    both(Id::InputFile, 'i', "input-file"),
    both(Id::Streams, 'm', "max-concurrent-streams"),
    both(Id::FrameSize, 'f', "max-frame-size"),
    both(Id::WindowBits, 'w', "window-bits"),
    both(Id::ConnectionWindowBits, 'W', "connection-window-bits"),
    both(Id::Header, 'H', "header"),
    value(Id::Ciphers, "ciphers"),
    value(Id::Tls13Ciphers, "tls13-ciphers"),
    both(Id::NoTlsProto, 'p', "no-tls-proto"),
    both(Id::Data, 'd', "data"),
    both(Id::Rate, 'r', "rate"),
    value(Id::RatePeriod, "rate-period"),
    both(Id::Duration, 'D', "duration"),
    value(Id::WarmUp, "warm-up-time"),
    both(Id::ActiveTimeout, 'T', "connection-active-timeout"),
    both(Id::InactivityTimeout, 'N', "connection-inactivity-timeout"),
    value(Id::TimingScript, "timing-script-file"),
    both(Id::BaseUri, 'B', "base-uri"),
    value(Id::Alpn, "npn-list"),
    value(Id::Alpn, "alpn-list"),
    switch(Id::H1, None, "h1"),
    value(Id::TableSize, "header-table-size"),
    value(Id::EncoderTableSize, "encoder-header-table-size"),
    value(Id::LogFile, "log-file"),
    value(Id::Qlog, "qlog-file-base"),
    value(Id::ConnectTo, "connect-to"),
    value(Id::Rps, "rps"),
    value(Id::Groups, "groups"),
    switch(Id::Udp, None, "no-udp-gso"),
    value(Id::Udp, "max-udp-payload-size"),
    switch(Id::Ktls, None, "ktls"),
    switch(Id::H3, None, "h3"),
    value(Id::Sni, "sni"),
    switch(Id::Histogram, None, "histogram"),
    value(Id::SessionFile, "tls-session-file"),
    value(Id::OutputFile, "output-file"),
    switch(Id::Verbose, Some('v'), "verbose"),
    switch(Id::Version, None, "version"),
    switch(Id::Help, Some('h'), "help"),
    Flag { rank: None, ..value(Id::Interval, "interval") },
    Flag { rank: None, ..value(Id::Result, "result") },
    Flag { rank: None, ..switch(Id::ShowSecrets, None, "show-secrets") },
];
