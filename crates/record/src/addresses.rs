//! What happened at each address of the targets: connections, the time in which none could be made, and requests if
//! they are told apart by address.
//!
//! A worker tells it when it has ended; it is no part of intervals. Workers, and machines, may know different addresses
//! of one name.

use serde::{Deserialize, Serialize};

use crate::add;
use crate::histogram::{Histogram, Layout};

/// One address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AddressCounts {
    /// Its target, by the place in the plan.
    pub target: u32,
    /// The address, with its port.
    pub address: String,
    /// Connections established.
    pub opened: u64,
    /// Connections lost.
    pub lost: u64,
    /// Attempts to connect that failed, for no fault of the loader's machine.
    pub failed: u64,
    /// Time from an attempt that failed to the next one that did not, or to the end of the window.
    pub down_ns: u64,
    /// Time in which that was watched.
    pub watched_ns: u64,
    /// The measured requests, if they are told apart.
    pub requests: Option<AddressRequests>,
}

/// The measured requests that went to one address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AddressRequests {
    /// Sent, with an outcome since.
    pub sent: u64,
    /// Got the expected response.
    pub ok: u64,
    /// Failed.
    pub errors: u64,
    /// Response times; `None`: there are too many addresses.
    pub response: Option<Histogram>,
}

/// How often the name of a target was resolved again during a run, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameCounts {
    /// The target, by its name in the plan.
    pub target: String,
    /// The name that was resolved: the target's host, or its proxy's.
    pub name: String,
    /// How often the resolver was asked.
    pub asked: u64,
    /// How often it said addresses.
    pub answered: u64,
    /// How often it failed, or said none.
    pub failed: u64,
    /// Addresses that came to be the name's, each time counted.
    pub added: u64,
    /// Addresses that ceased to be the name's, each time counted.
    pub gone: u64,
    /// Addresses that could not be taken, each time counted.
    pub left_out: u64,
    /// How long the resolver took, all times together.
    pub took_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// Why it failed, or why an address could not be taken, the last time.
    pub problem: Option<String>,
}

impl NameCounts {
    /// Those of all machines, of each target together.
    pub fn of_all<'a>(counts: impl Iterator<Item = &'a NameCounts>) -> Vec<NameCounts> {
        let mut all: Vec<NameCounts> = Vec::new();
        for one in counts {
            match all.iter_mut().find(|known| known.target == one.target) {
                Some(known) => known.merge(one),
                None => all.push(one.clone()),
            }
        }
        all
    }

    fn merge(&mut self, other: &NameCounts) {
        add(&mut self.asked, other.asked);
        add(&mut self.answered, other.answered);
        add(&mut self.failed, other.failed);
        add(&mut self.added, other.added);
        add(&mut self.gone, other.gone);
        add(&mut self.left_out, other.left_out);
        add(&mut self.took_ns, other.took_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        if other.problem.is_some() {
            self.problem.clone_from(&other.problem);
        }
    }
}

impl AddressCounts {
    /// An address to which nothing went yet.
    pub fn new(target: u32, address: String, requests: Option<AddressRequests>) -> Self {
        let (opened, lost, failed, down_ns, watched_ns) = (0, 0, 0, 0, 0);
        AddressCounts { target, address, opened, lost, failed, down_ns, watched_ns, requests }
    }

    /// The rows of all workers, those of one address together, by target and in the order in which they came.
    pub fn of_all<'a>(rows: impl Iterator<Item = &'a AddressCounts>) -> Vec<AddressCounts> {
        let mut all: Vec<AddressCounts> = Vec::new();
        for one in rows {
            let is_same = |known: &&mut AddressCounts| {
                (known.target, &known.address) == (one.target, &one.address)
            };
            match all.iter_mut().find(is_same) {
                Some(known) => known.merge(one),
                None => all.push(one.clone()),
            }
        }
        all.sort_by_key(|one| one.target);
        all
    }

    fn merge(&mut self, other: &AddressCounts) {
        add(&mut self.opened, other.opened);
        add(&mut self.lost, other.lost);
        add(&mut self.failed, other.failed);
        add(&mut self.down_ns, other.down_ns);
        add(&mut self.watched_ns, other.watched_ns);
        match (&mut self.requests, &other.requests) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or_else(|| theirs.clone()),
        }
    }

    /// Whether its histogram has this layout.
    pub(crate) fn fits(&self, layout: Layout) -> bool {
        let response = self.requests.as_ref().and_then(|all| all.response.as_ref());
        response.is_none_or(|one| one.layout() == layout)
    }
}

impl AddressRequests {
    fn merge(&mut self, other: &AddressRequests) {
        add(&mut self.sent, other.sent);
        add(&mut self.ok, other.ok);
        add(&mut self.errors, other.errors);
        match (&mut self.response, &other.response) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or_else(|| theirs.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_workers_that_know_different_ones_come_together_by_name() {
        let of = |target, address: &str, opened, response_ns: u64| {
            let mut response = Histogram::new(3);
            response.record(response_ns);
            let requests = AddressRequests { sent: 1, ok: 1, errors: 0, response: Some(response) };
            let fresh = AddressCounts::new(target, address.to_owned(), Some(requests));
            AddressCounts { opened, down_ns: 3, watched_ns: 10, ..fresh }
        };
        let workers = [[of(0, "a", 1, 5), of(1, "a", 2, 5)], [of(0, "b", 4, 5), of(0, "a", 8, 7)]];
        let all = AddressCounts::of_all(workers.iter().flatten());
        let shown: Vec<_> = all
            .iter()
            .map(|one| (one.target, one.address.as_str(), one.opened, one.down_ns, one.watched_ns))
            .collect();
        assert_eq!(shown, [(0, "a", 9, 6, 20), (0, "b", 4, 3, 10), (1, "a", 2, 3, 10)]);
        let requests = all[0].requests.as_ref().unwrap();
        assert_eq!((requests.sent, requests.ok), (2, 2));
        let times = requests.response.as_ref().unwrap();
        assert_eq!((times.count(), times.max_ns()), (2, Some(7)));
    }
}
