//! How sessions of WebSocket are made of a plan.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::Arc;

use candor_plan::{BodyExpect, HttpVersion, Parts, Request, WebSocket};

use super::deflate::Deflate;
use super::message::{Field, Kind, Message};
use super::opening::Opening;
use super::quic::{Asking, QuicTunnel};
use super::rules::Rules;
use super::session::Session;
use super::settings::{KeepAlive, Limits, Replies, Settings};
use super::setup::Setup;
use super::tunnel::{Extended, Tunnel};
use crate::entry::{Entry, To, make};
use crate::h2;
use crate::h3;
use crate::parts;
use crate::session::Protocol;

/// WebSocket over HTTP/1.1 (RFC 6455).
pub static ENTRY: Entry = Entry {
    name: "WebSocket",
    alpn: Some("http/1.1"),
    transport: Session::TRANSPORT,
    carries: |wire| wire.websocket().is_some(),
    alone: &[HttpVersion::H1, HttpVersion::Negotiated],
    sessions: |to| make(sessions(to)),
};

/// WebSocket over HTTP/2 (RFC 8441).
pub static TUNNEL: Entry = Entry {
    name: "WebSocket over HTTP/2",
    alpn: Some("h2"),
    transport: Tunnel::TRANSPORT,
    alone: &[HttpVersion::H2],
    sessions: |to| make(tunnels(to)),
    ..ENTRY
};

/// WebSocket over HTTP/3 (RFC 9220).
pub static QUIC_TUNNEL: Entry = Entry {
    name: "WebSocket over HTTP/3",
    alpn: None,
    transport: QuicTunnel::TRANSPORT,
    alone: &[HttpVersion::H3],
    sessions: |to| make(quic_tunnels(to)),
    ..ENTRY
};

fn sessions(to: To<'_>) -> impl Fn() -> Session + use<> {
    let setup = setup(to.plan);
    let request = &to.plan.work.requests()[0];
    let opening = Opening::new(request, &to.target.authority, setup.settings());
    let (seeds, room) = (seeds(to), to.room.cloned());
    let table = parts::Rules::table(to.plan.work.requests(), None);
    move || {
        let mut session = Session::new(&opening, Arc::clone(&setup), seeds());
        if let Some(room) = &room {
            session.capture(room);
        }
        if let Some(table) = &table {
            session.stream(table);
        }
        session
    }
}

fn tunnels(to: To<'_>) -> impl Fn() -> Tunnel + use<> {
    let (setup, settings) = (setup(to.plan), h2::Settings::of(to.plan));
    let (scheme, authority) = (to.target.scheme(), &to.target.authority);
    let request = &to.plan.work.requests()[0];
    let extended = Arc::new(Extended::new(request, scheme, authority, setup.settings()));
    let (seeds, room) = (seeds(to), to.room.cloned());
    let table = parts::Rules::table(to.plan.work.requests(), None);
    move || {
        let (extended, setup) = (Arc::clone(&extended), Arc::clone(&setup));
        let mut session = Tunnel::new(extended, setup, settings, seeds());
        if let Some(room) = &room {
            session.capture(room);
        }
        if let Some(table) = &table {
            session.stream(table);
        }
        session
    }
}

/// # Panics
///
/// Without a configuration of TLS: there is no QUIC without it.
fn quic_tunnels(to: To<'_>) -> impl Fn() -> QuicTunnel + use<> {
    let (setup, settings) = (setup(to.plan), h3::Settings::of(to.plan));
    let (scheme, authority) = (to.target.scheme(), &to.target.authority);
    let request = &to.plan.work.requests()[0];
    let asking = Asking::new(request, scheme, authority, setup.settings());
    let quic = h3::Setup::of(to.tls.expect("the engine gives QUIC its TLS"), &settings);
    let (seeds, room) = (seeds(to), to.room.cloned());
    let table = parts::Rules::table(to.plan.work.requests(), None);
    move || {
        let quic = (settings, quic.clone());
        let mut session = QuicTunnel::new(&asking, Arc::clone(&setup), quic, seeds());
        if let Some(room) = &room {
            session.capture(room);
        }
        if let Some(table) = &table {
            session.stream(table);
        }
        session
    }
}

/// A seed for the keys and masks of each connection of a thread. They need not be secret (RFC 6455 10.3 is about
/// scripts in browsers).
fn seeds(to: To<'_>) -> impl Fn() -> u64 + use<> {
    /// Keeps them independent of everything else that is drawn from the seed.
    const STREAM: u64 = 0x6d61_736b; // "mask"
    let (draw, seed, next) = (to.draw, to.plan.seed, Cell::new(0));
    move || draw(seed, STREAM, next.replace(next.get() + 1))
}

/// The messages of a plan. One without a WebSocket has none.
fn setup(plan: &Parts) -> Arc<Setup> {
    let Some(socket) = plan.wire.websocket() else {
        return Arc::new(Setup::new([], Settings::default()));
    };
    let WebSocket { binary, fragment_bytes, replies, ignore, reply, answers, .. } = socket;
    let WebSocket { message_field, hello, ready, .. } = socket;
    let message = |request: &Request| Message {
        payload: request.body.whole().into(),
        kind: if *binary { Kind::Binary } else { Kind::Text },
        fragment_bytes: fragment_bytes.and_then(|bytes| NonZeroUsize::new(bytes as usize)),
        expect: request.expect.body.clone(),
    };
    let table: Vec<_> = plan.work.requests().iter().map(message).collect();
    let settings = Settings {
        replies: of_plan(replies),
        in_flight: plan.connections.streams,
        subprotocols: socket.subprotocols.clone(),
        deflate: socket.deflate.then(Deflate::default),
        keep_alive: socket.ping_ns.map(|ns| KeepAlive { interval_ns: ns, patience_ns: ns }),
        limits: Limits { message_bytes: socket.message_bytes, ..Limits::default() },
    };
    // The plan's check has compiled them.
    let answers = answers.iter().map(|one| (one.pattern.as_str(), one.text.as_str()));
    let rules = Rules::new(ignore.iter().map(String::as_str), reply.as_deref(), answers);
    let own = plan.work.requests().iter().map(|one| one.reply.as_ref());
    let has_streams = plan.work.requests().iter().any(|one| one.stream.is_some());
    let rules = Rules::and(rules.unwrap_or_default(), ready.as_deref(), own, has_streams);
    let hello = (!hello.is_empty()).then(|| Message {
        payload: hello.whole().into(),
        kind: Kind::Text,
        fragment_bytes: None,
        expect: BodyExpect::Any,
    });
    let mut setup = Setup::new(table, settings).ruled(rules.unwrap_or_default()).greeting(hello);
    if let Some(field) = message_field {
        setup.retag(&of_plan(field));
    }
    Arc::new(setup)
}

fn of_plan(replies: &candor_plan::Replies) -> Replies {
    // No text has this byte.
    const NEVER: u8 = 0xff;
    match replies {
        candor_plan::Replies::Ordered => Replies::Ordered,
        candor_plan::Replies::Nothing => Replies::Nothing,
        candor_plan::Replies::Field { prefix, delimiter } => Replies::Field(Field {
            prefix: prefix.as_bytes().into(),
            delimiter: delimiter.unwrap_or(NEVER),
        }),
    }
}
