%% Req, Elixir's client on Finch, whose pool it has. Its retries, redirects and decoding of bodies are off, because a
%% request of the load is one request.
-module(candor_client_req).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> candor_client_finch:libraries() ++ [{'Elixir.Req', req, ""}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, {pid(), pos_integer()}} | {error, term()}.
start(Pool, Settings) -> candor_client_finch:start(Pool, Settings).

-spec request(binary(), {pid(), pos_integer()}) -> candor_client:outcome().
request(Url, {_, Timeout}) ->
    Options = [{url, Url}, {finch, candor_finch}, {pool_timeout, Timeout}, {receive_timeout, Timeout}, {retry, false},
               {redirect, false}, {raw, true}],
    candor_client_finch:checked(fun() -> 'Elixir.Req':request(Options) end).

-spec stop({pid(), pos_integer()}) -> ok.
stop(Pool) -> candor_client_finch:stop(Pool).
