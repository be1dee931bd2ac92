//! Serves the connections of the target over QUIC.
//!
//! A [`Driver`] is one connection's only task: it takes the datagrams that its [`Port`] has for it, proceeds with its
//! requests, and sends. A request is the same as over TCP from the handler on. So are its faults: a reset is a connection
//! that the server does not know any more, and a close is one of QUIC.

use std::collections::BTreeMap;
use std::future::{Future, pending, poll_fn};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::body::{Body, Frame};
use quinn_proto::{ConnectionEvent, Incoming};
use tokio::sync::mpsc;
use tokio::time::Sleep;

use crate::connection::Connection;
use crate::handler::handle;
use crate::quic::endpoint::{Datagram, Endpoint, Reply};
use crate::quic::session::{
    Happened, Read, Session, code, data_header, head_frame, trailers_frame,
};
use crate::received::{BrokeOff, Received};
use crate::truth::now_ns;

/// Datagrams that wait for a connection's task; more are lost, as in a full buffer of the kernel.
const WAITING_DATAGRAMS: usize = 256;
/// After a send for which the kernel had no room.
const SEND_AGAIN: Duration = Duration::from_millis(1);

/// The UDP port, and the endpoint behind it.
pub(crate) struct Port {
    endpoint: Mutex<Endpoint>,
    socket: UdpSocket,
}

/// Where a connection's task finds the datagrams for it.
pub(crate) type Datagrams = mpsc::Receiver<ConnectionEvent>;

impl Port {
    pub(crate) fn new(endpoint: Endpoint, socket: UdpSocket) -> Self {
        Port { endpoint: Mutex::new(endpoint), socket }
    }

    /// The socket, for the event loop that takes its datagrams.
    pub(crate) fn socket(&self) -> std::io::Result<tokio::net::UdpSocket> {
        tokio::net::UdpSocket::from_std(self.socket.try_clone()?)
    }

    fn endpoint(&self) -> MutexGuard<'_, Endpoint> {
        self.endpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, reply: Option<Reply>) {
        if let Some((to, bytes)) = reply {
            // One that is lost is asked for again.
            let _ = self.socket.send_to(&bytes, to);
        }
    }
}

/// Gives the datagrams of a port to the tasks of its connections.
pub(crate) struct Sorter {
    port: Arc<Port>,
    tasks: BTreeMap<usize, mpsc::Sender<ConnectionEvent>>,
}

impl Sorter {
    pub(crate) fn new(port: Arc<Port>) -> Self {
        Sorter { port, tasks: BTreeMap::new() }
    }

    /// Takes a datagram; returns a connection that begins with it.
    pub(crate) fn take(&mut self, from: SocketAddr, bytes: &[u8]) -> Option<Incoming> {
        let datagram = self.port.endpoint().handle(Instant::now(), from, bytes);
        match datagram {
            Datagram::Of(handle, event) => {
                if let Some(task) = self.tasks.get(&handle.0)
                    && let Err(mpsc::error::TrySendError::Closed(_)) = task.try_send(event)
                {
                    self.tasks.remove(&handle.0);
                }
            }
            Datagram::First(incoming) => return Some(incoming),
            Datagram::Answered(reply) => self.port.reply(Some(reply)),
            Datagram::Nothing => {}
        }
        None
    }

    /// Refuses a connection.
    pub(crate) fn refuse(&self, incoming: Incoming) {
        let reply = self.port.endpoint().refuse(incoming);
        self.port.reply(Some(reply));
    }

    /// Makes a connection, to be served by [`serve`].
    pub(crate) fn accept(&mut self, incoming: Incoming) -> Option<(Session, Datagrams)> {
        let accepted = self.port.endpoint().accept(Instant::now(), incoming);
        match accepted {
            Ok(session) => {
                let (task, datagrams) = mpsc::channel(WAITING_DATAGRAMS);
                self.tasks.insert(session.number(), task);
                Some((session, datagrams))
            }
            Err(reply) => {
                self.port.reply(reply);
                None
            }
        }
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve(
    port: Arc<Port>,
    session: Session,
    datagrams: Datagrams,
    connection: Arc<Connection>,
) {
    let line = Line { session, waiting: BTreeMap::new(), ordered: None };
    Driver {
        port,
        line: Arc::new(Mutex::new(line)),
        connection,
        datagrams,
        exchanges: FuturesUnordered::new(),
        timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
        out: Vec::new(),
        unsent: None,
    }
    .await;
}

/// What a connection and its exchanges share.
struct Line {
    session: Session,
    /// The exchanges, and what to wake when something comes for one.
    waiting: BTreeMap<u64, Waker>,
    ordered: Option<Order>,
}

/// The end of a connection, as a fault has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// With an error, at once.
    Close,
    /// Without an error, when the client has all that was written.
    CloseAfterAll,
    /// By a reset, behind what was written.
    Reset,
}

impl std::fmt::Debug for Port {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Port").field("socket", &self.socket).finish_non_exhaustive()
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

type Exchange = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One connection.
struct Driver {
    port: Arc<Port>,
    line: Arc<Mutex<Line>>,
    connection: Arc<Connection>,
    datagrams: Datagrams,
    exchanges: FuturesUnordered<Exchange>,
    timer: Pin<Box<Sleep>>,
    /// A datagram, and where it goes if the kernel had no room for it.
    out: Vec<u8>,
    unsent: Option<SocketAddr>,
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            let has_more = this.take_datagrams(cx);
            this.proceed(cx);
            if this.send() {
                return Poll::Ready(());
            }
            let again = this.unsent.map(|_| Instant::now() + SEND_AGAIN);
            let timeout = lock(&this.line).session.poll_timeout();
            if has_more {
                continue;
            }
            let Some(at) = again.or(timeout) else { return Poll::Pending };
            this.timer.as_mut().reset(at.into());
            if this.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            lock(&this.line).session.handle_timeout(Instant::now());
        }
    }
}

impl Driver {
    /// Takes datagrams that wait; whether there may be more.
    fn take_datagrams(&mut self, cx: &mut Context<'_>) -> bool {
        let mut line = lock(&self.line);
        for _ in 0..WAITING_DATAGRAMS {
            match self.datagrams.poll_recv(cx) {
                Poll::Ready(Some(event)) => line.session.handle_event(event),
                // The port is no more, and this task with it.
                Poll::Ready(None) | Poll::Pending => return false,
            }
        }
        true
    }

    /// Does what can be done now.
    fn proceed(&mut self, cx: &mut Context<'_>) {
        let mut line = lock(&self.line);
        while let Some(happened) = line.session.poll() {
            match happened {
                Happened::Begun(id) => {
                    line.waiting.insert(id, Waker::noop().clone());
                    let (line, connection) = (Arc::clone(&self.line), Arc::clone(&self.connection));
                    self.exchanges.push(Box::pin(exchange(line, connection, id)));
                }
                Happened::Stirred(id) => {
                    line.waiting.get(&id).into_iter().for_each(Waker::wake_by_ref)
                }
                Happened::Gone(id) => line.waiting.remove(&id).into_iter().for_each(Waker::wake),
                Happened::Over => {}
            }
        }
        drop(line);
        while let Poll::Ready(Some(())) = self.exchanges.poll_next_unpin(cx) {}
    }

    /// Sends what there is to send; whether the connection is over.
    fn send(&mut self) -> bool {
        let mut line = lock(&self.line);
        if line.ordered == Some(Order::Close) {
            line.session.close(Instant::now(), code::INTERNAL_ERROR);
        }
        self.port.endpoint().settle(&mut line.session);
        let begun_ns = if self.connection.parts_leave() { now_ns() } else { 0 };
        if !transmit(&self.port.socket, &mut line.session, &mut self.out, &mut self.unsent) {
            return false;
        }
        if begun_ns > 0 {
            self.connection.parts_departed(begun_ns);
        }
        if self.connection.flushed() && line.ordered.is_none() {
            line.ordered = Some(Order::CloseAfterAll);
        }
        if line.ordered == Some(Order::CloseAfterAll) && line.session.is_acknowledged() {
            line.session.close(Instant::now(), code::NO_ERROR);
            transmit(&self.port.socket, &mut line.session, &mut self.out, &mut self.unsent);
        }
        // Before the handshake is over, its client does not know a reset.
        line.session.is_over() || line.ordered == Some(Order::Reset) && line.session.is_made()
    }
}

/// Sends datagrams until there is none; whether that is so, or the kernel has no room.
fn transmit(
    socket: &UdpSocket,
    session: &mut Session,
    out: &mut Vec<u8>,
    unsent: &mut Option<SocketAddr>,
) -> bool {
    loop {
        if unsent.is_none() {
            *unsent = session.poll_transmit(Instant::now(), out);
        }
        let Some(to) = *unsent else { return true };
        match socket.send_to(out, to) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            // One that cannot be sent is lost.
            _ => *unsent = None,
        }
    }
}

impl Drop for Driver {
    /// Tells the client that the connection is over.
    fn drop(&mut self) {
        let mut line = lock(&self.line);
        line.waiting.clear();
        if line.session.is_over() {
            return self.port.endpoint().forget(&line.session);
        }
        if line.ordered == Some(Order::Reset) {
            let reply = self.port.endpoint().reset(Instant::now(), &line.session);
            return self.port.reply(reply);
        }
        line.session.close(Instant::now(), code::NO_ERROR);
        transmit(&self.port.socket, &mut line.session, &mut self.out, &mut self.unsent);
        self.port.endpoint().forget(&line.session);
    }
}

/// A request and its response; ends early if the client wants no response.
async fn exchange(line: Arc<Mutex<Line>>, connection: Arc<Connection>, id: u64) {
    let mut answer = Box::pin(answer(Arc::clone(&line), connection, id));
    poll_fn(|cx| {
        match lock(&line).waiting.get_mut(&id) {
            None => return Poll::Ready(()),
            Some(waker) => waker.clone_from(cx.waker()),
        }
        answer.as_mut().poll(cx)
    })
    .await;
    lock(&line).waiting.remove(&id);
}

async fn answer(line: Arc<Mutex<Line>>, connection: Arc<Connection>, id: u64) {
    let head = poll_fn(|_| match lock(&line).session.read(id) {
        Read::Head(head) => Poll::Ready(Some(head)),
        Read::Nothing => Poll::Pending,
        _ => Poll::Ready(None),
    });
    let Some(head) = head.await else { return };
    let body = Received::Quic(Box::new(RequestBody { line: Arc::clone(&line), id, end: None }));
    let request = Request::from_parts(*head, body);
    let Ok(response) = handle(Arc::clone(&connection), request).await else {
        lock(&line).ordered = Some(Order::Close);
        return pending().await;
    };
    let out = Out { line: &line, connection: &connection, id };
    let (mut head, mut body) = response.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|_| !head.status.is_informational()) {
        // As hyper does over TCP.
        if !head.headers.contains_key(hyper::header::CONTENT_LENGTH)
            && (length > 0 || has_body(&head))
        {
            head.headers.insert(hyper::header::CONTENT_LENGTH, length.into());
        }
    }
    out.send([head_frame(head.status, &head.headers), Bytes::new()]).await;
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => out.send([data_header(data.len()), data]).await,
            Ok(Err(frame)) => {
                if let Ok(fields) = frame.into_trailers() {
                    out.send([trailers_frame(&fields), Bytes::new()]).await;
                }
            }
            // Broken off on purpose.
            Err(_) => return lock(&line).session.abandon(id, code::INTERNAL_ERROR),
        }
    }
    lock(&line).session.finish(id);
}

/// Whether an empty content is announced as one.
fn has_body(head: &hyper::http::response::Parts) -> bool {
    let status = head.status.as_u16();
    !matches!(status, 204 | 304)
}

/// Where a response goes.
struct Out<'a> {
    line: &'a Mutex<Line>,
    connection: &'a Connection,
    id: u64,
}

impl Out<'_> {
    /// Writes, as soon as there is room, as much as the connection's faults allow.
    async fn send(&self, mut chunks: [Bytes; 2]) {
        if let Some(most) = self.connection.writable_bytes() {
            let mut left = usize::try_from(most).unwrap_or(usize::MAX);
            for chunk in &mut chunks {
                chunk.truncate(left);
                left -= chunk.len();
            }
            self.connection.wrote(chunks[0].len() + chunks[1].len());
        }
        poll_fn(|_| match lock(self.line).session.write(self.id, &mut chunks) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        if self.connection.writable_bytes() == Some(0) {
            lock(self.line).ordered = Some(Order::Reset);
            pending::<()>().await;
        }
    }
}

/// The body of a request, as its stream has it.
struct RequestBody {
    line: Arc<Mutex<Line>>,
    id: u64,
    /// Whether it ended whole.
    end: Option<bool>,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BrokeOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokeOff>>> {
        match self.end {
            Some(true) => return Poll::Ready(None),
            Some(false) => return Poll::Ready(Some(Err(BrokeOff))),
            None => {}
        }
        let read = lock(&self.line).session.read(self.id);
        match read {
            Read::Data(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            // Its exchange is woken.
            Read::Nothing => Poll::Pending,
            Read::End => {
                self.end = Some(true);
                Poll::Ready(None)
            }
            Read::Head(_) | Read::Gone => {
                self.end = Some(false);
                Poll::Ready(Some(Err(BrokeOff)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.end == Some(true)
    }
}
