%% gun, 1.3 or 2: connections that are processes. It has no pool (2 has one for HTTP/2 only), so candor_pool
%% keeps one; a caller waits for a connection and has it to itself for a request.
-module(candor_client_gun).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-record(gun, {pool :: pid(), keeper :: pid(), path :: binary(), timeout_ms :: pos_integer()}).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{gun, gun, "gun"}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, #gun{}} | {error, term()}.
start(Size, #{url := Url, timeout_ms := Timeout}) ->
    #{host := Host, port := Port, path := Path} = uri_string:parse(Url),
    Driver = self(),
    %% Connections send all their events to their owner: this process discards them, so that no
    %% caller has to.
    Keeper = spawn_link(fun() -> keep(Driver, binary_to_list(Host), Port, Size) end),
    receive
        {Keeper, Connections} ->
            {ok, Pool} = candor_pool:start(Connections),
            {ok, #gun{pool = Pool, keeper = Keeper, path = Path, timeout_ms = Timeout}}
    end.

-spec request(binary(), #gun{}) -> candor_client:outcome().
request(_, #gun{pool = Pool, path = Path, timeout_ms = Timeout}) ->
    Until = erlang:monotonic_time(millisecond) + Timeout,
    case candor_pool:take(Pool, Timeout) of
        {ok, Place, Connection} ->
            Stream = gun:get(Connection, Path, [], #{reply_to => self()}),
            Outcome = head(gun:await(Connection, Stream, left(Until)), Connection, Stream, Until),
            _ = case Outcome of {error, _, _} -> gun:cancel(Connection, Stream), gun:flush(Stream); _ -> ok end,
            candor_pool:give(Pool, Place),
            Outcome;
        timeout -> {error, 'pool-timeout', "no connection was free"}
    end.

-spec stop(#gun{}) -> ok.
stop(#gun{pool = Pool, keeper = Keeper}) ->
    candor_pool:stop(Pool),
    unlink(Keeper),
    Keeper ! {stop, self()},
    receive {Keeper, stopped} -> ok after 5000 -> ok end.

head({response, fin, Status, _}, _, _, _) -> {ok, Status, 0};
head({response, nofin, Status, _}, Connection, Stream, Until) ->
    case gun:await_body(Connection, Stream, left(Until)) of
        {ok, Body} -> {ok, Status, byte_size(Body)};
        {ok, Body, _} -> {ok, Status, byte_size(Body)};
        {error, Reason} -> candor_client:outcome(Reason)
    end;
head({error, Reason}, _, _, _) -> candor_client:outcome(Reason).

left(Until) -> max(0, Until - erlang:monotonic_time(millisecond)).

%% Lost connections are made again by gun itself, without an end.
keep(Driver, Host, Port, Size) ->
    Options = #{protocols => [http], retry => 1000000, retry_timeout => 50},
    Connections = [begin {ok, Connection} = gun:open(Host, Port, Options), Connection end || _ <- lists:seq(1, Size)],
    [receive {gun_up, Connection, _} -> ok after 1000 -> ok end || Connection <- Connections],
    Driver ! {self(), Connections},
    forget(Connections).

forget(Connections) ->
    receive
        {stop, Driver} ->
            _ = [gun:close(Connection) || Connection <- Connections],
            Driver ! {self(), stopped};
        _ -> forget(Connections)
    end.
