%% elli: one callback for all requests, in the connection's process.
%%
%% It always leaves Nagle's algorithm as the system has it and writes a response at once, so it has
%% no option --nodelay; nor has it limits on connections or on requests.
-module(candor_target_elli).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, means/1, start/1, handle/2, handle_event/3]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{elli, elli, "elli"}].

-spec protocols() -> [h1].
protocols() -> [h1].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming].

%% elli_request's parsers; elli_middleware_compress in the scenario that is about it, as every request would pass through
%% it; sendfile. It has no parser of cookies, and frames no events.
-spec means(candor_target:options()) -> [candor_answers:means()].
means(#{compression := true}) -> [form, query, gzip, static];
means(_) -> [form, query, static].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{ip := Ip} = Options) ->
    Port = candor_ports:known_port(Options),
    case elli:start_link([{ip, Ip}, {port, Port}, {max_body_size, 64 * 1024 * 1024} | callback(Options)]) of
        {ok, _} -> {ok, Port};
        {error, Reason} -> {error, candor_ports:reason(Reason)}
    end.

callback(#{compression := true}) ->
    [{callback, elli_middleware}, {callback_args, [{mods, [{elli_middleware_compress, []}, {?MODULE, []}]}]}];
callback(_) -> [{callback, ?MODULE}].

%% elli_handler's callbacks.
-spec handle(term(), term()) -> {integer() | ok, [{binary(), iodata()}], iodata() | {file, file:filename()}}
                                    | {chunk, [{binary(), iodata()}]}.
handle(Request, _) ->
    {Path, Written} = candor_answers:split(elli_request:raw_path(Request)),
    Query = case Written of <<>> -> joined(elli_request:get_args(Request)); _ -> Written end,
    reply(candor_counter:answer(candor_answers:route(Path), fun(What) -> ask(What, Query, Request) end), Request).

%% The connection's process forwards the messages that it receives, and closes the connection at the
%% end.
reply({200, Headers, {chunks, Count, Chunk}}, Request) ->
    Connection = elli_request:chunk_ref(Request),
    _ = spawn(fun() ->
        _ = [elli_request:send_chunk(Connection, Chunk) || _ <- lists:seq(1, Count)],
        elli_request:close_chunk(Connection)
    end),
    {chunk, Headers};
%% A status in numbers would send a range of nothing (elli_http:execute_callback).
reply({200, Headers, {file, _} = File}, _) -> {ok, Headers, File};
reply(Answer, _) -> Answer.

-spec handle_event(term(), term(), term()) -> ok.
handle_event(_, _, _) -> ok.

%% Some versions keep the raw path without its query.
joined(Arguments) ->
    iolist_to_binary(lists:join("&", [[Name, "=", case Value of true -> ""; _ -> Value end] || {Name, Value} <- Arguments])).

ask(method, _, Request) ->
    case elli_request:method(Request) of Method when is_atom(Method) -> atom_to_binary(Method); Method -> Method end;
ask(query, Query, _) -> Query;
ask({header, Name}, _, Request) -> header(Name, elli_request:headers(Request));
ask(body, _, Request) -> iolist_to_binary(elli_request:body(Request));
ask(body_bytes, _, Request) -> iolist_size(elli_request:body(Request));
ask({parsed, form}, _, Request) -> elli_request:post_args_decoded(Request);
ask({parsed, query}, _, Request) -> elli_request:get_args_decoded(Request).

%% elli keeps names as the client wrote them.
header(Name, [{Written, Value} | Rest]) ->
    case string:lowercase(Written) of Name -> Value; _ -> header(Name, Rest) end;
header(_, []) -> undefined.
