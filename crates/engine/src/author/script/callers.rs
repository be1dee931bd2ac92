//! Which user each request of a script has.
//!
//! In a closed load each connection is a user, in an open one each text that the script makes, so that nearly always
//! the connection or the index of a request says it. What is kept here are the exceptions: requests that share a text.

use std::collections::HashMap;

use candor_pace::Share;
use candor_protocol::RequestId;

/// Who the calls of one worker's script are for.
#[derive(Debug, Default)]
pub(super) struct Callers {
    /// In a closed load the worker's share, over which connections are numbered.
    closed: Option<Share>,
    /// The user of the text that was made last.
    present: u64,
    /// The users of requests in flight whose own index or connection is not that of the text.
    shared: HashMap<RequestId, u64>,
    /// In an open load the users of texts with several requests, and how many of these have no outcome yet.
    left: HashMap<u64, usize>,
}

impl Callers {
    pub(super) fn of_closed_load(share: Share) -> Self {
        Callers { closed: Some(share), ..Callers::default() }
    }

    /// The user of a request that has a text of its own. Worker w of W has the connections w, w + W, w + 2W, …
    /// of the load.
    #[inline]
    pub(super) fn number(&self, connection: u32, index: u64) -> u64 {
        match self.closed {
            None => index,
            Some(Share { worker, workers }) => {
                u64::from(connection) * u64::from(workers) + u64::from(worker)
            }
        }
    }

    /// A text of so many requests was made for a user.
    #[inline]
    pub(super) fn begin(&mut self, user: u64, requests: usize) {
        self.present = user;
        if requests > 1 && self.closed.is_none() {
            self.left.insert(user, requests);
        }
    }

    /// A request of that text departs.
    #[inline]
    pub(super) fn depart(&mut self, id: RequestId, connection: u32, index: u64) {
        if self.number(connection, index) != self.present {
            self.shared.insert(id, self.present);
        }
    }

    /// The user of a request that has its outcome.
    #[inline]
    pub(super) fn of_request(&mut self, id: RequestId, connection: u32, index: u64) -> u64 {
        let own = self.number(connection, index);
        match self.shared.is_empty() {
            true => own,
            false => self.shared.remove(&id).unwrap_or(own),
        }
    }

    /// Whether the outcome of one more request was the last that its user waited for.
    #[inline]
    pub(super) fn has_left(&mut self, user: u64) -> bool {
        if self.closed.is_some() {
            return false;
        }
        match self.left.get_mut(&user) {
            None => true,
            Some(1) => self.left.remove(&user).is_some(),
            Some(left) => {
                *left -= 1;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_all_workers_are_numbered_without_a_gap() {
        for workers in 1..=5 {
            let mut numbers: Vec<u64> = (0..workers)
                .flat_map(|worker| {
                    let users = Callers::of_closed_load(Share { worker, workers });
                    let own = crate::load::share::part(13, worker, workers) as u32;
                    (0..own).map(move |connection| users.number(connection, 99))
                })
                .collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..13).collect::<Vec<u64>>(), "{workers}");
        }
    }

    #[test]
    fn requests_of_one_text_have_one_user_who_leaves_with_the_last() {
        let mut users = Callers::default();
        users.begin(7, 3);
        for (id, index) in [(0, 7), (1, 8), (2, 9)] {
            users.depart(id, 0, index);
        }
        users.begin(10, 1);
        users.depart(3, 0, 10);
        let mut end = |id, index| {
            let user = users.of_request(id, 0, index);
            (user, users.has_left(user))
        };
        assert_eq!(end(2, 9), (7, false));
        assert_eq!(end(3, 10), (10, true));
        assert_eq!(end(0, 7), (7, false));
        assert_eq!(end(1, 8), (7, true));
        assert!(users.shared.is_empty() && users.left.is_empty());
    }

    #[test]
    fn users_of_a_closed_load_stay_also_for_a_text_on_two_connections() {
        let mut users = Callers::of_closed_load(Share { worker: 1, workers: 2 });
        users.begin(users.number(4, 0), 2);
        users.depart(0, 4, 0);
        users.depart(1, 5, 1);
        for (id, connection) in [(1, 5), (0, 4)] {
            let user = users.of_request(id, connection, 0);
            assert_eq!((user, users.has_left(user)), (9, false));
        }
        assert!(users.shared.is_empty() && users.left.is_empty());
    }
}
