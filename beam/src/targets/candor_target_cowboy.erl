%% cowboy 2, in its two ways: a handler behind the router (a process per request), or a stream handler
%% that answers from init/3 in the connection's own process (candor_cowboy_stream).
%%
%% Limits that would end a benchmark are lifted, and nothing else is changed: requests per
%% connection (100 to 1000 by default), and HTTP/2's frame rate (a connection is closed above
%% 10,000 frames in 10 s).
-module(candor_target_cowboy).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, start/1, init/2]).

-define(MANY, 1000000000).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{cowboy_stream, cowboy, "cowboy"}].

-spec protocols() -> [candor_scenarios:protocol()].
protocols() -> [h1, h2c, h2].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(#{handler := stream} = Options) -> abilities(Options#{handler := handler}) -- [websocket];
abilities(_) -> [options, streaming, websocket, continue, chunked_request, slots, session].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{protocol := Protocol} = Options) ->
    Start = case Protocol of h2 -> start_tls; _ -> start_clear end,
    case cowboy:Start(?MODULE, transport(Options), maps:merge(limits(Options), handler(Options))) of
        {ok, _} -> {ok, ranch:get_port(?MODULE)};
        {error, Reason} -> {error, io_lib:format("~0tp", [Reason])}
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
handler(#{handler := handler}) ->
    Routes = [{Path, module(Route), Route} || {Path, Route} <- candor_answers:paths()],
    #{env => #{dispatch => cowboy_router:compile([{'_', Routes ++ [{'_', ?MODULE, not_found}]}])}}.

module(websocket) -> candor_cowboy_websocket;
module(_) -> ?MODULE.

%% cowboy_handler's callback. (Not declared: the kit is built without cowboy.)
-spec init(Request, Route) -> {ok, Request, none}
    when Request :: map(), Route :: items | candor_answers:route().
init(Request, items) -> answer({items, cowboy_req:binding(count, Request)}, Request);
init(Request, Route) -> answer(Route, Request).

answer(Route, Request0) ->
    case read(candor_answers:needs(Route), Request0) of
        {error, Request} -> {ok, cowboy_req:reply(400, #{}, <<>>, Request), none};
        {Body, Request} ->
            Ask = fun(What) -> ask(What, Request, Body) end,
            {ok, reply(candor_target:answer(Route, Ask), Request), none}
    end.

ask(method, Request, _) -> cowboy_req:method(Request);
ask(query, Request, _) -> cowboy_req:qs(Request);
ask({header, Name}, Request, _) -> cowboy_req:header(Name, Request);
ask(body, _, Body) -> iolist_to_binary(Body);
ask(body_bytes, _, Length) -> Length.

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
    [cowboy_req:stream_body(Chunk, nofin, Request) || _ <- lists:seq(2, Count)],
    cowboy_req:stream_body(Chunk, fin, Request),
    Request;
reply({Status, Headers, Body}, Request) -> cowboy_req:reply(Status, maps:from_list(Headers), Body, Request).
