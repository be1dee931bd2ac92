//! One Lua state with the API in it and the script loaded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_plan::{Plan, Script};
use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value};

use crate::error::{ScriptError, words};
use crate::raw;
use crate::sandbox;
use crate::seat::Seat;
use crate::thread::{Shared, ThreadHandle, connect, lookup};
use crate::user;
use crate::watch::Watch;

/// A state. A clone of `lua` keeps it open.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) lua: Lua,
    pub(crate) seat: Arc<Seat>,
    /// The states of users, by their places.
    pub(crate) states: Table,
}

impl State {
    /// A state with the API, in which the script has not run yet.
    pub(crate) fn new(
        plan: &Plan,
        script: &Script,
        watch: &Watch,
        shared: Option<Arc<Shared>>,
    ) -> Result<Self, ScriptError> {
        let lua = open(script.sandbox);
        let limit = Duration::from_nanos(script.limits.call_ns);
        let most = script.sandbox.then_some(script.limits.instructions);
        let seat = Arc::new(Seat::new(limit, most));
        let made: mlua::Result<Table> = (|| {
            raw::call_widened(&lua)?;
            let pointer = raw::attach(&lua, &seat)?;
            // The state keeps alive the seat that it points to.
            lua.set_app_data(Arc::clone(&seat));
            watch.add(Arc::clone(&seat), pointer);
            let states = lua.create_table()?;
            let user = user::given(&lua, plan, shared.as_ref(), &seat, &states)?;
            let given = given(&lua, plan, shared)?;
            given.set("user", user)?;
            let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude");
            prelude.call::<()>(given)?;
            if script.sandbox {
                sandbox::close(&lua, &seat)?;
                lua.set_memory_limit(script.limits.memory_bytes as usize)?;
            }
            Ok(states)
        })();
        let states = made.map_err(|error| ScriptError::Load(words(&error)))?;
        Ok(State { lua, seat, states })
    }

    /// Runs the script's own lines.
    pub(crate) fn load(&self, script: &Script) -> Result<(), ScriptError> {
        let (bytes, most) = (script.source.whole().len(), sandbox::MOST_SOURCE_BYTES);
        if script.sandbox && bytes > most {
            return Err(ScriptError::Load(format!(
                "{} has {bytes} bytes, and a sandbox loads {most} at most",
                script.path
            )));
        }
        let chunk = self.lua.load(script.source.whole()).set_name(format!("@{}", script.path));
        let chunk = chunk.set_mode(mlua::chunk::ChunkMode::Text);
        let loaded = self.call(|| chunk.exec());
        loaded.map_err(|error| match self.seat.is_late() {
            true => ScriptError::Late { function: None, message: words(&error) },
            false => ScriptError::Load(words(&error)),
        })
    }

    /// The failure of the function that was called last.
    pub(crate) fn failed(&self, function: &'static str, error: &mlua::Error) -> ScriptError {
        let message = words(error);
        match self.seat.is_late() {
            true => ScriptError::Late { function: Some(function), message },
            false => ScriptError::Call { function, message },
        }
    }

    /// A global function of the script, if there is one.
    pub(crate) fn function(&self, name: &str) -> Option<Function> {
        match self.lua.globals().raw_get(name) {
            Ok(Value::Function(function)) => Some(function),
            _ => None,
        }
    }

    /// A function in the table `wrk`, which a script may replace; otherwise the global one of that name.
    pub(crate) fn of_wrk(&self, name: &str) -> Option<Function> {
        let wrk = self.lua.globals().raw_get::<mlua::Table>("wrk");
        let own = wrk.and_then(|wrk| wrk.raw_get::<Function>(name)).ok();
        own.or_else(|| self.function(name))
    }

    /// Calls into the state, with the limits of a call.
    pub(crate) fn call<T>(&self, call: impl FnOnce() -> mlua::Result<T>) -> mlua::Result<T> {
        self.seat.enter();
        let outcome = call();
        self.seat.leave();
        match self.seat.excess() {
            // The script caught the error and returned normally.
            Some(words) if outcome.is_ok() => Err(mlua::Error::runtime(words.to_string_lossy())),
            _ => outcome,
        }
    }
}

/// A state with the libraries that the script may have.
fn open(sandbox: bool) -> Lua {
    let options = LuaOptions::new().catch_rust_panics(true);
    if sandbox {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT;
        // None of these is refused as unsafe.
        Lua::new_with(libraries, options).unwrap_or_default()
    } else {
        raw::open_all(options)
    }
}

/// The prelude's input for `wrk`.
fn given(lua: &Lua, plan: &Plan, shared: Option<Arc<Shared>>) -> mlua::Result<Table> {
    let given = lua.create_table()?;
    let scheme = plan.target.url.split_once("://").map_or("http", |(scheme, _)| scheme);
    let authority = plan.target.authority.as_str();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    given.set("scheme", scheme)?;
    // Debian's name of the machine, in the paths of libraries.
    given.set("machine", format!("{}-linux-gnu", std::env::consts::ARCH))?;
    given.set("host", host.trim_start_matches('[').trim_end_matches(']'))?;
    given.set("port", port)?;
    let headers = lua.create_table()?;
    headers.set("Host", authority)?;
    if let Some(request) = plan.work.requests().first() {
        given.set("method", request.method.as_str())?;
        given.set("path", request.path.as_str())?;
        for (name, value) in &request.headers {
            let name = if name.eq_ignore_ascii_case("host") { "Host" } else { name };
            headers.set(name, value.as_str())?;
        }
        if !request.body.is_empty() {
            given.set("body", lua.create_string(request.body.whole())?)?;
        }
    }
    given.set("headers", headers)?;
    given.set("format", raw::format_function(lua)?)?;
    given.set("lookup", lua.create_function(lookup)?)?;
    let allow = plan.target.allow.clone();
    let may_connect = move |_: &Lua, address| connect(allow.as_ref(), address);
    given.set("connect", lua.create_function(may_connect)?)?;
    let began = Instant::now();
    given.set(
        "time_us",
        lua.create_function(move |_, ()| Ok(began.elapsed().as_micros() as f64))?,
    )?;
    // The main state makes no requests.
    let own = shared.clone();
    let connection = move |_: &Lua, ()| Ok(own.as_ref().and_then(|own| own.connection()));
    given.set("connection", lua.create_function(connection)?)?;
    if let Some(shared) = shared {
        given.set("thread", ThreadHandle { shared, other: None })?;
    }
    Ok(given)
}
