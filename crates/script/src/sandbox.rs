//! The environment of an untrusted script.
//!
//! `sandbox.lua` removes parts of Lua's libraries, and replaces some functions by bounded ones.
//! This module has their Rust part: a search for patterns that is charged to the call's budget.

use std::sync::Arc;

use mlua::{FromLua, IntoLua, Lua, LuaString, MultiValue, Value};

use crate::pattern::{self, Capture};
use crate::seat::Seat;

/// The longest Lua text that is loaded. The parser runs no hook, and its worst-case time is
/// quadratic in the text.
pub(crate) const MOST_SOURCE_BYTES: usize = 128 << 10;

/// Makes a sandbox of `lua`, which has the API but no script.
pub(crate) fn close(lua: &Lua, seat: &Arc<Seat>) -> mlua::Result<()> {
    let given = lua.create_table()?;
    given.set("most_source", MOST_SOURCE_BYTES)?;
    let seat = Arc::clone(seat);
    let search = lua.create_function(move |lua, (subject, pattern, from, how)| {
        search(lua, &seat, &subject, &pattern, from, how)
    })?;
    given.set("search", search)?;
    lua.load(include_str!("sandbox.lua")).set_name("=sandbox").call(given)
}

/// The kind of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// For the literal bytes of the pattern.
    Plain,
    /// As in `string.find`: literally if the pattern has no special character.
    Find,
    /// As in the other functions.
    Match,
    /// Only at the beginning.
    Anchored,
}

impl FromLua for How {
    fn from_lua(value: Value, lua: &Lua) -> mlua::Result<Self> {
        Ok(match LuaString::from_lua(value, lua)?.as_bytes().as_ref() {
            b"plain" => How::Plain,
            b"find" => How::Find,
            b"anchored" => How::Anchored,
            _ => How::Match,
        })
    }
}

/// The first and the last byte of the match, from 1, and of each of its captures; the last of a
/// position is -1. Nothing if there is no match. `false` and a message if the pattern is wrong or
/// the call took too long.
fn search(
    lua: &Lua,
    seat: &Seat,
    subject: &LuaString,
    pattern: &LuaString,
    from: usize,
    how: How,
) -> mlua::Result<MultiValue> {
    let (subject, pattern) = (subject.as_bytes(), pattern.as_bytes());
    let mut spend = |bytes| match seat.spend(bytes) {
        None => Ok(()),
        Some(words) => Err(words.to_string_lossy().into_owned()),
    };
    let mut values = Vec::new();
    let is_plain = match how {
        How::Plain => true,
        How::Find | How::Match => pattern::is_plain(&pattern, how == How::Find),
        How::Anchored => false,
    };
    let found = match is_plain {
        true => Ok(pattern::search_plain(&subject, &pattern, from)),
        false => pattern::search(&subject, &pattern, from, how == How::Anchored, &mut spend),
    };
    match found {
        Ok(None) => {}
        Ok(Some(found)) => {
            let mut add = |first: usize, last: i64| {
                values.push(Value::Integer(first as i64 + 1));
                values.push(Value::Integer(last));
            };
            add(found.start, found.end as i64);
            for capture in found.captures {
                match capture {
                    Capture::Text { start, end } => add(start, end as i64),
                    Capture::Position(at) => add(at, -1),
                }
            }
        }
        Err(error) => {
            values.push(Value::Boolean(false));
            values.push(error.to_string().into_lua(lua)?);
        }
    }
    Ok(MultiValue::from_vec(values))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mlua::StdLib;
    use proptest::prelude::*;

    use super::*;

    fn closed() -> Lua {
        let lua = Lua::new_with(
            StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT,
            mlua::LuaOptions::default(),
        )
        .unwrap();
        crate::raw::call_widened(&lua).unwrap();
        lua.load("wrk = {format = function(...) return ... end}").exec().unwrap();
        close(&lua, &Arc::new(Seat::new(Duration::from_secs(1), None))).unwrap();
        lua
    }

    /// Runs `code` and shows its result, or its error without the place.
    const SHOW: &str = r##"
        local code, a, b, c = ...
        local function shown(ok, ...)
          if not ok then return "error: " .. tostring((...)):gsub("^[^:]+:%d+: ", "") end
          local all = {}
          for index = 1, select("#", ...) do
            local value = (select(index, ...))
            if type(value) == "table" then value = table.concat(value, "|") end
            all[index] = type(value) .. " " .. tostring(value)
          end
          return table.concat(all, ", ")
        end
        return (shown(pcall(assert(loadstring("local a, b, c = ... " .. code)), a, b, c)))
    "##;

    fn assert_same(inside: &Lua, outside: &Lua, code: &str, arguments: (&str, &str, &str)) {
        let run = |lua: &Lua| {
            let (a, b, c) = arguments;
            lua.load(SHOW).call::<String>((code, a, b, c)).unwrap()
        };
        let ours = run(inside);
        // LuaJIT notices it only if the capture is used.
        if ours != "error: unfinished capture" {
            assert_eq!(ours, run(outside), "{code} {arguments:?}");
        }
    }

    #[test]
    fn replaced_functions_do_what_the_others_do() {
        let (inside, outside) = (closed(), Lua::new());
        let table = [
            "return ('hello world'):find('o w')",
            "return ('hello'):find('l', 1, true), ('a.b'):find('.', 1, true), ('a'):find('', 10)",
            "return ('hello'):find('(l)(l)', -3), ('hello'):find('^h'), ('hello'):find('^e', 2)",
            "return ('hello'):find('x'), ('hello'):match('x'), ('hello'):match('h(.)()')",
            "return ('x'):find(''), (''):find(''), ('x'):find('', 2), ('abc'):find('b', -100)",
            "return (12345):rep(2):match(34), string.find(1230, 3)",
            "return ('key = value'):match('^(%w+)%s*=%s*(%w+)$')",
            "local t = {} for k, v in ('a=1, b=2'):gmatch('(%w)=(%w)') do t[#t + 1] = k .. v end return t",
            "local t = {} for w in ('one two'):gmatch('%a+') do t[#t + 1] = w end return t",
            "local t = {} for p in ('abc'):gmatch('()') do t[#t + 1] = p end return t",
            "local t = {} for w in ('abc'):gmatch('^a') do t[#t + 1] = w end return t",
            "return ('hello world'):gsub('o', '0'), ('hello'):gsub('', '-'), ('abc'):gsub('%w', '%0%0')",
            "return ('hello'):gsub('l', {l = 'L'}), ('abc'):gsub('(a)(b)', '%2%1'), ('abc'):gsub('b', '%%')",
            "return ('abc'):gsub('.', function(c) if c == 'b' then return false end return c:upper() end)",
            "return ('abc'):gsub('.', '%1', 2), ('abc'):gsub('^a', 'x'), ('aaa'):gsub('^a', 'x'), ('abc'):gsub('x*', '-')",
            "return ('abc'):gsub('(b)()', function(b, p) return p end), ('abc'):gsub('b', 7), ('abc'):gsub('%w*', 'x')",
            "return ('abc'):gsub('a', '%2')",
            "return ('abc'):gsub('a', {a = {}})",
            "return ('abc'):gsub('[', '')",
            "return ('abc'):find('%')",
            "return ('abc'):match('(')",
            "return ('a'):rep(3), ('%5.1f|%s|%d|%q|%x'):format(1.25, 'x', 7, 'q', 255)",
            "return ('%s %s'):format(setmetatable({}, {__tostring = function() return 'T' end}), nil)",
            "return ('%s'):format(nil), ('%d'):format('12'), pcall(string.format, '%s')",
            "local t = {3, 1, 2} table.sort(t) return t",
            "local t = {3, 1, 2} table.sort(t, function(x, y) return x > y end) return t",
            "return coroutine.wrap(function(...) local x = coroutine.yield(...) return x, 'end' end)(1, 2)",
            "local f = coroutine.wrap(function(x) x = coroutine.yield(x) return x * 2 end) f(1) return f(21)",
            "return coroutine.resume(coroutine.create(function(x) return x + 1 end), 1)",
            "return select(2, coroutine.resume(coroutine.create(function() error('no', 0) end)))",
            "return pcall(coroutine.wrap(function() error('no', 0) end))",
            "return xpcall(function(...) return 1, 2 end, print)",
            "return xpcall(function() error('no', 0) end, function(e) return e .. '!' end)",
            "return loadstring('return 1 + 1')(), load('return 2', 'x')(), load('return y', 'x', 't', {y = 3})()",
            "local parts = {'return ', '4'} local n = 0 return load(function() n = n + 1 return parts[n] end)()",
            "return load('x = = 1')",
            "return tostring(nil), tonumber('0x10'), #'abc', unpack({1, 2})",
        ];
        for code in table {
            assert_same(&inside, &outside, code, ("", "", ""));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn any_substitution_is_that_of_luajit(
            subject in "[ab(]{0,8}",
            items in proptest::collection::vec(
                proptest::sample::select(vec!["a", "b", ".", "a*", "b-", "(", ")", "()", "[^a]", "^", "$", "%("]),
                0..5,
            ),
            by in "[x%012]{0,4}",
        ) {
            // C reads the byte behind a `%` that ends the text, which is 0.
            prop_assume!(!by.replace("%%", "").ends_with('%'));
            let (inside, outside) = (closed(), Lua::new());
            let arguments = (subject.as_str(), &*items.concat(), by.as_str());
            for code in [
                "return a:gsub(b, c)",
                "return a:gsub(b, c, 1)",
                "return a:find(b), a:find(b, 2), a:match(b), a:match(b, -2)",
                "local t = {} for x, y in a:gmatch(b) do t[#t + 1] = tostring(x) .. tostring(y) end return t",
                "return a:gsub(b, function(...) return select('#', ...) end)",
            ] {
                assert_same(&inside, &outside, code, arguments);
            }
        }
    }
}
