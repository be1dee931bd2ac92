//! Exchanges to look at: requests as they were sent, with their responses as they came.
//!
//! A session that passes everything on to another ([`Watched`]) keeps what goes through it. Only a run whose
//! observer asks for [`Exchanges`] has such sessions; no other pays for them. When each request left and how it
//! ended is the trace's affair. What came from the server is kept within bounds, and is not changed.

use std::io::IoSlice;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candor_memory::Source;
use candor_plan::{Parts, Plan};
use candor_protocol::expect::Mismatch;
use candor_protocol::grpc::Bodies;
use candor_protocol::h1::{self, Prepared, Via};
use candor_protocol::{
    Answer, Capture, CaptureRoom, Event, Input, Keep, Outgoing, RequestId, Session, Transmit,
};
use candor_record::Reason;

use crate::author::users::{BODIES_AT_A_TIME, MOST_BODY_BYTES, codings, kept};

/// Of a text that is looked at.
const MOST_TEXT_BYTES: usize = 16 << 10;
/// All texts together; those that come when it is reached are cut to nothing.
const MOST_BYTES: usize = 64 << 20;

/// The exchanges of a run, in the order in which their requests left. Clones are the same list.
#[derive(Debug, Clone)]
pub struct Exchanges {
    list: Arc<Mutex<List>>,
    /// The longest body that is kept.
    most_body_bytes: usize,
}

#[derive(Debug)]
struct List {
    all: Vec<Exchange>,
    /// A longer text is cut.
    most_text_bytes: usize,
    held_bytes: usize,
}

impl Default for Exchanges {
    /// To look at: the beginning of every text.
    fn default() -> Self {
        Exchanges::keeping(MOST_TEXT_BYTES, MOST_BODY_BYTES)
    }
}

/// A request, and what came of it.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// The request, by its place in the plan's list.
    pub request: u32,
    /// It went over HTTP/2.
    pub is_h2: bool,
    /// Request line and header fields, in the form of HTTP/1.1 in either version; as a proxy gets them that they go to.
    pub head: Text,
    /// The body, in the framing that it was sent in.
    pub body: Text,
    /// The response, if it was complete.
    pub response: Option<Response>,
    /// Why this is not the right response, or why there is none, as far as the protocol knows.
    pub problem: Option<Reason>,
}

/// A complete response.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Header lines, each `Name: value` with its line end.
    pub fields: Text,
    /// The body, framing removed, and decoded if its coding was asked for; its length is that of what was received.
    pub body: Text,
    /// The length that it was decoded to, if it was.
    pub decoded_bytes: Option<u64>,
    /// For each capture of the step its value, or why it has none. Empty after an unexpected response, of which
    /// nothing is captured.
    pub captured: Vec<Result<Text, String>>,
}

/// The beginning of a text.
#[derive(Debug, Clone, Default)]
pub struct Text {
    /// All of it, or at most 16 KiB.
    pub bytes: Vec<u8>,
    /// Its length in full.
    pub length: u64,
}

impl Text {
    /// Whether there is more than was kept.
    pub fn is_cut(&self) -> bool {
        self.length > self.bytes.len() as u64
    }
}

impl Exchanges {
    /// With bodies of up to so many bytes.
    pub fn whole(most_body_bytes: usize) -> Self {
        Exchanges::keeping(most_body_bytes, most_body_bytes)
    }

    fn keeping(most_text_bytes: usize, most_body_bytes: usize) -> Self {
        let list = List { all: Vec::new(), most_text_bytes, held_bytes: 0 };
        Exchanges { list: Arc::new(Mutex::new(list)), most_body_bytes }
    }

    /// Takes those that there are.
    pub fn take(&self) -> Vec<Exchange> {
        std::mem::take(&mut self.lock().all)
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    fn text(&mut self, bytes: &[u8], length: u64) -> Text {
        let most = self.most_text_bytes.min(MOST_BYTES - self.held_bytes);
        let bytes = bytes[..bytes.len().min(most)].to_vec();
        self.held_bytes += bytes.len();
        Text { bytes, length }
    }
}

/// How sessions of one thread are watched.
#[derive(Clone)]
pub(crate) struct Watch {
    exchanges: Exchanges,
    /// Each request of the plan as it is sent if it is fixed.
    fixed: Rc<[Prepared]>,
    /// Of each request of the plan, what a proxy gets besides.
    vias: Rc<[Option<Arc<Via>>]>,
    /// Of each request of the plan, what is captured from its response.
    captures: Rc<[Vec<Source>]>,
    bodies: Rc<Bodies>,
}

impl Watch {
    pub(crate) fn new(plan: &Parts, exchanges: Exchanges) -> Self {
        let list = || plan.work.requests().iter();
        let vias: Rc<[_]> = list().map(|one| Via::of(plan.target_of(one))).collect();
        let prepare = |(one, via): (_, &Option<_>)| {
            h1::prepare_via(one, &plan.target_of(one).authority, via.as_ref())
        };
        // The plan's check has compiled them.
        let source = |one: &candor_plan::Capture| Source::parse(&one.source).ok();
        let captures = |step: &candor_plan::Step| step.captures.iter().filter_map(source).collect();
        let steps = plan.work.journeys().iter().flat_map(|one| &one.steps);
        Watch {
            exchanges,
            fixed: list().zip(vias.iter()).map(prepare).collect(),
            vias,
            captures: steps.map(captures).collect(),
            bodies: Rc::new(Bodies::of(plan)),
        }
    }

    /// A session that is watched.
    pub(crate) fn over(&self, inner: Box<dyn Session>) -> Watched {
        Watched { inner, watch: self.clone(), is_h2: false, open: Vec::new(), captured: None }
    }
}

/// Where the sessions of a watched thread keep responses: what captures look into whole, the beginning of others.
pub(crate) fn room(plan: &Plan, exchanges: &Exchanges) -> CaptureRoom {
    let mut all = kept(plan).unwrap_or_default().into_vec();
    all.resize(plan.work.requests().len(), Keep::Beginning);
    for one in &mut all {
        if *one != Keep::Whole {
            *one = Keep::Beginning;
        }
    }
    let most = exchanges.most_body_bytes;
    CaptureRoom::for_requests(all.into(), codings(plan), most, BODIES_AT_A_TIME)
}

/// A session, and what goes through it.
pub(crate) struct Watched {
    inner: Box<dyn Session>,
    watch: Watch,
    is_h2: bool,
    /// Requests without an outcome, and their places in the list.
    open: Vec<(RequestId, usize)>,
    /// The last response, for whoever else reads it.
    captured: Option<Capture>,
}

impl Watched {
    fn begin(&mut self, id: RequestId, request: Outgoing<'_>) {
        let mut to_proxy = Vec::new();
        let (request, head, body) = match request {
            Outgoing::Listed(number) => {
                let Some(fixed) = self.watch.fixed.get(number as usize) else { return };
                (number, &fixed.head[..], &fixed.body[..])
            }
            Outgoing::Made(made) => {
                const END: &[u8] = b"\r\n\r\n";
                let raw = match self.watch.vias.get(made.request as usize) {
                    Some(Some(via)) => {
                        via.copy(made.raw, made.path_range(), &mut to_proxy);
                        &to_proxy[..]
                    }
                    _ => made.raw,
                };
                let end = raw.windows(END.len()).position(|four| four == END);
                let end = end.map_or(raw.len(), |at| at + END.len());
                (made.request, &raw[..end], &raw[end..])
            }
        };
        let mut list = self.watch.exchanges.lock();
        let head = list.text(head, head.len() as u64);
        let body = list.text(body, body.len() as u64);
        self.open.retain(|(other, _)| *other != id);
        self.open.push((id, list.all.len()));
        let is_h2 = self.is_h2;
        list.all.push(Exchange { request, is_h2, head, body, ..Exchange::default() });
    }

    fn look(&mut self, event: &Event) {
        match event {
            Event::Ready(abilities) => self.is_h2 = abilities.multiplexes,
            Event::Done(answer) => self.answered(answer),
            Event::Failed { id: Some(id), failure } | Event::RequestFailed { id, failure } => {
                self.end(*id, |exchange, _| exchange.problem = Some(failure.words().1));
            }
            Event::Failed { id: None, failure } => {
                let problem = failure.words().1;
                for (id, _) in self.open.clone() {
                    self.end(id, |exchange, _| exchange.problem = Some(problem.clone()));
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &Answer) {
        let captured = self.inner.take_captured();
        let (captures, bodies) = (Rc::clone(&self.watch.captures), Rc::clone(&self.watch.bodies));
        self.end(answer.id, |exchange, list| {
            let (fields, body) = match &captured {
                Some(captured) => (captured.get().fields, captured.get().body),
                None => (&[][..], &[][..]),
            };
            let of_step =
                captures.get(exchange.request as usize).filter(|_| answer.expected.is_ok());
            let values = of_step.map(|sources| {
                let body = bodies.read(exchange.request, body);
                let value = |source: &Source| match source.find(fields, &body) {
                    Ok(value) => Ok(list.text(&value, value.len() as u64)),
                    Err(why) => Err(why.to_string()),
                };
                sources.iter().map(value).collect()
            });
            let values = values.unwrap_or_default();
            exchange.problem = answer.expected.as_ref().err().map(Mismatch::reason);
            exchange.response = Some(Response {
                status: answer.status.map_or(0, std::num::NonZeroU16::get),
                fields: list.text(fields, fields.len() as u64),
                body: list.text(body, answer.body_bytes),
                decoded_bytes: captured.as_ref().and_then(Capture::decoded_bytes),
                captured: values,
            });
        });
        self.captured = captured;
    }

    /// A request has its outcome.
    fn end(&mut self, id: RequestId, change: impl FnOnce(&mut Exchange, &mut List)) {
        let Some(at) = self.open.iter().position(|(other, _)| *other == id) else { return };
        let (_, place) = self.open.swap_remove(at);
        let mut list = self.watch.exchanges.lock();
        let Some(mut exchange) = list.all.get_mut(place).map(std::mem::take) else { return };
        change(&mut exchange, &mut list);
        list.all[place] = exchange;
    }
}

impl Session for Watched {
    fn speaks_unasked(&self) -> bool {
        self.inner.speaks_unasked()
    }

    fn free_places(&self) -> u32 {
        self.inner.free_places()
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        self.begin(id, request);
        self.inner.handle_request(id, request);
    }

    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        self.inner.poll_transmit(now_ns, slices)
    }

    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        self.inner.handle_transmitted(now_ns, bytes, started)
    }

    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        self.inner.handle_input(now_ns, input).inspect(|event| self.look(event))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.inner.poll_event().inspect(|event| self.look(event))
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.inner.poll_timeout()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        self.inner.handle_timeout(now_ns);
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        self.inner.cancel(id)
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.captured.take()
    }

    fn handle_end(&mut self) {
        self.inner.handle_end();
    }

    fn handle_close(&mut self) {
        self.inner.handle_close();
    }
}
