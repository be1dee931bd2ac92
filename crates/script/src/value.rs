//! Values on their way from one state to another: copies of values without identity.

use mlua::{Lua, Value};

use crate::seat::Seat;

/// The instructions charged for copying a value, in a sandbox.
const COPY_INSTRUCTIONS: u64 = 20;
/// Deeper tables are taken for cycles.
const DEEPEST: u32 = 64;

/// `value`, copied into `into`: nil, booleans, numbers, strings and tables of them. The call of `seat`
/// pays for it.
pub(crate) fn copy(value: &Value, into: &Lua, seat: &Seat) -> mlua::Result<Value> {
    copy_below(value, into, seat, 0)
}

fn copy_below(value: &Value, into: &Lua, seat: &Seat, depth: u32) -> mlua::Result<Value> {
    if let Some(words) = seat.spend(COPY_INSTRUCTIONS) {
        return Err(mlua::Error::runtime(words.to_string_lossy()));
    }
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::Boolean(one) => Value::Boolean(*one),
        Value::Integer(one) => Value::Integer(*one),
        Value::Number(one) => Value::Number(*one),
        Value::String(one) => Value::String(into.create_string(one.as_bytes())?),
        Value::Table(table) if depth < DEEPEST => {
            let copied = into.create_table()?;
            for pair in table.pairs::<Value, Value>() {
                let (key, value) = pair?;
                let key = copy_below(&key, into, seat, depth + 1)?;
                copied.raw_set(key, copy_below(&value, into, seat, depth + 1)?)?;
            }
            Value::Table(copied)
        }
        Value::Table(_) => {
            return Err(mlua::Error::runtime("a table that contains itself cannot cross threads"));
        }
        other => {
            return Err(mlua::Error::runtime(format!(
                "a {} cannot cross threads; nil, booleans, numbers, strings and tables of them can",
                other.type_name()
            )));
        }
    })
}
