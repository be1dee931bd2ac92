%% roadrunner: a handler behind its router, over HTTP/1.1, HTTP/2 or HTTP/3; in clear text each has a port of its own. Its
%% versions from 0.4 on need OTP 27, those before OTP 29.
%%
%% Bodies are read by the server before the handler is called, as is its default, but in the scenarios that are about
%% reading them as they come. Its limits on connections (150) and on requests per connection (1000) are lifted.
-module(candor_target_roadrunner).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, means/1, start/1, handle/1, handle_info/3, handle_frame/2]).

-define(MANY, 1000000000).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{roadrunner_listener, roadrunner, "roadrunner"}].

-spec protocols() -> [candor_scenarios:protocol()].
protocols() -> [h1, h2c, h2, h3].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming, websocket, continue, chunked_request, slots, session].

%% roadrunner_qs and roadrunner_req's cookies; roadrunner_compress before the one route; roadrunner_static with its cache, as
%% in its own bench; a loop of messages and roadrunner_sse.
-spec means(candor_target:options()) -> [candor_answers:means()].
means(_) -> [form, query, cookies, gzip, static, events].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{ip := Ip}) when Ip =/= {0, 0, 0, 0}, Ip =/= {127, 0, 0, 1} ->
    {error, "roadrunner has no option for an address, it listens on every one of IPv4; leave --ip out"};
start(#{port := Port, protocol := Protocol, folder := Folder, backlog := Backlog, max_connections := Most,
        max_requests := Requests, in_pieces := InPieces} = Options) ->
    Settings = #{port => Port, routes => [route(Path, Route, Folder) || {Path, Route} <- candor_answers:paths()],
                 socket_backlog => Backlog, body_buffering => buffering(InPieces),
                 max_content_length => 64 * 1024 * 1024, num_acceptors => 16,
                 max_clients => limit(Most), max_keep_alive_requests => limit(Requests), protocols => spoken(Protocol)},
    case roadrunner:start_listener(?MODULE, maps:merge(Settings, tls(Options))) of
        {ok, _} -> {ok, roadrunner_listener:port(?MODULE)};
        {error, Reason} -> {error, candor_ports:reason(Reason)}
    end.

route(_, static, Folder) -> {<<"/static/*path">>, ?MODULE, #{dir => list_to_binary(Folder), cache_ttl_ms => 1000}};
route(Path, gzip, _) -> #{path => Path, handler => ?MODULE, state => gzip, middlewares => [roadrunner_compress]};
route(Path, Route, _) -> {Path, ?MODULE, Route}.

%% roadrunner_handler's callback.
-spec handle(map()) -> {tuple(), map()}.
handle(Request) ->
    case roadrunner_req:state(Request) of
        #{dir := _} -> candor_counter:count(), roadrunner_static:handle(Request);
        websocket -> {upgrade(roadrunner_req:header(<<"upgrade">>, Request)), Request};
        items -> answer({items, maps:get(<<"count">>, roadrunner_req:bindings(Request))}, Request);
        Route -> answer(Route, Request)
    end.

answer(Route, Request0) ->
    case read(candor_answers:needs(Route), Request0, [], 0) of
        {error, Request} -> {{400, [{<<"content-length">>, <<"0">>}, {<<"connection">>, <<"close">>}], <<>>}, Request};
        {Body, Request} ->
            {reply(candor_counter:answer(Route, fun(What) -> ask(What, Body, Request) end)), Request}
    end.

ask(method, _, Request) -> roadrunner_req:method(Request);
ask(query, _, Request) -> roadrunner_req:qs(Request);
ask({header, Name}, _, Request) -> roadrunner_req:header(Name, Request);
ask(body, Body, _) -> iolist_to_binary(Body);
ask(body_bytes, Length, _) -> Length;
ask({parsed, form}, Body, _) -> roadrunner_qs:parse(iolist_to_binary(Body));
ask({parsed, query}, _, Request) -> roadrunner_req:parse_qs(Request);
ask({parsed, cookies}, _, Request) -> roadrunner_req:parse_cookies(Request).

%% In pieces where the server leaves reading to the handler, else all of it at once. A client that breaks off is an error here.
read(nothing, Request, _, _) -> {<<>>, Request};
read(Needs, Request0, Pieces, Length) ->
    case {roadrunner_req:read_body(Request0, #{length => 65536}), Needs} of
        {{ok, Data, Request}, body} -> {lists:reverse([Data | Pieces]), Request};
        {{ok, Data, Request}, body_bytes} -> {Length + iolist_size(Data), Request};
        {{more, Data, Request}, body} -> read(Needs, Request, [Data | Pieces], Length);
        {{more, Data, Request}, body_bytes} -> read(Needs, Request, [], Length + iolist_size(Data));
        {{error, _}, _} -> {error, Request0}
    end.

reply({Status, Headers, {chunks, Count, Chunk}}) ->
    {stream, Status, Headers,
     fun(Send) ->
         _ = [Send(Chunk, nofin) || _ <- lists:seq(2, Count)],
         Send(Chunk, fin)
     end};
reply({Status, Headers, {events, Count, Name, Data}}) ->
    self() ! {?MODULE, Name, Data},
    {loop, Status, Headers, Count};
reply({Status, Headers, Body}) when Status =:= 204; Status =:= 304 -> {Status, Headers, Body};
reply({Status, Headers, Body}) ->
    {Status, [{<<"content-length">>, integer_to_binary(iolist_size(Body))} | Headers], Body}.

%% An event for each message.
-spec handle_info(term(), fun((iodata()) -> term()), integer()) -> {ok | stop, integer()}.
handle_info({?MODULE, Name, Data} = Again, Push, Left) ->
    _ = Push(roadrunner_sse:event(Name, Data)),
    case Left of
        1 -> {stop, 0};
        _ -> self() ! Again, {ok, Left - 1}
    end;
handle_info(_, _, Left) -> {ok, Left}.

%% roadrunner_ws_handler's callback: every frame goes back as it came.
-spec handle_frame(map(), State) -> {reply, [{atom(), iodata()}], State}.
handle_frame(#{opcode := Kind, payload := Data}, State) -> {reply, [{Kind, Data}], State}.

upgrade(undefined) -> reply(candor_counter:answer(websocket, fun(_) -> undefined end));
upgrade(_) -> {websocket, ?MODULE, none}.

%% Where the scenario is about reading a body as it comes; elsewhere it would be one more call into
%% the server.
buffering(true) -> manual;
buffering(false) -> auto.

%% By ALPN the first that the client offers as well is chosen, in the server's order.
spoken(h1) -> [http1];
spoken(h2c) -> [http2];
spoken(h2) -> [http2, http1];
spoken(h3) -> [http3].

tls(#{certificate := none}) -> #{};
tls(#{certificate := Files}) -> #{tls => maps:to_list(maps:with([certfile, keyfile], Files))}.

limit(infinity) -> ?MANY;
limit(Most) -> Most.
