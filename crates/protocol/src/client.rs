//! Whichever HTTP the server chose by ALPN.

use std::io::IoSlice;

use crate::capture::CaptureRoom;
use crate::made::Made;
use crate::session::{Captured, Event, HeaderBytes, Hold, RequestId, Session};
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
    ($client:expr, $session:ident => $what:expr) => {
        match $client {
            Client::H1($session) => $what,
            Client::H2($session) => $what,
        }
    };
}

impl Session for Client {
    const SPEAKS_UNASKED: bool = true;

    fn is_ready(&self) -> bool {
        either!(self, session => session.is_ready())
    }

    fn awaits(&self) -> &'static str {
        either!(self, session => session.awaits())
    }

    fn multiplexes(&self) -> bool {
        either!(self, session => session.multiplexes())
    }

    fn free_slots(&self) -> u32 {
        either!(self, session => session.free_slots())
    }

    fn outstanding(&self) -> u32 {
        either!(self, session => session.outstanding())
    }

    #[inline]
    fn handle_request(&mut self, id: RequestId, request: u32) {
        either!(self, session => session.handle_request(id, request));
    }

    fn takes_made(&self) -> bool {
        either!(self, session => session.takes_made())
    }

    fn handle_made(&mut self, id: RequestId, made: &Made<'_>) {
        either!(self, session => session.handle_made(id, made));
    }

    fn capture(&mut self, room: &CaptureRoom) {
        either!(self, session => session.capture(room));
    }

    fn captured(&self) -> Option<Captured<'_>> {
        either!(self, session => session.captured())
    }

    fn release_captured(&mut self) {
        either!(self, session => session.release_captured());
    }

    #[inline]
    fn poll_transmit<'a>(&'a mut self, slices: &mut [IoSlice<'a>]) -> usize {
        either!(self, session => session.poll_transmit(slices))
    }

    #[inline]
    fn handle_transmitted(&mut self, bytes: usize, started: &mut dyn FnMut(RequestId)) {
        either!(self, session => session.handle_transmitted(bytes, started));
    }

    fn take_hold(&mut self) -> Option<Hold> {
        either!(self, session => session.take_hold())
    }

    fn handle_hold_over(&mut self) {
        either!(self, session => session.handle_hold_over());
    }

    fn is_cut_short(&self) -> bool {
        either!(self, session => session.is_cut_short())
    }

    fn is_broken_off(&self) -> bool {
        either!(self, session => session.is_broken_off())
    }

    #[inline]
    fn handle_input(&mut self, input: &mut &[u8]) -> Option<Event> {
        either!(self, session => session.handle_input(input))
    }

    fn handle_end(&mut self) -> Option<Event> {
        either!(self, session => session.handle_end())
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        either!(self, session => session.cancel(id))
    }

    fn is_over(&self) -> bool {
        either!(self, session => session.is_over())
    }

    fn header_bytes(&self) -> HeaderBytes {
        either!(self, session => session.header_bytes())
    }

    fn handle_close(&mut self) {
        either!(self, session => session.handle_close());
    }
}
