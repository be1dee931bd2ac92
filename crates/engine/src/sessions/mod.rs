//! The registry of protocols: what each is called, how a server chooses it, what carries it, and how
//! its sessions are made. Which of them a run speaks is decided once.
//!
//! The worker is compiled for HTTP/1.1 and for HTTP/2 in clear text, whose cost is what Candor is measured by, and
//! once for all other sessions, which are behind a pointer: what they do beside costs a hundred times more than
//! the call. What is generic over these is a [`Use`].

pub(crate) mod exchanges;
mod roots;

use std::borrow::Cow;
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

use candor_plan::{HttpVersion, Parts, Plan, ProxyWay, Replies, Request, Target, WebSocket, Work};
use candor_protocol::parts::Rules;
use candor_protocol::proxy::{Opening, Proxied};
use candor_protocol::tls::{Connector, Make};
use candor_protocol::{CaptureRoom, Protocol, Session, Transport, grpc, h1, h2, ws};

use self::exchanges::{Exchanges, Watch};
use crate::author::script::Scripted;
use crate::author::users::Users;
use crate::error::EngineError;
use crate::worker::Sessions;

/// What is done with sessions, whatever they speak.
pub(crate) trait Use {
    /// What comes of it.
    type Output;

    /// Does it; `sessions` makes one for each new connection.
    fn with<S: Protocol>(self, sessions: Sessions<S>) -> Self::Output;
}

/// Makes sessions to one target, whatever they speak.
type Boxed = Box<dyn Fn() -> Box<dyn Session>>;

/// A plan, and the target of it that sessions are made for.
#[derive(Clone, Copy)]
struct To<'p> {
    plan: &'p Parts,
    number: u32,
    target: &'p Target,
}

impl<'p> To<'p> {
    /// The plan's own target.
    fn first(plan: &'p Parts) -> Self {
        To { plan, number: 0, target: &plan.target }
    }

    fn all(plan: &'p Parts) -> impl Iterator<Item = To<'p>> {
        (0..).zip(plan.targets()).map(move |(number, target)| To { plan, number, target })
    }

    /// Each request of the plan, prepared for this target; those of others, which never come here, as small as can be.
    fn prepared<T>(self, prepare: impl Fn(&Request) -> T) -> Arc<[T]> {
        let list = self.plan.work.requests();
        let small = list.first().map(|one| Request {
            path: "/".to_owned(),
            headers: Vec::new(),
            body: [].into(),
            ..one.clone()
        });
        let own = |one: &Request| match &small {
            Some(small) if one.target != self.number => prepare(small),
            _ => prepare(one),
        };
        list.iter().map(own).collect()
    }
}

/// The entries, each with its session, which says what carries it, its name for ALPN if it has one, and a
/// function from the target and the room for responses that are kept to a maker of sessions, which one
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

            /// The maker of its sessions to a target, whatever it is.
            fn boxed(self, to: To<'_>, room: Option<CaptureRoom>) -> Boxed {
                match self { $(Entry::$name => {
                    let sessions = $sessions(to, room);
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
    /// WebSocket over HTTP/1.1 (RFC 6455).
    WebSocket: ws::Session, Some("http/1.1"), websocket_sessions;
    /// WebSocket over HTTP/2 (RFC 8441).
    Tunnel: ws::Tunnel, Some("h2"), tunnel_sessions;
}

/// What a run speaks.
pub(crate) enum Spoken {
    /// This, in clear text.
    Clear(Entry),
    /// TLS, and within it what the server chooses.
    Tls(Box<Connector>),
}

impl Spoken {
    /// Of each target of a plan. Reads the system's certificate authorities where they are needed.
    pub(crate) fn all(plan: &Parts) -> Result<Vec<Self>, EngineError> {
        plan.targets().map(|target| Spoken::with(plan, target)).collect()
    }

    fn with(plan: &Parts, target: &Target) -> Result<Self, EngineError> {
        match &target.tls {
            None => Ok(Spoken::Clear(match target.http {
                HttpVersion::H2 if plan.wire.websocket().is_some() => Entry::Tunnel,
                _ if plan.wire.websocket().is_some() => Entry::WebSocket,
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

    /// The maker of sessions, whatever they speak.
    fn boxed(&self, to: To<'_>, room: Option<CaptureRoom>, watch: Option<Watch>) -> Boxed {
        let sessions = self.direct(to, room, watch);
        let Some(opening) = to.target.proxy.as_ref().and_then(Opening::of).map(Rc::new) else {
            return sessions;
        };
        let sessions: candor_protocol::proxy::Make = sessions.into();
        Box::new(move || Box::new(Proxied::new(Rc::clone(&opening), Rc::clone(&sessions))))
    }

    /// The same without a proxy.
    fn direct(&self, to: To<'_>, room: Option<CaptureRoom>, watch: Option<Watch>) -> Boxed {
        match (self, watch) {
            (Spoken::Clear(entry), None) => entry.boxed(to, room),
            (Spoken::Clear(entry), Some(watch)) => {
                let sessions = entry.boxed(to, room);
                Box::new(move || Box::new(watch.over(sessions())))
            }
            (Spoken::Tls(connector), watch) => {
                let sessions = connector.sessions(by_alpn(to, room, watch));
                Box::new(move || Box::new(sessions()))
            }
        }
    }
}

/// The plan as one worker's sessions need it: with the request of its script, if that has one.
pub(crate) fn own_plan<'a>(plan: &'a Plan, script: Option<&Scripted>) -> Cow<'a, Parts> {
    match script.and_then(Scripted::request) {
        None => Cow::Borrowed(plan),
        Some(request) => {
            let mut own = Parts::clone(plan);
            if let Work::Script { request: first, .. } = &mut own.work {
                **first = request.clone();
            }
            Cow::Owned(own)
        }
    }
}

/// Where a worker's sessions keep the responses that its author, or somebody who looks on, reads.
pub(crate) fn room(
    plan: &Plan,
    script: Option<&Scripted>,
    exchanges: Option<&Exchanges>,
) -> Option<CaptureRoom> {
    let of_script = script.and_then(Scripted::capture_room);
    of_script.or_else(|| match exchanges {
        Some(exchanges) => Some(exchanges::room(plan, exchanges)),
        None => Users::capture_room(plan),
    })
}

/// Makes what the sessions of one thread share, and hands the maker of them to `what`, for what each target of the plan
/// speaks. Where there is a `room`, they keep responses in it; where there is a `watch`, they are watched.
pub(crate) fn with_sessions<U: Use>(
    spoken: &[Spoken],
    plan: &Parts,
    room: Option<CaptureRoom>,
    watch: Option<Watch>,
    what: U,
) -> U::Output {
    let to = To::first(plan);
    let is_behind = plan.target.proxy.as_ref().is_some_and(|one| one.way != ProxyWay::Forward);
    match (spoken, &watch) {
        _ if is_behind => what.with(boxed(spoken, plan, room, watch)),
        ([Spoken::Clear(Entry::H1)], None) => {
            let sessions = h1_sessions(to, room);
            what.with(Box::new(move |_| sessions()))
        }
        ([Spoken::Clear(Entry::H2)], None) => {
            let sessions = h2_sessions(to, room);
            what.with(Box::new(move |_| sessions()))
        }
        _ => what.with(boxed(spoken, plan, room, watch)),
    }
}

/// The maker of sessions, whatever they speak.
pub(crate) fn boxed(
    spoken: &[Spoken],
    plan: &Parts,
    room: Option<CaptureRoom>,
    watch: Option<Watch>,
) -> Sessions<Box<dyn Session>> {
    let makers = spoken.iter().zip(To::all(plan));
    let makers: Vec<Boxed> =
        makers.map(|(one, to)| one.boxed(to, room.clone(), watch.clone())).collect();
    Box::new(move |target| makers[usize::from(target)]())
}

/// Makes sessions of what the server chose.
fn by_alpn(to: To<'_>, room: Option<CaptureRoom>, watch: Option<Watch>) -> Make {
    let is_websocket = |entry: &&Entry| matches!(entry, Entry::WebSocket | Entry::Tunnel);
    let of_plan = |entry: &&Entry| is_websocket(entry) == to.plan.wire.websocket().is_some();
    let entries = Entry::ALL.iter().filter(of_plan);
    let chosen = entries.filter_map(|entry| Some((entry.alpn()?, entry)));
    let makers: Vec<_> =
        chosen.map(|(name, entry)| (name, entry.boxed(to, room.clone()))).collect();
    Rc::new(move |alpn| {
        let (_, make) = makers.iter().find(|(name, _)| *name == alpn).unwrap_or(&makers[0]);
        match &watch {
            None => make(),
            Some(watch) => Box::new(watch.over(make())),
        }
    })
}

fn h1_sessions(to: To<'_>, room: Option<CaptureRoom>) -> impl Fn() -> h1::Session + use<> {
    let To { plan, target, .. } = to;
    let pipeline = plan.connections.pipeline;
    let forward = target.proxy.as_ref().filter(|one| one.way == ProxyWay::Forward);
    let via = forward.map(|proxy| Arc::new(h1::Via::new(&target.authority, proxy)));
    let table = to.prepared(|request| {
        h1::prepare_via(request, &target.authority, via.as_ref()).repeated(pipeline)
    });
    let memo = Rc::new(h1::Memo::default());
    let rules = Rules::table(plan.work.requests());
    move || {
        let (table, memo) = (Arc::clone(&table), Rc::clone(&memo));
        let mut session = h1::Session::with_memo(table, pipeline, h1::Limits::default(), memo);
        if let Some(via) = &via {
            session.via(via);
        }
        if let Some(room) = &room {
            session.capture(room);
        }
        if let Some(rules) = &rules {
            session.split(rules);
        }
        session
    }
}

fn h2_sessions(to: To<'_>, room: Option<CaptureRoom>) -> impl Fn() -> h2::Session + use<> {
    let plan = to.plan;
    let (table, settings) = (h2_table(to), h2_settings(plan));
    let rules = Rules::table(plan.work.requests());
    let calls = calls(plan);
    move || {
        let mut session = h2::Session::new(Arc::clone(&table), settings);
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

/// What responses may be if the requests are calls.
fn calls(plan: &Parts) -> Option<grpc::Limits> {
    let calls = plan.wire.calls()?;
    let streams = plan.work.requests().iter().filter_map(|one| one.call);
    Some(grpc::Limits {
        max_message_bytes: u32::try_from(calls.message_bytes).unwrap_or(u32::MAX),
        one_message: !streams.into_iter().any(|call| call.kind.server_streams()),
    })
}

/// No room and no rules: the plan's check refuses scripts and streams here.
fn upgrade_sessions(to: To<'_>, _: Option<CaptureRoom>) -> impl Fn() -> h2::Upgrade + use<> {
    let (table, settings) = (h2_table(to), h2_settings(to.plan));
    let authority = &to.target.authority;
    let asking = to.prepared(|request| h2::Asking::new(request, authority, &settings));
    move || h2::Upgrade::new(Arc::clone(&table), Arc::clone(&asking), settings)
}

fn h2_table(to: To<'_>) -> Arc<[h2::Prepared]> {
    let (scheme, authority) = (to.target.scheme(), &to.target.authority);
    to.prepared(|request| h2::prepare(request, scheme, authority))
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

fn websocket_sessions(to: To<'_>, room: Option<CaptureRoom>) -> impl Fn() -> ws::Session + use<> {
    let To { plan, target, .. } = to;
    let setup = websocket_setup(plan);
    let opening = ws::Opening::new(&plan.work.requests()[0], &target.authority, setup.settings());
    let seed = seeds(plan);
    move || {
        let mut session = ws::Session::new(&opening, Arc::clone(&setup), seed());
        if let Some(room) = &room {
            session.capture(room);
        }
        session
    }
}

fn tunnel_sessions(to: To<'_>, room: Option<CaptureRoom>) -> impl Fn() -> ws::Tunnel + use<> {
    let To { plan, target, .. } = to;
    let (setup, settings) = (websocket_setup(plan), h2_settings(plan));
    let (scheme, authority) = (target.scheme(), &target.authority);
    let request = &plan.work.requests()[0];
    let extended = Arc::new(ws::Extended::new(request, scheme, authority, setup.settings()));
    let seed = seeds(plan);
    move || {
        let (extended, setup) = (Arc::clone(&extended), Arc::clone(&setup));
        let mut session = ws::Tunnel::new(extended, setup, settings, seed());
        if let Some(room) = &room {
            session.capture(room);
        }
        session
    }
}

/// A seed for the keys and masks of each connection of a thread. They need not be secret (RFC 6455 10.3 is about
/// scripts in browsers).
fn seeds(plan: &Parts) -> impl Fn() -> u64 + use<> {
    /// Keeps them independent of everything else that is drawn from the seed.
    const STREAM: u64 = 0x6d61_736b; // "mask"
    let (seed, next) = (plan.seed, Cell::new(0));
    move || candor_pace::draw(seed, STREAM, next.replace(next.get() + 1))
}

fn websocket_setup(plan: &Parts) -> Arc<ws::Setup> {
    let Some(socket) = plan.wire.websocket() else {
        return Arc::new(ws::Setup::new([], ws::Settings::default()));
    };
    let WebSocket { binary, fragment_bytes, replies, ignore, reply, answers, .. } = socket;
    let message = |request: &candor_plan::Request| ws::Message {
        payload: request.body.whole().into(),
        kind: if *binary { ws::Kind::Binary } else { ws::Kind::Text },
        fragment_bytes: fragment_bytes.and_then(|bytes| NonZeroUsize::new(bytes as usize)),
        expect: request.expect.body.clone(),
    };
    let table: Vec<_> = plan.work.requests().iter().map(message).collect();
    // No text has this byte.
    const NEVER: u8 = 0xff;
    let settings = ws::Settings {
        replies: match replies {
            Replies::Ordered => ws::Replies::Ordered,
            Replies::Nothing => ws::Replies::Nothing,
            Replies::Field { prefix, delimiter } => ws::Replies::Field(ws::Field {
                prefix: prefix.as_bytes().into(),
                delimiter: delimiter.unwrap_or(NEVER),
            }),
        },
        in_flight: plan.connections.streams,
        subprotocols: socket.subprotocols.clone(),
        deflate: socket.deflate.then(ws::Deflate::default),
        keep_alive: socket.ping_ns.map(|ns| ws::KeepAlive { interval_ns: ns, patience_ns: ns }),
        limits: ws::Limits { message_bytes: socket.message_bytes, ..ws::Limits::default() },
    };
    // The plan's check has compiled them.
    let answers = answers.iter().map(|one| (one.pattern.as_str(), one.text.as_str()));
    let rules = ws::Rules::new(ignore.iter().map(String::as_str), reply.as_deref(), answers);
    Arc::new(ws::Setup::new(table, settings).ruled(rules.unwrap_or_default()))
}
