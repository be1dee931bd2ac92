//! Metrics that are sent: points to InfluxDB, datagrams to StatsD.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::USAGE;
use crate::common::{CANDOR, Candor, Target, candor};

/// A request that a server got: its head and its body.
type Request = (String, String);

/// A server with these statuses, one after the other, and 204 after them. It ends with the test's process.
fn server(statuses: &'static [u16]) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (out, requests) = channel();
    thread::spawn(move || {
        let statuses = statuses.iter().copied().chain(std::iter::repeat(204));
        for (stream, status) in listener.incoming().zip(statuses) {
            let mut stream = stream.unwrap();
            let (mut text, mut part) = (Vec::new(), [0; 4096]);
            let request = loop {
                let count = stream.read(&mut part).unwrap();
                assert!(count > 0, "the request ends early");
                text.extend_from_slice(&part[..count]);
                let text = std::str::from_utf8(&text).unwrap();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.split_once("Content-Length: ").unwrap().1;
                let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
                if body.len() == length {
                    break (head.to_owned(), body.to_owned());
                }
            };
            write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").unwrap();
            if status == 204 && out.send(request).is_err() {
                return;
            }
        }
    });
    (address, requests)
}

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
    let (address, requests) = server(&[503, 429]);
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
    for (head, _) in &requests {
        assert!(head.starts_with("POST /api/v2/write?org=o&token=t0ken HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nAuthorization: Basic bWU6cGE1NQ==\r\n"), "{head}");
    }
    let lines = requests.iter().flat_map(|(_, body)| body.lines());
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
    let (address, requests) = server(&[401]);
    let some = run(&address, "key");
    assert_eq!(some.code(), 0, "{}", some.stderr);
    let words = ["1 of 1", "points were lost: the server's status was 401"];
    assert!(words.iter().all(|word| some.stderr.contains(word)), "{}", some.stderr);
    let (head, body) = requests.try_iter().next().unwrap();
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
    let odd = run(&gone, "a\r\nb: c");
    odd.assert_refused(USAGE, &["INFLUX_TOKEN has a control character"]);

    let url = target.url("/");
    let refused = |out: &str, word: &str| {
        candor(&["-d", "100ms", "--out", out, &url]).assert_refused(USAGE, &[word]);
    };
    refused("influx", "--out influx needs an address");
    refused("influx:https://127.0.0.1/write", "http:// only");
    refused("influx:http://127.0.0.1:8086", "the URL has no path");
    refused("influx:http://no.such.host.invalid/write", "not an address");
}

#[test]
fn counts_are_sent_as_datagrams() {
    let target = Target::start(&[]);
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let out = format!("statsd:{}", receiver.local_addr().unwrap());
    let flags =
        ["-R", "100", "-c", "1", "-d", "1s", "--interval", "100ms", "--shed-after", "100ms"];
    let more =
        ["--json", "result.json", "--tag", "env=a", "--out", &out, &target.url("/delay/20ms")];
    let outcome = candor(&[&flags[..], &more].concat());
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
        ("outcomes.ok", "ok"),
        ("outcomes.shed", "shed"),
    ] {
        assert_eq!(counts.get(name).copied(), Some(document.ledger(place)), "{name} {counts:?}");
    }
    let outcomes = counts.iter().filter(|(name, _)| name.starts_with("outcomes."));
    assert_eq!(outcomes.map(|(_, count)| count).sum::<u64>(), document.ledger("scheduled"));
    let ended = ["backlog", "connections", "in_flight"].map(|name| (name.to_owned(), 0));
    assert_eq!(gauges, BTreeMap::from(ended));

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
