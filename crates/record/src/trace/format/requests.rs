//! Requests in a payload: each as steps from the one before and from one time to the next.
//!
//! ```text
//! requests = count, request*
//! request  = flags, step of index, step of due time, then if it was sent
//!              steps due → ready → sent → done, [step sent → first byte,] request, connection,
//!              status
//!            or else the step due → done
//! flags    = outcome (bits 0 to 4) | warm-up (bit 5) | has a first byte (bit 6)
//! step     = signed difference, folded so that 0, -1, 1, -2, … become 0, 1, 2, 3, …
//! ```
//! Index and due time step from the request before, from 0 for the first of a frame. The outcome is
//! a number from [`code`].

use super::numbers::{put, put_step, take, take_step};
use crate::errors::ErrorKind;
use crate::recorder::Phase;
use crate::trace::{Outcome, Traced};

/// Five bits, and one that says that they are a status of gRPC.
const OUTCOME: u8 = 0x1f | GRPC;
const GRPC: u8 = 0x80;
const WARM_UP: u8 = 0x20;
const FIRST_BYTE: u8 = 0x40;

pub(super) fn put_all(out: &mut Vec<u8>, all: &[Traced]) {
    put(out, all.len() as u64);
    let (mut index, mut due_ns) = (0, 0);
    for one in all {
        let has_first_byte = one.was_sent() && one.first_byte_ns != 0;
        let warm_up = if one.phase == Phase::WarmUp { WARM_UP } else { 0 };
        let first_byte = if has_first_byte { FIRST_BYTE } else { 0 };
        out.push(code(one.outcome) | warm_up | first_byte);
        put_step(out, index, one.index);
        put_step(out, due_ns, one.due_ns);
        (index, due_ns) = (one.index, one.due_ns);
        if !one.was_sent() {
            put_step(out, one.due_ns, one.done_ns);
            continue;
        }
        put_step(out, one.due_ns, one.ready_ns);
        put_step(out, one.ready_ns, one.sent_ns);
        put_step(out, one.sent_ns, one.done_ns);
        if has_first_byte {
            put_step(out, one.sent_ns, one.first_byte_ns);
        }
        put(out, one.request.into());
        put(out, one.connection.into());
        put(out, one.status.into());
    }
}

/// Takes at most `most` requests.
pub(super) fn take_all(input: &mut &[u8], most: usize) -> Option<Vec<Traced>> {
    let count = usize::try_from(take(input)?).ok().filter(|&count| count <= most)?;
    // A request has at least four bytes, so a wrong count cannot allocate more than the input's
    // size.
    let mut all = Vec::with_capacity(count.min(input.len() / 4));
    let (mut index, mut due_ns) = (0, 0);
    for _ in 0..count {
        let (&flags, rest) = input.split_first()?;
        *input = rest;
        let outcome = outcome(flags & OUTCOME)?;
        let phase = if flags & WARM_UP == 0 { Phase::Measured } else { Phase::WarmUp };
        index = take_step(input, index)?;
        due_ns = take_step(input, due_ns)?;
        let mut one = Traced {
            index,
            due_ns,
            ready_ns: 0,
            sent_ns: 0,
            first_byte_ns: 0,
            done_ns: 0,
            request: 0,
            connection: 0,
            outcome,
            status: 0,
            phase,
        };
        if !one.was_sent() {
            one.done_ns = take_step(input, due_ns)?;
            all.push(one);
            continue;
        }
        one.ready_ns = take_step(input, due_ns)?;
        one.sent_ns = take_step(input, one.ready_ns)?;
        one.done_ns = take_step(input, one.sent_ns)?;
        if flags & FIRST_BYTE != 0 {
            one.first_byte_ns = take_step(input, one.sent_ns)?;
        }
        one.request = u32::try_from(take(input)?).ok()?;
        one.connection = u32::try_from(take(input)?).ok()?;
        one.status = u16::try_from(take(input)?).ok()?;
        all.push(one);
    }
    Some(all)
}

/// The number of an outcome in a trace. A new one gets the next number, so that older traces keep
/// their meaning.
fn code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Ok => 0,
        Outcome::Failed(ErrorKind::BodyLimit) => 17,
        Outcome::Failed(ErrorKind::StreamCut) => 18,
        Outcome::Failed(ErrorKind::StreamError) => 19,
        Outcome::Failed(ErrorKind::StreamUnended) => 20,
        Outcome::Failed(ErrorKind::NoStream) => 21,
        Outcome::Failed(ErrorKind::RedirectElsewhere) => 22,
        Outcome::Failed(ErrorKind::RedirectLimit) => 23,
        Outcome::Failed(ErrorKind::RedirectUnusable) => 24,
        Outcome::Failed(ErrorKind::CodingUnasked) => 25,
        Outcome::Failed(ErrorKind::CodingDamaged) => 26,
        Outcome::Failed(ErrorKind::CodingTruncated) => 27,
        Outcome::Failed(ErrorKind::CodingTrailing) => 28,
        Outcome::Failed(ErrorKind::CodingLimit) => 29,
        Outcome::Failed(ErrorKind::Capture) => 30,
        Outcome::Failed(kind) if kind >= ErrorKind::GrpcCancelled => {
            GRPC | (kind as u8 - ErrorKind::GrpcCancelled as u8)
        }
        Outcome::Failed(kind) => 1 + kind as u8,
        Outcome::Shed => 13,
        Outcome::Unsent => 14,
        Outcome::Unfinished => 15,
        Outcome::BrokenOff => 16,
    }
}

fn outcome(number: u8) -> Option<Outcome> {
    Outcome::all().find(|one| code(*one) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_code() {
        let codes: std::collections::BTreeSet<u8> = Outcome::all().map(code).collect();
        assert!(codes.into_iter().eq((0..31).chain(GRPC..GRPC + 17)), "each has one of its own");
        for one in Outcome::all() {
            assert_eq!(outcome(code(one)), Some(one));
        }
        assert!(Outcome::all().count() <= usize::from(OUTCOME));
        assert_eq!(outcome(OUTCOME), None);
    }
}
