%% Watches the runtime while a server is under load, and tells it over a listener of its own.
%%
%% At every interval a process samples the runtime's counters. A request gets a document of the last
%% two samples (candor_stats_document) as JSON, from a plain gen_tcp listener: none of it goes
%% through the server's listener, its acceptors or its code. Every path gives the same response. The
%% scan for the longest message queue visits the processes, so it is made at most once a second, and
%% over no more than 5,000 processes.
-module(candor_stats).
-export([start/2]).

-define(SCAN_US, 1000000).
-define(SCAN_MOST, 5000).

-record(watch, {facts :: candor_stats_document:facts(), interval_ms :: pos_integer(), table :: ets:tid(),
                before :: candor_stats_document:look() | none, samples = 0 :: non_neg_integer(),
                total_us = 0 :: non_neg_integer(), scanned_us = 0 :: integer(), queue_max = 0 :: non_neg_integer()}).

%% Begins watching. The port is that of the listener on the same address.
-spec start(map(), #{candor_json:json() => candor_json:json()}) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{ip := Ip, stats_interval := Interval}, Told) ->
    Facts = Told#{schedulers => erlang:system_info(schedulers),
                  online => erlang:system_info(schedulers_online),
                  dirty_cpu => erlang:system_info(dirty_cpu_schedulers),
                  dirty_cpu_online => erlang:system_info(dirty_cpu_schedulers_online)},
    case gen_tcp:listen(0, [binary, {ip, Ip}, {active, false}, {reuseaddr, true}, {backlog, 64}]) of
        {ok, Listener} ->
            Table = ets:new(?MODULE, [public, {read_concurrency, true}]),
            Watch = #watch{facts = Facts, interval_ms = Interval, table = Table, before = none},
            Watcher = spawn_opt(fun() -> begin_watch(Watch) end, [link, {priority, high}]),
            ets:give_away(Table, Watcher, ok),
            Watcher ! go,
            spawn_link(fun() -> accept(Listener, Table) end),
            inet:port(Listener);
        {error, Reason} -> {error, inet:format_error(Reason)}
    end.

%% The runtime counts schedulers' times for as long as the process lives that asked for it.
begin_watch(Watch) ->
    register(?MODULE, self()),
    receive go -> erlang:system_flag(scheduler_wall_time, true) end,
    watch(Watch).

watch(#watch{interval_ms = Interval, table = Table, facts = Facts, before = Before} = Watch0) ->
    {Now, Watch} = look(Watch0),
    _ = Before =/= none andalso ets:insert(Table, {looks, Facts, Before, Now}),
    erlang:send_after(Interval, self(), look),
    %% (Other messages are of no interest: the owner of a table is told so.)
    receive look -> watch(Watch#watch{before = Now}) end.

look(#watch{samples = Samples, total_us = Total} = Watch0) ->
    Begun = now_us(),
    #watch{queue_max = Longest} = Watch = scanned(Begun, Watch0),
    {Gcs, Words, _} = erlang:statistics(garbage_collection),
    {Reductions, _} = erlang:statistics(reductions),
    Look = #{at_us => Begun, wall => erlang:statistics(scheduler_wall_time_all), reductions => Reductions, gc_count => Gcs, gc_words => Words,
             answered => candor_counter:answered(), run_queues => erlang:statistics(run_queue_lengths_all),
             memory => erlang:memory(), processes => erlang:system_info(process_count),
             ports => erlang:system_info(port_count), queue_max => Longest},
    Cost = now_us() - Begun,
    {Look#{cost_us => Cost, samples => Samples + 1, total_cost_us => Total + Cost},
     Watch#watch{samples = Samples + 1, total_us = Total + Cost}}.

scanned(Now, #watch{scanned_us = Last} = Watch) when Now - Last < ?SCAN_US, Last =/= 0 -> Watch;
scanned(Now, Watch) ->
    Lengths = [Length || Process <- lists:sublist(processes(), ?SCAN_MOST),
                         {message_queue_len, Length} <- [process_info(Process, message_queue_len)]],
    Watch#watch{scanned_us = Now, queue_max = lists:max([0 | Lengths])}.

accept(Listener, Table) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            tell(Socket, Table),
            accept(Listener, Table);
        {error, closed} -> ok;
        {error, _} -> timer:sleep(50), accept(Listener, Table)
    end.

%% One after the other, and none of them may hold up the next for long.
tell(Socket, Table) ->
    _ = gen_tcp:recv(Socket, 0, 500),
    {Status, Body} = case ets:lookup(Table, looks) of
        [{looks, Facts, Before, Now}] -> {"200 OK", candor_json:encode(candor_stats_document:make(Facts, Before, Now))};
        [] -> {"503 Service Unavailable", "{\"error\":\"no interval is over yet\"}"}
    end,
    _ = gen_tcp:send(Socket, ["HTTP/1.1 ", Status, "\r\ncontent-type: application/json\r\ncontent-length: ",
                              integer_to_list(iolist_size(Body)), "\r\nconnection: close\r\n\r\n", Body]),
    gen_tcp:close(Socket).

now_us() -> erlang:monotonic_time(microsecond).
