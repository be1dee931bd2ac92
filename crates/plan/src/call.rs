//! Calls of gRPC: what the requests of a plan are if they are calls.
//!
//! A plan has the schema of its calls with it, so that whoever sends them or shows their messages needs no other file
//! and no server. The body of a request without holes is encoded; with holes it is JSON, which every request
//! encodes anew.

use candor_grpc::{Encoder, Schema, SchemaError};
use serde::{Deserialize, Serialize};

pub use candor_grpc::{Kind as CallKind, Method as CallMethod};

use crate::error::PlanError;
use crate::journey::Variables;
use crate::kept::Kept;
use crate::model::Parts;
use crate::request::Request;
use crate::template::{Escape, Names, Piece, Template, TemplateError};

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

/// The call that a request is. Its method is the request's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Call {
    /// Who sends how many messages.
    pub kind: CallKind,
    /// How many the request has.
    pub messages: u32,
}

impl Calls {
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
    /// Of request number `number` of these parts, which is a call of `method`.
    pub(crate) fn of(
        parts: &Parts,
        variables: &Variables<'_>,
        method: &CallMethod,
        number: usize,
        request: &Request,
    ) -> Result<Self, PlanError> {
        let captured = variables.before(number as u32);
        let names = Names { data: &parts.data, environment: &parts.environment, captured };
        let compiled = Template::compile(request, number, names)
            .and_then(|template| Messages::compile(method, &template.body));
        compiled.map_err(|TemplateError(problem)| PlanError::Request {
            name: request.name.clone(),
            problem,
        })
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
