%% ibrowse: max_sessions is the pool, and no request waits behind another on a connection. Beyond that it does not
%% let a caller wait: it says retry_later, which is counted as pool-timeout.
-module(candor_client_ibrowse).
-behaviour(candor_client).
-export([libraries/0, start/2, request/2, stop/1]).

-spec libraries() -> [candor_libraries:library()].
libraries() -> [{ibrowse, ibrowse, "ibrowse"}].

-spec start(pos_integer(), candor_client:settings()) -> {ok, {string(), inet:port_number(), pos_integer()}}.
start(Pool, #{url := Url, timeout_ms := Timeout}) ->
    #{host := Host0, port := Port} = uri_string:parse(Url),
    Host = binary_to_list(Host0),
    ibrowse:set_max_sessions(Host, Port, Pool),
    ibrowse:set_max_pipeline_size(Host, Port, 1),
    {ok, {Host, Port, Timeout}}.

-spec request(binary(), {string(), inet:port_number(), pos_integer()}) -> candor_client:outcome().
request(Url, {_, _, Timeout}) ->
    Options = [{response_format, binary}, {connect_timeout, Timeout}],
    case ibrowse:send_req(binary_to_list(Url), [], get, [], Options, Timeout) of
        {ok, Status, _, Body} -> {ok, list_to_integer(Status), byte_size(Body)};
        {error, req_timedout} -> {error, timeout, req_timedout};
        {error, retry_later} -> {error, 'pool-timeout', retry_later};
        {error, Reason} when Reason =:= sel_conn_closed; Reason =:= connection_closed; Reason =:= connection_closing ->
            {error, closed, Reason};
        {error, Reason} -> candor_client:outcome(Reason)
    end.

%% Its connections are those of a host and a port, and the next cell may have the same.
-spec stop({string(), inet:port_number(), pos_integer()}) -> ok.
stop(_) ->
    _ = application:stop(ibrowse),
    {ok, _} = application:ensure_all_started(ibrowse),
    ok.
