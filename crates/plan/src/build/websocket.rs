//! The WebSocket of a plan, whose URL is ws:// or wss://.

use super::{Files, calls, data};
use crate::error::{PlanError, conflict, exclude, value};
use crate::options::Options;
use crate::redact;
use crate::url::HttpUrl;
use crate::values::{Size, SmallCount};
use crate::wire::{KnownProtocol, Reaction, Replies, WebSocket};
use crate::work::StreamForm;
use crate::work::journey::Known;
use crate::work::template::{Names, compile_fixed};

/// The longest message that is accepted, unless the plan has another.
const DEFAULT_MESSAGE_BYTES: u64 = 16 << 20;

pub(super) fn websocket(
    options: &Options,
    url: &HttpUrl,
    files: &Files<'_>,
) -> Result<Option<WebSocket>, PlanError> {
    let own = &options.websocket;
    if !url.is_websocket {
        let given = [
            ("--protocol", own.protocol.is_some_and(|one| one.form().is_none())),
            ("--hello", own.hello.is_some()),
            ("--ready", own.ready.is_some()),
            ("--message-field", own.message_field.is_some()),
            ("--binary", own.binary),
            ("--fragment", own.fragment.is_some()),
            ("--no-reply", own.no_reply),
            ("--reply-field", own.reply_field.is_some()),
            ("--ignore", !own.ignore.is_empty()),
            ("--reply", own.reply.is_some()),
            ("--answer", !own.answer.is_empty()),
            ("--in-flight", own.in_flight.is_some()),
            ("--subprotocol", !own.subprotocol.is_empty()),
            ("--deflate", own.deflate),
            ("--ping", own.ping.is_some()),
            ("--max-message", own.max_message.is_some() && !calls::are_asked(options)),
        ];
        let why = "it is for WebSocket; write ws:// or wss://";
        return exclude(given, "http", why).map(|()| None);
    }
    let http_only = [
        ("--pipeline", options.requests.pipeline.is_some()),
        ("--streams", options.http2.streams.is_some()),
        ("--h2c-upgrade", options.http2.h2c_upgrade),
        ("--script", options.script.script.is_some()),
    ];
    let why = "it is for requests of HTTP; leave it out, or write http:// or https://";
    exclude(http_only, "ws", why)?;
    if own.no_reply && own.reply_field.is_some() {
        let why = "there is no reply to match; leave one of them out";
        return Err(conflict("--no-reply", "--reply-field", why));
    }
    if own.message_field.is_some() && own.reply_field.is_none() {
        let problem =
            "there is no field of replies that it is the same as; add --reply-field PATTERN";
        return Err(value("--message-field", problem));
    }
    let of_replies = [("--ignore", !own.ignore.is_empty()), ("--reply", own.reply.is_some())];
    if let Some((option, _)) = of_replies.into_iter().find(|(_, given)| own.no_reply && *given) {
        let why = "no message is a reply; leave one of them out";
        return Err(conflict("--no-reply", option, why));
    }
    let is_token = |name: &&String| {
        let is_of = |byte: u8| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&byte);
        name.is_empty() || !name.bytes().all(is_of)
    };
    if let Some(name) = own.subprotocol.iter().find(is_token) {
        let problem =
            format!("{:?} is not the name of a subprotocol; write a token", redact::refused(name));
        return Err(value("--subprotocol", problem));
    }
    if own.fragment == Some(Size(0)) {
        let problem = "a fragment has at least 1 byte";
        return Err(value("--fragment", problem));
    }
    Ok(Some(WebSocket {
        binary: own.binary,
        fragment_bytes: own.fragment.map(|Size(bytes)| bytes),
        replies: match &own.reply_field {
            _ if own.no_reply => Replies::Nothing,
            Some(field) => field.clone(),
            None => Replies::Ordered,
        },
        message_field: own.message_field.clone(),
        hello: hello(own.hello.as_deref().unwrap_or_default(), files)?.into(),
        ready: own.ready.clone(),
        ignore: own.ignore.clone(),
        reply: own.reply.clone(),
        answers: own.answer.iter().map(|text| reaction(text)).collect::<Result<_, _>>()?,
        subprotocols: own.subprotocol.clone(),
        deflate: own.deflate,
        ping_ns: own.ping.map(|ping| ping.get()),
        message_bytes: own.max_message.map_or(DEFAULT_MESSAGE_BYTES, |Size(bytes)| bytes),
    }))
}

/// What is sent first, with values of the environment.
fn hello(text: &str, files: &Files<'_>) -> Result<Vec<u8>, PlanError> {
    let environment = data::of_texts([text].into_iter(), files);
    let names = Names { data: &[], environment: &environment, captured: Known::default() };
    compile_fixed(text, names).map_err(|error| value("--hello", error.to_string()))
}

/// Adds what a known protocol needs to the options: what is given goes before, lists are joined.
pub(super) fn complete(options: &mut Options) {
    let Some(protocol) = options.websocket.protocol else { return };
    let no_reply = options.websocket.no_reply;
    let own = &mut options.websocket;
    let text = |to: &mut Option<String>, known: &str| {
        to.get_or_insert_with(|| known.to_owned());
    };
    let list = |to: &mut Vec<String>, known: &[&str]| {
        to.extend(known.iter().map(|one| (*one).to_owned()));
    };
    let field = |to: &mut Option<Replies>, prefix: &str, delimiter: u8| {
        if !no_reply {
            let prefix = prefix.to_owned();
            to.get_or_insert(Replies::Field { prefix, delimiter: Some(delimiter) });
        }
    };
    match protocol {
        // Of calls.
        KnownProtocol::Grpc
        | KnownProtocol::GrpcWeb
        | KnownProtocol::GrpcWebText
        | KnownProtocol::Connect => {}
        // https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
        KnownProtocol::GraphqlWs => {
            list(&mut own.subprotocol, &["graphql-transport-ws"]);
            text(&mut own.hello, r#"{"type":"connection_init"}"#);
            text(&mut own.ready, r#""type":\s*"connection_ack""#);
            list(&mut own.answer, &[r#"^\{\s*"type":\s*"ping"={"type":"pong"}"#]);
            field(&mut own.reply_field, r#""id":""#, b'"');
            if !no_reply {
                // A payload comes after both.
                const FRONT: &str = r#"^\{\s*("id":\s*"[^"]*",\s*)?"type":\s*"#;
                let streams = &mut options.streams;
                streams.stream.get_or_insert(StreamForm::Messages);
                text(&mut streams.stream_end, &format!("{FRONT}\"(complete|error)\""));
                text(&mut streams.stream_error, &format!("{FRONT}\"error\""));
            }
        }
        // The path is that of every server, unless the URL has one.
        // https://socket.io/docs/v4/engine-io-protocol/, https://socket.io/docs/v4/socket-io-protocol/
        KnownProtocol::SocketIo => {
            if let Some(url) = &mut options.url
                && let (_, rest) = url.split_once("://").unwrap_or(("", url))
                && matches!(rest.split_once('/'), None | Some((_, "")))
                && !rest.contains('?')
            {
                *url =
                    format!("{}/socket.io/?EIO=4&transport=websocket", url.trim_end_matches('/'));
            }
            list(&mut own.answer, &["^2$=3", "^0\\{=40"]);
            text(&mut own.ready, "^40");
            field(&mut own.reply_field, "43", b'[');
            if own.reply_field.is_some() {
                field(&mut own.message_field, "42", b'[');
                text(&mut own.reply, "^43");
            }
        }
        // https://docs.anycable.io/misc/action_cable_protocol
        KnownProtocol::ActionCable => {
            list(&mut own.subprotocol, &["actioncable-v1-json"]);
            text(&mut own.ready, r#""type":\s*"welcome""#);
            if !no_reply {
                list(&mut own.ignore, &[r#"^\{\s*"type":\s*"(welcome|ping)""#]);
            }
        }
        // https://stomp.github.io/stomp-specification-1.2.html
        KnownProtocol::Stomp => {
            list(&mut own.subprotocol, &["v12.stomp"]);
            text(&mut own.hello, "CONNECT\naccept-version:1.2\nhost:/\nheart-beat:0,0\n\n\0");
            text(&mut own.ready, "^CONNECTED");
            field(&mut own.reply_field, "receipt-id:", b'\n');
            if own.reply_field.is_some() {
                field(&mut own.message_field, "receipt:", b'\n');
                text(&mut own.reply, "^RECEIPT");
            }
            // A frame ends with a byte that no command line can have.
            let tables = options.requests.request.iter_mut();
            let steps = options.requests.journey.iter_mut().flat_map(|one| &mut one.step);
            let bodies = tables.chain(steps).map(|table| &mut table.body);
            for body in bodies.chain([&mut options.requests.body]).flatten() {
                if !body.ends_with('\0') {
                    body.push('\0');
                }
            }
        }
    }
}

fn reaction(text: &str) -> Result<Reaction, PlanError> {
    let Some((pattern, text)) = text.split_once('=').filter(|(pattern, _)| !pattern.is_empty())
    else {
        let problem = "there is no = in it; write REGEX=TEXT, e.g. '^2$=3'";
        return Err(value("--answer", problem));
    };
    Ok(Reaction { pattern: pattern.to_owned(), text: text.to_owned() })
}

/// Messages in flight on one connection.
pub(super) fn in_flight(options: &Options) -> u32 {
    options.websocket.in_flight.map_or(1, SmallCount::get)
}
