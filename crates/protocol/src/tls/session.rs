//! One connection: a handshake, then records, around the session that speaks HTTP.

use candor_record::Handshake;
use std::io::IoSlice;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::Error;
use super::handshake::{Established, Kernel, Ongoing, Progress};
use super::records::{ALERT, DATA, HANDSHAKE, HEADER_BYTES, Half, Scratch, record_length};
use crate::capture::Capture;
use crate::request::Outgoing;
use crate::session::{Event, Failure, Input, Protocol, RequestId, Session, Transmit, Transport};

/// Pieces taken from the inner session for one record.
const PARTS: usize = 16;
/// Handshake messages after the handshake are tickets: this is a large one.
const MAX_MESSAGE_BYTES: usize = 1 << 16;
/// Records that carry no data, and messages in them, that a server may send beyond the bytes of
/// data that it has sent: a ticket or a KeyUpdate in a record of its own counts twice. RFC 8446
/// bounds neither, and each costs more than the bytes it comes in.
const MAX_IDLE: usize = 64;
/// RFC 8446 6.1, 6.
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;

/// Makes the session within, of the protocol that the server chose: by its name for ALPN, empty if it
/// chose none.
pub type Make = Rc<dyn Fn(&str) -> Box<dyn Session>>;

/// TLS around a session, which is made when the handshake is over.
///
/// A request counts as started when the first byte of the record that it begins in was written.
/// A response that ends with the connection is complete if the server said so (close_notify), and
/// truncated if it just closed; any other response says itself where it ends.
pub struct Tls {
    stage: Stage,
    inner: Option<Box<dyn Session>>,
    /// Bytes that came and are not a whole record yet.
    incoming: Vec<u8>,
    /// Encrypted bytes; those before `written` are with the kernel.
    outgoing: Vec<u8>,
    written: usize,
    /// Requests that begin in `outgoing`, none of which was written.
    starting: Vec<RequestId>,
    /// The inner session may have more to write after `outgoing`.
    has_more: bool,
    /// It has an event, or another timeout, once `outgoing` is written.
    owes_word: bool,
    /// What came decrypted out of the handshake.
    early: Vec<u8>,
    /// It ends with that.
    ends_early: bool,
    /// What the inner session has not taken yet of the scratch.
    plain: Range<usize>,
    /// The inner session spoke last, and may have more to say without any more input.
    more: bool,
    scratch: Rc<Scratch>,
    make: Make,
    /// What left in the first flight, in case that the server does not take it; `None`: nothing
    /// may.
    spoken: Option<Vec<u8>>,
    needs_h2: bool,
    takes_tickets: bool,
    /// The inner session is new, and its first events are due.
    is_new: bool,
    /// The peer sends nothing more.
    has_ended: bool,
}

enum Stage {
    Handshake(Box<Ongoing>),
    Open(Box<Records>),
    /// The server said that it sends nothing more.
    Closed(Box<Records>),
    Dead,
}

/// Both directions of an established connection.
struct Records {
    write: Half,
    read: Half,
    kernel: Kernel,
    /// A handshake message that has come in part.
    message: Vec<u8>,
    /// What came without data, less the data since; at most [`MAX_IDLE`].
    idle: usize,
    /// The server wants a KeyUpdate of ours. One stands for all that it asked for before that one
    /// leaves (RFC 8446 4.6.3).
    owes_update: bool,
}

/// What a record brought.
enum Step {
    /// There is no whole record.
    Wait,
    /// Something for the inner session, or nothing.
    Next,
    /// close_notify.
    Closed,
}

impl Tls {
    pub(super) fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        needs_h2: bool,
        takes_tickets: bool,
        make: Make,
        scratch: Rc<Scratch>,
    ) -> Self {
        let mut tls = Tls {
            stage: Stage::Dead,
            inner: None,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            written: 0,
            starting: Vec::new(),
            has_more: false,
            owes_word: false,
            early: Vec::new(),
            ends_early: false,
            plain: 0..0,
            more: false,
            scratch,
            make,
            spoken: None,
            needs_h2,
            takes_tickets,
            is_new: false,
            has_ended: false,
        };
        // It fails where randomness does, or a configuration that was checked; the connection
        // then says nothing, and ends by the time-out.
        let ongoing = Ongoing::new(config, name)
            .and_then(|ongoing| ongoing.proceed(&mut tls.incoming, &mut tls.outgoing));
        match ongoing {
            Ok(Progress::Ongoing(ongoing)) => tls.stage = Stage::Handshake(ongoing),
            Ok(Progress::MaySpeak(ongoing)) => {
                tls.stage = Stage::Handshake(ongoing);
                // Only one protocol is offered then, so it is the one that will be spoken.
                tls.inner = Some((tls.make)(if needs_h2 { "h2" } else { "" }));
                tls.spoken = Some(Vec::new());
            }
            Ok(Progress::Established(_)) | Err(_) => {}
        }
        tls
    }

    /// Lets the inner session speak in the first flight.
    #[cold]
    fn speak_early(&mut self, now_ns: u64) {
        let (Stage::Handshake(ongoing), Some(inner), Some(spoken)) =
            (&mut self.stage, &mut self.inner, &mut self.spoken)
        else {
            return;
        };
        let mut parts = [IoSlice::new(&[]); PARTS];
        let transmit = inner.poll_transmit(now_ns, &mut parts);
        let plain: Vec<u8> =
            transmit.of(&parts).iter().flat_map(|part| part.iter().copied()).collect();
        let taken = ongoing.speak(&plain, &mut self.outgoing);
        if taken == 0 {
            return;
        }
        spoken.extend_from_slice(&plain[..taken]);
        let starting = &mut self.starting;
        self.owes_word |= inner.handle_transmitted(now_ns, taken, &mut |id| starting.push(id));
        self.has_more = true;
    }

    /// Takes all of `input` for the handshake.
    #[cold]
    fn shake(&mut self, input: &mut &[u8]) -> Option<Event> {
        let Stage::Handshake(ongoing) = std::mem::replace(&mut self.stage, Stage::Dead) else {
            return None;
        };
        if self.incoming.is_empty() && looks_like_text(input) {
            return Some(self.fail(input, Error::ClearText));
        }
        self.incoming.extend_from_slice(input);
        *input = &[];
        match ongoing.proceed(&mut self.incoming, &mut self.outgoing) {
            Ok(Progress::Ongoing(ongoing) | Progress::MaySpeak(ongoing)) => {
                self.stage = Stage::Handshake(ongoing);
                None
            }
            Ok(Progress::Established(established)) => match self.begin(*established) {
                Ok(facts) => Some(Event::Secured(facts)),
                Err(error) => Some(self.fail(input, error)),
            },
            Err(error) => Some(self.fail(input, Error::Handshake(error))),
        }
    }

    /// The handshake is over. The inner session begins now, unless it spoke before.
    fn begin(&mut self, established: Established) -> Result<Box<Handshake>, Error> {
        let Established { mut facts, secrets, kernel, early, is_closed } = established;
        if self.needs_h2 && facts.alpn != "h2" {
            return Err(Error::NoH2);
        }
        let version = kernel.protocol_version();
        let (mut write, read) = (Half::new(version, secrets.tx)?, Half::new(version, secrets.rx)?);
        let spoken = self.spoken.take().filter(|spoken| !spoken.is_empty());
        facts.early_data = facts.early_data.filter(|_| spoken.is_some());
        if facts.early_data == Some(false) {
            // As if it had not been said (RFC 8446 4.2.10).
            let mut rest = &spoken.unwrap_or_default()[..];
            while !rest.is_empty() {
                let taken = write.seal(DATA, &[IoSlice::new(rest)], &mut self.outgoing)?;
                rest = &rest[taken..];
            }
        }
        let (message, idle, owes_update) = (Vec::new(), 0, false);
        let records = Records { write, read, kernel, message, idle, owes_update };
        self.stage = Stage::Open(Box::new(records));
        self.early = early;
        self.ends_early = is_closed;
        if self.inner.is_none() {
            self.inner = Some((self.make)(&facts.alpn));
            self.is_new = true;
            // It may have to speak first (RFC 9113 3.4), behind the end of our handshake.
            self.has_more = true;
        }
        self.incoming.shrink_to_fit();
        Ok(Box::new(facts))
    }

    #[cold]
    fn fail(&mut self, input: &mut &[u8], error: Error) -> Event {
        *input = &[];
        self.stage = Stage::Dead;
        self.plain = 0..0;
        self.more = false;
        self.early = Vec::new();
        Event::Failed { id: None, failure: Failure::Malformed(error.into()) }
    }

    /// Gives the inner session what is decrypted.
    #[inline]
    fn hand_on(&mut self, now_ns: u64) -> Option<Event> {
        let inner = self.inner.as_mut()?;
        if !self.early.is_empty() {
            let mut bytes = Input::Stream(&self.early);
            let event = inner.handle_input(now_ns, &mut bytes);
            self.more = event.is_some();
            let left = if self.more { bytes.bytes().len() } else { 0 };
            self.early.drain(..self.early.len() - left);
            return event;
        }
        let scratch = self.scratch.0.borrow();
        let mut bytes = Input::Stream(&scratch[self.plain.clone()]);
        let event = inner.handle_input(now_ns, &mut bytes);
        self.more = event.is_some();
        let left = if self.more { bytes.bytes().len() } else { 0 };
        self.plain.start = self.plain.end - left;
        event
    }

    /// Decrypts the next record, if it is whole.
    #[inline]
    fn next_record(&mut self, input: &mut &[u8]) -> Result<Step, Error> {
        if self.incoming.is_empty() {
            if let Some(length) = record_length(input)?.filter(|&length| length <= input.len()) {
                let (record, rest) = input.split_at(length);
                *input = rest;
                return self.open(record);
            }
            self.incoming.extend_from_slice(input);
            *input = &[];
            return Ok(Step::Wait);
        }
        loop {
            let length = record_length(&self.incoming)?;
            let needed = length.unwrap_or(HEADER_BYTES);
            let missing = needed.saturating_sub(self.incoming.len()).min(input.len());
            let (more, rest) = input.split_at(missing);
            self.incoming.extend_from_slice(more);
            *input = rest;
            if self.incoming.len() < needed {
                return Ok(Step::Wait);
            }
            if length.is_some() {
                let mut incoming = std::mem::take(&mut self.incoming);
                let step = self.open(&incoming[..needed]);
                incoming.drain(..needed);
                self.incoming = incoming;
                return step;
            }
        }
    }

    #[inline]
    fn open(&mut self, record: &[u8]) -> Result<Step, Error> {
        let Stage::Open(records) = &mut self.stage else { return Ok(Step::Wait) };
        let scratch = Rc::clone(&self.scratch);
        let mut scratch = scratch.0.borrow_mut();
        let (kind, length) = records.read.open(record, &mut scratch)?;
        if kind != HANDSHAKE && !records.message.is_empty() {
            // RFC 8446 5.1: nothing stands between the parts of a handshake message.
            return Err(Error::Message);
        }
        if kind == DATA && length > 0 {
            records.idle = records.idle.saturating_sub(length);
        } else {
            records.count_idle()?;
        }
        match kind {
            DATA => {
                self.plain = 0..length;
                Ok(Step::Next)
            }
            // RFC 8446 5.1: there are no empty parts of a handshake message.
            HANDSHAKE if length == 0 => Err(Error::Record),
            HANDSHAKE => self.take_messages(&scratch[..length]),
            ALERT => match &scratch[..length] {
                [_, CLOSE_NOTIFY] => Ok(Step::Closed),
                [_, USER_CANCELED] => Ok(Step::Next),
                [_, alert] => Err(Error::Alert(*alert)),
                _ => Err(Error::Record),
            },
            _ => Err(Error::Record),
        }
    }

    /// Handshake messages after the handshake: tickets and new keys (RFC 8446 4.6).
    #[cold]
    fn take_messages(&mut self, bytes: &[u8]) -> Result<Step, Error> {
        const HELLO_REQUEST: u8 = 0;
        const NEW_SESSION_TICKET: u8 = 4;
        const KEY_UPDATE: u8 = 24;
        let Stage::Open(records) = &mut self.stage else { return Ok(Step::Wait) };
        let version = records.kernel.protocol_version();
        let is_13 = version == rustls::ProtocolVersion::TLSv1_3;
        let mut all = std::mem::take(&mut records.message);
        all.extend_from_slice(bytes);
        let mut rest = &all[..];
        while let [kind, a, b, c, body @ ..] = rest {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > MAX_MESSAGE_BYTES {
                return Err(Error::Message);
            }
            let Some((body, after)) = body.split_at_checked(length) else { break };
            records.count_idle()?;
            match (*kind, body) {
                (NEW_SESSION_TICKET, _) if is_13 => {
                    // A ticket that cannot be kept is a ticket that is not there.
                    if self.takes_tickets {
                        let _ = records.kernel.handle_new_session_ticket(body);
                    }
                }
                // RFC 5246 7.4.1.1: it may be ignored.
                (HELLO_REQUEST, []) if !is_13 => {}
                // RFC 8446 5.1: a change of keys ends its record.
                (KEY_UPDATE, [asked @ 0..=1]) if is_13 && after.is_empty() => {
                    let next = records.kernel.update_rx_secret().map_err(|_| Error::Message)?;
                    records.read = Half::new(version, next)?;
                    records.owes_update |= *asked == 1;
                }
                _ => return Err(Error::Message),
            }
            rest = after;
        }
        records.message = rest.to_vec();
        Ok(Step::Next)
    }

    /// The server sends nothing more, and said so.
    #[cold]
    fn end(&mut self, input: &mut &[u8]) -> Event {
        *input = &[];
        self.ends_early = false;
        if let Stage::Open(records) = std::mem::replace(&mut self.stage, Stage::Dead) {
            self.stage = Stage::Closed(records);
        }
        Event::End
    }

    /// Looks after requests that have an outcome before they were sent.
    #[cold]
    fn settle_early(&mut self, input: &mut &[u8], event: Event) -> Event {
        let (id, is_failure) = match &event {
            Event::FirstByte(id) => (*id, false),
            Event::Done(answer) => (answer.id, false),
            Event::RequestFailed { id, .. } => (*id, true),
            _ => return event,
        };
        match self.starting.iter().position(|&one| one == id) {
            None => event,
            Some(at) if is_failure => {
                self.starting.remove(at);
                event
            }
            Some(_) => self.fail(input, Error::AnsweredEarly),
        }
    }
}

impl Records {
    /// Notes a record without data, or a message in it.
    fn count_idle(&mut self) -> Result<(), Error> {
        self.idle += 1;
        if self.idle > MAX_IDLE { Err(Error::Idle) } else { Ok(()) }
    }

    /// Tells the server of our next key, and takes it (RFC 8446 4.6.3).
    #[cold]
    fn update_key(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.write.seal(HANDSHAKE, &[IoSlice::new(&[24, 0, 0, 1, 0])], out)?;
        let next = self.kernel.update_tx_secret().map_err(|_| Error::Message)?;
        self.write = Half::new(self.kernel.protocol_version(), next)?;
        self.owes_update = false;
        Ok(())
    }
}

/// A server without TLS answers a handshake with text. A record begins with a byte below blank.
fn looks_like_text(input: &[u8]) -> bool {
    !input.is_empty()
        && input.iter().take(5).all(|byte| byte.is_ascii_graphic() || b" \r\n\t".contains(byte))
}

impl Protocol for Tls {
    const TRANSPORT: Transport = Transport::Stream;
}

impl Session for Tls {
    #[inline]
    fn speaks_unasked(&self) -> bool {
        true
    }

    fn free_places(&self) -> u32 {
        match self.stage {
            // Without an inner session there is no place either.
            Stage::Open(_) | Stage::Handshake(_) => {
                self.inner.as_ref().map_or(0, |inner| inner.free_places())
            }
            _ => 0,
        }
    }

    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        if let Some(inner) = &mut self.inner {
            inner.handle_request(id, request);
        }
    }

    #[inline]
    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        let nothing = Transmit::default();
        if self.spoken.is_some() {
            self.speak_early(now_ns);
        } else if self.outgoing.is_empty() {
            let (Stage::Open(records) | Stage::Closed(records), Some(inner)) =
                (&mut self.stage, &mut self.inner)
            else {
                return nothing;
            };
            let mut parts = [IoSlice::new(&[]); PARTS];
            let transmit = inner.poll_transmit(now_ns, &mut parts);
            let parts = transmit.of(&parts);
            let has_data = !parts.is_empty();
            let updates = records.owes_update || (has_data && records.write.is_worn_out());
            if updates && records.update_key(&mut self.outgoing).is_err() {
                return nothing;
            }
            self.has_more = transmit.more;
            if has_data {
                let Ok(taken) = records.write.seal(DATA, parts, &mut self.outgoing) else {
                    return nothing;
                };
                self.has_more |= taken < parts.iter().map(|part| part.len()).sum();
                let starting = &mut self.starting;
                self.owes_word |=
                    inner.handle_transmitted(now_ns, taken, &mut |id| starting.push(id));
            }
        }
        match slices {
            [first, ..] if !self.outgoing.is_empty() => {
                *first = IoSlice::new(&self.outgoing[self.written..]);
                Transmit { slices: 1, more: self.has_more, ..Transmit::default() }
            }
            _ => nothing,
        }
    }

    #[inline]
    fn handle_transmitted(
        &mut self,
        _: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        if bytes == 0 {
            return false;
        }
        for id in self.starting.drain(..) {
            started(id);
        }
        self.written += bytes;
        if self.written < self.outgoing.len() {
            return false;
        }
        self.outgoing.clear();
        self.written = 0;
        std::mem::take(&mut self.owes_word)
    }

    #[inline]
    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        let Input::Stream(input) = input else {
            debug_assert!(false, "TLS is spoken over a stream");
            return None;
        };
        if self.is_new {
            let event = self.inner.as_mut().and_then(|inner| inner.poll_event());
            self.is_new = event.is_some();
            if event.is_some() {
                return event;
            }
        }
        loop {
            while self.more || !self.plain.is_empty() || !self.early.is_empty() {
                if let Some(event) = self.hand_on(now_ns) {
                    if !self.starting.is_empty() {
                        return Some(self.settle_early(input, event));
                    }
                    return Some(event);
                }
            }
            match &self.stage {
                Stage::Open(_) if self.ends_early => return Some(self.end(input)),
                Stage::Open(_) => match self.next_record(input) {
                    Ok(Step::Next) => {}
                    Ok(Step::Wait) => return None,
                    Ok(Step::Closed) => return Some(self.end(input)),
                    Err(error) => return Some(self.fail(input, error)),
                },
                Stage::Handshake(_) => {
                    if input.is_empty() {
                        return None;
                    }
                    if let Some(event) = self.shake(input) {
                        return Some(event);
                    }
                }
                Stage::Closed(_) | Stage::Dead => {
                    *input = &[];
                    return None;
                }
            }
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        let is_open = matches!(self.stage, Stage::Open(_) | Stage::Closed(_));
        let is_truncated = !matches!(self.stage, Stage::Closed(_));
        let not_ready = Failure::NotReady("its part of the TLS handshake");
        let Some(inner) = &mut self.inner else {
            let is_shaking = matches!(self.stage, Stage::Handshake(_));
            let event = Event::Failed { id: None, failure: not_ready };
            return (std::mem::take(&mut self.has_ended) && is_shaking).then_some(event);
        };
        // The kernel does not have yet what the event is about.
        if self.owes_word && !self.has_ended {
            return None;
        }
        match inner.poll_event()? {
            // Anybody could have ended it there.
            Event::Done(answer) if self.has_ended && is_truncated => {
                Some(Event::Failed { id: Some(answer.id), failure: Failure::Truncated })
            }
            Event::Failed { id: None, failure: Failure::NotReady(_) } if !is_open => {
                Some(Event::Failed { id: None, failure: not_ready })
            }
            event => Some(event),
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.inner.as_ref()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        if let Some(inner) = &mut self.inner {
            inner.handle_timeout(now_ns);
        }
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        let goes_on = self.inner.as_mut().is_some_and(|inner| inner.cancel(id));
        if goes_on {
            self.starting.retain(|&one| one != id);
        }
        goes_on
    }

    fn take_captured(&mut self) -> Option<Capture> {
        self.inner.as_mut()?.take_captured()
    }

    fn handle_end(&mut self) {
        self.has_ended = true;
        if let Some(inner) = &mut self.inner {
            inner.handle_end();
        }
    }

    fn handle_close(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.handle_close();
        }
        let (Stage::Open(records) | Stage::Closed(records)) = &mut self.stage else { return };
        if let Some(inner) = &mut self.inner {
            let mut parts = [IoSlice::new(&[]); PARTS];
            let transmit = inner.poll_transmit(0, &mut parts);
            let parts = transmit.of(&parts);
            if !parts.is_empty() && records.write.seal(DATA, parts, &mut self.outgoing).is_err() {
                return;
            }
        }
        // What cannot be encrypted any more is not said.
        let _ = records.write.seal(ALERT, &[IoSlice::new(&[1, CLOSE_NOTIFY])], &mut self.outgoing);
        self.stage = Stage::Dead;
    }
}

#[cfg(test)]
mod floods;
