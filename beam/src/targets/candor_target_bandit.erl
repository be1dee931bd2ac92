%% bandit, Elixir's server: this module is its plug. Elixir's own libraries are needed beside it.
-module(candor_target_bandit).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, start/1, init/1, call/2]).

-define(CONN, 'Elixir.Plug.Conn').

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{'Elixir.Kernel', elixir, ""}, {'Elixir.Bandit', bandit, ""}].

-spec protocols() -> [candor_scenarios:protocol()].
protocols() -> [h1, h2c, h2].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming, continue, chunked_request].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{port := Port, ip := Ip, nodelay := Nodelay, backlog := Backlog} = Options) ->
    Transport = [{nodelay, Nodelay}, {backlog, Backlog}],
    Settings = [{plug, {?MODULE, []}}, {ip, Ip}, {port, Port}, {startup_log, false},
                {thousand_island_options, [{transport_options, Transport}]} | tls(Options)],
    case 'Elixir.Bandit':start_link(Settings) of
        {ok, Server} ->
            {ok, {_, Got}} = 'Elixir.ThousandIsland':listener_info(Server),
            {ok, Got};
        {error, Reason} -> {error, io_lib:format("~0tp", [Reason])}
    end.

%% Plug's callbacks.
-spec init(term()) -> [].
init(_) -> [].

-spec call(map(), []) -> map().
call(#{request_path := Path} = Conn0, _) ->
    Route = candor_answers:route(Path),
    {Body, Conn} = read(candor_answers:needs(Route), Conn0, [], 0),
    reply(candor_target:answer(Route, fun(What) -> ask(What, Body, Conn) end), Conn).

ask(method, _, #{method := Method}) -> Method;
ask(query, _, #{query_string := Query}) -> Query;
ask({header, Name}, _, Conn) ->
    case ?CONN:get_req_header(Conn, Name) of [Value | _] -> Value; [] -> undefined end;
ask(body, Body, _) -> iolist_to_binary(Body);
ask(body_bytes, Length, _) -> Length.

read(nothing, Conn, _, _) -> {<<>>, Conn};
read(Needs, Conn0, Pieces, Length) ->
    {More, Data, Conn} = ?CONN:read_body(Conn0, []),
    case {More, Needs} of
        {ok, body} -> {lists:reverse([Data | Pieces]), Conn};
        {ok, body_bytes} -> {Length + byte_size(Data), Conn};
        {more, body} -> read(Needs, Conn, [Data | Pieces], Length);
        {more, body_bytes} -> read(Needs, Conn, [], Length + byte_size(Data))
    end.

reply({Status, Headers, {chunks, Count, Chunk}}, Conn0) ->
    Started = ?CONN:send_chunked(with(Headers, Conn0), Status),
    lists:foldl(fun(_, Conn) -> {ok, Next} = ?CONN:chunk(Conn, Chunk), Next end, Started, lists:seq(1, Count));
reply({Status, Headers, Body}, Conn) -> ?CONN:send_resp(with(Headers, Conn), Status, Body).

with(Headers, Conn) ->
    lists:foldl(fun({Name, Value}, Before) -> ?CONN:put_resp_header(Before, Name, iolist_to_binary(Value)) end,
                Conn, Headers).

tls(#{certificate := none}) -> [{scheme, http}];
tls(#{certificate := #{certfile := Certificate, keyfile := Key}}) ->
    [{scheme, https}, {certfile, Certificate}, {keyfile, Key}].
