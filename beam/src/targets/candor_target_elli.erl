%% elli: one callback for all requests, in the connection's process.
%%
%% It always leaves Nagle's algorithm as the system has it and writes an answer at once, so --nodelay
%% is no option of it; nor are limits on connections or on requests.
-module(candor_target_elli).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, start/1, handle/2, handle_event/3]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{elli, elli, "elli"}].

-spec protocols() -> [h1].
protocols() -> [h1].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{ip := Ip} = Options) ->
    Port = candor_target:known_port(Options),
    case elli:start_link([{callback, ?MODULE}, {ip, Ip}, {port, Port}, {max_body_size, 64 * 1024 * 1024}]) of
        {ok, _} -> {ok, Port};
        {error, Reason} -> {error, io_lib:format("~0tp", [Reason])}
    end.

%% elli_handler's callbacks.
-spec handle(term(), term()) -> {integer(), [{binary(), iodata()}], iodata()}.
handle(Request, _) ->
    {Path, Written} = candor_target:split(elli_request:raw_path(Request)),
    Query = case Written of <<>> -> joined(elli_request:get_args(Request)); _ -> Written end,
    candor_target:answer(candor_answers:route(Path), fun(What) -> ask(What, Query, Request) end).

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
ask(body_bytes, _, Request) -> iolist_size(elli_request:body(Request)).

%% elli keeps names as the client wrote them.
header(Name, [{Written, Value} | Rest]) ->
    case string:lowercase(Written) of Name -> Value; _ -> header(Name, Rest) end;
header(_, []) -> undefined.
