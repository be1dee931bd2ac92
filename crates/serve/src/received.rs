//! The bodies of requests, over TCP and over QUIC.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};

/// A body broke off.
#[derive(Debug, thiserror::Error)]
#[error("the body broke off")]
pub(crate) struct BrokeOff;

/// The body of a request.
pub(crate) enum Received {
    /// As hyper reads it.
    Tcp(Incoming),
    /// As a stream of QUIC has it.
    Quic(Box<dyn Body<Data = Bytes, Error = BrokeOff> + Send + Unpin>),
}

impl Body for Received {
    type Data = Bytes;
    type Error = BrokeOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokeOff>>> {
        match self.get_mut() {
            Received::Tcp(body) => {
                Pin::new(body).poll_frame(cx).map(|next| Some(next?.map_err(|_| BrokeOff)))
            }
            Received::Quic(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Received::Tcp(body) => body.is_end_stream(),
            Received::Quic(body) => body.is_end_stream(),
        }
    }
}
