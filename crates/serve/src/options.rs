//! The flags of `candor serve`, and their meaning.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use crate::config::LOG_CAPACITY;
use crate::truth::{self, Discipline};
use crate::units::parse_duration;
use crate::{Certificate, CloseAfter, Config, Fault, Faults, PlannedStall};

/// Flags of the embedded target.
#[derive(Debug, Clone, clap::Args)]
pub struct ServeOptions {
    /// Where to listen: ADDRESS:PORT, ADDRESS, or PORT on loopback; port 0 picks a free one
    ///
    /// Any address but loopback makes the target reachable from other machines; it has no
    /// protection of any kind.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = parse_listen)]
    pub listen: SocketAddr,

    /// Listen on this unix socket as well
    #[arg(long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,

    /// Once ready, write PORT=, PATH=, METHOD=, HOST=, PROTOCOL=, PID= and STATS= to this file
    #[arg(long, value_name = "FILE")]
    pub port_file: Option<PathBuf>,

    /// Run until SIGTERM; always so, accepted because every target has this flag
    #[arg(long, hide = true)]
    pub standalone: bool,

    /// The path, perhaps with a query, that the port file announces
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = parse_path)]
    pub path: String,

    /// The method that the port file announces
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    pub method: String,

    /// Threads; connections are assigned to them in turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_threads)]
    pub threads: usize,

    /// Use TLS: HTTP/2 or HTTP/1.1 by ALPN, with a self-signed certificate for localhost
    #[arg(long, help_heading = "TLS")]
    pub tls: bool,

    /// Speak HTTP/3 as well, on the UDP port of the same number; implies --tls
    ///
    /// Responses over TCP name it in Alt-Svc. With --truth, TCP stays in clear text.
    #[arg(long, conflicts_with_all = ["split_writes", "nagle"], help_heading = "TLS")]
    pub h3: bool,

    /// Write the self-signed certificate to this file [default: in a temporary directory of your own]
    #[arg(long, value_name = "FILE", conflicts_with = "tls_cert", help_heading = "TLS")]
    pub tls_cert_out: Option<PathBuf>,

    /// PEM file with the certificate to use instead of a self-signed one
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS")]
    pub tls_cert: Option<PathBuf>,

    /// PEM file with its private key
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    pub tls_key: Option<PathBuf>,

    /// Give every request this fault: reset/BYTES, truncate/BYTES, hang or close
    ///
    /// Paths under /fault/ give the same faults to single requests, e.g. /fault/reset/100.
    #[arg(long, value_name = "FAULT", help_heading = "Faults")]
    pub fault: Option<Fault>,

    /// Close a connection after this number of requests, and announce it in the last response
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "close_after_silently",
        help_heading = "Faults"
    )]
    pub close_after: Option<NonZeroU64>,

    /// Close a connection after this number of requests, unannounced
    #[arg(long, value_name = "N", help_heading = "Faults")]
    pub close_after_silently: Option<NonZeroU64>,

    /// Stall: hold all responses for a time, some time after the start, e.g. 2s@10s; may be
    /// repeated
    ///
    /// To stall at any moment: POST /__stall?for=2s.
    #[arg(long, value_name = "FOR@AT", value_parser = parse_stall, help_heading = "Faults")]
    pub stall: Vec<PlannedStall>,

    /// Close connections beyond this number at a time as soon as they are accepted
    #[arg(long, value_name = "N", help_heading = "Faults")]
    pub max_connections: Option<u64>,

    /// Write a response's header and its body in two calls
    ///
    /// With --nagle this is the classic mistake that costs 40 ms a response: the kernel holds the
    /// body back until the client acknowledges the header, which the client delays.
    #[arg(long, help_heading = "Faults")]
    pub split_writes: bool,

    /// Leave TCP_NODELAY off
    #[arg(long, help_heading = "Faults")]
    pub nagle: bool,

    /// Be the truth server: respond at computed times, on every path
    ///
    /// The departure time of a response is computed when its request arrives, so lateness does not
    /// add up. fifo: one at a time, first come first served. delay: each after the service time,
    /// any number at once. capped: the same with --places and no queue; a request that finds no
    /// place is refused with 503 at once. Of the other flags it takes --listen, --port-file and
    /// --stall.
    #[arg(
        long,
        value_name = "MODE",
        requires = "service_time",
        conflicts_with_all = [
            "unix_socket", "threads", "path", "method", "fault", "close_after",
            "close_after_silently", "max_connections",
        ],
        help_heading = "Truth server"
    )]
    pub truth: Option<Truth>,

    /// How long a request takes: 0, 100us, 10ms
    #[arg(
        long,
        value_name = "TIME",
        requires = "truth",
        value_parser = parse_duration,
        help_heading = "Truth server"
    )]
    pub service_time: Option<Duration>,

    /// Requests that --truth capped serves at once
    #[arg(
        long,
        value_name = "N",
        requires = "truth",
        required_if_eq("truth", "capped"),
        help_heading = "Truth server"
    )]
    pub places: Option<NonZeroUsize>,

    /// Independent queues, each like a server of its own
    ///
    /// The path selects the queue: /0, /1 and so on; any other path means the first.
    #[arg(
        long,
        value_name = "N",
        requires = "truth",
        default_value = "1",
        help_heading = "Truth server"
    )]
    pub queues: NonZeroUsize,

    /// Poll instead of sleeping; takes a whole core for each thread
    ///
    /// A sleeping thread wakes some tens of microseconds late, on a virtual machine more. A thread
    /// that never sleeps also knows when the machine paused it: its log has these times.
    #[arg(long)]
    pub spin: bool,

    /// At the end, write when every part was due and left to this file (CSV)
    ///
    /// A part is an event of a stream, or a message of a call or WebSocket. With --truth: arrival,
    /// computed and real departure of every request. In nanoseconds of the system's monotonic clock,
    /// as in a trace of candor.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,

    /// Capacity of the log; parts or requests beyond it are served and counted
    #[arg(long, value_name = "N", requires = "log", default_value_t = LOG_CAPACITY)]
    pub log_capacity: usize,
}

/// The server that [`ServeOptions`] describe.
#[derive(Debug, Clone)]
pub enum Served {
    /// The embedded target.
    Target(Config),
    /// The truth server.
    Truth(truth::Config),
}

/// How the truth server schedules its responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Truth {
    /// One at a time, first come first served
    Fifo,
    /// Each after the service time, any number at once
    Delay,
    /// The same with --places and no queue: refuses with 503
    Capped,
}

impl ServeOptions {
    /// The server that the flags describe.
    pub fn into_served(self) -> Served {
        let Some(mode) = self.truth else { return Served::Target(self.into_config()) };
        // The modes that use them require them.
        let service_ns = self.service_time.map_or(0, |time| time.as_nanos() as u64);
        let places = self.places.map_or(1, NonZeroUsize::get);
        Served::Truth(truth::Config {
            h3: self.h3.then(|| self.certificate()),
            listen: self.listen,
            discipline: match mode {
                Truth::Fifo => Discipline::Fifo { service_ns },
                Truth::Delay => Discipline::Delay { service_ns },
                Truth::Capped => Discipline::Capped { service_ns, places },
            },
            queues: self.queues,
            stalls: self.stall,
            spin: self.spin,
            port_file: self.port_file,
            log: self.log,
            log_capacity: self.log_capacity,
        })
    }

    /// The certificate of a server with TLS.
    fn certificate(&self) -> Certificate {
        match (&self.tls_cert, &self.tls_key) {
            (Some(chain), Some(key)) => {
                Certificate::Files { chain: chain.clone(), key: key.clone() }
            }
            _ => Certificate::SelfSigned(self.tls_cert_out.clone()),
        }
    }

    /// The embedded target's configuration by the flags.
    pub fn into_config(self) -> Config {
        let certificate = self.certificate();
        let announced = self.close_after.map(|requests| CloseAfter { requests, announced: true });
        let silent = self.close_after_silently;
        let silent = silent.map(|requests| CloseAfter { requests, announced: false });
        Config {
            listen: self.listen,
            unix_socket: self.unix_socket,
            port_file: self.port_file,
            method: self.method,
            path: self.path,
            threads: self.threads,
            tls: (self.tls || self.h3 || self.tls_cert_out.is_some() || self.tls_cert.is_some())
                .then_some(certificate),
            h3: self.h3,
            faults: Faults {
                every_answer: self.fault,
                close_after: announced.or(silent),
                stalls: self.stall,
                max_connections: self.max_connections,
                split_writes: self.split_writes,
                nagle: self.nagle,
            },
            spin: self.spin,
            log: self.log,
            log_capacity: self.log_capacity,
        }
    }
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(loopback, port));
    }
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::new(loopback, port));
    }
    if let Ok(ip) = text.parse() {
        return Ok(SocketAddr::new(ip, 0));
    }
    text.parse().map_err(|_| "write 127.0.0.1:8080, [::1]:8080, 127.0.0.1 or 8080".to_owned())
}

fn parse_path(text: &str) -> Result<String, String> {
    if text.starts_with('/') && !text.contains(char::is_whitespace) {
        return Ok(text.to_owned());
    }
    Err("a path begins with / and has no spaces".to_owned())
}

/// More threads than this is a typing error.
const MAX_THREADS: usize = 1024;

fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
    threads.ok_or_else(|| format!("write a number from 1 to {MAX_THREADS}"))
}

/// How long, and when: `2s@10s`.
pub(crate) fn parse_stall(text: &str) -> Result<PlannedStall, String> {
    let (lasts, at) = text.split_once('@').ok_or("write how long @ when, as in 2s@10s")?;
    Ok(PlannedStall { at: parse_duration(at)?, lasts: parse_duration(lasts)? })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Serve {
        #[command(flatten)]
        options: ServeOptions,
    }

    fn parse(arguments: &[&str]) -> Result<Config, String> {
        Serve::try_parse_from([&["serve"], arguments].concat())
            .map(|serve| serve.options.into_config())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn without_flags_it_is_a_free_port_on_loopback_and_no_fault() {
        let config = parse(&[]).unwrap();
        assert_eq!(config.listen, "127.0.0.1:0".parse().unwrap());
        assert_eq!((config.threads, config.path.as_str()), (1, "/"));
        assert!(config.faults.every_answer.is_none() && config.faults.stalls.is_empty());
    }

    #[test]
    fn an_address_may_be_short() {
        for (text, address) in [
            ("8080", "127.0.0.1:8080"),
            ("localhost:80", "127.0.0.1:80"),
            ("::1", "[::1]:0"),
            ("[::1]:8080", "[::1]:8080"),
            ("0.0.0.0:80", "0.0.0.0:80"),
        ] {
            assert_eq!(parse_listen(text), Ok(address.parse().unwrap()), "{text}");
        }
        for wrong in ["", "host:80", "70000", "127.0.0.1:x"] {
            assert!(parse_listen(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_truth_server_is_understood() {
        let served = |arguments: &[&str]| {
            Serve::try_parse_from([&["serve"], arguments].concat())
                .map(|serve| serve.options.into_served())
        };
        let Ok(Served::Truth(config)) =
            served(&["--truth", "capped", "--places", "5", "--service-time", "50ms"])
        else {
            panic!("no truth server");
        };
        let capped = Discipline::Capped { service_ns: 50_000_000, places: 5 };
        assert_eq!(config.discipline, capped);
        assert!(matches!(served(&["--spin"]), Ok(Served::Target(config)) if config.spin));
        for wrong in [
            &["--truth", "fifo"][..],
            &["--truth", "capped", "--service-time", "1ms"],
            &["--service-time", "1ms"],
            &["--log-capacity", "1"],
            &["--queues", "2"],
            &["--truth", "fifo", "--service-time", "1ms", "--queues", "0"],
            &["--truth", "fifo", "--service-time", "1ms", "--fault", "hang"],
            &["--truth", "fifo", "--service-time", "1ms", "--threads", "2"],
        ] {
            assert!(served(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_target_protocol_is_understood() {
        let config = parse(&["--standalone", "--port-file", "/tmp/port"]).unwrap();
        assert_eq!(config.port_file, Some("/tmp/port".into()));
    }

    #[test]
    fn faults_are_understood() {
        let faults = parse(&[
            "--fault=reset/100",
            "--close-after-silently=3",
            "--stall=2s@10s",
            "--stall=500ms@1m",
            "--max-connections=50",
            "--split-writes",
            "--nagle",
        ])
        .unwrap()
        .faults;
        assert_eq!(faults.every_answer, Some(Fault::Reset(100)));
        let close = faults.close_after.unwrap();
        assert_eq!((close.requests.get(), close.announced), (3, false));
        let secs = Duration::from_secs;
        assert_eq!(faults.stalls[0], PlannedStall { at: secs(10), lasts: secs(2) });
        assert_eq!(faults.stalls[1].at, secs(60));
        assert_eq!(faults.max_connections, Some(50));
        assert!(faults.split_writes && faults.nagle);
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in [
            "--fault=explode",
            "--close-after=0",
            "--stall=2s",
            "--stall=2@10",
            "--threads=0",
            "--path=nowhere",
        ] {
            assert!(parse(&[wrong]).is_err(), "{wrong}");
        }
        assert!(parse(&["--close-after=1", "--close-after-silently=1"]).is_err());
    }
}
