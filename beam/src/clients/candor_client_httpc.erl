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
    Options = [{timeout, Timeout}, {connect_timeout, Timeout}, {autoredirect, false} | tls(Url)],
    case httpc:request(get, {binary_to_list(Url), []}, Options, [{body_format, binary}], ?PROFILE) of
        {ok, {{_, Status, _}, _, Body}} -> {ok, Status, byte_size(Body)};
        {error, Reason} -> candor_client:outcome(Reason)
    end.

%% Without these, httpc looks for the machine's certificates for clear text too, and crashes where there are none.
tls(<<"http://", _/binary>>) -> [{ssl, []}];
tls(_) -> [].

-spec stop(pos_integer()) -> ok.
stop(_) -> ok = inets:stop(httpc, ?PROFILE).
