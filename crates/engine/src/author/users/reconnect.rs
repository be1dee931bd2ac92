//! Streams of events that users continue, as a browser's EventSource does (WHATWG HTML 9.2.2).
//!
//! In a closed load a user who leaves is followed by another one. Here that one continues the stream: it comes when the
//! time that the server asked for is over, and sends the id of the last event. Sessions note what events say as they come,
//! so it is known however a response ended.

use candor_plan::{Plan, Streaming};
use candor_protocol::{CaptureRoom, Resume};
use candor_record::{Phase, Recorder};

use super::{Arrivals, Users};
use crate::flight::{Ended, UserKey};

/// Somebody who comes in a closed load.
#[derive(Default)]
pub(super) struct Seat {
    pub(super) due_ns: u64,
    /// Who comes again, if it is not somebody new.
    pub(super) before: Option<UserKey>,
    pub(super) stream: Stream,
}

/// A stream, as one user leaves it to the next.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// When it ended, if the next request goes on with it.
    ended_ns: Option<u64>,
    /// The id of the last event; empty: there is none.
    pub(super) last_id: Vec<u8>,
    /// How long to wait, if the server has said it.
    retry_ns: Option<u64>,
    /// The server has ended it for good.
    is_over: bool,
}

impl Stream {
    /// The request leaves that goes on with it, if it ended before.
    pub(super) fn note_request(&mut self, phase: Phase, now_ns: u64, recorder: &mut Recorder) {
        if let Some(ended_ns) = self.ended_ns.take()
            && phase == Phase::Measured
        {
            recorder.reconnected(now_ns, now_ns.saturating_sub(ended_ns));
        }
    }

    /// How long its user waits before it comes again.
    fn wait_ns(&self) -> u64 {
        self.retry_ns.unwrap_or(Streaming::RETRY_NS).min(Streaming::MOST_RETRY_NS)
    }
}

/// Whether users of a plan go on with streams.
pub(super) fn reconnects(plan: &Plan) -> bool {
    let mut streams = plan.work.requests().iter().filter_map(|one| one.stream.as_ref());
    plan.work.has_users() && streams.any(|one| one.reconnect)
}

impl Users {
    /// Its sessions note in this room what events say about the next request.
    pub(crate) fn share(&mut self, room: &CaptureRoom) {
        self.resumes = self.reconnect.then(|| room.clone());
    }

    /// In a closed load the next one comes after who has left, not before `least_ns`.
    pub(super) fn come_again(
        &mut self,
        before: Option<UserKey>,
        stream: Stream,
        at_ns: u64,
        least_ns: u64,
    ) {
        let Arrivals::Closed { closed, seats } = &mut self.arrivals else { return };
        if stream.is_over {
            return;
        }
        let wait_ns = if self.reconnect { stream.wait_ns() } else { closed.think_ns };
        // Time passes even where no step of the journey was to be made.
        let due_ns = at_ns.saturating_add(wait_ns).max(least_ns);
        let at = seats.partition_point(|other| other.due_ns <= due_ns);
        seats.insert(at, Seat { due_ns, before, stream });
    }

    /// Notes the end of a stream. Its user continues it, unless the response had another status than 200.
    pub(super) fn note_stream(&mut self, ended: &Ended<'_>) {
        let Some(room) = &self.resumes else { return };
        let Resume { id, retry_ns } = room.take_resume(ended.id);
        let stream = &mut self.table[ended.flight.user as usize].stream;
        stream.last_id = id.unwrap_or(std::mem::take(&mut stream.last_id));
        stream.retry_ns = retry_ns.or(stream.retry_ns);
        stream.ended_ns = Some(ended.at_ns);
        stream.is_over = !matches!(ended.status, 0 | 200);
    }
}
