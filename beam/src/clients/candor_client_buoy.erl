%% buoy: callers share its connections, on shackle: a request goes out behind others on a connection
%% without waiting for their responses (pipelining), so no caller waits for a free one, whatever the
%% pool's size.
-module(candor_client_buoy).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1, outcome/1]).

%% For all connections together.
-define(PATIENCE_MS, 1000).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{buoy, buoy, "buoy"}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, {tuple(), pos_integer()}} | {error, term()}.
start(Pool, #{url := Url, timeout_ms := Timeout}) ->
    Parsed = buoy_utils:parse_url(Url),
    case buoy_pool:start(Parsed, [{pool_size, Pool}, {backlog_size, 100000}]) of
        ok ->
            connected(Parsed, Pool, erlang:monotonic_time(millisecond) + ?PATIENCE_MS),
            {ok, {Parsed, Timeout}};
        {error, Reason} -> {error, Reason}
    end.

-spec request(binary(), {tuple(), pos_integer()}) -> candor_client:outcome().
request(_, {Url, Timeout}) -> outcome(buoy:get(Url, #{timeout => Timeout})).

-spec stop({tuple(), pos_integer()}) -> ok.
stop({Url, _}) ->
    _ = buoy_pool:stop(Url),
    ok.

%% A response is a record: state, body, content length, headers, reason, status code. (The kit is
%% built without buoy's header.)
-spec outcome({ok, tuple()} | {error, term()}) -> candor_client:outcome().
outcome({ok, {buoy_resp, done, Body, _, _, _, Status}}) -> {ok, Status, body_bytes(Body)};
%% None of its connections is up.
outcome({error, Reason}) when Reason =:= no_server; Reason =:= no_socket -> {error, 'pool-timeout', Reason};
outcome({error, socket_closed}) -> {error, closed, socket_closed};
outcome({error, Reason}) -> candor_client:outcome(Reason).

%% While its connections are still coming up, it reports that it has no connection, and callers in a
%% closed loop would retry all the time. A URL is a record: host, host name, path, port, protocol.
connected({buoy_url, _, Host, _, Port, Protocol} = Url, Pool, Until) ->
    {ok, Name} = buoy_pool:lookup(Protocol, Host, Port),
    case lists:all(fun(Index) -> shackle_status:active({Name, Index}) end, lists:seq(1, Pool)) of
        true -> ok;
        false ->
            case erlang:monotonic_time(millisecond) < Until of
                true -> timer:sleep(5), connected(Url, Pool, Until);
                false -> ok
            end
    end.

body_bytes(undefined) -> 0;
body_bytes(Body) -> iolist_size(Body).
