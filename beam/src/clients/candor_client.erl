%% An HTTP client library under test: the behaviour, and the list of those that there are.
%%
%% A module is one library. What goes wrong is a value, of a kind that all drivers share: a library that
%% raises is caught by the load, and counted as `crash`.
-module(candor_client).
-export([clients/0, module/1, outcome/1]).
-export_type([settings/0, outcome/0, kind/0]).

-type settings() :: #{url := binary(), timeout_ms := pos_integer()}.

%% No answer in time; no connection of the pool free in time; nobody listens; the connection was closed
%% without a whole answer; anything else.
-type kind() :: timeout | 'pool-timeout' | refused | closed | status | body | crash | other.
-type outcome() :: {ok, Status :: integer(), BodyBytes :: non_neg_integer()} | {error, kind(), Example :: term()}.

%% What has to be installed, loaded and started in this order.
-callback libraries() -> [candor_libraries:library()].

%% Makes ready with a pool of so many connections; what it returns goes to every request.
-callback start(Pool :: pos_integer(), settings()) -> {ok, Handle :: term()} | {error, term()}.

%% One GET, made and read in the process that calls.
-callback request(Url :: binary(), Handle :: term()) -> outcome().

-callback stop(Handle :: term()) -> ok.

-spec clients() -> [{atom(), module()}].
clients() ->
    [{null, candor_client_null}, {httpc, candor_client_httpc}, {gun, candor_client_gun},
     {hackney, candor_client_hackney}, {ibrowse, candor_client_ibrowse}, {buoy, candor_client_buoy},
     {katipo, candor_client_katipo}, {dlhttpc, candor_client_dlhttpc}].

-spec module(atom()) -> module().
module(Client) -> proplists:get_value(Client, clients()).

%% The kind of a reason that libraries have in common.
-spec outcome(term()) -> {error, kind(), term()}.
outcome(Reason) -> {error, kind(Reason), Reason}.

kind(timeout) -> timeout;
kind(connect_timeout) -> timeout;
kind(etimedout) -> timeout;
kind(checkout_timeout) -> 'pool-timeout';
kind(econnrefused) -> refused;
kind(closed) -> closed;
kind(econnreset) -> closed;
kind(epipe) -> closed;
kind(socket_closed_remotely) -> closed;
%% Reasons come wrapped: {failed_connect, [..., {inet, _, econnrefused}]}, {shutdown, closed}, and so on.
kind(Reason) when is_tuple(Reason) -> first([kind(Part) || Part <- tuple_to_list(Reason)]);
kind(Reasons) when is_list(Reasons) -> first([kind(Part) || Part <- Reasons, is_tuple(Part) orelse is_atom(Part)]);
kind(_) -> other.

first(Kinds) ->
    case [Kind || Kind <- Kinds, Kind =/= other] of
        [Kind | _] -> Kind;
        [] -> other
    end.
