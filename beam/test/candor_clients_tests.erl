%% The load against a client with known responses, the histogram's bounds, and the pool.
-module(candor_clients_tests).
-include_lib("eunit/include/eunit.hrl").

%% A client for tests: each caller's third request fails in turn, and one raises.
-export([libraries/0, start/2, request/2, stop/1]).

libraries() -> [].
start(13, _) -> error(unlucky);
start(Pool, _) -> {ok, Pool}.
stop(_) -> ok.

request(_, _) ->
    N = case get(count) of undefined -> 1; Before -> Before + 1 end,
    put(count, N),
    timer:sleep(1),
    case N rem 5 of
        0 -> {error, timeout, late};
        1 -> {ok, 500, 12};
        2 -> {ok, 200, 11};
        3 -> error(broken);
        4 -> {ok, 200, 12}
    end.

outcomes_test() ->
    {ok, Json} = candor_load:run(?MODULE, cell(8, 300, 1000)),
    #{ok := Ok, errors := Errors, outside := #{ok := Before}, latency_ns := #{counts := Counts, min := Min}} = Json,
    ?assert(Ok > 0), ?assert(Before > 0), ?assert(Min >= 1000000),
    ?assertEqual(lists:sort([timeout, status, body, crash]), lists:sort(maps:keys(Errors))),
    %% Callers go round: of five requests each kind has one, give or take one for every caller.
    [?assert(abs(Count - Ok) =< 2 * 8) || Count <- maps:values(Errors)],
    ?assertEqual(Ok, lists:sum([Count || [_, Count] <- Counts])).

a_library_that_raises_when_it_starts_is_an_answer_test() ->
    {error, Sentence} = candor_load:run(?MODULE, cell(13, 0, 10)),
    ?assertMatch({match, _}, re:run(iolist_to_binary(Sentence), "did not start: {error,unlucky}")).

null_test() ->
    {ok, #{ok := Ok, errors := Errors}} = candor_load:run(candor_client_null, cell(2, 0, 50)),
    ?assert(Ok > 1000),
    ?assertEqual(#{}, Errors).

buckets_test() ->
    Values = [V + D || Bit <- lists:seq(0, 41), V <- [1 bsl Bit], D <- [-1, 0, 1, V div 3]],
    [begin
         Low = candor_histogram:bucket(V),
         ?assert(Low =< V),
         ?assert((V - Low) * 1024 =< V),
         ?assertEqual(Low, candor_histogram:bucket(Low))
     end || V <- Values],
    ?assertEqual([2047, 2048, 2048, 2050], [candor_histogram:bucket(V) || V <- [2047, 2048, 2049, 2050]]).

merged_test() ->
    Make = fun(Values) -> lists:foldl(fun candor_histogram:record/2, candor_histogram:new(), Values) end,
    {A, B} = lists:partition(fun(V) -> V rem 3 =:= 0 end, [V * V * 37 rem 5000000 || V <- lists:seq(1, 3000)]),
    ?assertEqual(Make(A ++ B), candor_histogram:merge(Make(A), Make(B))),
    ?assertEqual(3000, candor_histogram:count(Make(A ++ B))),
    ?assertMatch(#{min := null, max := null, sum := 0, counts := []}, candor_histogram:to_json(candor_histogram:new())).

pool_test() ->
    {ok, Pool} = candor_pool:start([a, b]),
    {ok, A, _} = candor_pool:take(Pool, 1000),
    {ok, B, _} = candor_pool:take(Pool, 1000),
    ?assertEqual(timeout, candor_pool:take(Pool, 10)),
    %% No caller waits any more, so the connection is not lost to the one that gave up.
    candor_pool:give(Pool, A),
    {ok, C, _} = candor_pool:take(Pool, 1000),
    %% A caller that dies gives back its connection.
    candor_pool:give(Pool, B),
    spawn(fun() -> candor_pool:take(Pool, 1000) end),
    timer:sleep(20),
    {ok, _, _} = candor_pool:take(Pool, 1000),
    candor_pool:give(Pool, C),
    candor_pool:stop(Pool).

kinds_test_() ->
    [?_assertMatch({error, Kind, _}, candor_client:outcome(Reason))
     || {Kind, Reason} <- [{refused, {failed_connect, [{to_address, {"x", 1}}, {inet, [inet], econnrefused}]}},
                           {timeout, timeout}, {closed, {shutdown, closed}}, {closed, socket_closed_remotely},
                           {'pool-timeout', checkout_timeout}, {other, {weird, "thing"}}]].

%% The outcomes of these libraries, without the libraries.
answers_of_libraries_test_() ->
    Response = fun(State, Body) -> {ok, {buoy_resp, State, Body, 12, [], <<"OK">>, 200}} end,
    [?_assertEqual({ok, 200, 12}, candor_client_buoy:outcome(Response(done, <<"httpc_bench!">>))),
     ?_assertEqual({ok, 200, 0}, candor_client_buoy:outcome(Response(done, undefined))),
     ?_assertMatch({error, 'pool-timeout', _}, candor_client_buoy:outcome({error, no_server})),
     ?_assertMatch({error, timeout, _}, candor_client_buoy:outcome({error, timeout})),
     ?_assertMatch({error, closed, _}, candor_client_buoy:outcome({error, socket_closed})),
     ?_assertEqual({ok, 200, 12}, candor_client_dlhttpc:outcome({ok, {{200, "OK"}, [], <<"httpc_bench!">>}})),
     ?_assertMatch({error, 'pool-timeout', _}, candor_client_dlhttpc:outcome({error, busy})),
     ?_assertMatch({error, closed, _}, candor_client_dlhttpc:outcome({error, connection_closed})),
     ?_assertMatch({error, refused, _}, candor_client_dlhttpc:outcome({error, econnrefused}))].

cell(Concurrency, WarmUp, Duration) ->
    #{url => <<"http://127.0.0.1:1/">>, pool => Concurrency, concurrency => Concurrency, warm_up_ms => WarmUp,
      duration_ms => Duration, timeout_ms => 100, expect_status => 200, expect_body_bytes => 12}.
