//! wrk's command line and its options.
//!
//! Words after the URL belong to the script.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use candor_plan::values::{Digits, Header, PositiveNanos, SmallCount};
use candor_plan::{Arrivals, Rate, Secrets};
use candor_render::wrk::json::HistFormat;
use candor_render::wrk::text::Percentiles;

use super::Name;
use super::flags::{FLAGS, Id};
use super::output::Form;
use crate::getopt::{self, Flag, Taker};

/// wrk's defaults.
const THREADS: u32 = 2;
const CONNECTIONS: u32 = 10;
const DURATION_S: u64 = 10;
const TIMEOUT_S: u64 = 2;
const NS_PER_S: u64 = 1_000_000_000;

/// The options of a command line, each value checked alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) url: String,
    /// The words after the URL.
    pub(super) script_arguments: Vec<String>,
    pub(super) threads: SmallCount,
    pub(super) connections: SmallCount,
    pub(super) duration: PositiveNanos,
    pub(super) timeout: PositiveNanos,
    pub(super) script: Option<PathBuf>,
    pub(super) headers: Vec<Header>,
    pub(super) percentiles: Percentiles,
    pub(super) rate: Option<Rate>,
    pub(super) report_interval: Option<PositiveNanos>,
    pub(super) digits: Option<Digits>,
    /// Of another fork, whose `-D` is the distribution of arrivals.
    pub(super) arrivals: Option<Arrivals>,
    pub(super) encoded: bool,
    pub(super) hist_format: HistFormat,
    /// Where to write candor's own document.
    pub(super) result: Option<PathBuf>,
    pub(super) show_secrets: bool,
    /// Notes about values that are accepted with a partial effect.
    pub(super) notes: Vec<String>,
}

impl Asked {
    /// The form of the output.
    pub(super) fn form(&self) -> Form {
        Form {
            encoded: self.encoded,
            hist_format: self.hist_format,
            periodic_ns: self.report_interval.map(PositiveNanos::get),
            percentiles: self.percentiles,
        }
    }
}

/// The meaning of a command line.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Run(Box<Asked>),
    Help,
}

/// Why a run is refused; the usage follows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) message: Option<String>,
}

impl Refusal {
    pub(super) fn new(message: impl Display) -> Self {
        Refusal { message: Some(message.to_string()) }
    }
}

/// A parsed command line.
#[derive(Debug)]
pub(super) struct Parsed {
    /// `-v` prints a line, regardless of other options.
    pub(super) version: bool,
    pub(super) request: Result<Request, Refusal>,
}

/// Parses the words after the program's name.
pub(super) fn parse(name: Name, words: &[String]) -> Parsed {
    let mut reader = Reader::new(name);
    let read = getopt::read(&mut reader, words);
    let request = read.and_then(|()| reader.request());
    Parsed { version: reader.version, request }
}

struct Reader {
    name: Name,
    version: bool,
    help: bool,
    places: Vec<String>,
    connections: Option<SmallCount>,
    duration: Option<PositiveNanos>,
    threads: Option<SmallCount>,
    timeout: Option<PositiveNanos>,
    script: Option<PathBuf>,
    headers: Vec<Header>,
    percentiles: Percentiles,
    rate: Option<Rate>,
    report_interval: Option<PositiveNanos>,
    digits: Option<Digits>,
    arrivals: Option<Arrivals>,
    by_batch: bool,
    encoded: bool,
    hist_format: HistFormat,
    result: Option<PathBuf>,
    show_secrets: bool,
    notes: Vec<String>,
}

impl Reader {
    fn new(name: Name) -> Self {
        Reader {
            name,
            version: false,
            help: false,
            places: Vec::new(),
            connections: None,
            duration: None,
            threads: None,
            timeout: None,
            script: None,
            headers: Vec::new(),
            percentiles: Percentiles::None,
            rate: None,
            report_interval: None,
            digits: None,
            arrivals: None,
            by_batch: false,
            encoded: false,
            hist_format: HistFormat::V1,
            result: None,
            show_secrets: false,
            notes: Vec::new(),
        }
    }

    fn value<T: FromStr<Err: Display>>(&self, shown: &str, text: &str) -> Result<T, Refusal> {
        // The value of a header may be a secret; plan's own messages do not repeat it.
        let named = if shown == "-H" || shown == "--header" { "" } else { text };
        text.parse().map_err(|error| self.wrong(format!("{shown} {named}: {error}")))
    }

    /// Zero is refused later, in wrk's words.
    fn count(&self, shown: &str, text: &str) -> Result<Option<SmallCount>, Refusal> {
        if is_zero(text) {
            return Err(match shown {
                "-c" | "--connections" => Refusal::new(FEW_CONNECTIONS),
                _ => Refusal::default(),
            });
        }
        self.value(shown, text).map(Some)
    }

    fn request(&mut self) -> Result<Request, Refusal> {
        if self.help {
            return Ok(Request::Help);
        }
        if self.places.is_empty() {
            return Err(Refusal::default());
        }
        let url = self.places.remove(0);
        if !url.contains("://") {
            return Err(Refusal::new(format!("invalid URL: {}", Secrets::Hidden.url(&url))));
        }
        let default = |count| SmallCount::new(count).ok_or_else(Refusal::default);
        let seconds =
            |seconds: u64| PositiveNanos::new(seconds * NS_PER_S).ok_or_else(Refusal::default);
        let threads = self.threads.map_or_else(|| default(THREADS), Ok)?;
        let connections = self.connections.map_or_else(|| default(CONNECTIONS), Ok)?;
        if connections.get() < threads.get() {
            return Err(Refusal::new(FEW_CONNECTIONS));
        }
        if self.name == Name::Wrk2 && self.rate.is_none() {
            return Err(Refusal::new(NO_RATE));
        }
        // Without a script each batch is one request, and -B changes nothing.
        if self.by_batch && self.script.is_some() {
            return Err(Refusal::new(BY_BATCH));
        }
        Ok(Request::Run(Box::new(Asked {
            url,
            script_arguments: std::mem::take(&mut self.places),
            threads,
            connections,
            duration: self.duration.map_or_else(|| seconds(DURATION_S), Ok)?,
            timeout: self.timeout.map_or_else(|| seconds(TIMEOUT_S), Ok)?,
            script: self.script.take(),
            headers: std::mem::take(&mut self.headers),
            percentiles: self.percentiles,
            rate: self.rate,
            report_interval: self.report_interval,
            digits: self.digits,
            // A closed loop has none.
            arrivals: self.arrivals.filter(|_| self.rate.is_some()),
            encoded: self.encoded,
            hist_format: self.hist_format,
            result: self.result.take(),
            show_secrets: self.show_secrets,
            notes: std::mem::take(&mut self.notes),
        })))
    }
}

impl Taker for Reader {
    type Id = Id;
    type Refusal = Refusal;
    const FLAGS: &'static [Flag<Id>] = FLAGS;

    fn set(&mut self, id: Id, shown: &str, value: Option<String>) -> Result<(), Refusal> {
        let text = value.unwrap_or_default();
        let text = text.trim();
        match id {
            Id::Connections => self.connections = self.count(shown, text)?,
            Id::Threads => self.threads = self.count(shown, text)?,
            Id::Duration => self.duration = Some(self.value(shown, text)?),
            Id::Timeout => self.timeout = Some(self.value(shown, text)?),
            Id::ReportInterval => self.report_interval = Some(self.value(shown, text)?),
            Id::Script => self.script = Some(text.into()),
            Id::Header => self.headers.push(self.value(shown, text)?),
            Id::Latency => {
                if self.percentiles == Percentiles::None {
                    self.percentiles = Percentiles::Recorded;
                }
            }
            Id::ULatency => self.percentiles = Percentiles::Both,
            Id::BatchLatency => self.by_batch = true,
            Id::Rate if is_zero(text) => return Err(Refusal::new(NO_RATE)),
            Id::Rate => self.rate = Some(self.value(shown, text)?),
            Id::Digits if text == "fixed" => self.arrivals = Some(Arrivals::Constant),
            Id::Digits if ["exp", "norm", "zipf"].contains(&text) => {
                self.arrivals = Some(Arrivals::Poisson);
                if text != "exp" {
                    self.notes.push(format!("{shown}: arrivals are those of exp, not of {text}"));
                }
            }
            Id::Digits => {
                let digits = text.parse::<u8>().ok().filter(|digits| (1..=3).contains(digits));
                let digits = digits.and_then(Digits::new);
                self.digits = Some(digits.ok_or_else(|| Refusal::new(BAD_DIGITS))?);
            }
            Id::Encoded => self.encoded = true,
            Id::HistFormat => {
                self.hist_format = match text {
                    "v1" => HistFormat::V1,
                    "v2" => HistFormat::V2,
                    _ => return Err(Refusal::new("--hist-format must be v1 or v2")),
                }
            }
            Id::Result => self.result = Some(text.into()),
            Id::ShowSecrets => self.show_secrets = true,
            Id::Version => self.version = true,
            Id::Help if self.name == Name::CandorWrk => self.help = true,
            Id::Help => return Err(Refusal::default()),
        }
        Ok(())
    }

    fn place(&mut self, word: String) {
        self.places.push(word);
    }

    fn wrong(&self, what: String) -> Refusal {
        Refusal::new(format!("{}: {what}", self.name.as_str()))
    }
}

const NO_RATE: &str = "Throughput MUST be specified with the --rate or -R option";
const FEW_CONNECTIONS: &str = "number of connections must be >= threads";
const BY_BATCH: &str = "--batch_latency: the latency of a script's batch as one is not measured, each of its requests \
                        has its own; leave -B out";
const BAD_DIGITS: &str = "Precision digits must be between 1 and 3";

fn is_zero(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: Name, words: &str) -> Result<Asked, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        match parse(name, &words).request {
            Ok(Request::Run(asked)) => Ok(*asked),
            Ok(Request::Help) => Err("help".to_owned()),
            Err(refusal) => Err(refusal.message.unwrap_or_default()),
        }
    }

    fn asked(words: &str) -> Asked {
        read(Name::CandorWrk, words).unwrap()
    }

    #[test]
    fn defaults_are_wrks() {
        let asked = asked("http://h/");
        assert_eq!((asked.threads.get(), asked.connections.get()), (2, 10));
        assert_eq!((asked.duration.get(), asked.timeout.get()), (10 * NS_PER_S, 2 * NS_PER_S));
        assert_eq!(asked.percentiles, Percentiles::None);
        assert_eq!((asked.rate, asked.digits, asked.report_interval), (None, None, None));
    }

    #[test]
    fn every_way_to_write_an_option() {
        let plain = asked("-t 4 -c 400 -d 30s -H A:b -L --timeout 5 -R 2k http://h/x");
        for words in [
            "-t4 -c400 -d30s -HA:b -L -T5 -R2k http://h/x",
            "-Lt4 -c400 -d30 -HA:b --timeout=5s -R2000 http://h/x",
            "http://h/x --threads 4 --conn=400 --dur 30s --head A:b --lat --time 5 --rate 2k",
            "--threads=4 --connections=400 --d=30s --header=A:b --l --timeout=5 --r=2k -- http://h/x",
        ] {
            assert_eq!(asked(words), plain, "{words}");
        }
    }

    #[test]
    fn the_forks_options_have_long_forms_with_values() {
        assert_eq!(asked("-B http://h/"), asked("http://h/"));
        let plain = asked("-R 30 -p 5 -D 2 -e http://h/");
        assert_eq!(plain.report_interval.map(PositiveNanos::get), Some(5 * NS_PER_S));
        assert_eq!(plain.digits.map(Digits::get), Some(2));
        assert!(plain.encoded);
        for words in [
            "--rate 30 --report_interval 5 --digits 2 --encoded http://h/",
            "-R30 --report_interval=5s --digits=2 --json_encoding http://h/",
            "-R30 --re 5s --digits 2 --json http://h/",
        ] {
            assert_eq!(asked(words), plain, "{words}");
        }
    }

    #[test]
    fn distributions_are_those_of_another_fork() {
        for (name, arrivals, notes) in [
            ("fixed", Arrivals::Constant, 0),
            ("exp", Arrivals::Poisson, 0),
            ("norm", Arrivals::Poisson, 1),
            ("zipf", Arrivals::Poisson, 1),
        ] {
            let asked = asked(&format!("-D {name} -R 30 http://h/"));
            assert_eq!((asked.arrivals, asked.notes.len()), (Some(arrivals), notes), "{name}");
            assert_eq!(asked.digits, None);
        }
    }

    #[test]
    fn what_stands_behind_the_url_is_for_the_script() {
        let asked = asked("-t1 http://h/ -s a.lua -- --user 7 -x");
        assert_eq!(asked.script, Some("a.lua".into()));
        assert_eq!(asked.script_arguments, ["--user", "7", "-x"]);
    }

    #[test]
    fn fractions_and_suffixes_mean_what_they_say() {
        assert_eq!(asked("-c 1.5k http://h/").connections.get(), 1500);
        assert_eq!(asked("-R 0.5 http://h/").rate.map(Rate::per_s_f64), Some(0.5));
        assert_eq!(asked("-R 1M http://h/").rate.map(Rate::per_s_f64), Some(1e6));
        assert_eq!(asked("-d 1.5m http://h/").duration.get(), 90 * NS_PER_S);
        assert_eq!(asked("-d 2H http://h/").duration.get(), 7200 * NS_PER_S);
        assert_eq!(asked("--timeout 250ms http://h/").timeout.get(), NS_PER_S / 4);
    }

    #[test]
    fn refusals_are_in_wrks_words() {
        for (words, message) in [
            ("", ""),
            ("-t1", ""),
            ("-d 5s", ""),
            ("foo", "invalid URL: foo"),
            ("-c1 -t2 http://h/", FEW_CONNECTIONS),
            ("-c0 http://h/", FEW_CONNECTIONS),
            ("-t0 http://h/", ""),
            ("-R0 http://h/", NO_RATE),
            ("-D 4 http://h/", BAD_DIGITS),
            ("-B -s a.lua http://h/", BY_BATCH),
            ("-x http://h/", "wrk: invalid option -- 'x'"),
            ("--foo http://h/", "wrk: unrecognized option '--foo'"),
            ("http://h/ -c", "wrk: option requires an argument -- 'c'"),
            ("http://h/ --conn", "wrk: option '--connections' requires an argument"),
            ("--latency=1 http://h/", "wrk: option '--latency' doesn't allow an argument"),
            (
                "--t 1 http://h/",
                "wrk: option '--t' is ambiguous; possibilities: '--threads' '--timeout'",
            ),
            ("--help", ""),
        ] {
            assert_eq!(read(Name::Wrk, words), Err(message.to_owned()), "{words}");
        }
        for words in ["-c 1x http://h/", "-d http://h/", "-d 0 http://h/", "-H nocolon http://h/"] {
            let message = read(Name::Wrk, words).unwrap_err();
            assert!(message.starts_with("wrk: -"), "{words}: {message}");
        }
        assert_eq!(read(Name::CandorWrk, "--help"), Err("help".to_owned()));
    }

    #[test]
    fn no_command_line_panics() {
        let corpus = [
            "-t 4 -c 400 -d 30s -H A:b -L --timeout 5 -R 2k http://h/x",
            "-t1 http://h/ -s a.lua -- --user 7 -x",
            "-R 30 -p 5 -D 2 -e -B -U --u_latency http://[::1]:80/",
            "--threads=4 --conn=1.5k --dur 1.5m --header=A:b --l --version --help",
        ];
        for words in candor_testkit::mutate::Mutations::of_texts(&corpus, 1).take(5000) {
            for name in [Name::Wrk, Name::Wrk2, Name::CandorWrk] {
                let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
                if let Ok(Request::Run(asked)) = parse(name, &words).request {
                    let _ = super::super::plan::options(&asked);
                }
            }
        }
    }

    #[test]
    fn only_wrk2_requires_a_rate() {
        assert!(read(Name::Wrk, "http://h/").is_ok());
        assert_eq!(read(Name::Wrk2, "http://h/"), Err(NO_RATE.to_owned()));
        assert!(read(Name::Wrk2, "-R10 http://h/").is_ok());
    }
}
