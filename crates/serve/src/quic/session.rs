//! One connection of HTTP/3, without its socket.
//!
//! Requests come as heads and bodies, responses leave as frames. Bounded: by the windows of [`endpoint`](super::endpoint),
//! and a stream's bytes are read when they are asked for, so that a request that nobody reads stops its client. Where a
//! client breaks a rule, its connection ends with the error code of the RFC; a request that is not one only loses its stream.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use candor_protocol::h3::Error;
use candor_protocol::h3::frames::{self, Frames, Piece, kind, setting, stream};
use candor_protocol::h3::qpack::{Block, Decoder, Section};
use hyper::ext::Protocol;
use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode, Version};
use quinn_proto::{
    Connection, ConnectionEvent, ConnectionHandle, Dir, Event, ReadError, StreamEvent, StreamId,
    VarInt, WriteError,
};

/// A frame other than DATA.
const FRAME_MAX_BYTES: usize = 64 << 10;
/// The fields of a request, decoded (RFC 9114 4.2.2).
const FIELDS_MAX_BYTES: usize = 64 << 10;
/// Frames and streams without content, between two with some.
const IDLE_MOST: u32 = 10_000;

/// Error codes (RFC 9114 8.1).
pub(crate) mod code {
    pub(crate) const NO_ERROR: u32 = 0x100;
    pub(crate) const INTERNAL_ERROR: u32 = 0x102;
    pub(crate) const REQUEST_INCOMPLETE: u32 = 0x10d;
    pub(crate) const MESSAGE_ERROR: u32 = 0x10e;
}

/// What happened on a connection.
pub(crate) enum Happened {
    /// A request begins on this stream.
    Begun(u64),
    /// There may be more to read on it, or room to write.
    Stirred(u64),
    /// The client wants no response on it.
    Gone(u64),
    /// The connection is over.
    Over,
}

/// The next part of a request.
pub(crate) enum Read {
    Head(Box<Parts>),
    Data(Bytes),
    /// None now.
    Nothing,
    End,
    /// The stream is of no use any more.
    Gone,
}

/// Why a request cannot be read.
enum Broken {
    /// By the request alone: its stream is reset with this code.
    Request(u32),
    Connection(Error),
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Broken::Connection(error)
    }
}

/// What has come of a request.
#[derive(Default)]
struct Receiving {
    frames: Frames,
    /// Bytes that were read and belong to frames that follow.
    rest: Bytes,
    at: At,
    announced: Option<u64>,
    body_bytes: u64,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Head,
    Body,
    Trailers,
}

/// A stream of the client's that goes one way.
enum OneWay {
    /// Its type has not come whole.
    New(Vec<u8>),
    /// Whether its settings have come.
    Control(Frames, bool),
    Encoder,
    Decoder,
}

/// One connection.
pub(crate) struct Session {
    pub(super) handle: ConnectionHandle,
    pub(super) quic: Connection,
    /// For clients that use no dynamic table, as we announce none.
    decoder: Decoder,
    receiving: BTreeMap<u64, Receiving>,
    one_way: BTreeMap<u64, OneWay>,
    control: Option<StreamId>,
    idle: u32,
    error: Option<Error>,
    /// Nothing more is written: the end comes when the client has all of it.
    is_ending: bool,
    is_over: bool,
}

impl Session {
    pub(super) fn new(handle: ConnectionHandle, quic: Connection) -> Self {
        Session {
            handle,
            quic,
            decoder: Decoder::new(0),
            receiving: BTreeMap::new(),
            one_way: BTreeMap::new(),
            control: None,
            idle: 0,
            error: None,
            is_ending: false,
            is_over: false,
        }
    }

    /// Which of its endpoint's connections it is. Numbers come again.
    pub(crate) fn number(&self) -> usize {
        self.handle.0
    }

    pub(crate) fn handle_event(&mut self, event: ConnectionEvent) {
        self.quic.handle_event(event);
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        self.quic.poll_timeout()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.quic.handle_timeout(now);
    }

    /// Puts the next datagram to send into `out`; where it goes.
    pub(crate) fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        if let Some(error) = self.error.take() {
            self.close(now, error.code());
        }
        out.clear();
        let transmit = self.quic.poll_transmit(now, 1, out)?;
        out.truncate(transmit.size);
        Some(transmit.destination)
    }

    /// Ends the connection with this code: the next datagram says so, and nothing else leaves.
    pub(crate) fn close(&mut self, now: Instant, code: u32) {
        self.quic.close(now, code.into(), Bytes::new());
        self.is_over = true;
    }

    /// Whether its handshake is over.
    pub(crate) fn is_made(&self) -> bool {
        !self.quic.is_handshaking()
    }

    /// Whether it is over: what it has to send is the last.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the client has all that was written. Nothing can be written after this was asked.
    pub(crate) fn is_acknowledged(&mut self) -> bool {
        self.is_ending = true;
        let Some(control) = self.control else { return true };
        // A send window of one byte is open when nothing waits for an acknowledgement.
        self.quic.set_send_window(1);
        self.quic.send_stream(control).write(&[]).is_ok()
    }

    /// What happened; to be asked until there is nothing more.
    pub(crate) fn poll(&mut self) -> Option<Happened> {
        loop {
            // One event may tell of several.
            if let Some(id) = self.quic.streams().accept(Dir::Bi) {
                self.receiving.insert(id.into(), Receiving::default());
                return Some(Happened::Begun(id.into()));
            }
            match self.quic.poll()? {
                Event::Connected => self.greet(),
                Event::ConnectionLost { .. } => {
                    self.is_over = true;
                    return Some(Happened::Over);
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    while let Some(id) = self.quic.streams().accept(Dir::Uni) {
                        self.one_way.insert(id.into(), OneWay::New(Vec::new()));
                        self.hear(id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) if id.dir() == Dir::Uni => {
                    self.hear(id)
                }
                Event::Stream(StreamEvent::Readable { id } | StreamEvent::Writable { id }) => {
                    return Some(Happened::Stirred(id.into()));
                }
                Event::Stream(StreamEvent::Stopped { id, .. }) => {
                    // Otherwise what is unacknowledged of it would stay.
                    self.abandon(id.into(), code::NO_ERROR);
                    return Some(Happened::Gone(id.into()));
                }
                _ => {}
            }
        }
    }

    // ---- requests ----

    /// Reads on in a request.
    pub(crate) fn read(&mut self, id: u64) -> Read {
        let Some(mut receiving) = self.receiving.remove(&id) else { return Read::Gone };
        match self.read_on(id, &mut receiving) {
            Ok(read @ (Read::End | Read::Gone)) => read,
            Ok(read) => {
                self.receiving.insert(id, receiving);
                read
            }
            Err(Broken::Request(code)) => {
                self.abandon(id, code);
                Read::Gone
            }
            Err(Broken::Connection(error)) => {
                self.error.get_or_insert(error);
                Read::Gone
            }
        }
    }

    fn read_on(&mut self, id: u64, receiving: &mut Receiving) -> Result<Read, Broken> {
        loop {
            let bytes = receiving.rest.clone();
            let mut input = &bytes[..];
            let piece = receiving.frames.next(&mut input, FRAME_MAX_BYTES)?;
            receiving.rest = bytes.slice(bytes.len() - input.len()..);
            match piece {
                Some(Piece::Unknown | Piece::EmptyData) => self.count_idle()?,
                Some(Piece::Data(data)) if receiving.at == At::Body => {
                    self.idle = 0;
                    receiving.body_bytes += data.len() as u64;
                    if receiving.announced.is_some_and(|all| receiving.body_bytes > all) {
                        return Err(Broken::Request(code::MESSAGE_ERROR));
                    }
                    return Ok(Read::Data(bytes.slice_ref(data)));
                }
                Some(Piece::Frame(kind::HEADERS, section)) => match receiving.at {
                    At::Head => {
                        self.idle = 0;
                        receiving.at = At::Body;
                        let head = self.head(&section)?;
                        let length = head.headers.get(CONTENT_LENGTH);
                        let length = length.map(|text| text.to_str().ok()?.parse().ok());
                        receiving.announced = match length {
                            Some(None) => return Err(Broken::Request(code::MESSAGE_ERROR)),
                            Some(known) => known,
                            None => None,
                        };
                        return Ok(Read::Head(Box::new(head)));
                    }
                    At::Body => {
                        self.decode(&section, |_, _| Some(()))?;
                        receiving.at = At::Trailers;
                    }
                    At::Trailers => return Err(Error::FrameUnexpected.into()),
                },
                Some(_) => return Err(Error::FrameUnexpected.into()),
                None => match self.chunk(id) {
                    Chunk::Bytes(bytes) => receiving.rest = bytes,
                    Chunk::Nothing => return Ok(Read::Nothing),
                    Chunk::End if !receiving.frames.is_between() => {
                        return Err(Error::FrameSize.into());
                    }
                    Chunk::End if receiving.at == At::Head => {
                        return Err(Broken::Request(code::REQUEST_INCOMPLETE));
                    }
                    Chunk::End
                        if receiving.announced.is_some_and(|all| all != receiving.body_bytes) =>
                    {
                        return Err(Broken::Request(code::MESSAGE_ERROR));
                    }
                    Chunk::End => return Ok(Read::End),
                    Chunk::Gone => {
                        let _ = self.quic.send_stream(of(id)).reset(code::NO_ERROR.into());
                        return Ok(Read::Gone);
                    }
                },
            }
        }
    }

    /// RFC 9114 4.3.1.
    fn head(&mut self, section: &[u8]) -> Result<Parts, Broken> {
        let mut request = Request::new(());
        *request.version_mut() = Version::HTTP_3;
        let (mut method, mut scheme, mut authority, mut path) = (None, None, None, None);
        let mut protocol = None;
        let mut fields = HeaderMap::new();
        self.decode(section, |name, value| {
            let pseudo = match name {
                b":method" => &mut method,
                b":scheme" => &mut scheme,
                b":authority" => &mut authority,
                b":path" => &mut path,
                b":protocol" => &mut protocol,
                _ => {
                    let is_lower = !name.iter().any(u8::is_ascii_uppercase);
                    let name = HeaderName::from_bytes(name).ok().filter(|_| is_lower)?;
                    fields.append(name, HeaderValue::from_bytes(value).ok()?);
                    return Some(());
                }
            };
            // Each once, and before the others (RFC 9114 4.3).
            let is_first = pseudo.is_none() && fields.is_empty();
            *pseudo = Some(Bytes::copy_from_slice(value));
            is_first.then_some(())
        })?;
        let wrong = || Broken::Request(code::MESSAGE_ERROR);
        let method = Method::from_bytes(&method.ok_or_else(wrong)?).map_err(|_| wrong())?;
        let is_connect = method == Method::CONNECT;
        if let Some(protocol) = protocol {
            // RFC 9220 3.
            let name = std::str::from_utf8(&protocol).ok().filter(|_| is_connect && path.is_some());
            request.extensions_mut().insert(Protocol::from(name.ok_or_else(wrong)?));
        }
        *request.method_mut() = method;
        let mut uri = hyper::Uri::builder();
        match path {
            Some(path) if &path[..] == b"*" || is_connect => {
                uri = uri.path_and_query(&path[..]);
            }
            Some(path) => {
                let (scheme, host) = (scheme.ok_or_else(wrong)?, authority.as_ref());
                uri = uri.scheme(&scheme[..]).path_and_query(&path[..]);
                let host = host.map(|host| &host[..]);
                let host = host.or_else(|| fields.get("host").map(HeaderValue::as_bytes));
                uri = uri.authority(host.ok_or_else(wrong)?);
            }
            None if is_connect => uri = uri.authority(&authority.ok_or_else(wrong)?[..]),
            None => return Err(wrong()),
        }
        *request.uri_mut() = uri.build().map_err(|_| wrong())?;
        *request.headers_mut() = fields;
        Ok(request.into_parts().0)
    }

    /// Reads a section within the limit; a field that `take` does not accept makes the request malformed.
    fn decode(
        &mut self,
        section: &[u8],
        mut take: impl FnMut(&[u8], &[u8]) -> Option<()>,
    ) -> Result<(), Broken> {
        let (mut bytes, mut is_valid) = (0, true);
        let read = self.decoder.decode(section, |name, value| {
            bytes += name.len() + value.len() + 32;
            is_valid = is_valid && bytes <= FIELDS_MAX_BYTES && take(name, value).is_some();
        });
        match read.map_err(Error::from)? {
            Section::Read { .. } if is_valid => Ok(()),
            Section::Read { .. } => Err(Broken::Request(code::MESSAGE_ERROR)),
            // Without a table there is nothing to wait for.
            Section::Waits => Err(Error::from(candor_protocol::h3::qpack::Error::Prefix).into()),
        }
    }

    fn chunk(&mut self, id: u64) -> Chunk {
        let mut stream = self.quic.recv_stream(of(id));
        let Ok(mut chunks) = stream.read(true) else { return Chunk::Gone };
        let chunk = match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => Chunk::Bytes(chunk.bytes),
            Ok(None) => Chunk::End,
            Err(ReadError::Blocked) => Chunk::Nothing,
            Err(ReadError::Reset(_)) => Chunk::Gone,
        };
        // Whoever reads sends afterwards, in any case.
        let _ = chunks.finalize();
        chunk
    }

    // ---- responses ----

    /// Writes as much of `chunks` as there is room for, and takes it away. Whether that is all; of a stream that is gone,
    /// all of it is.
    pub(crate) fn write(&mut self, id: u64, chunks: &mut [Bytes]) -> bool {
        if self.is_ending {
            return self.is_over;
        }
        let mut rest = chunks;
        loop {
            while rest.first().is_some_and(Bytes::is_empty) {
                rest = &mut rest[1..];
            }
            if rest.is_empty() {
                return true;
            }
            match self.quic.send_stream(of(id)).write_chunks(rest) {
                Ok(written) if written.bytes > 0 => {}
                Ok(_) | Err(WriteError::Blocked) => return self.is_over,
                Err(_) => return true,
            }
        }
    }

    /// Ends a response. What is left of the request is not wanted (RFC 9114 4.1).
    pub(crate) fn finish(&mut self, id: u64) {
        let _ = self.quic.send_stream(of(id)).finish();
        self.unwanted(id);
    }

    /// Ends a response in the middle.
    pub(crate) fn abandon(&mut self, id: u64, code: u32) {
        let _ = self.quic.send_stream(of(id)).reset(code.into());
        self.unwanted(id);
    }

    fn unwanted(&mut self, id: u64) {
        if self.receiving.remove(&id).is_some() {
            let _ = self.quic.recv_stream(of(id)).stop(code::NO_ERROR.into());
        }
    }

    // ---- the streams that go one way ----

    fn greet(&mut self) {
        // A client that allows none can be told no settings; the defaults hold.
        let Some(id) = self.quic.streams().open(Dir::Uni) else { return };
        let (mut settings, mut out) = (Vec::new(), Vec::new());
        // QPACK has no dynamic table (RFC 9204 5).
        for (id, value) in [
            (setting::MAX_FIELD_SECTION_SIZE, FIELDS_MAX_BYTES as u64),
            (setting::ENABLE_CONNECT_PROTOCOL, 1),
        ] {
            frames::write_varint(&mut settings, id);
            frames::write_varint(&mut settings, value);
        }
        frames::write_varint(&mut out, stream::CONTROL);
        frames::write_header(&mut out, kind::SETTINGS, settings.len());
        out.extend_from_slice(&settings);
        self.control = Some(id);
        let _ = self.quic.send_stream(id).write(&out);
    }

    fn hear(&mut self, id: StreamId) {
        if let Err(error) = self.hear_on(id) {
            self.error.get_or_insert(error);
        }
    }

    fn hear_on(&mut self, id: StreamId) -> Result<(), Error> {
        loop {
            let Some(mut state) = self.one_way.remove(&id.into()) else { return Ok(()) };
            match self.chunk(id.into()) {
                Chunk::Bytes(bytes) => {
                    let mut input = &bytes[..];
                    if let OneWay::New(before) = &mut state {
                        let known = before.len();
                        before.extend_from_slice(input);
                        let mut rest = &before[..];
                        if let Some(kind) = frames::varint(&mut rest) {
                            input = &input[before.len() - rest.len() - known..];
                            match self.one_way(kind)? {
                                Some(begun) => state = begun,
                                None => {
                                    let _ = self.quic.recv_stream(id).stop(code::NO_ERROR.into());
                                    continue;
                                }
                            }
                        } else {
                            input = &[];
                        }
                    }
                    self.heard(&mut state, input)?;
                    self.one_way.insert(id.into(), state);
                }
                Chunk::Nothing => {
                    self.one_way.insert(id.into(), state);
                    return Ok(());
                }
                Chunk::End | Chunk::Gone => {
                    return match state {
                        OneWay::New(_) => self.count_idle(),
                        _ => Err(Error::ClosedCritical),
                    };
                }
            }
        }
    }

    /// A stream of this type; `None`: of none that is known.
    fn one_way(&mut self, kind: u64) -> Result<Option<OneWay>, Error> {
        let begun = match kind {
            stream::CONTROL => OneWay::Control(Frames::default(), false),
            stream::ENCODER => OneWay::Encoder,
            stream::DECODER => OneWay::Decoder,
            stream::PUSH => return Err(Error::StreamCreation),
            _ => return self.count_idle().map(|()| None),
        };
        let same = |one: &OneWay| std::mem::discriminant(one) == std::mem::discriminant(&begun);
        if self.one_way.values().any(same) {
            return Err(Error::StreamCreation);
        }
        Ok(Some(begun))
    }

    fn heard(&mut self, state: &mut OneWay, mut input: &[u8]) -> Result<(), Error> {
        match state {
            // Nothing of ours refers to a table, so that nothing is acknowledged.
            OneWay::New(_) | OneWay::Decoder => Ok(()),
            OneWay::Encoder => Ok(self.decoder.handle_instructions(input)?),
            OneWay::Control(frames, has_settings) => {
                while let Some(piece) = frames.next(&mut input, FRAME_MAX_BYTES)? {
                    let is_first = !std::mem::replace(has_settings, true);
                    let is_settings = matches!(piece, Piece::Frame(kind::SETTINGS, _));
                    match piece {
                        _ if is_first && !is_settings => return Err(Error::NoSettings),
                        Piece::Frame(kind::SETTINGS, _) if is_first => {}
                        Piece::Unknown
                        | Piece::Frame(kind::GOAWAY | kind::MAX_PUSH_ID | kind::CANCEL_PUSH, _) => {
                            self.count_idle()?;
                        }
                        _ => return Err(Error::FrameUnexpected),
                    }
                }
                Ok(())
            }
        }
    }

    fn count_idle(&mut self) -> Result<(), Error> {
        self.idle += 1;
        if self.idle > IDLE_MOST { Err(Error::Flood) } else { Ok(()) }
    }
}

/// What a read of a stream found.
enum Chunk {
    Bytes(Bytes),
    Nothing,
    End,
    Gone,
}

fn of(id: u64) -> StreamId {
    VarInt::from_u64(id).unwrap_or_default().into()
}

/// The frame of a response's fields.
pub(crate) fn head_frame(status: StatusCode, fields: &HeaderMap) -> Bytes {
    fields_frame(Some(status), fields)
}

/// The frame of the fields behind its body.
pub(crate) fn trailers_frame(fields: &HeaderMap) -> Bytes {
    fields_frame(None, fields)
}

fn fields_frame(status: Option<StatusCode>, fields: &HeaderMap) -> Bytes {
    let mut block = Block::default();
    if let Some(status) = status {
        block.push(b":status", status.as_str().as_bytes());
    }
    fields.iter().for_each(|(name, value)| block.push(name.as_str().as_bytes(), value.as_bytes()));
    let mut frame = Vec::with_capacity(block.bytes().len() + 8);
    frames::write_header(&mut frame, kind::HEADERS, block.bytes().len());
    frame.extend_from_slice(block.bytes());
    frame.into()
}

/// The header of a DATA frame.
pub(crate) fn data_header(length: usize) -> Bytes {
    let mut header = Vec::with_capacity(8);
    frames::write_header(&mut header, kind::DATA, length);
    header.into()
}
