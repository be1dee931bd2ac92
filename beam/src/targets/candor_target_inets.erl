%% httpd, the server that comes with OTP, with a module of the kit in place of all its own.
%%
%% It writes a header and its body in two sends. Without --nodelay that makes every small response
%% wait for the client's delayed acknowledgement: the classic 40 ms.
-module(candor_target_inets).
-behaviour(candor_target).
-include_lib("inets/include/httpd.hrl").
-export([libraries/0, protocols/0, abilities/1, start/1, do/1]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{httpd, inets, ""}].

-spec protocols() -> [h1].
protocols() -> [h1].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [continue, chunked_request, slots, session].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{port := Port, ip := Ip, nodelay := Nodelay, folder := Folder, backlog := Backlog} = Options) ->
    Socket = [{nodelay, Nodelay}, {backlog, Backlog}],
    Limits = [{max_clients, most(max_connections, Options, 1000000)},
              %% It counts those after the first one.
              {max_keep_alive_request, most(max_requests, Options, 1000000000) - 1}],
    Settings = [{port, Port}, {bind_address, Ip}, {server_name, "candor"}, {server_root, Folder},
                {document_root, Folder}, {modules, [?MODULE]}, {socket_type, {ip_comm, Socket}} | Limits],
    %% On a port that is taken httpd crashes while it tries again, if the socket has options (OTP 25 to 27).
    case candor_ports:free(Options) andalso inets:start(httpd, Settings) of
        {ok, Server} -> {ok, proplists:get_value(port, httpd:info(Server, [port]))};
        {error, Reason} -> {error, candor_ports:reason(Reason)};
        false -> {error, candor_ports:reason(eaddrinuse)}
    end.

%% httpd's callback for a request.
-spec do(#mod{}) -> {proceed, [{response, {response, [{atom(), term()}], iodata() | nobody}}]}.
do(#mod{request_uri = Uri, method = Method} = Request) ->
    {Path, Query} = candor_answers:split(list_to_binary(Uri)),
    Ask = fun(What) -> ask(What, Query, Request) end,
    {Status, Headers, Body} = candor_counter:answer(candor_answers:route(Path), Ask),
    Head = [{code, Status} | length_of(Status, Body) ++ [{name(Name), text(Value)} || {Name, Value} <- Headers]],
    {proceed, [{response, {response, Head, shown(Method, Body)}}]}.

ask(method, _, #mod{method = Method}) -> list_to_binary(Method);
ask(query, Query, _) -> Query;
ask({header, Name}, _, #mod{parsed_header = Headers}) ->
    case lists:keyfind(binary_to_list(Name), 1, Headers) of
        {_, Value} -> list_to_binary(Value);
        false -> undefined
    end;
ask(body, _, #mod{entity_body = Body}) -> iolist_to_binary(Body);
ask(body_bytes, _, #mod{entity_body = Body}) -> iolist_size(Body).

length_of(Status, _) when Status =:= 204; Status =:= 304 -> [];
length_of(_, Body) -> [{content_length, integer_to_list(iolist_size(Body))}].

shown("HEAD", _) -> nobody;
shown(_, <<>>) -> nobody;
shown(_, Body) -> Body.

%% httpd takes names that it knows as atoms with underscores.
name(Name) -> list_to_atom(binary_to_list(binary:replace(Name, <<"-">>, <<"_">>, [global]))).

text(Value) -> binary_to_list(iolist_to_binary(Value)).

most(What, Options, Unlimited) ->
    case Options of
        #{What := infinity} -> Unlimited;
        #{What := Most} -> Most
    end.
