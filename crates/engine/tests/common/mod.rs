//! Plans for tests of the engine. Not every test needs all of it.
#![allow(dead_code)]

pub(crate) mod trace;

use candor_plan::*;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000_000_000;

/// One GET on `connections` connections, with this load, for `duration_ns`.
pub(crate) fn plan(connections: u32, load: Load, duration_ns: u64) -> Parts {
    Parts {
        others: Vec::new(),
        target: Target {
            name: candor_plan::MAIN_TARGET.to_owned(),
            connections: None,
            auth: None,
            alt_svc: None,
            url: "http://sim/".to_owned(),
            authority: "sim".to_owned(),
            endpoint: Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: 80 },
            proxy: None,
            haproxy_protocol: HaproxyProtocol::Off,
            resolved: vec![],
            allow: None,
            tls: None,
            http: HttpVersion::H1,
        },
        work: vec![get("/")].into(),
        wire: Wire::Http,
        load,
        stop: Stop {
            duration_ns: Some(duration_ns),
            count: None,
            drain_ns: 5 * S,
            give_up_ns: 10 * S,
        },
        connections: Connections {
            count: connections,
            max: connections,
            pipeline: 1,
            streams: 1,
            windows: Windows { stream_bits: 30, connection_bits: 30 },
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
            sources: vec![],
        },
        timeouts: Timeouts { connect_ns: 10 * S, request_ns: 30 * S, idle_ns: None },
        recording: Recording {
            digits: 3,
            interval_ns: S,
            warm_up_ns: 0,
            trace: None,
            kernel_timestamps: None,
            held_up: false,
            by: None,
            goodput: None,
        },
        threads: Threads {
            count: Some(1),
            pin: false,
            pacing: Pacing::Sleep,
            reactor: ReactorChoice::Auto,
        },
        seed: 1,
        data: Vec::new(),
        environment: Vec::new(),
        compressed: false,
        secrets: Default::default(),
    }
}

/// The plan of these parts.
pub(crate) fn checked(parts: &Parts) -> Plan {
    parts.clone().try_into().expect("a plan")
}

/// A GET for `path`.
pub(crate) fn get(path: &str) -> Request {
    Request {
        target: 0,
        name: format!("GET {path}"),
        method: "GET".to_owned(),
        path: path.to_owned(),
        headers: vec![],
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

pub(crate) fn closed(think_time_ns: u64) -> Load {
    Load::Closed { think_time_ns }
}

/// An open load at a constant mean rate.
pub(crate) fn open(rate_per_s: u64, arrivals: Arrivals) -> Load {
    let rate = Rate::per_second(rate_per_s);
    let segments = vec![Segment::Hold { rate, duration_ns: None }];
    Load::Open(OpenLoad { segments, arrivals, shed_after_ns: None })
}
