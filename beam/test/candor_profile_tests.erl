%% Which processes a profile is of.
-module(candor_profile_tests).
-include_lib("eunit/include/eunit.hrl").

%% The server's processes and those that they start; not the caller's, nor the runtime's, nor those
%% of an application of the runtime.
scopes_test() ->
    {ok, _} = application:ensure_all_started(ssl),
    Test = self(),
    Before = group_leader(),
    Waiting = fun() -> receive stop -> ok end end,
    Other = spawn(Waiting),
    {Server, Child} = candor_profile:marked(fun() ->
        Parent = spawn(fun() -> Test ! {child, spawn(Waiting)}, Waiting() end),
        %% The group leader takes what is printed, as any does.
        ok = io:put_chars(""),
        {Parent, receive {child, Process} -> Process end}
    end),
    ?assertEqual(Before, group_leader()),
    Here = fun(Scope) -> [lists:member(Process, candor_profile:processes(Scope))
                          || Process <- [Server, Child, Other, whereis(init), whereis(ssl_sup)]] end,
    ?assertEqual([true, true, false, false, false], Here(server)),
    ?assertEqual([true, true, true, true, true], Here(all)),
    [exit(Process, kill) || Process <- [Server, Child, Other]].

%% Servers whose processes are under an application of their own.
application_test() ->
    ok = application:ensure_started(inets),
    ?assert(lists:member(whereis(inets_sup), candor_profile:processes(server))).

unwritable_test() ->
    ?assertEqual({ok, none}, candor_profile:start(#{profile => none})),
    {error, Why} = candor_profile:start(#{profile => eprof, profile_output => "/no/such/folder/profile"}),
    ?assertEqual("cannot write /no/such/folder/profile: no such file or directory", lists:flatten(Why)).
