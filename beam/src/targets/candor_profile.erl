%% A profiler of OTP's around the measured window: eprof (time per function) or fprof (calls, too).
%%
%% The window is counted from the first response, so that it can leave out the loader's warm-up
%% without any exchange with the loader. A profiled server is slower by a factor: its figures are
%% not comparable, and the STATS document says that it is profiled.
-module(candor_profile).
-export([start/1, finish/1]).

%% Waits for the first response, then for `profile_after`, then profiles for `profile_for` or until
%% finish/1.
-spec start(#{atom() => term()}) -> pid() | none.
start(#{profile := none}) -> none;
start(#{profile := Kind, profile_after := After, profile_for := For, profile_output := File}) ->
    spawn(fun() ->
        %% The profilers also print their report.
        {ok, Nowhere} = file:open("/dev/null", [write]),
        group_leader(Nowhere, self()),
        candor_console:say(["candor target: ", profile(Kind, After, For, File)])
    end).

%% Ends the window, if it is not over, and waits until the profile is written.
-spec finish(pid() | none) -> ok.
finish(none) -> ok;
finish(Process) ->
    Monitor = monitor(process, Process),
    Process ! finish,
    receive
        {'DOWN', Monitor, process, Process, _} -> ok
    after 60000 -> candor_console:say("candor target: gave up writing the profile after a minute")
    end.

profile(Kind, After, For, File) ->
    case await_answer() of
        finish -> "no request came, so there is no profile";
        answered ->
            receive finish -> "it ended before the window began, so there is no profile"
            after After ->
                ok = begin_profile(Kind, File),
                receive finish -> ok after For -> ok end,
                ok = end_profile(Kind, File),
                ["profile in ", File, "; the figures of this run are not comparable"]
            end
    end.

await_answer() ->
    case candor_target:answered() of
        0 -> receive finish -> finish after 5 -> await_answer() end;
        _ -> answered
    end.

%% All processes except the profiler, this one and the watch; processes that they start are
%% included.
begin_profile(eprof, _) ->
    {ok, Eprof} = eprof:start(),
    profiling = eprof:start_profiling(processes() -- [self(), Eprof, whereis(candor_stats)]),
    ok;
begin_profile(fprof, File) ->
    {ok, Fprof} = fprof:start(),
    fprof:trace([start, {file, raw(File)}, {procs, processes() -- [self(), Fprof, whereis(candor_stats)]}]).

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
