//! A plan's script in all its states, from `setup` to `done`.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use candor_engine::script::{Calls, Script as EngineScript, Scripts};
use candor_plan::{Plan, Request, Script};
use candor_protocol::made::Batch;
use candor_record::RunRecord;
use mlua::{AnyUserData, Table};

use crate::error::{ScriptError, words};
use crate::hooks::{FirstFailure, Hooks};
use crate::raw::{self, Hot};
use crate::state::State;
use crate::stats::{Stats, summary};
use crate::thread::{Shared, ThreadHandle};
use crate::watch::Watch;

/// A script that was loaded and prepared.
pub struct Program {
    failure: FirstFailure,
    /// Declared before the states, so that it is dropped before they close.
    _watch: Watch,
    main: State,
    threads: Vec<(State, Arc<Shared>)>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program of {} threads", self.threads.len())
    }
}

impl Program {
    /// Loads `script` into a main state and one for each of `threads`; then, for each of these,
    /// `setup` in the main state and `init` in its own, as wrk does.
    pub fn load(plan: &Plan, script: &Script, threads: u32) -> Result<Program, ScriptError> {
        let limit = Duration::from_nanos(script.limits.call_ns);
        let watch = Watch::new(limit).map_err(|error| ScriptError::Load(error.to_string()))?;
        let main = State::new(plan, script, &watch, None)?;
        main.load(script)?;
        Program::resolve(&main)?;
        let mut program =
            Program { failure: FirstFailure::default(), _watch: watch, main, threads: Vec::new() };
        for _ in 0..threads {
            let shared = Arc::new(Shared::of(plan));
            let state = State::new(plan, script, &program._watch, Some(Arc::clone(&shared)))?;
            state.load(script)?;
            program.threads.push((state, shared));
            program.set_up(program.threads.len() - 1)?;
            program.init(program.threads.len() - 1, plan, script)?;
        }
        raw::flush_output();
        Ok(program)
    }

    /// `wrk.resolve(host, service)`, which a script may have.
    fn resolve(main: &State) -> Result<(), ScriptError> {
        let Some(resolve) = main.of_wrk("resolve") else { return Ok(()) };
        let outcome = main.call(|| {
            let wrk = main.lua.globals().raw_get::<Table>("wrk")?;
            let of = |name| wrk.raw_get::<mlua::Value>(name);
            let port = of("port")?;
            let service = if port.is_nil() { of("scheme")? } else { port };
            resolve.call::<()>((of("host")?, service))
        });
        outcome.map_err(|error| main.failed("wrk.resolve", &error))
    }

    /// `wrk.setup(thread)`, which calls `setup` if the script did not replace it.
    fn set_up(&self, index: usize) -> Result<(), ScriptError> {
        let Some(setup) = self.main.of_wrk("setup") else { return Ok(()) };
        let handle = self.handle(index);
        let outcome = self.main.call(|| setup.call::<()>(handle?));
        outcome.map_err(|error| self.main.failed("setup", &error))
    }

    /// `wrk.init(args)`, which calls `init` if the script did not replace it, with the URL at index 0.
    fn init(&self, index: usize, plan: &Plan, script: &Script) -> Result<(), ScriptError> {
        let (state, _) = &self.threads[index];
        let Some(init) = state.of_wrk("init") else { return Ok(()) };
        let outcome = state.call(|| {
            let arguments = state.lua.create_table()?;
            arguments.set(0, plan.target.url.as_str())?;
            for (index, argument) in script.arguments.iter().enumerate() {
                arguments.set(index + 1, argument.as_str())?;
            }
            init.call::<()>(arguments)
        });
        outcome.map_err(|error| state.failed("init", &error))
    }

    fn handle(&self, index: usize) -> mlua::Result<AnyUserData> {
        let (state, shared) = &self.threads[index];
        let other = Some(state.lua.clone());
        self.main.lua.create_userdata(ThreadHandle { shared: Arc::clone(shared), other })
    }

    /// The engine's scripts, one for each thread.
    pub fn scripts(&self, plan: &Plan) -> Result<Scripts, ScriptError> {
        let body_limit = plan.work.script().map_or(0, |script| script.limits.body_bytes);
        let mut all: Vec<Box<dyn EngineScript>> = Vec::new();
        for (state, shared) in &self.threads {
            let has = |name| state.function(name).is_some();
            let request = if has("request") { None } else { fixed_request(state, plan)? };
            let make = request.is_none();
            let calls = Calls { make, answer: has("response"), delay: has("delay") };
            let hot = Hot::new(&state.lua).map_err(|error| ScriptError::Load(words(&error)))?;
            all.push(Box::new(Hooks {
                hot,
                seat: Arc::clone(&state.seat),
                shared: Arc::clone(shared),
                request,
                calls,
                body_limit,
                failure: Arc::clone(&self.failure),
                states: state.states.clone(),
                _lua: state.lua.clone(),
            }));
        }
        Ok(Scripts::new(all))
    }

    /// After the run: prints the scripts' pending output before any other output follows. An error
    /// if the script failed during the run.
    pub fn ended(&self) -> Result<(), ScriptError> {
        raw::flush_output();
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        failure.map_or(Ok(()), Err)
    }

    /// `done(summary, latency, requests)`.
    pub fn done(&self, plan: &Plan, record: &RunRecord) -> Result<(), ScriptError> {
        let Some(done) = self.main.function("done") else { return Ok(()) };
        let lua = &self.main.lua;
        let outcome = self.main.call(|| {
            let arguments =
                (summary(lua, record)?, Stats::latency(plan, record), Stats::requests(record));
            done.call::<()>(arguments)
        });
        raw::flush_output();
        outcome.map_err(|error| self.main.failed("done", &error))
    }
}

/// The request of a script that makes none: the text of `wrk.request()` after `init`. It goes into
/// the plan, so that such a script costs nothing. `None` if the script replaced that function and
/// its text has chunks: a plan cannot contain such a request, so the script keeps making it.
fn fixed_request(state: &State, plan: &Plan) -> Result<Option<Request>, ScriptError> {
    let Some(base) = plan.work.requests().first() else { return Ok(None) };
    let formatted = state.call(|| state.lua.load("return wrk.request()").eval::<mlua::LuaString>());
    let text = formatted.map_err(|error| state.failed("wrk.request", &error))?;
    let mut batch = Batch::new(0);
    let wrong = |message: String| ScriptError::Load(format!("the request of wrk: {message}"));
    batch.fill(&text.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let Some(made) = batch.take() else { return Ok(None) };
    if made.is_chunked() {
        let make = state.call(|| state.lua.load("request = wrk.request").exec());
        return make.map(|()| None).map_err(|error| wrong(words(&error)));
    }
    let utf8 = |bytes: &[u8]| {
        String::from_utf8(bytes.to_vec())
            .map_err(|_| wrong("method, path and headers must be UTF-8".to_owned()))
    };
    let headers: Result<Vec<_>, ScriptError> =
        made.fields().map(|(name, value)| Ok((utf8(name)?, utf8(value)?))).collect();
    Ok(Some(Request {
        method: utf8(made.method())?,
        path: utf8(made.path())?,
        headers: headers?,
        body: made.body().as_ref().into(),
        ..base.clone()
    }))
}
