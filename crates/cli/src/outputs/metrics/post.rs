//! Updates of a run, sent by POST or by calls of gRPC while it goes on. They wait in bounded queues for a thread of the lowest priority, which
//! has little time for each request. A receiver that is slow or away delays nothing: updates are sent when it is back, and
//! counted when they are lost. What is in an update is not known here.

use std::collections::VecDeque;
use std::env;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use candor_lab::trial::unix_ms;
use candor_plan::Place;
use candor_plan::redact::Hidden;
use candor_plan::url::HttpUrl;
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::call::Method;
use super::timed::{Timed, left};
use super::{NICEST, addresses, place};
use crate::console;
use crate::exit::UserError;
use crate::outputs::sink::{Sink, Target};
use crate::signals;

/// The most updates that wait for their thread.
const PIECES: usize = 64;
/// The most bytes that wait for the receiver.
const WAITING_BYTES: usize = 4 << 20;
/// The bytes of one request, unless one update has more.
const REQUEST_BYTES: usize = 256 << 10;
/// The most time for one request.
const LIMIT: Duration = Duration::from_millis(700);
/// The time after a failure until the next request, unless the receiver asks for more.
const AGAIN: Duration = Duration::from_secs(1);
/// The longest time that a receiver may ask for.
const MOST_PAUSE: Duration = Duration::from_secs(30);
/// The most bytes of a response that are read.
pub(super) const RESPONSE_BYTES: usize = 4096;

/// The header line of who sends.
pub(super) const AGENT: &str = concat!("User-Agent: candor/", env!("CARGO_PKG_VERSION"), "\r\n");

/// Whether a signal came while an output waited for its end: no other one waits then.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// How a kind of output sends.
pub(super) struct Form {
    /// The kind.
    pub(super) kind: &'static str,
    /// What is counted: a plural.
    pub(super) items: &'static str,
    /// Header lines of every dialect, each with its end.
    pub(super) fields: String,
    /// Requests are calls of gRPC.
    pub(super) is_call: bool,
    /// The dialect that is sent first.
    pub(super) dialect: Dialect,
    /// The one for a receiver that does not take it.
    pub(super) other: Option<Dialect>,
}

/// How updates are written: a receiver may take one dialect and not another.
#[derive(Clone, Copy)]
pub(super) struct Dialect {
    pub(super) name: &'static str,
    /// Header lines, each with its end.
    pub(super) fields: &'static str,
    /// The body of a request, from updates one behind the other, and the number of values that are to be confirmed.
    pub(super) pack: fn(Vec<u8>) -> (Vec<u8>, u64),
    /// How many of these values the receiver rejected; `None` if it does not take the dialect.
    pub(super) judge: fn(&Response, u64) -> Option<u64>,
}

impl Dialect {
    /// Updates as they are, of which nothing is confirmed but the whole.
    pub(super) const PLAIN: Self =
        Dialect { name: "", fields: "", pack: |updates| (updates, 0), judge: |_, _| Some(0) };
}

/// The response to a request.
pub(super) struct Response {
    pub(super) status: u16,
    head: String,
    /// As much of it as is read.
    pub(super) body: Vec<u8>,
}

/// Why there is no response that says what became of a request.
pub(super) struct Failed {
    /// The receiver has decided: it would come again.
    pub(super) is_final: bool,
    pub(super) why: String,
    /// How long to wait before the next request, if the receiver says so.
    pub(super) pause: Option<Duration>,
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed { is_final: false, why: error.to_string(), pause: None }
    }
}

impl Response {
    /// That of a call which succeeded.
    pub(super) fn of_call(body: Vec<u8>) -> Self {
        Response { status: 200, head: String::new(), body }
    }

    /// How long to wait before the next request, if the receiver says so in seconds (RFC 9110 10.2.3).
    fn pause(&self) -> Option<Duration> {
        self.field("Retry-After")?.parse().ok().map(Duration::from_secs)
    }

    /// The value of a header field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }
}

/// The receiver's URL. Errors do not repeat it, because it may have a password.
pub(super) fn url(kind: &str, to: &Place, example: &str) -> Result<HttpUrl, UserError> {
    let wrong = |why: &str| UserError::usage(format!("--out {kind}: {why}"));
    let url = HttpUrl::parse(place(kind, to, example)?).map_err(|why| wrong(&why.to_string()))?;
    match url.is_websocket {
        true => Err(wrong(&format!("metrics are not sent by WebSocket; write e.g. {example}"))),
        false => Ok(url),
    }
}

/// The URL of a receiver that has a path, and the header line with its user information, or with the token in `variable`
/// behind `scheme`; an empty one without both.
pub(super) fn url_and_token(
    kind: &str,
    to: &Place,
    example: &str,
    (variable, scheme): (&str, &str),
) -> Result<(HttpUrl, String), UserError> {
    let url = url(kind, to, example)?;
    if url.path == "/" {
        let why = format!("--out {kind}: the URL has no path; write e.g. {example}");
        return Err(UserError::usage(why));
    }
    let token = env::var(variable).ok().map(|token| format!("{scheme} {token}"));
    let value = url.authorization.clone().or(token);
    let line = value.map(|value| secret(kind, variable, "Authorization", &value)).transpose()?;
    Ok((url, line.unwrap_or_default()))
}

/// A header line of a secret that the environment has.
pub(super) fn secret(
    kind: &str,
    variable: &str,
    name: &str,
    value: &str,
) -> Result<String, UserError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let is_right = !name.is_empty() && name.chars().all(is_name);
    // A server may repeat it.
    let mut hidden = Hidden::default();
    hidden.field(name, value);
    hidden.unnamed(value);
    console::hide(hidden);
    match is_right && !value.chars().any(char::is_control) {
        true => Ok(format!("{name}: {value}\r\n")),
        false => Err(UserError::usage(format!(
            "--out {kind}: {variable} has a control character, or a name that no header has; set it again"
        ))),
    }
}

/// Updates on their way to a receiver.
pub(super) struct Outgoing {
    form: Form,
    sink: Sink,
    /// When the run began, since 1970; known from its first interval.
    origin_ns: Option<u64>,
    offered: u64,
    fate: Arc<Fate>,
}

/// The fate of the updates.
#[derive(Debug, Default)]
struct Fate {
    arrived: AtomicU64,
    /// The receiver did not take the first dialect.
    has_turned: AtomicBool,
    /// The last reason why updates did not arrive.
    why: Mutex<Option<String>>,
}

impl Outgoing {
    pub(super) fn new(form: Form, url: &HttpUrl) -> Result<Self, UserError> {
        let kind = form.kind;
        let failed = |why: String| UserError::usage(format!("--out {kind}: {why}"));
        let host =
            if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
        let fate = Arc::new(Fate::default());
        let (path, authority, fields) = (&url.path, &url.authority, &form.fields);
        let poster = Poster {
            addresses: addresses(kind, &format!("{host}:{}", url.port))?,
            tls: url.is_https.then(|| tls(&url.host, form.is_call)).transpose().map_err(failed)?,
            head: format!("POST {path} HTTP/1.1\r\nHost: {authority}\r\n{fields}"),
            method: form.is_call.then(|| Method::new(url, fields)),
            dialect: form.dialect,
            other: form.other,
            waiting: VecDeque::new(),
            not_before: None,
            is_nice: false,
            fate: Arc::clone(&fate),
        };
        let sink = Sink::new(poster, PIECES)
            .map_err(|why| UserError::could_not_run(format!("cannot start a thread: {why}")))?;
        Ok(Outgoing { form, sink, origin_ns: None, offered: 0, fate })
    }

    /// The time since 1970 of a moment of the run. The first one is now.
    pub(super) fn unix_ns(&mut self, at_ns: u64) -> u64 {
        let origin_ns = || (unix_ms() * 1_000_000).saturating_sub(at_ns);
        *self.origin_ns.get_or_insert_with(origin_ns) + at_ns
    }

    /// Offers an update with `items` items.
    pub(super) fn offer(&mut self, update: Vec<u8>, items: u64) {
        self.offered += items;
        self.sink.offer(update, items);
    }

    /// Waits until everything is sent, but neither for long nor beyond a signal. Fails if nothing arrived; else returns what
    /// to say of losses. Says by itself that another dialect was sent.
    pub(super) fn end(self) -> Result<Option<String>, UserError> {
        let Outgoing {
            form: Form { kind, items, dialect, other, .. }, sink, offered, fate, ..
        } = self;
        signals::on_signal(|| STOPPED.store(true, Ordering::SeqCst));
        let late = sink.end_unless(Vec::new(), || STOPPED.load(Ordering::SeqCst)).error;
        let arrived = fate.arrived.load(Ordering::Relaxed);
        if let Some(other) = other.filter(|_| fate.has_turned.load(Ordering::Relaxed)) {
            let (first, other) = (dialect.name, other.name);
            console::say(format_args!(
                "candor: --out {kind}: the server does not take {first}; {other} was sent"
            ));
        }
        let why = fate.why.lock().unwrap_or_else(PoisonError::into_inner).take();
        let why = late.map(|why| why.to_string()).or(why).unwrap_or_else(|| "too slow".to_owned());
        let lost =
            format!("--out {kind}: {} of {offered} {items} were lost: {why}", offered - arrived);
        match arrived {
            _ if arrived == offered => Ok(None),
            0 => Err(UserError::could_not_run(lost)),
            _ => Ok(Some(format!("candor: {lost}"))),
        }
    }
}

/// What TLS to this host needs: it must have a certificate of an authority that the system trusts. Calls need HTTP/2.
fn tls(host: &str, is_call: bool) -> Result<(Arc<ClientConfig>, ServerName<'static>), String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    if roots.add_parsable_certificates(found.certs).0 == 0 {
        return Err(
            "this system has no trusted CAs; install them, or name a file in SSL_CERT_FILE"
                .to_owned(),
        );
    }
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| "the host is not a name that TLS can ask for; write another URL".to_owned())?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = if is_call { vec![b"h2".to_vec()] } else { Vec::new() };
    Ok((Arc::new(config), name))
}

/// Sends updates to the receiver.
struct Poster {
    addresses: Vec<SocketAddr>,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// The head of a request, without the fields of its dialect and its length.
    head: String,
    /// The method that is called instead.
    method: Option<Method>,
    dialect: Dialect,
    /// Another one, until one of them was taken or this one is sent.
    other: Option<Dialect>,
    /// Updates and the number of their items, the oldest first.
    waiting: VecDeque<(Vec<u8>, u64)>,
    /// After a request that failed: when the next one may be sent.
    not_before: Option<Instant>,
    is_nice: bool,
    fate: Arc<Fate>,
}

impl Target for Poster {
    fn put(&mut self, update: &[u8], items: u64) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_nice, true) {
            // If the priority cannot be lowered, it stays.
            let _ = setpriority_process(Some(gettid()), NICEST);
        }
        // The last piece has nothing in it.
        if !update.is_empty() {
            self.waiting.push_back((update.to_vec(), items));
        }
        while self.waiting.iter().map(|(update, _)| update.len()).sum::<usize>() > WAITING_BYTES {
            self.waiting.pop_front();
        }
        if self.not_before.is_none_or(|at| Instant::now() >= at) {
            self.send();
        }
        Ok(())
    }

    fn finish(&mut self) {
        self.send();
    }
}

impl Poster {
    /// Sends everything that waits, until a request fails.
    fn send(&mut self) {
        while !self.waiting.is_empty() {
            let (mut body, mut items, mut taken) = (Vec::new(), 0, 0);
            for (update, count) in &self.waiting {
                if !body.is_empty() && body.len() + update.len() > REQUEST_BYTES {
                    break;
                }
                body.extend_from_slice(update);
                (items, taken) = (items + count, taken + 1);
            }
            let (body, values) = (self.dialect.pack)(body);
            let response = self.post(body);
            let pause = response.as_ref().map_or_else(|failed| failed.pause, Response::pause);
            let judged = response.map(|one| (one.status, (self.dialect.judge)(&one, values)));
            if let (Ok((_, None)), Some(other)) = (&judged, self.other) {
                (self.dialect, self.other) = (other, None);
                self.fate.has_turned.store(true, Ordering::Relaxed);
                continue;
            }
            let is_decided = match &judged {
                Ok((status, _)) => matches!(status, 200..=299 | 400..=428 | 430..=499),
                Err(failed) => failed.is_final,
            };
            let why = match judged {
                Ok((200..=299, Some(0))) => None,
                Ok((200..=299, Some(count))) => Some(format!("the server rejected {count} values")),
                Ok((200..=299, None)) => Some("the server did not confirm any value".to_owned()),
                Ok((status, Some(count @ 1..))) => Some(format!(
                    "the server's status was {status}, and it rejected {count} of {values} values"
                )),
                Ok((status, _)) => Some(format!("the server's status was {status}")),
                Err(failed) => Some(failed.why),
            };
            // A refusal would come again.
            if is_decided {
                self.waiting.drain(..taken);
            }
            let pause = pause.unwrap_or_default().clamp(AGAIN, MOST_PAUSE);
            self.not_before = why.is_some().then(|| Instant::now() + pause);
            match why {
                None => {
                    self.other = None;
                    self.fate.arrived.fetch_add(items, Ordering::Relaxed);
                }
                Some(_) => {
                    *self.fate.why.lock().unwrap_or_else(PoisonError::into_inner) = why;
                    return;
                }
            }
        }
    }

    /// Sends one request.
    fn post(&self, body: Vec<u8>) -> Result<Response, Failed> {
        let until = Instant::now() + LIMIT;
        let mut stream = Err(io::ErrorKind::AddrNotAvailable.into());
        for address in &self.addresses {
            stream = left(until).and_then(|left| TcpStream::connect_timeout(address, left));
            if stream.is_ok() {
                break;
            }
        }
        let stream = Timed::new(stream?, until);
        match &self.tls {
            None => self.ask(stream, body),
            Some((config, name)) => {
                let client = ClientConnection::new(Arc::clone(config), name.clone());
                let client = client.map_err(io::Error::other)?;
                self.ask(StreamOwned::new(client, stream), body)
            }
        }
    }

    fn ask(&self, stream: impl Read + Write, body: Vec<u8>) -> Result<Response, Failed> {
        if let Some(method) = &self.method {
            return method.call(stream, &body);
        }
        let (head, fields, length) = (&self.head, self.dialect.fields, body.len());
        let head = format!("{head}{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        Ok(exchange(stream, &[head.into_bytes(), body].concat())?)
    }
}

/// Writes a request, and reads the response, and as much of its body as comes.
fn exchange(mut stream: impl Read + Write, request: &[u8]) -> io::Result<Response> {
    stream.write_all(request)?;
    stream.flush()?;
    let mut response = Vec::new();
    let mut part = [0; 512];
    while !is_whole(&response) && response.len() <= RESPONSE_BYTES {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => response.extend_from_slice(&part[..count]),
            // The status is what matters.
            Err(_) if head_end(&response).is_some() => break,
            Err(error) => return Err(error),
        }
    }
    let line = String::from_utf8_lossy(&response);
    let status = line.strip_prefix("HTTP/1.").and_then(|line| line.split(' ').nth(1)?.get(..3));
    let status = status.and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("the response was not HTTP/1.1"))?;
    let cut_off = || io::Error::other("the response was cut off in its head");
    let body = response.split_off(head_end(&response).ok_or_else(cut_off)?);
    let head = String::from_utf8_lossy(&response).into_owned();
    Ok(Response { status, head, body })
}

/// Where the body of a response begins, behind the empty line, if that is there.
fn head_end(response: &[u8]) -> Option<usize> {
    response.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// The value of a header field.
pub(super) fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let value = fields.find(|(one, _)| one.eq_ignore_ascii_case(name))?.1;
    Some(value.trim())
}

/// Whether the head is there, and the body if its length is known. One of another length has nothing that is read.
fn is_whole(response: &[u8]) -> bool {
    let length = |head: &str| field(head, "content-length")?.parse::<usize>().ok();
    head_end(response).is_some_and(|end| {
        let head = String::from_utf8_lossy(&response[..end]);
        response.len() - end >= length(&head).unwrap_or_default()
    })
}
