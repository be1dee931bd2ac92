//! How sessions of HTTP/2 are made of a plan.

use std::sync::Arc;

use candor_plan::HttpVersion;

use super::request::{Prepared, prepare};
use super::session::Session;
use super::settings::Settings;
use super::upgrade::{Asking, Upgrade};
use crate::entry::{Entry, To, make};
use crate::grpc;
use crate::parts::Rules;
use crate::session::Protocol;

/// HTTP/2 (RFC 9113).
pub static ENTRY: Entry = Entry {
    name: "HTTP/2",
    alpn: Some("h2"),
    transport: Session::TRANSPORT,
    carries: |wire| wire.websocket().is_none(),
    alone: &[HttpVersion::H2],
    sessions: |to| make(sessions(to)),
};

/// HTTP/2 by an upgrade from HTTP/1.1 (RFC 7540 3.2).
pub static UPGRADE: Entry = Entry {
    name: "HTTP/2 by upgrade",
    alpn: None,
    transport: Upgrade::TRANSPORT,
    alone: &[HttpVersion::Upgrade],
    sessions: |to| make(upgrades(to)),
    ..ENTRY
};

/// Makes sessions to a target.
pub fn sessions(to: To<'_>) -> impl Fn() -> Session + use<> {
    let (table, settings) = (table(to), Settings::of(to.plan));
    let rules = Rules::table(to.plan.work.requests(), to.room);
    let (calls, room) = (grpc::Limits::of(to.plan), to.room.cloned());
    move || {
        let mut session = Session::new(Arc::clone(&table), settings);
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

/// No room and no rules: the plan's check refuses scripts and streams here.
fn upgrades(to: To<'_>) -> impl Fn() -> Upgrade + use<> {
    let (table, settings) = (table(to), Settings::of(to.plan));
    let authority = &to.target.authority;
    let asking = to.prepared(|request| Asking::new(request, authority, &settings));
    move || Upgrade::new(Arc::clone(&table), Arc::clone(&asking), settings)
}

fn table(to: To<'_>) -> Arc<[Prepared]> {
    let (scheme, authority) = (to.target.scheme(), &to.target.authority);
    to.prepared(|request| prepare(request, scheme, authority))
}
