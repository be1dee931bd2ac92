//! h2load's command line: every option checked alone, and then all together.

use std::path::PathBuf;

use candor_plan::Rate;
use candor_plan::values::{Count, Header, Nanos, PositiveNanos, Size, SmallCount, WindowBits};

use super::Name;
use super::flags::{FLAGS, Id};
use super::tls_names::{self, Translated};
use super::values::{above_zero, alpn, bad_value, parsed, size, window_bits};
use crate::getopt::{self, Flag, Refusal, Taker};

/// h2load's default of `--rate-period`.
const NS_PER_S: u64 = 1_000_000_000;

/// The protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Spoken {
    /// In clear text: HTTP/1.1 instead of HTTP/2.
    pub(super) h1_in_clear: bool,
    /// Over TLS: the protocols to offer by ALPN, in order; empty: those of TCP. `h3` stands alone, and is over QUIC.
    pub(super) alpn: Vec<String>,
}

/// How requests are timed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Timing {
    /// This many requests, as fast as possible.
    Requests(Count),
    /// A run of this length, after a warm-up.
    Duration { main: PositiveNanos, warm_up: Nanos },
    /// Every client follows a script, up to `most` of its lines.
    Script { file: PathBuf, most: Option<Count> },
}

/// The options of a command line, each value checked alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) uris: Vec<String>,
    pub(super) input_file: Option<PathBuf>,
    pub(super) base: Option<String>,
    pub(super) clients: SmallCount,
    pub(super) threads: SmallCount,
    pub(super) streams: SmallCount,
    pub(super) frame_size: Option<Size>,
    pub(super) window_bits: Option<WindowBits>,
    pub(super) connection_window_bits: Option<WindowBits>,
    pub(super) table_size: Option<Size>,
    pub(super) encoder_table_size: Option<Size>,
    pub(super) headers: Vec<Header>,
    /// `:method` as a header.
    pub(super) method: Option<String>,
    pub(super) data: Option<PathBuf>,
    pub(super) spoken: Spoken,
    pub(super) ciphers: Translated,
    pub(super) groups: Translated,
    pub(super) timing: Timing,
    /// New connections at this rate.
    pub(super) connect_rate: Option<Rate>,
    /// Requests per second of each client.
    pub(super) rps: Option<Rate>,
    /// Print the rate of each interval of this length.
    pub(super) interval: Option<PositiveNanos>,
    pub(super) active_timeout: Option<PositiveNanos>,
    pub(super) inactivity_timeout: Option<PositiveNanos>,
    pub(super) connect_to: Option<String>,
    /// The server's name in the handshake of TLS, instead of the URI's.
    pub(super) sni: Option<String>,
    /// Whether to plot the times.
    pub(super) histogram: bool,
    pub(super) log_file: Option<PathBuf>,
    /// Where to write candor's own document.
    pub(super) result: Option<PathBuf>,
    pub(super) show_secrets: bool,
    /// Notes about options that are accepted without effect, or with a partial one.
    pub(super) notes: Vec<String>,
}

/// The meaning of a command line.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Run(Box<Asked>),
    Help,
    Version,
}

/// Parses the words after the program's name.
pub(super) fn parse(name: Name, words: &[String]) -> Result<Request, Refusal> {
    let mut reader = Reader { name, ..Reader::default() };
    getopt::read(&mut reader, words)?;
    reader.request()
}

#[derive(Default)]
struct Reader {
    name: Name,
    instead: Option<Request>,
    uris: Vec<String>,
    requests: Option<Count>,
    /// Why there cannot be no requests, if none were asked for: a run for a duration has any number.
    no_requests: Option<Refusal>,
    clients: Option<SmallCount>,
    threads: Option<SmallCount>,
    streams: Option<SmallCount>,
    input_file: Option<PathBuf>,
    frame_size: Option<Size>,
    window_bits: Option<WindowBits>,
    connection_window_bits: Option<WindowBits>,
    headers: Vec<Header>,
    method: Option<String>,
    ciphers: Option<String>,
    tls13_ciphers: Option<String>,
    groups: Option<String>,
    spoken: Spoken,
    data: Option<PathBuf>,
    rate: Option<u64>,
    rate_period: Option<PositiveNanos>,
    duration: Option<PositiveNanos>,
    warm_up: Option<Nanos>,
    active_timeout: Option<PositiveNanos>,
    inactivity_timeout: Option<PositiveNanos>,
    timing_script: Option<PathBuf>,
    base: Option<String>,
    table_size: Option<Size>,
    encoder_table_size: Option<Size>,
    log_file: Option<PathBuf>,
    connect_to: Option<String>,
    sni: Option<String>,
    histogram: bool,
    rps: Option<Rate>,
    interval: Option<PositiveNanos>,
    result: Option<PathBuf>,
    show_secrets: bool,
    notes: Vec<String>,
}

impl Taker for Reader {
    type Id = Id;
    type Refusal = Refusal;
    const FLAGS: &'static [Flag<Id>] = FLAGS;

    fn set(&mut self, id: Id, shown: &str, value: Option<String>) -> Result<(), Refusal> {
        let text = value.unwrap_or_default();
        let text = text.trim();
        match id {
            Id::Requests => match above_zero(text, shown, "requests") {
                Ok(count) => (self.requests, self.no_requests) = (Some(count), None),
                Err(why) if text.parse::<u64>() == Ok(0) => self.no_requests = Some(why),
                Err(why) => return Err(why),
            },
            Id::Clients => self.clients = Some(above_zero(text, shown, "clients")?),
            Id::Threads => self.threads = Some(above_zero(text, shown, "threads")?),
            Id::Streams => {
                self.streams = Some(above_zero(text, shown, "max concurrent streams")?);
            }
            Id::InputFile => self.input_file = Some(text.into()),
            Id::FrameSize => self.frame_size = Some(size(shown, text)?),
            Id::WindowBits => self.window_bits = Some(window_bits(shown, text)?),
            Id::ConnectionWindowBits => {
                self.connection_window_bits = Some(window_bits(shown, text)?);
            }
            Id::Header => self.header(shown, text)?,
            Id::Ciphers => self.ciphers = Some(text.to_owned()),
            Id::Tls13Ciphers => self.tls13_ciphers = Some(text.to_owned()),
            Id::Groups => self.groups = Some(text.to_owned()),
            Id::NoTlsProto => {
                self.spoken.h1_in_clear = match text {
                    "h2c" => false,
                    "http/1.1" => true,
                    other => return Err(Refusal(format!("-p: unsupported protocol {other}"))),
                };
            }
            Id::Alpn => self.spoken.alpn = alpn(shown, text)?,
            Id::H1 => {
                self.spoken = Spoken { h1_in_clear: true, alpn: vec!["http/1.1".to_owned()] };
            }
            Id::Data => self.data = Some(text.into()),
            Id::Rate => {
                let rate = text.parse().map_err(|_| bad_value(shown, text))?;
                self.rate = (rate > 0).then_some(rate);
            }
            Id::RatePeriod => self.rate_period = Some(parsed(shown, text)?),
            Id::Duration => self.duration = PositiveNanos::new(parsed::<Nanos>(shown, text)?.0),
            Id::WarmUp => self.warm_up = Some(parsed(shown, text)?),
            Id::ActiveTimeout => self.active_timeout = Some(parsed(shown, text)?),
            Id::InactivityTimeout => self.inactivity_timeout = Some(parsed(shown, text)?),
            Id::TimingScript => self.timing_script = Some(text.into()),
            Id::BaseUri => self.base = Some(text.to_owned()),
            Id::TableSize => self.table_size = Some(size(shown, text)?),
            Id::EncoderTableSize => self.encoder_table_size = Some(size(shown, text)?),
            Id::LogFile => self.log_file = Some(text.into()),
            Id::ConnectTo => self.connect_to = Some(text.to_owned()),
            Id::Rps => self.rps = Some(parsed(shown, text)?),
            Id::Interval => self.interval = PositiveNanos::new(parsed::<Nanos>(shown, text)?.0),
            Id::Result => self.result = Some(text.into()),
            Id::ShowSecrets => self.show_secrets = true,
            Id::Qlog => {
                return Err(Refusal(format!(
                    "{shown}: logs of QUIC are not written; use --log-file for a line a request, or candor run --trace for all times of each"
                )));
            }
            Id::Ktls => {
                return Err(Refusal(format!(
                    "{shown}: the kernel's TLS is not supported; leave it out"
                )));
            }
            Id::Sni => self.sni = Some(text.to_owned()),
            Id::Histogram => self.histogram = true,
            Id::H3 => self.spoken.alpn = vec!["h3".to_owned()],
            Id::SessionFile => {
                return Err(Refusal(format!(
                    "{shown}: sessions of TLS are not kept from one run to the next, because a handshake that is resumed is cheaper for the server; leave it out"
                )));
            }
            Id::OutputFile => {
                return Err(Refusal(format!(
                    "{shown}: its JSON holds the time of every request, and memory must not grow with their number; use --result for candor's own document with histograms, or --log-file for a line each"
                )));
            }
            Id::Udp => self.notes.push(format!(
                "{shown} has no effect: datagrams have up to 1,452 bytes, several in a call where the kernel can"
            )),
            Id::Verbose => self.notes.push(format!(
                "{shown}: frames are not printed; use candor run --trace for the times of each request"
            )),
            Id::Version => self.instead = Some(Request::Version),
            Id::Help => self.instead = Some(Request::Help),
        }
        Ok(())
    }

    fn place(&mut self, word: String) {
        self.uris.push(word);
    }

    fn wrong(&self, what: String) -> Refusal {
        Refusal(format!("{}: {what}", self.name.as_str()))
    }
}

impl Reader {
    /// `Name: value`, or a pseudo-header field such as `:method: HEAD`.
    fn header(&mut self, shown: &str, text: &str) -> Result<(), Refusal> {
        let Some(pseudo) = text.strip_prefix(':') else {
            let header = text.parse().map_err(|error| {
                // Plan's own messages do not repeat a value, which may be a secret.
                Refusal(format!("{shown}: invalid header: {error}"))
            })?;
            self.headers.push(header);
            return Ok(());
        };
        match pseudo.split_once(':').map(|(name, value)| (name.trim_end(), value.trim())) {
            Some(("method", value)) => self.method = Some(value.to_owned()),
            Some(("authority" | "host", value)) => {
                let host = Header::new("Host", value);
                self.headers.push(host.map_err(|error| Refusal(format!("{shown}: {error}")))?);
            }
            _ => {
                return Err(Refusal(format!(
                    "{shown}: invalid header: of those with a colon in front only :method and :authority can be set; :scheme and :path come from the URI"
                )));
            }
        }
        Ok(())
    }

    fn request(self) -> Result<Request, Refusal> {
        if let Some(instead) = self.instead {
            return Ok(instead);
        }
        let refuse = |message: &str| Err(Refusal(message.to_owned()));
        let one = |count: Option<SmallCount>| {
            count.or_else(|| SmallCount::new(1)).ok_or_else(|| Refusal::new("no count"))
        };
        let (clients, threads) = (one(self.clients)?, one(self.threads)?);
        if self.uris.is_empty() && self.input_file.is_none() && self.timing_script.is_none() {
            return refuse("no URI or input file given");
        }
        if let Some(why) = self.no_requests.filter(|_| self.duration.is_none()) {
            return Err(why);
        }
        if self.rate.is_some() && self.duration.is_some() {
            return refuse("-r, -D: they are mutually exclusive.");
        }
        if self.timing_script.is_some() && self.rps.is_some() {
            return refuse("--timing-script-file, --rps: they are mutually exclusive.");
        }
        let timing = match (self.timing_script, self.duration) {
            (Some(_), Some(_)) => {
                return refuse(
                    "--timing-script-file, -D: the script says how long the run is; leave one of them out",
                );
            }
            (Some(file), None) => Timing::Script { file, most: self.requests },
            (None, Some(main)) => {
                Timing::Duration { main, warm_up: self.warm_up.unwrap_or(Nanos(0)) }
            }
            (None, None) => {
                let count = self.requests.or_else(|| Count::new(1));
                Timing::Requests(count.ok_or_else(|| Refusal::new("no count"))?)
            }
        };
        if self.warm_up.is_some() && self.duration.is_none() {
            return refuse("--warm-up-time: it needs -D, the main duration");
        }
        if let Timing::Requests(count) = timing
            && count.get() < u64::from(clients.get())
        {
            return refuse(
                "-n, -c: the number of requests must be greater than or equal to the clients.",
            );
        }
        if clients.get() < threads.get() {
            return refuse(
                "-c, -t: the number of clients must be greater than or equal to the number of threads.",
            );
        }
        if let Some(rate) = self.rate {
            if rate < u64::from(threads.get()) {
                return refuse(
                    "-r, -t: the connection rate must be greater than or equal to the number of threads.",
                );
            }
            if rate > u64::from(clients.get()) {
                return refuse(
                    "-r, -c: the connection rate must be smaller than or equal to the number of clients.",
                );
            }
        }
        let per_ns = self.rate_period.map_or(NS_PER_S, PositiveNanos::get);
        let ciphers = tls_names::ciphers(self.ciphers.as_deref(), self.tls13_ciphers.as_deref());
        let (ciphers, groups) = (
            ciphers.map_err(Refusal)?,
            tls_names::groups(self.groups.as_deref()).map_err(Refusal)?,
        );
        let mut notes = self.notes;
        for name in ciphers.left_out.iter().chain(&groups.left_out) {
            notes.push(format!("{name} is not supported, and not offered"));
        }
        Ok(Request::Run(Box::new(Asked {
            uris: self.uris,
            input_file: self.input_file,
            base: self.base,
            clients,
            threads,
            streams: one(self.streams)?,
            frame_size: self.frame_size,
            window_bits: self.window_bits,
            connection_window_bits: self.connection_window_bits,
            table_size: self.table_size,
            encoder_table_size: self.encoder_table_size,
            headers: self.headers,
            method: self.method,
            data: self.data,
            spoken: self.spoken,
            ciphers,
            groups,
            timing,
            connect_rate: self.rate.map(|events| Rate { events, per_ns }),
            rps: self.rps,
            interval: self.interval,
            active_timeout: self.active_timeout,
            inactivity_timeout: self.inactivity_timeout,
            connect_to: self.connect_to,
            sni: self.sni,
            histogram: self.histogram,
            show_secrets: self.show_secrets,
            log_file: self.log_file,
            result: self.result,
            notes,
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Request, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        parse(Name::H2load, &words).map_err(|refusal| refusal.0)
    }

    fn asked(words: &str) -> Asked {
        match read(words) {
            Ok(Request::Run(asked)) => *asked,
            other => panic!("{words}: {other:?}"),
        }
    }

    #[test]
    fn defaults_are_h2loads() {
        let asked = asked("http://h/");
        assert_eq!((asked.clients.get(), asked.threads.get(), asked.streams.get()), (1, 1, 1));
        assert_eq!(asked.timing, Timing::Requests(Count::new(1).unwrap()));
        assert_eq!(asked.spoken, Spoken::default());
    }

    #[test]
    fn every_way_to_write_an_option() {
        let plain = asked("-n 100 -c 10 -t 2 -m 5 -w 16 -W 20 -H a:b -d f -N 3 -T 4s http://h/");
        for words in [
            "-n100 -c10 -t2 -m5 -w16 -W20 -Ha:b -df -N3s -T4 http://h/",
            "http://h/ --requests=100 --clients 10 --thr=2 --max-c=5 --window=16 --connection-w=20 \
             --header=a:b --data=f --connection-i=3 --connection-a=4000ms",
        ] {
            assert_eq!(asked(words), plain, "{words}");
        }
    }

    /// As in the commands of a benchmark of Cowboy, which are those of a fork with `--interval`.
    #[test]
    fn a_run_for_a_duration_has_any_number_of_requests() {
        let words = "--duration=300 --warm-up-time=1s --interval=1s --clients=100 --requests=0 u";
        let asked = asked(words);
        assert_eq!(asked.interval, PositiveNanos::new(NS_PER_S));
        assert!(matches!(asked.timing, Timing::Duration { .. }), "{:?}", asked.timing);
        for words in ["-n0 u", "--timing-script-file=f -n 0 u", "-D3 -n x u"] {
            assert!(read(words).is_err(), "{words}");
        }
    }

    #[test]
    fn sizes_are_of_1024_and_tables_of_both_sides() {
        let asked = asked("-f 32K --header-table-size=8k --encoder-header-table-size=0 http://h/");
        assert_eq!(asked.frame_size, Some(Size(32 << 10)));
        assert_eq!((asked.table_size, asked.encoder_table_size), (Some(Size(8192)), Some(Size(0))));
    }

    #[test]
    fn what_is_spoken() {
        let h1 = Spoken { h1_in_clear: true, alpn: vec!["http/1.1".to_owned()] };
        assert_eq!(asked("--h1 http://h/").spoken, h1);
        assert!(asked("-p http/1.1 http://h/").spoken.h1_in_clear);
        assert_eq!(asked("--npn-list=h2,h2-14,http/1.1 u").spoken.alpn, ["h2", "http/1.1"]);
        assert_eq!(asked("--alpn-list=http/1.1 u").spoken.alpn, ["http/1.1"]);
        for words in ["--h3 u", "--alpn-list=h3 u", "--npn-list=h3,h2 u", "--alpn-list=h3-29,h3 u"]
        {
            assert_eq!(asked(words).spoken.alpn, ["h3"], "{words}");
        }
        assert_eq!(asked("--alpn-list=h2,h3 u").spoken.alpn, ["h2"], "the first one decides");
    }

    #[test]
    fn pseudo_header_fields_and_others() {
        let asked = asked("-H:method:HEAD -H:authority:elsewhere -HX-A:b http://h/");
        assert_eq!(asked.method.as_deref(), Some("HEAD"));
        let headers: Vec<_> = asked.headers.iter().map(|one| (one.name(), one.value())).collect();
        assert_eq!(headers, [("Host", "elsewhere"), ("X-A", "b")]);
    }

    #[test]
    fn refusals_are_in_h2loads_words() {
        for (words, message) in [
            ("", "no URI or input file given"),
            ("-x u", "h2load: invalid option -- 'x'"),
            ("--foo u", "h2load: unrecognized option '--foo'"),
            ("-c0 u", "-c: the number of clients must be strictly greater than 0."),
            ("-t0 u", "-t: the number of threads must be strictly greater than 0."),
            ("-m0 u", "-m: the max concurrent streams must be strictly greater than 0."),
            (
                "-n5 -c10 u",
                "-n, -c: the number of requests must be greater than or equal to the clients.",
            ),
            (
                "-n5 -c2 -t4 u",
                "-c, -t: the number of clients must be greater than or equal to the number of threads.",
            ),
            ("-r2 -D3 -c2 u", "-r, -D: they are mutually exclusive."),
            (
                "--rps=3 --timing-script-file=f u",
                "--timing-script-file, --rps: they are mutually exclusive.",
            ),
            (
                "-r20 -n10 -c10 u",
                "-r, -c: the connection rate must be smaller than or equal to the number of clients.",
            ),
            ("-p spdy u", "-p: unsupported protocol spdy"),
        ] {
            assert_eq!(read(words), Err(message.to_owned()), "{words}");
        }
        for (words, part) in [
            ("-n x u", "-n: bad option value: x"),
            ("-w 31 u", "[1, 30]"),
            ("--qlog-file-base=q u", "use --log-file"),
            ("--ktls u", "leave it out"),
            ("--npn-list=h3-29 u", "none of h3-29 is supported; name h2, http/1.1 or h3"),
            ("--alpn-list=h4 u", "name h2, http/1.1 or h3"),
            ("--tls-session-file=f u", "--tls-session-file: sessions of TLS are not kept"),
            ("--output-file f u", "--output-file: its JSON holds the time of every request"),
            ("--warm-up-time=1 u", "it needs -D"),
            ("-H nocolon u", "invalid header"),
        ] {
            let message = read(words).unwrap_err();
            assert!(message.contains(part), "{words}: {message}");
        }
        assert_eq!(read("--help"), Ok(Request::Help));
        assert_eq!(read("--version u"), Ok(Request::Version));
    }
}
