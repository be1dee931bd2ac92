//! The sessions of a run: what is spoken to each target, decided once, and the makers of sessions for each thread.
//!
//! What protocols there are, and how their sessions are made of a plan, is protocol's affair. Here they get what a plan
//! has around them: a proxy, TLS, an onlooker.
//!
//! The worker is compiled for HTTP/1.1 and for HTTP/2 in clear text, whose cost is what Candor is measured by, and
//! once for all other sessions, which are behind a pointer: what they do beside costs a hundred times more than
//! the call. What is generic over these is a [`Use`].

pub(crate) mod exchanges;
mod roots;

use std::borrow::Cow;
use std::ptr;
use std::rc::Rc;

use candor_plan::{HttpVersion, Parts, Plan, ProxyWay, Target, Work};
use candor_protocol::proxy::{Opening, Proxied};
use candor_protocol::tls::{self, Connector};
use candor_protocol::{
    CaptureRoom, Entry, Make, PROTOCOLS, Protocol, Session, To, Transport, h1, h2,
};

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

/// What is spoken to a target.
pub(crate) enum Spoken {
    /// This, in clear text.
    Clear(&'static Entry),
    /// TLS, and within it what the server chooses.
    Tls(Box<Connector>),
    /// This, over QUIC, which has TLS within.
    Quic(&'static Entry, Box<Connector>),
}

impl Spoken {
    /// To each target of a plan. Reads the system's certificate authorities where they are needed.
    pub(crate) fn all(plan: &Parts) -> Result<Vec<Self>, EngineError> {
        plan.targets().map(|target| Spoken::to(plan, target)).collect()
    }

    fn to(plan: &Parts, target: &Target) -> Result<Self, EngineError> {
        let entry = || {
            let entry = PROTOCOLS.into_iter().find(|entry| entry.is_spoken(&plan.wire, target));
            entry.expect("the plan's check knows what is spoken without TLS around it")
        };
        let Some(tls) = &target.tls else { return Ok(Spoken::Clear(entry())) };
        let connector = Box::new(Connector::new(tls, roots::system)?);
        Ok(match target.http {
            HttpVersion::H3 => Spoken::Quic(entry(), connector),
            _ => Spoken::Tls(connector),
        })
    }

    /// What carries it.
    pub(crate) fn transport(&self) -> Transport {
        match self {
            Spoken::Clear(entry) | Spoken::Quic(entry, _) => entry.transport,
            Spoken::Tls(_) => Transport::Stream,
        }
    }

    /// The maker of sessions to a target, without a proxy.
    fn make(&self, to: To<'_>, watch: Option<&Watch>) -> Make {
        match self {
            Spoken::Clear(entry) => watched((entry.sessions)(to), watch),
            Spoken::Tls(connector) => {
                let sessions = connector.sessions(by_alpn(to, watch));
                Rc::new(move || Box::new(sessions()))
            }
            Spoken::Quic(entry, connector) => {
                let to = To { tls: Some(connector), ..to };
                watched((entry.sessions)(to), watch)
            }
        }
    }
}

/// Makes sessions of what the server chose.
fn by_alpn(to: To<'_>, watch: Option<&Watch>) -> tls::Make {
    let entries = PROTOCOLS.into_iter().filter(|entry| (entry.carries)(&to.plan.wire));
    let chosen = entries.filter_map(|entry| Some((entry.alpn?, entry)));
    let makers: Vec<_> =
        chosen.map(|(name, entry)| (name, watched((entry.sessions)(to), watch))).collect();
    Rc::new(move |alpn| {
        let (_, make) = makers.iter().find(|(name, _)| *name == alpn).unwrap_or(&makers[0]);
        make()
    })
}

fn watched(make: Make, watch: Option<&Watch>) -> Make {
    match watch.cloned() {
        None => make,
        Some(watch) => Rc::new(move || Box::new(watch.over(make()))),
    }
}

/// What the sessions of one thread are made of.
pub(crate) struct Recipe<'p> {
    /// The plan, with the request of the thread's script, if that has one.
    plan: Cow<'p, Parts>,
    /// Where they keep the responses that the thread's author, or an onlooker, reads.
    room: Option<CaptureRoom>,
    watch: Option<Watch>,
}

impl<'p> Recipe<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        script: Option<&Scripted>,
        exchanges: Option<Exchanges>,
    ) -> Self {
        let own: Cow<'p, Parts> = match script.and_then(Scripted::request) {
            None => Cow::Borrowed(plan),
            Some(request) => {
                let mut own = Parts::clone(plan);
                if let Work::Script { request: first, .. } = &mut own.work {
                    **first = request.clone();
                }
                Cow::Owned(own)
            }
        };
        let of_script = script.and_then(Scripted::capture_room);
        let room = of_script.or_else(|| match &exchanges {
            Some(exchanges) => Some(exchanges::room(plan, exchanges)),
            None => Users::capture_room(plan),
        });
        let watch = exchanges.map(|exchanges| Watch::new(&own, exchanges));
        Recipe { plan: own, room, watch }
    }

    /// Where sessions keep what is read of responses, if something is.
    pub(crate) fn room(&self) -> Option<CaptureRoom> {
        self.room.clone()
    }

    fn to<'t>(&'t self, number: u32, target: &'t Target) -> To<'t> {
        let room = self.room.as_ref();
        To { plan: &self.plan, number, target, tls: None, room, draw: candor_pace::draw }
    }

    /// Hands the maker of sessions to `what`, for what each target of the plan speaks.
    pub(crate) fn with<U: Use>(&self, spoken: &[Spoken], what: U) -> U::Output {
        let target = &self.plan.target;
        let is_behind = target.proxy.as_ref().is_some_and(|one| one.way != ProxyWay::Forward);
        if let [Spoken::Clear(entry)] = spoken
            && !is_behind
            && self.watch.is_none()
        {
            let to = self.to(0, target);
            if ptr::eq(*entry, &h1::ENTRY) {
                let sessions = h1::sessions(to);
                return what.with(Box::new(move |_| sessions()));
            }
            if ptr::eq(*entry, &h2::ENTRY) {
                let sessions = h2::sessions(to);
                return what.with(Box::new(move |_| sessions()));
            }
        }
        what.with(self.boxed(spoken))
    }

    /// The maker of sessions, whatever they speak.
    pub(crate) fn boxed(&self, spoken: &[Spoken]) -> Sessions<Box<dyn Session>> {
        let one = |((number, target), spoken): ((u32, &Target), &Spoken)| {
            let sessions = spoken.make(self.to(number, target), self.watch.as_ref());
            match target.proxy.as_ref().and_then(Opening::of).map(Rc::new) {
                None => sessions,
                Some(opening) => {
                    let behind = move || Proxied::new(Rc::clone(&opening), Rc::clone(&sessions));
                    Rc::new(move || Box::new(behind()) as Box<dyn Session>) as Make
                }
            }
        };
        let makers: Vec<Make> = (0..).zip(self.plan.targets()).zip(spoken).map(one).collect();
        Box::new(move |target| makers[usize::from(target)]())
    }
}
