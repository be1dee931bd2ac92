%% Req, Elixir's client on Finch, whose pool it has. Its retries, redirects and decoding of bodies are off, because a
%% request of the load is one request.
-module(candor_client_req).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

%% Finch's pool, and the options of each request.
-type pool() :: {{pid(), pos_integer()}, [{atom(), term()}]}.

-spec libraries() -> [candor_libraries:library()].
libraries() -> candor_client_finch:libraries() ++ [{'Elixir.Req', req, ""}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, pool()} | {error, term()}.
start(Size, Settings) ->
    case candor_client_finch:start(Size, Settings) of
        {ok, {_, Timeout} = Pool} -> {ok, {Pool, options(Timeout)}};
        {error, Reason} -> {error, Reason}
    end.

%% Since 0.7 Req warns on each request of options that are Finch's.
options(Timeout) ->
    Finch = case candor_libraries:version(req) of
        <<"0.", Minor, $., _/binary>> when Minor < $7 -> [{finch, candor_finch}, {pool_timeout, Timeout}];
        _ -> [{finch, [{name, candor_finch}, {pool_timeout, Timeout}]}]
    end,
    Finch ++ [{receive_timeout, Timeout}, {retry, false}, {redirect, false}, {raw, true}].

-spec request(binary(), pool()) -> candor_client:outcome().
request(Url, {_, Options}) -> candor_client_finch:checked(fun() -> 'Elixir.Req':request([{url, Url} | Options]) end).

-spec stop(pool()) -> ok.
stop({Pool, _}) -> candor_client_finch:stop(Pool).
