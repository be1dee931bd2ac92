%% From two samples of the runtime to a STATS document: the activity of the BEAM in between.
%%
%% Pure; candor_stats takes the samples. Utilisation is active/total of scheduler_wall_time between
%% the two, in [0, 1], per scheduler in order of their numbers; normal, dirty CPU and dirty I/O
%% schedulers apart, since the dirty ones share no thread with the others.
-module(candor_stats_document).
-export([make/3, utilization/3]).
-export_type([look/0, facts/0]).

%% Counters of the runtime at one time; all but memory and the sizes only ever grow.
-type look() :: #{at_us := integer(), wall := [{pos_integer(), non_neg_integer(), non_neg_integer()}],
                  reductions := non_neg_integer(), gc_count := non_neg_integer(), gc_words := non_neg_integer(),
                  answered := non_neg_integer(), run_queues := [non_neg_integer()], memory := [{atom(), non_neg_integer()}],
                  processes := non_neg_integer(), ports := non_neg_integer(), queue_max := non_neg_integer(),
                  cost_us := non_neg_integer(), samples := non_neg_integer(), total_cost_us := non_neg_integer()}.

%% The constant facts: the numbers of normal and of dirty CPU schedulers, how many of them are
%% online (the others are idle), and the server.
-type facts() :: #{schedulers := pos_integer(), online := pos_integer(), dirty_cpu := non_neg_integer(),
                   dirty_cpu_online := non_neg_integer(), atom() => candor_json:json()}.

-spec make(facts(), Before :: look(), Now :: look()) -> candor_json:json().
make(#{schedulers := Normal, online := Online, dirty_cpu := DirtyCpu, dirty_cpu_online := DirtyOnline} = Facts,
     Before, Now) ->
    Interval_us = max(1, maps:get(at_us, Now) - maps:get(at_us, Before)),
    Rate = fun(Key) -> (maps:get(Key, Now) - maps:get(Key, Before)) * 1.0e6 / Interval_us end,
    Each = utilization(maps:get(wall, Before), maps:get(wall, Now), [Normal, DirtyCpu]),
    [All, AllCpu, Io] = [[rounded(Share) || Share <- Group] || Group <- Each],
    {Schedulers, Cpu} = {lists:sublist(All, Online), lists:sublist(AllCpu, DirtyOnline)},
    Memory = maps:get(memory, Now),
    maps:merge(
      maps:without([schedulers, online, dirty_cpu, dirty_cpu_online], Facts),
      #{format => <<"candor.beam-stats/1">>,
        interval_us => Interval_us,
        scheduler_utilization => Schedulers,
        scheduler_utilization_mean => mean(Schedulers),
        dirty_cpu_scheduler_utilization => Cpu,
        dirty_cpu_scheduler_utilization_mean => mean(Cpu),
        dirty_io_scheduler_utilization_mean => mean(Io),
        run_queue_lengths => maps:get(run_queues, Now),
        beam_memory_bytes => proplists:get_value(total, Memory),
        beam_memory_by_type_bytes => maps:from_list([{Kind, Bytes} || {Kind, Bytes} <- Memory, Kind =/= total]),
        reductions_per_s => round(Rate(reductions)),
        gc_count => maps:get(gc_count, Now),
        gc_per_s => rounded(Rate(gc_count)),
        gc_words_reclaimed => maps:get(gc_words, Now),
        processes => maps:get(processes, Now),
        ports => maps:get(ports, Now),
        message_queue_max => maps:get(queue_max, Now),
        requests_answered => maps:get(answered, Now),
        requests_per_s => rounded(Rate(answered)),
        %% The cost of sampling: wall time of the sampling process.
        sampling => #{samples => maps:get(samples, Now), last_us => maps:get(cost_us, Now),
                      total_us => maps:get(total_cost_us, Now)}}).

%% Splits the schedulers' shares into groups: the first group's number of schedulers, the second's,
%% the rest.
-spec utilization(Wall, Wall, [non_neg_integer()]) -> [[float()]]
    when Wall :: [{pos_integer(), non_neg_integer(), non_neg_integer()}].
utilization(Before, Now, Groups) ->
    Shares = [share(Active - Active0, Total - Total0)
              || {{Id, Active0, Total0}, {Id, Active, Total}} <- lists:zip(lists:sort(Before), lists:sort(Now))],
    grouped(Groups, Shares).

grouped([], Shares) -> [Shares];
grouped([Size | More], Shares) ->
    {Group, Rest} = lists:split(min(Size, length(Shares)), Shares),
    [Group | grouped(More, Rest)].

share(_, Total) when Total =< 0 -> 0.0;
share(Active, Total) -> max(0.0, min(1.0, Active / Total)).

mean([]) -> 0.0;
mean(Shares) -> rounded(lists:sum(Shares) / length(Shares)).

rounded(Value) -> round(Value * 10000) / 10000.
