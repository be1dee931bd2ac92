//! The rules for the parts of a plan, each alone and in combination.
//!
//! A user can break some of these rules with options that are valid one by one; such an error names
//! the options. Only bytes that no [`Options`](crate::Options) made can break the others, and the
//! error names the part.

use std::collections::HashSet;

use super::{calls, stream};
use crate::build::conflict;
use crate::data::DataOrder;
use crate::delivery::Delivery;
use crate::error::PlanError;
use crate::journey::{Journey, Step, Think, Variables};
use crate::model::{
    Arrivals, Connections, Endpoint, HttpVersion, Load, NS_PER_S, OpenLoad, Pacing, Parts, Proxy,
    Rate, ReactorChoice, Segment, Target, Trace,
};
use crate::redact::{REDACTED, without_refused};
use crate::request::{BodyExpect, Request};
use crate::template::{self, Names, Template, TemplateError};
use crate::tls::{Pem, Tls, TlsVersion, Trust};
use crate::units::{MAX_DURATION_NS, fmt_count, fmt_duration_ns};
use crate::url::{parse_host_port, parse_path};
use crate::values::{Header, Method, SmallCount};
use crate::websocket::Replies;
use crate::work::{Journeys, Requests, Work};

/// The most requests of a plan, steps of journeys included: one takes some 6 kB from its line to its response.
const MOST_REQUESTS: usize = 250_000;
/// The most targets of a plan.
const MOST_TARGETS: usize = 64;
/// The shortest interval: finer ones cost memory, and have too few requests to mean anything.
const SHORTEST_INTERVAL_NS: u64 = 10_000_000;
/// The most intervals of a run, at 2 to 8 KiB each: enough for three and a half days at 1 s.
const MOST_INTERVALS: u64 = 300_000;
/// The longest time between bursts, and the longest time of a rate.
const NEVER_NS: u64 = 1_000_000_000 * NS_PER_S;
/// The limit of a server's fields: each connection stores the table that the server fills.
const LARGEST_TABLE: u32 = 1 << 20;
/// The limit of our own fields: every server allows this.
const LARGEST_OWN_TABLE: u32 = 4096;

pub(super) fn check(parts: &Parts) -> Result<(), PlanError> {
    fits(parts.work.requests().len())?;
    whole(parts)?;
    targets(parts)?;
    let variables = Variables::of(parts.work.journeys());
    journeys(parts, &variables)?;
    requests(parts, &variables)?;
    connections(parts)?;
    early_data(parts)?;
    websocket(parts)?;
    calls::check(parts, &variables)?;
    if let Load::Open(open) = &parts.load {
        schedule(open)?;
    }
    if let Some(script) = parts.work.script() {
        need(is_time(script.limits.call_ns), "script.limits.call_ns", "is a time above zero")?;
        data_of_script(parts)?;
    }
    times(parts)?;
    stamps(parts)?;
    recording(parts)
}

fn fits(requests: usize) -> Result<(), PlanError> {
    if requests <= MOST_REQUESTS {
        return Ok(());
    }
    let problem = format!(
        "{} requests and steps are more than the {} that a plan may have; take what differs between them from --data",
        fmt_count(requests as u64),
        fmt_count(MOST_REQUESTS as u64)
    );
    Err(value("[[request]]", problem))
}

pub(super) fn need(holds: bool, part: &'static str, rule: &'static str) -> Result<(), PlanError> {
    if holds { Ok(()) } else { Err(PlanError::Part { part, rule }) }
}

pub(super) fn value(option: &'static str, problem: impl Into<String>) -> PlanError {
    PlanError::Value { option, problem: problem.into() }
}

/// A result has the same parts, but some values are left out.
fn whole(parts: &Parts) -> Result<(), PlanError> {
    let request = |one: &Request| {
        let body = matches!(&one.expect.body, BodyExpect::Exact(body) if body.is_left_out());
        one.redacted.is_some() || one.body.is_left_out() || body
    };
    let replayed = |one: &Segment| matches!(one, Segment::Replay { offsets_ns, .. } if offsets_ns.is_left_out());
    let load = matches!(&parts.load, Load::Open(open) if open.segments.iter().any(replayed));
    let pem = |one: &Pem| one.text.is_left_out();
    let tls = |tls: &Tls| {
        matches!(&tls.trust, Trust::Only(one) if pem(one))
            || tls.identity.as_ref().is_some_and(|own| pem(&own.certificates) || pem(&own.key))
    };
    let is_hidden = |proxy: &Proxy| proxy.user.as_deref() == Some(REDACTED);
    let left_out = parts.work.requests().iter().any(request)
        || matches!(&parts.work, Work::Requests(requests) if requests.sequence.is_left_out())
        || load
        || parts.targets().filter_map(|one| one.tls.as_ref()).any(tls)
        || parts.wire.calls().is_some_and(|calls| calls.protoset.is_left_out())
        || parts.environment.iter().any(|one| one.value.is_left_out())
        || parts.targets().filter_map(|one| one.proxy.as_ref()).any(is_hidden)
        || parts.work.script().is_some_and(|script| script.source.is_left_out());
    if left_out { Err(PlanError::LeftOut) } else { Ok(()) }
}

fn targets(parts: &Parts) -> Result<(), PlanError> {
    let mut names = HashSet::new();
    for one in parts.targets() {
        let wrong = |problem: &str| {
            Err(PlanError::Target { name: one.name.clone(), problem: problem.to_owned() })
        };
        if !names.insert(&one.name) {
            return wrong("two targets have this name; give one of them another");
        }
        need(
            one.connections.is_none_or(is_small),
            "connections",
            "are counts from 1 to 1,000,000",
        )?;
        target(one)?;
    }
    let count = names.len();
    if count > MOST_TARGETS {
        let problem =
            format!("{count} targets are more than the {MOST_TARGETS} that a plan may have");
        return Err(value("[target.NAME]", problem));
    }
    let is_one = |one: &Request| (one.target as usize) < count;
    need(parts.work.requests().iter().all(is_one), "a request's target", "is one of the targets")?;
    if parts.others.is_empty() {
        return Ok(());
    }
    let unused = parts
        .targets()
        .zip(0u32..)
        .find(|(_, number)| parts.work.requests().iter().all(|one| one.target != *number));
    if let Some((target, number)) = unused {
        let problem = match number {
            0 => "no request goes to the plan's own url; make it the url of a target that has some",
            _ => "no request goes to it; name it in one, or leave it out",
        };
        return Err(PlanError::Target { name: target.name.clone(), problem: problem.to_owned() });
    }
    const SEVERAL: &str = "several targets";
    let has_early_data = |one: &Target| one.tls.as_ref().is_some_and(|tls| tls.early_data);
    let refused = [
        (
            "ws",
            parts.wire.websocket().is_some(),
            "all messages go to one WebSocket; write a plan for each",
        ),
        (
            "--call",
            parts.wire.calls().is_some(),
            "the calls of a plan go to one server; write a plan for each",
        ),
        (
            "--script",
            parts.work.script().is_some(),
            "the script decides what is sent; leave one of them out",
        ),
        (
            "--once",
            parts.connections.once,
            "each connection has one request there; write a plan for each target",
        ),
        (
            "connection = \"own\"",
            parts.connections.own,
            "a user has one connection, to one target; leave it out",
        ),
        (
            "--early-data",
            parts.targets().any(has_early_data),
            "what leaves first is known for one target only; leave it out",
        ),
        (
            "--h2c-upgrade",
            parts.targets().any(|one| one.http == HttpVersion::Upgrade),
            "it is for the requests of one target; write --h2",
        ),
    ];
    match refused.into_iter().find(|(_, is_so, _)| *is_so) {
        Some((option, _, why)) => Err(conflict(option, SEVERAL, why)),
        None => Ok(()),
    }
}

/// The length of a name, a user or a password in SOCKS 5 is a byte (RFC 1928 5, RFC 1929 2).
const MOST_PROXY_BYTES: usize = 255;

fn target(target: &Target) -> Result<(), PlanError> {
    let has_text = |text: &str| !text.is_empty() && !text.contains(char::is_control);
    need(has_text(&target.url), "target.url", "is a URL")?;
    let authority = has_text(&target.authority) && parse_host_port(&target.authority).is_ok();
    need(authority, "target.authority", "is a host with an optional port")?;
    if let Endpoint::Tcp { host, port } = &target.endpoint {
        need(has_text(host) && *port > 0, "target.endpoint", "is a host and a port above zero")?;
    }
    if let Some(proxy) = &target.proxy {
        let Proxy { host, port, .. } = proxy;
        need(
            has_text(host) && *port > 0,
            "target.proxy",
            "is asked for a host and a port above zero",
        )?;
        need(
            matches!(target.endpoint, Endpoint::Tcp { .. }),
            "target.endpoint",
            "is that of a proxy",
        )?;
        let (user, password) = proxy.credentials().unwrap_or_default();
        if host.len().max(user.len()).max(password.len()) > MOST_PROXY_BYTES {
            let problem = format!(
                "the host, the user or the password has over {MOST_PROXY_BYTES} bytes; no proxy takes that"
            );
            return Err(PlanError::Value { option: "--proxy", problem });
        }
    }
    let http = match target.http {
        HttpVersion::Negotiated => target.tls.is_some(),
        HttpVersion::Upgrade => target.tls.is_none(),
        HttpVersion::H1 | HttpVersion::H2 => true,
    };
    need(http, "target.http", "fits the use of TLS")?;
    match &target.tls {
        Some(tls) if tls.min > tls.max => Err(conflict(
            "--tls-min 1.3",
            "--tls-max 1.2",
            "they leave no version; raise --tls-max",
        )),
        _ => Ok(()),
    }
}

/// The conditions for messages of a WebSocket.
fn websocket(parts: &Parts) -> Result<(), PlanError> {
    const WS: &str = "ws";
    let Some(socket) = parts.wire.websocket() else { return Ok(()) };
    let is_field = match &socket.replies {
        Replies::Field { prefix, delimiter } => {
            !prefix.is_empty() && delimiter.is_none_or(|byte| byte.is_ascii())
        }
        Replies::Ordered | Replies::Nothing => true,
    };
    need(is_field, "websocket.replies", "has a prefix and an ASCII delimiter")?;
    let is_some = |bytes: u64| bytes > 0;
    need(socket.fragment_bytes.is_none_or(is_some), "websocket.fragment_bytes", "is above zero")?;
    need(is_some(socket.message_bytes), "websocket.message_bytes", "is above zero")?;
    let answered = socket.answers.iter().map(|one| ("--answer", &one.pattern));
    let own = socket.ignore.iter().map(|one| ("--ignore", one));
    let own = own.chain(socket.reply.iter().map(|one| ("--reply", one))).chain(answered);
    for (option, pattern) in own {
        if let Err(problem) = candor_memory::Pattern::new(pattern) {
            return Err(value(option, problem));
        }
    }
    need(socket.ping_ns.is_none_or(is_time), "websocket.ping_ns", "is a time above zero")?;
    let is_plain = parts.connections.pipeline == 1
        && parts.work.script().is_none()
        && parts.target.http != HttpVersion::Upgrade;
    need(is_plain, "websocket", "has no pipeline, no script and no upgrade to HTTP/2")?;
    if parts.target.tls.as_ref().is_some_and(|tls| tls.early_data) {
        let why = "the server opens a WebSocket before the first message; leave it out";
        return Err(conflict("--early-data", WS, why));
    }
    if parts.work.journeys().iter().any(|one| one.cookies) {
        let why = "messages have no cookies; leave them out, or send a Cookie field with --header";
        return Err(conflict("cookies", WS, why));
    }
    let Some(first) = parts.work.requests().first() else { return Ok(()) };
    for one in parts.work.requests() {
        if (&one.path, &one.headers) != (&first.path, &first.headers) {
            let why = "all messages go to one WebSocket; set the path in the URL, and fields for the whole plan";
            return Err(conflict("path or headers of a request", WS, why));
        }
        if one.delivery != Delivery::default() {
            let why = "that is for bodies of HTTP; for messages in pieces use --fragment";
            return Err(conflict("the delivery of a body", WS, why));
        }
        let fields = one.headers.iter().map(|(_, value)| value);
        if one.holes && fields.chain([&one.path]).any(|text| template::has_holes(text)) {
            let why = "a WebSocket is opened once, for all messages; keep ${…} to messages";
            return Err(conflict("${…} in the path or a field", WS, why));
        }
        if !socket.binary && std::str::from_utf8(one.body.whole()).is_err() {
            return Err(value("--body-file", "text messages are UTF-8; add --binary"));
        }
    }
    Ok(())
}

/// The conditions for requests in the first flight.
fn early_data(parts: &Parts) -> Result<(), PlanError> {
    /// An attacker may replay the first flight (RFC 8446 8, RFC 8470 2.1), so only requests that
    /// change nothing may leave in it (RFC 9110 9.2.1).
    const SAFE: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];
    const OPTION: &str = "--early-data";
    let Some(tls) = parts.target.tls.as_ref().filter(|tls| tls.early_data) else { return Ok(()) };
    if !tls.resumption {
        let problem = "it needs a ticket of an earlier connection; add --tls-resumption on";
        return Err(value(OPTION, problem));
    }
    if tls.max < TlsVersion::V13 {
        let why = "TLS 1.2 has no early data; leave one of them out";
        return Err(conflict(OPTION, "--tls-max 1.2", why));
    }
    if parts.target.http == HttpVersion::Negotiated {
        let problem = "the version of HTTP must be known before the handshake; add --h1 or --h2";
        return Err(value(OPTION, problem));
    }
    if parts.work.script().is_some() {
        let why = "requests of a script may not be safe to repeat; leave one of them out";
        return Err(conflict(OPTION, "--script", why));
    }
    let is_unsafe = |one: &&Request| !SAFE.contains(&one.method.as_str());
    match parts.work.requests().iter().find(is_unsafe) {
        Some(request) => Err(value(
            OPTION,
            format!(
                "a {} in the first flight may reach the server twice; leave it out, or send GET, HEAD or OPTIONS only",
                request.method
            ),
        )),
        None => Ok(()),
    }
}

fn requests(parts: &Parts, variables: &Variables<'_>) -> Result<(), PlanError> {
    let list = parts.work.requests();
    need(!list.is_empty(), "work", "has at least one request")?;
    for (number, one) in list.iter().enumerate() {
        request(one)?;
        delivery(parts, one)?;
        if let Some(streaming) = &one.stream {
            stream::check(parts, streaming)?;
        }
        if one.holes {
            holes(parts, one, number, variables)?;
        }
    }
    data(parts)?;
    if let Work::Requests(Requests { list, sequence, .. }) = &parts.work
        && sequence.whole().iter().any(|&one| one as usize >= list.len())
    {
        let problem = "unknown request; use the names of [[request]]";
        return Err(value("sequence", problem));
    }
    Ok(())
}

fn request(one: &Request) -> Result<(), PlanError> {
    let wrong = |problem: String| Err(PlanError::Request { name: one.name.clone(), problem });
    let method = &one.method;
    match one.path.as_str() {
        "*" if method == "OPTIONS" => {}
        "*" => {
            return wrong(format!(
                "path * is for OPTIONS, not {method}; write a path that begins with /"
            ));
        }
        path => {
            let is_path = parse_path(path).is_ok_and(|parsed| parsed == *path);
            let is_path =
                if one.holes { is_hole(path) || is_path } else { is_path && !has_blank(path) };
            need(is_path, "a request's path", "begins with / and has no blanks")?;
        }
    }
    let is_method = method.parse::<Method>().is_ok() || one.holes && is_hole(method);
    need(is_method, "a request's method", "is a word")?;
    let body_bytes = one.body.count();
    for (name, text) in &one.headers {
        need(Header::new(name, text).is_ok(), "a request's header", "is one line")?;
        // A length that differs from the body's would desynchronise the connection (RFC 9112
        // section 6.3): every response after the first would be counted for the wrong request.
        if name.eq_ignore_ascii_case("content-length") && text.parse() != Ok(body_bytes) {
            return wrong(format!(
                "Content-Length {text:?} is not the length of the body, {body_bytes}; leave the header out"
            ));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            let problem = "bodies are sent with a Content-Length; leave Transfer-Encoding out, or use --chunked SIZE";
            return wrong(problem.to_owned());
        }
    }
    let hosts = one.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    if hosts.count() > 1 {
        // RFC 9112 3.2: a server answers more than one with 400.
        return wrong("two Host fields make a request invalid; leave one out".to_owned());
    }
    let ranges = &one.expect.status.ranges;
    let is_range = |&(low, high): &(u16, u16)| 100 <= low && low <= high && high <= 999;
    let are_ranges = !ranges.is_empty() && ranges.iter().all(is_range);
    need(are_ranges, "a request's statuses", "are ranges from 100 to 999")?;
    need(is_small(one.weight), "a request's weight", "is from 1 to 1,000,000")?;
    own_delivery(&one.delivery, body_bytes)
}

/// Whether all of it is one hole, or several.
fn is_hole(text: &str) -> bool {
    text.starts_with("${") && !has_blank(&template::without_holes(text))
}

fn has_blank(text: &str) -> bool {
    text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// A request whose text is made anew each time, as that of a script is.
fn holes(
    parts: &Parts,
    one: &Request,
    number: usize,
    variables: &Variables<'_>,
) -> Result<(), PlanError> {
    let wrong = |problem: String| Err(PlanError::Request { name: one.name.clone(), problem });
    let captured = variables.before(number as u32);
    let names = Names { data: &parts.data, environment: &parts.environment, captured };
    if let Err(TemplateError(problem)) = Template::compile(one, number, names) {
        return wrong(problem);
    }
    const FIXED: [&str; 4] = ["connection", "content-length", "transfer-encoding", "upgrade"];
    let fixed =
        |(name, _): &&(String, String)| FIXED.iter().any(|one| name.eq_ignore_ascii_case(one));
    match one.headers.iter().find(fixed) {
        Some((name, value)) if template::has_holes(value) => {
            return wrong(format!(
                "{name} has the same value in every request; leave ${{…}} out of it"
            ));
        }
        Some((name, _)) if name.eq_ignore_ascii_case("content-length") => {
            return wrong(format!("the length of a body with ${{…}} differs; leave {name} out"));
        }
        _ => {}
    }
    let deliveries = [
        ("--pieces", one.delivery.pieces.is_some()),
        ("--expect-continue", one.delivery.continue_ns.is_some()),
        ("--break-off-after", one.delivery.break_off_after.is_some()),
        ("--chunked", one.delivery.chunk_bytes.is_some()),
        ("--script", parts.work.script().is_some()),
        ("--early-data", parts.target.tls.as_ref().is_some_and(|tls| tls.early_data)),
        ("--h2c-upgrade", parts.target.http == HttpVersion::Upgrade),
    ];
    match deliveries.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(conflict(
            option,
            "${…}",
            "a request with ${…} is made anew each time and leaves in one go; leave one of them out",
        )),
        None => Ok(()),
    }
}

fn journeys(parts: &Parts, variables: &Variables<'_>) -> Result<(), PlanError> {
    let Connections { count, max, own, once, .. } = parts.connections;
    let Work::Journeys(Journeys { list, requests, users }) = &parts.work else {
        return need(!own, "connections.own", "is for users");
    };
    need(!list.is_empty(), "journeys", "has at least one")?;
    need(users.is_none_or(is_small), "users", "is from 1 to 1,000,000")?;
    let is_own = *users == Some(count) && max == count && !once;
    need(!own || is_own, "connections.own", "has a connection for each of the users")?;
    let steps = list.iter().flat_map(|one| &one.steps);
    let in_order = steps.map(|step| step.request as usize).eq(0..requests.len());
    need(in_order, "journeys", "has each request once, in order")?;
    if parts.target.http == HttpVersion::Upgrade {
        let why = "an upgraded connection cannot be given requests of users; use --h2";
        return Err(conflict("--h2c-upgrade", "[[journey]]", why));
    }
    let mut names = HashSet::new();
    for journey in list {
        let wrong =
            |problem: String| Err(PlanError::Journey { name: journey.name.clone(), problem });
        if !names.insert(&journey.name) {
            return wrong("two journeys have this name; give one of them another".to_owned());
        }
        if journey.steps.is_empty() {
            return wrong("it has no step; add a [[journey.step]]".to_owned());
        }
        need(is_small(journey.weight), "a journey's weight", "is from 1 to 1,000,000")?;
        let mut names = HashSet::new();
        for step in &journey.steps {
            let is_first_of_its_name = names.insert(&requests[step.request as usize].name);
            step_of(parts, journey, step, is_first_of_its_name, variables)?;
        }
    }
    Ok(())
}

fn step_of(
    parts: &Parts,
    journey: &Journey,
    step: &Step,
    is_first_of_its_name: bool,
    variables: &Variables<'_>,
) -> Result<(), PlanError> {
    let name = &parts.work.requests()[step.request as usize].name;
    let wrong = |problem: String| {
        let problem = format!("step {name:?}: {problem}");
        Err(PlanError::Journey { name: journey.name.clone(), problem })
    };
    if !is_first_of_its_name {
        return wrong("two steps have this name; give one of them another".to_owned());
    }
    let (low, high) = step.repeat;
    need(low <= high && is_small(high), "a step's repeat", "is a range up to 1,000,000")?;
    let is_think = match step.think {
        Think::None => true,
        Think::Fixed { ns } | Think::Exponential { mean_ns: ns } => is_time(ns),
        Think::Uniform { low_ns, high_ns } => low_ns <= high_ns && is_time(high_ns),
    };
    need(is_think, "a step's think", "is a time above zero")?;
    for capture in &step.captures {
        if let Err(error) = candor_memory::Source::parse(&capture.source) {
            let problem = without_refused(&error.to_string(), &capture.source);
            return wrong(format!("capture {}: {problem}", capture.variable));
        }
    }
    if let Some(when) = &step.when {
        let captured = variables.before(step.request);
        let names = Names { data: &parts.data, environment: &parts.environment, captured };
        if let Err(TemplateError(problem)) = template::compile_text(when, names) {
            return wrong(format!("when: {problem}"));
        }
    }
    Ok(())
}

fn data(parts: &Parts) -> Result<(), PlanError> {
    for (at, set) in parts.data.iter().enumerate() {
        let is_first = parts.data[..at].iter().all(|other| other.name != set.name);
        need(!set.name.is_empty() && is_first, "data", "has names, each once")?;
        need(!set.columns.is_empty(), "data", "has columns")?;
    }
    Ok(())
}

/// Data sets of a plan with a script, which finds them in `wrk.user`.
fn data_of_script(parts: &Parts) -> Result<(), PlanError> {
    const OWN: [&str; 3] = ["index", "row", "state"];
    if let Some(set) = parts.data.iter().find(|set| OWN.contains(&set.name.as_str())) {
        let name = &set.name;
        let problem = format!(
            "a data set of a script cannot be named {name:?}, because wrk.user.{name} is something else; give it another name"
        );
        return Err(value("--data", problem));
    }
    let is_closed = matches!(parts.load, Load::Closed { .. });
    if is_closed && parts.data.iter().any(|set| set.order == DataOrder::Once) {
        let why = "in a closed load each connection is one user, who keeps its row; use another order, or add --rate";
        return Err(conflict("--script", "data in the order once", why));
    }
    Ok(())
}

/// Conflicts between a request and its delivery.
fn own_delivery(delivery: &Delivery, body_bytes: u64) -> Result<(), PlanError> {
    let of_bodies = [
        ("--chunked", delivery.chunk_bytes.is_some()),
        ("--expect-continue", delivery.continue_ns.is_some()),
        ("--break-off-after", delivery.break_off_after.is_some()),
    ];
    if let Some((option, _)) = of_bodies.into_iter().find(|(_, given)| *given && body_bytes == 0) {
        return Err(value(option, "the request has no body; add --body or --body-file"));
    }
    if delivery.chunk_bytes == Some(0) {
        return Err(value("--chunked", "a chunk has at least one byte; write e.g. 256 or 4KiB"));
    }
    if let Some(pieces) = delivery.pieces {
        let fits = (2..=SmallCount::MAX).contains(&pieces.count) && is_time(pieces.gap_ns);
        need(fits, "a request's pieces", "are two or more, with a gap")?;
    }
    if let Some(wait_ns) = delivery.continue_ns {
        need(is_time(wait_ns), "a request's continue_ns", "is a time above zero")?;
    }
    if delivery.break_off_after.is_some_and(|bytes| bytes >= body_bytes) {
        return Err(value(
            "--break-off-after",
            format!("the body has only {body_bytes} bytes; write less"),
        ));
    }
    if delivery.pieces.is_some() && delivery.continue_ns.is_some() {
        let why = "both decide when the body leaves; leave one of them out";
        return Err(conflict("--pieces", "--expect-continue", why));
    }
    Ok(())
}

/// Conflicts between the run as a whole and a request's delivery.
fn delivery(parts: &Parts, request: &Request) -> Result<(), PlanError> {
    let delivery = &request.delivery;
    // The deliveries that stop on the way come first.
    let asked = [
        ("--pieces", delivery.pieces.is_some()),
        ("--expect-continue", delivery.continue_ns.is_some()),
        ("--break-off-after", delivery.break_off_after.is_some()),
        ("--chunked", delivery.chunk_bytes.is_some()),
    ];
    let Some((option, _)) = asked.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    if parts.target_of(request).http != HttpVersion::H1 {
        let why = "it is for HTTP/1.1 only; add --h1, or leave it out";
        return Err(conflict(option, "HTTP/2", why));
    }
    if parts.work.script().is_some() {
        let why = "the script decides what is written; leave one of them out";
        return Err(conflict(option, "--script", why));
    }
    if parts.target.tls.as_ref().is_some_and(|tls| tls.early_data) {
        let why =
            "early data may have to be sent again, so it leaves in one go; leave one of them out";
        return Err(conflict(option, "--early-data", why));
    }
    if delivery.pauses() && parts.connections.pipeline > 1 {
        let why = "a request that stops would block those behind it; leave one of them out";
        return Err(conflict(option, "--pipeline", why));
    }
    Ok(())
}

fn schedule(open: &OpenLoad) -> Result<(), PlanError> {
    let segments = &open.segments;
    need(!segments.is_empty(), "load.segments", "has at least one segment")?;
    for (index, one) in segments.iter().enumerate() {
        segment(one)?;
        let is_last = index + 1 == segments.len();
        need(is_last || one.duration_ns().is_some(), "load.segments", "ends, but for the last")?;
    }
    let has_rate = |one: &Segment| matches!(one, Segment::Hold { .. } | Segment::Ramp { .. });
    if open.arrivals == Arrivals::Poisson && !segments.iter().all(has_rate) {
        return Err(conflict(
            "--arrivals poisson",
            "burst or replay",
            "their due times are fixed; leave --arrivals out",
        ));
    }
    Ok(())
}

fn segment(segment: &Segment) -> Result<(), PlanError> {
    let is_rate = |rate: &Rate| (1..=NEVER_NS).contains(&rate.per_ns) && rate.events <= rate.per_ns;
    let has_time = segment.duration_ns().is_none_or(is_time);
    need(has_time, "a segment's duration_ns", "is a time above zero")?;
    match segment {
        Segment::Hold { rate, .. } => {
            need(is_rate(rate) && rate.events > 0, "a hold's rate", "is above zero, to 10⁹/s")
        }
        Segment::Ramp { from, to, .. } => {
            let fits = is_rate(from) && is_rate(to) && from.events.max(to.events) > 0;
            need(fits, "a ramp's rates", "are not both zero, to 10⁹/s")
        }
        Segment::Burst { size, every_ns, .. } => {
            let fits = *size > 0 && (1..=NEVER_NS).contains(every_ns);
            need(fits, "a burst", "has requests and a time between")
        }
        Segment::Replay { offsets_ns, duration_ns } => {
            let offsets_ns = offsets_ns.whole();
            let ends =
                offsets_ns.last().is_some_and(|last| last.checked_add(1) == Some(*duration_ns));
            need(offsets_ns.is_sorted() && ends, "a replay's offsets_ns", "rise to its end")
        }
    }
}

fn connections(parts: &Parts) -> Result<(), PlanError> {
    let Connections { count, max, pipeline, streams, .. } = parts.connections;
    let all = [count, max, pipeline, streams].into_iter().all(is_small);
    need(all, "connections", "are counts from 1 to 1,000,000")?;
    if max < count {
        return Err(value(
            "--max-connections",
            format!(
                "{max} is below the {count} connections that are open from the start; raise it, or lower --connections"
            ),
        ));
    }
    // As in wrk, a thread without a connection is refused.
    if let Some(threads) = parts.threads.count {
        need(threads > 0, "threads.count", "is above zero")?;
        let count = parts.targets().map(|one| parts.connections_to(one).0).min().unwrap_or(count);
        if threads > count {
            return Err(value(
                "--threads",
                format!(
                    "{threads} threads cannot share {count} connections; raise --connections, or lower --threads"
                ),
            ));
        }
        if let Some(users) = parts.work.users().filter(|users| threads > *users) {
            let cannot = format!("{threads} threads cannot share {users} users");
            return Err(value("--threads", format!("{cannot}; raise --users, or lower --threads")));
        }
    }
    let windows = parts.connections.windows;
    let frames = parts.connections.frames;
    let bits = [windows.stream_bits, windows.connection_bits];
    need(bits.iter().all(|bits| (1..=30).contains(bits)), "windows", "have 1 to 30 bits")?;
    if !(1 << 14..1 << 24).contains(&frames.max_bytes) {
        let problem = "a frame has 16384 to 16777215 bytes; write e.g. 64KiB";
        return Err(value("--max-frame-size", problem));
    }
    for (option, bytes, most) in [
        ("--header-table-size", frames.header_table_bytes, LARGEST_TABLE),
        ("--encoder-header-table-size", frames.encoder_table_bytes, LARGEST_OWN_TABLE),
    ] {
        if bytes > most {
            return Err(value(option, format!("too large; write at most {most} bytes")));
        }
    }
    let used = parts.connections.requests_per_connection != Some(0);
    need(used, "requests_per_connection", "is above zero")?;
    let is_rate = |rate: Rate| rate.events > 0 && rate.events <= rate.per_ns;
    need(parts.connections.connect_rate.is_none_or(is_rate), "connect_rate", "is above zero")
}

fn times(parts: &Parts) -> Result<(), PlanError> {
    let timeouts = parts.timeouts;
    let stop = parts.stop;
    for (part, ns) in [
        ("timeouts.connect_ns", Some(timeouts.connect_ns)),
        ("timeouts.request_ns", Some(timeouts.request_ns)),
        ("timeouts.idle_ns", timeouts.idle_ns),
        ("connections.lifetime_ns", parts.connections.lifetime_ns),
        ("stop.give_up_ns", Some(stop.give_up_ns)),
        ("stop.duration_ns", stop.duration_ns),
    ] {
        need(ns.is_none_or(is_time), part, "is a time above zero, to 366 days")?;
    }
    let ends = stop.count.or(stop.duration_ns).is_some() && stop.count != Some(0);
    need(ends, "stop", "has a duration, or a count above zero")?;
    let or_zero = [stop.drain_ns, parts.recording.warm_up_ns];
    need(or_zero.iter().all(|ns| *ns <= MAX_DURATION_NS), "times", "are at most 366 days")
}

fn recording(parts: &Parts) -> Result<(), PlanError> {
    let recording = parts.recording;
    need((1..=5).contains(&recording.digits), "recording.digits", "is from 1 to 5")?;
    let trace = match recording.trace {
        None | Some(Trace::All) => true,
        Some(Trace::OneIn(n)) => n > 0,
        Some(Trace::Count(n)) => (1..=Trace::MOST).contains(&n),
    };
    need(trace, "recording.trace", "is a share, or a count to 10,000,000")?;
    if let Some(stamps) = recording.kernel_timestamps {
        need(stamps.one_in > 0, "recording.kernel_timestamps", "is a share")?;
        if parts.threads.reactor == ReactorChoice::Uring {
            let why = "the stamps are read with epoll; leave one of them out";
            return Err(conflict("--kernel-timestamps", "--reactor uring", why));
        }
    }
    intervals(parts)
}

fn stamps(parts: &Parts) -> Result<(), PlanError> {
    match stamps_refused(parts).filter(|_| parts.threads.pacing == Pacing::Stamps) {
        Some((other, why)) => Err(conflict("--pacing stamps", other, why)),
        None => Ok(()),
    }
}

impl Parts {
    /// Whether threads may sleep through responses, whose times are then the kernel's stamps.
    pub fn dozes(&self) -> bool {
        matches!(self.threads.pacing, Pacing::Auto | Pacing::Stamps)
            && stamps_refused(self).is_none()
    }
}

/// What in a plan keeps threads from sleeping through responses, and why. Nothing may wait for a response, and a read
/// may have one alone.
fn stamps_refused(parts: &Parts) -> Option<(&'static str, &'static str)> {
    let goes_on = "what comes next waits for a response; leave one of them out";
    let several = "the kernel has one stamp for several responses in a read; leave one of them out";
    let unstamped = "the kernel stamps only what comes over TCP; leave one of them out";
    let refused = [
        (!matches!(parts.load, Load::Open(_)), "a closed load", goes_on),
        (
            matches!(&parts.load, Load::Open(open) if open.shed_after_ns.is_some()),
            "--shed-after",
            "what is shed depends on when a response was read; leave one of them out",
        ),
        (parts.work.has_users(), "journeys", goes_on),
        (parts.work.script().is_some(), "--script", goes_on),
        (parts.work.requests().iter().any(|one| one.stream.is_some()), "--stream", goes_on),
        (parts.wire.websocket().is_some(), "WebSockets", several),
        (
            !parts.others.is_empty(),
            "several targets",
            "a request may wait for a connection to its own; leave one of them out",
        ),
        (parts.target.http != HttpVersion::H1, "HTTP/2", several),
        (parts.connections.pipeline > 1, "--pipeline", several),
        (matches!(parts.target.endpoint, Endpoint::Unix { .. }), "a unix socket", unstamped),
        (
            parts.threads.reactor == ReactorChoice::Uring,
            "--reactor uring",
            "the stamps are read with epoll; leave one of them out",
        ),
        (
            parts.recording.kernel_timestamps.is_some(),
            "--kernel-timestamps",
            "it has other stamps of its own; leave one of them out",
        ),
    ];
    refused.into_iter().find(|(is_so, ..)| *is_so).map(|(_, other, why)| (other, why))
}

/// Each interval takes memory until the run ends, so their length and their number are limited.
fn intervals(parts: &Parts) -> Result<(), PlanError> {
    let interval_ns = parts.recording.interval_ns;
    let shown = fmt_duration_ns(interval_ns);
    let wrong = |problem| Err(value("--interval", problem));
    if interval_ns < SHORTEST_INTERVAL_NS {
        let shortest = fmt_duration_ns(SHORTEST_INTERVAL_NS);
        return wrong(format!(
            "{shown} is too short: each interval takes memory until the run ends; write at least {shortest}"
        ));
    }
    let Some(window_ns) = parts.stop.duration_ns else { return Ok(()) };
    let run_ns =
        window_ns.saturating_add(parts.recording.warm_up_ns).saturating_add(parts.stop.drain_ns);
    let count = run_ns.div_ceil(interval_ns);
    if count <= MOST_INTERVALS {
        return Ok(());
    }
    let least = fmt_duration_ns(run_ns.div_ceil(MOST_INTERVALS).next_multiple_of(NS_PER_S));
    wrong(format!(
        "{shown} makes {} intervals of a run of {}, and at most {} are kept; write at least {least}",
        fmt_count(count),
        fmt_duration_ns(run_ns),
        fmt_count(MOST_INTERVALS)
    ))
}

fn is_time(ns: u64) -> bool {
    (1..=MAX_DURATION_NS + 1).contains(&ns)
}

fn is_small(count: u32) -> bool {
    (1..=SmallCount::MAX).contains(&count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_so_many_requests_and_no_more() {
        assert!(fits(MOST_REQUESTS).is_ok());
        let refused = fits(MOST_REQUESTS + 1).unwrap_err().to_string();
        assert!(
            refused.starts_with("[[request]]: 250,001 requests and steps are more"),
            "{refused}"
        );
    }
}
