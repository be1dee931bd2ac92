//! How sessions of HTTP/3 are made of a plan.

use std::sync::Arc;

use candor_plan::HttpVersion;

use super::quic::Setup;
use super::request::prepare;
use super::session::Session;
use super::settings::Settings;
use crate::entry::{Entry, Make, To, make};
use crate::grpc;
use crate::parts::Rules;
use crate::session::Protocol;

/// HTTP/3 (RFC 9114).
pub static ENTRY: Entry = Entry {
    name: "HTTP/3",
    // Nobody chooses it over TCP.
    alpn: None,
    transport: Session::TRANSPORT,
    carries: |wire| wire.websocket().is_none(),
    alone: &[HttpVersion::H3],
    sessions,
};

/// Makes sessions to a target.
///
/// # Panics
///
/// Without a configuration of TLS: there is no QUIC without it.
fn sessions(to: To<'_>) -> Make {
    let settings = Settings::of(to.plan);
    let (scheme, authority) = (to.target.scheme(), &to.target.authority);
    let table = to.prepared(|request| prepare(request, scheme, authority));
    let connector = to.tls.expect("the engine gives QUIC its TLS");
    let (setup, room) = (Setup::of(connector, &settings), to.room.cloned());
    let rules = Rules::table(to.plan.work.requests(), to.room);
    let calls = grpc::Limits::of(to.plan);
    make(move || {
        let mut session = Session::new(Arc::clone(&table), settings, setup.clone());
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
    })
}
