%% erlang_quic, the library `quic`: a function for each request over HTTP/3, in a process that the library starts for it.
%%
%% A body comes as messages once its process has asked for them; what came before that is in the answer to it.
-module(candor_target_erlang_quic).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, start/1]).

%% More than a test has streams on a connection.
-define(MANY, 1000000).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{quic_h3, quic, "quic"}].

-spec protocols() -> [candor_scenarios:protocol()].
protocols() -> [h3].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{ip := Ip, port := Port, certificate := #{certfile := Certificate, keyfile := Key}}) ->
    [{'Certificate', Der, _}] = entries(Certificate),
    [{KeyType, KeyDer, _}] = entries(Key),
    Settings = #{cert => Der, key => public_key:der_decode(KeyType, KeyDer), handler => fun handle/5,
                 quic_opts => #{extra_socket_opts => [{ip, Ip}]}},
    case quic_h3:start_server(?MODULE, Port, Settings) of
        {ok, _} -> quic:get_server_port(?MODULE);
        {error, Reason} -> {error, candor_ports:reason(Reason)}
    end.

entries(File) ->
    {ok, Text} = file:read_file(File),
    public_key:pem_decode(Text).

handle(Connection, Stream, Method, Target, Headers) ->
    {Path, Query} = candor_answers:split(Target),
    Route = candor_answers:route(Path),
    Body = case candor_answers:needs(Route) of
        nothing -> <<>>;
        _ -> read(Connection, Stream)
    end,
    Ask = fun(method) -> Method;
             (query) -> Query;
             ({header, Name}) -> proplists:get_value(Name, Headers);
             (body) -> Body;
             (body_bytes) -> byte_size(Body)
          end,
    reply(candor_counter:answer(Route, Ask), Connection, Stream).

read(Connection, Stream) ->
    case quic_h3:set_stream_handler(Connection, Stream, self()) of
        ok -> read(Connection, Stream, []);
        {ok, Begun} -> iolist_to_binary([[Data || {Data, _} <- Begun],
                                         case lists:any(fun({_, Fin}) -> Fin end, Begun) of
                                             true -> [];
                                             false -> read(Connection, Stream, [])
                                         end])
    end.

read(Connection, Stream, Pieces) ->
    receive
        {quic_h3, Connection, {data, Stream, Data, true}} -> iolist_to_binary(lists:reverse([Data | Pieces]));
        {quic_h3, Connection, {data, Stream, Data, false}} -> read(Connection, Stream, [Data | Pieces])
    end.

reply({Status, Headers, {chunks, Count, Chunk}}, Connection, Stream) ->
    ok = quic_h3:send_response(Connection, Stream, Status, Headers),
    _ = [ok = quic_h3:send_data(Connection, Stream, Chunk, Left =:= 1) || Left <- lists:seq(Count, 1, -1)],
    ok;
reply({Status, Headers, Body}, Connection, Stream) ->
    Bytes = iolist_to_binary(Body),
    Length = [{<<"content-length">>, integer_to_binary(byte_size(Bytes))} || Status =/= 204, Status =/= 304],
    quic_h3:respond(Connection, Stream, Status, Length ++ Headers, Bytes).
