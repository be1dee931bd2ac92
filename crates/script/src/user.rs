//! `wrk.user`: the user of the current call, its rows of data, and its state.
//!
//! Everything is looked up when a script asks for it: a call for a user costs one store, and a user has a state only
//! if the script used it. The views that a script sees are in `prelude.lua`, and so are its states, in a table of
//! Lua; which place of that table a user has is decided here, because the engine says when a user has left.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candor_engine::script::DataRows;
use candor_plan::suggest::did_you_mean;
use candor_plan::{DataSet, Plan};
use mlua::{Lua, MultiValue, Table, Value};

use crate::thread::Shared;
use crate::watch::Seat;

/// The instructions charged in a sandbox for a value of a row, beside one for each of its bytes.
const VALUE_INSTRUCTIONS: u64 = 100;
/// The names of `wrk.user` that are no data sets.
const OWN: [&str; 3] = ["index", "row", "state"];
/// The most names that an error lists.
const MOST_LISTED: usize = 20;

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

    fn present(&self) -> Option<u64> {
        self.present.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(crate) fn take_rows(&self, rows: DataRows) {
        *locked(&self.rows) = Some(rows);
    }

    /// Whether any user has a state.
    #[inline]
    pub(crate) fn have_state(&self) -> bool {
        self.with_state.load(Ordering::Relaxed) > 0
    }

    /// The place of the state of the current call's user.
    fn place(&self) -> Option<u32> {
        let user = self.present()?;
        let mut places = locked(&self.places);
        let place = places.of(user);
        self.with_state.store(places.of_users.len(), Ordering::Relaxed);
        Some(place)
    }

    /// A user has left. If it has a state, `free` empties its place, which is given to nobody if that fails.
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

/// The prelude's input for `wrk.user`.
pub(crate) fn given(
    lua: &Lua,
    plan: &Plan,
    shared: Option<&Arc<Shared>>,
    seat: &Arc<Seat>,
    states: &Table,
) -> mlua::Result<Table> {
    let given = lua.create_table()?;
    given.set("states", states)?;
    let sets = lua.create_table()?;
    for set in &plan.data {
        let columns = set.columns.iter().enumerate();
        let columns = lua.create_table_from(columns.map(|(at, name)| (name.as_str(), at)))?;
        let given_set = lua.create_table()?;
        given_set.set("name", set.name.as_str())?;
        given_set.set("columns", columns)?;
        sets.push(given_set)?;
    }
    given.set("sets", sets)?;
    // The main state has no users.
    let shared = shared.cloned().unwrap_or_default();
    let own = Arc::clone(&shared);
    let index = move |_: &Lua, ()| Ok(own.users.present().map(|user| user as f64));
    given.set("index", lua.create_function(index)?)?;
    let own = Arc::clone(&shared);
    given.set("place", lua.create_function(move |_, ()| Ok(own.users.place()))?)?;
    let own = Arc::clone(&shared);
    let row = move |_: &Lua, set: usize| {
        let user = own.users.present();
        let rows = locked(&own.users.rows);
        let number = user.and_then(|user| rows.as_ref()?.number(set.wrapping_sub(1), user));
        Ok(number.map(|number| number as f64))
    };
    given.set("row", lua.create_function(row)?)?;
    let seat = Arc::clone(seat);
    let value =
        move |lua: &Lua, (set, column): (usize, usize)| value(lua, &shared, &seat, set, column);
    given.set("value", lua.create_function(value)?)?;
    let data = plan.data.clone();
    let unknown = move |_: &Lua, (set, name): (Option<usize>, Value)| {
        Ok(unknown(&data, set.and_then(|set| data.get(set.wrapping_sub(1))), &name))
    };
    given.set("unknown", lua.create_function(unknown)?)?;
    Ok(given)
}

/// The value of a column, of a set numbered from 1, for the user of the current call; nil and an error's text if it
/// cannot be read; nothing without a user.
fn value(
    lua: &Lua,
    shared: &Shared,
    seat: &Seat,
    set: usize,
    column: usize,
) -> mlua::Result<MultiValue> {
    let Some(user) = shared.users.present() else { return Ok(MultiValue::new()) };
    let mut rows = locked(&shared.users.rows);
    let Some(rows) = rows.as_mut() else { return Ok(MultiValue::new()) };
    let values = match rows.value(set.wrapping_sub(1), column, user) {
        Ok(value) => {
            if let Some(words) = seat.spend(VALUE_INSTRUCTIONS + value.len() as u64) {
                return Err(mlua::Error::runtime(words.to_string_lossy()));
            }
            [Value::String(lua.create_string(value)?), Value::Nil]
        }
        Err(error) => [Value::Nil, Value::String(lua.create_string(error.to_string())?)],
    };
    Ok(values.into_iter().collect())
}

/// The error for a name that `wrk.user`, or a set of its sets, does not have.
fn unknown(data: &[DataSet], set: Option<&DataSet>, name: &Value) -> String {
    let name = match name {
        Value::String(name) => name.to_string_lossy(),
        other => return format!("a name is a string, not a {}", other.type_name()),
    };
    let (what, known): (_, Vec<&str>) = match set {
        Some(set) => (
            format!("data set {:?} has no column {name:?}", set.name),
            set.columns.iter().map(String::as_str).collect(),
        ),
        None => (
            format!("the plan has no data set {name:?}"),
            data.iter().map(|set| set.name.as_str()).chain(OWN).collect(),
        ),
    };
    let mut hint = did_you_mean(&name, known.iter().copied());
    if hint.is_empty() {
        let listed = &known[..known.len().min(MOST_LISTED)];
        hint = match set {
            Some(set) => format!("; {}", candor_plan::redact::columns(&set.columns)),
            None => format!("; it has {}", listed.join(", ")),
        };
    }
    what + &hint
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
