//! The rules for calls of gRPC.

use super::rules::{need, value};
use crate::build::conflict;
use crate::call::Messages;
use crate::error::PlanError;
use crate::journey::Variables;
use crate::model::{HttpVersion, Parts};
use crate::request::Request;

const CALL: &str = "--call";

pub(super) fn check(parts: &Parts, variables: &Variables<'_>) -> Result<(), PlanError> {
    let list = parts.work.requests();
    let Some(calls) = parts.wire.calls() else {
        return need(list.iter().all(|one| one.call.is_none()), "calls", "has the schema of calls");
    };
    need(parts.target.http == HttpVersion::H2, "target.http", "is HTTP/2 for calls")?;
    need(
        parts.wire.websocket().is_none() && parts.work.script().is_none(),
        "calls",
        "is all that is sent",
    )?;
    if !(1..=u64::from(u32::MAX)).contains(&calls.message_bytes) {
        return Err(value("--max-message", "a message has from 1 byte to 4 GiB"));
    }
    if parts.work.journeys().iter().any(|one| one.cookies) {
        let why = "calls have no cookies; leave them out, or send metadata with --header";
        return Err(conflict("cookies", CALL, why));
    }
    let schema = calls.schema().map_err(|error| value(CALL, error.to_string()))?;
    for (number, one) in list.iter().enumerate() {
        let method = schema.method(&one.path).map_err(|error| value(CALL, error.to_string()))?;
        let is_call = one.call.is_some_and(|call| call.kind == method.kind);
        need(is_call && one.method == "POST", "a call", "is of a method of the schema")?;
        need(one.stream.is_none(), "a call", "has no stream of events")?;
        if one.holes && !one.literal_body {
            Messages::of(parts, variables, &method, number, one)?;
        } else {
            need(has_messages(one), "the body of a call", "is its messages")?;
        }
    }
    Ok(())
}

/// Whether a body is as many messages as the request says.
fn has_messages(request: &Request) -> bool {
    let count = candor_grpc::messages(request.body.whole()).map(|all| all.len() as u32);
    count.is_some() && request.call.map(|call| call.messages) == count
}
