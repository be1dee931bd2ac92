//! WebSocket: what messages are, and which message answers which.
//!
//! In a plan with a WebSocket a request is a message, its body the payload. The first request's path and header
//! fields open each connection.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::CallForm;
use crate::error::{PlanError, conflict, need, value};
use crate::holes;
use crate::kept::Kept;
use crate::redact::{Hidden, subprotocol};
use crate::run::Connections;
use crate::targets::{HttpVersion, Target};
use crate::units::is_time;
use crate::values::{Typed, ValueError, refuse};
use crate::work::{Delivery, StreamForm, Work};

/// How messages are sent and answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebSocket {
    /// Messages are binary; otherwise text.
    pub binary: bool,
    /// The most payload in one frame, above zero; `None`: one frame for each message.
    pub fragment_bytes: Option<u64>,
    /// Which message answers which.
    pub replies: Replies,
    /// The field in messages of ours, if it is not that of replies.
    #[serde(default)]
    pub message_field: Option<Replies>,
    /// What is sent first on each connection; empty: nothing.
    #[serde(default = "nothing")]
    pub hello: Kept<u8>,
    /// A connection takes messages when the server has sent one with this regular expression; `None`: at once.
    #[serde(default)]
    pub ready: Option<String>,
    /// Messages of the server with one of these regular expressions in them are no replies.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Only messages with this one in them are; `None`: all others.
    #[serde(default)]
    pub reply: Option<String>,
    /// Messages that are answered at once. They are no replies.
    #[serde(default)]
    pub answers: Vec<Reaction>,
    /// Subprotocols that are offered, in the order of preference.
    pub subprotocols: Vec<String>,
    /// permessage-deflate is offered (RFC 7692).
    pub deflate: bool,
    /// From one ping of ours to the next, and how long a pong may take; above zero. `None`: no pings.
    pub ping_ns: Option<u64>,
    /// The longest message that is accepted, also after decompression.
    pub message_bytes: u64,
}

impl WebSocket {
    /// The conditions for its messages.
    pub(super) fn check(
        &self,
        work: &Work,
        target: &Target,
        connections: &Connections,
    ) -> Result<(), PlanError> {
        const WS: &str = "ws";
        let is_field = match &self.replies {
            Replies::Field { prefix, delimiter } => {
                !prefix.is_empty() && delimiter.is_none_or(|byte| byte.is_ascii())
            }
            Replies::Ordered | Replies::Nothing => true,
        };
        need(is_field, "websocket.replies", "has a prefix and an ASCII delimiter")?;
        let is_some = |bytes: u64| bytes > 0;
        need(self.fragment_bytes.is_none_or(is_some), "websocket.fragment_bytes", "is above zero")?;
        need(is_some(self.message_bytes), "websocket.message_bytes", "is above zero")?;
        let answered = self.answers.iter().map(|one| ("--answer", &one.pattern));
        let own = self.ignore.iter().map(|one| ("--ignore", one));
        let own = own.chain(self.reply.iter().map(|one| ("--reply", one))).chain(answered);
        let of_steps = work.requests().iter().filter_map(|one| one.reply.as_ref()?.pattern());
        let of_streams =
            work.requests().iter().filter_map(|one| one.stream.as_ref()?.end.as_deref());
        let own = own
            .chain(self.ready.iter().map(|one| ("--ready", one)))
            .map(|(option, pattern)| (option, pattern.as_str()))
            .chain(of_steps.map(|pattern| ("reply", pattern)))
            .chain(of_streams.map(|pattern| ("--stream-end", pattern)));
        for (option, pattern) in own {
            if pattern.is_empty() {
                return Err(value(option, "the expression is empty and is in every message"));
            }
            if let Err(problem) = candor_memory::Pattern::new(pattern) {
                return Err(value(option, problem));
            }
        }
        need(self.ping_ns.is_none_or(is_time), "websocket.ping_ns", "is a time above zero")?;
        let is_plain = connections.pipeline == 1
            && work.script().is_none()
            && target.http != HttpVersion::Upgrade;
        need(is_plain, "websocket", "has no pipeline, no script and no upgrade to HTTP/2")?;
        if target.has_early_data() {
            let why = "the server opens a WebSocket before the first message; leave it out";
            return Err(conflict("--early-data", WS, why));
        }
        if work.journeys().iter().any(|one| one.cookies) {
            let why =
                "messages have no cookies; leave them out, or send a Cookie field with --header";
            return Err(conflict("cookies", WS, why));
        }
        let Some(first) = work.requests().first() else { return Ok(()) };
        for one in work.requests() {
            if one.stream.as_ref().is_some_and(|stream| stream.form != StreamForm::Messages) {
                let why = "a reply is messages; write --stream messages";
                return Err(conflict("--stream", WS, why));
            }
            if one.stream.is_some() && (one.reply.is_some() || self.replies == Replies::Nothing) {
                let why =
                    "a reply in several messages is found by the rules of the plan; leave it out";
                return Err(conflict("--stream", "reply", why));
            }
            if (&one.path, &one.headers) != (&first.path, &first.headers) {
                let why = "all messages go to one WebSocket; set the path in the URL, and fields for the whole plan";
                return Err(conflict("path or headers of a request", WS, why));
            }
            if one.delivery != Delivery::default() {
                let why = "that is for bodies of HTTP; for messages in pieces use --fragment";
                return Err(conflict("the delivery of a body", WS, why));
            }
            let fields = one.headers.iter().map(|(_, value)| value);
            if one.holes && fields.chain([&one.path]).any(|text| holes::has_holes(text)) {
                let why = "a WebSocket is opened once, for all messages; keep ${…} to messages";
                return Err(conflict("${…} in the path or a field", WS, why));
            }
            if !self.binary && std::str::from_utf8(one.body.whole()).is_err() {
                return Err(value("--body-file", "text messages are UTF-8; add --binary"));
            }
        }
        Ok(())
    }

    /// Hides names of subprotocols that have a token in them, and what is sent first.
    pub(super) fn redact(&mut self) {
        self.hello = self.hello.redacted();
        for name in &mut self.subprotocols {
            *name = subprotocol(name).to_owned();
        }
    }

    /// What is known to be secret of it.
    pub(super) fn hide(&self, hidden: &mut Hidden) {
        for name in self.subprotocols.iter().filter(|name| subprotocol(name) != **name) {
            hidden.unnamed(name.rsplit('.').next().unwrap_or(name));
        }
    }

    /// Whether a message is a reply only because it comes next.
    pub fn pairs_by_order(&self) -> bool {
        self.replies == Replies::Ordered
            && self.ignore.is_empty()
            && self.reply.is_none()
            && self.ready.is_none()
    }
}

fn nothing() -> Kept<u8> {
    Vec::new().into()
}

/// A protocol whose rules are known: over WebSocket, or of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnownProtocol {
    /// GraphQL over WebSocket (graphql-transport-ws)
    #[serde(rename = "graphql-ws")]
    GraphqlWs,
    /// Socket.IO, of which a message is an event with an acknowledgement, as in 42${seq}["echo",1]
    #[value(name = "socketio")]
    SocketIo,
    /// Action Cable of Rails
    #[value(name = "actioncable")]
    ActionCable,
    /// STOMP 1.2, of which a message is a frame with a receipt
    Stomp,
    /// Calls as gRPC has them, over HTTP/2 or HTTP/3
    Grpc,
    /// Calls as gRPC-Web has them, over each version of HTTP
    #[serde(rename = "grpc-web")]
    GrpcWeb,
    /// The same in base64: the text form of gRPC-Web
    #[serde(rename = "grpc-web-text")]
    GrpcWebText,
    /// Calls as Connect has them, over each version of HTTP
    Connect,
}

impl KnownProtocol {
    /// The form of calls that it is; `None`: it is one over WebSocket.
    pub fn form(self) -> Option<CallForm> {
        match self {
            KnownProtocol::Grpc => Some(CallForm::Grpc),
            KnownProtocol::GrpcWeb => Some(CallForm::GrpcWeb),
            KnownProtocol::GrpcWebText => Some(CallForm::GrpcWebText),
            KnownProtocol::Connect => Some(CallForm::Connect),
            _ => None,
        }
    }
}

/// What is sent back when the server sends a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reaction {
    /// The regular expression in the server's message.
    pub pattern: String,
    /// The text of ours.
    pub text: String,
}

/// Which message answers a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
    /// The next one, for the oldest request.
    Ordered,
    /// The one with the same text in this field.
    Field {
        /// What stands before the text; not empty.
        prefix: String,
        /// The byte after it, in ASCII; `None`: the text ends with the message.
        delimiter: Option<u8>,
    },
    /// None: a request is done when it was sent.
    Nothing,
}

/// A field, as `"id":*,`.
impl FromStr for Replies {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let Some((prefix, after)) = text.split_once('*') else {
            return refuse(format!("`{text}` has no *; write e.g. '\"id\":*,'"));
        };
        if prefix.is_empty() {
            return refuse(format!("`{text}` begins with the *; write the text before the field"));
        }
        match after.as_bytes() {
            [] => Ok(Replies::Field { prefix: prefix.to_owned(), delimiter: None }),
            [byte] if byte.is_ascii() => {
                Ok(Replies::Field { prefix: prefix.to_owned(), delimiter: Some(*byte) })
            }
            _ => refuse(format!("`{text}`: at most one ASCII character can follow the *")),
        }
    }
}

impl Typed for Replies {
    const EXPECTING: &'static str = "a pattern such as \"id=*\"";
}
