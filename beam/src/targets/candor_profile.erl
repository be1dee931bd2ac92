%% A profiler of OTP's around the measured window: eprof (time per function) or fprof (calls, too).
%%
%% The window is counted from the first response, so that it can leave out the loader's warm-up
%% without any exchange with the loader. The scope decides whose time it is: of the server's
%% processes, or of all of the runtime's, which shows what TLS costs. A profiled server is slower by
%% a factor: its figures are not comparable, and the STATS document says that it is profiled.
-module(candor_profile).
-export([marked/1, start/1, finish/1, processes/1]).
-export_type([scope/0]).

-type scope() :: server | all.

%% The group leader of the server's processes.
-define(MARK, candor_server_processes).
%% Applications that are no part of a server, though all of them run in its runtime.
-define(RUNTIME, [kernel, ssl, elixir, logger]).
%% A process that ends between being listed and being traced makes the profilers give up. One that
%% is older than this will probably stay; younger ones were started by older ones, as the next will be.
-define(OLD_MS, 100).
-define(TRIES, 5).

%% Starts a server so that its processes can be told from the others: a group leader of its own is
%% inherited by every process that begins there. To be called once.
-spec marked(fun(() -> Result)) -> Result.
marked(Start) ->
    Real = group_leader(),
    register(?MARK, spawn(fun() -> relay(Real) end)),
    group_leader(whereis(?MARK), self()),
    try Start() after group_leader(Real, self()) end.

relay(To) -> receive Message -> To ! Message, relay(To) end.

%% The processes in a scope at this moment, without the profiler and the watch. An application that
%% started before the server has a group leader of its own, as ranch has under cowboy.
-spec processes(scope()) -> [pid()].
processes(Scope) ->
    [Process || Process <- processes() -- [self() | [whereis(Name) || Name <- [eprof, fprof_server, candor_stats]]],
                is_within(Scope, Process)].

is_within(all, _) -> true;
is_within(server, Process) ->
    case application:get_application(Process) of
        {ok, Name} -> not lists:member(Name, ?RUNTIME);
        undefined -> process_info(Process, group_leader) =:= {group_leader, whereis(?MARK)}
    end.

%% Waits for the first response, then for `profile_after`, then profiles for `profile_for` or until
%% finish/1.
-spec start(#{atom() => term()}) -> {ok, pid() | none} | {error, iodata()}.
start(#{profile := none}) -> {ok, none};
start(#{profile_output := File} = Options) ->
    case file:write_file(File, "") of
        ok ->
            {ok, spawn(fun() ->
                %% The profilers also print their report.
                {ok, Nowhere} = file:open("/dev/null", [write]),
                group_leader(Nowhere, self()),
                Said = profile(Options),
                _ = filelib:file_size(File) =:= 0 andalso file:delete(File),
                candor_console:say(["candor target: ", Said])
            end)};
        {error, Reason} -> {error, ["cannot write ", File, ": ", file:format_error(Reason)]}
    end.

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

profile(#{profile_after := After} = Options) ->
    case await_answer() of
        finish -> "no request came, so there is no profile";
        answered ->
            receive finish -> "it ended before the window began, so there is no profile"
            after After -> window(Options)
            end
    end.

await_answer() ->
    case candor_counter:answered() of
        0 -> receive finish -> finish after 5 -> await_answer() end;
        _ -> answered
    end.

window(#{profile := Kind, profile_scope := Scope, profile_for := For, profile_output := File}) ->
    case begin_profile(Kind, Scope, File, ?TRIES) of
        ok ->
            candor_console:say(["candor target: profiles ", profiled(Scope)]),
            receive finish -> ok after For -> ok end,
            ok = end_profile(Kind, File),
            ["profile of ", profiled(Scope), " in ", File, "; the figures of this run are not comparable"];
        error -> "processes ended faster than they could be traced, so there is no profile"
    end.

profiled(server) -> "the server's processes";
profiled(all) -> "all processes".

%% Processes that those of the scope start are included.
begin_profile(_, _, _, 0) -> error;
begin_profile(Kind, Scope, File, Tries) ->
    _ = Kind:start(),
    Listed = processes(Scope),
    timer:sleep(?OLD_MS),
    case traced(Kind, [Process || Process <- Listed, is_process_alive(Process)], File) of
        true -> ok;
        false -> begin_profile(Kind, Scope, File, Tries - 1)
    end.

traced(eprof, Processes, _) -> eprof:start_profiling(Processes) =:= profiling;
traced(fprof, Processes, File) ->
    try fprof:trace([start, {file, raw(File)}, {procs, Processes}]) =:= ok catch exit:_ -> false end.

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
