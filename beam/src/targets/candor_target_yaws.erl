%% yaws, embedded, with one application module for all paths.
%%
%% Its logs are off and its caches play no part: nothing is served from the disk.
-module(candor_target_yaws).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, start/1, out/1]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{yaws, yaws, "yaws"}].

-spec protocols() -> [h1].
protocols() -> [h1].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [chunked_request].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{ip := Ip, folder := Folder, nodelay := Nodelay, backlog := Backlog} = Options) ->
    Port = candor_target:known_port(Options),
    Server = [{port, Port}, {listen, Ip}, {servername, "candor"}, {appmods, [{"/", ?MODULE}]},
              {flags, [{access_log, false}, {auth_log, false}]}, {partial_post_size, nolimit},
              {listen_opts, [{backlog, Backlog}]}, {soptions, [{listen_opts, [{nodelay, Nodelay}, {backlog, Backlog}]}]}],
    Global = [{id, "candor"}, {logdir, Folder}, {keepalive_timeout, 60000}, {max_connections, nolimit},
              {acceptor_pool_size, 16}, {flags, [{copy_errlog, false}, {tty_trace, false}]}],
    case yaws:start_embedded(Folder, Server, Global, "candor") of
        ok -> {ok, Port};
        {error, Reason} -> {error, io_lib:format("~0tp", [Reason])}
    end.

%% yaws' callback for a request. (Its records are reached by its own functions: the kit is built
%% without yaws.)
-spec out(term()) -> [tuple()].
out(Request) ->
    Path = list_to_binary(yaws_api:arg_server_path(Request)),
    Answer = candor_target:answer(candor_answers:route(Path), fun(What) -> ask(What, Request) end),
    reply(Answer).

ask(method, Request) -> method(yaws_api:http_request_method(yaws_api:arg_req(Request)));
ask(query, Request) ->
    case yaws_api:arg_querydata(Request) of undefined -> <<>>; Query -> list_to_binary(Query) end;
ask({header, Name}, Request) ->
    case yaws_api:get_header(yaws_api:arg_headers(Request), key(Name)) of
        undefined -> undefined;
        Value -> list_to_binary(Value)
    end;
ask(body, Request) -> body(Request);
ask(body_bytes, Request) -> byte_size(body(Request)).

body(Request) ->
    case yaws_api:arg_clidata(Request) of
        undefined -> <<>>;
        {partial, Body} -> iolist_to_binary(Body);
        Body -> iolist_to_binary(Body)
    end.

reply({Status, Headers, Body}) ->
    {Type, Others} = case lists:keytake(<<"content-type">>, 1, Headers) of
        {value, {_, Kind}, Rest} -> {binary_to_list(iolist_to_binary(Kind)), Rest};
        false -> {"application/octet-stream", Headers}
    end,
    Lines = [{header, {binary_to_list(Name), binary_to_list(iolist_to_binary(Value))}} || {Name, Value} <- Others],
    [{status, Status} | Lines] ++ [{content, Type, Body} || Status =/= 204, Status =/= 304].

key(<<"cookie">>) -> cookie;
key(<<"content-type">>) -> content_type;
key(<<"content-encoding">>) -> content_encoding;
key(<<"if-none-match">>) -> if_none_match;
key(Name) -> binary_to_list(Name).

method(Method) when is_atom(Method) -> atom_to_binary(Method);
method(Method) -> list_to_binary(Method).
