//! Metrics that are sent: points to InfluxDB, datagrams to StatsD.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::process::Command;
use std::time::Duration;

use candor_testkit::process::wait_until;
use rustix::process::Signal;

use super::receiver::Reply::{CutOff, Head, Status};
use super::receiver::{Request, certified, receiver, receiver_then, run_trusting, secure_receiver};
use super::{PATIENCE, USAGE};
use crate::common::{CANDOR, Candor, Target, candor};

/// A point: measurement with tags, fields, time.
fn point(line: &str) -> (String, BTreeMap<String, String>, u64) {
    // Escaped blanks are in tags only.
    let line = line.replace("\\ ", "_");
    let parts: Vec<&str> = line.splitn(2, ' ').collect();
    let (fields, time) = parts[1].rsplit_once(' ').expect("a time");
    let fields = fields.split(',').map(|field| {
        let (name, value) = field.split_once('=').expect("a field");
        let number = value.strip_suffix('i').unwrap_or(value);
        assert!(number.parse::<f64>().is_ok() || value.starts_with('"'), "{field}");
        (name.to_owned(), value.to_owned())
    });
    (parts[0].to_owned(), fields.collect(), time.parse().expect("nanoseconds"))
}

#[test]
fn each_interval_is_a_point_with_the_figures_of_the_result() {
    let target = Target::start(&[]);
    let (address, requests) = receiver(&[Status(503), Status(429)]);
    let out = format!("influx:http://me:pa55@{address}/api/v2/write?org=o&token=t0ken");
    let flags =
        ["-R", "200", "-c", "2", "-d", "1500ms", "--interval", "100ms", "--tag", "env=a b,c"];
    let more = ["--expect", "p50 < 1h", "--json", "result.json", "--out", &out, &target.url("/")];
    let outcome = candor(&[&flags[..], &more].concat());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("lost"), "{}", outcome.stderr);
    let document = outcome.document();
    let shown = outcome.file("result.json");
    assert!(!shown.contains("pa55") && !shown.contains("t0ken"), "{}", document.at("/arguments"));
    let requests: Vec<Request> = requests.try_iter().collect();
    for Request { head, body } in &requests {
        assert!(!body.is_empty(), "nothing is sent");
        assert!(head.starts_with("POST /api/v2/write?org=o&token=t0ken HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nAuthorization: Basic bWU6cGE1NQ==\r\n"), "{head}");
    }
    let lines = requests.iter().flat_map(|one| one.text().lines());
    let (objectives, points): (Vec<_>, Vec<_>) =
        lines.map(point).partition(|(name, ..)| name.starts_with("candor_objective"));
    let intervals = document.list("/intervals");
    assert_eq!(points.len(), intervals.len());
    let origin_ns = points[0].2 - intervals[0]["end_ns"].as_u64().unwrap();
    for ((name, fields, at_ns), interval) in points.iter().zip(intervals) {
        assert_eq!(name, "candor,env=a_b\\,c");
        assert_eq!(at_ns - origin_ns, interval["end_ns"].as_u64().unwrap());
        for (field, of) in [
            ("sent", "/sent"),
            ("ok", "/ok"),
            ("backlog", "/backlog"),
            ("connections", "/connections"),
            ("response_count", "/response/count"),
            ("response_max_ns", "/response/max_ns"),
            ("send_lag_count", "/send_lag/count"),
        ] {
            let value = interval.pointer(of).unwrap();
            let expected = (!value.is_null()).then(|| format!("{value}i"));
            assert_eq!(fields.get(field), expected.as_ref(), "{field} {fields:?}");
        }
    }
    let sum = |field: &str| {
        points
            .iter()
            .map(|(_, fields, _)| fields[field].trim_end_matches('i').parse::<u64>().unwrap())
            .sum::<u64>()
    };
    assert_eq!(sum("ok"), document.ledger("ok"));
    let [(name, fields, _)] = &objectives[..] else { panic!("{objectives:?}") };
    assert_eq!(name, "candor_objective,objective=p50_<_1h,env=a_b\\,c");
    assert_eq!(fields["outcome"], "\"met\"");
    let p50 = document.list("/expectations")[0]["measured"].as_f64().unwrap();
    assert_eq!(fields["measured"].parse::<f64>().unwrap(), p50);
}

#[test]
fn points_that_are_lost_are_counted() {
    let target = Target::start(&[]);
    let run = |address: &str, token: &str| {
        let out = format!("influx:http://{address}/write?db=x");
        let flags = ["-R", "200", "-c", "1", "-d", "1500ms", "--interval", "100ms", "--out", &out];
        let mut command = Command::new(CANDOR);
        command.env("INFLUX_TOKEN", token);
        let url = target.url("/status/503");
        let run = Candor::start_as(command, |directory, command| {
            command.args(flags).args(["--allow-failures", &url]).current_dir(directory);
        });
        run.finish()
    };
    let (address, requests) = receiver(&[Status(401)]);
    let some = run(&address, "key");
    assert_eq!(some.code(), 0, "{}", some.stderr);
    let words = ["1 of 1", "points were lost: the server's status was 401"];
    assert!(words.iter().all(|word| some.stderr.contains(word)), "{}", some.stderr);
    let first = requests.try_iter().next().unwrap();
    let (head, body) = (&first.head, first.text());
    assert!(head.contains("\r\nAuthorization: Token key\r\n"), "{head}");
    assert!(point(body.lines().next().unwrap()).1.contains_key("error_status"), "{body}");

    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let none = run(&gone, "key");
    assert_eq!(none.code(), 1, "{}", none.stderr);
    assert!(none.stderr.contains("points were lost: Connection refused"), "{}", none.stderr);
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let none = run(&silent.local_addr().unwrap().to_string(), "key");
    assert_eq!(none.code(), 1, "{}", none.stderr);
    assert!(none.stderr.contains("points were lost"), "{}", none.stderr);
    // A status alone is no response: what comes behind it was lost.
    let (address, _requests) = receiver_then(&[], Head(|_| "204 X\r\nX: a".to_owned()));
    assert_eq!(run(&address, "key").code(), 0);
    let (address, _requests) = receiver_then(&[], CutOff);
    let none = run(&address, "key");
    assert_eq!(none.code(), 1, "{}", none.stderr);
    assert!(none.stderr.contains("the response was cut off in its head"), "{}", none.stderr);
    let odd = run(&gone, "a\r\nb: c");
    odd.assert_refused(USAGE, &["INFLUX_TOKEN has a control character"]);

    let url = target.url("/");
    let refused = |out: &str, word: &str| {
        candor(&["-d", "100ms", "--out", out, &url]).assert_refused(USAGE, &[word]);
    };
    refused("influx", "--out influx needs an address");
    refused("influx:ws://127.0.0.1/write", "not sent by WebSocket");
    refused("influx:http://127.0.0.1:8086", "the URL has no path");
    refused("influx:http://no.such.host.invalid/write", "not an address");
}

/// A signal's exit code comes before that of points that are lost.
#[test]
fn a_signal_comes_before_lost_points() {
    let target = Target::start(&[]);
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let out = format!("influx:http://{gone}/write?db=x");
    let flags = ["-R", "100", "-c", "1", "-d", "30s", "--interval", "100ms", "--out", &out];
    let run = Candor::start(&[&flags[..], &[&target.url("/")]].concat());
    assert!(wait_until(PATIENCE, || target.requests() > 20));
    run.signal(Signal::INT);
    let ended = run.finish();
    assert_eq!(ended.code(), 130, "{}", ended.stderr);
    assert!(ended.stderr.contains("points were lost"), "{}", ended.stderr);
}

#[test]
fn a_receiver_over_tls_must_have_a_certificate_that_the_system_trusts() {
    let (config, certificate) = certified();
    let (address, requests) = secure_receiver(config);
    let target = Target::start(&[]);
    let (out, url) = (format!("influx:https://{address}/write?db=x"), target.url("/"));
    let trusted = run_trusting(&certificate, &out, &url);
    assert_eq!(trusted.code(), 0, "{}", trusted.stderr);
    let arrived: Vec<Request> = requests.try_iter().collect();
    assert!(arrived.iter().any(|one| one.text().starts_with("candor ")));
    let stranger = run_trusting(&certified().1, &out, &url);
    assert_eq!(stranger.code(), 1, "{}", stranger.stderr);
    assert!(
        stranger.stderr.contains("points were lost: invalid peer certificate"),
        "{}",
        stranger.stderr
    );
    assert_eq!(requests.try_iter().count(), 0);
}

#[test]
fn counts_are_sent_as_datagrams() {
    let target = Target::start(&[]);
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let out = format!("statsd:{}", receiver.local_addr().unwrap());
    let flags =
        ["-R", "100", "-c", "1", "-d", "1s", "--interval", "100ms", "--shed-after", "100ms"];
    let more = ["--json", "result.json", "--tag", "env=a", "--expect", "service p50 < 1h"];
    let to = ["--out", &out, &target.url("/delay/20ms")];
    let outcome = candor(&[&flags[..], &more, &to].concat());
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    let document = outcome.document();
    let (mut counts, mut gauges) = (BTreeMap::new(), BTreeMap::new());
    let mut datagram = [0; 2000];
    while let Ok(length) = receiver.recv(&mut datagram) {
        assert!(length <= 1400, "{length}");
        for line in std::str::from_utf8(&datagram[..length]).unwrap().lines() {
            let line = line.strip_suffix("|#env:a").expect("the tag");
            let (name, value) = line.strip_prefix("candor.").unwrap().split_once(':').unwrap();
            match value.split_once('|').unwrap() {
                (value, "c") => {
                    *counts.entry(name.to_owned()).or_insert(0) += value.parse::<u64>().unwrap()
                }
                (value, "g") => drop(gauges.insert(name.to_owned(), value.parse::<u64>().unwrap())),
                other => panic!("{other:?}"),
            }
        }
    }
    for (name, place) in [
        ("requests.scheduled", "scheduled"),
        ("requests.sent", "sent"),
        ("requests.ok", "ok"),
        ("requests.shed", "shed"),
    ] {
        assert_eq!(counts.get(name).copied(), Some(document.ledger(place)), "{name} {counts:?}");
    }
    let all = counts.iter().filter(|(name, _)| name.starts_with("requests."));
    let twice = ["requests.scheduled", "requests.sent"];
    let outcomes = all.filter(|(name, _)| !twice.contains(&name.as_str()));
    assert_eq!(outcomes.map(|(_, count)| count).sum::<u64>(), document.ledger("scheduled"));
    let used = |field: &str| document.list("/workers")[0][field].as_u64().unwrap();
    assert!(counts["loader_cpu_ms"] >= (used("cpu_user_ns") + used("cpu_system_ns")) / 1_000_000);
    let ended = [
        ("backlog", 0),
        ("connections", 0),
        ("in_flight", 0),
        ("objective.service_p50_lt_1h.cannot_tell", 0),
        ("objective.service_p50_lt_1h.met", 1),
        ("objective.service_p50_lt_1h.not_met", 0),
        ("run_over", 1),
    ];
    assert_eq!(gauges, BTreeMap::from(ended.map(|(name, value)| (name.to_owned(), value))));

    let url = target.url("/");
    let wrong = candor(&["-d", "100ms", "--out", "statsd:9", "--tag", "a=b|c", &url]);
    wrong.assert_refused(USAGE, &["--tag a", "with --out statsd"]);
    // Nobody is there: the run is not touched, and the loss is said.
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let out = format!("statsd:{gone}");
    let alone = candor(&["-c", "1", "-d", "500ms", "--interval", "100ms", "--out", &out, &url]);
    assert_eq!(alone.code(), 0, "{}", alone.stderr);
    assert!(alone.stderr.contains("datagrams were refused"), "{}", alone.stderr);
}
