//! The parts of a plan: what a run will do.
//!
//! The ranges in these comments are checked where parts become a [`Plan`](crate::Plan), and nowhere
//! else. The engine and the pacer read a plan and never re-check. A result has the same parts
//! without values that may be secret ([`Parts::redacted`](crate::Parts::redacted)).

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;

use crate::allow::AllowList;
use crate::data::DataSet;
use crate::journey::{Capture, Journey, OnFailure, Step, Think};
use crate::kept::Kept;
use crate::redact::Secrets;
use crate::request::Request;
use crate::tls::Tls;
use crate::wire::Wire;
use crate::work::Work;

/// The description of one run: whole in a [`Plan`](crate::Plan), redacted in a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// The server that the requests go to, unless they name another.
    pub target: Target,
    /// The others, each with a name of its own.
    #[serde(default)]
    pub others: Vec<Target>,
    /// What is sent.
    pub work: Work,
    /// What the requests are on the wire.
    pub wire: Wire,
    /// How requests are timed.
    pub load: Load,
    /// When the run ends.
    pub stop: Stop,
    /// How many connections there are and how they are made and used.
    pub connections: Connections,
    /// How long to wait before giving up.
    pub timeouts: Timeouts,
    /// What the run records.
    pub recording: Recording,
    /// Threads and cores of the loader.
    pub threads: Threads,
    /// Seed of everything random: Poisson gaps, weighted choice of requests.
    pub seed: u64,
    /// The data sets that requests take values from.
    #[serde(default)]
    pub data: Vec<DataSet>,
    /// The variables of the environment that requests take values from.
    #[serde(default)]
    pub environment: Vec<Variable>,
    /// Whether results may contain in full what the user typed.
    pub secrets: Secrets,
}

impl Parts {
    /// All targets: the plan's own, then the others. A request has the number of its target among these.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.target).chain(&self.others)
    }

    /// The target of a request.
    pub fn target_of(&self, request: &Request) -> &Target {
        let others = (request.target as usize).checked_sub(1);
        others.and_then(|at| self.others.get(at)).unwrap_or(&self.target)
    }

    /// The connections to a target that are open from the beginning, and the most of them.
    pub fn connections_to(&self, target: &Target) -> (u32, u32) {
        let Connections { count, max, .. } = self.connections;
        target
            .connections
            .map_or((count, max), |own| (own, own.saturating_add(max.saturating_sub(count))))
    }

    /// The same of all targets together.
    pub fn connections_in_all(&self) -> (u32, u32) {
        self.targets().map(|one| self.connections_to(one)).fold(
            (0, 0),
            |(all, most), (count, max)| {
                (u32::saturating_add(all, count), u32::saturating_add(most, max))
            },
        )
    }

    /// Whether requests have a time at which they are due, apart from that of a free place: in an open load, and
    /// those of users.
    pub fn has_due_times(&self) -> bool {
        self.load.is_open() || self.work.has_users()
    }

    /// The number of threads if `own` cores are usable: the number asked for, or else `own`, but
    /// never more than [`Parts::most_threads`].
    pub fn threads_of(&self, own: usize) -> u32 {
        let own = u32::try_from(own).unwrap_or(u32::MAX);
        self.threads.count.unwrap_or(own).clamp(1, self.most_threads())
    }

    /// The most threads: each needs a connection to every target, and a user if those are limited.
    pub fn most_threads(&self) -> u32 {
        let counts = self.targets().map(|one| self.connections_to(one).0);
        counts.chain(self.work.users()).min().unwrap_or(1)
    }

    /// Makes it a run of `count` requests by `users` users, to look at: one after the other, without delay, traced. What
    /// is sent stays as it is.
    pub fn look_once(&mut self, count: u64, users: u32) {
        self.load = Load::Closed { think_time_ns: 0 };
        if let Work::Journeys(journeys) = &mut self.work {
            journeys.users = None;
        }
        // The last response ends it; an interruption waits for none.
        self.stop = Stop { duration_ns: None, count: Some(count), drain_ns: 0, ..self.stop };
        self.connect(users, users);
        let connections = &mut self.connections;
        (connections.pipeline, connections.streams) = (1, 1);
        (connections.connect_rate, connections.lifetime_ns) = (None, None);
        (connections.connect_during_run, connections.once) = (false, false);
        self.recording.warm_up_ns = 0;
        self.recording.trace = Some(Trace::All);
        self.recording.kernel_timestamps = None;
        self.recording.held_up = false;
        self.threads = Threads {
            count: Some(1),
            pin: false,
            pacing: Pacing::Sleep,
            reactor: ReactorChoice::Epoll,
        };
    }

    /// Makes it a run of one user who makes each request once, in order, to look at. Of every response these values are
    /// captured.
    pub fn walk_once(&mut self, captures: &[Capture]) {
        self.look_once(1, 1);
        let mut requests = self.work.requests().to_vec();
        let mut names = HashSet::new();
        for (at, request) in requests.iter_mut().enumerate() {
            // Names of steps are unique.
            if !names.insert(request.name.clone()) {
                request.name = format!("{} ({})", request.name, at + 1);
            }
        }
        let step = |request: usize| Step {
            request: request as u32,
            think: Think::None,
            repeat: (1, 1),
            when: None,
            captures: captures.to_vec(),
        };
        let journey = Journey {
            name: "all requests".to_owned(),
            weight: 1,
            steps: (0..requests.len()).map(step).collect(),
            cookies: false,
            on_failure: OnFailure::GoOn,
        };
        self.work = Work::from(requests).walked(vec![journey], None);
    }

    /// Sets `count` connections and up to `max`, and lowers the number of threads to `count` if it
    /// is above.
    pub fn connect(&mut self, count: u32, max: u32) {
        (self.connections.count, self.connections.max) = (count, max);
        if let Work::Journeys(journeys) = &mut self.work
            && self.connections.own
        {
            (self.connections.count, journeys.users) = (max, Some(max));
        }
        let most = self.most_threads();
        self.threads.count = self.threads.count.map(|threads| threads.min(most));
    }
}

/// A variable of the environment, as it was when the plan was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, always left out in a result.
    pub value: Kept<u8>,
}

/// The server that the requests go to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// Its name in reports.
    #[serde(default = "main_name")]
    pub name: String,
    /// The URL as the user gave it, without user information.
    pub url: String,
    /// `host[:port]` for the `Host` header, unless a request overrides it.
    pub authority: String,
    /// Where connections go; differs from the URL under `--connect-to` and `--unix-socket`.
    pub endpoint: Endpoint,
    /// The proxy that connections go through: the endpoint is its own.
    #[serde(default)]
    pub proxy: Option<Proxy>,
    /// Addresses given by `--resolve` for the endpoint's host; empty: ask the resolver.
    pub resolved: Vec<IpAddr>,
    /// The hosts that the user allows; `None`: all. The engine adds the lists of the environment
    /// and the configuration.
    pub allow: Option<AllowList>,
    /// How connections are encrypted; `None`: clear text.
    pub tls: Option<Tls>,
    /// The version of HTTP.
    pub http: HttpVersion,
    /// Connections to it that are open from the beginning, if they are not [`Connections::count`].
    #[serde(default)]
    pub connections: Option<u32>,
}

/// A proxy between here and a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proxy {
    /// How it is asked.
    pub way: ProxyWay,
    /// The host that it is asked for.
    pub host: String,
    /// The port that it is asked for.
    pub port: u16,
    /// `USER:PASSWORD`, percent-encoded; in a result: `[redacted]`.
    pub user: Option<String>,
    /// The variable of the environment that named it; null: an option did.
    pub variable: Option<String>,
}

/// How a proxy is asked for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProxyWay {
    /// By requests with the whole URL (RFC 9112 3.2.2).
    Forward,
    /// By CONNECT (RFC 9110 9.3.6).
    Connect,
    /// By SOCKS 5, the name resolved by the proxy (RFC 1928, RFC 1929).
    Socks5,
}

impl Proxy {
    /// The value of `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<String> {
        self.user.as_deref().map(crate::url::basic_authorization)
    }

    /// User and password as they are.
    pub fn credentials(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let user = self.user.as_deref()?;
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        Some((crate::url::percent_decoded(name), crate::url::percent_decoded(password)))
    }
}

/// The name of the plan's own target.
pub const MAIN_TARGET: &str = "main";

/// Results of earlier versions have one target, without a name.
fn main_name() -> String {
    MAIN_TARGET.to_owned()
}

impl Target {
    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    H1,
    /// HTTP/2: in clear text by prior knowledge, over TLS by ALPN and nothing else.
    H2,
    /// HTTP/2 in clear text, asked for by the first request of each connection.
    #[serde(rename = "h2c-upgrade")]
    Upgrade,
    /// The server's choice by ALPN; HTTP/1.1 if it makes none.
    Negotiated,
}

/// Where connections go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// A TCP port of a host name or an address (IPv6 without brackets).
    Tcp {
        /// Host name or literal address.
        host: String,
        /// Port, 1 to 65535.
        port: u16,
    },
    /// A unix socket in the file system.
    Unix {
        /// Path of the socket.
        path: PathBuf,
    },
}

/// How requests are timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// The next request leaves when the last one ended and the think time is over.
    Closed {
        /// Pause between a response and the next request on that connection.
        think_time_ns: u64,
    },
    /// A schedule decides.
    Open(OpenLoad),
}

impl Load {
    /// Whether a schedule decides.
    pub fn is_open(&self) -> bool {
        matches!(self, Load::Open(_))
    }

    /// The schedule's segments; none in a closed load.
    pub fn segments(&self) -> &[Segment] {
        match self {
            Load::Open(open) => &open.segments,
            Load::Closed { .. } => &[],
        }
    }
}

/// A schedule: segments one after the other, and the process that draws arrivals from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenLoad {
    /// At least one. Only the last may have no end. A warm-up is the first segment
    /// ([`Recording::warm_up_ns`] long), which the plan adds: a hold at the initial rate of the
    /// load, or its burst.
    pub segments: Vec<Segment>,
    /// How arrivals are drawn within a segment.
    pub arrivals: Arrivals,
    /// Requests older than this are dropped unsent, and counted. Zero: no queue, so a request
    /// that finds no free connection when it is due is dropped.
    pub shed_after_ns: Option<u64>,
}

impl OpenLoad {
    /// Length of all segments together; `None` if the last has no end.
    pub fn duration_ns(&self) -> Option<u64> {
        self.segments
            .iter()
            .map(Segment::duration_ns)
            .try_fold(0u64, |sum, one| one.map(|one| sum.saturating_add(one)))
    }
}

/// How arrivals are drawn from a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly spaced.
    Constant,
    /// A Poisson process with the segment's rate; not for bursts and replays.
    Poisson,
}

/// One part of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Segment {
    /// A constant rate. `step` in the load grammar becomes a sequence of these.
    Hold {
        /// The rate, above zero.
        rate: Rate,
        /// How long; `None`: as long as the run.
        duration_ns: Option<u64>,
    },
    /// A rate that changes linearly.
    Ramp {
        /// Rate at the beginning; may be zero.
        from: Rate,
        /// Rate at the end; may be zero, but not both.
        to: Rate,
        /// How long, above zero.
        duration_ns: u64,
    },
    /// `size` requests at once, repeatedly.
    Burst {
        /// Requests in a burst, at least 1.
        size: u64,
        /// From one burst to the next, above zero.
        every_ns: u64,
        /// How long; `None`: as long as the run.
        duration_ns: Option<u64>,
    },
    /// Due offsets from a file.
    Replay {
        /// Offsets from the segment's beginning, in ascending order, at least one.
        offsets_ns: Kept<u64>,
        /// How long: to the last offset, plus one nanosecond so that this offset is within.
        duration_ns: u64,
    },
}

impl Segment {
    /// Due offsets in ascending order, as a segment.
    pub fn replay(offsets_ns: impl Into<Kept<u64>>) -> Self {
        let offsets_ns = offsets_ns.into();
        let duration_ns = offsets_ns.whole().last().map_or(0, |last| last.saturating_add(1));
        Segment::Replay { offsets_ns, duration_ns }
    }

    /// How long the segment lasts; `None`: without end.
    pub fn duration_ns(&self) -> Option<u64> {
        match self {
            Segment::Hold { duration_ns, .. } | Segment::Burst { duration_ns, .. } => *duration_ns,
            Segment::Ramp { duration_ns, .. } | Segment::Replay { duration_ns, .. } => {
                Some(*duration_ns)
            }
        }
    }
}

/// A rate as an exact fraction: `events` in every `per_ns` nanoseconds.
///
/// Not reduced: it keeps the unit that the user chose, so `30/m` is 30 in 60 s. `per_ns` is at most
/// 10¹⁸.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// Events, up to 10⁹ in a second.
    pub events: u64,
    /// The time for these events in nanoseconds, above zero.
    pub per_ns: u64,
}

impl Rate {
    /// `events` in a second.
    pub fn per_second(events: u64) -> Self {
        Rate { events, per_ns: NS_PER_S }
    }

    /// In events per second, for display and estimates; never for a schedule.
    pub fn per_s_f64(self) -> f64 {
        self.events as f64 * NS_PER_S as f64 / self.per_ns as f64
    }
}

/// When a run ends. At least one of duration and count is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stop {
    /// Length of the measured window, warm-up not included.
    pub duration_ns: Option<u64>,
    /// Number of measured requests, warm-up not included.
    pub count: Option<u64>,
    /// How long to wait, after the end, for requests in flight.
    pub drain_ns: u64,
    /// Without a duration: how long the run may go without any response before it is given up.
    pub give_up_ns: u64,
}

/// Connections: their number, how they are opened, how they are used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connections {
    /// Open from the beginning, at least 1.
    pub count: u32,
    /// In an open load, more are opened up to this many while requests wait; at least `count`.
    pub max: u32,
    /// HTTP/1.1: requests in flight on one connection at the same time, at least 1.
    pub pipeline: u32,
    /// HTTP/2: streams open on one connection at the same time, at least 1. WebSocket: messages that wait for
    /// their replies.
    pub streams: u32,
    /// HTTP/2: the number of bytes that the server may send before we grant more.
    pub windows: Windows,
    /// HTTP/2: sizes of frames and of tables for header fields.
    pub frames: Frames,
    /// The number of requests after which we close a connection, at least 1.
    pub requests_per_connection: Option<u64>,
    /// The age at which we close a connection, even with requests in flight; above zero.
    pub lifetime_ns: Option<u64>,
    /// The highest rate of connection attempts; `None`: unlimited.
    pub connect_rate: Option<Rate>,
    /// The run begins with the first connection, and the others are opened during the run.
    pub connect_during_run: bool,
    /// All connections are opened at the start of the run and not before it, and none is replaced
    /// once it was established.
    pub once: bool,
    /// Each user has a connection of its own, made when its first step is due and closed when the user leaves.
    /// Then `count` and `max` are the number of users at a time.
    #[serde(default)]
    pub own: bool,
    /// Set TCP_NODELAY.
    pub nodelay: bool,
    /// Local addresses to connect from, in turn; empty: the system chooses.
    pub sources: Vec<IpAddr>,
}

impl Connections {
    /// Whether connections are opened during the run.
    pub fn during_run(&self) -> bool {
        self.connect_during_run || self.once
    }

    /// The most requests that one connection can have in flight, in any version of HTTP.
    pub fn places(&self) -> u32 {
        self.pipeline.max(self.streams)
    }
}

/// HTTP/2's receive windows, as powers of two from 16 to 30 (the window is 2^bits − 1 bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Windows {
    /// Of each stream.
    pub stream_bits: u8,
    /// Of the connection.
    pub connection_bits: u8,
}

/// HTTP/2's sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// The largest frame that we accept, from 2^14 to 2^24 − 1 bytes.
    pub max_bytes: u32,
    /// The size of the HPACK table for the server's header fields.
    pub header_table_bytes: u32,
    /// The size of the HPACK table for our header fields, if the server allows it.
    pub encoder_table_bytes: u32,
}

impl Default for Frames {
    /// The initial values of both sides (RFC 9113 6.5.2).
    fn default() -> Self {
        Frames { max_bytes: 16_384, header_table_bytes: 4096, encoder_table_bytes: 4096 }
    }
}

/// How long to wait before giving up. All above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeouts {
    /// For a connection to be established.
    pub connect_ns: u64,
    /// From sending a request to the last byte of its response.
    pub request_ns: u64,
    /// For the next byte while a response is awaited; `None`: only the request timeout counts.
    pub idle_ns: Option<u64>,
}

/// What a run records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recording {
    /// Significant decimal digits of the histograms, 1 to 5.
    pub digits: u8,
    /// Length of an interval, above zero.
    pub interval_ns: u64,
    /// Requests due (closed load: sent) before this are counted separately and not recorded.
    pub warm_up_ns: u64,
    /// Which single requests are traced, if any.
    pub trace: Option<Trace>,
    /// The kernel's own time stamps, if requested.
    pub kernel_timestamps: Option<KernelTimestamps>,
    /// Whether threads that never sleep record when the machine stalled them, which takes a system
    /// call in each turn of their loop.
    pub held_up: bool,
}

/// Which requests are traced: a pure function of the seed and of a request's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trace {
    /// Every one.
    All,
    /// On average one request in this number, at least 1.
    OneIn(u64),
    /// A simple random sample of this size, from 1 to [`Trace::MOST`].
    Count(u64),
}

impl std::fmt::Display for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trace::All => f.write_str("all"),
            Trace::OneIn(n) => write!(f, "1/{n}"),
            Trace::Count(count) => count.fmt(f),
        }
    }
}

impl Trace {
    /// The largest sample of a given size: it is kept in memory until the run ends.
    pub const MOST: u64 = 10_000_000;
}

/// On which connections the kernel stamps what it sends and receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelTimestamps {
    /// One connection in this number, at least 1.
    pub one_in: u32,
}

/// Threads and cores of the loader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threads {
    /// The number of workers; `None`: half of the usable cores, but never more than connections.
    pub count: Option<u32>,
    /// Pin each worker to a core.
    pub pin: bool,
    /// How a worker waits for due times.
    pub pacing: Pacing,
    /// How a worker waits for network events.
    pub reactor: ReactorChoice,
}

/// How a worker waits for network events on its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReactorChoice {
    /// The one that was measured to be cheaper for this number of connections.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// io_uring, or epoll where the kernel forbids it.
    Uring,
}

/// How a worker waits for a due time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Sleep, then spin for the last stretch, within a budget of CPU time; where stamps can be had, with them.
    #[default]
    Auto,
    /// Sleep only: the least CPU, but late by the time that the machine takes to wake.
    Sleep,
    /// Never sleep while a request is still to come: a whole core, and the least lag.
    Spin,
    /// Sleep until a request is due, whatever arrives, and take the times of responses from the kernel's stamps.
    Stamps,
}
