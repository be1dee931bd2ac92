//! How sessions of HTTP/1.1 are made of a plan.

use std::rc::Rc;
use std::sync::Arc;

use candor_plan::HttpVersion;

use super::memo::Memo;
use super::request::{Via, prepare_via};
use super::session::Session;
use super::settings::Limits;
use crate::entry::{Entry, To, make};
use crate::grpc;
use crate::parts::Rules;
use crate::session::Protocol;

/// HTTP/1.1 (RFC 9112).
pub static ENTRY: Entry = Entry {
    name: "HTTP/1.1",
    alpn: Some("http/1.1"),
    transport: Session::TRANSPORT,
    carries: |wire| wire.websocket().is_none(),
    alone: &[HttpVersion::H1, HttpVersion::Negotiated],
    sessions: |to| make(sessions(to)),
};

/// Makes sessions to a target.
pub fn sessions(to: To<'_>) -> impl Fn() -> Session + use<> {
    let To { plan, target, .. } = to;
    let pipeline = plan.connections.pipeline;
    let via = Via::of(target);
    let table = to.prepared(|request| {
        prepare_via(request, &target.authority, via.as_ref()).repeated(pipeline)
    });
    let memo = Rc::new(Memo::default());
    let (rules, room) = (Rules::table(plan.work.requests(), to.room), to.room.cloned());
    let (calls, is_tls) = (grpc::Limits::of(plan), target.tls.is_some());
    move || {
        let (table, memo) = (Arc::clone(&table), Rc::clone(&memo));
        let mut session = Session::with_memo(table, pipeline, Limits::default(), memo);
        if is_tls {
            session.in_tls();
        }
        if let Some(via) = &via {
            session.via(via);
        }
        if let Some(room) = &room {
            session.capture(room);
        }
        if let Some(limits) = calls {
            session.calls(limits);
        }
        if let Some(rules) = &rules {
            session.split(rules);
        }
        session
    }
}
