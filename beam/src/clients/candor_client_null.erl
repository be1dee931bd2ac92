%% The null client: it responds without a server. The cost of a cell with it is the driver's own
%% share.
-module(candor_client_null).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-spec libraries() -> [].
libraries() -> [].

-spec start(pos_integer(), candor_client:settings()) -> {ok, none}.
start(_, _) -> {ok, none}.

-spec request(binary(), none) -> candor_client:outcome().
request(_, none) -> {ok, 200, 12}.

-spec stop(none) -> ok.
stop(none) -> ok.
