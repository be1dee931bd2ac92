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
    rows: Vec<Row>,
    /// Of each target, the rows of its addresses.
    targets: Box<[Vec<usize>]>,
    /// Of each connection, the row of its present or last attempt.
    of: Box<[usize]>,
    /// How requests are told apart; `None`: they are not.
    digits: Option<u8>,
}

#[derive(Debug)]
struct Row {
    counts: AddressCounts,
    /// Since when no connection could be made.
    down_since_ns: Option<u64>,
    /// Since when the target's name has it; `None`: it does not.
    there_since_ns: Option<u64>,
}

impl Row {
    /// It took a connection, or is not to take any more.
    fn is_up(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.down_since_ns.take() {
            self.counts.down_ns += now_ns.saturating_sub(since_ns);
        }
    }

    fn is_gone(&mut self, now_ns: u64) {
        self.is_up(now_ns);
        if let Some(since_ns) = self.there_since_ns.take() {
            self.counts.watched_ns += now_ns.saturating_sub(since_ns);
        }
    }
}

impl Addresses {
    /// Those that `reactor` connects to, with so many connections.
    pub(crate) fn of(plan: &Plan, reactor: &impl Reactor, connections: u32) -> Option<Box<Self>> {
        let targets: Box<[Vec<usize>]> = plan.targets().map(|_| Vec::new()).collect();
        let counts = (0..targets.len()).map(|target| reactor.addresses(target as u16));
        let by_address = plan.recording.by == Some(By::Address);
        let may_change = plan.connections.dns_refresh_ns.is_some();
        if !by_address && !may_change && counts.sum::<usize>() < 2 {
            return None;
        }
        let digits = by_address.then_some(plan.recording.digits);
        let of = vec![0; connections as usize].into();
        let mut all = Addresses { rows: Vec::new(), targets, of, digits };
        all.know(reactor, 0);
        Some(Box::new(all))
    }

    /// Names may have other addresses now.
    pub(crate) fn know(&mut self, reactor: &impl Reactor, now_ns: u64) {
        for (known, target) in self.targets.iter_mut().zip(0u16..) {
            for address in 0..reactor.addresses(target) as u32 {
                let at = known.get(address as usize).copied().unwrap_or_else(|| {
                    let timed = self.rows.len() < MOST_TIMED;
                    let requests = self.digits.map(|digits| AddressRequests {
                        response: timed.then(|| Histogram::new(digits)),
                        ..AddressRequests::default()
                    });
                    let name = reactor.address(Route { target, address, turn: 0 });
                    let counts = AddressCounts::new(target.into(), name, requests);
                    known.push(self.rows.len());
                    self.rows.push(Row { counts, down_since_ns: None, there_since_ns: None });
                    self.rows.len() - 1
                });
                let row = &mut self.rows[at];
                if reactor.is_gone(target, address) {
                    row.is_gone(now_ns);
                } else {
                    row.there_since_ns.get_or_insert(now_ns);
                }
            }
        }
    }

    /// Whether requests are told apart.
    pub(crate) fn has_requests(&self) -> bool {
        self.digits.is_some()
    }

    /// Time begins anew.
    pub(crate) fn begin_run(&mut self) {
        for row in &mut self.rows {
            let since_ns = [&mut row.down_since_ns, &mut row.there_since_ns];
            since_ns.into_iter().flatten().for_each(|since_ns| *since_ns = 0);
            row.counts.down_ns = 0;
        }
    }

    /// An attempt begins.
    pub(crate) fn goes(&mut self, key: Key, to: Route) {
        self.of[key as usize] = self.targets[usize::from(to.target)][to.address as usize];
    }

    fn row(&mut self, key: Key) -> &mut Row {
        &mut self.rows[self.of[key as usize]]
    }

    /// The attempt has brought a connection.
    pub(crate) fn opened(&mut self, key: Key, now_ns: u64) {
        let row = self.row(key);
        row.counts.opened += 1;
        row.is_up(now_ns);
    }

    /// The attempt failed, for no fault of this machine.
    pub(crate) fn failed(&mut self, key: Key, now_ns: u64) {
        let row = self.row(key);
        row.counts.failed += 1;
        if row.there_since_ns.is_some() {
            row.down_since_ns.get_or_insert(now_ns);
        }
    }

    /// The connection was lost.
    pub(crate) fn lost(&mut self, key: Key) {
        self.row(key).counts.lost += 1;
    }

    /// A request that was sent has its outcome, or is left without one.
    pub(crate) fn ended(&mut self, flight: &Flight, outcome: Outcome, at_ns: u64) {
        if flight.phase == Phase::WarmUp {
            return;
        }
        let Some(row) = &mut self.row(flight.connection).counts.requests else {
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
        let mut rows = std::mem::take(&mut self.rows);
        for row in &mut rows {
            row.is_gone(window_end_ns);
            let counts = &mut row.counts;
            // Who never tried it knows nothing of it.
            if counts.opened + counts.failed == 0 {
                counts.watched_ns = 0;
            }
            counts.down_ns = counts.down_ns.min(counts.watched_ns);
        }
        rows.into_iter().map(|row| row.counts).collect()
    }
}
