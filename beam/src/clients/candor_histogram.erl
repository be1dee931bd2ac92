%% Durations in HdrHistogram's buckets for three digits, as the lines of drivers have them.
%%
%% A value below 2048 ns has a bucket to itself; above, a value keeps its eleven leading bits. A bucket
%% is named by its lowest value, so an error is below 1/1024 of the value. Extremes and the sum are exact. A
%% histogram is a map and belongs to one process.
-module(candor_histogram).
-export([new/0, record/2, merge/2, count/1, to_json/1, bucket/1]).
-export_type([histogram/0]).

-record(histogram, {counts = #{} :: #{non_neg_integer() => pos_integer()}, min :: non_neg_integer() | infinity,
                    max = 0 :: non_neg_integer(), sum = 0 :: non_neg_integer()}).

-opaque histogram() :: #histogram{}.

-spec new() -> histogram().
new() -> #histogram{min = infinity}.

-spec record(non_neg_integer(), histogram()) -> histogram().
record(Ns, #histogram{counts = Counts, min = Min, max = Max, sum = Sum}) ->
    Bucket = bucket(Ns),
    Count = case Counts of #{Bucket := Before} -> Before + 1; _ -> 1 end,
    %% A number is less than any atom.
    #histogram{counts = Counts#{Bucket => Count}, min = min(Min, Ns), max = max(Max, Ns), sum = Sum + Ns}.

-spec merge(histogram(), histogram()) -> histogram().
merge(A, B) ->
    #histogram{counts = maps:merge_with(fun(_, X, Y) -> X + Y end, A#histogram.counts, B#histogram.counts),
               min = min(A#histogram.min, B#histogram.min), max = max(A#histogram.max, B#histogram.max),
               sum = A#histogram.sum + B#histogram.sum}.

-spec count(histogram()) -> non_neg_integer().
count(#histogram{counts = Counts}) -> lists:sum(maps:values(Counts)).

-spec to_json(histogram()) -> candor_json:json().
to_json(#histogram{counts = Counts, min = Min, max = Max, sum = Sum}) ->
    Least = case Min of infinity -> null; _ -> Min end,
    #{min => Least, max => case Least of null -> null; _ -> Max end, sum => Sum,
      counts => [[Value, Count] || {Value, Count} <- lists:sort(maps:to_list(Counts))]}.

%% The lowest value of a value's bucket.
-spec bucket(non_neg_integer()) -> non_neg_integer().
bucket(Ns) when Ns < 2048 -> Ns;
bucket(Ns) ->
    Shift = bits(Ns bsr 11, 0),
    (Ns bsr Shift) bsl Shift.

%% How many bits a number has.
bits(0, Bits) -> Bits;
bits(N, Bits) when N >= 65536 -> bits(N bsr 16, Bits + 16);
bits(N, Bits) when N >= 256 -> bits(N bsr 8, Bits + 8);
bits(N, Bits) -> bits(N bsr 1, Bits + 1).
