//! Users with a connection of their own: which connection is whose, and whose step waits for one.
//!
//! This module makes and closes nothing. The worker asks for the place of a user, says what became of a connection,
//! and closes those that [`Users::take_let_go`] names. There are as many connections as users can be under way, so
//! that a user who needs one always finds one.

use super::{First, Users};
use crate::flight::{Place, UserKey};
use crate::reactor::Key;

/// The mark of a user without a connection.
const NONE: Key = Key::MAX;

/// A user's connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Own {
    key: Key,
    generation: u32,
    /// Since when it has been free; `None`: it is being made, or has a request.
    free_since_ns: Option<u64>,
    /// The due time of a step that waits for it.
    waits_ns: Option<u64>,
}

impl Own {
    pub(super) const NOTHING: Own =
        Own { key: NONE, generation: 0, free_since_ns: None, waits_ns: None };
}

impl Users {
    /// Whether each has a connection of its own.
    #[inline]
    pub(crate) fn own_connections(&self) -> bool {
        self.owns
    }

    /// The free place of the user whose step is first; nobody who comes has one.
    pub(crate) fn place(&self, first: First) -> Option<Place> {
        let First::Step(_, user) = first else { return None };
        let Own { key, generation, free_since_ns, .. } = self.table[user as usize].own;
        free_since_ns.map(|since_ns| Place { key, generation, since_ns })
    }

    /// The step that is first leaves on its place.
    pub(super) fn take_place(&mut self, user: UserKey) {
        self.table[user as usize].own.free_since_ns = None;
    }

    /// The step that is first waits until its user's connection is free. True: a connection is to be made for it.
    pub(crate) fn wait(&mut self, due_ns: u64, user: UserKey) -> bool {
        self.wheel.take();
        self.waiting += 1;
        let own = &mut self.table[user as usize].own;
        (own.free_since_ns, own.waits_ns) = (None, Some(due_ns));
        own.key == NONE
    }

    /// This connection is made for a user.
    pub(crate) fn connects(&mut self, user: UserKey, key: Key) {
        self.table[user as usize].own.key = key;
    }

    /// Whether the connection is this user's and has no request.
    pub(crate) fn takes_place(&self, user: UserKey, key: Key) -> bool {
        let own = self.table.get(user as usize).map(|user| user.own);
        own.is_some_and(|own| own.key == key && own.free_since_ns.is_none())
    }

    /// A user's connection is free: the step that waits for it is due, as it was before.
    pub(crate) fn give_place(&mut self, user: UserKey, place: Place) {
        let own = &mut self.table[user as usize].own;
        (own.generation, own.free_since_ns) = (place.generation, Some(place.since_ns));
        if let Some(due_ns) = own.waits_ns.take() {
            self.waiting -= 1;
            self.wheel.put(due_ns, user);
        }
    }

    /// A connection is gone. True: a step of this user waits for it, so it is to be made again.
    pub(crate) fn lost(&mut self, user: UserKey, key: Key) -> bool {
        let Some(user) = self.table.get_mut(user as usize) else { return false };
        if user.own.key != key {
            return false;
        }
        match user.own.waits_ns {
            None => user.own = Own::NOTHING,
            Some(_) => user.own.free_since_ns = None,
        }
        user.own.waits_ns.is_some()
    }

    /// A user has left: its connection is to be closed.
    pub(super) fn let_go(&mut self, user: UserKey) {
        let own = std::mem::replace(&mut self.table[user as usize].own, Own::NOTHING);
        if own.key != NONE {
            let Own { key, generation, .. } = own;
            self.let_go.push(Place { key, generation, since_ns: 0 });
        }
    }

    /// A connection whose user has left, by its place.
    pub(crate) fn take_let_go(&mut self) -> Option<Place> {
        self.let_go.pop()
    }

    /// The run is over: what waits is due and waits no more.
    pub(super) fn stop_waiting(&mut self) {
        for (user, one) in self.table.iter_mut().enumerate() {
            if let Some(due_ns) = one.own.waits_ns.take() {
                self.waiting -= 1;
                self.wheel.put(due_ns, user as UserKey);
            }
        }
    }
}
