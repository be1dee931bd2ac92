//! The options of a run: every flag with its help, and the same names in a TOML plan.
//!
//! Values come from the command line (clap) or from a plan's text (serde) and are checked one by
//! one by their types; [`Options::or`] lays one over the other and [`Options::build`] makes the
//! plan. This module reads no file: whoever calls hands one over by way of [`ReadFile`].
//!
//! What can be said of each request is in `request.rs`, how one set goes over another in `merge.rs`.

mod merge;
mod request;

pub(crate) use merge::headers_over;
pub use request::RequestOptions;

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;

use crate::allow::Allowed;
use crate::error::PlanError;
use crate::load::{Part, Shape};
use crate::model::{
    Arrivals, KernelTimestamps, Order, Pacing, Rate, ReactorChoice, StatusSet, Trace,
};
use crate::plan_file;
use crate::tls::TlsVersion;
use crate::values::{
    Count, Digits, Header, HostPort, Method, Names, Nanos, OnOff, Out, PositiveNanos, Resolve,
    Size, SmallCount, Sources, WindowBits, checked_url, headers, one_or_many, one_or_many_typed,
    typed,
};

/// Examples for the long help of commands that take [`Options`].
pub const EXAMPLES: &str = "\
Examples:
  candor -c 50 -d 30s http://localhost:8080/
      Closed loop: 50 connections, each sends its next request when the last is answered.
  candor -R 20k -d 30s http://localhost:8080/
      Open load: 20,000 requests a second are due, whatever the server does.
  candor --load 'ramp 1k..20k over 30s; hold 20k for 1m' http://localhost:8080/
      A shape: a climb, then a plateau. The run ends with the shape.
  candor -R 500 -X POST -H 'Content-Type: application/json' --body-file order.json URL
      A request of your own. Path and query are sent as given.
  candor -R 5k --expect 'p99 < 5ms' --expect 'error-rate < 0.1%' URL
      For CI: exit code 3 if an objective is missed.
  candor run plan.toml [URL]
      A plan: every long flag can stand in it, and [[request]] tables besides. A URL or a flag
      beside it goes before what it says.

Durations take ns us ms s m h d (a bare number is seconds), counts take k M G, rates take /s /m /h.";

/// Where the bytes of files come from. `-` is the standard input.
pub trait ReadFile {
    /// All bytes of the file at `path`.
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>>;
}

/// Whether an argument in the place of a URL names a plan: it ends in `.toml` and has no scheme.
pub fn looks_like_plan(argument: &str) -> bool {
    !argument.contains("://")
        && argument.len() > 5
        && argument.to_ascii_lowercase().ends_with(".toml")
}

// Help comes from the comments of the fields: the first paragraph is the short help (`-h`), all
// of it the long one (`--help`). `about = None` keeps the struct's own comment from becoming a
// command's description.

/// What a user asked for, from flags, a plan, or both.
#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize)]
#[command(about = None, long_about = None)]
#[allow(rustdoc::broken_intra_doc_links, reason = "brackets in help texts are no links")]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// Where to send requests: http[s]://HOST[:PORT]/PATH?QUERY
    ///
    /// Path and query are sent as given. IPv6 addresses stand in brackets. User information
    /// becomes an Authorization header. A name that ends in .toml is a plan.
    #[arg(value_name = "URL")]
    #[serde(deserialize_with = "checked_url")]
    pub url: Option<String>,

    // ---- Load ----
    /// Connections that are open from the beginning [default: 10]
    #[arg(short, long, value_name = "N", help_heading = "Load")]
    pub connections: Option<SmallCount>,

    /// Threads that send [default: half of the cores]
    ///
    /// Each has its share of the connections and of the schedule.
    #[arg(short, long, value_name = "N", help_heading = "Load")]
    pub threads: Option<SmallCount>,

    /// How long to measure [default: 10s, or as long as the load]
    ///
    /// Not counting the warm-up and the drain. With --requests or a --load that ends, whatever
    /// comes first ends the run.
    #[arg(short, long, value_name = "TIME", help_heading = "Load", allow_negative_numbers = true)]
    pub duration: Option<PositiveNanos>,

    /// How many requests to measure
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        help_heading = "Load",
        allow_negative_numbers = true
    )]
    pub requests: Option<Count>,

    /// Open load: requests that are due per time, such as 20k, 30/m or 0.01/s
    ///
    /// Latency counts from when a request was due, so a stall of the server shows in full.
    /// Without --rate and --load the loop is closed: a connection sends its next request when
    /// the last one is answered.
    #[arg(
        short = 'R',
        long,
        value_name = "RATE",
        help_heading = "Load",
        allow_negative_numbers = true
    )]
    #[serde(deserialize_with = "typed")]
    pub rate: Option<Rate>,

    /// Open load: how due times are drawn from the rate [default: constant]
    #[arg(long, value_name = "PROCESS", help_heading = "Load")]
    #[serde(deserialize_with = "typed")]
    pub arrivals: Option<Arrivals>,

    /// Open load: a shape, such as 'ramp 1k..20k over 30s; hold 20k for 1m'
    ///
    /// Parts are joined by `;`, and only the last may have no end:
    ///   hold 20k [for 1m]
    ///   ramp 1k..20k over 30s
    ///   step 1k..10k by 1k every 5s
    ///   burst 500 every 1s [for 30s]
    ///   replay FILE      (one due offset a line, in seconds or with a unit)
    #[arg(long, value_name = "SHAPE", help_heading = "Load", verbatim_doc_comment)]
    pub load: Option<Shape>,

    /// Seed of everything random [default: 1]
    ///
    /// The same plan and seed give the same schedule, for any number of threads.
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub seed: Option<u64>,

    /// Closed loop: pause between an answer and the next request [default: 0]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub think_time: Option<Nanos>,

    /// Open load: drop requests that are due for longer than this, and count them
    ///
    /// 0 means no queue: a request that finds no free connection when it is due is dropped.
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub shed_after: Option<Nanos>,

    /// Open load: open up to so many connections while requests wait [default: --connections]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_connections: Option<SmallCount>,

    /// Attempts to connect per time, such as 500/s [default: as fast as the server accepts]
    ///
    /// Spreads the storm with which a run of many connections begins, and with which they all
    /// come back when a server has closed them.
    #[arg(long, value_name = "RATE", help_heading = "Load", allow_negative_numbers = true)]
    #[serde(deserialize_with = "typed")]
    pub connect_rate: Option<Rate>,

    /// Begin with one connection a thread; the others come while the run goes on
    ///
    /// At --connect-rate, or as fast as the server accepts.
    #[arg(long, help_heading = "Load")]
    pub connect_during_run: bool,

    /// All connections at once, one request on each, and that is the run
    ///
    /// Connecting belongs to what is measured: response times count from the beginning, when all
    /// of them start to connect. No connection is made before, none is used again or replaced.
    #[arg(long, help_heading = "Load")]
    pub once: bool,

    /// Send for so long before measuring; counted apart [default: 0]
    ///
    /// In an open load, at the rate with which the load begins.
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub warm_up: Option<Nanos>,

    /// How a thread waits until a request is due, or answered [default: auto]
    ///
    /// Sleeping threads wake some microseconds late, which shows as send lag. `auto` sleeps up to
    /// a margin that it learns, and spins for the rest, with up to a quarter of a core. `spin`
    /// never sleeps, in a closed loop neither.
    #[arg(long, value_name = "WAY", help_heading = "Load")]
    #[serde(deserialize_with = "typed")]
    pub pacing: Option<Pacing>,

    /// How long to wait, after the end, for requests in flight [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub drain: Option<Nanos>,

    /// With --requests and no duration: give up when no request could be sent for this long
    /// [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub give_up: Option<PositiveNanos>,

    // ---- Requests ----
    /// Method, sent as given [default: GET]
    #[arg(short = 'X', long, value_name = "METHOD", help_heading = "Requests")]
    pub method: Option<Method>,

    /// Header to send, as 'Name: value'; may be repeated
    ///
    /// A Host header replaces the one made from the URL.
    #[arg(short = 'H', long, value_name = "HEADER", help_heading = "Requests")]
    #[serde(deserialize_with = "headers")]
    pub header: Vec<Header>,

    /// Body to send
    #[arg(short, long, value_name = "TEXT", help_heading = "Requests", allow_hyphen_values = true)]
    pub body: Option<String>,

    /// File with the body to send; - is the standard input
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    pub body_file: Option<PathBuf>,

    /// Send bodies in chunks of this size, without their length in front
    ///
    /// HTTP/1.1 only: `Transfer-Encoding: chunked`.
    #[arg(long, value_name = "SIZE", help_heading = "Requests")]
    pub chunked: Option<Size>,

    /// Send `Expect: 100-continue`, and a body only when the server asks for it
    ///
    /// HTTP/1.1 only. Without an answer it is sent after --continue-timeout. After a final answer
    /// it is not sent, and the connection is closed and replaced.
    #[arg(long, help_heading = "Requests")]
    pub expect_continue: bool,

    /// A slow client: write each request in so many pieces, --piece-gap apart
    ///
    /// HTTP/1.1 only, one request at a time. Pieces are due by the first one's time, so that a late
    /// one does not move those behind it.
    #[arg(long, value_name = "N", help_heading = "Requests")]
    pub pieces: Option<SmallCount>,

    /// From one of the --pieces to the next [default: 1ms]
    #[arg(long, value_name = "TIME", help_heading = "Requests")]
    pub piece_gap: Option<PositiveNanos>,

    /// A client that goes away: end what is sent after so many bytes of a body
    ///
    /// HTTP/1.1 only. Counted as broken off, unless an answer came before; one that comes after is
    /// counted apart.
    #[arg(long, value_name = "SIZE", help_heading = "Requests")]
    pub break_off_after: Option<Size>,

    /// Requests in flight on one connection at the same time [default: 1]
    #[arg(short, long, value_name = "N", help_heading = "Requests")]
    pub pipeline: Option<SmallCount>,

    /// Close a connection after so many requests
    #[arg(long, value_name = "N", help_heading = "Requests")]
    pub requests_per_connection: Option<Count>,

    /// Close a connection after so long, whatever is on it
    ///
    /// Requests in flight on it are counted as time-outs, and another connection takes its place.
    #[arg(long, value_name = "TIME", help_heading = "Requests")]
    pub connection_lifetime: Option<PositiveNanos>,

    /// A new connection for each request, with `Connection: close`
    #[arg(long, help_heading = "Requests")]
    pub no_keepalive: bool,

    /// How the next of several [[request]] tables of a plan is chosen
    ///
    /// [default: rotation, or weighted if any of them has a weight]
    #[arg(long, value_name = "ORDER", help_heading = "Requests")]
    #[serde(deserialize_with = "typed")]
    pub order: Option<Order>,

    /// The `[[request]]` tables of a plan.
    #[arg(skip)]
    pub request: Vec<RequestOptions>,

    /// Which of these tables each request is, by its index in the load; after the last, from the
    /// beginning. For programs that make options; a flag for it there is not.
    #[arg(skip)]
    #[serde(skip)]
    pub sequence: Vec<u32>,

    // ---- Script ----
    /// Lua script that makes requests and reads answers, as wrk's do
    ///
    /// Its hooks: setup, init, delay, request, response, done. docs/scripts.md has an example of
    /// each. What it does not say, it takes from the options above.
    #[arg(short, long, value_name = "FILE", help_heading = "Script")]
    pub script: Option<PathBuf>,

    /// Argument for the script's init, from index 1 on; may be repeated
    #[arg(long, value_name = "TEXT", help_heading = "Script", allow_hyphen_values = true)]
    #[serde(deserialize_with = "one_or_many")]
    pub script_arg: Vec<String>,

    /// Time limit for one script call; a longer one stops the run [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Script")]
    pub script_timeout: Option<PositiveNanos>,

    /// Longest response body that is kept for the script's response() [default: 16Mi]
    ///
    /// A longer one ends its request as an error, body-limit. All connections of a thread together
    /// keep 16 times as much.
    #[arg(long, value_name = "SIZE", help_heading = "Script")]
    pub script_body_limit: Option<Size>,

    /// Run an untrusted script: no files, no processes, no native code
    ///
    /// It has no io, os, package, ffi, debug and no bytecode. Its memory, its instructions and the
    /// time of each call have bounds that nothing in it gets around; docs/scripts.md has them.
    #[arg(long, help_heading = "Script")]
    pub sandbox: bool,

    // ---- Expected answers ----
    /// Statuses that are right, such as 200, 2xx or 200-299,304 [default: below 400]
    #[arg(long, value_name = "STATUS", help_heading = "Expected answers")]
    #[serde(deserialize_with = "typed")]
    pub expect_status: Option<StatusSet>,

    /// Length that every body must have
    #[arg(long, value_name = "SIZE", help_heading = "Expected answers")]
    pub expect_body_bytes: Option<Size>,

    /// File that every body must equal
    #[arg(long, value_name = "FILE", help_heading = "Expected answers")]
    pub expect_body: Option<PathBuf>,

    // ---- Where ----
    /// Connect to this host and port instead of the URL's
    #[arg(long, value_name = "HOST:PORT", help_heading = "Where")]
    pub connect_to: Option<HostPort>,

    /// Use these addresses for a host and port instead of asking the resolver
    #[arg(long, value_name = "HOST:PORT:ADDR[,ADDR]", help_heading = "Where")]
    #[serde(deserialize_with = "one_or_many")]
    pub resolve: Vec<Resolve>,

    /// Connect to a unix socket
    #[arg(long, value_name = "PATH", help_heading = "Where")]
    pub unix_socket: Option<PathBuf>,

    /// Connect to this host or network only; may be repeated
    ///
    /// A name, *.NAME, an address, a network such as 10.0.0.0/8, or unix:PATH. Lists in CANDOR_ALLOW
    /// and in candor/config.toml hold besides.
    #[arg(long, value_name = "HOST|CIDR", help_heading = "Where")]
    #[serde(deserialize_with = "one_or_many_typed")]
    pub allow: Vec<Allowed>,

    /// Leave Nagle's algorithm on, to study it
    #[arg(long, help_heading = "Where")]
    pub no_nodelay: bool,

    /// Local addresses to connect from, in turn
    ///
    /// Single addresses, ranges and networks, joined by commas, such as
    /// 127.0.0.2-127.0.0.9,10.0.0.0/24. One address has about 28,000 ports for one target.
    #[arg(long, value_name = "ADDR[,ADDR-ADDR]", help_heading = "Where")]
    pub source: Option<Sources>,

    /// How to ask the kernel for what happened: epoll or io_uring [default: auto]
    #[arg(long, value_name = "WAY", help_heading = "Where")]
    #[serde(deserialize_with = "typed")]
    pub reactor: Option<ReactorChoice>,

    /// Do not pin threads to cores
    #[arg(long, help_heading = "Where")]
    pub no_pin: bool,

    // ---- HTTP/2 ----
    /// Speak HTTP/1.1, also where the server would choose HTTP/2
    #[arg(long, help_heading = "HTTP/2")]
    pub h1: bool,

    /// Speak HTTP/2: by prior knowledge over http, by ALPN over https
    ///
    /// Over https and without --h1 or --h2 the server chooses.
    #[arg(long, help_heading = "HTTP/2")]
    pub h2: bool,

    /// Speak HTTP/2 in clear text, by prior knowledge; refused over https
    #[arg(long, help_heading = "HTTP/2")]
    pub h2c: bool,

    /// Speak HTTP/2 in clear text, asked for by an upgrade from HTTP/1.1 (RFC 7540)
    #[arg(long, help_heading = "HTTP/2")]
    pub h2c_upgrade: bool,

    /// Streams open on one connection at the same time [default: 1]
    #[arg(short = 'm', long, value_name = "N", help_heading = "HTTP/2")]
    pub streams: Option<SmallCount>,

    /// Window of each stream: 2^N − 1 bytes may come before we grant more [default: 30]
    #[arg(short = 'w', long, value_name = "N", help_heading = "HTTP/2")]
    pub window_bits: Option<WindowBits>,

    /// Window of the connection: 2^N − 1 bytes [default: 30]
    #[arg(short = 'W', long, value_name = "N", help_heading = "HTTP/2")]
    pub connection_window_bits: Option<WindowBits>,

    /// The largest frame to take, 16 KiB to 16 MiB [default: 16KiB]
    #[arg(long, value_name = "SIZE", help_heading = "HTTP/2")]
    pub max_frame_size: Option<Size>,

    /// The table that the server may use for its header fields [default: 4KiB]
    #[arg(long, value_name = "SIZE", help_heading = "HTTP/2")]
    pub header_table_size: Option<Size>,

    /// The table that we use for ours, if the server allows as much; 4 KiB at most [default: 4KiB]
    #[arg(long, value_name = "SIZE", help_heading = "HTTP/2")]
    pub encoder_header_table_size: Option<Size>,

    // ---- TLS ----
    /// Without a URL: speak TLS with the embedded target
    #[arg(long, help_heading = "TLS")]
    pub tls: bool,

    /// Accept any certificate
    #[arg(short = 'k', long, help_heading = "TLS")]
    pub insecure: bool,

    /// PEM file of certificates to believe [default: those of the system]
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub cacert: Option<PathBuf>,

    /// PEM file with our certificate, for a server that asks for one
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub cert: Option<PathBuf>,

    /// PEM file with its private key [default: the file of --cert]
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub key: Option<PathBuf>,

    /// Name to ask the server for, and to find in its certificate [default: the URL's host]
    #[arg(long, value_name = "NAME", help_heading = "TLS")]
    pub sni: Option<String>,

    /// Protocols to offer, in order: h2, http/1.1 or both [default: h2,http/1.1]
    #[arg(long, value_name = "NAME[,NAME]", help_heading = "TLS")]
    pub alpn: Option<Names>,

    /// Oldest version to accept: 1.2 or 1.3 [default: 1.2]
    #[arg(long, value_name = "VERSION", help_heading = "TLS")]
    #[serde(deserialize_with = "typed")]
    pub tls_min: Option<TlsVersion>,

    /// Newest version to offer: 1.2 or 1.3 [default: 1.3]
    #[arg(long, value_name = "VERSION", help_heading = "TLS")]
    #[serde(deserialize_with = "typed")]
    pub tls_max: Option<TlsVersion>,

    /// Cipher suites to offer, in order, such as TLS13_AES_128_GCM_SHA256 [default: all]
    #[arg(long, value_name = "NAME[,NAME]", help_heading = "TLS")]
    pub tls_ciphers: Option<Names>,

    /// Key exchange groups to offer, in order, such as X25519 or secp256r1 [default: all]
    #[arg(long, value_name = "NAME[,NAME]", help_heading = "TLS")]
    pub tls_groups: Option<Names>,

    /// Take up earlier sessions with the server's tickets: on or off [default: off]
    ///
    /// Off, every connection pays for a whole handshake, as a new user's does.
    #[arg(long, value_name = "ON", help_heading = "TLS")]
    pub tls_resumption: Option<OnOff>,

    /// Send requests in the first flight of sessions that are taken up (0-RTT)
    ///
    /// For GET, HEAD and OPTIONS, over TLS 1.3, with --tls-resumption on and --h1 or --h2. A server
    /// that does not take them is sent them again after the handshake; the report counts both.
    #[arg(long, help_heading = "TLS")]
    pub early_data: bool,

    // ---- Time-outs ----
    /// For an answer, from sending its request to its last byte [default: 30s]
    ///
    /// Ends the connection; the request is counted as a time-out.
    #[arg(long, value_name = "TIME", help_heading = "Time-outs")]
    pub timeout: Option<PositiveNanos>,

    /// For a connection to be established [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Time-outs")]
    pub connect_timeout: Option<PositiveNanos>,

    /// For a server to ask for a body that --expect-continue holds back [default: 1s]
    ///
    /// Then the body is sent without being asked for (RFC 9110 10.1.1).
    #[arg(long, value_name = "TIME", help_heading = "Time-outs")]
    pub continue_timeout: Option<PositiveNanos>,

    /// For the next byte of an answer [default: only --timeout counts]
    #[arg(long, value_name = "TIME", help_heading = "Time-outs")]
    pub idle_timeout: Option<PositiveNanos>,

    // ---- Recording ----
    /// Significant digits of the histograms, 1 to 5 [default: 3]
    #[arg(long, value_name = "N", help_heading = "Recording")]
    pub digits: Option<Digits>,

    /// Length of the intervals of which a series is kept [default: 1s]
    ///
    /// At least 10ms, and at most 300,000 in a run: each takes about 2 KiB of the loader's memory. For
    /// a run of hours, 10s will do.
    #[arg(long, value_name = "TIME", help_heading = "Recording")]
    pub interval: Option<PositiveNanos>,

    /// Which requests --trace keeps: all, a share such as 1/100, or a number such as 10k
    /// [default: all]
    ///
    /// The choice depends on the seed and a request's place in the schedule, and on nothing that
    /// happens to it.
    #[arg(long, value_name = "WHICH", help_heading = "Recording")]
    #[serde(deserialize_with = "typed")]
    pub trace_sample: Option<Trace>,

    /// Let the kernel stamp what leaves and what arrives, on one connection in N [N: 10]
    ///
    /// Parts service time into the time within the loader's machine and the time outside. Linux
    /// and TCP only, with epoll.
    #[arg(
        long,
        value_name = "1/N",
        help_heading = "Recording",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1/10"
    )]
    #[serde(deserialize_with = "typed")]
    pub kernel_timestamps: Option<KernelTimestamps>,

    // ---- Output ----
    /// Write the result document
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,

    /// Write the intervals
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Write a page for a browser: one file that needs no other and asks no other host
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,

    /// Write the percentiles, as HdrHistogram's plotter takes them
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub hgrm: Option<PathBuf>,

    /// Write the intervals' histograms, as an HdrHistogram log
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub hlog: Option<PathBuf>,

    /// Write every request with its times, or a sample; `candor report` makes CSV of it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<PathBuf>,

    /// Write an output of any kind to a file, or to the standard output (-); may be repeated
    ///
    /// The kinds are those of the options above, and besides: markdown, the report; hgrm-service, the
    /// percentiles of service time; ndjson, a line of JSON for each interval and each finding while the
    /// run goes on. Where something goes to the standard output, the report goes to the standard error.
    #[arg(long, value_name = "KIND[:FILE]", help_heading = "Output")]
    #[serde(deserialize_with = "one_or_many")]
    pub out: Vec<Out>,

    /// Print no report and no progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    /// Objective to meet, or exit with 3, such as 'p99 < 5ms'; may be repeated
    ///
    /// Also 'error-rate < 0.1%', 'rate >= 99%' and the like.
    #[arg(long, value_name = "OBJECTIVE", help_heading = "Output")]
    #[serde(deserialize_with = "one_or_many")]
    pub expect: Vec<String>,

    /// Exit with 4 if the result is not trustworthy
    #[arg(long, help_heading = "Output")]
    pub strict: bool,

    /// Write values into results that may be secrets: of header fields, URLs, commands
    ///
    /// Without it, results have the names and say what was left out. docs/safety.md lists what is
    /// shown.
    #[arg(long, help_heading = "Output")]
    pub show_secrets: bool,
}

impl Options {
    /// The options in the plan `text`, which stands in the file `name`.
    ///
    /// Files that the plan reads (bodies, due offsets) are found from the plan's own directory;
    /// files that a run writes, from where the command runs.
    pub fn from_toml(name: &str, text: &str) -> Result<Options, PlanError> {
        let mut options = plan_file::parse(name, text)?;
        let directory = Path::new(name).parent().unwrap_or(Path::new(""));
        for file in options.files_mut().filter(|file| file.as_os_str() != "-") {
            *file = directory.join(&*file);
        }
        Ok(options)
    }

    /// Every file that these options read, those of requests among them; `-` is the standard input.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let Options { request, body_file, expect_body, script, cacert, cert, key, load, .. } = self;
        let requests = request.iter_mut();
        let of_requests = requests.flat_map(|one| [&mut one.body_file, &mut one.expect_body]);
        let own = [body_file, expect_body, script, cacert, cert, key];
        let parts = load.iter_mut().flat_map(|shape| &mut shape.parts);
        let replayed = parts.filter_map(|part| match part {
            Part::Replay(file) => Some(file),
            _ => None,
        });
        of_requests.chain(own).flatten().chain(replayed)
    }
}
