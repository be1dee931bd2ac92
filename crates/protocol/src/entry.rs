//! The registry of protocols: what each is called, how a server or a plan chooses it, what carries it, and how its
//! sessions are made of a plan.
//!
//! A protocol has its [`Entry`] in its own folder, beside the function that makes its sessions;
//! [`PROTOCOLS`](crate::PROTOCOLS) lists the entries. Which of them a run speaks, and whether something is around it, is
//! not decided here.

use std::rc::Rc;
use std::sync::Arc;

use candor_plan::{HttpVersion, Parts, Request, Target, Wire};

use crate::PROTOCOLS;
use crate::capture::CaptureRoom;
use crate::session::{Session, Transport};
use crate::tls::Connector;

/// A protocol.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its name for ALPN (RFC 7301), if a server can choose it so.
    pub alpn: Option<&'static str>,
    /// What carries it.
    pub transport: Transport,
    /// Whether it carries requests that are this on the wire.
    pub carries: fn(&Wire) -> bool,
    /// The versions of HTTP of a target for which it is spoken without TLS around it: in clear text, or with an
    /// encryption of its own.
    pub alone: &'static [HttpVersion],
    /// Makes sessions to a target, whatever they are.
    pub sessions: fn(To<'_>) -> Make,
}

impl Entry {
    /// Whether it is spoken to `target` of a plan without TLS around it.
    pub fn is_spoken(&self, wire: &Wire, target: &Target) -> bool {
        (self.carries)(wire) && self.alone.contains(&target.http)
    }
}

impl Entry {
    /// What carries the connections to `target` of a plan.
    pub fn transport_of(plan: &Parts, target: &Target) -> Transport {
        let entry = PROTOCOLS.iter().find(|entry| entry.is_spoken(&plan.wire, target));
        entry.map_or(Transport::Stream, |entry| entry.transport)
    }
}

/// Makes the sessions of one thread to one target, one for each connection.
pub type Make = Rc<dyn Fn() -> Box<dyn Session>>;

/// The same, whatever they are.
pub(crate) fn make<S: Session + 'static>(sessions: impl Fn() -> S + 'static) -> Make {
    Rc::new(move || Box::new(sessions()))
}

/// What the sessions of one thread to one target are made of.
#[derive(Clone, Copy)]
pub struct To<'p> {
    /// The plan, with the request of the thread's script.
    pub plan: &'p Parts,
    /// The number of the target in it.
    pub number: u32,
    /// The target.
    pub target: &'p Target,
    /// The configuration of TLS, for a protocol that encrypts by itself.
    pub tls: Option<&'p Connector>,
    /// Where responses are kept, if they are read.
    pub room: Option<&'p CaptureRoom>,
    /// Random bits: a pure function of a seed, the number of a stream of them, and a place in it.
    pub draw: fn(u64, u64, u64) -> u64,
}

impl<'p> To<'p> {
    /// Each request of the plan, prepared for this target; those of others, which never come here, as small as can be.
    pub(crate) fn prepared<T>(self, prepare: impl Fn(&Request) -> T) -> Arc<[T]> {
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
