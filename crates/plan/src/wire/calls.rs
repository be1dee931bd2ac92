//! Calls of gRPC: what the requests of a plan are if they are calls.
//!
//! A plan has the schema of its calls with it, so that whoever sends them or shows their messages needs no other file
//! and no server. The body of a request without holes is encoded; with holes it is JSON, which every request
//! encodes anew.

use std::borrow::Cow;

use candor_grpc::{Codec, Encoder, Schema, SchemaError, framed};
use serde::{Deserialize, Serialize};

pub use candor_grpc::Method as CallMethod;

use crate::error::{PlanError, conflict, need, value};
use crate::escape::Escape;
use crate::kept::Kept;
use crate::targets::{HttpVersion, Target};
use crate::work::template::{Names, Piece, Template, TemplateError};
use crate::work::{CallKind, Request, Work};

/// The calls of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calls {
    /// A FileDescriptorSet with what the calls need.
    pub protoset: Kept<u8>,
    /// The longest message that is accepted, from 1 byte to 4 GiB.
    pub message_bytes: u64,
    /// How long a call may take. The server is told, and at this time we cancel the call ourselves.
    #[serde(default)]
    pub deadline_ns: Option<u64>,
    /// How calls are written into HTTP.
    #[serde(default)]
    pub form: CallForm,
    /// How messages are written.
    #[serde(default)]
    pub codec: Codec,
}

/// How calls are written into HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CallForm {
    /// gRPC over HTTP/2: the status is in trailers.
    #[default]
    Grpc,
    /// gRPC-Web: the status is in the last frame of the body.
    GrpcWeb,
    /// gRPC-Web in its text form: the same, and the body is base64.
    GrpcWebText,
    /// Connect: the status is that of HTTP with a body of JSON; of a stream it is in the last frame of the body.
    Connect,
}

impl CallForm {
    /// The bit of a frame's first byte that says that it has the status, and not a message.
    pub fn end_flag(self) -> Option<u8> {
        match self {
            CallForm::Grpc => None,
            CallForm::GrpcWeb | CallForm::GrpcWebText => Some(0x80),
            CallForm::Connect => Some(0x02),
        }
    }

    /// The content type of a call.
    pub fn content_type(self, codec: Codec, kind: CallKind) -> &'static str {
        let (proto, json) = match self {
            CallForm::Grpc => ("application/grpc", "application/grpc+json"),
            CallForm::GrpcWeb => ("application/grpc-web+proto", "application/grpc-web+json"),
            CallForm::GrpcWebText => {
                ("application/grpc-web-text+proto", "application/grpc-web-text+json")
            }
            CallForm::Connect if self.is_framed(kind) => {
                ("application/connect+proto", "application/connect+json")
            }
            CallForm::Connect => ("application/proto", "application/json"),
        };
        match codec {
            Codec::Proto => proto,
            Codec::Json => json,
        }
    }

    /// Whether each message has a flag and its length in front; otherwise the body is the only message.
    pub fn is_framed(self, kind: CallKind) -> bool {
        self != CallForm::Connect || kind != CallKind::Unary
    }

    /// Makes the body of a call of the frames of its messages. `scratch` is memory.
    pub fn carry(self, kind: CallKind, frames: &mut Vec<u8>, scratch: &mut Vec<u8>) {
        if self == CallForm::GrpcWebText {
            scratch.clear();
            candor_grpc::encode_text(frames, scratch);
            std::mem::swap(frames, scratch);
        } else if !self.is_framed(kind) {
            frames.drain(..framed(&[]).len().min(frames.len()));
        }
    }

    /// The frames of messages in a body of a call, without the status behind them. What is no text has none.
    pub fn messages(self, kind: CallKind, body: &[u8]) -> Cow<'_, [u8]> {
        if !self.is_framed(kind) {
            return framed(body).into();
        }
        if self == CallForm::GrpcWebText {
            let body = candor_grpc::decode_text(body).unwrap_or_default();
            return CallForm::GrpcWeb.messages(kind, &body).into_owned().into();
        }
        let mut rest = body;
        while let Some((_, behind)) = candor_grpc::split_message(rest) {
            rest = behind;
        }
        let has_end = rest.first().is_some_and(|flag| Some(*flag) == self.end_flag());
        body[..body.len() - if has_end { rest.len() } else { 0 }].into()
    }
}

impl Calls {
    /// The conditions for requests that are calls.
    pub(super) fn check<'a>(
        &self,
        work: &Work,
        target: &Target,
        names: &dyn Fn(u32) -> Names<'a>,
    ) -> Result<(), PlanError> {
        const CALL: &str = "--call";
        let carries = match self.form {
            CallForm::Grpc => matches!(target.http, HttpVersion::H2 | HttpVersion::H3),
            _ => target.http != HttpVersion::Upgrade,
        };
        need(
            carries,
            "target.http",
            "is HTTP/2 or HTTP/3 for calls of gRPC, and no upgrade for others",
        )?;
        need(work.script().is_none(), "calls", "is all that is sent")?;
        if !(1..=u64::from(u32::MAX)).contains(&self.message_bytes) {
            return Err(value("--max-message", "a message has from 1 byte to 4 GiB"));
        }
        if work.journeys().iter().any(|one| one.cookies) {
            let why = "calls have no cookies; leave them out, or send metadata with --header";
            return Err(conflict("cookies", CALL, why));
        }
        let schema = self.schema().map_err(|error| value(CALL, error.to_string()))?;
        for (one, number) in work.requests().iter().zip(0..) {
            let method =
                schema.method(&one.path).map_err(|error| value(CALL, error.to_string()))?;
            let is_call = one.call.is_some_and(|call| call.kind == method.kind);
            need(is_call && one.method == "POST", "a call", "is of a method of the schema")?;
            need(one.stream.is_none(), "a call", "has no stream of events")?;
            if self.form != CallForm::Grpc && method.kind.client_streams() {
                let why = "streams the client's messages, which only grpc carries; leave it out";
                return Err(value("--protocol", format!("{} {why}", method.path)));
            }
            if one.holes && !one.literal_body {
                Messages::of(self, names(number), &method, number, one)?;
            } else {
                need(self.has_messages(one), "the body of a call", "is its messages")?;
            }
        }
        Ok(())
    }

    /// Whether a body is as many messages as the request says.
    fn has_messages(&self, request: &Request) -> bool {
        request.call.is_some_and(|call| {
            let body = self.form.messages(call.kind, request.body.whole());
            candor_grpc::messages(&body).is_some_and(|all| all.len() as u32 == call.messages)
        })
    }

    /// The schema of the calls.
    ///
    /// # Errors
    /// The protoset is none; it never is in a plan.
    pub fn schema(&self) -> Result<Schema, SchemaError> {
        Schema::from_protoset(self.protoset.whole())
    }
}

/// The messages of a request with holes, compiled.
#[derive(Debug, Clone)]
pub struct Messages {
    /// Writes them; its holes are numbered.
    pub encoder: Encoder,
    /// The hole of each number.
    pub holes: Vec<Piece>,
    /// How they become a body.
    pub form: CallForm,
    /// The method's.
    pub kind: CallKind,
}

impl Messages {
    /// Of request number `number` of a plan, which is a call of `method`.
    pub(crate) fn of(
        calls: &Calls,
        names: Names<'_>,
        method: &CallMethod,
        number: u32,
        request: &Request,
    ) -> Result<Self, PlanError> {
        let compiled = Template::compile(request, number as usize, names)
            .and_then(|template| Messages::compile(calls, method, &template.body));
        compiled.map_err(|TemplateError(problem)| request.wrong(problem))
    }

    /// Of a body as [`Template`] has it.
    ///
    /// # Errors
    /// It is not JSON of the method's messages.
    pub fn compile(
        calls: &Calls,
        method: &CallMethod,
        body: &[Piece],
    ) -> Result<Self, TemplateError> {
        let wrong = |problem: String| TemplateError(format!("the message: {problem}"));
        let mut holes = Vec::new();
        let mut pieces = Vec::new();
        for piece in body {
            pieces.push(match piece {
                Piece::Text(text) => {
                    let text = std::str::from_utf8(text);
                    candor_grpc::Piece::Text(text.map_err(|_| wrong("it is not UTF-8".to_owned()))?)
                }
                Piece::Hole(hole) => {
                    // The text is JSON; what is sent may not be.
                    let mut hole = hole.clone();
                    hole.escapes.pop_if(|last| matches!(last, Escape::Json | Escape::JsonValue));
                    holes.push(Piece::Hole(hole));
                    candor_grpc::Piece::Hole(holes.len() - 1)
                }
            });
        }
        let encoder = Encoder::compile(method, calls.codec, &pieces)
            .map_err(|error| wrong(error.to_string()))?;
        Ok(Messages { encoder, holes, form: calls.form, kind: method.kind })
    }
}
