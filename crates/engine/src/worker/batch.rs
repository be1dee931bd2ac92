//! Sends that leave together, on a reactor that queues them.
//!
//! What is queued is handed to the kernel in one call, which sends one after the other. When each of them left is not
//! known, only that it was in this time: a request was *sent* when the call began, and later by what those before it
//! took at the least, as far as recent batches tell. So what holds the machine up in a batch moves no stamp behind its
//! send, and no stamp is before it by more than the call took. A batch is cut so that the next takes [`BOUND_NS`] if
//! its sends take what those of the last took, and so that none waits longer for its call. How long calls took is
//! recorded.

use candor_protocol::{Protocol, RequestId};
use candor_record::Batches;

use super::Worker;
use crate::reactor::{Reactor, Submission};

/// What a batch should take at most, to be handed over and before that.
const BOUND_NS: u64 = 50_000;

/// What is queued.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Requests in it: when they were queued, and behind how many sends.
    requests: Vec<(RequestId, u64, u64)>,
    sends: u64,
    /// So many are enough; 0 before the first, which leaves alone.
    limit: u64,
    /// When it is to be handed over, whatever is in it.
    until_ns: u64,
    /// What one send took in the quickest of recent batches.
    least_ns: u64,
    facts: Batches,
}

impl Batch {
    /// A request begins with the next send.
    #[inline]
    pub(super) fn hold(&mut self, id: RequestId, at_ns: u64) {
        self.requests.push((id, at_ns, self.sends));
    }
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// What left together, if anything does.
    pub(crate) fn batches(&self) -> Option<Batches> {
        self.reactor.queues().then_some(self.batch.facts)
    }

    /// A send was queued at `at_ns`.
    #[inline]
    pub(super) fn queued(&mut self, at_ns: u64) {
        let batch = &mut self.batch;
        if batch.sends == 0 {
            batch.until_ns = at_ns.saturating_add(BOUND_NS);
        }
        batch.sends += 1;
        if batch.sends >= batch.limit || at_ns >= batch.until_ns {
            self.submit();
        }
    }

    /// After something that took its time.
    #[inline]
    pub(super) fn submit_if_late(&mut self) {
        if self.batch.sends > 0 && self.reactor.now_ns() >= self.batch.until_ns {
            self.submit();
        }
    }

    /// Before a wait. A single send is left to that, which is one call less, and exact: it leaves when the wait begins.
    #[inline]
    pub(super) fn submit_or_wait(&mut self) {
        if self.batch.sends == 1 {
            let now_ns = self.reactor.now_ns();
            let batch = &mut self.batch;
            batch
                .requests
                .drain(..)
                .for_each(|(id, queued_ns, _)| self.books.left(id, queued_ns, now_ns));
            batch.sends = 0;
        } else {
            self.submit();
        }
    }

    /// Hands over what is queued.
    #[inline]
    pub(super) fn submit(&mut self) {
        if self.batch.sends > 0 {
            self.submit_all();
        }
    }

    #[inline(never)]
    fn submit_all(&mut self) {
        let Submission { began_ns, ended_ns } = self.reactor.submit();
        let batch = &mut self.batch;
        let (took_ns, sends) = (ended_ns.saturating_sub(began_ns), batch.sends);
        // It grows by a thirty-second in a batch, so that a machine that gets slower is followed.
        batch.least_ns = (took_ns / sends).min(batch.least_ns + batch.least_ns / 32 + 1);
        // Not all of them take the same.
        let each_ns = batch.least_ns * 3 / 4;
        // The control of verify: the time of its end.
        #[cfg(candor_mutant = "batch_end")]
        let began_ns = ended_ns;
        for (id, queued_ns, before) in batch.requests.drain(..) {
            self.books.left(id, queued_ns, began_ns + each_ns * before);
        }
        if sends > 1 {
            batch.facts.add(sends, took_ns);
        }
        batch.limit = BOUND_NS * sends / took_ns.max(1);
        batch.sends = 0;
    }
}
