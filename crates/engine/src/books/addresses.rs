//! What happens at each address of the targets, of one worker: whether it takes connections, and what becomes of the
//! requests that go there, if they are told apart.
//!
//! It is there only if a plan asks for it, or if there is more than one address to tell apart.

use candor_plan::{By, Plan};
use candor_record::{AddressCounts, AddressRequests, Histogram, Outcome, Phase};

use crate::flight::Flight;
use crate::reactor::{Key, Reactor, Route};

/// With more addresses than this, requests are counted but get no histogram of their own.
const MOST_TIMED: usize = 32;

/// The addresses of all targets.
#[derive(Debug)]
pub(crate) struct Addresses {
    rows: Vec<AddressCounts>,
    /// Of each row, since when no connection could be made.
    down_since_ns: Box<[Option<u64>]>,
    /// Of each target, where its rows begin; and the end of all.
    begins: Box<[usize]>,
    /// Of each connection, the row of its present or last attempt.
    of: Box<[usize]>,
}

impl Addresses {
    /// Those that `reactor` connects to, with so many connections.
    pub(crate) fn of(plan: &Plan, reactor: &impl Reactor, connections: u32) -> Option<Box<Self>> {
        let counts: Vec<usize> =
            plan.targets().zip(0..).map(|(_, target)| reactor.addresses(target)).collect();
        let by_address = plan.recording.by == Some(By::Address);
        if !by_address && counts.iter().sum::<usize>() < 2 {
            return None;
        }
        let (mut rows, mut begins) = (Vec::new(), vec![0]);
        for (count, target) in counts.into_iter().zip(0u16..) {
            for turn in 0..count as u64 {
                let timed = rows.len() < MOST_TIMED;
                let requests = by_address.then(|| AddressRequests {
                    response: timed.then(|| Histogram::new(plan.recording.digits)),
                    ..AddressRequests::default()
                });
                let name = reactor.address(Route { target, turn });
                rows.push(AddressCounts::new(target.into(), name, requests));
            }
            begins.push(rows.len());
        }
        Some(Box::new(Addresses {
            down_since_ns: vec![None; rows.len()].into(),
            rows,
            begins: begins.into(),
            of: vec![0; connections as usize].into(),
        }))
    }

    /// Whether requests are told apart.
    pub(crate) fn has_requests(&self) -> bool {
        self.rows.iter().any(|one| one.requests.is_some())
    }

    /// Time begins anew.
    pub(crate) fn begin_run(&mut self) {
        self.down_since_ns.iter_mut().flatten().for_each(|since_ns| *since_ns = 0);
        self.rows.iter_mut().for_each(|one| one.down_ns = 0);
    }

    /// An attempt begins.
    pub(crate) fn goes(&mut self, key: Key, to: Route) {
        let target = usize::from(to.target);
        let (first, end) = (self.begins[target], self.begins[target + 1]);
        self.of[key as usize] = first + (to.turn % (end - first).max(1) as u64) as usize;
    }

    /// The attempt has brought a connection.
    pub(crate) fn opened(&mut self, key: Key, now_ns: u64) {
        let at = self.of[key as usize];
        self.rows[at].opened += 1;
        self.is_up(at, now_ns);
    }

    /// The attempt failed, for no fault of this machine.
    pub(crate) fn failed(&mut self, key: Key, now_ns: u64) {
        let at = self.of[key as usize];
        self.rows[at].failed += 1;
        self.down_since_ns[at].get_or_insert(now_ns);
    }

    /// The connection was lost.
    pub(crate) fn lost(&mut self, key: Key) {
        self.rows[self.of[key as usize]].lost += 1;
    }

    fn is_up(&mut self, at: usize, now_ns: u64) {
        if let Some(since_ns) = self.down_since_ns[at].take() {
            self.rows[at].down_ns += now_ns.saturating_sub(since_ns);
        }
    }

    /// A request that was sent has its outcome, or is left without one.
    pub(crate) fn ended(&mut self, flight: &Flight, outcome: Outcome, at_ns: u64) {
        if flight.phase == Phase::WarmUp {
            return;
        }
        let Some(row) = &mut self.rows[self.of[flight.connection as usize]].requests else {
            return;
        };
        match outcome {
            Outcome::Shed | Outcome::Unsent => return,
            Outcome::Ok => {
                row.ok += 1;
                if let Some(response) = &mut row.response {
                    response.record(at_ns.saturating_sub(flight.due_ns));
                }
            }
            Outcome::Failed(_) => row.errors += 1,
            Outcome::BrokenOff | Outcome::Unfinished => {}
        }
        row.sent += 1;
    }

    /// All of it, when the window has ended.
    pub(crate) fn take(&mut self, window_end_ns: u64) -> Vec<AddressCounts> {
        for at in 0..self.rows.len() {
            self.is_up(at, window_end_ns);
            let row = &mut self.rows[at];
            // Who never tried it knows nothing of it.
            row.watched_ns = if row.opened + row.failed > 0 { window_end_ns } else { 0 };
            row.down_ns = row.down_ns.min(row.watched_ns);
        }
        std::mem::take(&mut self.rows)
    }
}
