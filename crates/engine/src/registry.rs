//! The registry of protocols: what each is called, how a server chooses it, what carries it, and how
//! its sessions are made. Which of them a run speaks is decided once.
//!
//! The worker is compiled for each entry, so that HTTP/1.1 in clear text pays nothing for the others.
//! What is generic over them is a [`Use`]. Within TLS the server chooses, and a session is behind a
//! pointer: encryption costs a hundred times more than the call.

use std::rc::Rc;
use std::sync::Arc;

use candor_plan::{HttpVersion, Parts};
use candor_protocol::parts::Rules;
use candor_protocol::tls::{Connector, Make};
use candor_protocol::{CaptureRoom, Protocol, Session, Transport, h1, h2};

use crate::error::EngineError;
use crate::roots;

/// What is done with sessions, whatever they speak.
pub(crate) trait Use {
    /// What comes of it.
    type Output;

    /// Does it; `sessions` makes one for each new connection.
    fn with<S: Protocol>(self, sessions: impl Fn() -> S) -> Self::Output;
}

/// The entries, each with its session, which says what carries it, its name for ALPN if it has one, and a
/// function from the plan and the room for responses that are kept to a maker of sessions, which one
/// thread has.
macro_rules! registry {
    ($($(#[$doc:meta])* $name:ident: $session:ty, $alpn:expr, $sessions:path;)*) => {
        /// A protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Entry {
            $($(#[$doc])* $name,)*
        }

        impl Entry {
            /// All, the one first that is spoken where a server chooses none.
            const ALL: &[Entry] = &[$(Entry::$name),*];

            /// Its name for ALPN (RFC 7301), if a server can choose it so.
            fn alpn(self) -> Option<&'static str> {
                match self { $(Entry::$name => $alpn,)* }
            }

            /// What carries it.
            fn transport(self) -> Transport {
                match self { $(Entry::$name => <$session>::TRANSPORT,)* }
            }

            /// Hands the maker of its sessions to `what`.
            fn with<U: Use>(self, plan: &Parts, room: Option<CaptureRoom>, what: U) -> U::Output {
                match self { $(Entry::$name => what.with($sessions(plan, room)),)* }
            }

            /// The same, whatever it is.
            fn boxed(
                self,
                plan: &Parts,
                room: Option<CaptureRoom>,
            ) -> Box<dyn Fn() -> Box<dyn Session>> {
                match self { $(Entry::$name => {
                    let sessions = $sessions(plan, room);
                    Box::new(move || Box::new(sessions()))
                })* }
            }
        }
    };
}

registry! {
    /// HTTP/1.1 (RFC 9112).
    H1: h1::Session, Some("http/1.1"), h1_sessions;
    /// HTTP/2 (RFC 9113).
    H2: h2::Session, Some("h2"), h2_sessions;
    /// HTTP/2 by an upgrade from HTTP/1.1 (RFC 7540 3.2).
    Upgrade: h2::Upgrade, None, upgrade_sessions;
}

/// What a run speaks.
pub(crate) enum Spoken {
    /// This, in clear text.
    Clear(Entry),
    /// TLS, and within it what the server chooses.
    Tls(Box<Connector>),
}

impl Spoken {
    /// Of a plan. Reads the system's certificate authorities where they are needed.
    pub(crate) fn of(plan: &Parts) -> Result<Self, EngineError> {
        match &plan.target.tls {
            None => Ok(Spoken::Clear(match plan.target.http {
                HttpVersion::H2 => Entry::H2,
                HttpVersion::Upgrade => Entry::Upgrade,
                HttpVersion::H1 | HttpVersion::Negotiated => Entry::H1,
            })),
            Some(tls) => Ok(Spoken::Tls(Box::new(Connector::new(tls, roots::system)?))),
        }
    }

    /// What carries it.
    pub(crate) fn transport(&self) -> Transport {
        match self {
            Spoken::Clear(entry) => entry.transport(),
            Spoken::Tls(_) => Transport::Stream,
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
            Spoken::Clear(entry) => entry.with(plan, room, what),
            Spoken::Tls(connector) => what.with(connector.sessions(by_alpn(plan, room))),
        }
    }
}

/// Makes sessions of what the server chose.
fn by_alpn(plan: &Parts, room: Option<CaptureRoom>) -> Make {
    let chosen = Entry::ALL.iter().filter_map(|entry| Some((entry.alpn()?, entry)));
    let makers: Vec<_> =
        chosen.map(|(name, entry)| (name, entry.boxed(plan, room.clone()))).collect();
    Rc::new(move |alpn| {
        let (_, make) = makers.iter().find(|(name, _)| *name == alpn).unwrap_or(&makers[0]);
        make()
    })
}

fn h1_sessions(plan: &Parts, room: Option<CaptureRoom>) -> impl Fn() -> h1::Session + use<> {
    let authority = &plan.target.authority;
    let pipeline = plan.connections.pipeline;
    let prepared = |request| h1::prepare(request, authority).repeated(pipeline);
    let table: Arc<[h1::Prepared]> = plan.requests.list.iter().map(prepared).collect();
    let memo = Rc::new(h1::Memo::default());
    let rules = Rules::table(&plan.requests.list);
    move || {
        let (table, memo) = (Arc::clone(&table), Rc::clone(&memo));
        let mut session = h1::Session::with_memo(table, pipeline, h1::Limits::default(), memo);
        if let Some(room) = &room {
            session.capture(room);
        }
        if let Some(rules) = &rules {
            session.split(rules);
        }
        session
    }
}

fn h2_sessions(plan: &Parts, room: Option<CaptureRoom>) -> impl Fn() -> h2::Session + use<> {
    let (table, settings) = (h2_table(plan), h2_settings(plan));
    let rules = Rules::table(&plan.requests.list);
    move || {
        let mut session = h2::Session::new(Arc::clone(&table), settings);
        if let Some(room) = &room {
            session.capture(room);
        }
        if let Some(rules) = &rules {
            session.split(rules);
        }
        session
    }
}

/// No room and no rules: the plan's check refuses scripts and streams here.
fn upgrade_sessions(plan: &Parts, _: Option<CaptureRoom>) -> impl Fn() -> h2::Upgrade + use<> {
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
