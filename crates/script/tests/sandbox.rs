//! A sandbox, from outside: every call of a script ends in time and the process lives.
#![allow(clippy::unwrap_used, reason = "a test may end with it")]

use std::path::Path;
use std::time::{Duration, Instant};

use candor_plan::{Options, Plan, ReadFile};
use candor_script::Program;

struct Source(String);

impl ReadFile for Source {
    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Ok(self.0.clone().into_bytes())
    }
}

const LIMIT: Duration = Duration::from_millis(300);
/// The extra time that a busy machine may take, and the longest single step of Lua.
const MARGIN: Duration = Duration::from_secs(10);

fn plan(script: &str) -> Plan {
    let text = "url = 'http://h/'\nscript = 'load.lua'\nsandbox = true\nscript-timeout = '300ms'\n";
    let options = Options::from_toml("plan.toml", text).unwrap();
    options.build(&Source(script.to_owned())).unwrap().0
}

/// The outcome of loading the script on a thread like a worker's, and how long it took.
fn load(script: &str) -> (Result<(), String>, Duration) {
    let plan = plan(script);
    std::thread::spawn(move || {
        let began = Instant::now();
        let loaded = Program::load(&plan, plan.work.script().unwrap(), 1);
        let outcome = loaded.map(|_| ()).map_err(|error| error.to_string());
        (outcome, began.elapsed())
    })
    .join()
    .unwrap()
}

#[track_caller]
fn assert_ended(script: &str, words: &[&str]) {
    let (outcome, took) = load(script);
    let error = outcome.expect_err(script);
    assert!(words.iter().any(|words| error.contains(words)), "{script}: {error}");
    assert!(took < LIMIT + MARGIN, "{script}: {took:?}");
}

#[track_caller]
fn assert_fine(script: &str) {
    let (outcome, took) = load(script);
    assert_eq!(outcome, Ok(()), "{script}");
    assert!(took < LIMIT + MARGIN, "{script}: {took:?}");
}

const OVER: [&str; 2] = ["ran for longer than 300 ms", "instructions"];

#[test]
fn no_call_outlasts_its_limit() {
    let exponential = "local s, p = ('a'):rep(40), ('a?'):rep(40) .. ('a'):rep(41)\n";
    let cubic = "local s, p = ('a'):rep(1e6), '.-.-.-.-.-b'\n";
    for script in [
        "while true do end",
        "local function f() return f() end f()",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "repeat local ok = pcall(function() while true do end end) until false",
        // An error handler runs where the error is raised, and hooks are off there.
        "xpcall(function() while true do end end, function() while true do end end)",
        "local function f() while true do end end xpcall(f, function() xpcall(f, f) end)",
        "while true do xpcall(error, function() error('again') end) end",
        // An error within a reader of load() would leave hooks off.
        "load(function() while true do end end) while true do end",
        "pcall(load, function() while true do end end) while true do end",
        // Coroutines share the hook.
        "coroutine.wrap(function() while true do end end)()",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "while true do coroutine.wrap(coroutine.yield)() end",
        "local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end",
        // Metamethods.
        "setmetatable(_G, {__index = function() while true do end end}) local x = y",
        "tostring(setmetatable({}, {__tostring = function() while true do end end}))",
        "print(setmetatable({}, {__tostring = function() while true do end end}))",
        "return ('%s'):format(setmetatable({}, {__tostring = function() while true do end end}))",
        "wrk.format(nil, nil, setmetatable({}, {__index = function() while true do end end}))",
        "table.sort({1, 2, 3}, function() while true do end end)",
        // Tables that take long to sort: the sort and its comparison are C.
        "local t = {} for i = 1, 1e6 do t[i] = i % 2 end table.sort(t) while true do table.sort(t) end",
        "local a, b, t = ('x'):rep(2e7) .. 'a', ('x'):rep(2e7) .. 'b', {}\n\
         for i = 1, 1e5 do t[i] = i % 3 == 0 and a or b end table.sort(t)",
        // An int64 literal loads LuaJIT's C types, but no compiler.
        "local n = 0LL while true do n = n + 1 end",
        "for i = 1, 1e12 do local x = bit.bxor(i, 1) end",
        // Copies from state to state.
        "local t = {('x'):rep(1e6)} for i = 1, 24 do t = {t, t} end while true do pcall(wrk.thread and wrk.thread.set or error, wrk.thread, 'x', t) end",
    ] {
        assert_ended(script, &OVER);
    }
    let error = "error(setmetatable({}, {__tostring = function() while true do end end}))";
    assert_ended(error, &["error in error handling", OVER[0], OVER[1]]);
    for call in [
        "s:find(p)",
        "s:match(p)",
        "s:gsub(p, '')",
        "for _ in s:gmatch(p) do end",
        "string.find(s, p, 1)",
        "pcall(string.find, s, p) while true do pcall(string.find, s, p) end",
        "s:find('^' .. p)",
        "s:gsub(p, function() end)",
        "while true do coroutine.wrap(string.find)(s, p) end",
    ] {
        assert_ended(&format!("{exponential}{call}"), &OVER);
        assert_ended(&format!("{cubic}{call}"), &OVER);
    }
    assert_ended("local s = ('('):rep(1e6) s:gsub('%b()', '')", &OVER);
    assert_ended("local s = ('a'):rep(1e6) s:find('(a*)%1b')", &OVER);
    assert_ended(
        "local s = ('a'):rep(2e7) while true do s:find(('a'):rep(1e7) .. 'b', 1, true) end",
        &OVER,
    );
}

#[test]
fn hooks_of_the_run_have_the_limit_too() {
    for hook in ["setup", "init"] {
        assert_ended(&format!("function {hook}() while true do end end"), &OVER);
        let search = "(('a'):rep(40)):find(('a?'):rep(40) .. ('a'):rep(41))";
        assert_ended(&format!("function {hook}() {search} end"), &OVER);
    }
    // `thread:get` only reads values, and calls nothing.
    assert_fine(
        "setmetatable(_G, {__index = function(_, key) if key == 'none' then while true do end end end})\n\
         function setup(thread) assert(thread:get('none') == nil) end",
    );
    let shared = "local t = {} for i = 1, 4e5 do t[i] = s end";
    assert_ended(
        &format!("function setup(thread) local s = ('x'):rep(1e7) {shared} thread:set('t', t) end"),
        &OVER,
    );
}

#[test]
fn memory_has_a_bound() {
    for script in [
        "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end",
        "local s = 'x' while true do s = s .. s end",
        "local s = ('x'):rep(2e9)",
        "local s = ('x'):rep(1e6, ('y'):rep(1e6))",
        "local t = {} for i = 1, 1e5 do t[i] = ('x'):rep(1e4) .. i end",
        "local s = ('x'):rep(1e7) local t = {} for i = 1, 1e3 do t[i] = s end table.concat(t)",
        "('x'):rep(1e7):gsub('x', ('y'):rep(1000))",
        "local t = {} while true do t = {t, {}, {}} end",
        "local function f() return coroutine.wrap(coroutine.yield) end local t = {} while true do t[#t + 1] = f() t[#t]() end",
    ] {
        assert_ended(script, &["memory", OVER[0], OVER[1]]);
    }
}

#[test]
fn calls_from_c_to_lua_do_not_use_up_the_stack() {
    let recursions = [
        "local t = setmetatable({}, {}) getmetatable(t).__tostring = function(x) return ('%s'):format(x) .. '' end f = function() return tostring(t) end",
        "local t = setmetatable({}, {}) getmetatable(t).__tostring = function(x) print(x) return '' end f = function() return tostring(t) end",
        "f = function() tostring = print print({}) end",
        "local p = print tostring = function(x) p(x) return '' end f = function() p({}) end",
        "f = function() return coroutine.wrap(f)() end",
        "f = function() return coroutine.resume(coroutine.create(f)) end",
        "f = function() return coroutine.wrap(function() return pcall(f) end)() end",
        "f = function() table.sort({1, 2, 3}, function(a, b) f() return a < b end) end",
        "f = function() return (('x'):gsub('x', f)) end",
        "f = function() load(f) end",
        "f = function() pcall(f) end",
        "f = function() xpcall(f, f) end",
        "f = function() table.foreach({1}, f) end",
        "f = function() return f() .. '' end",
        "local h = setmetatable({}, {__index = function(t) return wrk.format(nil, nil, t) end}) f = function() return wrk.format(nil, nil, h) end",
        "local t t = setmetatable({}, {__index = function(t, k) return t[k] .. '' end}) f = function() return t.x end",
        "f = function() return loadstring(('('):rep(1e4) .. '1') end",
        "f = function() return loadstring('return ' .. ('{'):rep(5e4)) end",
        "f = function() return (('a'):rep(1e5)):find(('(a'):rep(1e4)) end",
    ];
    for script in recursions {
        let (outcome, took) = load(&format!("{script} pcall(f)"));
        if let Err(error) = outcome {
            assert!(OVER.iter().chain(&["memory"]).any(|words| error.contains(words)), "{error}");
        }
        assert!(took < LIMIT + MARGIN, "{script}: {took:?}");
    }
}

#[test]
fn there_is_no_way_out() {
    for name in [
        "io",
        "os",
        "package",
        "ffi",
        "debug",
        "jit",
        "require",
        "module",
        "dofile",
        "loadfile",
        "newproxy",
        "getfenv",
        "setfenv",
        "string.dump",
        "wrk.lookup",
        "wrk.connect",
    ] {
        assert_fine(&format!("assert({name} == nil)"));
    }
    for script in [
        "assert(getmetatable(wrk.thread) == false or wrk.thread == nil)",
        "assert(type(getmetatable(1LL)) == 'string')",
        "assert(not pcall(setmetatable, 1LL, {}))",
        "setmetatable({}, {__gc = function() while true do end end}) collectgarbage() collectgarbage()",
        "assert(loadstring('\\27LJ\\2\\0') == nil)",
        "assert(load('\\27LJ\\2\\0', 'x', 'b') == nil)",
        "local n = 0 assert(load(function() n = n + 1 return n == 1 and '\\27LJ\\2\\0' or nil end, 'x', 'bt') == nil)",
        "local f, why = loadstring(('x = 1 '):rep(1e5)) assert(f == nil and why:find('600000 bytes'))",
        "local f, why = load(function() return 'x = 1 ' end) assert(f == nil and why:find('131072 at most'))",
        "for _, at in ipairs {-2^31, 0, 2^31, 2^53, 0 / 0, -1 / 0, '-9e8'} do assert(not pcall(table.insert, {}, at, 1)) end",
        "local t = {1} table.insert(t, 2) table.insert(t, 1, 0) table.insert(t, '2', 9) assert(table.concat(t) == '0912')",
        "assert(not pcall(unpack, {}, -2^31, 2^31 - 1) and not pcall(table.concat, {}, '', -2^31, 1))",
        "assert(('').rep('', 2^31 - 1) == '' and ('').rep('', 2^31 - 1, '') == '')",
        "assert(getmetatable('').__index == string and ('x'):find('x') == 1)",
        "for name in pairs(string) do assert(not name:find('^dump')) end",
    ] {
        assert_fine(script);
    }
    let (outcome, _) = load(&format!("-- {}", "x".repeat(200_000)));
    assert!(
        outcome
            .unwrap_err()
            .contains("load.lua has 200003 bytes, and a sandbox loads 131072 at most")
    );
}

#[test]
fn the_parser_is_never_long_at_work() {
    let labels = "local t = {} for i = 1, 14000 do t[i] = '::l' .. i .. '::' end";
    let names = "local t, most = {}, 120 for i = 1, most do local n = {} for j = 1, 120 do n[j] = 'a' .. j end\n\
                 t[i] = 'local function f() local ' .. table.concat(n, ',') .. ' ' end\n\
                 local deep = table.concat(t) deep = deep .. ('x=y '):rep(math.floor((131072 - #deep - 4 * most) / 4))\n\
                 deep = deep .. (' end'):rep(most)";
    for script in [
        format!("{labels} assert(loadstring(table.concat(t)))"),
        format!("{names} assert(#deep <= 131072) loadstring(deep)"),
    ] {
        let (outcome, took) = load(&script);
        assert!(took < MARGIN, "{took:?}, {outcome:?}");
    }
}

#[test]
fn a_failure_names_the_scripts_own_line() {
    let (outcome, _) = load("\nlocal s = ('a'):rep(40)\n\ns:find(('a?'):rep(40) .. s .. 'a')");
    let error = outcome.unwrap_err();
    assert!(error.contains("load.lua:4: it"), "{error}");
    let (outcome, _) = load("error(('x'):rep(5e7))");
    assert!(outcome.unwrap_err().len() < 3000);
    let (outcome, _) = load("\n('a'):find('%')");
    assert!(outcome.unwrap_err().contains("load.lua:2: malformed pattern"));
    let (outcome, _) = load("\n('%d'):format('x')");
    assert!(outcome.unwrap_err().contains("load.lua:2: bad argument"));
}
