//! The WebSocket of a plan, whose URL is ws:// or wss://.

use super::calls;
use crate::error::{PlanError, conflict, exclude, value};
use crate::options::Options;
use crate::redact;
use crate::url::HttpUrl;
use crate::values::{Size, SmallCount};
use crate::wire::{Reaction, Replies, WebSocket};

/// The longest message that is accepted, unless the plan has another.
const DEFAULT_MESSAGE_BYTES: u64 = 16 << 20;

pub(super) fn websocket(options: &Options, url: &HttpUrl) -> Result<Option<WebSocket>, PlanError> {
    let own = &options.websocket;
    if !url.is_websocket {
        let given = [
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
        ignore: own.ignore.clone(),
        reply: own.reply.clone(),
        answers: own.answer.iter().map(|text| reaction(text)).collect::<Result<_, _>>()?,
        subprotocols: own.subprotocol.clone(),
        deflate: own.deflate,
        ping_ns: own.ping.map(|ping| ping.get()),
        message_bytes: own.max_message.map_or(DEFAULT_MESSAGE_BYTES, |Size(bytes)| bytes),
    }))
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
