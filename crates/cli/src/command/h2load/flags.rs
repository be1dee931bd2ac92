//! h2load's options, and how each may be written. A long name may be shortened to what is unique.

use crate::getopt;

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
    Groups,
    /// Of QUIC, which is not spoken: there is nothing for it to do.
    Udp,
    Ktls,
    Verbose,
    Version,
    Help,
    Result,
    ShowSecrets,
}

/// An option.
pub(super) struct Flag {
    pub(super) id: Id,
    short: Option<char>,
    long: &'static str,
    takes_value: bool,
}

impl getopt::Flag for Flag {
    fn long(&self) -> &'static str {
        self.long
    }

    fn takes_value(&self) -> bool {
        self.takes_value
    }
}

const fn both(id: Id, short: char, long: &'static str) -> Flag {
    Flag { id, short: Some(short), long, takes_value: true }
}

const fn value(id: Id, long: &'static str) -> Flag {
    Flag { id, short: None, long, takes_value: true }
}

const fn switch(id: Id, short: Option<char>, long: &'static str) -> Flag {
    Flag { id, short, long, takes_value: false }
}

const FLAGS: [Flag; 39] = [
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
    switch(Id::Verbose, Some('v'), "verbose"),
    switch(Id::Version, None, "version"),
    switch(Id::Help, Some('h'), "help"),
    value(Id::Result, "result"),
    switch(Id::ShowSecrets, None, "show-secrets"),
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
    // Ours are never shortened, so that they take no abbreviation away.
    let ours = [Id::Result, Id::ShowSecrets];
    let of_h2load = FLAGS.iter().filter(|flag| !ours.contains(&flag.id));
    let matches: Vec<&Flag> = of_h2load.filter(|flag| flag.long.starts_with(typed)).collect();
    match matches[..] {
        [] => Err(format!("unrecognized option '--{typed}'")),
        [only] => Ok(only),
        _ => {
            let all: Vec<String> =
                matches.iter().map(|flag| format!("'--{}'", flag.long)).collect();
            let all = all.join(" ");
            Err(format!("option '--{typed}' is ambiguous; possibilities: {all}"))
        }
    }
}
