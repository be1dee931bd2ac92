//! Outcomes of messages: complete, or longer than is kept.

use crate::capture::NotKept;
use crate::expect::Mismatch;
use crate::session::{Answer, Deviations, Event, Failure, Last, RequestId};

pub(super) fn done(id: RequestId, body_bytes: u64, expected: Result<(), Mismatch>) -> Event {
    let deviations = Deviations::default();
    Event::Done(Answer { id, status: None, body_bytes, expected, deviations, last: Last::No })
}

#[cold]
pub(super) fn not_kept(id: RequestId, why: NotKept) -> Event {
    Event::RequestFailed { id, failure: Failure::NotKept(why) }
}
