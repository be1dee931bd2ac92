//! Runs for tests: made with record's own recorder and collector, so that their documents are like
//! those of real runs.

pub mod clients;
pub mod experiments;
pub mod fleet;
mod simulated;

use std::path::Path;

use candor_plan::redact::{Kind, Typed};
use candor_plan::*;
use candor_record::{
    ConnectErrorKind, DeviationKind, EndReason, ErrorKind, Hiccup, Hiccups, Histogram, Host, Pauses,
};

use crate::document::addresses::AddressRow;
use crate::document::counts::{ErrorCount, RequestRow};
use crate::document::latency::Distribution;
use crate::document::profile::Profile;
use crate::document::target::{ResourceSample, Resources};
use crate::document::{Document, Facts};
use crate::verdicts;
pub use simulated::{Outcome, Run, Simulated};

const MS: u64 = 1_000_000;
const WORKERS: usize = 2;

/// Compares with a checked-in file, or writes it if `CANDOR_RENEW` is set.
pub fn golden(file: &str, actual: &str) {
    let path = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join(file);
    if std::env::var_os("CANDOR_RENEW").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{file} is stale. Renew with: CANDOR_RENEW=1 cargo test --workspace --lib\n{actual}"
    );
}

pub fn host() -> Host {
    Host {
        cpu: Some("Example CPU".to_owned()),
        cores: Some(2),
        kernel: Some("Linux 6.1.0".to_owned()),
        ..Host::default()
    }
}

pub fn facts() -> Facts {
    Facts {
        version: "0.1.0".to_owned(),
        typed: {
            let mut typed = Typed::default();
            typed.push("candor", Kind::Plain, "");
            typed.push("", Kind::Url, "http://127.0.0.1:8080/hello");
            typed
        },
        started_unix_ms: 1_700_000_000_123,
        host: host(),
        target_note: Some("embedded".to_owned()),
        target_delay_ns: None,
    }
}

fn request(name: &str, path: &str) -> Request {
    Request {
        target: 0,
        name: name.to_owned(),
        method: "GET".to_owned(),
        path: path.to_owned(),
        headers: vec![("Authorization".to_owned(), "Bearer hunter2".to_owned())],
        body: [].into(),
        delivery: candor_plan::Delivery::default(),
        expect: Expect { status: StatusSet::below_400(), body: BodyExpect::Any },
        stream: None,
        weight: 1,
        holes: false,
        literal_body: false,
        call: None,
        reply: None,
        redacted: None,
    }
}

fn plan(load: Load, warm_up_ns: u64) -> Parts {
    Parts {
        others: Vec::new(),
        target: Target {
            name: candor_plan::MAIN_TARGET.to_owned(),
            connections: None,
            auth: None,
            alt_svc: None,
            url: "http://127.0.0.1:8080/hello".to_owned(),
            authority: "127.0.0.1:8080".to_owned(),
            endpoint: Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: 8080 },
            proxy: None,
            haproxy_protocol: HaproxyProtocol::Off,
            resolved: Vec::new(),
            allow: None,
            tls: None,
            http: candor_plan::HttpVersion::H1,
        },
        work: vec![request("GET /hello", "/hello")].into(),
        wire: Wire::Http,
        load,
        stop: Stop {
            duration_ns: Some(3000 * MS),
            count: None,
            drain_ns: 2000 * MS,
            give_up_ns: 10_000 * MS,
        },
        connections: Connections {
            count: 16,
            max: 16,
            pipeline: 1,
            streams: 1,
            windows: candor_plan::Windows { stream_bits: 30, connection_bits: 30 },
            frames: Default::default(),
            quic: Default::default(),
            requests_per_connection: None,
            lifetime_ns: None,
            dns_refresh_ns: None,
            connect_rate: None,
            connect_during_run: false,
            once: false,
            own: false,
            nodelay: true,
            sources: Vec::new(),
        },
        timeouts: Timeouts { connect_ns: 5000 * MS, request_ns: 5000 * MS, idle_ns: None },
        recording: Recording {
            digits: 3,
            interval_ns: 1000 * MS,
            warm_up_ns,
            trace: None,
            kernel_timestamps: None,
            held_up: false,
            by: None,
            goodput: None,
        },
        threads: Threads {
            count: None,
            pin: true,
            pacing: candor_plan::Pacing::Auto,
            reactor: candor_plan::ReactorChoice::Auto,
        },
        seed: 42,
        data: Vec::new(),
        environment: Vec::new(),
        compressed: false,
        secrets: Default::default(),
    }
}

/// A service time that varies: mostly a bit above 0.4 ms, at times much more.
fn service_ns(index: u64) -> u64 {
    let spread = index.wrapping_mul(2_654_435_761) % 100_000;
    400_000 + spread + if index % 500 == 499 { 3 * MS } else { 0 }
}

/// Constant 2000/s for 3 s after half a second of warm-up, everything in time.
pub fn healthy_open_run() -> Run {
    let rate = Rate::per_second(2000);
    let load = Load::Open(OpenLoad {
        segments: vec![
            Segment::Hold { rate, duration_ns: Some(500 * MS) },
            Segment::Hold { rate, duration_ns: Some(3000 * MS) },
        ],
        arrivals: Arrivals::Constant,
        shed_after_ns: None,
    });
    let requests = (0..7000)
        .map(|index| Simulated {
            due_ns: index * 500_000,
            queue_wait_ns: if index % 100 == 0 { 30_000 } else { 0 },
            send_lag_ns: 4_000 + index % 7 * 1000,
            request: 0,
            outcome: Outcome::Ok { service_ns: service_ns(index) },
        })
        .collect();
    Run {
        plan: plan(load, 500 * MS),
        requests,
        end: EndReason::Duration,
        backlog: Vec::new(),
        connect_errors: Vec::new(),
        lost: 0,
        pauses: Pauses::default(),
        cpu_share: 0.38,
    }
}

/// Sixteen connections, each sending as soon as it has its response, for 3 s.
pub fn healthy_closed_run() -> Run {
    let mut requests = Vec::new();
    for connection in 0..16u64 {
        let mut now_ns = connection * 10_000 + 100_000;
        while now_ns < 3000 * MS {
            let service_ns = service_ns(requests.len() as u64);
            requests.push(Simulated {
                due_ns: now_ns,
                queue_wait_ns: 0,
                send_lag_ns: 2_000,
                request: 0,
                outcome: Outcome::Ok { service_ns },
            });
            now_ns += 2_000 + service_ns;
        }
    }
    Run {
        plan: plan(Load::Closed { think_time_ns: 0 }, 0),
        requests,
        cpu_share: 0.71,
        ..healthy_open_run()
    }
}

/// Users who log in and look at their cart.
pub fn users_run() -> Run {
    let mut run = healthy_open_run();
    let requests = vec![request("login", "/login"), request("cart", "/cart")];
    let step = |request, captures| Step { captures, ..Step::plain(request) };
    let token = Capture { variable: "token".to_owned(), source: "json:$.token".to_owned() };
    let journey = Journey {
        name: "buy".to_owned(),
        weight: 1,
        steps: vec![step(0, vec![token]), step(1, Vec::new())],
        cookies: false,
        on_failure: OnFailure::End,
    };
    run.plan.work = Work::from(requests).walked(vec![journey], None);
    for (index, one) in run.requests.iter_mut().enumerate() {
        one.request = index as u32 % 2;
    }
    run
}

/// A healthy run whose responses are streams of four events, each a token.
pub fn streams_run() -> Run {
    let mut run = healthy_open_run();
    run.plan.work.requests_mut()[0].stream = Some(Streaming {
        tokens: Some(Tokens::Events),
        input_tokens: Some("json:$.n".to_owned()),
        ..Streaming::new(StreamForm::Sse)
    });
    run
}

/// The same with limits, which 5,400 of its 6,000 responses are under.
pub fn goodput_run() -> Run {
    let mut run = streams_run();
    run.plan.recording.goodput = "ttft<300ms,response<2s".parse().ok();
    run
}

/// Everything goes wrong at once: overload, errors of several kinds, lost connections, a loader
/// at its limit, and then a signal.
pub fn broken_run() -> Run {
    let mut run = healthy_open_run();
    run.plan.recording.warm_up_ns = 500 * MS;
    run.plan.work = vec![request("front", "/"), request("search", "/search?q=1")].into();
    for (index, one) in run.requests.iter_mut().enumerate() {
        let index = index as u64;
        one.request = (index % 4 / 2) as u32;
        one.queue_wait_ns = index * 4_000;
        one.send_lag_ns = 200_000 + index * 2_000;
        one.outcome = match index % 20 {
            0 => failed(ErrorKind::Status, Some(503)),
            1..=5 => failed(ErrorKind::Timeout, None),
            6..=10 => failed(ErrorKind::Reset, None),
            11 if index > 1000 => Outcome::Shed { after_ns: MS },
            _ if index > 6900 => Outcome::Unsent,
            _ if index > 6800 => Outcome::Unfinished,
            _ => one.outcome,
        };
    }
    run.end = EndReason::Interrupted;
    run.backlog = vec![100, 600, 1500];
    run.connect_errors = vec![ConnectErrorKind::PortsExhausted, ConnectErrorKind::FdsExhausted];
    run.lost = 5;
    run.cpu_share = 0.97;
    run
}

fn failed(kind: ErrorKind, status: Option<u16>) -> Outcome {
    Outcome::Failed { kind, status, after_ns: 300_000 }
}

/// A run without any connection.
pub fn empty_run() -> Run {
    Run {
        requests: Vec::new(),
        end: EndReason::GaveUp,
        connect_errors: vec![ConnectErrorKind::Refused; 3],
        plan: plan(Load::Closed { think_time_ns: 0 }, 0),
        ..healthy_open_run()
    }
}

pub fn healthy_open() -> Document {
    healthy_open_run().document()
}

pub fn healthy_closed() -> Document {
    healthy_closed_run().document()
}

/// A run in which every response has this status, which is an error.
pub fn failing(status: u16) -> Document {
    let mut run = healthy_open_run();
    for one in &mut run.requests {
        one.outcome = failed(ErrorKind::Status, Some(status));
    }
    run.document()
}

pub fn broken() -> Document {
    broken_run().document()
}

/// Messages of a WebSocket, each of which has its reply.
pub fn messages() -> Document {
    let mut document = healthy_closed();
    document.plan.wire = Wire::WebSocket(WebSocket {
        binary: false,
        fragment_bytes: None,
        replies: Replies::Ordered,
        message_field: None,
        hello: Vec::new().into(),
        ready: None,
        ignore: Vec::new(),
        reply: None,
        answers: Vec::new(),
        subprotocols: Vec::new(),
        deflate: false,
        ping_ns: None,
        message_bytes: 1 << 20,
    });
    document
}

pub fn every_document() -> [Document; 6] {
    let ended = |end| Run { end, ..healthy_closed_run() }.document();
    let [scripted, changed] = [EndReason::ScriptFailed, EndReason::DataFailed].map(ended);
    [healthy_open(), healthy_closed(), broken(), empty_run().document(), scripted, changed]
}

/// A distribution of these durations.
pub fn distribution(values_ns: &[u64]) -> Distribution {
    let mut histogram = Histogram::new(3);
    values_ns.iter().for_each(|&value_ns| histogram.record(value_ns));
    Distribution::of(&histogram)
}

/// A healthy run with one hiccup.
pub fn with_hiccup(one: Hiccup) -> Document {
    let mut record = healthy_open_run().record();
    let mut seen = Hiccups::new();
    (0..1000).for_each(|_| seen.late.record(60_000));
    seen.late.record(one.late_ns);
    seen.keep(one);
    record.machines[0].hiccups = Some(seen);
    Document::new(&facts(), &healthy_open_run().checked(), &record)
}

/// A healthy run whose machine paused for 50 ms, which held back 100 of its 6,000 requests.
pub fn paused_run() -> Run {
    let mut run = healthy_open_run();
    let (from_ns, to_ns) = (1500 * MS, 1550 * MS);
    run.pauses.add(from_ns, to_ns);
    let held = run.requests.iter_mut().filter(|one| (from_ns..to_ns).contains(&one.due_ns));
    held.for_each(|one| one.send_lag_ns += to_ns - one.due_ns);
    run
}

/// A closed loop that met a stall of half a second, with `held` slow requests.
pub fn stalled_closed(held: usize) -> Document {
    let mut run = healthy_closed_run();
    run.requests.retain(|one| !(1000 * MS..1500 * MS).contains(&one.due_ns));
    let stalled = Simulated {
        due_ns: 1000 * MS,
        queue_wait_ns: 0,
        send_lag_ns: 2_000,
        request: 0,
        outcome: Outcome::Ok { service_ns: 500 * MS },
    };
    run.requests.extend(std::iter::repeat_n(stalled, held));
    run.document()
}

/// An open load that met a stall of half a second.
pub fn stalled_open() -> Document {
    let mut run = healthy_open_run();
    for one in run.requests.iter_mut().filter(|one| (1500 * MS..2000 * MS).contains(&one.due_ns)) {
        one.queue_wait_ns = 2000 * MS - one.due_ns;
    }
    run.document()
}

/// A healthy open run with this number of intervals and these medians.
pub fn with_medians(intervals: usize, p50_ns: &dyn Fn(u64) -> u64) -> Document {
    let mut document = healthy_open();
    let row = document.intervals[0].clone();
    document.intervals = (0..intervals as u64)
        .map(|index| {
            let mut row = row.clone();
            row.index = index;
            row.response.p50_ns = Some(p50_ns(index));
            row
        })
        .collect();
    document.verdicts = verdicts::judge(&document);
    document
}

/// The resources of a managed target.
pub fn watched() -> Resources {
    let sample = ResourceSample {
        at_s: 0.1,
        cpu_share: 0.6,
        rss_bytes: 20_000_000,
        threads: 3,
        open_files: 24,
        voluntary_switches: 900,
        involuntary_switches: 4,
        processes: 2,
    };
    Resources {
        name: Some("server".to_owned()),
        command: vec!["server".to_owned(), "--fast".to_owned()],
        announced: [("protocol".to_owned(), "h1".to_owned())].into(),
        cores: vec![0],
        loader_cores: vec![1],
        samples: vec![sample, ResourceSample { at_s: 0.2, cpu_share: 0.5, ..sample }],
        cpu_share_mean: Some(0.55),
        cpu_share_max: Some(0.6),
        rss_peak_bytes: Some(20_000_000),
        cpu_s: Some(1.65),
        requests_per_cpu_s: Some(3636.0),
        ..Resources::default()
    }
}

/// The outcome of a profiler.
pub fn profile(problem: Option<&str>) -> Profile {
    let command = ["perf", "record", "-g", "-p", "4711", "-o", "result.profile"];
    Profile {
        command: command.map(str::to_owned).into(),
        file: Some("result.profile".to_owned()),
        file_bytes: Some(123_456),
        log: Some("result.profile.log".to_owned()),
        from_s: Some(0.002),
        to_s: Some(3.001),
        problem: problem.map(str::to_owned),
        log_tail: problem.map(|_| "Permission denied.".to_owned()).into_iter().collect(),
    }
}

/// Responses that deviate in every way.
pub fn deviations() -> Vec<ErrorCount> {
    let kinds = DeviationKind::ALL.into_iter().zip([12, 3]);
    let one = |(kind, count): (DeviationKind, u64)| ErrorCount {
        kind: kind.id().to_owned(),
        count,
        sentence: kind.sentence().to_owned(),
        example: Some("GET /hello: status 200".to_owned()),
        remedy: None,
    };
    kinds.map(one).collect()
}

/// A healthy run over TLS with these trusted CAs.
pub fn over_tls(trust: Trust) -> Document {
    let mut document = healthy_open();
    document.plan.target.tls = Some(Tls {
        trust,
        server_name: "secure.example".to_owned(),
        identity: None,
        alpn: vec!["h2".to_owned()],
        min: TlsVersion::V12,
        max: TlsVersion::V13,
        ciphers: Vec::new(),
        groups: Vec::new(),
        resumption: false,
        early_data: false,
    });
    document.verdicts = verdicts::judge(&document);
    document
}

/// A document with content for every part of a page.
pub fn full() -> Document {
    let mut document = broken();
    document.set_target(
        Resources {
            ended: Some("with exit status 1".to_owned()),
            log_tail: vec!["first".to_owned(), "second".to_owned()],
            stats: vec![crate::document::target::StatsSample {
                at_s: 1.0,
                json: serde_json::json!({"memory": 5}),
            }],
            ..watched()
        },
        true,
    );
    document.set_profile(profile(Some("it ended by itself after 2.99 s")));
    let expectations =
        ["p99 < 5ms", "error-rate < 0.1%"].map(|one| crate::Expectation::parse(one).unwrap());
    document.judge_expectations(&expectations);
    document
}

/// A run whose credential was renewed, and could not be so many times.
pub fn renewed(failed: u64) -> Document {
    let mut document = healthy_open();
    document.credentials = vec![candor_record::CredentialCounts {
        target: "main".to_owned(),
        kind: "oauth2".to_owned(),
        taken: 4,
        failed,
        took_ns: 8 * MS,
        longest_ns: 5 * MS,
        problem: (failed > 0).then(|| "http://h/token responds with 503".to_owned()),
    }];
    document.verdicts = verdicts::judge(&document);
    document
}

/// A run whose target's name was resolved 8 times again: so many failed, and so many new addresses were left out.
pub fn resolved_again(failed: u64, left_out: u64) -> Document {
    let mut document = healthy_open();
    document.names = vec![candor_record::NameCounts {
        target: "main".to_owned(),
        name: "h.example".to_owned(),
        asked: 8,
        answered: 8 - failed,
        failed,
        added: 2,
        gone: 1,
        left_out,
        took_ns: 16 * MS,
        longest_ns: 5 * MS,
        problem: (failed + left_out > 0).then(|| "the name has no address".to_owned()),
    }];
    document.verdicts = verdicts::judge(&document);
    document
}

/// Of two targets, each with an address; of the second: requests that succeeded and failed, connections made and refused.
pub fn of_two_targets(second: (u64, u64, u64, u64)) -> Document {
    let mut document = healthy_closed();
    for (name, (ok, errors, opened, failed)) in [("main", (100, 0, 4, 0)), ("other", second)] {
        let (name, sent) = (name.to_owned(), ok + errors);
        let row = AddressRow { target: name.clone(), opened, failed, ..AddressRow::default() };
        document.addresses.push(row);
        document.targets.push(RequestRow { name, sent, ok, errors, ..RequestRow::default() });
    }
    document.verdicts = verdicts::judge(&document);
    document
}

/// A run that gave three connections up that took nothing.
pub fn stuck() -> Document {
    let mut document = healthy_open();
    let kind = candor_record::LossKind::Stuck;
    document.connections.losses.push(crate::document::counts::ErrorCount {
        kind: kind.id().to_owned(),
        count: 3,
        sentence: kind.sentence().to_owned(),
        example: Some("the server allowed no stream".to_owned()),
        remedy: None,
    });
    document
}

/// One document for each verdict that the broken run does not provoke.
/// One of two addresses is down for half of the run.
pub fn down() -> Document {
    let row = |address: &str, opened, failed, down| AddressRow {
        target: candor_plan::MAIN_TARGET.to_owned(),
        address: address.to_owned(),
        opened,
        failed,
        down: Some(down),
        ..AddressRow::default()
    };
    let addresses = vec![row("127.0.0.1:80", 16, 0, 0.0), row("127.0.0.2:80", 3, 7, 0.5)];
    let mut document = Document { addresses, ..healthy_open() };
    document.verdicts = verdicts::judge(&document);
    document
}

/// Two addresses of which the second takes twice as long.
pub fn slow() -> Document {
    let row = |address: &str, times_ns: &[u64]| AddressRow {
        target: candor_plan::MAIN_TARGET.to_owned(),
        address: address.to_owned(),
        requests: Some(RequestRow {
            response: Some(distribution(times_ns)),
            ..RequestRow::default()
        }),
        ..AddressRow::default()
    };
    let addresses = vec![row("127.0.0.1:80", &[MS; 1000]), row("127.0.0.2:80", &[2 * MS; 1000])];
    Document { addresses, ..healthy_open() }
}

pub fn provoked() -> Vec<Document> {
    let stopped = Hiccup { at_ns: 2000 * MS, late_ns: 500 * MS, waited_ns: 0, stolen_ns: 0 };
    let mut shared = healthy_open();
    shared.workers[0].waited_ns = Some(shared.workers[0].wall_ns / 2);
    let mut moved = healthy_open();
    if let Some(hiccups) = &mut moved.machines[0].hiccups {
        hiccups.wall_clock_moved_ns = 3_600_000_000_000;
    }
    let mut nagle = healthy_closed();
    nagle.latencies.first_byte = distribution(&[200_000; 1000]);
    nagle.latencies.service = distribution(&[41 * MS; 1000]);
    nagle.acks = candor_record::AckCounts { tried: 12, moved: 12 };
    let mut lost = healthy_open();
    lost.latencies.connect = distribution(&[MS, 1010 * MS]);
    let mut uneven = healthy_open();
    if let Some(realised) = &mut uneven.realised {
        realised.largest_deviation_ns = Some(1e6);
    }
    let mut few = healthy_open();
    few.latencies.response = distribution(&[MS; 100]);
    let mut dead = healthy_open();
    dead.set_target(
        Resources {
            ended: Some("with exit status 1".to_owned()),
            log_tail: vec!["out of memory".to_owned()],
            ..watched()
        },
        false,
    );
    let mut unprofiled = healthy_open();
    unprofiled.set_profile(profile(Some("it ended by itself after 5 ms, with exit status 1")));
    let mut redirected = healthy_open();
    redirected.statuses[0].status = 302;
    let mut gone = healthy_closed();
    gone.intervals[1].availability = Some(0.0);
    let mut deviating = healthy_open();
    deviating.deviations = deviations();
    let mut all = vec![
        fleet::degraded(),
        fleet::apart(),
        deviating,
        redirected,
        gone,
        unprofiled,
        dead,
        with_hiccup(stopped),
        stalled_closed(16),
        stalled_open(),
        with_medians(20, &|index| 500_000 * (1 + index / 10)),
        shared,
        moved,
        nagle,
        lost,
        uneven,
        few,
        over_tls(Trust::Anybody),
        stuck(),
        down(),
        slow(),
    ];
    for document in &mut all {
        document.verdicts = verdicts::judge(document);
    }
    all
}
