//! The events of one stretch of time, of one worker or merged from several.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::add;
use crate::errors::{ConnectErrorKind, DeviationKind, ErrorKind, LossKind, Tally};
use crate::histogram::{Histogram, Latencies};
use crate::ledger::Ledger;
use crate::rates::RateSamples;
use crate::recorder::Sample;
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
}

impl Bytes {
    fn merge(&mut self, other: &Bytes) {
        add(&mut self.sent, other.sent);
        add(&mut self.received, other.received);
        add(&mut self.bodies, other.bodies);
        add(&mut self.headers, other.headers);
        add(&mut self.headers_decoded, other.headers_decoded);
    }
}

/// Early acknowledgements of responses that had begun and then fell silent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AckCounts {
    /// How many there were.
    pub tried: u64,
    /// After how many the response was complete at once: it had waited for the acknowledgement.
    pub moved: u64,
}

impl AckCounts {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == AckCounts::default()
    }
}

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

impl PartCounts {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == PartCounts::default()
    }

    fn merge(&mut self, other: &PartCounts) {
        add(&mut self.count, other.count);
        add(&mut self.bytes, other.bytes);
        add(&mut self.unasked, other.unasked);
    }
}

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

impl DatagramCounts {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == DatagramCounts::default()
    }

    fn merge(&mut self, other: &DatagramCounts) {
        add(&mut self.sent, other.sent);
        add(&mut self.received, other.received);
        add(&mut self.congested, other.congested);
        add(&mut self.dropped, other.dropped);
    }
}

/// The events of connections.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionCounts {
    /// Established at the end of the stretch (a gauge: merging over workers adds it, merging over
    /// time keeps the later one).
    pub established: u64,
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
    pub handshakes: Vec<(Handshake, u64)>,
    /// GOAWAYs of servers by error code.
    pub goaways: Vec<GoAways>,
    /// Close frames of servers by close code (RFC 6455 7.4), and how many came; 1005: frames without one.
    pub close_codes: Vec<(u16, u64)>,
}

/// How many different codes of servers are counted by themselves.
const MOST_CODES: usize = 16;

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
}

impl ConnectionCounts {
    /// Counts handshakes with these parameters.
    pub fn add_handshakes(&mut self, handshake: &Handshake, count: u64) {
        match self.handshakes.iter_mut().find(|(known, _)| known == handshake) {
            Some((_, n)) => add(n, count),
            None => self.handshakes.push((handshake.clone(), count)),
        }
    }

    /// Counts close frames of one code. Beyond the limit, the last code collects all others.
    pub fn add_close_codes(&mut self, code: u16, count: u64) {
        let is_full = self.close_codes.len() == MOST_CODES;
        match self.close_codes.iter_mut().find(|(known, _)| *known == code) {
            Some((_, n)) => add(n, count),
            None if !is_full => self.close_codes.push((code, count)),
            None => {
                if let Some((last, n)) = self.close_codes.last_mut() {
                    *last = code;
                    add(n, count);
                }
            }
        }
    }

    /// Counts GOAWAYs of one code. The number of codes is limited, because a server may make them
    /// up: beyond the limit, the last code collects all others.
    pub fn add_goaways(&mut self, more: GoAways) {
        let is_full = self.goaways.len() == MOST_CODES;
        match self.goaways.iter_mut().find(|known| known.code == more.code) {
            Some(known) => add(&mut known.count, more.count),
            None if !is_full => self.goaways.push(more),
            None => {
                if let Some(last) = self.goaways.last_mut() {
                    *last = GoAways { count: last.count.saturating_add(more.count), ..more };
                }
            }
        }
    }

    /// The share of the time in which the target took connections, in [0, 1]; `None` if nothing was watched.
    pub fn availability(&self) -> Option<f64> {
        let share = self.refused_ns as f64 / self.watched_ns as f64;
        (self.watched_ns > 0).then(|| 1.0 - share.min(1.0))
    }

    fn merge_flows(&mut self, other: &ConnectionCounts) {
        add(&mut self.opened, other.opened);
        add(&mut self.closed_by_server, other.closed_by_server);
        add(&mut self.retired, other.retired);
        self.lost.merge(&other.lost);
        self.failed.merge(&other.failed);
        add(&mut self.refused_ns, other.refused_ns);
        add(&mut self.watched_ns, other.watched_ns);
        for (handshake, count) in &other.handshakes {
            self.add_handshakes(handshake, *count);
        }
        for &goaways in &other.goaways {
            self.add_goaways(goaways);
        }
        for &(code, count) in &other.close_codes {
            self.add_close_codes(code, count);
        }
    }
}

/// Counts for one request of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Measured requests sent.
    pub sent: u64,
    /// Got the expected response.
    pub ok: u64,
    /// Failed, of any kind.
    pub errors: u64,
    /// Response times, if the plan has more than one request and not too many.
    pub response: Option<Histogram>,
    /// If it is a step of a journey, and the plan has not too many: its other figures.
    #[serde(default)]
    pub step: Option<Box<StepCounts>>,
}

/// The figures of a step of a journey besides those that every request has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepCounts {
    /// Complete responses by status.
    pub statuses: Vec<StatusCount>,
    /// Service times.
    pub service: Histogram,
    /// Waits for a free connection.
    pub queue_wait: Histogram,
    /// Send lags.
    pub send_lag: Histogram,
}

impl StepCounts {
    fn new(digits: u8) -> Self {
        StepCounts {
            statuses: Vec::new(),
            service: Histogram::new(digits),
            queue_wait: Histogram::new(digits),
            send_lag: Histogram::new(digits),
        }
    }

    pub(crate) fn add_status(&mut self, status: u16, count: u64) {
        add_to(&mut self.statuses, status, count);
    }

    pub(crate) fn ok(&mut self, sample: &Sample) {
        self.add_status(sample.status, 1);
        self.service.record(sample.done_ns - sample.sent_ns);
        self.queue_wait.record(sample.ready_ns - sample.due_ns);
        self.send_lag.record(sample.sent_ns - sample.ready_ns);
    }

    fn merge(&mut self, other: &StepCounts) {
        for one in &other.statuses {
            self.add_status(one.status, one.count);
        }
        self.service.merge(&other.service);
        self.queue_wait.merge(&other.queue_wait);
        self.send_lag.merge(&other.send_lag);
    }

    fn clear(&mut self) {
        self.statuses.clear();
        self.service.clear();
        self.queue_wait.clear();
        self.send_lag.clear();
    }

    fn timed(&self) -> [&Histogram; 3] {
        [&self.service, &self.queue_wait, &self.send_lag]
    }
}

/// Everything that happened in one stretch of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Index from the beginning of the measured window; `None` for the warm-up.
    pub index: Option<u64>,
    /// Beginning, from the beginning of the run.
    pub start_ns: u64,
    /// End, from the beginning of the run.
    pub end_ns: u64,
    /// Measured requests.
    pub ledger: Ledger,
    /// Warm-up requests.
    pub warm_up: Ledger,
    /// Got the expected response, measured.
    pub latencies: Latencies,
    /// Response times of those that a pause of the loader's machine touched, as far as they were found in this
    /// stretch: a few of them were done before it. `None`: there are none.
    #[serde(default)]
    pub touched: Option<Box<Histogram>>,
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
    pub statuses: Vec<StatusCount>,
    /// Complete responses to measured requests that had been broken off before, by status.
    pub broken_off_statuses: Vec<StatusCount>,
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
    pub streams: Option<Box<StreamCounts>>,
    /// Datagrams.
    pub datagrams: DatagramCounts,
    /// Connections.
    pub connections: ConnectionCounts,
    /// Requests due and not sent at the end of the stretch (a gauge).
    pub backlog: u64,
    /// Requests sent, of the warm-up too, and without an outcome at the end of the stretch (a gauge).
    pub in_flight: u64,
    /// For each request of the plan.
    pub requests: Vec<RequestCounts>,
    /// For each journey of the plan.
    #[serde(default)]
    pub journeys: Vec<JourneyCounts>,
    /// Users under way at the end of the stretch (a gauge).
    #[serde(default)]
    pub users: u64,
    /// Measured users of an open load who came and did not begin: they were shed, or still waited when the run ended.
    #[serde(default)]
    pub users_not_begun: u64,
    /// Measured users that the schedule had for a lost agent, and of whom its results say nothing.
    #[serde(default)]
    pub users_unaccounted: u64,
    /// Responses of single workers in each tenth of a second that ended in the stretch.
    pub rates: RateSamples,
}

impl Interval {
    /// An empty stretch for a plan with `requests` requests and `journeys` journeys.
    pub fn new(digits: u8, requests: usize, journeys: usize) -> Self {
        let with_histograms = requests > 1 && requests <= MAX_REQUEST_HISTOGRAMS;
        let one = RequestCounts {
            sent: 0,
            ok: 0,
            errors: 0,
            response: with_histograms.then(|| Histogram::new(digits)),
            step: (journeys > 0 && requests <= MAX_REQUEST_HISTOGRAMS)
                .then(|| Box::new(StepCounts::new(digits))),
        };
        Interval {
            index: None,
            start_ns: 0,
            end_ns: 0,
            ledger: Ledger::default(),
            warm_up: Ledger::default(),
            latencies: Latencies::new(digits),
            touched: None,
            censored: Histogram::new(digits),
            connect: Histogram::new(digits),
            handshake: Histogram::new(digits),
            secured: Histogram::new(digits),
            statuses: Vec::with_capacity(16),
            broken_off_statuses: Vec::new(),
            deviations: Tally::default(),
            bytes: Bytes::default(),
            parts: PartCounts::default(),
            acks: AckCounts::default(),
            streams: None,
            datagrams: DatagramCounts::default(),
            connections: ConnectionCounts::default(),
            backlog: 0,
            in_flight: 0,
            requests: vec![one; requests],
            journeys: (0..journeys).map(|_| JourneyCounts::new(digits)).collect(),
            users: 0,
            users_not_begun: 0,
            users_unaccounted: 0,
            rates: RateSamples::default(),
        }
    }

    /// Counts complete responses with this status.
    #[inline]
    pub fn add_status(&mut self, status: u16, count: u64) {
        add_to(&mut self.statuses, status, count);
    }

    /// The same for responses to requests that had been broken off.
    pub fn add_broken_off_status(&mut self, status: u16, count: u64) {
        add_to(&mut self.broken_off_statuses, status, count);
    }

    /// Complete responses to measured requests, expected or not.
    pub fn answered(&self) -> u64 {
        let ledger = &self.ledger;
        let parts = [ledger.ok, ledger.error(ErrorKind::Status), ledger.error(ErrorKind::Body)];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Whether it can be added to `other`: they have the same requests and digits.
    pub(crate) fn fits(&self, other: &Interval) -> bool {
        let layouts = |one: &Interval| {
            let Latencies { response, queue_wait, send_lag, service, first_byte } = &one.latencies;
            let timed = [response, queue_wait, send_lag, service, first_byte];
            let Interval { censored, connect, handshake, secured, .. } = one;
            let all = timed.into_iter().chain([censored, connect, handshake, secured]);
            let requests = one.requests.iter().map(|one| one.response.as_ref());
            let steps = one.requests.iter().flat_map(|one| match &one.step {
                Some(step) => step.timed().map(Some),
                None => [None; 3],
            });
            let journeys =
                one.journeys.iter().flat_map(|one| [Some(&one.duration), Some(&one.active)]);
            let all = all.map(Some).chain(requests).chain(steps).chain(journeys);
            let layouts = all.map(|one| one.map(Histogram::layout));
            layouts.collect::<Vec<_>>()
        };
        // They come with the first event, so that one may have them and the other not.
        let own = self.latencies.response.layout();
        let streams = [self, other].into_iter().filter_map(|one| one.streams.as_ref());
        let touched = [self, other].into_iter().filter_map(|one| one.touched.as_deref());
        let are_alike =
            streams.flat_map(|one| one.timed()).chain(touched).all(|one| one.layout() == own);
        are_alike && layouts(self) == layouts(other)
    }

    /// Adds another worker's interval of the same stretch of time. It begins where the last of them begins: the drain
    /// of a worker that stopped early has the number of an interval in which others send.
    pub fn merge_worker(&mut self, other: &Interval) {
        self.start_ns = self.start_ns.max(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        add(&mut self.connections.established, other.connections.established);
        add(&mut self.backlog, other.backlog);
        add(&mut self.users, other.users);
        add(&mut self.in_flight, other.in_flight);
        self.merge_flows(other);
    }

    /// Adds a later stretch of time.
    pub fn merge_later(&mut self, later: &Interval) {
        self.end_ns = self.end_ns.max(later.end_ns);
        self.connections.established = later.connections.established;
        self.backlog = later.backlog;
        self.users = later.users;
        self.in_flight = later.in_flight;
        self.merge_flows(later);
    }

    fn merge_flows(&mut self, other: &Interval) {
        self.ledger.merge(&other.ledger);
        self.warm_up.merge(&other.warm_up);
        self.latencies.merge(&other.latencies);
        self.censored.merge(&other.censored);
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.secured.merge(&other.secured);
        for &StatusCount { status, count } in &other.statuses {
            self.add_status(status, count);
        }
        for &StatusCount { status, count } in &other.broken_off_statuses {
            self.add_broken_off_status(status, count);
        }
        self.deviations.merge(&other.deviations);
        self.bytes.merge(&other.bytes);
        self.parts.merge(&other.parts);
        add(&mut self.acks.tried, other.acks.tried);
        add(&mut self.acks.moved, other.acks.moved);
        match (&mut self.streams, &other.streams) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (none @ None, theirs) => none.clone_from(theirs),
            (Some(_), None) => {}
        }
        match (&mut self.touched, &other.touched) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (none @ None, theirs) => none.clone_from(theirs),
            (Some(_), None) => {}
        }
        self.datagrams.merge(&other.datagrams);
        self.connections.merge_flows(&other.connections);
        self.rates.merge(&other.rates);
        for (mine, theirs) in self.requests.iter_mut().zip(&other.requests) {
            add(&mut mine.sent, theirs.sent);
            add(&mut mine.ok, theirs.ok);
            add(&mut mine.errors, theirs.errors);
            if let (Some(a), Some(b)) = (&mut mine.response, &theirs.response) {
                a.merge(b);
            }
            if let (Some(a), Some(b)) = (&mut mine.step, &theirs.step) {
                a.merge(b);
            }
        }
        add(&mut self.users_not_begun, other.users_not_begun);
        add(&mut self.users_unaccounted, other.users_unaccounted);
        for (mine, theirs) in self.journeys.iter_mut().zip(&other.journeys) {
            mine.merge(theirs);
        }
    }

    /// Empties it, keeping the memory.
    pub fn clear(&mut self) {
        self.index = None;
        self.start_ns = 0;
        self.end_ns = 0;
        self.ledger = Ledger::default();
        self.warm_up = Ledger::default();
        self.latencies.clear();
        self.touched = None;
        self.censored.clear();
        self.connect.clear();
        self.handshake.clear();
        self.secured.clear();
        self.statuses.clear();
        self.broken_off_statuses.clear();
        self.deviations.clear();
        self.bytes = Bytes::default();
        self.parts = PartCounts::default();
        self.acks = AckCounts::default();
        if let Some(streams) = &mut self.streams {
            streams.clear();
        }
        self.datagrams = DatagramCounts::default();
        self.connections = ConnectionCounts::default();
        self.backlog = 0;
        self.in_flight = 0;
        self.rates.clear();
        for one in &mut self.requests {
            one.sent = 0;
            one.ok = 0;
            one.errors = 0;
            if let Some(histogram) = &mut one.response {
                histogram.clear();
            }
            if let Some(step) = &mut one.step {
                step.clear();
            }
        }
        (self.users, self.users_not_begun, self.users_unaccounted) = (0, 0, 0);
        self.journeys.iter_mut().for_each(JourneyCounts::clear);
    }
}

#[inline]
fn add_to(statuses: &mut Vec<StatusCount>, status: u16, count: u64) {
    match statuses.iter_mut().find(|known| known.status == status) {
        Some(known) => add(&mut known.count, count),
        None => statuses.push(StatusCount { status, count }),
    }
}
