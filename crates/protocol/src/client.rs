//! HTTP/1.1 or HTTP/2, whichever the server chose by ALPN.

use std::io::IoSlice;

use crate::capture::Capture;
use crate::session::{Event, Input, Outgoing, RequestId, Session, Transmit};
use crate::{h1, h2};

/// A connection that speaks HTTP/1.1 or HTTP/2, which is known when it is made.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "over HTTP/1.1 all are the large one")]
pub enum Client {
    /// HTTP/1.1.
    H1(h1::Session),
    /// HTTP/2.
    H2(Box<h2::Session>),
}

macro_rules! either {
    ($client:ident.$method:ident($($argument:expr),*)) => {
        match $client {
            Client::H1(session) => session.$method($($argument),*),
            Client::H2(session) => session.$method($($argument),*),
        }
    };
}

impl Session for Client {
    const SPEAKS_UNASKED: bool = true;

    fn free_places(&self) -> u32 {
        either!(self.free_places())
    }

    #[inline]
    fn handle_request(&mut self, id: RequestId, request: Outgoing<'_>) {
        either!(self.handle_request(id, request));
    }

    #[inline]
    fn poll_transmit<'a>(&'a mut self, now_ns: u64, slices: &mut [IoSlice<'a>]) -> Transmit {
        either!(self.poll_transmit(now_ns, slices))
    }

    #[inline]
    fn handle_transmitted(
        &mut self,
        now_ns: u64,
        bytes: usize,
        started: &mut dyn FnMut(RequestId),
    ) -> bool {
        either!(self.handle_transmitted(now_ns, bytes, started))
    }

    #[inline]
    fn handle_input(&mut self, now_ns: u64, input: &mut Input<'_>) -> Option<Event> {
        either!(self.handle_input(now_ns, input))
    }

    fn poll_event(&mut self) -> Option<Event> {
        either!(self.poll_event())
    }

    fn poll_timeout(&self) -> Option<u64> {
        either!(self.poll_timeout())
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        either!(self.handle_timeout(now_ns));
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        either!(self.cancel(id))
    }

    fn take_captured(&mut self) -> Option<Capture> {
        either!(self.take_captured())
    }

    fn handle_end(&mut self) {
        either!(self.handle_end());
    }

    fn handle_close(&mut self) {
        either!(self.handle_close());
    }
}
