%% roadrunner: a handler behind its router, over HTTP/1.1 or HTTP/2. It needs OTP 27 (29 before its version 0.5).
%%
%% Bodies are read in pieces where only their length is wanted. Its limits on connections (150) and on
%% requests per connection (1000) are lifted; both names that its versions gave the latter are set.
-module(candor_target_roadrunner).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, start/1, handle/1]).

-define(MANY, 1000000000).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{roadrunner_listener, roadrunner, "roadrunner"}].

-spec protocols() -> [candor_scenarios:protocol()].
protocols() -> [h1, h2c, h2].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming, continue, chunked_request, slots, session].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{port := Port, protocol := Protocol, max_connections := Most, max_requests := Requests} = Options) ->
    Routes = [{Path, ?MODULE, Route} || {Path, Route} <- candor_answers:paths()],
    Settings = #{port => Port, routes => Routes,
                 body_buffering => manual, max_content_length => 64 * 1024 * 1024, num_acceptors => 16,
                 max_clients => limit(Most), max_keep_alive_requests => limit(Requests),
                 max_keep_alive_request => limit(Requests), protocols => spoken(Protocol)},
    case roadrunner:start_listener(?MODULE, maps:merge(Settings, tls(Options))) of
        {ok, _} -> {ok, roadrunner_listener:port(?MODULE)};
        {error, Reason} -> {error, io_lib:format("~0tp", [Reason])}
    end.

%% roadrunner_handler's callback.
-spec handle(map()) -> {tuple(), map()}.
handle(Request0) ->
    Route = case roadrunner_req:state(Request0) of
        items -> {items, maps:get(<<"count">>, roadrunner_req:bindings(Request0))};
        Known -> Known
    end,
    {Body, Request} = read(candor_answers:needs(Route), Request0, [], 0),
    {reply(candor_target:answer(Route, fun(What) -> ask(What, Body, Request) end)), Request}.

ask(method, _, Request) -> roadrunner_req:method(Request);
ask(query, _, Request) -> roadrunner_req:qs(Request);
ask({header, Name}, _, Request) -> roadrunner_req:header(Name, Request);
ask(body, Body, _) -> iolist_to_binary(Body);
ask(body_bytes, Length, _) -> Length.

read(nothing, Request, _, _) -> {<<>>, Request};
read(Needs, Request0, Pieces, Length) ->
    {More, Data, Request} = roadrunner_req:read_body(Request0, #{length => 65536}),
    case {More, Needs} of
        {ok, body} -> {lists:reverse([Data | Pieces]), Request};
        {ok, body_bytes} -> {Length + iolist_size(Data), Request};
        {more, body} -> read(Needs, Request, [Data | Pieces], Length);
        {more, body_bytes} -> read(Needs, Request, [], Length + iolist_size(Data))
    end.

reply({Status, Headers, {chunks, Count, Chunk}}) ->
    {stream, Status, Headers,
     fun(Send) ->
         [Send(Chunk, nofin) || _ <- lists:seq(2, Count)],
         Send(Chunk, fin)
     end};
reply({Status, Headers, Body}) when Status =:= 204; Status =:= 304 -> {Status, Headers, Body};
reply({Status, Headers, Body}) ->
    {Status, [{<<"content-length">>, integer_to_binary(iolist_size(Body))} | Headers], Body}.

spoken(h1) -> [http1];
spoken(h2c) -> [http2];
spoken(h2) -> [http1, http2].

tls(#{certificate := none}) -> #{};
tls(#{certificate := Files}) -> #{tls => maps:to_list(maps:with([certfile, keyfile], Files))}.

limit(infinity) -> ?MANY;
limit(Most) -> Most.
