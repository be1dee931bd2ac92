//! Raw calls into Lua, and all unsafe code of this crate.
//!
//! Calls made for each request go through here, because the safe API checks and copies several
//! times per call. Three rules keep it sound:
//!
//! - Every function of Lua's API that may raise an error runs below `lua_pcall`: an error unwinds
//!   to that call, through no frame of ours that has something to drop.
//! - A [`Hot`] has a coroutine of its own. Nothing else touches the coroutine's stack, and the
//!   registry anchors it for the life of the state, which outlives the `Hot`
//!   ([`crate::state::State`]).
//! - A state is used by one thread at a time. The one exception is `lua_sethook`, which LuaJIT
//!   allows from another thread, to interrupt.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

use mlua::ffi::{self, lua_Debug, lua_State};
use mlua::{Function, Lua};

use candor_protocol::Captured;

use crate::error::MOST_WORDS;
use crate::seat::Seat;

/// The number of instructions between two checks of a sandbox's limits.
const STEP: c_int = 10_000;

/// A pointer to a state, to interrupt it from another thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatePointer(*mut lua_State);

// SAFETY: the pointer is used for `lua_sethook` alone, which may be called from any thread while
// the state is open; `Watch` is dropped before the states are.
unsafe impl Send for StatePointer {}

impl StatePointer {
    /// Makes the current call of the state fail at its next instruction.
    pub(crate) fn interrupt(self) {
        // SAFETY: see above.
        unsafe { ffi::lua_sethook(self.0, Some(check), ffi::LUA_MASKCOUNT, 1) };
    }
}

/// The key of the seat in a state's registry.
static SEAT_KEY: u8 = 0;

/// Ties a seat to a state: from now on the state can be interrupted, and counts instructions in a
/// sandbox.
pub(crate) fn attach(lua: &Lua, seat: &Arc<Seat>) -> mlua::Result<StatePointer> {
    let mut pointer = StatePointer(std::ptr::null_mut());
    let seat_pointer = Arc::as_ptr(seat).cast_mut().cast::<c_void>();
    // SAFETY: the closure runs below a protected call and leaves the stack as it was; the seat
    // lives as long as the state, which keeps a clone of it (`State`).
    unsafe {
        lua.exec_raw::<()>((), |state| {
            ffi::lua_pushlightuserdata(state, (&raw const SEAT_KEY).cast_mut().cast());
            ffi::lua_pushlightuserdata(state, seat_pointer);
            ffi::lua_rawset(state, ffi::LUA_REGISTRYINDEX);
            if seat.counts() {
                ffi::lua_sethook(state, Some(check), ffi::LUA_MASKCOUNT, STEP);
            }
            pointer.0 = state;
        })?;
    }
    Ok(pointer)
}

/// The hook: ends the call if it exceeds its limit of time or instructions.
unsafe extern "C-unwind" fn check(state: *mut lua_State, activation: *mut lua_Debug) {
    // SAFETY: Lua calls this with a state and an activation record that are valid, below some
    // protected call. Nothing here needs dropping when `lua_error` unwinds.
    unsafe {
        ffi::lua_pushlightuserdata(state, (&raw const SEAT_KEY).cast_mut().cast());
        ffi::lua_rawget(state, ffi::LUA_REGISTRYINDEX);
        let seat = ffi::lua_touserdata(state, -1).cast::<Seat>();
        ffi::lua_pop(state, 1);
        let Some(seat) = seat.as_ref() else { return };
        let Some(words) = seat.spend(STEP as u64) else { return };
        // From here on every instruction fails; otherwise a script that catches errors could
        // continue.
        ffi::lua_sethook(state, Some(check), ffi::LUA_MASKCOUNT, 1);
        // Find the line of the script itself, not of `sandbox.lua` or `prelude.lua`.
        let mut level = 0;
        loop {
            ffi::lua_getinfo(state, c"Sl".as_ptr(), activation);
            let source = CStr::from_ptr((*activation).short_src.as_ptr());
            level += 1;
            if source != c"sandbox" && source != c"prelude" && source != c"[C]"
                || ffi::lua_getstack(state, level, activation) == 0
            {
                break;
            }
        }
        let place = (*activation).short_src.as_ptr();
        let line = (*activation).currentline;
        ffi::lua_pushfstring(state, c"%s:%d: %s".as_ptr(), place, line, words.as_ptr());
        ffi::lua_error(state);
    }
}

/// Indices on the stack of a [`Hot`]'s coroutine.
const REQUEST: c_int = 1;
const RESPONSE: c_int = 2;
const DELAY: c_int = 3;
const SHOW: c_int = 4;
const SHOWN: c_int = 5;
const DESCRIBE: c_int = 6;
const BASE: c_int = 6;

/// The functions that are called for each request.
#[derive(Debug)]
pub(crate) struct Hot {
    state: *mut lua_State,
    /// The arguments of `response`. Their address is on the stack already, because pushing it could
    /// need memory, which a sandbox may not have.
    shown: Box<UnsafeCell<Shown>>,
}

// SAFETY: a `Hot` is used by one thread at a time, and so is its state: see the module's rules.
unsafe impl Send for Hot {}

impl Hot {
    /// Makes the coroutine, with the names of the functions on its stack.
    pub(crate) fn new(lua: &Lua) -> mlua::Result<Self> {
        let mut made = std::ptr::null_mut();
        let shown = Box::new(UnsafeCell::new(Shown::default()));
        // SAFETY: the closure runs below a protected call; `lua_ref` anchors the coroutine.
        unsafe {
            lua.exec_raw::<()>((), |state| {
                let own = ffi::lua_newthread(state);
                ffi::luaL_ref(state, ffi::LUA_REGISTRYINDEX);
                ffi::luaL_checkstack(own, 40, std::ptr::null());
                for name in [c"request", c"response", c"delay"] {
                    ffi::lua_pushstring(own, name.as_ptr());
                }
                ffi::lua_pushcfunction(own, show);
                ffi::lua_pushlightuserdata(own, shown.get().cast());
                ffi::lua_pushcfunction(own, describe);
                made = own;
            })?;
        }
        Ok(Hot { state: made, shown })
    }

    /// Calls `request` and lends its text to `take`.
    #[inline]
    pub(crate) fn request<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Result<T, String> {
        let state = self.state;
        // SAFETY: the stack has `BASE` values and room. The pushed value comes from the stack; a
        // raw get of a table raises nothing; the call is protected. The text is anchored on the
        // stack while it is lent, and Lua does not run meanwhile.
        unsafe {
            self.push_global(REQUEST);
            if ffi::lua_pcall(state, 0, 1, 0) != ffi::LUA_OK {
                return Err(self.take_error());
            }
            let kind = ffi::lua_type(state, -1);
            if kind != ffi::LUA_TSTRING {
                let name = CStr::from_ptr(ffi::lua_typename(state, kind)).to_string_lossy();
                let problem =
                    format!("it returned {name}, not a string; return what wrk.format() returns");
                ffi::lua_settop(state, BASE);
                return Err(problem);
            }
            let mut bytes = 0;
            let text = ffi::lua_tolstring(state, -1, &mut bytes);
            let taken = take(std::slice::from_raw_parts(text.cast(), bytes));
            ffi::lua_settop(state, BASE);
            Ok(taken)
        }
    }

    /// Calls `response`, if it is still a function.
    #[inline]
    pub(crate) fn response(&mut self, status: u16, answer: Captured<'_>) -> Result<(), String> {
        let state = self.state;
        // SAFETY: as above; `show` builds the arguments below the protected call, and alone reads
        // `shown`, which lives until it has returned.
        unsafe {
            *self.shown.get() = Shown {
                status,
                fields: answer.fields.as_ptr(),
                fields_bytes: answer.fields.len(),
                body: answer.body.as_ptr(),
                body_bytes: answer.body.len(),
            };
            ffi::lua_pushvalue(state, SHOW);
            self.push_global(RESPONSE);
            if ffi::lua_type(state, -1) != ffi::LUA_TFUNCTION {
                ffi::lua_settop(state, BASE);
                return Ok(());
            }
            ffi::lua_pushvalue(state, SHOWN);
            if ffi::lua_pcall(state, 2, 0, 0) != ffi::LUA_OK {
                return Err(self.take_error());
            }
            Ok(())
        }
    }

    /// Calls `delay`: milliseconds.
    pub(crate) fn delay(&mut self) -> Result<f64, String> {
        let state = self.state;
        // SAFETY: as above.
        unsafe {
            self.push_global(DELAY);
            if ffi::lua_pcall(state, 0, 1, 0) != ffi::LUA_OK {
                return Err(self.take_error());
            }
            let is_number = ffi::lua_type(state, -1) == ffi::LUA_TNUMBER;
            let delay_ms = ffi::lua_tonumber(state, -1);
            ffi::lua_settop(state, BASE);
            if is_number && delay_ms.is_finite() && delay_ms >= 0.0 {
                Ok(delay_ms)
            } else {
                Err("it must return a number of milliseconds, 0 or more".to_owned())
            }
        }
    }

    /// Pushes the global whose name is at `name`: scripts replace their functions.
    ///
    /// # Safety
    /// The stack has a string there.
    unsafe fn push_global(&mut self, name: c_int) {
        // SAFETY: the caller's; a raw get calls no metamethod.
        unsafe {
            ffi::lua_pushvalue(self.state, name);
            ffi::lua_rawget(self.state, ffi::LUA_GLOBALSINDEX);
        }
    }

    /// The error on top of the stack, as text.
    ///
    /// # Safety
    /// A call has just failed.
    #[cold]
    unsafe fn take_error(&mut self) -> String {
        // SAFETY: the caller's. A string is looked at in place; an error of Rust's is described
        // below a protected call; other values are named only, as converting them could raise an
        // error.
        unsafe {
            if ffi::lua_type(self.state, -1) == ffi::LUA_TUSERDATA {
                ffi::lua_pushvalue(self.state, DESCRIBE);
                ffi::lua_insert(self.state, -2);
                // If that fails, its own error is on top.
                let _ = ffi::lua_pcall(self.state, 1, 1, 0);
            }
            let kind = ffi::lua_type(self.state, -1);
            let message = if kind == ffi::LUA_TSTRING {
                let mut bytes = 0;
                let text = ffi::lua_tolstring(self.state, -1, &mut bytes);
                let bytes = bytes.min(2 * MOST_WORDS);
                let text = std::slice::from_raw_parts(text.cast(), bytes);
                crate::error::first_part(&String::from_utf8_lossy(text))
            } else {
                let name = CStr::from_ptr(ffi::lua_typename(self.state, kind)).to_string_lossy();
                format!("error with a {name} instead of a message")
            };
            ffi::lua_settop(self.state, BASE);
            message
        }
    }
}

/// Called with an error that is userdata: the text of it.
unsafe extern "C-unwind" fn describe(state: *mut lua_State) -> c_int {
    // SAFETY: called by `Hot::take_error` alone, below its protected call and with one argument.
    // No frame here has anything to drop.
    unsafe {
        ffi::luaL_tolstring(state, 1, std::ptr::null_mut());
        1
    }
}

/// A response on its way to `response`.
#[derive(Debug)]
#[repr(C)]
struct Shown {
    status: u16,
    fields: *const u8,
    fields_bytes: usize,
    body: *const u8,
    body_bytes: usize,
}

impl Default for Shown {
    fn default() -> Self {
        let (fields, body) = (std::ptr::null(), std::ptr::null());
        Shown { status: 0, fields, fields_bytes: 0, body, body_bytes: 0 }
    }
}

/// Called with `response` and a [`Shown`]: calls the function with the values of the other.
unsafe extern "C-unwind" fn show(state: *mut lua_State) -> c_int {
    // SAFETY: called by `Hot::response` alone, below its protected call and with these arguments.
    // No frame here has anything to drop.
    unsafe {
        let shown = &*ffi::lua_touserdata(state, 2).cast::<Shown>();
        ffi::lua_pushvalue(state, 1);
        ffi::lua_pushinteger(state, shown.status as ffi::lua_Integer);
        ffi::lua_createtable(state, 0, 8);
        let mut rest = std::slice::from_raw_parts(shown.fields, shown.fields_bytes);
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if let Some(colon) = line.iter().position(|&byte| byte == b':') {
                let value = line[colon + 1..].trim_ascii();
                ffi::lua_pushlstring(state, line.as_ptr().cast(), colon);
                ffi::lua_pushlstring(state, value.as_ptr().cast(), value.len());
                ffi::lua_rawset(state, -3);
            }
        }
        ffi::lua_pushlstring(state, shown.body.cast(), shown.body_bytes);
        ffi::lua_call(state, 3, 0);
        0
    }
}

/// The strings that `format` needs, kept as upvalues to save look-ups.
const TEXTS: [&CStr; 12] = [
    c"method",
    c"path",
    c"headers",
    c"body",
    c"wrk",
    c"Host",
    c"Content-Length",
    c" ",
    c" HTTP/1.1\r\n",
    c": ",
    c"\r\n",
    c"Content-Length: ",
];
const METHOD: c_int = 1;
const PATH: c_int = 2;
const HEADERS: c_int = 3;
const BODY: c_int = 4;
const WRK: c_int = 5;
const HOST: c_int = 6;
const LENGTH: c_int = 7;
const SPACE: c_int = 8;
const VERSION: c_int = 9;
const COLON: c_int = 10;
const END: c_int = 11;
const LENGTH_IS: c_int = 12;

/// `wrk.format(method, path, headers, body)`; omitted arguments come from `wrk`.
pub(crate) fn format_function(lua: &Lua) -> mlua::Result<Function> {
    // SAFETY: the closure runs below a protected call, and leaves the function as its result.
    unsafe {
        lua.exec_raw((), |state| {
            ffi::luaL_checkstack(state, TEXTS.len() as c_int + 1, std::ptr::null());
            for text in TEXTS {
                ffi::lua_pushstring(state, text.as_ptr());
            }
            ffi::lua_pushcclosure(state, format, TEXTS.len() as c_int);
        })
    }
}

unsafe extern "C-unwind" fn format(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this below a protected call, with a valid state and the upvalues above.
    // The pieces are put on Lua's stack and joined there, so no frame has anything to drop.
    unsafe {
        let upvalue = |index| ffi::lua_upvalueindex(index);
        ffi::lua_settop(state, 4);
        ffi::lua_pushvalue(state, upvalue(WRK));
        ffi::lua_gettable(state, ffi::LUA_GLOBALSINDEX);
        for index in [METHOD, PATH, HEADERS, BODY] {
            if ffi::lua_toboolean(state, index) == 0 {
                ffi::lua_pushvalue(state, upvalue(index));
                ffi::lua_gettable(state, WRK);
                ffi::lua_replace(state, index);
            }
        }
        ffi::luaL_checktype(state, HEADERS, ffi::LUA_TTABLE);
        ffi::lua_pushvalue(state, METHOD);
        ffi::lua_pushvalue(state, upvalue(SPACE));
        ffi::lua_pushvalue(state, PATH);
        ffi::lua_pushvalue(state, upvalue(VERSION));
        // The Host of wrk.headers is added to any other table of headers.
        ffi::lua_pushvalue(state, upvalue(HOST));
        ffi::lua_gettable(state, HEADERS);
        let has_host = ffi::lua_type(state, -1) != ffi::LUA_TNIL;
        ffi::lua_pop(state, 1);
        if !has_host {
            ffi::lua_pushvalue(state, upvalue(HOST));
            ffi::lua_pushvalue(state, upvalue(COLON));
            ffi::lua_pushvalue(state, upvalue(HEADERS));
            ffi::lua_gettable(state, WRK);
            ffi::lua_pushvalue(state, upvalue(HOST));
            ffi::lua_gettable(state, -2);
            ffi::lua_remove(state, -2);
            ffi::lua_pushvalue(state, upvalue(END));
            if ffi::lua_type(state, -2) == ffi::LUA_TNIL {
                ffi::lua_pop(state, 4);
            }
        }
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, HEADERS) != 0 {
            if ffi::lua_rawequal(state, -2, upvalue(LENGTH)) != 0 {
                // Content-Length is computed from the body.
                ffi::lua_pop(state, 1);
                continue;
            }
            ffi::luaL_checkstack(state, 12, c"too many headers".as_ptr());
            if ffi::lua_type(state, -1) == ffi::LUA_TBOOLEAN {
                let text = if ffi::lua_toboolean(state, -1) != 0 { c"true" } else { c"false" };
                ffi::lua_pop(state, 1);
                ffi::lua_pushstring(state, text.as_ptr());
            }
            // Name and value become `name: value CRLF`, and the name once more, for the next step.
            ffi::lua_pushvalue(state, upvalue(COLON));
            ffi::lua_insert(state, -2);
            ffi::lua_pushvalue(state, upvalue(END));
            ffi::lua_pushvalue(state, -4);
        }
        if ffi::lua_toboolean(state, BODY) != 0 {
            let mut bytes = 0;
            ffi::luaL_checklstring(state, BODY, &mut bytes);
            ffi::lua_pushvalue(state, upvalue(LENGTH_IS));
            ffi::lua_pushinteger(state, bytes as ffi::lua_Integer);
            ffi::lua_pushvalue(state, upvalue(END));
            ffi::lua_pushvalue(state, upvalue(END));
            ffi::lua_pushvalue(state, BODY);
        } else {
            ffi::lua_pushvalue(state, upvalue(END));
        }
        ffi::lua_concat(state, ffi::lua_gettop(state) - WRK);
        1
    }
}

/// A state with all of Lua's libraries, as wrk's scripts have them.
pub(crate) fn open_all(options: mlua::LuaOptions) -> Lua {
    // SAFETY: a script with `debug` and `ffi` can break anything in the process, as in wrk. It is
    // the user's own; an untrusted script gets a sandbox.
    unsafe { Lua::unsafe_new_with(mlua::StdLib::ALL, options) }
}

unsafe extern "C" {
    fn luaJIT_setmode(state: *mut lua_State, index: c_int, mode: c_int) -> c_int;
    fn fflush(stream: *mut c_void) -> c_int;
}

/// Flushes C's buffers, through which Lua prints and which Rust's output does not share.
pub(crate) fn flush_output() {
    // SAFETY: a null pointer flushes all streams; C's streams lock themselves. Errors are ignored,
    // as `print` itself does.
    unsafe { fflush(std::ptr::null_mut()) };
}

/// A mode: LuaJIT calls every C function through the one on the stack.
const WRAP_C_FUNCTIONS: c_int = 0x0110;

/// Makes LuaJIT call functions of Rust through [`widen`]. It must be asked for in every state before
/// anything else: on x86-64 LuaJIT takes the number of results from all 64 bits of the register in
/// which a function returns it, although the ABI leaves the upper half of an `int` undefined, and
/// leftovers there would make LuaJIT read out of bounds.
pub(crate) fn call_widened(lua: &Lua) -> mlua::Result<()> {
    let widen: unsafe extern "C-unwind" fn(*mut lua_State, ffi::lua_CFunction) -> usize = widen;
    // SAFETY: the closure runs below a protected call, and leaves the stack as it was.
    let set: bool = unsafe {
        lua.exec_raw((), |state| {
            ffi::lua_pushlightuserdata(state, widen as *mut c_void);
            let set = luaJIT_setmode(state, -1, WRAP_C_FUNCTIONS);
            ffi::lua_pop(state, 1);
            ffi::lua_pushboolean(state, set);
        })?
    };
    if set { Ok(()) } else { Err(mlua::Error::runtime("LuaJIT takes no wrapper of C functions")) }
}

/// Calls `function`, and returns its number of results in a whole register.
unsafe extern "C-unwind" fn widen(state: *mut lua_State, function: ffi::lua_CFunction) -> usize {
    // SAFETY: LuaJIT calls this with a valid state and function. No frame here has anything to drop
    // when `function` raises an error. LuaJIT tests for -1 (a yield) only in the lower half.
    unsafe { function(state) as u32 as usize }
}

#[cfg(test)]
mod tests {
    use mlua::{Lua, UserData, UserDataMethods, Value};

    struct Data;

    impl UserData for Data {
        fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
            methods.add_meta_method("__index", |_, _, _: Value| Ok(Value::Nil));
        }
    }

    #[test]
    fn finalises_data_of_rust_while_a_state_runs_and_when_it_closes() {
        let lua = Lua::new();
        super::call_widened(&lua).unwrap();
        lua.globals().set("one", Data).unwrap();
        lua.load("one = nil collectgarbage() collectgarbage()").exec().unwrap();
        lua.globals().set("one", Data).unwrap();
        drop(lua);
    }
}
