//! Values on their way from one state to another: copies of what has no identity.

use mlua::{Lua, Value};

/// Deeper tables are taken for cycles.
const DEEPEST: u32 = 64;

/// `value`, copied into `into`: nil, booleans, numbers, strings and tables of them.
pub(crate) fn copy(value: &Value, into: &Lua) -> mlua::Result<Value> {
    copy_below(value, into, 0)
}

fn copy_below(value: &Value, into: &Lua, depth: u32) -> mlua::Result<Value> {
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
                let key = copy_below(&key, into, depth + 1)?;
                copied.raw_set(key, copy_below(&value, into, depth + 1)?)?;
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
