//! Service time in parts: which call a request left in, and what the stamps say when it is done.
//!
//! Only in workers whose reactor has stamps; for the others the compiler leaves all of it out. A
//! request's send stamp is that of the call that took its first byte. A read's stamp is that of
//! its last segment, so it is known for the response that ends the read and for no other.

use candor_protocol::{Answer, RequestId};
use candor_record::Phase;
use candor_record::kernel::{KernelSample, KernelTimes};

use crate::books::Books;
use crate::reactor::stamps::{StampFacts, StampLog};

/// A response that may turn out to be the last one of its read.
pub(super) struct Answered {
    end: u64,
    sent_ns: u64,
}

/// The parts of one worker's service times.
pub(super) struct KernelBooks {
    times: KernelTimes,
    /// By request in flight: where the call ended that took its first byte.
    ends: Vec<u64>,
}

impl KernelBooks {
    pub(super) fn new(digits: u8) -> Self {
        KernelBooks { times: KernelTimes::new(digits), ends: Vec::new() }
    }

    /// The first byte of a request left in the call that ended at `end`; 0: without stamps.
    pub(super) fn sent(&mut self, id: RequestId, end: u64) {
        let index = id as usize;
        if index >= self.ends.len() {
            self.ends.resize(index + 1, 0);
        }
        self.ends[index] = end;
    }

    /// A response is complete, and not yet in the books. `None` if it does not count, or if its
    /// connection has no stamps.
    pub(super) fn answered(&mut self, answer: &Answer, books: &mut Books) -> Option<Answered> {
        let end = self.ends.get(answer.id as usize).copied().filter(|end| *end > 0)?;
        let flight = books.flights.get_mut(answer.id);
        let counts = answer.expected.is_ok() && flight.phase == Phase::Measured;
        counts.then_some(Answered { end, sent_ns: flight.sent_ns })
    }

    /// That response was not the last one of its read.
    pub(super) fn passed_over(&mut self, answered: Option<Answered>) {
        self.times.without_receive_stamp += u64::from(answered.is_some());
    }

    /// That response ended the read, which was at `done_ns`.
    pub(super) fn ended_read(&mut self, answered: &Answered, log: &StampLog, done_ns: u64) {
        let Answered { end, sent_ns } = *answered;
        match (log.left_ns(end), log.arrived_ns()) {
            (Some(left_ns), Some(arrived_ns)) => {
                self.times.add(KernelSample { sent_ns, left_ns, arrived_ns, done_ns });
            }
            (None, _) => self.times.without_send_stamp += 1,
            (_, None) => self.times.without_receive_stamp += 1,
        }
    }

    /// A response, of a worker that dozes, had arrived at `arrived_ns` and was read at `read_ns`.
    pub(super) fn read(&mut self, arrived_ns: u64, read_ns: u64) {
        self.times.receive_delay.record(read_ns.saturating_sub(arrived_ns));
    }

    /// What came together.
    pub(super) fn finish(&self, facts: StampFacts) -> KernelTimes {
        let StampFacts {
            connections,
            refused,
            refusal,
            unstamped,
            clock_steps,
            conversion_error_ns,
        } = facts;
        KernelTimes {
            without_receive_stamp: self.times.without_receive_stamp + unstamped,
            connections,
            refused,
            refusal,
            clock_steps,
            conversion_error_ns,
            ..self.times.clone()
        }
    }
}
