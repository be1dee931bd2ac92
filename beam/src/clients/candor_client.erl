%% An HTTP client library under test: the behaviour, and the list of its modules.
%%
%% A module is one library. Errors are values, of kinds that all drivers share: the load catches the
%% exceptions of a library and counts them as `crash`.
-module(candor_client).
-export([clients/0, module/1, outcome/1]).
-export_type([settings/0, outcome/0, kind/0]).

-type settings() :: #{url := binary(), timeout_ms := pos_integer()}.

%% No response in time; no connection of the pool free in time; no server listens; the connection
%% was closed without a whole response; anything else.
-type kind() :: timeout | 'pool-timeout' | refused | closed | status | body | crash | other.
-type outcome() :: {ok, Status :: integer(), BodyBytes :: non_neg_integer()} | {error, kind(), Example :: term()}.

%% The applications to load and start, in this order.
-callback libraries() -> [candor_libraries:library()].

%% Prepares a pool of `Pool` connections; every request gets the returned handle.
-callback start(Pool :: pos_integer(), settings()) -> {ok, Handle :: term()} | {error, term()}.

%% One GET, made and read in the process that calls.
-callback request(Url :: binary(), Handle :: term()) -> outcome().

-callback stop(Handle :: term()) -> ok.

-spec clients() -> [{atom(), module()}].
clients() ->
    [{null, candor_client_null}, {httpc, candor_client_httpc}, {gun, candor_client_gun},
     {hackney, candor_client_hackney}, {ibrowse, candor_client_ibrowse}, {buoy, candor_client_buoy},
     {katipo, candor_client_katipo}, {dlhttpc, candor_client_dlhttpc},
     {finch, candor_client_finch}, {req, candor_client_req}].

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
