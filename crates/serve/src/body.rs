//! The bodies of responses, as hyper wants them: frames on demand, and no copies of fixed bytes.
//!
//! A body tells its [`Connection`] when the response is complete. The count of responses and the
//! faults at the end of a response depend on that.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::connection::Connection;
use crate::content::{LARGE, LARGE_LEN};
use crate::produced::{Cut, End, Next, Out, Produced};

/// The content of a response.
pub(crate) enum Content {
    /// Nothing, or nothing left.
    Empty,
    /// These bytes.
    Whole(Bytes),
    /// This many bytes of filler.
    Filler { left: u64 },
    /// The same chunk several times, without an announced length.
    Chunks { left: u32, chunk: Bytes, pace: Option<Pace> },
    /// Filler that stops short of its announced length. The connection is closed once it was
    /// flushed, so that the client gets all of `left`.
    Truncated { announced: u64, left: u64 },
    /// What a future writes.
    Produced(Produced),
}

impl Content {
    pub(crate) fn filler(length: u64) -> Self {
        if length == 0 { Content::Empty } else { Content::Filler { left: length } }
    }

    pub(crate) fn chunks(count: u32, chunk: Bytes, gap: Option<Duration>) -> Self {
        if count == 0 {
            return Content::Empty;
        }
        Content::Chunks { left: count, chunk, pace: gap.map(Pace::new) }
    }

    /// What the future of `write` writes, as it writes it.
    pub(crate) fn produced<F>(write: impl FnOnce(Out) -> F) -> Self
    where
        F: Future<Output = End> + Send + 'static,
    {
        Content::Produced(Produced::new(write))
    }

    /// The length, if it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Content::Empty => Some(0),
            Content::Whole(bytes) => Some(bytes.len() as u64),
            Content::Filler { left } => Some(*left),
            Content::Chunks { .. } | Content::Produced(_) => None,
            Content::Truncated { announced, .. } => Some(*announced),
        }
    }

    fn next(&mut self, cx: &mut Context<'_>, connection: &Connection) -> Poll<Option<Piece>> {
        let bytes = match self {
            Content::Empty => return Poll::Ready(None),
            Content::Whole(bytes) => std::mem::take(bytes),
            Content::Filler { left } => filler(left),
            Content::Chunks { left, chunk, pace } => {
                if let Some(pace) = pace {
                    ready!(pace.poll(cx));
                }
                *left -= 1;
                chunk.clone()
            }
            Content::Truncated { left: 0, .. } => {
                // The next flush ends the connection; no wake-up is needed.
                connection.close_at_flush();
                return Poll::Pending;
            }
            Content::Truncated { left, .. } => filler(left),
            Content::Produced(produced) => {
                let end = match ready!(produced.next(cx, connection)) {
                    Next::Bytes(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                    Next::End(end) => end,
                };
                let last = match end {
                    End::Complete => None,
                    End::Trailers(fields) => Some(Ok(Frame::trailers(fields))),
                    // The content stays: a response that broke off is not complete.
                    End::Cut => return Poll::Ready(Some(Err(Cut))),
                };
                *self = Content::Empty;
                return Poll::Ready(last);
            }
        };
        if let Content::Whole(_) | Content::Filler { left: 0 } | Content::Chunks { left: 0, .. } =
            self
        {
            *self = Content::Empty;
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

/// The next piece of a content.
type Piece = Result<Frame<Bytes>, Cut>;

/// The next piece of `left` bytes of filler.
fn filler(left: &mut u64) -> Bytes {
    let piece = (*left).min(LARGE_LEN as u64);
    *left -= piece;
    Bytes::from_static(&LARGE[..piece as usize])
}

/// Chunk n is due `n × gap` after the first: computed from the beginning, so that late chunks do
/// not delay the ones that follow.
pub(crate) struct Pace {
    start: Instant,
    gap: Duration,
    sent: u32,
    sleep: Pin<Box<Sleep>>,
}

impl Pace {
    fn new(gap: Duration) -> Self {
        let start = Instant::now();
        Pace { start, gap, sent: 0, sleep: Box::pin(tokio::time::sleep_until(start)) }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.sent > 0 {
            ready!(self.sleep.as_mut().poll(cx));
        }
        self.sent += 1;
        let due = self.start + self.gap.saturating_mul(self.sent);
        self.sleep.as_mut().reset(due);
        Poll::Ready(())
    }
}

/// [`Content`] on its way out over a connection.
pub(crate) struct AnswerBody {
    content: Content,
    connection: Arc<Connection>,
    counted: bool,
}

impl AnswerBody {
    /// The body of a response that counts.
    pub(crate) fn new(content: Content, connection: Arc<Connection>) -> Self {
        AnswerBody { content, connection, counted: true }
    }

    /// The body of a response that does not count, to a request about the server itself.
    pub(crate) fn uncounted(content: Content, connection: Arc<Connection>) -> Self {
        AnswerBody { content, connection, counted: false }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let this = &mut *self;
        this.content.next(cx, &this.connection)
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Content::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        self.content.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for AnswerBody {
    /// hyper drops a body when its last byte is in the write buffer, before it flushes.
    fn drop(&mut self) {
        if self.counted && self.is_end_stream() {
            self.connection.answer_complete();
        }
    }
}
