%% bandit, Elixir's server: this module is its plug. Elixir's own libraries are needed beside it.
-module(candor_target_bandit).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, means/1, start/1, init/1, call/2]).

-define(CONN, 'Elixir.Plug.Conn').

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{'Elixir.Kernel', elixir, ""}, {'Elixir.Bandit', bandit, ""}].

-spec protocols() -> [candor_scenarios:protocol()].
protocols() -> [h1, h2c, h2].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming, websocket, continue, chunked_request, slots, session].

%% Plug's parsers of queries and cookies; bandit compresses plain responses if the client accepts
%% that; Plug.Static.
-spec means(candor_target:options()) -> [candor_answers:means()].
means(_) -> [form, query, cookies, gzip, static].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{port := Port, ip := Ip, nodelay := Nodelay, backlog := Backlog} = Options) ->
    Transport = [{nodelay, Nodelay}, {backlog, Backlog}],
    Static = 'Elixir.Plug.Static':init([{at, <<"/static">>}, {from, list_to_binary(maps:get(folder, Options))}]),
    Settings = [{plug, {?MODULE, Static}}, {ip, Ip}, {port, Port}, {startup_log, false},
                {thousand_island_options, [{transport_options, Transport} | connections(Options)]} | requests(Options)]
        ++ tls(Options),
    case 'Elixir.Bandit':start_link(Settings) of
        {ok, Server} ->
            {ok, {_, Got}} = 'Elixir.ThousandIsland':listener_info(Server),
            {ok, Got};
        {error, Reason} -> {error, candor_ports:reason(Reason)}
    end.

%% Plug's callbacks. They pass on the options of Plug.Static.
-spec init(Static) -> Static when Static :: map().
init(Static) -> Static.

-spec call(map(), map()) -> map().
call(#{request_path := Path} = Conn, Static) ->
    case candor_answers:route(Path) of
        static -> candor_counter:count(), 'Elixir.Plug.Static':call(Conn, Static);
        websocket -> upgrade(?CONN:get_req_header(Conn, <<"upgrade">>), Conn);
        Route -> answer(Route, Conn)
    end.

answer(Route, Conn0) ->
    {Body, Conn} = read(candor_answers:needs(Route), Conn0, [], 0),
    reply(candor_counter:answer(Route, fun(What) -> ask(What, Body, Conn) end), Conn).

upgrade([], Conn) -> answer(websocket, Conn);
upgrade(_, Conn) -> ?CONN:upgrade_adapter(Conn, websocket, {candor_bandit_websocket, none, []}).

ask(method, _, #{method := Method}) -> Method;
ask(query, _, #{query_string := Query}) -> Query;
ask({header, Name}, _, Conn) ->
    case ?CONN:get_req_header(Conn, Name) of [Value | _] -> Value; [] -> undefined end;
ask(body, Body, _) -> iolist_to_binary(Body);
ask(body_bytes, Length, _) -> Length;
ask({parsed, form}, Body, _) -> 'Elixir.Plug.Conn.Query':decode(iolist_to_binary(Body));
ask({parsed, query}, _, Conn) -> maps:get(query_params, ?CONN:fetch_query_params(Conn));
ask({parsed, cookies}, _, Conn) -> maps:get(req_cookies, ?CONN:fetch_cookies(Conn)).

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

%% Each acceptor counts by itself, so for a limit there may only be one.
connections(#{max_connections := infinity}) -> [];
connections(#{max_connections := Most}) -> [{num_acceptors, 1}, {num_connections, Most}].

requests(#{max_requests := infinity}) -> [];
requests(#{max_requests := Most}) -> [{http_1_options, [{max_requests, Most}]}].

tls(#{certificate := none}) -> [{scheme, http}];
tls(#{certificate := #{certfile := Certificate, keyfile := Key}}) ->
    [{scheme, https}, {certfile, Certificate}, {keyfile, Key}].
