//! A socket from its upgrade to its end.
//!
//! Clients are untrusted: tokio-tungstenite checks frames, this bounds what waits in memory, and how
//! long a client that is to be refused can hold its connection.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use hyper::body::Body as _;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::plan::{Close, Echo, Plan};
use crate::alarm::Alarm;
use crate::body::Content;
use crate::connection::Connection;
use crate::events::message;
use crate::origin::{Origin, Part};
use crate::produced::{End, Out};
use crate::received::Received;
use crate::route::Route;
use crate::timetable::Timetable;
use crate::waiting::Waiting;

/// The largest message that is read, and the largest frame.
const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// The memory of an idle socket.
const READ_BUFFER_BYTES: usize = 4 << 10;
/// How many bytes of echoes may share a write.
const WRITE_BUFFER_BYTES: usize = 16 << 10;
/// How long a client may take for its part of an end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// Waits for the upgrade, and does what the plan says.
pub(super) async fn run(plan: Plan, route: Route, upgrade: OnUpgrade, connection: Arc<Connection>) {
    // The connection ended before its response had left.
    let Ok(upgraded) = upgrade.await else { return };
    speak(plan, route, TokioIo::new(upgraded), connection).await;
}

/// The same as the content of a response, in which the body of its request is read.
pub(super) fn content(
    plan: Plan,
    route: Route,
    body: Received,
    connection: Arc<Connection>,
) -> Content {
    Content::produced(move |out| async move {
        speak(plan, route, Bodies { body, rest: Bytes::new(), out }, connection).await;
        End::Complete
    })
}

async fn speak<S: Stream>(plan: Plan, route: Route, stream: S, connection: Arc<Connection>) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let stream = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let mut socket = Socket { stream, origin: connection.begin(route), connection };
    let outcome = match plan {
        Plan::Echo(echo) => socket.echo(echo).await,
        Plan::Broadcast { times, bytes, count } => socket.broadcast(times, bytes, count).await,
    };
    // Either way it is over; the client sees how, and it shows in the counts.
    let _ = match outcome {
        Ok(Some(code)) => socket.close(code).await,
        Ok(None) => Ok(()),
        Err(error) => {
            tokio::time::timeout(CLOSE_PATIENCE, socket.fail(&error)).await.unwrap_or(Ok(()))
        }
    };
}

/// What carries a socket.
trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// The body of a request and that of its response.
struct Bodies {
    body: Received,
    /// What came of it and was not read.
    rest: Bytes,
    out: Out,
}

impl AsyncRead for Bodies {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                None => return Poll::Ready(Ok(())),
                Some(Err(_)) => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
            }
        }
        let length = self.rest.len().min(into.remaining());
        into.put_slice(&self.rest.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Bodies {
    /// Whoever takes the piece that is there polls again.
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.out.try_bytes(bytes) {
            true => Poll::Ready(Ok(bytes.len())),
            false => Poll::Pending,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

struct Socket<S> {
    stream: WebSocketStream<S>,
    origin: Origin,
    connection: Arc<Connection>,
}

/// How a socket has ended: the code that the server closes it with; `None`: by the client.
type Ended = Result<Option<u16>, Error>;

impl<S: Stream> Socket<S> {
    async fn echo(&mut self, echo: Echo) -> Ended {
        tokio::time::sleep(echo.stall).await;
        let mut waiting = Waiting::new();
        let (mut came, mut left) = (0, 0);
        loop {
            if let Some(Close { code, .. }) = echo.close.filter(|close| close.after <= left) {
                self.stream.flush().await?;
                return Ok(Some(code));
            }
            match self.next_or_due(&waiting).await? {
                Turn::Due => {
                    if let Some((part, message)) = waiting.pop() {
                        self.send(part, message, echo.fragment).await?;
                        left += 1;
                    }
                }
                Turn::Message(message) => {
                    let origin = Origin::now(self.origin.route, self.origin.stream);
                    let length = message.len();
                    waiting.push(origin.part(came, echo.delay), message, length);
                    came += 1;
                }
                Turn::Control => {}
                Turn::Closed => return Ok(None),
            }
        }
    }

    async fn broadcast(
        &mut self,
        times: Timetable,
        bytes: Option<usize>,
        count: Option<u64>,
    ) -> Ended {
        let alarm = Alarm::default();
        for index in 0..count.unwrap_or(u64::MAX) {
            let part = self.origin.part(index, times.due(index));
            loop {
                let read = match select(pin!(alarm.until(part.due_ns)), self.stream.next()).await {
                    Either::Left(_) => break,
                    Either::Right((read, _)) => read,
                };
                if let Turn::Closed = self.received(read)? {
                    return Ok(None);
                }
            }
            self.send(part, Message::text(message(part, bytes)), None).await?;
            self.stream.flush().await?;
        }
        Ok(Some(CloseCode::Normal.into()))
    }

    /// The next message, or that the first one waiting is due, whichever comes first. What was sent is
    /// flushed before it waits.
    async fn next_or_due(&mut self, waiting: &Waiting<Message>) -> Result<Turn, Error> {
        if waiting.due().now_or_never().is_some() {
            return Ok(Turn::Due);
        }
        if !waiting.has_room() {
            self.stream.flush().await?;
            waiting.due().await;
            return Ok(Turn::Due);
        }
        if let Some(read) = self.stream.next().now_or_never() {
            return self.received(read);
        }
        self.stream.flush().await?;
        match select(pin!(waiting.due()), self.stream.next()).await {
            Either::Left(_) => Ok(Turn::Due),
            Either::Right((read, _)) => self.received(read),
        }
    }

    /// What was read.
    fn received(&self, read: Option<Result<Message, Error>>) -> Result<Turn, Error> {
        match read {
            None => Ok(Turn::Closed),
            Some(Err(error)) => Err(error),
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => {
                self.connection.part_received(self.origin.route);
                Ok(Turn::Message(message))
            }
            Some(Ok(_)) => Ok(Turn::Control),
        }
    }

    /// Puts a message into the buffer, in fragments if asked to.
    async fn send(
        &mut self,
        part: Part,
        message: Message,
        fragment: Option<usize>,
    ) -> Result<(), Error> {
        self.connection.part_leaves(part);
        let Some(fragment) = fragment.filter(|&fragment| fragment < message.len()) else {
            return self.stream.feed(message).await;
        };
        let mut kind = if message.is_text() { Data::Text } else { Data::Binary };
        let mut rest: Bytes = message.into_data();
        while !rest.is_empty() {
            let piece = rest.split_to(fragment.min(rest.len()));
            let frame = Frame::message(piece, OpCode::Data(kind), rest.is_empty());
            self.stream.feed(Message::Frame(frame)).await?;
            kind = Data::Continue;
        }
        Ok(())
    }

    /// Sends a Close frame, and waits for the client's.
    async fn close(&mut self, code: u16) -> Result<(), Error> {
        let frame = match code {
            1006 => return Ok(()),
            1005 => None,
            code => Some(CloseFrame { code: code.into(), reason: "".into() }),
        };
        let reply = async {
            self.stream.close(frame).await?;
            while let Some(Ok(_)) = self.stream.next().await {}
            Ok(())
        };
        tokio::time::timeout(CLOSE_PATIENCE, reply).await.unwrap_or(Ok(()))
    }

    /// Fails the connection (RFC 6455, section 7.1.7): says why, and reads on for a while, so that
    /// what the client is still sending does not reset what it was told.
    async fn fail(&mut self, error: &Error) -> Result<(), Error> {
        let code = match error {
            Error::Protocol(_) => CloseCode::Protocol,
            Error::Utf8(_) => CloseCode::Invalid,
            Error::Capacity(_) => CloseCode::Size,
            // The connection is gone.
            _ => return Ok(()),
        };
        let reason = "".into();
        self.stream.close(Some(CloseFrame { code, reason })).await?;
        let stream = self.stream.get_mut();
        stream.shutdown().await?;
        let mut unread = [0; 4096];
        while stream.read(&mut unread).await? > 0 {}
        Ok(())
    }
}

/// What comes next to a socket.
enum Turn {
    /// The first message that waits.
    Due,
    /// A message of the client.
    Message(Message),
    /// A control frame, which tokio-tungstenite has answered.
    Control,
    /// The end by the client.
    Closed,
}
