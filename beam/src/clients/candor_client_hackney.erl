%% hackney, with a pool of its own. A caller waits for a connection as long as for a response.
-module(candor_client_hackney).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-define(POOL, candor).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{hackney, hackney, "hackney"}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, [term()]} | {error, term()}.
start(Pool, #{timeout_ms := Timeout}) ->
    case hackney_pool:start_pool(?POOL, [{max_connections, Pool}, {timeout, 120000}]) of
        ok -> {ok, [{pool, ?POOL}, {recv_timeout, Timeout}, {connect_timeout, Timeout}, {checkout_timeout, Timeout},
                    with_body]};
        {error, Reason} -> {error, Reason}
    end.

-spec request(binary(), [term()]) -> candor_client:outcome().
request(Url, Options) ->
    case hackney:request(get, Url, [], <<>>, Options) of
        {ok, Status, _, Body} -> {ok, Status, byte_size(Body)};
        {ok, Status, _} -> {ok, Status, 0};
        {error, Reason} -> candor_client:outcome(Reason)
    end.

-spec stop([term()]) -> ok.
stop(_) ->
    _ = hackney_pool:stop_pool(?POOL),
    ok.
