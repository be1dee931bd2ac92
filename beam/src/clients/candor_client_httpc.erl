%% httpc, the client that comes with OTP.
%%
%% It has no pool that callers wait for. The pool's size is its max_sessions, the connections that it keeps; one
%% request waits behind another on a connection as its default (max_keep_alive_length) has it.
-module(candor_client_httpc).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-define(PROFILE, candor).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{httpc, inets, ""}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, pos_integer()} | {error, term()}.
start(Pool, #{timeout_ms := Timeout}) ->
    case inets:start(httpc, [{profile, ?PROFILE}]) of
        {ok, _} ->
            ok = httpc:set_options([{max_sessions, Pool}, {keep_alive_timeout, 120000}], ?PROFILE),
            {ok, Timeout};
        {error, Reason} -> {error, Reason}
    end.

-spec request(binary(), pos_integer()) -> candor_client:outcome().
request(Url, Timeout) ->
    Limits = [{timeout, Timeout}, {connect_timeout, Timeout}, {autoredirect, false}],
    case httpc:request(get, {binary_to_list(Url), []}, Limits, [{body_format, binary}], ?PROFILE) of
        {ok, {{_, Status, _}, _, Body}} -> {ok, Status, byte_size(Body)};
        {error, Reason} -> candor_client:outcome(Reason)
    end.

-spec stop(pos_integer()) -> ok.
stop(_) -> ok = inets:stop(httpc, ?PROFILE).
