//! Which protocol a run speaks, decided once; and the sessions that speak it.
//!
//! The worker is compiled for each of them, so that HTTP/1.1 in clear text pays nothing for the
//! others. What is generic over them is a [`Use`].

use std::rc::Rc;
use std::sync::Arc;

use candor_plan::Plan;
use candor_protocol::tls::Connector;
use candor_protocol::{Session, h1};

use crate::error::EngineError;
use crate::roots;

/// What a run speaks.
pub(crate) enum Protocol {
    /// HTTP/1.1 in clear text.
    H1,
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
    pub(crate) fn of(plan: &Plan) -> Result<Self, EngineError> {
        match &plan.target.tls {
            None => Ok(Protocol::H1),
            Some(tls) => Ok(Protocol::Tls(Box::new(Connector::new(tls, roots::system)?))),
        }
    }

    /// Makes what the sessions of one thread share, and hands the maker of them to `what`.
    pub(crate) fn with_sessions<U: Use>(&self, plan: &Plan, what: U) -> U::Output {
        match self {
            Protocol::H1 => what.with(h1_sessions(plan)),
            Protocol::Tls(connector) => {
                let h1 = h1_sessions(plan);
                what.with(connector.sessions(Rc::new(move |_| h1())))
            }
        }
    }
}

fn h1_sessions(plan: &Plan) -> impl Fn() -> h1::Session + use<> {
    let authority = &plan.target.authority;
    let table: Arc<[h1::Prepared]> =
        plan.requests.list.iter().map(|request| h1::prepare(request, authority)).collect();
    let pipeline = plan.connections.pipeline;
    let memo = Rc::new(h1::Memo::default());
    move || {
        let (table, memo) = (Arc::clone(&table), Rc::clone(&memo));
        h1::Session::with_memo(table, pipeline, h1::Limits::default(), memo)
    }
}
