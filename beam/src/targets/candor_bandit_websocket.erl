%% bandit's WebSocket: every frame goes back as it came.
-module(candor_bandit_websocket).
-export([init/1, handle_in/2, handle_info/2]).

-spec init(State) -> {ok, State}.
init(State) -> {ok, State}.

-spec handle_in({binary(), [{opcode, text | binary}]}, State) -> {push, {text | binary, binary()}, State}.
handle_in({Data, [{opcode, Kind}]}, State) -> {push, {Kind, Data}, State}.

-spec handle_info(term(), State) -> {ok, State}.
handle_info(_, State) -> {ok, State}.
