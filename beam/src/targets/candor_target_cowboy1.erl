%% cowboy 1, over HTTP/1.1: a handler behind the router, in the connection's process.
%%
%% Its modules have the names of cowboy 2's, so only one of the two can be on the code path: give this one
%% a folder of its own (--library-path).
-module(candor_target_cowboy1).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, start/1, init/3, handle/2, terminate/3]).

%% A module that only cowboy 1 has.
-spec libraries() -> [candor_libraries:library()].
libraries() -> [{cowboy_spdy, cowboy, "cowboy1"}].

-spec protocols() -> [h1].
protocols() -> [h1].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming, continue, chunked_request, slots, session].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{port := Port, ip := Ip, nodelay := Nodelay, backlog := Backlog, max_connections := Most} = Options) ->
    Routes = [{Path, ?MODULE, Route} || {Path, Route} <- candor_answers:paths()] ++ [{'_', ?MODULE, not_found}],
    Keep = case Options of #{max_requests := infinity} -> 1000000000; #{max_requests := Requests} -> Requests end,
    case cowboy:start_http(?MODULE, 16, [{port, Port}, {ip, Ip}, {nodelay, Nodelay}, {backlog, Backlog},
                                         {max_connections, Most}],
                           [{env, [{dispatch, cowboy_router:compile([{'_', Routes}])}]}, {max_keepalive, Keep}]) of
        {ok, _} -> {ok, ranch:get_port(?MODULE)};
        {error, Reason} -> {error, candor_ports:reason(Reason)}
    end.

%% cowboy_http_handler's callbacks.
-spec init(term(), Request, Route) -> {ok, Request, Route}.
init(_, Request, Route) -> {ok, Request, Route}.

-spec handle(term(), items | candor_answers:route()) -> {ok, term(), none}.
handle(Request0, items) ->
    {Count, Request} = cowboy_req:binding(count, Request0),
    handle(Request, {items, Count});
handle(Request0, Route) ->
    {Body, Request} = read(candor_answers:needs(Route), Request0, [], 0),
    {ok, Done} = reply(candor_counter:answer(Route, fun(What) -> ask(What, Body, Request) end), Request),
    {ok, Done, none}.

-spec terminate(term(), term(), term()) -> ok.
terminate(_, _, _) -> ok.

ask(method, _, Request) -> element(1, cowboy_req:method(Request));
ask(query, _, Request) -> element(1, cowboy_req:qs(Request));
ask({header, Name}, _, Request) -> element(1, cowboy_req:header(Name, Request));
ask(body, Body, _) -> iolist_to_binary(Body);
ask(body_bytes, Length, _) -> Length.

read(nothing, Request, _, _) -> {<<>>, Request};
read(Needs, Request0, Pieces, Length) ->
    {More, Data, Request} = cowboy_req:body(Request0),
    case {More, Needs} of
        {ok, body} -> {lists:reverse([Data | Pieces]), Request};
        {ok, body_bytes} -> {Length + byte_size(Data), Request};
        {more, body} -> read(Needs, Request, [Data | Pieces], Length);
        {more, body_bytes} -> read(Needs, Request, [], Length + byte_size(Data))
    end.

reply({Status, Headers, {chunks, Count, Chunk}}, Request0) ->
    {ok, Request} = cowboy_req:chunked_reply(Status, Headers, Request0),
    [ok = cowboy_req:chunk(Chunk, Request) || _ <- lists:seq(1, Count)],
    {ok, Request};
reply({Status, Headers, Body}, Request) -> cowboy_req:reply(Status, Headers, Body, Request).
