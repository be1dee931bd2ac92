%% A profiler of OTP's around the measured window: eprof (time per function) or fprof (calls, too).
%%
%% The window is counted from the first answer, so that a loader's warm-up can be left out without the two
%% having to talk. A profiled server is slower by a factor: its figures compare with nothing, and the
%% STATS document says that it is profiled.
-module(candor_profile).
-export([start/1, finish/1]).

%% Waits for the first answer, then for `profile_after`, then profiles for `profile_for` or until finish/1.
-spec start(#{atom() => term()}) -> pid() | none.
start(#{profile := none}) -> none;
start(#{profile := Kind, profile_after := After, profile_for := For, profile_output := File}) ->
    Main = self(),
    spawn(fun() ->
        await_answer(Main),
        receive finish -> Main ! {self(), "nothing was measured: no profile"}
        after After ->
            ok = begin_profile(Kind, File),
            receive finish -> ok after For -> ok end,
            ok = end_profile(Kind, File),
            candor_console:say(["profile: ", File, " (the figures of this run are not comparable)"]),
            Main ! {self(), done}
        end
    end).

%% Ends the window, if it is not over, and waits until the profile is written.
-spec finish(pid() | none) -> ok.
finish(none) -> ok;
finish(Process) ->
    Process ! finish,
    receive
        {Process, done} -> ok;
        {Process, Line} -> candor_console:say(Line)
    after 60000 -> candor_console:say("profile: gave up writing it after a minute")
    end.

await_answer(Main) ->
    case candor_target:answered() of
        0 -> receive finish -> Main ! {self(), "no request came: no profile"}, exit(normal) after 5 -> await_answer(Main) end;
        _ -> ok
    end.

%% Everything but the profiler and this process; what they make is included.
begin_profile(eprof, _) ->
    {ok, Eprof} = eprof:start(),
    profiling = eprof:start_profiling(processes() -- [self(), Eprof]),
    ok;
begin_profile(fprof, File) ->
    {ok, Fprof} = fprof:start(),
    fprof:trace([start, {file, raw(File)}, {procs, processes() -- [self(), Fprof]}]).

end_profile(eprof, File) ->
    _ = eprof:stop_profiling(),
    ok = eprof:log(File),
    ok = eprof:analyze(total),
    _ = eprof:stop(),
    ok;
end_profile(fprof, File) ->
    ok = fprof:trace(stop),
    ok = fprof:profile([{file, raw(File)}]),
    ok = fprof:analyse([{dest, File}, {totals, true}]),
    file:delete(raw(File)).

raw(File) -> File ++ ".trace".
