//! The users of a thread: the one of the current call, their rows of data, and which of them have a state.
//!
//! A call for a user costs one store, and a user has a state only if the script used it. Which place of the table of
//! states a user has is decided here, because the engine says when a user has left. Nothing here knows Lua.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use candor_engine::script::DataRows;

/// The users of one thread.
#[derive(Debug, Default)]
pub(crate) struct Users {
    /// The user of the current call, from 1; 0: there was no call yet.
    present: AtomicU64,
    /// How many have a state.
    with_state: AtomicUsize,
    places: Mutex<Places>,
    rows: Mutex<Option<DataRows>>,
}

impl Users {
    /// A call begins that is for this user.
    #[inline]
    pub(crate) fn call_for(&self, user: u64) {
        self.present.store(user.saturating_add(1), Ordering::Relaxed);
    }

    pub(crate) fn present(&self) -> Option<u64> {
        self.present.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(crate) fn take_rows(&self, rows: DataRows) {
        *self.rows() = Some(rows);
    }

    /// The rows of data, once the engine has given them.
    pub(crate) fn rows(&self) -> MutexGuard<'_, Option<DataRows>> {
        locked(&self.rows)
    }

    /// Whether any user has a state.
    #[inline]
    pub(crate) fn have_state(&self) -> bool {
        self.with_state.load(Ordering::Relaxed) > 0
    }

    /// The place of the state of the current call's user.
    pub(crate) fn place(&self) -> Option<u32> {
        let user = self.present()?;
        let mut places = locked(&self.places);
        let place = places.of(user);
        self.with_state.store(places.of_users.len(), Ordering::Relaxed);
        Some(place)
    }

    /// A user has left. If it has a state, `free` empties its place, which is not reused if that fails.
    #[cold]
    pub(crate) fn leave(&self, user: u64, free: impl FnOnce(u32) -> bool) {
        let mut places = locked(&self.places);
        if let Some(place) = places.of_users.remove(&user) {
            match free(place) {
                true => places.free.push(place),
                false => places.lost += 1,
            }
        }
        self.with_state.store(places.of_users.len(), Ordering::Relaxed);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The places of states: numbers from 1, as few as there are users with a state at a time.
#[derive(Debug, Default)]
struct Places {
    of_users: HashMap<u64, u32>,
    free: Vec<u32>,
    lost: u32,
}

impl Places {
    fn of(&mut self, user: u64) -> u32 {
        let Places { of_users, free, lost } = self;
        let next = of_users.len() as u32 + *lost + 1;
        *of_users.entry(user).or_insert_with(|| free.pop().unwrap_or(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave(users: &Users, user: u64) -> Option<u32> {
        let mut left = None;
        users.leave(user, |place| left.replace(place).is_none());
        left
    }

    #[test]
    fn a_place_is_given_to_another_user_when_its_own_has_left() {
        let users = Users::default();
        assert_eq!((users.present(), users.place(), users.have_state()), (None, None, false));
        let place = |user| {
            users.call_for(user);
            users.place()
        };
        assert_eq!((place(0), place(9), place(0)), (Some(1), Some(2), Some(1)));
        assert_eq!((leave(&users, 5), leave(&users, 0), leave(&users, 0)), (None, Some(1), None));
        assert_eq!((place(7), place(8), place(9)), (Some(1), Some(3), Some(2)));
        for user in 7..=9 {
            leave(&users, user);
        }
        assert!(!users.have_state());
    }

    #[test]
    fn a_place_that_could_not_be_emptied_is_given_to_nobody() {
        let users = Users::default();
        let place = |user| {
            users.call_for(user);
            users.place()
        };
        assert_eq!((place(0), place(1)), (Some(1), Some(2)));
        users.leave(0, |_| false);
        assert_eq!((place(2), place(3)), (Some(3), Some(4)));
    }
}
