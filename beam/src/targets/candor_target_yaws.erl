%% yaws, embedded, with one application module for all paths.
%%
%% Its logs are off and its caches play no part: nothing is served from the disk.
-module(candor_target_yaws).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, means/1, start/1, out/1]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{yaws, yaws, "yaws", load}].

-spec protocols() -> [h1].
protocols() -> [h1].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, chunked_request].

%% yaws_api's parsers.
-spec means(candor_target:options()) -> [candor_answers:means()].
means(_) -> [form, query].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{ip := Ip, folder := Folder, nodelay := Nodelay, backlog := Backlog} = Options) ->
    Port = candor_ports:known_port(Options),
    Server = [{port, Port}, {listen, Ip}, {servername, "candor"}, {appmods, [{"/", ?MODULE}]},
              {flags, [{access_log, false}, {auth_log, false}]}, {partial_post_size, nolimit},
              {listen_opts, [{backlog, Backlog}]}, {soptions, [{listen_opts, [{nodelay, Nodelay}, {backlog, Backlog}]}]}],
    Global = [{id, "candor"}, {logdir, Folder}, {keepalive_timeout, 60000}, {max_connections, nolimit},
              {acceptor_pool_size, 16}, {flags, [{copy_errlog, false}, {tty_trace, false}]}],
    application:set_env(yaws, embedded, true),
    case candor_ports:free(Options) andalso yaws:start_embedded(Folder, Server, Global, "candor") of
        ok -> {ok, Port};
        false -> {error, candor_ports:reason(eaddrinuse)};
        {error, Reason} -> {error, candor_ports:reason(Reason)}
    end.

%% yaws' callback for a request, or for a piece of its body if that came in chunks. (Its records are reached by
%% its own functions: the kit is built without yaws.)
-spec out(term()) -> [tuple()] | {get_more, next, [binary()]}.
out(Request) ->
    Before = case yaws_api:arg_state(Request) of undefined -> []; Pieces -> Pieces end,
    case yaws_api:arg_clidata(Request) of
        {partial, Piece} -> {get_more, next, [Piece | Before]};
        undefined -> answer(Request, <<>>);
        Last -> answer(Request, iolist_to_binary(lists:reverse([Last | Before])))
    end.

answer(Request, Body) ->
    Path = list_to_binary(yaws_api:arg_server_path(Request)),
    Answer = candor_counter:answer(candor_answers:route(Path), fun(What) -> ask(What, Request, Body) end),
    reply(Answer, yaws_api:http_request_method(yaws_api:arg_req(Request))).

ask(method, Request, _) -> method(yaws_api:http_request_method(yaws_api:arg_req(Request)));
ask(query, Request, _) ->
    case yaws_api:arg_querydata(Request) of undefined -> <<>>; Query -> list_to_binary(Query) end;
ask({header, Name}, Request, _) ->
    case yaws_api:get_header(yaws_api:arg_headers(Request), key(Name)) of
        undefined -> undefined;
        Value -> list_to_binary(Value)
    end;
ask(body, _, Body) -> Body;
ask(body_bytes, _, Body) -> byte_size(Body);
ask({parsed, form}, Request, _) -> yaws_api:parse_post(Request);
ask({parsed, query}, Request, _) -> yaws_api:parse_query(Request).

reply({Status, Headers, Body}, Method) ->
    {Type, Others} = case lists:keytake(<<"content-type">>, 1, Headers) of
        {value, {_, Kind}, Rest} -> {binary_to_list(iolist_to_binary(Kind)), Rest};
        false -> {"application/octet-stream", Headers}
    end,
    %% Of a HEAD yaws forgets the length.
    Length = [{<<"Content-Length">>, integer_to_binary(iolist_size(Body))} || Method =:= 'HEAD'],
    Lines = [{header, {binary_to_list(Name), binary_to_list(iolist_to_binary(Value))}} || {Name, Value} <- Length ++ Others],
    [{status, Status} | Lines] ++ [{content, Type, Body} || Status =/= 204, Status =/= 304].

key(<<"cookie">>) -> cookie;
key(<<"content-type">>) -> content_type;
key(<<"content-encoding">>) -> content_encoding;
key(<<"if-none-match">>) -> if_none_match;
key(Name) -> binary_to_list(Name).

method(Method) when is_atom(Method) -> atom_to_binary(Method);
method(Method) -> list_to_binary(Method).
