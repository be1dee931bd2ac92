//! gRPC, gRPC-Web and Connect: what a response says about a call (gRPC's PROTOCOL-HTTP2, "Responses"; PROTOCOL-WEB;
//! Connect's "Protocol reference").
//!
//! A call is a request of HTTP whose body is messages, and a session that was told by [`calls`](crate::h2::Session::calls)
//! reads its response as one: messages become parts ([`Event::Part`](crate::Event::Part)), and the status decides whether
//! the response is the expected one. `OK` alone is. The plan's [`CallForm`] says where lengths and the status are: in
//! trailers, in the last frame of the body, or in a body of JSON; and whether a body is base64. Only lengths are looked at here; what is in a message
//! is the schema's business.
//!
//! A message is never kept: memory for a call is fixed, or has a bound where the body has the status.

mod bodies;
mod call;
mod end;
mod error;
mod messages;
mod status;

use candor_grpc::Codec;
use candor_plan::{CallForm, Parts};

pub use bodies::Bodies;
pub use error::Error;

pub(crate) use call::Call;
pub(crate) use messages::Ended;
pub(crate) use status::{Told, of_reset};

/// What responses of calls may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest message, in bytes.
    pub max_message_bytes: u32,
    /// A successful response has exactly one message: all methods called are unary or stream the client's messages
    /// alone.
    pub one_message: bool,
    /// How calls are written into HTTP.
    pub form: CallForm,
    /// How messages are written.
    pub codec: Codec,
}

impl Limits {
    /// Of a plan; `None`: its requests are no calls.
    pub fn of(plan: &Parts) -> Option<Self> {
        let calls = plan.wire.calls()?;
        let streams = plan.work.requests().iter().filter_map(|one| one.call);
        Some(Limits {
            max_message_bytes: u32::try_from(calls.message_bytes).unwrap_or(u32::MAX),
            one_message: !streams.into_iter().any(|call| call.kind.server_streams()),
            form: calls.form,
            codec: calls.codec,
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_message_bytes: 4 << 20,
            one_message: false,
            form: CallForm::Grpc,
            codec: Codec::Proto,
        }
    }
}
