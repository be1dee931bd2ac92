%% katipo: libcurl behind ports. The pool's size is that of its workers' connections to a host.
-module(candor_client_katipo).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-define(POOL, candor).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{katipo, katipo, "katipo"}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, pos_integer()} | {error, term()}.
start(Pool, #{timeout_ms := Timeout}) ->
    case katipo_pool:start(?POOL, erlang:system_info(schedulers), [{max_total_connections, Pool}]) of
        {ok, _} -> {ok, Timeout};
        {error, Reason} -> {error, Reason}
    end.

-spec request(binary(), pos_integer()) -> candor_client:outcome().
request(Url, Timeout) ->
    case katipo:get(?POOL, Url, #{timeout_ms => Timeout, connecttimeout_ms => Timeout}) of
        {ok, #{status := Status, body := Body}} -> {ok, Status, iolist_size(Body)};
        {error, #{code := operation_timedout} = Reason} -> {error, timeout, Reason};
        {error, #{code := couldnt_connect} = Reason} -> {error, refused, Reason};
        {error, #{code := got_nothing} = Reason} -> {error, closed, Reason};
        {error, Reason} -> candor_client:outcome(Reason)
    end.

-spec stop(pos_integer()) -> ok.
stop(_) ->
    _ = katipo_pool:stop(?POOL),
    ok.
