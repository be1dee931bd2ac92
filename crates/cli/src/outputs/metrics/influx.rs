//! `influx:URL`: each finished interval as a point in InfluxDB's line protocol, sent by POST. The fields are the figures
//! of an interval's summary, and its errors by kind. A server that is away delays nothing: points wait in a bounded
//! buffer, are sent when it is back, and are counted when they are lost.

use std::env;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use candor_lab::trial::unix_ms;
use candor_plan::url::HttpUrl;
use candor_record::Stretch;
use candor_report::Document;
use serde_json::Value;

use super::{addresses, errors, joined, place};
use crate::console;
use crate::exit::UserError;
use crate::outputs::sink::{Sink, Target};
use crate::outputs::{Making, Output};

pub(in crate::outputs) const NAME: &str = "influx";
/// The variable that has a token for the server.
const TOKEN: &str = "INFLUX_TOKEN";
/// The most pieces that wait for their thread.
const PIECES: usize = 64;
/// The most bytes that wait for the server.
const WAITING_BYTES: usize = 256 << 10;
/// The most time for one request.
const LIMIT: Duration = Duration::from_millis(700);
/// The time after a failure until the next request.
const AGAIN: Duration = Duration::from_secs(1);
/// The most bytes of a response that are read.
const RESPONSE_BYTES: usize = 4096;
/// A piece without points: the last one.
const LAST: &[u8] = b"\n";

struct Influx {
    sink: Sink,
    tags: String,
    /// When the run began, since 1970; known from its first interval.
    origin_ns: Option<u64>,
    offered: u64,
    fate: Arc<Fate>,
}

/// What became of the points.
#[derive(Debug, Default)]
struct Fate {
    arrived: AtomicU64,
    /// The last reason why points did not arrive.
    why: Mutex<Option<String>>,
}

pub(in crate::outputs) fn make(to: &Making<'_>) -> Result<Box<dyn Output>, UserError> {
    const EXAMPLE: &str = "http://127.0.0.1:8086/api/v2/write?org=ORG&bucket=BUCKET";
    // A URL may have a password in it, so errors do not repeat it.
    let wrong = |why: String| UserError::usage(format!("--out {NAME}: {why}"));
    let url =
        HttpUrl::parse(place(NAME, to.place, EXAMPLE)?).map_err(|why| wrong(why.to_string()))?;
    if url.is_https || url.is_websocket {
        let why = "points are sent by http:// only; for TLS, send them to a relay on this machine, e.g. Telegraf";
        return Err(wrong(why.to_owned()));
    }
    if url.path == "/" {
        return Err(wrong(format!("the URL has no path; write e.g. {EXAMPLE}")));
    }
    let token = env::var(TOKEN).ok().map(|token| format!("Token {token}"));
    let authorization = match url.authorization.or(token) {
        Some(value) if value.chars().any(char::is_control) => {
            return Err(wrong(format!("{TOKEN} has a control character; set it again")));
        }
        Some(value) => format!("Authorization: {value}\r\n"),
        None => String::new(),
    };
    let host = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host };
    let fate = Arc::new(Fate::default());
    let poster = Poster {
        addresses: addresses(NAME, &format!("{host}:{}", url.port))?,
        head: format!("POST {} HTTP/1.1\r\nHost: {}\r\n{authorization}", url.path, url.authority),
        waiting: Vec::new(),
        is_last: false,
        failed: None,
        fate: Arc::clone(&fate),
    };
    let sink =
        Sink::new(poster, PIECES).map_err(|why| wrong(format!("cannot start a thread: {why}")))?;
    let tags = joined(to.tags, "", |tag| format!(",{}={}", tag.name, escaped(&tag.value)));
    Ok(Box::new(Influx { sink, tags, origin_ns: None, offered: 0, fate }))
}

impl Influx {
    fn offer(&mut self, points: String, count: u64) {
        self.offered += count;
        self.sink.offer(points.into_bytes(), count);
    }
}

impl Output for Influx {
    fn stretch(&mut self, stretch: &Stretch<'_>) {
        let end_ns = stretch.summary.end_ns;
        let origin_ns = || (unix_ms() * 1_000_000).saturating_sub(end_ns);
        let origin_ns = *self.origin_ns.get_or_insert_with(origin_ns);
        let mut fields = Vec::new();
        let summary = serde_json::to_value(stretch.summary).unwrap_or_default();
        add_fields(&mut fields, "", &summary);
        let errors = errors(&stretch.interval.ledger).filter(|(_, count)| *count > 0);
        fields.extend(errors.map(|(name, count)| format!("error_{name}={count}i")));
        let (tags, fields) = (&self.tags, fields.join(","));
        let point = format!("candor{tags} {fields} {}\n", origin_ns + end_ns);
        self.offer(point, 1);
    }

    fn end(mut self: Box<Self>, document: &Document) -> Result<(), UserError> {
        let at_ns = self.origin_ns.unwrap_or(unix_ms() * 1_000_000) + document.time.elapsed_ns;
        let (mut points, tags) = (String::new(), &self.tags);
        for one in &document.expectations {
            let (objective, outcome) = (escaped(&one.expression), one.outcome.word());
            let measured = one.measured.map(|value| format!(",measured={value}"));
            let measured = measured.unwrap_or_default();
            let _ = writeln!(
                points,
                "candor_objective,objective={objective}{tags} outcome=\"{outcome}\"{measured} {at_ns}"
            );
        }
        if !points.is_empty() {
            self.offer(points, document.expectations.len() as u64);
        }
        let Influx { sink, offered, fate, .. } = *self;
        let late = sink.end(LAST.to_vec()).error;
        let arrived = fate.arrived.load(Ordering::Relaxed);
        let why = fate.why.lock().unwrap_or_else(PoisonError::into_inner).take();
        let why = why.or(late.map(|why| why.to_string())).unwrap_or_else(|| "too slow".to_owned());
        let lost =
            format!("--out {NAME}: {} of {offered} points were lost: {why}", offered - arrived);
        match arrived {
            _ if arrived == offered => Ok(()),
            0 => Err(UserError::could_not_run(lost)),
            _ => {
                console::say(format_args!("candor: {lost}"));
                Ok(())
            }
        }
    }
}

/// The numbers of a value as fields.
fn add_fields(fields: &mut Vec<String>, name: &str, value: &Value) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                let between = if name.is_empty() { "" } else { "_" };
                add_fields(fields, &format!("{name}{between}{member}"), value);
            }
        }
        // A field keeps its type: a count is always an integer.
        Value::Number(number) if number.is_u64() => fields.push(format!("{name}={number}i")),
        Value::Number(number) => fields.push(format!("{name}={number}")),
        _ => {}
    }
}

/// The value of a tag.
fn escaped(value: &str) -> String {
    value.replace(',', "\\,").replace(' ', "\\ ").replace('=', "\\=")
}

/// Sends points to the server.
struct Poster {
    addresses: Vec<SocketAddr>,
    /// The head of a request, without its length.
    head: String,
    waiting: Vec<u8>,
    is_last: bool,
    /// When the last request failed.
    failed: Option<Instant>,
    fate: Arc<Fate>,
}

impl Target for Poster {}

impl Write for Poster {
    fn write(&mut self, points: &[u8]) -> io::Result<usize> {
        self.is_last = points == LAST;
        if self.waiting.len() + points.len() > WAITING_BYTES {
            self.waiting.clear();
        }
        if !self.is_last {
            self.waiting.extend_from_slice(points);
        }
        Ok(points.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let is_early = self.failed.is_some_and(|at| at.elapsed() < AGAIN);
        if self.waiting.is_empty() || is_early && !self.is_last {
            return Ok(());
        }
        let points = self.waiting.iter().filter(|byte| **byte == b'\n').count() as u64;
        let why = match self.post() {
            Ok(200..=299) => {
                self.fate.arrived.fetch_add(points, Ordering::Relaxed);
                self.waiting.clear();
                self.failed = None;
                return Ok(());
            }
            Ok(status) => {
                // It would refuse them again.
                if (400..500).contains(&status) && status != 429 {
                    self.waiting.clear();
                }
                format!("the server's status was {status}")
            }
            Err(error) => error.to_string(),
        };
        self.failed = Some(Instant::now());
        *self.fate.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        Ok(())
    }
}

impl Poster {
    /// Sends what waits, and returns the status of the response.
    fn post(&self) -> io::Result<u16> {
        let until = Instant::now() + LIMIT;
        let left = || match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::Error::from(io::ErrorKind::TimedOut)),
            left => Ok(left),
        };
        let mut stream = Err(io::ErrorKind::AddrNotAvailable.into());
        for address in &self.addresses {
            stream = left().and_then(|left| TcpStream::connect_timeout(address, left));
            if stream.is_ok() {
                break;
            }
        }
        let mut stream = stream?;
        let (head, length) = (&self.head, self.waiting.len());
        let mut request = format!(
            "{head}Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        )
        .into_bytes();
        request.extend_from_slice(&self.waiting);
        let mut rest = &request[..];
        while !rest.is_empty() {
            stream.set_write_timeout(Some(left()?))?;
            match stream.write(rest)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => rest = &rest[count..],
            }
        }
        let mut response = Vec::new();
        let mut part = [0; 512];
        while !response.windows(2).any(|end| end == b"\r\n") {
            stream.set_read_timeout(Some(left()?))?;
            match stream.read(&mut part)? {
                0 => break,
                count => response.extend_from_slice(&part[..count]),
            }
            if response.len() > RESPONSE_BYTES {
                break;
            }
        }
        let line = String::from_utf8_lossy(&response);
        let status = line.strip_prefix("HTTP/1.").and_then(|line| line.split(' ').nth(1)?.get(..3));
        let status = status.and_then(|status| status.parse().ok());
        status.ok_or_else(|| io::Error::other("the response was not HTTP/1.1"))
    }
}
