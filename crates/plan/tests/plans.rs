//! The plans that flags and TOML give.

use crate::common::{Memory, flags, plan, try_build};
use candor_plan::options::Options;
use candor_plan::*;
use proptest::prelude::*;

const S: u64 = NS_PER_S;
const URL: &str = "http://localhost:8080/hello?x=1";

fn open(plan: &Plan) -> &OpenLoad {
    match &plan.load {
        Load::Open(load) => load,
        Load::Closed { .. } => panic!("a closed loop"),
    }
}

#[test]
fn a_url_alone_is_a_closed_loop_of_ten_connections_for_ten_seconds() {
    let expected = Parts {
        others: Vec::new(),
        target: Target {
            name: candor_plan::MAIN_TARGET.to_owned(),
            connections: None,
            auth: None,
            alt_svc: None,
            url: URL.to_owned(),
            authority: "localhost:8080".to_owned(),
            endpoint: Endpoint::Tcp { host: "localhost".to_owned(), port: 8080 },
            proxy: None,
            haproxy_protocol: HaproxyProtocol::Off,
            resolved: vec![],
            allow: None,
            tls: None,
            http: HttpVersion::H1,
        },
        work: vec![Request {
            target: 0,
            name: "GET /hello?x=…".to_owned(),
            method: "GET".to_owned(),
            path: "/hello?x=1".to_owned(),
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
        }]
        .into(),
        wire: Wire::Http,
        load: Load::Closed { think_time_ns: 0 },
        stop: Stop { duration_ns: Some(10 * S), count: None, drain_ns: 5 * S, give_up_ns: 10 * S },
        connections: Connections {
            count: 10,
            max: 10,
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
            count: None,
            pin: true,
            pacing: Pacing::Auto,
            reactor: ReactorChoice::Auto,
        },
        seed: 1,
        data: Vec::new(),
        environment: Vec::new(),
        compressed: false,
        secrets: Secrets::Hidden,
    };
    let (plan, outputs) = try_build(&[URL]).unwrap();
    assert_eq!(*plan, expected);
    assert_eq!(outputs, Outputs { keep: true, ..Outputs::default() });
}

#[test]
fn when_a_run_ends() {
    let stop = |arguments: &[&str]| {
        let stop = plan(&[arguments, &[URL]].concat()).stop;
        (stop.duration_ns, stop.count)
    };
    assert_eq!(stop(&["-R5"]), (Some(10 * S), None));
    assert_eq!(stop(&["-n", "1k"]), (None, Some(1_000)));
    assert_eq!(stop(&["-n5", "-d3"]), (Some(3 * S), Some(5)));
    assert_eq!(stop(&["--load", "hold 5"]), (Some(10 * S), None));
    assert_eq!(stop(&["--load", "hold 5", "-n3"]), (None, Some(3)));
    assert_eq!(stop(&["--load", "hold 5 for 7s"]), (Some(7 * S), None));
    assert_eq!(stop(&["--load", "hold 5 for 7s", "-d3"]), (Some(3 * S), None));
    assert_eq!(stop(&["--load", "hold 5 for 7s", "-d30"]), (Some(7 * S), None));
    assert_eq!(stop(&["--load", "hold 5 for 7s; hold 6", "-d30"]), (Some(30 * S), None));
    assert_eq!(stop(&["--load", "replay due.txt"]), (Some(S + S / 2 + 1), None));
    assert_eq!(stop(&["--load", "hold 5 for 7s", "--warm-up", "2s"]), (Some(7 * S), None));
}

#[test]
fn a_warm_up_goes_before_the_shape_at_its_first_rate() {
    let first = |arguments: &[&str]| {
        let plan = plan(&[arguments, &["--warm-up", "2s", URL]].concat());
        assert_eq!(plan.recording.warm_up_ns, 2 * S);
        open(&plan).segments[0].clone()
    };
    let hold = |events| Segment::Hold { rate: Rate::per_second(events), duration_ns: Some(2 * S) };
    assert_eq!(first(&["-R5"]), hold(5));
    assert_eq!(first(&["--load", "ramp 3..9 over 5s"]), hold(3));
    assert_eq!(
        first(&["--load", "burst 5 every 1s"]),
        Segment::Burst { size: 5, every_ns: S, duration_ns: Some(2 * S) }
    );
    assert_eq!(plan(&["--warm-up", "2s", URL]).load, Load::Closed { think_time_ns: 0 });
}

#[test]
fn a_request_may_wait_for_no_time_at_all() {
    let shed = |arguments: &[&str]| open(&plan(&[arguments, &[URL]].concat())).shed_after_ns;
    assert_eq!(shed(&["-R5"]), None);
    assert_eq!(shed(&["-R5", "--shed-after", "0"]), Some(0));
    assert_eq!(shed(&["-R5", "--shed-after", "10ms", "--max-connections", "50"]), Some(S / 100));
}

#[test]
fn where_connections_go() {
    let target = |arguments: &[&str]| plan(&[arguments, &[URL]].concat()).target.clone();
    let other = target(&["--connect-to", "[::1]:81"]);
    assert_eq!(other.endpoint, Endpoint::Tcp { host: "::1".to_owned(), port: 81 });
    assert_eq!(other.authority, "localhost:8080");
    let resolved = target(&["--resolve", "LOCALHOST:8080:127.0.0.2,127.0.0.3"]).resolved;
    assert_eq!(resolved.len(), 2);
    let unix = target(&["--unix-socket", "/run/x.sock"]);
    assert_eq!(unix.endpoint, Endpoint::Unix { path: "/run/x.sock".into() });
    let sources = &plan(&["--source", "127.0.0.2-127.0.0.4", URL]).connections.sources;
    assert_eq!(sources.len(), 3);
}

#[test]
fn headers_and_bodies() {
    let request = |arguments: &[&str]| {
        plan(&[arguments, &["http://me:pw@h/"]].concat()).work.requests()[0].clone()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let own = request(&["-H", "authorization: Bearer x", "-H", "Host: other"]);
    assert_eq!(own.headers, [pair("authorization", "Bearer x"), pair("Host", "other")]);
    let implied = request(&["--no-keepalive", "-b", "hi"]);
    assert_eq!(
        implied.headers,
        [pair("Authorization", "Basic bWU6cHc="), pair("Connection", "close")]
    );
    assert_eq!(implied.body.whole(), b"hi");
    assert_eq!(request(&["--body-file", "-"]).body.whole(), b"from stdin");
    let plan = plan(&["--no-keepalive", "http://me:pw@h/"]);
    assert_eq!(plan.connections.requests_per_connection, Some(1));
    assert!(!plan.target.url.contains("pw"));
}

const EVERY_KEY: &str = include_str!("every_key.toml");
const OTHER_KEYS: &str = include_str!("other_keys.toml");

#[test]
fn a_plan_with_every_key() {
    let files = Memory::with(&[
        ("plans/order.json", "{}"),
        ("plans/expected.txt", "alive"),
        ("plans/ca.pem", "ca"),
        ("plans/me.pem", "cert"),
        ("plans/me.key", "secret"),
        ("plans/users.csv", "name,id"),
        ("plans/urls.txt", "method,path"),
    ]);
    let options = Options::from_toml("plans/every_key.toml", EVERY_KEY).unwrap();
    let (plan, outputs) = options.build(&files).unwrap();
    assert_eq!((plan.connections.count, outputs.list.len()), (50, 7));
}

#[test]
fn the_plan_with_every_key_has_every_key() {
    let document: toml::Table = EVERY_KEY.parse().unwrap();
    let others: toml::Table = OTHER_KEYS.parse().unwrap();
    for key in plan_file::keys_of::<Options>() {
        assert!(document.contains_key(*key) ^ others.contains_key(*key), "{key}");
    }
    // These are refused here, because the plan uses HTTP/2; tests/deliveries.rs covers them.
    let of_http1 = ["chunked", "expect-continue", "pieces", "piece-gap", "break-off-after"];
    let requests = document["request"].as_array().unwrap();
    for key in plan_file::keys_of::<options::RequestOptions>() {
        let there = requests.iter().any(|one| one.get(key).is_some());
        // Another spelling, and the other ways to have a body.
        let others = [
            "headers", "url", "target", "json", "call", "reply", "wait", "think", "repeat", "when",
            "capture", "once",
        ];
        assert_eq!(there, !of_http1.contains(key) && !others.contains(key), "{key}");
    }
}

#[test]
fn flags_win_over_the_plan() {
    let file = Options::from_toml(
        "plan.toml",
        "url = 'http://file/'\nload = 'hold 5'\nbody-file = 'x'\nheader = ['A: 1', 'B: 2']\n\
         connections = 3\nexpect = 'p99 < 5ms'\nstrict = true\n",
    )
    .unwrap();
    let merged =
        flags(&["-R7", "-b", "text", "-H", "b: 3", "-c9", "http://flag/"]).unwrap().or(file);
    let (plan, outputs) = merged.build(&Memory::default()).unwrap();
    assert_eq!(plan.target.authority, "flag");
    assert_eq!(plan.connections.count, 9);
    assert_eq!(
        open(&plan).segments,
        [Segment::Hold { rate: Rate::per_second(7), duration_ns: None }]
    );
    let request = &plan.work.requests()[0];
    assert_eq!(request.body.whole(), b"text");
    assert_eq!(request.headers, [("A".into(), "1".into()), ("b".into(), "3".into())]);
    assert_eq!(outputs.expect, ["p99 < 5ms"]);
    assert!(outputs.strict);
}

#[test]
fn files_are_found_from_the_plans_directory() {
    let options = Options::from_toml(
        "/plans/a/plan.toml",
        "url = 'h'\nload = 'replay due.txt'\nbody-file = '/abs'\n[[request]]\nbody-file = 'rel'\n[[request]]\nbody-file = '-'\n[[request]]\n",
    )
    .unwrap();
    let files = Memory::with(&[
        ("/plans/a/due.txt", "1"),
        ("/plans/a/rel", "r"),
        ("-", "i"),
        ("/abs", "a"),
    ]);
    let bodies: Vec<_> = options
        .build(&files)
        .unwrap()
        .0
        .work
        .requests()
        .iter()
        .map(|one| one.body.whole().to_vec())
        .collect();
    assert_eq!(bodies, [b"r", b"i", b"a"]);
}

#[test]
fn weights_ask_for_the_weighted_order() {
    let order = |text: &str| {
        let options = Options::from_toml("plan.toml", &format!("url = 'h'\n{text}")).unwrap();
        match &options.build(&Memory::default()).unwrap().0.work {
            Work::Requests(requests) => requests.order,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(order("[[request]]\npath = '/a'\n[[request]]\npath = '/b'"), Order::Rotation);
    assert_eq!(order("[[request]]\nweight = 3\n[[request]]\npath = '/b'"), Order::Weighted);
    assert_eq!(order("order = 'weighted'\n[[request]]\npath = '/b'"), Order::Weighted);
}

#[test]
fn loads_described() {
    let table: [(&[&str], &str); 9] = [
        (&[], "closed loop"),
        (&["-c1", "-n1", "--think-time", "5ms"], "closed loop, 5 ms think time"),
        (&["-R20k", "-c50", "-d30"], "open load, 20,000/s constant"),
        (&["-R30/m", "--arrivals", "poisson"], "open load, 30/m Poisson"),
        (&["--load", "ramp 1k..20k over 30s"], "open load, 1,000/s to 20,000/s over 30 s"),
        (
            &["--load", "ramp 0..20k over 30s; hold 20k for 1m", "--arrivals", "poisson"],
            "open load, 0/s to 20,000/s over 30 s then 20,000/s for 1 m, Poisson arrivals",
        ),
        (
            &["--load", "step 1k..10k by 1k every 5s", "--warm-up", "1s"],
            "open load, 10 segments from 1,000/s for 5 s to 10,000/s for 5 s",
        ),
        (&["--load", "burst 500 every 1s"], "open load, bursts of 500 every 1 s"),
        (&["--load", "replay due.txt"], "open load, replay of 3 requests"),
    ];
    for (arguments, text) in table {
        assert_eq!(describe::load(&plan(&[arguments, &[URL]].concat())), text);
    }
}

proptest! {
    #[test]
    fn no_plan_file_panics(text in ".{0,200}", lines in proptest::collection::vec(
        "(rate|load|url|header|request|connections|digits|\\[\\[request\\]\\]|\\[header\\]|a\\.b)( = (\"[a-z0-9./ :;]{0,12}\"|[0-9]{1,22}|-1|1e400|nan|true|\\[1\\]|\\{\\}))?",
        0..6,
    )) {
        let _ = Options::from_toml("plan.toml", &text);
        if let Ok(options) = Options::from_toml("plan.toml", &lines.join("\n")) {
            let _ = options.build(&Memory::default()).map(|(plan, _)| describe::load(&plan));
        }
    }

    #[test]
    fn any_rate_becomes_a_plan_of_that_rate(events in 1..1_000_000_000u64, duration in 1..100_000u64) {
        let text = format!("url = 'h'\nrate = {events}\nduration = '{duration}ms'");
        let (plan, _) = Options::from_toml("plan.toml", &text).unwrap().build(&Memory::default()).unwrap();
        prop_assert_eq!(&open(&plan).segments, &[Segment::Hold { rate: Rate::per_second(events), duration_ns: None }]);
        prop_assert_eq!(plan.stop.duration_ns, Some(duration * 1_000_000));
    }
}

#[test]
fn the_scheme_and_the_flags_say_what_is_spoken() {
    let spoken = |arguments: &[&str]| {
        let target = &plan(arguments).target;
        (target.http, target.tls.as_ref().map(|tls| tls.alpn.join(",")))
    };
    use HttpVersion::{H1, H2, H3, Negotiated, Upgrade};
    let offers = |names: &str| Some(names.to_owned());
    assert_eq!(spoken(&["http://h/"]), (H1, None));
    assert_eq!(spoken(&["--h2", "http://h/"]), (H2, None));
    assert_eq!(spoken(&["--h2c", "-m", "10", "http://h/"]), (H2, None));
    assert_eq!(spoken(&["--h2c-upgrade", "-m", "10", "http://h/"]), (Upgrade, None));
    assert_eq!(spoken(&["https://h/"]), (Negotiated, offers("h2,http/1.1")));
    assert_eq!(spoken(&["--h1", "https://h/"]), (H1, offers("http/1.1")));
    assert_eq!(spoken(&["--h2", "https://h/"]), (H2, offers("h2")));
    assert_eq!(spoken(&["--alpn", "http/1.1", "https://h/"]), (Negotiated, offers("http/1.1")));
    assert_eq!(spoken(&["--h3", "https://h/"]), (H3, offers("h3")));
    assert_eq!(spoken(&["--h3-only", "https://h/"]), (H3, offers("h3")));
    assert_eq!(spoken(&["--alt-svc", "https://h/"]), (H3, offers("h3")));
    assert_eq!(plan(&["--alt-svc", "https://h/"]).target.alt_svc, Some(AltSvc::Asked));
    let h3 = plan(&["--h3", "-m", "7", "-w", "20", "https://h/"]);
    assert_eq!(h3.target.tls.as_ref().unwrap().min, TlsVersion::V13);
    let Connections { streams, windows, .. } = &h3.connections;
    assert_eq!((*streams, windows.stream_bits, windows.connection_bits), (7, 20, 24));
    assert_eq!(h3.connections.quic, Quic { congestion: Congestion::Cubic, datagram_bytes: 1452 });
    for (mtu, datagram_bytes) in [("1200", 1200), ("65527", 65_527)] {
        let h3 = plan(&["--h3", "--cc", "bbr", "--mtu", mtu, "https://h/"]);
        assert_eq!(h3.connections.quic, Quic { congestion: Congestion::Bbr, datagram_bytes });
    }
}

#[test]
fn tls_is_strict_unless_told_and_asks_for_the_host_of_the_url() {
    let target = &plan(&["https://shop.example.com/"]).target;
    assert_eq!(target.endpoint, Endpoint::Tcp { host: "shop.example.com".to_owned(), port: 443 });
    let tls = target.tls.as_ref().unwrap();
    assert_eq!((&tls.trust, tls.server_name.as_str()), (&Trust::System, "shop.example.com"));
    assert_eq!((tls.min, tls.max), (TlsVersion::V12, TlsVersion::V13));
    assert!(!tls.resumption);
    let tls =
        plan(&["-k", "--sni", "other", "--cert", "body", "https://h/"]).target.tls.clone().unwrap();
    assert_eq!((tls.trust, tls.server_name.as_str()), (Trust::Anybody, "other"));
    let identity = tls.identity.unwrap();
    assert_eq!(identity.certificates, identity.key);
    assert!(!format!("{identity:?}").contains("from a file"), "{identity:?}");
}

#[test]
fn what_does_not_go_together_in_tls_and_http2_is_refused() {
    for (arguments, message) in [
        (&["--h1", "--h2", "https://h/"][..], "--h1 cannot be used with --h2"),
        (&["--h2c", "https://h/"], "write --h2"),
        (&["--h3", "--h2", "https://h/"], "both choose the version of HTTP"),
        (&["--h3", "--alt-svc", "https://h/"], "both choose the version of HTTP"),
        (&["--alt-svc", "http://h/"], "--alt-svc cannot be used with http: QUIC is"),
        (&["--alt-svc", "--unix-socket", "/s", "https://h/"], "--alt-svc cannot be used with"),
        (&["--alt-svc", "--proxy", "http://p:1", "https://h/"], "--alt-svc cannot be used with"),
        (&["--h3", "http://h/"], "QUIC is always encrypted; write https:// in the URL"),
        (&["--h3", "ws://h/"], "QUIC is always encrypted; write wss:// in the URL"),
        (&["--h3", "-p", "5", "https://h/"], "--pipeline cannot be used with --h3"),
        (&["--h3", "--alpn", "h2", "https://h/"], "QUIC offers h3 alone"),
        (&["--h3", "--max-frame-size", "64k", "https://h/"], "it is for HTTP/2"),
        (&["--h3", "--tls-max", "1.2", "https://h/"], "QUIC begins with TLS 1.3"),
        (&["--h3", "--unix-socket", "/s", "https://h/"], "QUIC goes over UDP"),
        (&["--h3", "--proxy", "http://p:1", "https://h/"], "QUIC through a proxy"),
        (&["--h3", "--haproxy-protocol=v2", "https://h/"], "that header before QUIC"),
        (
            &["--h3", "--early-data", "--tls-resumption", "on", "-X", "PUT", "https://h/"],
            "a PUT in the first flight",
        ),
        (&["--h3", "--reactor", "uring", "https://h/"], "datagrams are read with epoll"),
        (&["--h3", "--kernel-timestamps", "https://h/"], "only what comes over TCP"),
        (&["--h3", "--expect-continue", "-b", "x", "https://h/"], "used with --h3"),
        (&["--h3", "--mtu", "1199", "https://h/"], "--mtu"),
        (&["--h3", "--mtu", "65528", "https://h/"], "1200 to 65527 bytes"),
        (&["--h2", "--mtu", "1452", "https://h/"], "it is for QUIC; add --h3"),
        (&["--cc", "bbr", "https://h/"], "it is for QUIC; add --h3"),
        (&["-m", "5", "http://h/"], "add --h2"),
        (&["-w", "16", "--h1", "https://h/"], "add --h2"),
        (&["--h2", "-p", "5", "http://h/"], "write --streams"),
        (&["-k", "http://h/"], "write https:// in the URL"),
        (&["--tls-min", "1.3", "--tls-max", "1.2", "https://h/"], "they leave no version"),
        (&["--key", "body", "https://h/"], "add --cert FILE"),
        (&["-k", "--cacert", "body", "https://h/"], "leave one of them out"),
        (&["--cacert", "gone", "https://h/"], "--cacert: cannot read gone"),
        (&["--alpn", "h3", "https://h/"], "\"h3\" is not supported"),
        (&["--h1", "--alpn", "h2", "https://h/"], "leave h2 out"),
        (&["--h2", "--no-keepalive", "-m", "2", "https://h/"], "one request"),
        (&["--early-data", "https://h/"], "add --tls-resumption on"),
        (&["--early-data", "--tls-resumption", "on", "https://h/"], "add --h1 or --h2"),
        (
            &["--early-data", "--tls-resumption", "on", "--h1", "-X", "POST", "https://h/"],
            "a POST in the first flight may reach the server twice",
        ),
        (
            &["--early-data", "--tls-resumption", "on", "--tls-max", "1.2", "https://h/"],
            "TLS 1.2 has no early data",
        ),
        (&["--early-data", "http://h/"], "write https:// in the URL"),
    ] {
        let error = try_build(arguments).expect_err(message).to_string();
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}

#[test]
fn a_script_is_read_and_has_bounds() {
    let files = Memory::with(&[("plans/load.lua", "wrk.method = 'PUT'")]);
    let text = "url = 'http://h/'\nscript = 'load.lua'\nscript-arg = ['a', '-b']\n\
                script-timeout = '2s'\nscript-body-limit = '2Mi'\nsandbox = true\n";
    let options = Options::from_toml("plans/plan.toml", text).unwrap();
    let script = options.build(&files).unwrap().0.work.script().unwrap().clone();
    assert_eq!(script.path, "plans/load.lua");
    assert_eq!(script.source.whole(), b"wrk.method = 'PUT'");
    assert_eq!(script.arguments, ["a", "-b"]);
    assert!(script.sandbox);
    assert_eq!((script.limits.call_ns, script.limits.body_bytes), (2 * S, 2 << 20));
    assert!(script.limits.memory_bytes > 0 && script.limits.instructions > 0);
}
