//! Wire: what a plan's requests are to the connections that carry them. The version of HTTP below and its encryption
//! are each target's.

mod calls;
mod websocket;

pub use calls::{CallForm, CallMethod, Calls, Messages};
pub use websocket::{KnownProtocol, Reaction, Replies, WebSocket};

use serde::{Deserialize, Serialize};

use crate::error::{PlanError, Refusal, need};
use crate::redact::{Hidden, Secrets};
use crate::run::{Connections, SEVERAL_IN_A_READ};
use crate::targets::Target;
use crate::work::Work;
use crate::work::template::Names;

/// What the requests of a plan are on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a plan has one wire")]
pub enum Wire {
    /// Requests of HTTP.
    #[default]
    Http,
    /// Messages of a WebSocket.
    #[serde(rename = "websocket")]
    WebSocket(WebSocket),
    /// Calls of gRPC.
    Grpc(Calls),
}

impl Wire {
    /// The WebSocket, if requests are its messages.
    pub fn websocket(&self) -> Option<&WebSocket> {
        match self {
            Wire::WebSocket(socket) => Some(socket),
            Wire::Http | Wire::Grpc(_) => None,
        }
    }

    /// The calls, if requests are such.
    pub fn calls(&self) -> Option<&Calls> {
        match self {
            Wire::Grpc(calls) => Some(calls),
            Wire::Http | Wire::WebSocket(_) => None,
        }
    }

    /// Whether it fits the work, the target and the connections; and whether messages find the names in them.
    pub(crate) fn check<'a>(
        &self,
        work: &Work,
        target: &Target,
        connections: &Connections,
        names: &dyn Fn(u32) -> Names<'a>,
    ) -> Result<(), PlanError> {
        let is_plain = work.requests().iter().all(|one| one.call.is_none());
        need(is_plain || self.calls().is_some(), "calls", "has the schema of calls")?;
        match self {
            Wire::Http => Ok(()),
            Wire::WebSocket(socket) => socket.check(work, target, connections),
            Wire::Grpc(calls) => calls.check(work, target, names),
        }
    }

    /// Why it is of one target, if it has to be.
    pub(crate) fn alone(&self) -> Option<Refusal> {
        match self {
            Wire::Http => None,
            Wire::WebSocket(_) => {
                Some(("ws", "all messages go to one WebSocket; write a plan for each"))
            }
            Wire::Grpc(_) => {
                Some(("--call", "the calls of a plan go to one server; write a plan for each"))
            }
        }
    }

    /// Why a thread cannot sleep through responses, if so.
    pub(crate) fn unstamped(&self) -> Option<Refusal> {
        self.websocket().map(|_| ("WebSockets", SEVERAL_IN_A_READ))
    }

    /// Leaves out what may be secret.
    pub(crate) fn redact(&mut self, secrets: Secrets) {
        match self {
            Wire::WebSocket(socket) if secrets == Secrets::Hidden => socket.redact(),
            Wire::Http | Wire::WebSocket(_) => {}
            Wire::Grpc(calls) => calls.protoset = calls.protoset.redacted(),
        }
    }

    /// Whether something was left out of it.
    pub(crate) fn is_left_out(&self) -> bool {
        self.calls().is_some_and(|calls| calls.protoset.is_left_out())
    }

    /// What is known to be secret of it.
    pub(crate) fn hide(&self, hidden: &mut Hidden) {
        if let Wire::WebSocket(socket) = self {
            socket.hide(hidden);
        }
    }
}
