//! `wrk.user`: what a script sees of the user of the current call, its rows of data, and its state.
//!
//! Everything is looked up when a script asks for it: [`crate::users`] has the user of the call. The views that a
//! script sees are in `prelude.lua`, and so are its states, in a table of Lua.

use std::sync::Arc;

use candor_plan::suggest::did_you_mean;
use candor_plan::{DataSet, Plan};
use mlua::{Lua, MultiValue, Table, Value};

use crate::seat::Seat;
use crate::thread::Shared;

/// The instructions charged in a sandbox for a value of a row, beside one for each of its bytes.
const VALUE_INSTRUCTIONS: u64 = 100;
/// The names of `wrk.user` that are no data sets.
const OWN: [&str; 3] = ["index", "row", "state"];
/// The most names that an error lists.
const MOST_LISTED: usize = 20;

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
        let rows = own.users.rows();
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
    let mut rows = shared.users.rows();
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
