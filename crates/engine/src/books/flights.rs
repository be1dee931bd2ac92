//! Requests in flight on one worker: their times, their connection, their time-out.
//!
//! The table's length is the highest number ever in flight at once; slots are reused. Requests
//! are chained twice: by the order in which they were sent, for the request time-out, and by
//! connection, so that a lost connection finds its own.

use candor_protocol::RequestId;

use super::chain::{Chain, Links};
use crate::flight::Flight;

/// All requests in flight.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    table: Vec<Flight>,
    free: Vec<RequestId>,
    by_age: Links,
    oldest: Chain,
    by_connection: Links,
}

impl Flights {
    /// How many are in flight.
    pub(crate) fn len(&self) -> usize {
        self.table.len() - self.free.len()
    }

    /// Puts one in; `chain` is its connection's.
    #[inline]
    pub(crate) fn insert(&mut self, flight: Flight, chain: &mut Chain) -> RequestId {
        let id = match self.free.pop() {
            Some(id) => {
                self.table[id as usize] = flight;
                id
            }
            None => self.grow(flight),
        };
        self.by_age.push(&mut self.oldest, id);
        self.by_connection.push(chain, id);
        id
    }

    #[cold]
    fn grow(&mut self, flight: Flight) -> RequestId {
        let id = self.table.len() as RequestId;
        self.table.push(flight);
        self.by_age.grow(self.table.len());
        self.by_connection.grow(self.table.len());
        id
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: RequestId) -> &mut Flight {
        &mut self.table[id as usize]
    }

    /// Takes one out.
    #[inline]
    pub(crate) fn remove(&mut self, id: RequestId, chain: &mut Chain) -> Flight {
        self.by_age.remove(&mut self.oldest, id);
        self.by_connection.remove(chain, id);
        self.free.push(id);
        self.table[id as usize]
    }

    /// The one that was sent first.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<(RequestId, &Flight)> {
        self.oldest.first().map(|id| (id, &self.table[id as usize]))
    }
}
