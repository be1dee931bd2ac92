//! Whether delays of the target move with the loader's acknowledgements.
//!
//! A target that writes in pieces without TCP_NODELAY waits until a piece is acknowledged (Nagle, RFC 896), which the
//! loader's kernel delays by 40 ms or more (RFC 1122, 4.2.3.2). In every time that the loader can measure, a server
//! that takes 40 ms by itself looks the same. So the worker tries it out: where a response began at once, or one that
//! was asked for together with others came, and then nothing for some milliseconds, it acknowledges early. A delay that waits
//! for the acknowledgement ends at once, and any other goes on. At most [`MOST`] responses of a run are touched, and
//! the hot path knows nothing of it.

use candor_protocol::{Protocol, RequestId, Transport};

use super::connection::State;
use super::timers::Timer;
use super::{Stage, Worker};
use crate::books::NOT_YET;
use crate::flight::Flight;
use crate::reactor::{Key, Reactor};

/// The first look, and the time from one look to the next: in step with nothing that a server does.
const FIRST_NS: u64 = 20_000_000;
const EVERY_NS: u64 = 97_000_000;
/// Connections in one look, and early acknowledgements in one look and in all.
const LOOKED_AT: u32 = 64;
const AT_ONCE: usize = 4;
const MOST: u32 = 12;
/// How long a connection must have been silent for an early acknowledgement, at least and at most.
const SILENT_NS: std::ops::RangeInclusive<u64> = 5_000_000..=25_000_000;
/// Before the silence, a response may have been coming for so long: it came at once.
const AT_ONCE_NS: u64 = 2_000_000;
/// The least delay of an acknowledgement, and a little less.
const DELAY_NS: u64 = 38_000_000;
/// Looked at later than this, it is not known when a delay ended.
const LATE_NS: u64 = 2_000_000;

/// Delays that were given an early acknowledgement.
#[derive(Debug)]
pub(super) struct Acks {
    /// Requests are sent together, and a response may wait for the acknowledgement of the one before.
    pipelines: bool,
    tried: u32,
    waiting: Vec<Waiting>,
    /// The connection at which the next look begins.
    next_key: Key,
    next_look_ns: u64,
}

/// A request that waits on, perhaps, after the early acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    key: Key,
    generation: u32,
    id: RequestId,
    sent_ns: u64,
    /// By then its response is complete if it waited for the acknowledgement: half of the time to the earliest moment
    /// at which the kernel would have sent it.
    until_ns: u64,
}

impl Acks {
    pub(super) fn new(pipelines: bool) -> Self {
        Acks { pipelines, tried: 0, waiting: Vec::new(), next_key: 0, next_look_ns: 0 }
    }
}

impl<R: Reactor, S: Protocol> Worker<R, S> {
    /// The run begins.
    pub(super) fn watch_acks(&mut self) {
        let are_streams = match S::VARIES {
            true => self.own.transports.iter().all(|one| *one == Transport::Stream),
            false => S::TRANSPORT == Transport::Stream,
        };
        // A reactor that dozes does not know how long a connection is silent.
        if are_streams && !self.reactor.dozes() {
            self.acks.next_look_ns = FIRST_NS;
            self.timers.add(FIRST_NS, Timer::Acks, 0);
        }
    }

    /// Looks what became of delays, and for others.
    #[cold]
    pub(super) fn look_at_acks(&mut self, now_ns: u64) {
        self.settle_acks(now_ns);
        if self.stage != Stage::Running {
            return self.acks.waiting.clear();
        }
        if self.acks.tried < MOST && now_ns >= self.acks.next_look_ns {
            self.acks.next_look_ns = now_ns + EVERY_NS;
            self.acknowledge_early(now_ns);
        }
        let until_ns = self.acks.waiting.iter().map(|one| one.until_ns);
        let look_ns = (self.acks.tried < MOST).then_some(self.acks.next_look_ns);
        if let Some(next_ns) = until_ns.chain(look_ns).min() {
            self.timers.add(next_ns, Timer::Acks, 0);
        }
    }

    fn settle_acks(&mut self, now_ns: u64) {
        let mut waiting = std::mem::take(&mut self.acks.waiting);
        waiting.retain(|&one| {
            let Waiting { key, generation, id, sent_ns, until_ns } = one;
            if until_ns > now_ns {
                return true;
            }
            let connection = &self.pool[key];
            let is_same = connection.state == State::Open && connection.generation == generation;
            if is_same && now_ns <= until_ns + LATE_NS {
                let goes_on = connection.account.flights.first() == Some(id)
                    && self.books.flights.get_mut(id).sent_ns == sent_ns;
                self.books.recorder.acknowledged_early(now_ns, !goes_on);
            }
            false
        });
        self.acks.waiting = waiting;
    }

    fn acknowledge_early(&mut self, now_ns: u64) {
        let keys = self.own.max_connections;
        for _ in 0..keys.min(LOOKED_AT) {
            let key = self.acks.next_key % keys;
            self.acks.next_key = key + 1;
            let Some(waiting) = self.waiting_on(key, now_ns) else { continue };
            if !self.reactor.acknowledge(key) {
                // It cannot be done with these sockets.
                self.acks.tried = MOST;
                return;
            }
            self.acks.tried += 1;
            self.acks.waiting.push(waiting);
            if self.acks.tried == MOST || self.acks.waiting.len() >= AT_ONCE {
                return;
            }
        }
    }

    /// The oldest request of a connection that fell silent after a part of what it waits for.
    fn waiting_on(&mut self, key: Key, now_ns: u64) -> Option<Waiting> {
        let connection = &self.pool[key];
        let id = connection.account.flights.first().filter(|_| connection.state == State::Open)?;
        let &mut Flight { sent_ns, first_byte_ns, .. } = self.books.flights.get_mut(id);
        let since_ns = connection.last_byte_ns;
        let silent_ns = now_ns.saturating_sub(since_ns);
        let has_begun = match first_byte_ns {
            // The response to a request that was sent together with it has come.
            NOT_YET => self.acks.pipelines && since_ns > sent_ns,
            _ => {
                first_byte_ns.saturating_sub(sent_ns) < DELAY_NS / 2
                    && since_ns.saturating_sub(first_byte_ns) <= AT_ONCE_NS
            }
        };
        (has_begun && SILENT_NS.contains(&silent_ns)).then(|| Waiting {
            key,
            generation: connection.generation,
            id,
            sent_ns,
            until_ns: now_ns + (DELAY_NS - silent_ns) / 2,
        })
    }
}
