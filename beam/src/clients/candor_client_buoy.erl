%% buoy: a pool of connections without a queue, on shackle.
-module(candor_client_buoy).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{buoy, buoy, "buoy"}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, {tuple(), pos_integer()}} | {error, term()}.
start(Pool, #{url := Url, timeout_ms := Timeout}) ->
    Parsed = buoy_utils:parse_url(Url),
    case buoy_pool:start(Parsed, [{pool_size, Pool}, {backlog_size, 100000}]) of
        ok -> {ok, {Parsed, Timeout}};
        {error, Reason} -> {error, Reason}
    end.

%% Its answer is a record: state, status code, reason, headers, content length, body.
-spec request(binary(), {tuple(), pos_integer()}) -> candor_client:outcome().
request(_, {Url, Timeout}) ->
    case buoy:get(Url, #{timeout => Timeout}) of
        {ok, Response} when element(1, Response) =:= buoy_resp ->
            {ok, element(3, Response), body_bytes(element(tuple_size(Response), Response))};
        {error, no_socket} -> {error, 'pool-timeout', no_socket};
        {error, Reason} -> candor_client:outcome(Reason)
    end.

-spec stop({tuple(), pos_integer()}) -> ok.
stop({Url, _}) ->
    _ = buoy_pool:stop(Url),
    ok.

body_bytes(undefined) -> 0;
body_bytes(Body) -> iolist_size(Body).
