%% dlhttpc: a pool of connections with a limit (dispcount). A caller is given one by a hash; if that one is taken it is told
%% so at once, though others may be free.
-module(candor_client_dlhttpc).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1, outcome/1]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{dlhttpc, dlhttpc, "dlhttpc"}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, {pos_integer(), pos_integer()}}.
start(Pool, #{timeout_ms := Timeout}) -> {ok, {Pool, Timeout}}.

-spec request(binary(), {pos_integer(), pos_integer()}) -> candor_client:outcome().
request(Url, {Pool, Timeout}) ->
    %% It makes a request in a process that is linked to the caller. If that one crashes it is an error, and not the end of
    %% the caller.
    process_flag(trap_exit, true),
    Options = [{max_connections, Pool}, {connect_timeout, Timeout}],
    outcome(dlhttpc:request(binary_to_list(Url), get, [], [], Timeout, Options)).

%% Its pool is dispcount's, by host and port, and would outlive it: the next cell would look for it for ever.
-spec stop({pos_integer(), pos_integer()}) -> ok.
stop(_) ->
    _ = [application:stop(Application) || Application <- [dlhttpc, dispcount]],
    {ok, _} = application:ensure_all_started(dlhttpc),
    ok.

-spec outcome({ok, {{integer(), string()}, list(), iodata()}} | {error, term()}) -> candor_client:outcome().
outcome({ok, {{Status, _}, _, Body}}) -> {ok, Status, iolist_size(Body)};
outcome({error, Reason}) when Reason =:= busy; Reason =:= overload -> {error, 'pool-timeout', Reason};
outcome({error, connection_closed}) -> {error, closed, connection_closed};
outcome({error, Reason}) -> candor_client:outcome(Reason).
