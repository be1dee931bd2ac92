//! Questions to servers before and beside a run: a run of one request over the engine, with the plan's lists of allowed
//! hosts, its CAs and its proxy.
//!
//! Every question is bounded in time and memory, and ends with the run that it is for. Redirects are not followed.

use std::time::Duration;

use candor_engine::{Control, EngineError, Exchange, Exchanges, Observer};
use candor_plan::url::HttpUrl;
use candor_plan::{
    BodyExpect, Delivery, Expect, Plan, PlanError, Request, StatusSet, Target, Timeouts, Wire,
};

/// The longest that a question may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// The longest header fields, and the longest body, of a response.
pub(crate) const MOST_BYTES: usize = 64 << 10;

/// Keeps the exchange.
struct Looker(Exchanges);

impl Observer for Looker {
    fn exchanges(&self) -> Option<Exchanges> {
        Some(self.0.clone())
    }
}

/// The plan of a question to `server`, for the path of its URL, sent as parts of `plan` say.
pub(crate) fn plan(
    plan: &Plan,
    server: Target,
    method: &str,
    fields: Vec<(String, String)>,
) -> Result<Plan, PlanError> {
    let request = Request {
        name: "question".to_owned(),
        target: 0,
        method: method.to_owned(),
        path: HttpUrl::parse(&server.url).map_or("/".to_owned(), |url| url.path),
        headers: fields,
        body: Vec::new().into(),
        holes: false,
        literal_body: true,
        delivery: Delivery::default(),
        expect: Expect { status: StatusSet { ranges: vec![(100, 999)] }, body: BodyExpect::Any },
        stream: None,
        call: None,
        reply: None,
        weight: 1,
        redacted: None,
    };
    plan.with(|parts| {
        parts.target = server;
        parts.others.clear();
        parts.data.clear();
        parts.environment.clear();
        (parts.wire, parts.compressed) = (Wire::Http, false);
        parts.work = vec![request].into();
        (parts.connections.own, parts.connections.requests_per_connection) = (false, None);
        parts.look_once(1, 1);
        let patience_ns = PATIENCE.as_nanos() as u64;
        parts.timeouts =
            Timeouts { connect_ns: patience_ns, request_ns: patience_ns, idle_ns: None };
        parts.stop.give_up_ns = patience_ns;
    })
}

/// Asks it: the exchange, if a request left.
pub(crate) fn ask(question: &Plan, control: &Control) -> Result<Option<Exchange>, EngineError> {
    let exchanges = Exchanges::whole(MOST_BYTES);
    candor_engine::run(question, control, &mut Looker(exchanges.clone()))?;
    Ok(exchanges.take().pop())
}
