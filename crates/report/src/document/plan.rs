//! What the run was asked to do: the plan as plain data, secrets left out.

use candor_plan::{
    Arrivals, BodyExpect, Endpoint, HttpVersion, Load, NS_PER_S, Order, Plan, Request, Secrets,
    Segment, StatusSet, Tls, TlsVersion, Trust, describe, redact,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delivery::DeliverySummary;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSummary {
    /// The URL, without user information; parameters by their names.
    pub url: String,
    /// What stands in `Host` headers.
    pub authority: String,
    /// Which HTTP is spoken.
    #[serde(default)]
    pub http: HttpSummary,
    /// What was asked of TLS; null for clear text.
    #[serde(default)]
    pub tls: Option<TlsSummary>,
    /// Where connections go: `HOST:PORT` or `unix:PATH`.
    pub endpoint: String,
    /// Addresses given for the endpoint's host.
    pub resolved: Vec<String>,
    /// What is sent.
    pub requests: Vec<RequestSummary>,
    /// How the next request is chosen.
    pub order: RequestOrder,
    /// How requests are timed.
    pub load: LoadSummary,
    /// When the run ends.
    pub stop: StopSummary,
    /// How connections are made and used.
    pub connections: ConnectionsSummary,
    /// How long is waited.
    pub timeouts: TimeoutsSummary,
    /// Significant decimal digits of the histograms.
    pub digits: u8,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Requests due before this are counted apart.
    pub warm_up_ns: u64,
    /// Workers asked for; null: chosen by the loader.
    pub threads: Option<u32>,
    /// How workers wait for due times: `auto`, `sleep` or `spin`.
    #[serde(default)]
    pub pacing: String,
    /// Whether workers are pinned to cores.
    pub pin: bool,
    /// Seed of everything random.
    pub seed: u64,
}

/// How the next request is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestOrder {
    /// One after the other.
    Rotation,
    /// At random by weight.
    Weighted,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSummary {
    /// Its name.
    pub name: String,
    /// Its method.
    pub method: String,
    /// Path and query; parameters by their names.
    pub path: String,
    /// Tells queries apart: four hexadecimal digits, so that two of 65,536 look the same. Left out
    /// without a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_hash: Option<String>,
    /// Header fields; values that may be secrets are redacted.
    pub headers: Vec<Header>,
    /// Length of its body.
    pub body_bytes: u64,
    /// As `query_hash`, of the request's body. Left out without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_hash: Option<String>,
    /// How it left, if not in one go with the length of its body in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliverySummary>,
    /// Status codes that are right, such as `100-399`.
    pub expect_status: String,
    /// What the body must be: `any`, `N bytes` or `exactly the given N bytes`.
    pub expect_body: String,
    /// Share under weighted order.
    pub weight: u32,
}

/// A header field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value, or `[redacted]`.
    pub value: String,
}

/// How requests are timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSummary {
    /// Closed or open.
    pub kind: LoadKind,
    /// In words.
    pub description: String,
    /// Closed load: pause between an answer and the next request.
    pub think_time_ns: Option<u64>,
    /// Open load: how arrivals are drawn.
    pub arrivals: Option<ArrivalKind>,
    /// Open load: requests older than this are dropped unsent.
    pub shed_after_ns: Option<u64>,
    /// Open load: the schedule; a warm-up is its first segment.
    pub segments: Vec<SegmentSummary>,
}

/// Closed or open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// The next request leaves when the last one ended.
    Closed,
    /// A schedule decides.
    Open,
}

/// How arrivals are drawn from a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalKind {
    /// Evenly spaced.
    Constant,
    /// A Poisson process.
    Poisson,
}

/// One part of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SegmentSummary {
    /// A constant rate.
    Hold {
        /// The rate.
        rate_per_s: f64,
        /// How long; null: as long as the run.
        duration_ns: Option<u64>,
    },
    /// A rate that changes linearly.
    Ramp {
        /// At the beginning.
        from_per_s: f64,
        /// At the end.
        to_per_s: f64,
        /// How long.
        duration_ns: u64,
    },
    /// Many at once, again and again.
    Burst {
        /// Requests in a burst.
        size: u64,
        /// From one burst to the next.
        every_ns: u64,
        /// How long; null: as long as the run.
        duration_ns: Option<u64>,
    },
    /// Due offsets from a file.
    Replay {
        /// How many.
        count: u64,
        /// Length, to the last offset.
        duration_ns: u64,
    },
}

/// When the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopSummary {
    /// Length of the measured window.
    pub duration_ns: Option<u64>,
    /// Number of measured requests.
    pub count: Option<u64>,
    /// Time for requests in flight after the end.
    pub drain_ns: u64,
    /// How long no connection may be had before the run is given up.
    pub give_up_ns: u64,
}

/// How connections are made and used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionsSummary {
    /// Open from the beginning.
    pub count: u32,
    /// Open at most, while requests wait.
    pub max: u32,
    /// Requests in flight on one connection.
    pub pipeline: u32,
    /// HTTP/2: streams open on one connection.
    #[serde(default = "one_stream")]
    pub streams: u32,
    /// Requests on one connection before we close it.
    pub requests_per_connection: Option<u64>,
    /// How long a connection lives before we close it, if that is bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_ns: Option<u64>,
    /// Whether the run begins with one connection a worker and the others come during it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub during_run: bool,
    /// Whether all were made at the beginning of the run, none before, and each carried one request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Attempts to connect in a second, if they are paced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_rate_per_s: Option<f64>,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// Local addresses.
    pub sources: Vec<String>,
}

/// How long is waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeoutsSummary {
    /// For a connection.
    pub connect_ns: u64,
    /// For a whole answer.
    pub request_ns: u64,
    /// For the next byte of an answer.
    pub idle_ns: Option<u64>,
}

/// What earlier documents mean by leaving it out.
fn one_stream() -> u32 {
    1
}

/// What is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpSummary {
    /// HTTP/1.1.
    #[default]
    #[serde(rename = "http/1.1")]
    H1,
    /// HTTP/2.
    #[serde(rename = "h2")]
    H2,
    /// HTTP/2 after an upgrade from HTTP/1.1.
    #[serde(rename = "h2c-upgrade")]
    Upgrade,
    /// What the server chooses by ALPN.
    #[serde(rename = "negotiated")]
    Negotiated,
}

impl HttpSummary {
    fn of(http: HttpVersion) -> Self {
        match http {
            HttpVersion::H1 => HttpSummary::H1,
            HttpVersion::H2 => HttpSummary::H2,
            HttpVersion::Upgrade => HttpSummary::Upgrade,
            HttpVersion::Negotiated => HttpSummary::Negotiated,
        }
    }
}

/// The value of [`TlsSummary::trust`] where certificates are not checked.
pub const ANYBODY: &str = "anybody";

/// What was asked of TLS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSummary {
    /// Who is believed: `system`, `anybody`, or the file of certificates.
    pub trust: String,
    /// The name that the server is asked for.
    pub server_name: String,
    /// Whether we have a certificate to show.
    pub own_certificate: bool,
    /// Protocols offered by ALPN.
    pub alpn: Vec<String>,
    /// Oldest and newest version.
    pub versions: [String; 2],
    /// Cipher suites offered; empty: all.
    pub ciphers: Vec<String>,
    /// Key exchange groups offered; empty: all.
    pub groups: Vec<String>,
    /// Whether sessions are taken up again.
    pub resumption: bool,
    /// Whether requests leave in the first flight then (0-RTT).
    #[serde(default)]
    pub early_data: bool,
}

impl TlsSummary {
    fn of(tls: &Tls) -> Self {
        let version = |version| match version {
            TlsVersion::V12 => "1.2".to_owned(),
            TlsVersion::V13 => "1.3".to_owned(),
        };
        TlsSummary {
            trust: match &tls.trust {
                Trust::System => "system".to_owned(),
                Trust::Anybody => ANYBODY.to_owned(),
                Trust::Only(pem) => pem.file.clone(),
            },
            server_name: tls.server_name.clone(),
            own_certificate: tls.identity.is_some(),
            alpn: tls.alpn.clone(),
            versions: [version(tls.min), version(tls.max)],
            ciphers: tls.ciphers.clone(),
            groups: tls.groups.clone(),
            resumption: tls.resumption,
            early_data: tls.early_data,
        }
    }
}

impl PlanSummary {
    pub(super) fn of(plan: &Plan) -> Self {
        let connections = &plan.connections;
        PlanSummary {
            url: plan.secrets.url(&plan.target.url),
            authority: plan.target.authority.clone(),
            http: HttpSummary::of(plan.target.http),
            tls: plan.target.tls.as_ref().map(TlsSummary::of),
            endpoint: endpoint(&plan.target.endpoint),
            resolved: plan.target.resolved.iter().map(ToString::to_string).collect(),
            requests: {
                let of = |request| RequestSummary::of(request, plan.secrets);
                plan.requests.list.iter().map(of).collect()
            },
            order: match plan.requests.order {
                Order::Rotation => RequestOrder::Rotation,
                Order::Weighted => RequestOrder::Weighted,
            },
            load: LoadSummary::of(plan),
            stop: StopSummary {
                duration_ns: plan.stop.duration_ns,
                count: plan.stop.count,
                drain_ns: plan.stop.drain_ns,
                give_up_ns: plan.stop.give_up_ns,
            },
            connections: ConnectionsSummary {
                count: connections.count,
                max: connections.max,
                pipeline: connections.pipeline,
                streams: connections.streams,
                requests_per_connection: connections.requests_per_connection,
                lifetime_ns: connections.lifetime_ns,
                during_run: connections.connect_during_run || connections.once,
                once: connections.once,
                connect_rate_per_s: connections.connect_rate.map(|rate| rate.per_s_f64()),
                nodelay: connections.nodelay,
                sources: connections.sources.iter().map(ToString::to_string).collect(),
            },
            timeouts: TimeoutsSummary {
                connect_ns: plan.timeouts.connect_ns,
                request_ns: plan.timeouts.request_ns,
                idle_ns: plan.timeouts.idle_ns,
            },
            digits: plan.recording.digits,
            interval_ns: plan.recording.interval_ns,
            warm_up_ns: plan.recording.warm_up_ns,
            threads: plan.threads.count,
            pacing: plan.threads.pacing.as_str().to_owned(),
            pin: plan.threads.pin,
            seed: plan.seed,
        }
    }
}

fn endpoint(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        Endpoint::Tcp { host, port } => format!("{host}:{port}"),
        Endpoint::Unix { path } => format!("unix:{}", path.display()),
    }
}

impl RequestSummary {
    fn of(request: &Request, secrets: Secrets) -> Self {
        let hash = |bytes: &[u8]| (!bytes.is_empty()).then(|| redact::hash(bytes));
        let query = request.path.split_once('?').map_or("", |(_, query)| query);
        let headers = request.headers.iter();
        RequestSummary {
            name: request.name.clone(),
            method: request.method.clone(),
            path: secrets.path(&request.path).into_owned(),
            query_hash: hash(query.as_bytes()),
            headers: headers.map(|(name, value)| Header::of(name, value, secrets)).collect(),
            body_bytes: request.body.len() as u64,
            body_hash: hash(&request.body),
            delivery: DeliverySummary::of(&request.delivery),
            expect_status: statuses(&request.expect.status),
            expect_body: match &request.expect.body {
                BodyExpect::Any => "any".to_owned(),
                BodyExpect::Length(length) => format!("{length} bytes"),
                BodyExpect::Exact(body) => format!("exactly the given {} bytes", body.len()),
            },
            weight: request.weight,
        }
    }
}

fn statuses(set: &StatusSet) -> String {
    let ranges: Vec<_> = set
        .ranges
        .iter()
        .map(|&(low, high)| if low == high { low.to_string() } else { format!("{low}-{high}") })
        .collect();
    ranges.join(",")
}

impl Header {
    fn of(name: &str, value: &str, secrets: Secrets) -> Self {
        Header { name: name.to_owned(), value: secrets.header(name, value).to_owned() }
    }
}

impl LoadSummary {
    fn of(plan: &Plan) -> Self {
        let description = describe::load(plan);
        match &plan.load {
            Load::Closed { think_time_ns } => LoadSummary {
                kind: LoadKind::Closed,
                description,
                think_time_ns: Some(*think_time_ns),
                arrivals: None,
                shed_after_ns: None,
                segments: Vec::new(),
            },
            Load::Open(open) => {
                let arrivals = match open.arrivals {
                    Arrivals::Constant => ArrivalKind::Constant,
                    Arrivals::Poisson => ArrivalKind::Poisson,
                };
                LoadSummary {
                    kind: LoadKind::Open,
                    description,
                    think_time_ns: None,
                    arrivals: Some(arrivals),
                    shed_after_ns: open.shed_after_ns,
                    segments: open.segments.iter().map(SegmentSummary::of).collect(),
                }
            }
        }
    }
}

impl SegmentSummary {
    fn of(segment: &Segment) -> Self {
        match segment {
            Segment::Hold { rate, duration_ns } => {
                SegmentSummary::Hold { rate_per_s: rate.per_s_f64(), duration_ns: *duration_ns }
            }
            Segment::Ramp { from, to, duration_ns } => SegmentSummary::Ramp {
                from_per_s: from.per_s_f64(),
                to_per_s: to.per_s_f64(),
                duration_ns: *duration_ns,
            },
            Segment::Burst { size, every_ns, duration_ns } => SegmentSummary::Burst {
                size: *size,
                every_ns: *every_ns,
                duration_ns: *duration_ns,
            },
            Segment::Replay { offsets_ns } => SegmentSummary::Replay {
                count: offsets_ns.len() as u64,
                duration_ns: segment.duration_ns().unwrap_or(0),
            },
        }
    }
}

/// Requests that the schedule asks for from `from_ns` to `to_ns` of the run, as a mean: the
/// integral of the rate. `None` in a closed load.
pub(super) fn asked_between(load: &Load, from_ns: u64, to_ns: u64) -> Option<f64> {
    let Load::Open(open) = load else { return None };
    let mut begin_ns = 0u64;
    let mut sum = 0.0;
    for segment in &open.segments {
        let end_ns =
            segment.duration_ns().map_or(u64::MAX, |length_ns| begin_ns.saturating_add(length_ns));
        let (low_ns, high_ns) = (from_ns.max(begin_ns), to_ns.min(end_ns));
        if low_ns < high_ns {
            sum += asked_of_segment(segment, low_ns - begin_ns, high_ns - begin_ns);
        }
        begin_ns = end_ns;
    }
    Some(sum)
}

/// The same within one segment, from its beginning.
fn asked_of_segment(segment: &Segment, from_ns: u64, to_ns: u64) -> f64 {
    let span_s = (to_ns - from_ns) as f64 / NS_PER_S as f64;
    match segment {
        Segment::Hold { rate, .. } => rate.per_s_f64() * span_s,
        Segment::Ramp { from, to, duration_ns } => {
            // The rate is linear in time, so its mean over a span is that at the span's middle.
            let middle = (from_ns as f64 + to_ns as f64) / 2.0 / *duration_ns as f64;
            let (from, to) = (from.per_s_f64(), to.per_s_f64());
            (from + (to - from) * middle) * span_s
        }
        Segment::Burst { size, every_ns, .. } => {
            // Bursts are at 0, every, 2 every, …: those in [from, to).
            let bursts = to_ns.div_ceil(*every_ns) - from_ns.div_ceil(*every_ns);
            *size as f64 * bursts as f64
        }
        Segment::Replay { offsets_ns } => {
            let before = |ns| offsets_ns.partition_point(|&offset_ns| offset_ns < ns);
            (before(to_ns) - before(from_ns)) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_plan::{OpenLoad, Rate};

    use super::*;

    fn asked(segments: Vec<Segment>, from_s: u64, to_s: u64) -> f64 {
        let load =
            Load::Open(OpenLoad { segments, arrivals: Arrivals::Constant, shed_after_ns: None });
        asked_between(&load, from_s * NS_PER_S, to_s * NS_PER_S).unwrap()
    }

    fn hold(per_s: u64, seconds: Option<u64>) -> Segment {
        let duration_ns = seconds.map(|s| s * NS_PER_S);
        Segment::Hold { rate: Rate::per_second(per_s), duration_ns }
    }

    #[test]
    fn the_integral_of_the_schedule() {
        assert_eq!(asked(vec![hold(100, None)], 2, 5), 300.0);
        assert_eq!(asked(vec![hold(100, Some(2)), hold(10, Some(4))], 1, 9), 140.0);
        let ramp = Segment::Ramp {
            from: Rate::per_second(0),
            to: Rate::per_second(100),
            duration_ns: 10 * NS_PER_S,
        };
        assert_eq!(asked(vec![ramp.clone()], 0, 10), 500.0);
        assert_eq!(asked(vec![ramp], 5, 10), 375.0);
        let burst = Segment::Burst { size: 7, every_ns: NS_PER_S, duration_ns: None };
        assert_eq!(asked(vec![burst.clone()], 0, 3), 21.0);
        assert_eq!(asked(vec![hold(1, Some(1)), burst], 1, 2), 7.0);
        let replay = Segment::Replay { offsets_ns: vec![0, 1, NS_PER_S, 2 * NS_PER_S].into() };
        assert_eq!(asked(vec![replay.clone()], 0, 9), 4.0);
        assert_eq!(asked(vec![replay], 1, 2), 1.0);
        assert_eq!(asked_between(&Load::Closed { think_time_ns: 0 }, 0, 1), None);
    }

    #[test]
    fn secrets_are_redacted() {
        let mut run = crate::testing::empty_run();
        run.plan.target.url = "http://h/p?access_token=hunter2".to_owned();
        let request = &mut run.plan.requests.list[0];
        request.path = "/p?access_token=hunter2".to_owned();
        request.body = b"hunter2"[..].into();
        request.headers = vec![
            ("X-Access-Key".to_owned(), "hunter2".to_owned()),
            ("Accept".to_owned(), "text/html".to_owned()),
        ];
        let summary = PlanSummary::of(&run.plan);
        let one = &summary.requests[0];
        assert!(!format!("{summary:?}").contains("hunter2"), "{summary:?}");
        assert_eq!((one.path.as_str(), one.body_bytes), ("/p?access_token=…", 7));
        assert_eq!(one.headers[1].value, "text/html");
        run.plan.secrets = Secrets::Shown;
        let shown = PlanSummary::of(&run.plan);
        assert_eq!(shown.requests[0].headers[0].value, "hunter2");
        assert_eq!(shown.url, run.plan.target.url);
        // Whether secrets are shown or not, results of the same requests can be told from others.
        assert_eq!(shown.requests[0].body_hash, one.body_hash);
        run.plan.requests.list[0].path = "/p?access_token=other".to_owned();
        let other = PlanSummary::of(&run.plan);
        assert_ne!(other.requests[0].query_hash, one.query_hash);
        assert_eq!(other.requests[0].body_hash, one.body_hash);
    }

    #[test]
    fn an_ipv6_endpoint_has_brackets() {
        let tcp = Endpoint::Tcp { host: "::1".to_owned(), port: 80 };
        assert_eq!(endpoint(&tcp), "[::1]:80");
        assert_eq!(endpoint(&Endpoint::Unix { path: "/run/x".into() }), "unix:/run/x");
    }
}
