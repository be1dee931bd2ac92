%% cowboy 2, in its two ways: a handler behind the router (a process per request), or a stream
%% handler that responds from init/3 in the connection's own process (candor_cowboy_stream).
%%
%% Only the limits that would end a benchmark are lifted: requests per connection (100 to 1000 by
%% default), and HTTP/2's frame rate (a connection is closed above 10,000 frames in 10 s).
-module(candor_target_cowboy).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, means/1, start/1, init/2, upgrade/4]).

-define(MANY, 1000000000).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{cowboy_stream, cowboy, "cowboy"}].

-spec protocols() -> [candor_scenarios:protocol()].
protocols() -> [h1, h2c, h2].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(#{handler := stream} = Options) -> abilities(Options#{handler := handler}) -- [websocket];
abilities(_) -> [options, streaming, websocket, continue, chunked_request, slots, session].

%% cow_qs and cowboy_req's cookies; cowboy_compress_h only in the scenario about it, as every
%% request would pass through it; cowboy_static; cow_sse. The stream handler uses none of them: it
%% stands for a custom server on cowboy's framing.
-spec means(candor_target:options()) -> [candor_answers:means()].
means(#{handler := stream}) -> [];
means(#{compression := true} = Options) -> [gzip | means(Options#{compression := false})];
means(_) -> [form, query, cookies, static, events].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{protocol := Protocol} = Options) ->
    %% Checks whether the loaded version takes a limit: see pairs/1.
    {module, cow_qs} = code:ensure_loaded(cow_qs),
    Start = case Protocol of h2 -> start_tls; _ -> start_clear end,
    case cowboy:Start(?MODULE, transport(Options), maps:merge(limits(Options), handler(Options))) of
        {ok, _} -> {ok, ranch:get_port(?MODULE)};
        {error, Reason} -> {error, candor_ports:reason(Reason)}
    end.

transport(#{port := Port, ip := Ip, nodelay := Nodelay, backlog := Backlog} = Options) ->
    Certificate = case Options of
        #{certificate := none} -> [];
        #{certificate := Files} -> maps:to_list(maps:with([certfile, keyfile], Files))
    end,
    Limits = case Options of
        #{max_connections := infinity} -> #{max_connections => infinity};
        %% ranch 2 counts for each of its supervisors, so there may only be one.
        #{max_connections := Most} -> #{max_connections => Most, num_conns_sups => 1}
    end,
    Limits#{socket_opts => [{port, Port}, {ip, Ip}, {nodelay, Nodelay}, {backlog, Backlog} | Certificate],
            num_acceptors => 16}.

limits(#{max_requests := Most}) ->
    #{max_keepalive => case Most of infinity -> ?MANY; _ -> Most end,
      max_received_frame_rate => {?MANY, 1000}}.

handler(#{handler := stream}) -> #{stream_handlers => [candor_cowboy_stream]};
handler(#{handler := handler, folder := Folder, compression := Compression}) ->
    Routes = [route(Path, Route, Folder) || {Path, Route} <- candor_answers:paths()],
    Dispatch = #{env => #{dispatch => cowboy_router:compile([{'_', Routes ++ [{'_', ?MODULE, not_found}]}])}},
    case Compression of
        true -> Dispatch#{stream_handlers => [cowboy_compress_h, cowboy_stream_h]};
        false -> Dispatch
    end.

route(_, static, Folder) -> {<<"/static/[...]">>, ?MODULE, {dir, Folder}};
route(Path, websocket, _) -> {Path, candor_cowboy_websocket, websocket};
route(Path, Route, _) -> {Path, ?MODULE, Route}.

%% cowboy_handler's callback. (Not declared: the kit is built without cowboy.)
-spec init(Request, Route) -> {ok, Request, none} | {module(), Request, {dir, file:filename()}}
    when Request :: map(), Route :: items | {dir, file:filename()} | candor_answers:route().
init(Request, {dir, _} = Static) -> {?MODULE, Request, Static};
init(Request, items) -> answer({items, cowboy_req:binding(count, Request)}, Request);
init(Request, Route) -> answer(Route, Request).

%% cowboy_sub_protocol's callback: cowboy_static, with its responses counted.
-spec upgrade(map(), map(), module(), {dir, file:filename()}) -> term().
upgrade(Request0, Env, _, Static) ->
    candor_counter:count(),
    {cowboy_rest, Request, State} = cowboy_static:init(Request0, Static),
    cowboy_rest:upgrade(Request, Env, cowboy_static, State).

answer(Route, Request0) ->
    {Body, Request} = read(candor_answers:needs(Route), Request0),
    Ask = fun(What) -> ask(What, Request, Body) end,
    {ok, reply(candor_counter:answer(Route, Ask), Request), none}.

ask(method, Request, _) -> cowboy_req:method(Request);
ask(query, Request, _) -> cowboy_req:qs(Request);
ask({header, Name}, Request, _) -> cowboy_req:header(Name, Request);
ask(body, _, Body) -> iolist_to_binary(Body);
ask(body_bytes, _, Length) -> Length;
ask({parsed, form}, _, Body) -> pairs(iolist_to_binary(Body));
ask({parsed, query}, Request, _) -> cowboy_req:parse_qs(Request);
ask({parsed, cookies}, Request, _) -> cowboy_req:parse_cookies(Request).

%% cowlib refuses more than 100 pairs from its version 2.18 on, and takes no limit before it.
pairs(Form) ->
    case erlang:function_exported(cow_qs, parse_qs, 2) of
        true -> cow_qs:parse_qs(Form, #{max_keys => ?MANY});
        false -> cow_qs:parse_qs(Form)
    end.

read(nothing, Request) -> {<<>>, Request};
read(body, Request) -> pieces(Request, []);
read(body_bytes, Request) -> lengths(Request, 0).

pieces(Request0, Pieces) ->
    case cowboy_req:read_body(Request0) of
        {ok, Data, Request} -> {lists:reverse([Data | Pieces]), Request};
        {more, Data, Request} -> pieces(Request, [Data | Pieces])
    end.

lengths(Request0, Length) ->
    case cowboy_req:read_body(Request0) of
        {ok, Data, Request} -> {Length + byte_size(Data), Request};
        {more, Data, Request} -> lengths(Request, Length + byte_size(Data))
    end.

reply({Status, Headers, {chunks, Count, Chunk}}, Request0) ->
    Request = cowboy_req:stream_reply(Status, maps:from_list(Headers), Request0),
    _ = [cowboy_req:stream_body(Chunk, nofin, Request) || _ <- lists:seq(2, Count)],
    cowboy_req:stream_body(Chunk, fin, Request),
    Request;
reply({Status, Headers, {events, Count, Name, Data}}, Request0) ->
    Request = cowboy_req:stream_reply(Status, maps:from_list(Headers), Request0),
    Event = #{event => Name, data => Data},
    _ = [cowboy_req:stream_events(Event, nofin, Request) || _ <- lists:seq(2, Count)],
    cowboy_req:stream_events(Event, fin, Request),
    Request;
reply({Status, Headers, Body}, Request) -> cowboy_req:reply(Status, maps:from_list(Headers), Body, Request).
