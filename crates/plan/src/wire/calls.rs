//! Calls of gRPC: what the requests of a plan are if they are calls.
//!
//! A plan has the schema of its calls with it, so that whoever sends them or shows their messages needs no other file
//! and no server. The body of a request without holes is encoded; with holes it is JSON, which every request
//! encodes anew.

use candor_grpc::{Encoder, Schema, SchemaError};
use serde::{Deserialize, Serialize};

pub use candor_grpc::Method as CallMethod;

use crate::error::{PlanError, conflict, need, value};
use crate::escape::Escape;
use crate::kept::Kept;
use crate::targets::{HttpVersion, Target};
use crate::work::template::{Names, Piece, Template, TemplateError};
use crate::work::{Request, Work};

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
        need(target.http == HttpVersion::H2, "target.http", "is HTTP/2 for calls")?;
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
            if one.holes && !one.literal_body {
                Messages::of(names(number), &method, number, one)?;
            } else {
                need(has_messages(one), "the body of a call", "is its messages")?;
            }
        }
        Ok(())
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
}

impl Messages {
    /// Of request number `number` of a plan, which is a call of `method`.
    pub(crate) fn of(
        names: Names<'_>,
        method: &CallMethod,
        number: u32,
        request: &Request,
    ) -> Result<Self, PlanError> {
        let compiled = Template::compile(request, number as usize, names)
            .and_then(|template| Messages::compile(method, &template.body));
        compiled.map_err(|TemplateError(problem)| request.wrong(problem))
    }

    /// Of a body as [`Template`] has it.
    ///
    /// # Errors
    /// It is not JSON of the method's messages.
    pub fn compile(method: &CallMethod, body: &[Piece]) -> Result<Self, TemplateError> {
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
                    // The text is JSON, but what is sent is not.
                    let mut hole = hole.clone();
                    hole.escapes.pop_if(|last| matches!(last, Escape::Json | Escape::JsonValue));
                    holes.push(Piece::Hole(hole));
                    candor_grpc::Piece::Hole(holes.len() - 1)
                }
            });
        }
        let encoder =
            Encoder::compile(method, &pieces).map_err(|error| wrong(error.to_string()))?;
        Ok(Messages { encoder, holes })
    }
}

/// Whether a body is as many messages as the request says.
fn has_messages(request: &Request) -> bool {
    let count = candor_grpc::messages(request.body.whole()).map(|all| all.len() as u32);
    count.is_some() && request.call.map(|call| call.messages) == count
}
