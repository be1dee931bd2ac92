//! Sending together: what several connections have to send in one round leaves in one call.
//!
//! Only with reactors that can; for the others the compiler leaves all of it out. What was put goes
//! when there is no more to handle, and before anything is waited for. All of it has the
//! time stamp of the call, which is right for the first and too early for the last by what the
//! call takes: that is measured, and goes into the report.

use candor_protocol::Session;
use candor_record::SentTogether;

use super::Worker;
use crate::reactor::Reactor;

/// What is put at present, and what calls came to.
#[derive(Debug, Default)]
pub(super) struct Together {
    put: usize,
    /// A call is going on, or what came of it is being handled.
    is_sending: bool,
    sums: SentTogether,
}

impl<R: Reactor, S: Session, M: Fn() -> S> Worker<R, S, M> {
    /// One more connection has put what it has to send.
    #[inline]
    pub(super) fn one_more_put(&mut self) {
        self.together.put += 1;
        if self.together.put >= R::TOGETHER {
            self.send_put();
        }
    }

    /// Sends what was put, if anything was.
    #[inline]
    pub(super) fn send_put(&mut self) {
        if R::TOGETHER > 0 && self.together.put > 0 && !self.together.is_sending {
            self.send_all_put();
        }
    }

    fn send_all_put(&mut self) {
        self.together.is_sending = true;
        // What comes of a call may put more.
        while self.together.put > 0 {
            let put = std::mem::take(&mut self.together.put);
            let at_ns = self.reactor.now_ns();
            self.reactor.send_put();
            if put > 1 {
                let gone_ns = self.reactor.now_ns();
                self.together.sums.add(put as u64, gone_ns.saturating_sub(at_ns));
            }
            while let Some((key, offered, sent)) = self.reactor.next_put() {
                self.connections[key as usize].is_put = false;
                if self.went(key, sent, offered, at_ns) {
                    self.flush(key);
                }
            }
        }
        self.together.is_sending = false;
    }

    /// What calls came to that had several sends.
    pub(crate) fn sent_together(&self) -> SentTogether {
        self.together.sums
    }
}
