//! The calls of a plan: their schema, from files or from the server, and their messages.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use candor_grpc::{
    Codec, Encoder, HEADERS, MOST_REFLECTED_BYTES, Piece, Reflection, Schema, SchemaError, Version,
    timeout,
};

use super::Files;
use crate::error::{PlanError, conflict, value, without_effect};
use crate::holes;
use crate::options::{Options, RequestOptions, Unanswered};
use crate::plan::{Parts, Plan};
use crate::targets::HttpVersion;
use crate::url::HttpUrl;
use crate::values::{CallName, PositiveNanos, Size};
use crate::wire::{CallForm, CallMethod, Calls, KnownProtocol, Messages, Wire};
use crate::work::journey::Variables;
use crate::work::template::Names;
use crate::work::{Call, CallKind, Request};

/// The longest message that is accepted, unless the plan has another: that of most clients.
const DEFAULT_MESSAGE_BYTES: u64 = 4 << 20;

const CALL: &str = "--call";

/// Whether requests are calls.
pub(super) fn are_asked(options: &Options) -> bool {
    let steps = options.requests.journey.iter().flat_map(|journey| &journey.step);
    let mut tables = options.requests.request.iter().chain(steps);
    options.calls.call.is_some() || tables.any(|table| table.call.is_some())
}

/// How calls are written into HTTP.
pub(super) fn form(options: &Options) -> CallForm {
    options.websocket.protocol.and_then(KnownProtocol::form).unwrap_or_default()
}

/// The method that the request of `table` calls; `None` in a plan without calls, which [`are_asked`] knows.
pub(super) fn call<'a>(
    options: &'a Options,
    table: &'a RequestOptions,
    url: &HttpUrl,
    are_asked: bool,
) -> Result<Option<&'a CallName>, PlanError> {
    if !are_asked {
        return Ok(None);
    }
    let Some(call) = table.call.as_ref().or(options.calls.call.as_ref()) else {
        let why = "a plan has calls or other requests; give each of its requests a call";
        return Err(conflict("a request without a call", CALL, why));
    };
    if url.is_websocket {
        return Err(conflict("ws", CALL, "calls are requests of HTTP; write http:// or https://"));
    }
    const WHY: &str = "the method of the service decides; leave it out";
    const STATUS: &str = "the status of the call decides whether it is right; leave it out";
    let (requests, expected) = (&options.requests, &options.expected);
    let refused = [
        ("path", table.path.is_some(), WHY),
        ("--method", table.method.is_some() || requests.method.is_some(), WHY),
        ("--urls", requests.urls.is_some(), WHY),
        (
            "--script",
            options.script.script.is_some(),
            "a script has requests of its own; leave one of them out",
        ),
        (
            "--expect-status",
            table.expect_status.is_some() || expected.expect_status.is_some(),
            STATUS,
        ),
        ("--expect-body", table.expect_body.is_some() || expected.expect_body.is_some(), STATUS),
        (
            "--expect-body-bytes",
            table.expect_body_bytes.is_some() || expected.expect_body_bytes.is_some(),
            STATUS,
        ),
        (
            "--stream",
            table.stream.is_some() || options.streams.stream.is_some(),
            "the messages of a call are its events already; leave it out",
        ),
    ];
    match refused.into_iter().find(|(_, given, _)| *given) {
        Some((option, _, why)) => Err(conflict(option, CALL, why)),
        None => Ok(Some(call)),
    }
}

/// The header fields of a call besides those that the user gave.
pub(super) fn fields(options: &Options) -> Vec<(String, String)> {
    let (form, codec) = (form(options), options.calls.codec.unwrap_or_default());
    let of_form: &[(&str, &str)] = match form {
        CallForm::Grpc => &[("te", "trailers")],
        CallForm::GrpcWeb => &[("x-grpc-web", "1")],
        CallForm::GrpcWebText => &[("accept", "application/grpc-web-text"), ("x-grpc-web", "1")],
        CallForm::Connect => &[("connect-protocol-version", "1")],
    };
    // That of Connect is by the method.
    let kind = (form != CallForm::Connect)
        .then(|| ("content-type", form.content_type(codec, CallKind::Unary)));
    let deadline = options.calls.deadline.map(|ns| match form {
        CallForm::Connect => ("connect-timeout-ms", whole_ms(ns.get()).to_string()),
        _ => ("grpc-timeout", timeout(ns.get())),
    });
    let fixed = kind.into_iter().chain(of_form.iter().copied());
    let fixed = fixed.map(|(name, value)| (name, value.to_owned()));
    fixed.chain(deadline).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// At most ten digits, rounded up.
fn whole_ms(ns: u64) -> u64 {
    ns.div_ceil(1_000_000).min(9_999_999_999)
}

/// Whether metadata of this name have values of any bytes, in base64.
fn is_binary(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("-bin")
}

/// With or without padding; several values have commas between them.
fn is_base64(text: &str) -> bool {
    text.split(',').all(|one| {
        let digits = one.trim().trim_end_matches('=').as_bytes();
        let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
        digits.len() % 4 != 1 && digits.iter().all(is_digit)
    })
}

/// Makes the requests calls, if they are asked to be: their messages are still JSON.
pub(super) fn complete(
    options: &Options,
    parts: &mut Parts,
    files: &mut Files<'_>,
) -> Result<(), PlanError> {
    if !are_asked(options) {
        return needless(options);
    }
    for (name, text) in parts.work.requests().iter().flat_map(|one| &one.headers) {
        if is_binary(name) && !holes::has_holes(text) && !is_base64(text) {
            let why = "is not base64, as values of names that end in -bin are; encode it";
            return Err(value("--header", format!("the value of {name} {why}")));
        }
    }
    let mut names: Vec<String> = parts.work.requests().iter().map(|one| one.path.clone()).collect();
    let schema = schema(options, parts, &names, files)?;
    names.sort();
    names.dedup();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let calls = Calls {
        protoset: schema.protoset(&names).map_err(of_schema)?.into(),
        message_bytes: options
            .websocket
            .max_message
            .map_or(DEFAULT_MESSAGE_BYTES, |Size(bytes)| bytes),
        deadline_ns: options.calls.deadline.map(PositiveNanos::get),
        form: form(options),
        codec: options.calls.codec.unwrap_or_default(),
    };
    if let Some(deadline) = options.calls.deadline {
        parts.timeouts.request_ns = parts.timeouts.request_ns.min(deadline.get());
    }
    let mut list = parts.work.requests().to_vec();
    let variables = Variables::of(parts.work.journeys());
    let Parts { data, environment, .. } = &*parts;
    for (request, number) in list.iter_mut().zip(0..) {
        let method = schema.method(&request.path).map_err(of_schema)?;
        // The body is read as a call's.
        request.call = Some(Call { kind: method.kind, messages: 0 });
        let names = Names { data, environment, captured: variables.before(number) };
        let messages = encode(&calls, names, &method, number, request)?;
        request.call = Some(Call { kind: method.kind, messages });
        let has_type = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
        if !request.headers.iter().any(has_type) {
            let value = calls.form.content_type(calls.codec, method.kind).to_owned();
            request.headers.push(("content-type".to_owned(), value));
        }
    }
    parts.wire = Wire::Grpc(calls);
    parts.work.requests_mut().clone_from_slice(&list);
    Ok(())
}

/// What is for calls alone.
fn needless(options: &Options) -> Result<(), PlanError> {
    let own = &options.calls;
    let given = [
        ("--proto", !own.proto.is_empty()),
        ("--import-path", !own.import_path.is_empty()),
        ("--protoset", own.protoset.is_some()),
        ("--deadline", own.deadline.is_some()),
        ("--codec", own.codec.is_some()),
        ("--protocol", options.websocket.protocol.is_some_and(|one| one.form().is_some())),
    ];
    without_effect(given, "it is for calls of gRPC; add --call PACKAGE.SERVICE/METHOD")
}

/// Encodes messages that are the same in every request. How many messages there are.
fn encode(
    calls: &Calls,
    names: Names<'_>,
    method: &CallMethod,
    number: u32,
    request: &mut Request,
) -> Result<u32, PlanError> {
    let wrong = |problem: String| request.wrong(problem);
    let text = std::str::from_utf8(request.body.whole())
        .map_err(|_| wrong("the message: it is not UTF-8; write JSON".to_owned()))?;
    let text = if text.trim().is_empty() && !method.kind.client_streams() { "{}" } else { text };
    let may_have_holes = request.holes && !request.literal_body;
    if may_have_holes && holes::has_holes(text) {
        let messages = Messages::of(calls, names, method, number, request)?;
        return Ok(messages.encoder.messages() as u32);
    }
    let text = if may_have_holes { holes::plain(text) } else { text.to_owned() };
    let encoder = Encoder::compile(method, calls.codec, &[Piece::Text(&text)])
        .map_err(|error| wrong(format!("the message: {error}")))?;
    let mut body = encoder.fixed().unwrap_or_default().to_vec();
    calls.form.carry(method.kind, &mut body, &mut Vec::new());
    request.body = body.into();
    request.literal_body = true;
    Ok(encoder.messages() as u32)
}

fn of_schema(error: SchemaError) -> PlanError {
    value(CALL, error.to_string())
}

/// The schema of these calls.
fn schema(
    options: &Options,
    parts: &Parts,
    names: &[String],
    files: &mut Files<'_>,
) -> Result<Schema, PlanError> {
    let own = &options.calls;
    if own.proto.is_empty() && !own.import_path.is_empty() {
        let problem = "there is no file whose imports are looked for; add --proto FILE";
        return Err(value("--import-path", problem));
    }
    match (&own.protoset, own.proto.is_empty()) {
        (Some(_), false) => Err(conflict(
            "--proto",
            "--protoset",
            "one of them has the schema; leave the other out",
        )),
        (Some(file), true) => Schema::from_protoset(&files.read("--protoset", file)?)
            .map_err(|error| value("--protoset", format!("{}: {error}", file.display()))),
        (None, false) => {
            let text = |path: &PathBuf| path.to_string_lossy().into_owned();
            let protos: Vec<String> = own.proto.iter().map(text).collect();
            let roots: Vec<String> = own.import_path.iter().map(text).collect();
            Schema::from_protos(&protos, &roots, OnDisk(RefCell::new(files)))
                .map_err(|error| value("--proto", error.to_string()))
        }
        (None, true) => {
            let is_plain = form(options) == CallForm::Grpc && own.codec != Some(Codec::Json);
            reflected(parts, is_plain, names, files)
        }
    }
}

/// `.proto` files of the caller's.
struct OnDisk<'a, 'b>(RefCell<&'a mut Files<'b>>);

impl candor_grpc::Files for OnDisk<'_, '_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        match self.0.borrow_mut().read("--proto", Path::new(path)) {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(PlanError::Read { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(PlanError::Read { error, .. }) => Err(error.to_string()),
            Err(other) => Err(other.to_string()),
        }
    }
}

/// What the server says about itself. `is_plain`: the calls are those of gRPC, in its own codec.
fn reflected(
    parts: &Parts,
    is_plain: bool,
    names: &[String],
    files: &Files<'_>,
) -> Result<Schema, PlanError> {
    const REMEDY: &str = "give the schema with --proto FILE or --protoset FILE";
    for version in [Version::V1, Version::V1Alpha] {
        match asked(parts, is_plain, version, names, files)? {
            Ok(schema) => return Ok(schema),
            Err(Unanswered::NoMethod) => {}
            Err(Unanswered::Because(why)) => {
                let problem = format!(
                    "cannot read the schema from the server (reflection): {why}; or {REMEDY}"
                );
                return Err(PlanError::Unanswered { option: CALL, problem });
            }
        }
    }
    Err(value(CALL, format!("the server has no reflection; {REMEDY}")))
}

/// Asks the server in one version of the service.
fn asked(
    parts: &Parts,
    is_plain: bool,
    version: Version,
    names: &[String],
    files: &Files<'_>,
) -> Result<Result<Schema, Unanswered>, PlanError> {
    let mut reflection = Reflection::of(names.iter().map(String::as_str)).map_err(of_schema)?;
    let strange = || Ok(Err(Unanswered::Because("its response is not one message".to_owned())));
    while let Some(question) = reflection.poll_question() {
        let answer = match files.files.ask(&question_plan(parts, is_plain, version, &question)?) {
            Ok(answer) => answer,
            Err(why) => return Ok(Err(why)),
        };
        let Some((message, [])) = candor_grpc::split_message(&answer) else { return strange() };
        reflection.handle_response(message).map_err(of_schema)?;
    }
    reflection.finish().map(Ok).map_err(of_schema)
}

/// A plan with a single call: this question.
fn question_plan(
    parts: &Parts,
    is_plain: bool,
    version: Version,
    question: &[u8],
) -> Result<Plan, PlanError> {
    let mut parts = parts.clone();
    let mut request = parts.work.requests()[0].clone();
    let schema = version.schema().map_err(of_schema)?;
    request.name = version.path()[1..].to_owned();
    request.path = version.path().to_owned();
    request.body = candor_grpc::framed(question).into();
    (request.holes, request.literal_body) = (false, true);
    request.headers.retain(|(_, value)| !holes::has_holes(value));
    let is_h3 = parts.target.http == HttpVersion::H3;
    if !is_plain || !is_h3 && parts.target.http != HttpVersion::H2 {
        // It is asked as a server of gRPC.
        const OWN: [&str; 6] = [
            "accept",
            "content-type",
            "te",
            "x-grpc-web",
            "connect-protocol-version",
            "connect-timeout-ms",
        ];
        request.headers.retain(|(name, _)| !OWN.contains(&name.to_ascii_lowercase().as_str()));
        request.headers.extend(HEADERS.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    if !is_h3 {
        parts.target.http = HttpVersion::H2;
        if let Some(tls) = &mut parts.target.tls {
            tls.alpn = vec!["h2".to_owned()];
        }
    }
    request.call = Some(Call { kind: CallKind::Bidirectional, messages: 1 });
    parts.work = vec![request].into();
    parts.wire = Wire::Grpc(Calls {
        protoset: schema.protoset(&[version.path()]).map_err(of_schema)?.into(),
        message_bytes: MOST_REFLECTED_BYTES as u64,
        deadline_ns: None,
        form: CallForm::Grpc,
        codec: Codec::Proto,
    });
    parts.data = Vec::new();
    parts.connections.own = false;
    parts.look_once(1, 1);
    parts.try_into()
}
