%% dlhttpc: a pool of connections with a limit; beyond it a caller is told so at once.
-module(candor_client_dlhttpc).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{dlhttpc, dlhttpc, "dlhttpc"}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, {pos_integer(), pos_integer()}}.
start(Pool, #{timeout_ms := Timeout}) -> {ok, {Pool, Timeout}}.

-spec request(binary(), {pos_integer(), pos_integer()}) -> candor_client:outcome().
request(Url, {Pool, Timeout}) ->
    Options = [{max_connections, Pool}, {connect_timeout, Timeout}],
    case dlhttpc:request(binary_to_list(Url), get, [], [], Timeout, Options) of
        {ok, {{Status, _}, _, Body}} -> {ok, Status, iolist_size(Body)};
        {error, overload} -> {error, 'pool-timeout', overload};
        {error, Reason} -> candor_client:outcome(Reason)
    end.

-spec stop({pos_integer(), pos_integer()}) -> ok.
stop(_) ->
    _ = application:stop(dlhttpc),
    {ok, _} = application:ensure_all_started(dlhttpc),
    ok.
