%% cowboy's WebSocket: every frame goes back as it came.
-module(candor_cowboy_websocket).
-export([init/2, websocket_handle/2, websocket_info/2]).

-spec init(map(), term()) -> {cowboy_websocket, map(), term()}.
init(Request, State) -> {cowboy_websocket, Request, State}.

-spec websocket_handle(term(), State) -> {[term()], State}.
websocket_handle({Kind, Data}, State) when Kind =:= text; Kind =:= binary -> {[{Kind, Data}], State};
websocket_handle(_, State) -> {[], State}.

-spec websocket_info(term(), State) -> {[], State}.
websocket_info(_, State) -> {[], State}.
