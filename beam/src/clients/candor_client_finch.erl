%% Finch, Elixir's client on Mint, with a pool of its own. A caller waits for a connection as long as for a response.
%% candor_client_req is the same pool below another library.
-module(candor_client_finch).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1, checked/1]).

-define(NAME, candor_finch).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{'Elixir.Kernel', elixir, ""}, {'Elixir.Finch', finch, ""}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, {pid(), pos_integer()}} | {error, term()}.
start(Pool, #{timeout_ms := Timeout}) ->
    Connections = #{default => [{size, Pool}, {conn_opts, [{transport_opts, [{timeout, Timeout}]}]}]},
    case 'Elixir.Finch':start_link([{name, ?NAME}, {pools, Connections}]) of
        {ok, Supervisor} -> {ok, {Supervisor, Timeout}};
        {error, Reason} -> {error, Reason}
    end.

-spec request(binary(), {pid(), pos_integer()}) -> candor_client:outcome().
request(Url, {_, Timeout}) ->
    Limits = [{pool_timeout, Timeout}, {receive_timeout, Timeout}],
    checked(fun() -> 'Elixir.Finch':request('Elixir.Finch':build(get, Url), ?NAME, Limits) end).

-spec stop({pid(), pos_integer()}) -> ok.
stop({Supervisor, _}) -> 'Elixir.Supervisor':stop(Supervisor).

%% The outcome of a request. That no connection was free in time is raised, and has no reason but its words.
-spec checked(fun(() -> {ok, #{status := integer(), body := binary(), _ => _}} | {error, #{reason => term(), _ => _}})) ->
          candor_client:outcome().
checked(Request) ->
    try Request() of
        {ok, #{status := Status, body := Body}} -> {ok, Status, byte_size(Body)};
        {error, #{reason := Reason}} -> candor_client:outcome(Reason);
        {error, Reason} -> candor_client:outcome(Reason)
    catch
        error:#{message := <<"Finch was unable to provide a connection", _/binary>>} ->
            {error, 'pool-timeout', "no connection was free"}
    end.
