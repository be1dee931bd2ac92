//! The requests of a plan: each `[[request]]` table laid over the top level.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data::URLS;
use super::target::{Targets, Way};
use super::{Files, calls, delivery, form, streams};
use crate::error::{PlanError, conflict, exclude};
use crate::holes;
use crate::options::{Options, RequestOptions, headers_over};
use crate::redact::Secrets;
use crate::url::HttpUrl;
use crate::values::{FormField, Header, RequestPath, Size, SmallCount};
use crate::wire::Wire;
use crate::work::{
    BodyExpect, Expect, OF_LIST, Order, OwnReply, Request, Requests, StatusSet, StreamForm,
};

pub(super) fn requests(
    options: &Options,
    targets: &mut Targets,
    files: &mut Files<'_>,
) -> Result<Requests, PlanError> {
    let order = order(options)?;
    for table in &options.requests.request {
        let of_steps = [
            ("think", table.think.is_some()),
            ("repeat", table.repeat.is_some()),
            ("once", table.once.is_some()),
            ("when", table.when.is_some()),
            ("capture", !table.capture.is_empty()),
        ];
        let why = "only a user has steps; put the request into a [[journey.step]]";
        exclude(of_steps, "[[request]]", why)?;
    }
    let only = [RequestOptions::default()];
    let tables =
        if options.requests.request.is_empty() { &only[..] } else { &options.requests.request[..] };
    let are_calls = calls::are_asked(options);
    let one = |table| request(options, table, targets, are_calls, files);
    let list: Result<Vec<Request>, PlanError> = tables.iter().map(one).collect();
    Ok(Requests {
        list: list?,
        order,
        sequence: options.requests.sequence.iter().copied().collect(),
    })
}

/// Only responses of HTTP that Candor reads itself are decoded.
pub(super) fn check_compressed(options: &Options, wire: &Wire) -> Result<(), PlanError> {
    if !options.requests.compressed {
        return Ok(());
    }
    let why = "it decodes responses of HTTP; leave it out";
    if wire.websocket().is_some() {
        return Err(conflict("--compressed", "ws", why));
    }
    if calls::are_asked(options) {
        return Err(conflict("--compressed", "gRPC", why));
    }
    if options.script.script.is_some() {
        let why = "a script reads bodies as they come; send an Accept-Encoding header instead";
        return Err(conflict("--compressed", "--script", why));
    }
    Ok(())
}

/// Which message answers this one, if the table says so.
fn own_reply(table: &RequestOptions, url: &HttpUrl) -> Result<Option<OwnReply>, PlanError> {
    let given = [("reply", table.reply.is_some()), ("wait", table.wait.is_some())];
    if !url.is_websocket {
        let why = "it is for messages of a WebSocket; write ws:// or wss://";
        return exclude(given, "http", why).map(|()| None);
    }
    let Some(pattern) = &table.wait else { return Ok(table.reply.clone()) };
    let sends = table.has_body();
    if sends || table.reply.is_some() {
        let why = "a step that waits sends nothing; leave it out";
        return Err(conflict(if sends { "body" } else { "reply" }, "wait", why));
    }
    Ok(Some(OwnReply::Awaited(pattern.clone())))
}

fn order(options: &Options) -> Result<Order, PlanError> {
    let weights = options.requests.request.iter().any(|one| one.weight.is_some());
    match options.requests.order {
        Some(Order::Rotation) if weights => Err(conflict(
            "weight",
            "--order rotation",
            "there each request has its turn; write --order weighted, or leave the weights out",
        )),
        Some(order) => Ok(order),
        None if weights => Ok(Order::Weighted),
        None => Ok(Order::Rotation),
    }
}

pub(super) fn request(
    options: &Options,
    table: &RequestOptions,
    targets: &mut Targets,
    are_calls: bool,
    files: &mut Files<'_>,
) -> Result<Request, PlanError> {
    let Way { target, url, headers: of_target } = targets.way(options, table, files)?;
    let Asked { text, file, form } = Asked::of(options, table)?;
    let method = table.method.clone().or_else(|| options.requests.method.clone());
    // As of curl: a body is there to be taken.
    let has_body = (text.is_some() || file.is_some() || !form.is_empty()) && !url.is_websocket;
    let usual = if has_body { "POST" } else { "GET" };
    let mut method = method.map_or_else(|| usual.to_owned(), |one| one.into_string());
    let mut path = table.path.clone().map_or_else(|| url.path.clone(), RequestPath::into_string);
    let call = calls::call(options, table, &url, are_calls)?;
    if let Some(call) = call {
        (method, path) = ("POST".to_owned(), call.path().to_owned());
    }
    if options.requests.urls.is_some() && table.path.is_none() && table.url.is_none() {
        if table.method.is_some() || options.requests.method.is_some() {
            let why = "each line of the list has its own; write e.g. POST /path there";
            return Err(conflict("--method", "--urls", why));
        }
        path = OF_LIST.to_owned();
        method = format!("${{{URLS}.method}}");
    }
    // A request without a name gets a redacted one, because every result contains the names.
    let shown = Secrets::shown_if(options.output.show_secrets).path(&path);
    let name = table.name.clone().unwrap_or_else(|| match method.starts_with('$') {
        _ if url.is_websocket => "message".to_owned(),
        _ if call.is_some() => shown[1..].to_owned(),
        true => URLS.to_owned(),
        false => format!("{method} {shown}"),
    });
    let below = headers_over(options.requests.header.clone(), of_target.to_vec());
    let mut headers = headers_over(below, table.header.clone());
    let has_type = headers.iter().any(|one| one.name().eq_ignore_ascii_case("content-type"));
    if table.json.is_some() && !has_type && call.is_none() {
        headers.extend(Header::new("Content-Type", "application/json"));
    }
    let stream = streams::streaming(options, table)?;
    // As clients of event streams do (WHATWG HTML 9.2.2); some servers answer with a page otherwise.
    let is_sse = stream.as_ref().is_some_and(|one| one.form == StreamForm::Sse);
    let has_accept = headers.iter().any(|one| one.name().eq_ignore_ascii_case("accept"));
    if is_sse && !has_accept {
        headers.extend(Header::new("Accept", "text/event-stream"));
    }
    let has_coding = headers.iter().any(|one| one.name().eq_ignore_ascii_case("accept-encoding"));
    if options.requests.compressed && !has_coding {
        // What decodes zstd keeps a window back, and with it events that came.
        let codings =
            if stream.is_some() { "gzip, deflate, br" } else { "gzip, deflate, br, zstd" };
        headers.extend(Header::new("Accept-Encoding", codings));
    }
    if stream.as_ref().is_some_and(|one| one.form == StreamForm::Messages) && !url.is_websocket {
        let why = "it is for replies of a WebSocket; write ws:// or wss://";
        return Err(conflict("--stream messages", "http", why));
    }
    let form = match form {
        [] => None,
        _ if url.is_websocket => {
            return Err(conflict("--form", "ws", "a message is no form; use --body"));
        }
        _ if call.is_some() => {
            return Err(conflict("--form", "--call", "the message of a call is JSON; use --body"));
        }
        fields => Some(form::form(fields, &mut headers, files)?),
    };
    let of_form = form.as_ref().map(|one| one.has_holes);
    let body = match form {
        Some(form) => form.body.into(),
        None => body(text, file, files)?,
    };
    let closes = options.requests.no_keepalive || options.load.once;
    let mut request = Request {
        delivery: delivery::delivery(options, table, &headers, body.len())?,
        headers: with_implied(
            headers,
            closes,
            url.authorization.as_deref(),
            if call.is_some() { calls::fields(options) } else { Vec::new() },
        ),
        expect: Expect {
            status: table
                .expect_status
                .clone()
                .or_else(|| options.expected.expect_status.clone())
                .unwrap_or_else(StatusSet::below_400),
            body: match (table.expect_body_bytes, &table.expect_body) {
                (None, None) => expected_body(
                    options.expected.expect_body_bytes,
                    &options.expected.expect_body,
                    files,
                )?,
                (bytes, file) => expected_body(bytes, file, files)?,
            },
        },
        stream,
        call: None,
        weight: table.weight.map_or(1, SmallCount::get),
        target,
        name,
        method,
        path,
        body: body.into(),
        holes: false,
        literal_body: file.is_some() || of_form == Some(false),
        reply: own_reply(table, &url)?,
        redacted: None,
    };
    if options.requests.literal {
        return Ok(request);
    }
    // A file is sent as it is.
    fill(&mut request, text.as_deref().unwrap_or_default());
    request.holes |= of_form == Some(true);
    Ok(request)
}

/// Looks for holes; `body` is the body if it may have some. Without holes everything becomes what it stands for.
fn fill(request: &mut Request, body: &str) {
    let in_fields = request.headers.iter().any(|(_, value)| holes::has_holes(value));
    let others = [&request.path, &request.method, body];
    request.holes = in_fields || others.into_iter().any(holes::has_holes);
    if !request.holes {
        let plain = |text: &mut String| *text = holes::plain(text);
        plain(&mut request.path);
        request.headers.iter_mut().for_each(|(_, value)| plain(value));
        if body.contains("$${") {
            request.body = holes::plain(body).into_bytes().into();
        }
    }
}

/// What a request asks for as its body: one of these, or none.
struct Asked<'o> {
    text: &'o Option<String>,
    file: &'o Option<PathBuf>,
    form: &'o [FormField],
}

impl<'o> Asked<'o> {
    /// That of its table, or that of the top level.
    fn of(options: &'o Options, table: &'o RequestOptions) -> Result<Self, PlanError> {
        const ONE: &str = "a request has one body; leave one of them out";
        let RequestOptions { body, json, body_file, form, .. } = table;
        let of_top = &options.requests;
        let asked = match table.has_body() {
            false => Asked { text: &of_top.body, file: &of_top.body_file, form: &of_top.form },
            true if body.is_some() && json.is_some() => return Err(conflict("body", "json", ONE)),
            true => Asked { text: if json.is_some() { json } else { body }, file: body_file, form },
        };
        match (asked.text, asked.file) {
            (Some(_), Some(_)) => Err(conflict("--body", "--body-file", ONE)),
            (Some(_), _) if !asked.form.is_empty() => Err(conflict("--body", "--form", ONE)),
            (_, Some(_)) if !asked.form.is_empty() => Err(conflict("--body-file", "--form", ONE)),
            _ => Ok(asked),
        }
    }
}

fn body(
    text: &Option<String>,
    file: &Option<PathBuf>,
    files: &mut Files<'_>,
) -> Result<Arc<[u8]>, PlanError> {
    match (text, file) {
        (Some(text), _) => Ok(text.as_bytes().into()),
        (None, Some(file)) => files.read("--body-file", file),
        (None, None) => Ok(Arc::new([])),
    }
}

fn expected_body(
    bytes: Option<Size>,
    file: &Option<impl AsRef<Path>>,
    files: &mut Files<'_>,
) -> Result<BodyExpect, PlanError> {
    match (bytes, file) {
        (Some(_), Some(_)) => Err(conflict(
            "--expect-body-bytes",
            "--expect-body",
            "the file has its own length; leave one of them out",
        )),
        (Some(Size(bytes)), None) => Ok(BodyExpect::Length(bytes)),
        (None, Some(file)) => {
            files.read("--expect-body", file.as_ref()).map(|body| BodyExpect::Exact(body.into()))
        }
        (None, None) => Ok(BodyExpect::Any),
    }
}

/// Headers that other options imply, unless `--header` sets them.
fn with_implied(
    headers: Vec<Header>,
    closes: bool,
    authorization: Option<&str>,
    of_call: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let has = |name: &str| headers.iter().any(|one| one.name().eq_ignore_ascii_case(name));
    let close = (closes && !has("connection")).then_some(("Connection", "close"));
    let authorization =
        authorization.filter(|_| !has("authorization")).map(|value| ("Authorization", value));
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let given = headers.iter().map(|one| owned((one.name(), one.value())));
    let of_call = of_call.into_iter().filter(|(name, _)| !has(name));
    given.chain(authorization.into_iter().chain(close).map(owned)).chain(of_call).collect()
}
