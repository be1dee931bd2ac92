%% mochiweb: a loop function per request, in the connection's process.
%%
%% It has no limit on requests per connection to set, and ends a connection by the response's
%% header.
-module(candor_target_mochiweb).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, means/1, start/1]).

-define(BODY_MAX_BYTES, 64 * 1024 * 1024).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{mochiweb_http, mochiweb, "mochiweb"}].

-spec protocols() -> [h1].
protocols() -> [h1].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming, continue, chunked_request, slots].

%% mochiweb_util's parser, mochiweb_cookies, serve_file.
-spec means(candor_target:options()) -> [candor_answers:means()].
means(_) -> [form, query, cookies, static].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{port := Port, ip := Ip, nodelay := Nodelay, backlog := Backlog, max_connections := Most}) ->
    Limit = case Most of infinity -> 1000000; _ -> Most end,
    case mochiweb_http:start([{name, ?MODULE}, {port, Port}, {ip, inet:ntoa(Ip)}, {nodelay, Nodelay},
                              {backlog, Backlog}, {max, Limit}, {loop, fun loop/1}]) of
        {ok, Server} -> {ok, mochiweb_socket_server:get(Server, port)};
        {error, Reason} -> {error, candor_ports:reason(Reason)}
    end.

loop(Request) ->
    {Path, Query} = candor_answers:split(list_to_binary(mochiweb_request:get(raw_path, Request))),
    Route = candor_answers:route(Path),
    Body = read(candor_answers:needs(Route), Request),
    Answer = candor_counter:answer(Route, fun(What) -> ask(What, Query, Body, Request) end),
    reply(Answer, Request).

ask(method, _, _, Request) -> method(mochiweb_request:get(method, Request));
ask(query, Query, _, _) -> Query;
ask({header, Name}, _, _, Request) ->
    case mochiweb_request:get_header_value(binary_to_list(Name), Request) of
        undefined -> undefined;
        Value -> list_to_binary(Value)
    end;
ask(body, _, Body, _) -> Body;
ask(body_bytes, _, Length, _) -> Length;
ask({parsed, form}, _, Body, _) -> mochiweb_util:parse_qs(Body);
ask({parsed, query}, _, _, Request) -> mochiweb_request:parse_qs(Request);
ask({parsed, cookies}, _, _, Request) -> mochiweb_request:parse_cookie(Request).

read(nothing, _) -> <<>>;
read(body, Request) ->
    case mochiweb_request:recv_body(?BODY_MAX_BYTES, Request) of undefined -> <<>>; Body -> Body end;
read(body_bytes, Request) ->
    %% The last call has a length of 0 and stands for the end.
    Count = fun({Length, _}, Sum) -> Sum + Length end,
    case mochiweb_request:stream_body(65536, Count, 0, Request) of Sum when is_integer(Sum) -> Sum; _ -> 0 end.

reply({Status, Headers, {chunks, Count, Chunk}}, Request) ->
    Response = mochiweb_request:respond({Status, names(Headers), chunked}, Request),
    _ = [mochiweb_response:write_chunk(Chunk, Response) || _ <- lists:seq(1, Count)],
    mochiweb_response:write_chunk(<<>>, Response),
    done(Headers);
reply({200, _, {file, File}}, Request) ->
    mochiweb_request:serve_file(filename:basename(File), filename:dirname(File), Request);
%% respond/2 would give these a length.
reply({Status, Headers, _}, Request) when Status =:= 204; Status =:= 304 ->
    mochiweb_request:start_response({Status, names(Headers)}, Request);
reply({Status, Headers, Body}, Request) ->
    mochiweb_request:respond({Status, names(Headers), Body}, Request).

%% mochiweb by itself closes a connection only if the client asks for it.
done(Headers) ->
    case lists:keyfind(<<"connection">>, 1, Headers) of
        {_, <<"close">>} -> exit(normal);
        false -> ok
    end.

names(Headers) -> [{binary_to_list(Name), Value} || {Name, Value} <- Headers].

method(Method) when is_atom(Method) -> atom_to_binary(Method);
method(Method) -> list_to_binary(Method).
