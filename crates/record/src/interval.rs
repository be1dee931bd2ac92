//! The events of one stretch of time, of one worker or merged from several.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::errors::{ConnectErrorKind, DeviationKind, ErrorKind, LossKind, Tally};
use crate::figure::{self, Figure, Keyed, figures};
use crate::histogram::Histogram;
use crate::latencies::{BlockedCounts, Latencies};
use crate::ledger::Ledger;
use crate::paths::Paths;
use crate::rates::RateSamples;
use crate::streams::StreamCounts;
use crate::users::JourneyCounts;

/// With more request shapes than this, requests are counted but get no histogram of their own.
pub(crate) const MAX_REQUEST_HISTOGRAMS: usize = 32;

/// Responses with one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusCount {
    /// The status.
    pub status: u16,
    /// How many responses had it.
    pub count: u64,
}

impl Keyed for StatusCount {
    #[inline]
    fn is_alike(&self, other: &Self) -> bool {
        self.status == other.status
    }

    #[inline]
    fn count(&mut self) -> &mut u64 {
        &mut self.count
    }
}

figures! {
    /// Bytes.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Bytes {
        /// Written to sockets.
        pub sent: u64,
        /// Read from sockets.
        pub received: u64,
        /// Bodies of complete responses, framing removed.
        pub bodies: u64,
        /// Header blocks of HTTP/2 as received; 0 over HTTP/1.1.
        #[serde(default)]
        pub headers: u64,
        /// The decoded names and values of those.
        #[serde(default)]
        pub headers_decoded: u64,
        /// Of the bodies, those with a content coding that something looked into, as received.
        #[serde(default)]
        pub coded: u64,
        /// What those were decoded to.
        #[serde(default)]
        pub decoded: u64,
    }
}

figures! {
    /// Early acknowledgements of responses that had begun and then fell silent.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct AckCounts {
        /// How many there were.
        pub tried: u64,
        /// After how many the response was complete at once: it had waited for the acknowledgement.
        pub moved: u64,
    }
}

impl AckCounts {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == AckCounts::default()
    }
}

figures! {
    /// Parts of responses, and what was sent without a request, of protocols that have them.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct PartCounts {
        /// Parts that came.
        pub count: u64,
        /// Their payload, framing removed.
        pub bytes: u64,
        /// Those that no request asked for.
        pub unasked: u64,
    }
}

impl PartCounts {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == PartCounts::default()
    }
}

figures! {
    /// Datagrams, of protocols over them.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct DatagramCounts {
        /// Handed to the kernel.
        pub sent: u64,
        /// Read.
        pub received: u64,
        /// Those of them that a router marked because of congestion (RFC 3168 5: CE).
        pub congested: u64,
        /// Dropped on this machine because the socket's receive buffer was full, as the kernel counts them;
        /// known when a connection ends.
        pub dropped: u64,
    }
}

impl DatagramCounts {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == DatagramCounts::default()
    }
}

figures! {
    /// The events of connections.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct ConnectionCounts {
        /// Established at the end of the stretch.
        pub established: u64 as Gauge,
        /// Newly established.
        pub opened: u64,
        /// Closed by the server, in order: idle, or announced.
        pub closed_by_server: u64,
        /// Closed by us: the limit of requests on a connection was reached.
        pub retired: u64,
        /// Lost, by [`LossKind`].
        pub lost: Tally<{ LossKind::ALL.len() }>,
        /// Attempts that failed, by [`ConnectErrorKind`].
        pub failed: Tally<{ ConnectErrorKind::ALL.len() }>,
        /// How long workers had no connection because the target took none.
        pub refused_ns: u64,
        /// How long workers were watched for that: of each, the length of the stretch.
        pub watched_ns: u64,
        /// TLS handshakes by their parameters.
        pub handshakes: Vec<(Handshake, u64)> as ByKey,
        /// GOAWAYs of servers by error code.
        pub goaways: Vec<GoAways> as ByKey,
        /// Close frames of servers by close code (RFC 6455 7.4), and how many came; 1005: frames without one.
        pub close_codes: Vec<(u16, u64)> as ByKey,
        /// The same with a reason, by code and reason: the first that came, others are in `close_codes` alone.
        pub close_reasons: Vec<CloseReason> as ByKey,
    }
}

/// How many different codes of servers are counted by themselves.
const MOST_CODES: usize = 16;

/// How many different reasons of close frames are kept, each of at most 123 bytes.
const MOST_REASONS: usize = 16;

/// Close frames with one code and one reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CloseReason {
    /// The close code.
    pub code: u16,
    /// The reason.
    pub reason: Box<str>,
    /// How many came.
    pub count: u64,
}

/// GOAWAYs with one error code (RFC 9113 6.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoAways {
    /// The error code.
    pub code: u32,
    /// How many came.
    pub count: u64,
    /// The last stream that the first of them named.
    pub last_stream: u32,
}

/// The negotiated parameters of a TLS handshake, by their registered names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Handshake {
    /// Version, such as `TLSv1.3`.
    pub version: Cow<'static, str>,
    /// Cipher suite, such as `TLS13_AES_256_GCM_SHA384`.
    pub cipher: Cow<'static, str>,
    /// Group of the key exchange, such as `X25519`; empty if there was none.
    pub group: Cow<'static, str>,
    /// Protocol chosen by ALPN; empty if none was.
    pub alpn: Cow<'static, str>,
    /// Whether it resumed an earlier session with a ticket.
    pub resumed: bool,
    /// Whether the server accepted early data (0-RTT); `None`: none was sent.
    pub early_data: Option<bool>,
    /// Whether the server demanded a proof of the address first (Retry, RFC 9000 8.1.2).
    pub retried: bool,
}

impl ConnectionCounts {
    /// The share of the time in which the target took connections, in [0, 1]; `None` if nothing was watched.
    pub fn availability(&self) -> Option<f64> {
        let share = self.refused_ns as f64 / self.watched_ns as f64;
        (self.watched_ns > 0).then(|| 1.0 - share.min(1.0))
    }
}

impl Keyed for (Handshake, u64) {
    fn is_alike(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn count(&mut self) -> &mut u64 {
        &mut self.1
    }
}

impl Keyed for GoAways {
    const MOST: usize = MOST_CODES;

    fn is_alike(&self, other: &Self) -> bool {
        self.code == other.code
    }

    fn count(&mut self) -> &mut u64 {
        &mut self.count
    }
}

impl Keyed for CloseReason {
    const MOST: usize = MOST_REASONS;

    fn is_alike(&self, other: &Self) -> bool {
        (self.code, &self.reason) == (other.code, &other.reason)
    }

    fn count(&mut self) -> &mut u64 {
        &mut self.count
    }

    fn collect(&mut self, _: Self) {}
}

impl Keyed for (u16, u64) {
    const MOST: usize = MOST_CODES;

    fn is_alike(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn count(&mut self) -> &mut u64 {
        &mut self.1
    }
}

figures! {
    /// Counts for one request of the plan.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct RequestCounts {
        /// Measured requests sent.
        pub sent: u64,
        /// Got the expected response.
        pub ok: u64,
        /// Failed, of any kind.
        pub errors: u64,
        /// Of these, those that got no response.
        #[serde(default)]
        pub unanswered: u64,
        /// Response times, if the plan has more than one request and not too many.
        pub response: Option<Histogram>,
        /// If it is a step of a journey, and the plan has not too many: its other figures.
        #[serde(default)]
        pub step: Option<Box<StepCounts>>,
    }
}

figures! {
    /// The figures of a step of a journey besides those that every request has.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct StepCounts {
        /// Complete responses by status.
        pub statuses: Vec<StatusCount> as ByKey,
        /// Service times.
        pub service: Histogram,
        /// Waits for a free connection.
        pub queue_wait: Histogram,
        /// Send lags.
        pub send_lag: Histogram,
    }
}

figures! {
    /// Everything that happened in one stretch of time.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Interval {
        /// Index from the beginning of the measured window; `None` for the warm-up.
        pub index: Option<u64> as Own,
        /// Beginning, from the beginning of the run.
        pub start_ns: u64 as Own,
        /// End, from the beginning of the run.
        pub end_ns: u64 as Maximum,
        /// Measured requests.
        pub ledger: Ledger,
        /// Warm-up requests.
        pub warm_up: Ledger,
        /// Got the expected response, measured.
        pub latencies: Latencies,
        /// Those of them that were blocked; `None` before the first one.
        #[serde(default)]
        pub blocked: Option<Box<BlockedCounts>> as Late,
        /// Response times of those that a pause of the loader's machine touched, as far as they were found in this
        /// stretch: a few of them were done before it. `None`: there are none.
        #[serde(default)]
        pub touched: Option<Box<Histogram>> as Late,
        /// Ages of measured requests without a response (unsent, unfinished, timed out) when they were
        /// given up: lower bounds of response times.
        pub censored: Histogram,
        /// Time to establish a connection, without a handshake of TLS.
        pub connect: Histogram,
        /// Time of TLS handshakes, after the TCP connection was established.
        pub handshake: Histogram,
        /// Time until TLS connections were secured: connect and handshake together.
        pub secured: Histogram,
        /// Complete responses to measured requests, by status.
        pub statuses: Vec<StatusCount> as ByKey,
        /// Complete responses to measured requests that had been broken off before, by status.
        pub broken_off_statuses: Vec<StatusCount> as ByKey,
        /// Complete responses to measured requests that deviate from the RFC, by [`DeviationKind`].
        pub deviations: Tally<{ DeviationKind::ALL.len() }>,
        /// Bytes; those of header blocks are counted when their connection ends.
        pub bytes: Bytes,
        /// Parts of responses.
        pub parts: PartCounts,
        /// Early acknowledgements, of the warm-up too.
        pub acks: AckCounts,
        /// Streams of events; `None` before the first event.
        #[serde(default)]
        pub streams: Option<Box<StreamCounts>> as Late,
        /// Measured responses as expected that were under the plan's limits; 0 if it has none.
        #[serde(default)]
        pub good: u64,
        /// Datagrams.
        pub datagrams: DatagramCounts,
        /// Paths of connections over QUIC that ended; `None` before the first one.
        #[serde(default)]
        pub paths: Option<Box<Paths>> as Late,
        /// Connections.
        pub connections: ConnectionCounts,
        /// Requests due and not sent at the end of the stretch (a gauge).
        pub backlog: u64 as Gauge,
        /// Requests sent, of the warm-up too, and without an outcome at the end of the stretch (a gauge).
        pub in_flight: u64 as Gauge,
        /// For each request of the plan.
        pub requests: Vec<RequestCounts>,
        /// For each journey of the plan.
        #[serde(default)]
        pub journeys: Vec<JourneyCounts>,
        /// Users under way at the end of the stretch (a gauge).
        #[serde(default)]
        pub users: u64 as Gauge,
        /// Measured users of an open load who came and did not begin: they were shed, or still waited when the run ended.
        #[serde(default)]
        pub users_not_begun: u64,
        /// Measured users that the schedule had for a lost agent, and of whom its results say nothing.
        #[serde(default)]
        pub users_unaccounted: u64,
        /// Responses of single workers in each tenth of a second that ended in the stretch.
        pub rates: RateSamples,
    }
}

impl Interval {
    /// An empty stretch for a plan with `requests` requests and `journeys` journeys.
    pub fn new(digits: u8, requests: usize, journeys: usize) -> Self {
        let with_histograms = requests > 1 && requests <= MAX_REQUEST_HISTOGRAMS;
        let with_steps = journeys > 0 && requests <= MAX_REQUEST_HISTOGRAMS;
        let one = RequestCounts {
            response: with_histograms.then(|| Histogram::new(digits)),
            step: with_steps.then(|| Figure::new(digits)),
            ..Figure::new(digits)
        };
        Interval {
            statuses: Vec::with_capacity(16),
            requests: vec![one; requests],
            journeys: (0..journeys).map(|_| Figure::new(digits)).collect(),
            ..Figure::new(digits)
        }
    }

    /// Counts complete responses with this status.
    #[inline]
    pub fn add_status(&mut self, status: u16, count: u64) {
        figure::count(&mut self.statuses, StatusCount { status, count });
    }

    /// The same for responses to requests that had been broken off.
    pub fn add_broken_off_status(&mut self, status: u16, count: u64) {
        figure::count(&mut self.broken_off_statuses, StatusCount { status, count });
    }

    /// Complete responses to measured requests, expected or not.
    pub fn answered(&self) -> u64 {
        let whole = ErrorKind::ALL.into_iter().filter(|kind| kind.is_whole());
        whole.map(|kind| self.ledger.error(kind)).fold(self.ledger.ok, u64::saturating_add)
    }

    /// Whether it can be added to `other`: they have the same requests and digits.
    pub(crate) fn fits(&self, other: &Interval) -> bool {
        Figure::fits(self, other, other.latencies.response.layout())
    }

    /// Adds another worker's interval of the same stretch of time. It begins where the last of them begins: the drain
    /// of a worker that stopped early has the number of an interval in which others send.
    pub fn merge_worker(&mut self, other: &Interval) {
        self.start_ns = self.start_ns.max(other.start_ns);
        self.merge(other);
    }

    /// Adds a later stretch of time.
    pub fn merge_later(&mut self, later: &Interval) {
        self.follow(later);
    }

    /// Empties it, keeping the memory but for what is rarely there.
    pub fn clear(&mut self) {
        Figure::clear(self);
        self.touched = None;
    }
}
