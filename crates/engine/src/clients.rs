//! Which protocol a run speaks, decided once; and the sessions that speak it.
//!
//! The worker is compiled for each of them, so that HTTP/1.1 in clear text pays nothing for the
//! others. What is generic over them is a [`Use`].

use std::rc::Rc;
use std::sync::Arc;

use candor_plan::{HttpVersion, Parts};
use candor_protocol::tls::Connector;
use candor_protocol::{CaptureRoom, Client, Session, h1, h2};

use crate::error::EngineError;
use crate::roots;

/// What a run speaks.
pub(crate) enum Protocol {
    /// HTTP/1.1 in clear text.
    H1,
    /// HTTP/2 in clear text, by prior knowledge.
    H2,
    /// HTTP/2 in clear text, by an upgrade from HTTP/1.1.
    Upgrade,
    /// TLS, and within it what the server chose.
    Tls(Box<Connector>),
}

/// What is done with sessions, whatever they speak.
pub(crate) trait Use {
    /// What comes of it.
    type Output;

    /// Does it; `sessions` makes one for each new connection.
    fn with<S: Session>(self, sessions: impl Fn() -> S) -> Self::Output;
}

impl Protocol {
    /// Of a plan. Reads the system's certificate authorities where they are needed.
    pub(crate) fn of(plan: &Parts) -> Result<Self, EngineError> {
        match &plan.target.tls {
            None => Ok(match plan.target.http {
                HttpVersion::H2 => Protocol::H2,
                HttpVersion::Upgrade => Protocol::Upgrade,
                HttpVersion::H1 | HttpVersion::Negotiated => Protocol::H1,
            }),
            Some(tls) => Ok(Protocol::Tls(Box::new(Connector::new(tls, roots::system)?))),
        }
    }

    /// Makes what the sessions of one thread share, and hands the maker of them to `what`. Where
    /// there is a `room`, they keep responses in it.
    pub(crate) fn with_sessions<U: Use>(
        &self,
        plan: &Parts,
        room: Option<CaptureRoom>,
        what: U,
    ) -> U::Output {
        match self {
            Protocol::H1 => what.with(h1_sessions(plan, room)),
            Protocol::H2 => what.with(h2_sessions(plan, room)),
            Protocol::Upgrade => what.with(upgrade_sessions(plan)),
            Protocol::Tls(connector) => {
                let (h1, h2) = (h1_sessions(plan, room.clone()), h2_sessions(plan, room));
                what.with(connector.sessions(Rc::new(move |is_h2| match is_h2 {
                    true => Client::H2(Box::new(h2())),
                    false => Client::H1(h1()),
                })))
            }
        }
    }
}

fn h1_sessions(plan: &Parts, room: Option<CaptureRoom>) -> impl Fn() -> h1::Session + use<> {
    let authority = &plan.target.authority;
    let pipeline = plan.connections.pipeline;
    let prepared = |request| h1::prepare(request, authority).repeated(pipeline);
    let table: Arc<[h1::Prepared]> = plan.requests.list.iter().map(prepared).collect();
    let memo = Rc::new(h1::Memo::default());
    move || {
        let (table, memo) = (Arc::clone(&table), Rc::clone(&memo));
        let mut session = h1::Session::with_memo(table, pipeline, h1::Limits::default(), memo);
        if let Some(room) = &room {
            session.capture(room);
        }
        session
    }
}

fn h2_sessions(plan: &Parts, room: Option<CaptureRoom>) -> impl Fn() -> h2::Session + use<> {
    let (table, settings) = (h2_table(plan), h2_settings(plan));
    move || {
        let mut session = h2::Session::new(Arc::clone(&table), settings);
        if let Some(room) = &room {
            session.capture(room);
        }
        session
    }
}

fn upgrade_sessions(plan: &Parts) -> impl Fn() -> h2::Upgrade + use<> {
    let (table, settings) = (h2_table(plan), h2_settings(plan));
    let authority = &plan.target.authority;
    let list = plan.requests.list.iter();
    let asking: Arc<[h2::Asking]> =
        list.map(|request| h2::Asking::new(request, authority, &settings)).collect();
    move || h2::Upgrade::new(Arc::clone(&table), Arc::clone(&asking), settings)
}

fn h2_table(plan: &Parts) -> Arc<[h2::Prepared]> {
    let (scheme, authority) = (plan.target.scheme(), &plan.target.authority);
    let list = plan.requests.list.iter();
    list.map(|request| h2::prepare(request, scheme, authority)).collect()
}

fn h2_settings(plan: &Parts) -> h2::Settings {
    let connections = &plan.connections;
    h2::Settings {
        streams: connections.streams,
        stream_window_bits: connections.windows.stream_bits,
        connection_window_bits: connections.windows.connection_bits,
        max_frame_bytes: connections.frames.max_bytes,
        header_table_bytes: connections.frames.header_table_bytes,
        encoder_table_bytes: connections.frames.encoder_table_bytes,
        ..h2::Settings::default()
    }
}
