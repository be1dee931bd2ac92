//! Contents that a future writes, part by part: events, tokens, messages of a call.
//!
//! The future is polled by the body that it fills. So it runs only while hyper wants more bytes, ends
//! with its connection, and holds one piece at a time, however slowly the client reads.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::HeaderMap;
use tokio::sync::mpsc;

use crate::connection::Connection;
use crate::origin::Part;

/// How a content ends.
pub(crate) enum End {
    /// Completely.
    Complete,
    /// Completely, with these fields after it.
    Trailers(HeaderMap),
    /// In the middle: the connection is closed, or the stream of HTTP/2 is reset.
    Cut,
}

/// The error that makes hyper end a response in the middle.
#[derive(Debug, thiserror::Error)]
#[error("broken off, as the request demands")]
pub(crate) struct Cut;

/// What comes next of a content.
pub(crate) enum Next {
    Bytes(Bytes),
    End(End),
}

/// Where a future puts its pieces.
pub(crate) struct Out(mpsc::Sender<(Bytes, Option<Part>)>);

impl Out {
    /// Sends bytes that are a part.
    pub(crate) async fn part(&self, bytes: Bytes, part: Part) {
        self.send(bytes, Some(part)).await;
    }

    /// Sends bytes that are not counted.
    pub(crate) async fn bytes(&self, bytes: impl Into<Bytes>) {
        self.send(bytes.into(), None).await;
    }

    /// Sends bytes that are not counted, if there is room; there is when the piece before them was taken.
    pub(crate) fn try_bytes(&self, bytes: &[u8]) -> bool {
        self.0.try_reserve().is_ok_and(|room| {
            room.send((Bytes::copy_from_slice(bytes), None));
            true
        })
    }

    async fn send(&self, bytes: Bytes, part: Option<Part>) {
        // The receiver lives as long as the future does.
        let _ = self.0.send((bytes, part)).await;
    }
}

pub(crate) struct Produced {
    run: Pin<Box<dyn Future<Output = End> + Send>>,
    pieces: mpsc::Receiver<(Bytes, Option<Part>)>,
    end: Option<End>,
}

impl Produced {
    pub(crate) fn new<F>(write: impl FnOnce(Out) -> F) -> Self
    where
        F: Future<Output = End> + Send + 'static,
    {
        let (sender, pieces) = mpsc::channel(1);
        Produced { run: Box::pin(write(Out(sender))), pieces, end: None }
    }

    /// The next piece, which is counted as leaving over `connection`. Not to be called after the end.
    pub(crate) fn next(&mut self, cx: &mut Context<'_>, connection: &Connection) -> Poll<Next> {
        loop {
            if let Ok((bytes, part)) = self.pieces.try_recv() {
                part.into_iter().for_each(|part| connection.part_leaves(part));
                return Poll::Ready(Next::Bytes(bytes));
            }
            if let Some(end) = self.end.take() {
                return Poll::Ready(Next::End(end));
            }
            match self.run.as_mut().poll(cx) {
                Poll::Ready(end) => self.end = Some(end),
                // It may have sent a piece before it began to wait.
                Poll::Pending if self.pieces.is_empty() => return Poll::Pending,
                Poll::Pending => {}
            }
        }
    }
}
