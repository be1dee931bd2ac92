%% Utilisation by hand, and a document of the real runtime.
-module(candor_stats_tests).
-include_lib("eunit/include/eunit.hrl").

utilization_test() ->
    %% Two normal, one dirty CPU, one dirty I/O; given in any order.
    Before = [{2, 0, 1000}, {1, 100, 1000}, {4, 0, 1000}, {3, 50, 1000}],
    Now = [{1, 600, 2000}, {2, 1000, 2000}, {3, 50, 2000}, {4, 250, 2000}],
    ?assertEqual([[0.5, 1.0], [0.0], [0.25]], candor_stats_document:utilization(Before, Now, [2, 1])).

%% Counters that went wrong do not leave [0, 1].
impossible_test() ->
    ?assertEqual([[1.0, 0.0], [], []],
                 candor_stats_document:utilization([{1, 0, 0}, {2, 5, 5}], [{1, 9, 3}, {2, 5, 5}], [2, 0])).

%% A scheduler that is not online has nothing to do, and halves no mean.
offline_test() ->
    Look = #{at_us => 0, wall => [{1, 0, 0}, {2, 0, 0}, {3, 0, 0}], reductions => 0, gc_count => 0, gc_words => 0,
             answered => 0, run_queues => [0], memory => [{total, 1}], processes => 1, ports => 1, queue_max => 0,
             cost_us => 1, samples => 1, total_cost_us => 1},
    Facts = #{schedulers => 2, online => 1, dirty_cpu => 1, dirty_cpu_online => 1},
    Document = candor_stats_document:make(Facts, Look, Look#{at_us => 1000, wall => [{1, 4, 5}, {2, 0, 5}, {3, 1, 5}],
                                                             reductions => 7, answered => 2}),
    ?assertMatch(#{scheduler_utilization := [0.8], scheduler_utilization_mean := 0.8,
                   dirty_cpu_scheduler_utilization := [0.2], reductions_per_s := 7000, requests_per_s := 2000.0},
                 Document).

document_test() ->
    candor_counter:prepare(),
    {ok, Port} = candor_stats:start(#{ip => {127, 0, 0, 1}, stats_interval => 20}, #{server => raw}),
    %% A scheduler that is kept busy, and a queue without a reader.
    Lazy = spawn_link(fun() -> receive stop -> ok end end),
    [Lazy ! N || N <- lists:seq(1, 500)],
    Busy = spawn_link(fun spin/0),
    timer:sleep(1300),
    {ok, Document} = ask(Port),
    unlink(Busy), exit(Busy, kill), Lazy ! stop,
    #{<<"scheduler_utilization">> := Each, <<"beam_memory_bytes">> := Memory, <<"message_queue_max">> := Longest,
      <<"reductions_per_s">> := Reductions, <<"sampling">> := #{<<"samples">> := Samples}, <<"server">> := <<"raw">>,
      <<"processes">> := Processes, <<"interval_us">> := Interval} = Document,
    ?assertEqual(erlang:system_info(schedulers_online), length(Each)),
    ?assert(lists:max(Each) > 0.5),
    ?assert(lists:all(fun(Share) -> Share >= 0 andalso Share =< 1 end, Each)),
    ?assert(Memory > 1000000),
    ?assert(Longest >= 500),
    ?assert(Reductions > 10000),
    ?assert(Samples > 5),
    ?assert(Processes > 10),
    ?assert(Interval >= 20000).

spin() -> spin().

ask(Port) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    ok = gen_tcp:send(Socket, "GET / HTTP/1.1\r\n\r\n"),
    Answer = all(Socket, <<>>),
    [<<"HTTP/1.1 200", _/binary>>, Body] = binary:split(Answer, <<"\r\n\r\n">>),
    candor_json:decode(Body).

all(Socket, Done) ->
    case gen_tcp:recv(Socket, 0) of {ok, Data} -> all(Socket, <<Done/binary, Data/binary>>); {error, closed} -> Done end.
