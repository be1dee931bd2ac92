//! One connection: the state that both directions share, and the seam's methods.
//!
//! Datagrams go through [`quic`](super::quic); what it says happened is acted upon in [`receive`](super::receive), for the
//! streams of requests, and in [`control`](super::control), for all others. Events wait in one queue, since a datagram may
//! bring several.

use std::collections::{BTreeMap, VecDeque};
use std::io::IoSlice;

use bytes::Bytes;
use candor_record::ErrorKind;

use super::control::{OneWay, Opened};
use super::crypto::Left;
use super::error::{Error, code};
use super::qpack::Decoder;
use super::quic::{Happened, Lost, Quic};
use super::request::{Prepared, Table};
use super::streams::{Stream, Streams};
use super::tunnel::Inside;
use super::{Settings, Setup};
use crate::asked::Asked;
use crate::capture::{Capture, CaptureRoom};
use crate::h2::memo::Memo;
use crate::request::Outgoing;
use crate::session::{
    Abilities, Event, Failure, HeaderBytes, Input, Protocol, RequestId, Transmit, Transport,
};

/// One HTTP/3 connection.
///
/// A request counts as started when the datagram with the first byte of its stream was taken by the kernel; what is sent
/// again of it does not count.
#[derive(Debug)]
pub struct Session {
    pub(super) table: Table,
    pub(super) settings: Settings,
    pub(super) quic: Quic,
    pub(super) streams: Streams,
    /// The streams that the server has opened.
    pub(super) one_way: BTreeMap<u64, OneWay>,
    pub(super) opened: Opened,
    pub(super) decoder: Decoder,
    pub(super) memo: Memo,
    /// Field sections that wait for inserts.
    pub(super) waiting: usize,
    /// What our decoder has to say, and the stream for it, which is opened when there is something.
    pub(super) words: Vec<u8>,
    pub(super) words_stream: Option<u64>,
    pub(super) header_bytes: HeaderBytes,
    /// Where responses are kept; plain runs have none.
    pub(super) room: Option<CaptureRoom>,
    /// What is asked of the parts of responses; plain runs have none.
    pub(super) asked: Option<Box<Asked>>,
    /// The responses of the events of `news`, and of the last one that was told.
    pub(super) captures: VecDeque<Option<Box<Capture>>>,
    captured: Option<Box<Capture>>,
    /// What there is of a tunnel; plain runs have none.
    pub(super) tunnel: Option<Box<Inside>>,
    /// What a made request is written from; plain runs have none.
    scratch: Option<Box<Prepared>>,
    pub(super) news: VecDeque<Event>,
    /// Frames and streams that carried nothing since the last that did.
    pub(super) idle_frames: u32,
    /// Streams of requests that were handed in since QUIC last had nothing that it might send.
    fresh: Vec<u64>,
    /// The latest time that is known.
    now_ns: u64,
    is_ready: bool,
    /// What was handed in before the handshake was over; `None`: nothing could be, or it is over.
    early: Option<Vec<(u64, [Bytes; 2])>>,
    /// No more requests may be handed in.
    pub(super) closing: bool,
    /// By the server's GOAWAY: requests from this stream on are not processed.
    pub(super) gone_from: Option<u64>,
    /// The end of the connection was told.
    is_over: bool,
    /// The server's fault has ended the connection.
    pub(super) is_dead: bool,
    /// Why the connection ended, if not by a close alone.
    why: Option<(ErrorKind, Error)>,
    /// The server's end came.
    has_ended: bool,
    /// The error code that the connection is to be closed with.
    pub(super) goodbye: Option<u32>,
}

impl Session {
    /// A session on a fresh connection, for requests of `table`.
    pub fn new(table: Table, settings: Settings, setup: Setup) -> Self {
        Session {
            table,
            settings,
            quic: Quic::new(setup),
            streams: Streams::default(),
            one_way: BTreeMap::new(),
            opened: Opened::default(),
            decoder: Decoder::new(settings.table_bytes),
            memo: Memo::default(),
            waiting: 0,
            words: Vec::new(),
            words_stream: None,
            header_bytes: HeaderBytes::default(),
            room: None,
            asked: None,
            captures: VecDeque::new(),
            captured: None,
            tunnel: None,
            scratch: None,
            news: VecDeque::new(),
            idle_frames: 0,
            fresh: Vec::new(),
            now_ns: 0,
            is_ready: false,
            early: None,
            closing: false,
            gone_from: None,
            is_over: false,
            is_dead: false,
            why: None,
            has_ended: false,
            goodbye: None,
        }
    }

    /// From now on, keeps the header block and the body of each response in `room`, as far as its bounds allow.
    pub fn capture(&mut self, room: &CaptureRoom) {
        self.room = Some(room.clone());
    }

    /// Acts upon what happened on the connection.
    fn proceed(&mut self) {
        let mut has_more_places = false;
        while !self.is_dead
            && let Some(happened) = self.quic.happened()
        {
            let step = match happened {
                Happened::Connected => self.connected(),
                Happened::Readable(id) if self.one_way.contains_key(&id) => self.read_one_way(id),
                Happened::Readable(id) => self.read_stream(id),
                Happened::Writable(id) => {
                    self.write(id);
                    Ok(())
                }
                Happened::Stopped(id, code) => self.stop_sending(id, code),
                Happened::Available => {
                    has_more_places = self.is_ready;
                    Ok(())
                }
                Happened::Opened => self.accept(),
                Happened::Lost(lost) => {
                    self.lose(lost);
                    Ok(())
                }
            };
            if let Err(error) = step {
                self.fail(error);
            }
        }
        if !self.is_dead && self.is_ready {
            self.tell_inserts();
            self.refill(has_more_places);
        }
        if self.closing && self.streams.live() == 0 && !self.is_over && !self.is_dead {
            self.is_over = true;
            self.news.push_back(Event::Over);
        }
    }

    fn refill(&mut self, has_more_places: bool) {
        let wanted = if self.closing { 0 } else { self.settings.streams };
        if self.streams.refill(wanted, &mut self.quic) && has_more_places {
            self.news.push_back(Event::Changed);
        }
    }

    /// The handshake is over.
    fn connected(&mut self) -> Result<(), Error> {
        let early = self.early.take();
        let was_early = self.quic.was_early();
        if let Some(mut facts) = self.quic.take_facts() {
            let has_early = early.as_ref().is_some_and(|all| !all.is_empty());
            facts.early_data = has_early.then_some(was_early);
            self.news.push_back(Event::Secured(Box::new(facts)));
        }
        match early {
            None => self.begin()?,
            Some(_) if was_early => {}
            Some(early) => self.again(early)?,
        }
        Ok(())
    }

    /// Requests may come.
    fn begin(&mut self) -> Result<(), Error> {
        self.greet()?;
        self.is_ready = true;
        self.streams.refill(self.settings.streams, &mut self.quic);
        self.news.push_back(Event::Ready(Abilities { multiplexes: true, takes_made: true }));
        Ok(())
    }

    /// Requests may come before the handshake is over.
    #[cold]
    fn begin_early(&mut self) {
        self.early = Some(Vec::new());
        if let Err(error) = self.begin() {
            self.fail(error);
        }
    }

    /// The server took nothing of what it was sent early: as if it had not been (RFC 9001 4.6.2).
    #[cold]
    fn again(&mut self, early: Vec<(u64, [Bytes; 2])>) -> Result<(), Error> {
        self.greet()?;
        let lost = self.streams.reopen(&mut self.quic);
        for id in lost {
            self.give_up(id, code::REQUEST_CANCELLED, Failure::NotProcessed);
        }
        for (id, chunks) in early {
            if let Some(stream) = self.streams.get(id) {
                stream.unsent = Some(chunks);
                self.write(id);
            }
        }
        Ok(())
    }

    /// The connection is over.
    #[cold]
    fn lose(&mut self, lost: Lost) {
        self.closing = true;
        self.is_over = true;
        let failed = |failure| Event::Failed { id: None, failure };
        self.news.push_back(match lost {
            Lost::Wrong(error) => return self.fail(error),
            Lost::ClosedWith(error) if !self.is_ready => return self.fail(error),
            Lost::Closed if !self.is_ready => failed(Failure::NotReady(self.awaited())),
            Lost::Silent if !self.is_ready => failed(Failure::NotReady(self.awaited())),
            Lost::Reset => {
                self.is_dead = true;
                let why = Error::StatelessReset.into();
                failed(Failure::Ended { kind: ErrorKind::Reset, why })
            }
            Lost::Closed => Event::End,
            Lost::Silent => {
                self.why = Some((ErrorKind::IdleTimeout, Error::Silent));
                Event::End
            }
            Lost::ClosedWith(error) => {
                self.why = Some((ErrorKind::Closed, error));
                Event::End
            }
        });
    }

    /// What a handshake that ends here waited for.
    fn awaited(&self) -> &'static str {
        match self.quic.is_heard() {
            true => "the rest of its QUIC handshake",
            false => "anything over UDP: there may be no HTTP/3 on this port",
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.is_dead = true;
        self.closing = true;
        self.goodbye = Some(error.code());
        self.news.push_back(Event::Failed { id: None, failure: Failure::Malformed(error.into()) });
    }

    /// The next outcome after the server's end.
    #[cold]
    fn next_of_end(&mut self) -> Option<Event> {
        self.closing = true;
        if !self.is_ready {
            self.is_dead = true;
            let awaited = self.awaited();
            return Some(Event::Failed { id: None, failure: Failure::NotReady(awaited) });
        }
        let stream = self.streams.first_from(0).and_then(|id| self.streams.close(id))?;
        let failure = if stream.status != 0 { Failure::Truncated } else { Failure::Closed };
        Some(Event::Failed { id: Some(stream.request_id), failure: self.with_why(failure) })
    }

    /// What ended by the end of the connection, with the reason for that, if there is one.
    #[cold]
    pub(crate) fn with_why(&self, failure: Failure) -> Failure {
        let Some((kind, error)) = &self.why else { return failure };
        let kind = match (kind, &failure) {
            (ErrorKind::Closed, Failure::Truncated) => ErrorKind::Truncated,
            (kind, Failure::Truncated | Failure::Closed) => *kind,
            _ => return failure,
        };
        Failure::Ended { kind, why: error.clone().into() }
    }

    fn next_news(&mut self) -> Option<Event> {
        let event = self.news.pop_front()?;
        if self.room.is_some() && matches!(event, Event::Done(_)) {
            self.captured = self.captures.pop_front().flatten();
        }
        Some(event)
    }

    /// Gives a request its stream.
    fn send(&mut self, id: RequestId, request: u32, made: &Prepared) {
        debug_assert!(!self.closing && self.is_ready, "no request may be handed in now");
        let chunks = made.chunks();
        let early = self.early.is_some().then(|| chunks.clone());
        let stream = self.streams.begin(Stream {
            request_id: id,
            request,
            unsent: Some(chunks),
            no_body: made.is_head,
            is_connect: made.is_connect,
            ..Stream::default()
        });
        if let Some(stream) = stream {
            self.fresh.push(stream);
            if let (Some(all), Some(chunks)) = (&mut self.early, early) {
                all.push((stream, chunks));
            }
            self.write(stream);
        }
    }

    #[cold]
    fn say_goodbye(&mut self, now_ns: u64) {
        // What a tunnel has to say leaves before it: nothing does behind it.
        if self.tunnel.is_some() && self.quic.fill(now_ns) {
            return;
        }
        if let Some(code) = self.goodbye.take() {
            self.quic.close(now_ns, code);
        }
    }

    /// QUIC has nothing that it may send now: what was handed in and has not left is held back from now on.
    fn hold(&mut self, now_ns: u64) {
        for id in self.fresh.drain(..) {
            if let Some(stream) = self.streams.get(id).filter(|stream| !stream.is_sent) {
                stream.held_ns = Some(now_ns);
            }
        }
    }

    /// Writes what is left of a request, as far as the server's windows and our buffer allow.
    fn write(&mut self, id: u64) {
        let Some(stream) = self.streams.get(id) else { return };
        let Some(unsent) = &mut stream.unsent else { return };
        let length = |chunks: &[Bytes; 2]| chunks[0].len() + chunks[1].len();
        let before = length(unsent);
        let is_all = self.quic.write(id, unsent);
        if !stream.is_written && length(unsent) < before {
            stream.is_written = true;
            if let Some(held_ns) = &mut stream.held_ns {
                stream.by_flow_control_ns = self.now_ns.saturating_sub(*held_ns);
                *held_ns = self.now_ns;
            }
        }
        if is_all {
            stream.unsent = None;
            self.quic.finish(id);
        }
        self.idle_frames = 0;
    }

    /// The server wants no more of a request; what it has to say to it, it says all the same (RFC 9114 4.1). Our other streams
    /// are those without which there is no connection (RFC 9114 6.2.1, RFC 9204 4.2).
    fn stop_sending(&mut self, id: u64, why: u64) -> Result<(), Error> {
        if is_one_way(id) {
            return Err(Error::ClosedCritical);
        }
        if self.tunnel.is_some() {
            // Nothing comes of it without what we say, whatever the reason.
            self.read_stream(id)?;
            self.reset_by_server(id, why);
            return Ok(());
        }
        if let Some(stream) = self.streams.get(id) {
            stream.unsent = None;
            self.quic.reset(id, code::NO_ERROR);
        }
        Ok(())
    }
}

/// RFC 9000 2.1.
fn is_one_way(stream: u64) -> bool {
    stream & 2 != 0
}

impl Protocol for Session {
    const TRANSPORT: Transport = Transport::Datagrams;
}

impl crate::session::Session for Session {
    fn speaks_unasked(&self) -> bool {
        true
    }

    fn free_places(&self) -> u32 {
        if self.is_ready && !self.closing { self.streams.spare() } else { 0 }
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        match request {
            Outgoing::Listed(request) => {
                let table = Table::clone(&self.table);
                self.send(id, request, &table[request as usize]);
            }
            Outgoing::Made(made) => {
                let scratch = self.scratch.take();
                let like = || Box::new(self.table[made.request as usize].clone());
                let mut scratch = scratch.unwrap_or_else(like);
                scratch.set_made(&made);
                self.send(id, made.request, &scratch);
                self.scratch = Some(scratch);
            }
        }
    }

    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        if self.goodbye.is_some() {
            self.say_goodbye(now_ns);
        }
        let has_any = self.quic.fill(now_ns);
        if !self.is_ready && !self.is_dead && self.quic.has_early() {
            self.begin_early();
        }
        if !has_any && !self.fresh.is_empty() {
            self.hold(now_ns);
        }
        match slices {
            [first, ..] if has_any => {
                let (bytes, segment_bytes, ecn) = self.quic.outgoing();
                *first = IoSlice::new(bytes);
                Transmit { slices: 1, segment_bytes, ecn, more: true }
            }
            _ => Transmit::default(),
        }
    }

    fn handle_transmitted(
        &mut self,
        _: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        let (streams, news, tunnel) = (&mut self.streams, &mut self.news, &mut self.tunnel);
        let filled_ns = self.quic.filled_ns();
        self.quic.handle_transmitted(bytes, |left| match left {
            Left::First(id) => {
                if let Some(stream) = streams.get(id)
                    && !std::mem::replace(&mut stream.is_sent, true)
                {
                    started(stream.request_id);
                    news.extend(stream.blocked(filled_ns));
                }
            }
            Left::Through(end) => {
                if let Some(tunnel) = tunnel {
                    tunnel.sent = tunnel.sent.max(end);
                }
            }
        });
        !self.news.is_empty()
    }

    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Datagram { bytes, ecn } = input else {
            debug_assert!(false, "HTTP/3 is spoken over datagrams");
            return None;
        };
        self.now_ns = now_ns;
        if !bytes.is_empty() {
            let datagram = std::mem::take(bytes);
            if !self.is_dead {
                self.quic.handle_datagram(now_ns, datagram, *ecn);
                self.proceed();
            }
        }
        self.next_news()
    }

    fn poll_event(&mut self) -> Option<Event> {
        // What could not begin has nothing to wait for; later on, whatever comes has been acted upon.
        if !self.is_ready && self.news.is_empty() {
            self.proceed();
        }
        match self.next_news() {
            None if self.has_ended && !self.is_dead => self.next_of_end(),
            event => event,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.quic.timeout_ns()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.quic.handle_timeout(now_ns);
        self.proceed();
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        if let Some(stream) = self.streams.find(id) {
            self.abandon(stream, code::REQUEST_CANCELLED);
            self.proceed();
        }
        true
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.captured.take().map(|captured| *captured)
    }

    fn handle_end(&mut self) {
        self.has_ended = true;
    }

    fn handle_close(&mut self) {
        self.is_dead = true;
        self.closing = true;
        self.goodbye.get_or_insert(code::NO_ERROR);
        self.news.clear();
        self.news.push_back(Event::HeaderBytes(self.header_bytes));
        let path = self.quic.path().filter(|_| self.is_ready);
        self.news.extend(path.map(|path| Event::Path(Box::new(path))));
    }
}
