%% The load of a driver: C callers in a closed loop over a pool of P connections, for a fixed time.
%%
%% A request belongs to the window if it ends in it. Requests that end before (the warm-up) or after
%% are counted as outside, so that the counts together cover all requests and can be compared with
%% the server's. No request is stopped midway: the load waits for the last ones.
-module(candor_load).
-export([run/2]).
-export_type([cell/0]).

-type cell() :: #{url := binary(), pool := pos_integer(), concurrency := pos_integer(), warm_up_ms := non_neg_integer(),
                  duration_ms := pos_integer(), timeout_ms := pos_integer(), expect_status := integer(),
                  expect_body_bytes := non_neg_integer() | null}.

-record(counts, {ok = 0 :: non_neg_integer(), errors = #{} :: #{atom() => pos_integer()},
                 examples = #{} :: #{atom() => term()}}).

-spec run(module(), cell()) -> {ok, candor_json:json()} | {error, iodata()}.
run(Client, #{pool := Pool, url := Url, timeout_ms := Timeout} = Cell) ->
    case started(Client, Pool, #{url => Url, timeout_ms => Timeout}) of
        {ok, Handle} ->
            try
                measure(Client, Handle, Cell)
            after
                Client:stop(Handle)
            end;
        {error, Reason} -> {error, io_lib:format("the client did not start: ~0tP", [Reason, 30])}
    end.

started(Client, Pool, Settings) ->
    try
        Client:start(Pool, Settings)
    catch
        Class:Reason -> {error, {Class, Reason}}
    end.

measure(Client, Handle, #{concurrency := Concurrency, warm_up_ms := WarmUp, duration_ms := Duration} = Cell) ->
    Begin = now_ns() + WarmUp * 1000000,
    End = Begin + Duration * 1000000,
    Callers = [spawn_monitor(fun() -> exit({counted, call(Client, Handle, Cell, Begin, End)}) end)
               || _ <- lists:seq(1, Concurrency)],
    case gather(Callers, {#counts{}, #counts{}, candor_histogram:new()}) of
        {ok, {Inside, Outside, Latency}} ->
            {ok, #{pool => maps:get(pool, Cell), concurrency => Concurrency, window_ns => End - Begin,
                   ok => Inside#counts.ok, errors => Inside#counts.errors,
                   examples => maps:map(fun(_, Reason) -> text(Reason) end, examples(Inside, Outside)),
                   outside => #{ok => Outside#counts.ok, errors => Outside#counts.errors},
                   latency_ns => candor_histogram:to_json(Latency)}};
        {error, Reason} -> {error, io_lib:format("a caller died: ~0tP", [Reason, 30])}
    end.

call(Client, Handle, Cell, Begin, End) -> loop(Client, Handle, Cell, Begin, End, #counts{}, #counts{}, candor_histogram:new()).

loop(Client, Handle, #{url := Url} = Cell, Begin, End, Inside, Outside, Latency) ->
    Sent = now_ns(),
    Outcome = judged(attempt(Client, Url, Handle), Cell),
    case now_ns() of
        Done when Done >= End -> {Inside, counted(Outcome, Outside), Latency};
        Done when Done < Begin -> loop(Client, Handle, Cell, Begin, End, Inside, counted(Outcome, Outside), Latency);
        Done ->
            Recorded = case Outcome of ok -> candor_histogram:record(Done - Sent, Latency); _ -> Latency end,
            loop(Client, Handle, Cell, Begin, End, counted(Outcome, Inside), Outside, Recorded)
    end.

attempt(Client, Url, Handle) ->
    try
        Client:request(Url, Handle)
    catch
        Class:Reason -> {error, crash, {Class, Reason}}
    end.

judged({ok, Status, Bytes}, #{expect_status := Status, expect_body_bytes := Expected})
  when Bytes =:= Expected; Expected =:= null -> ok;
judged({ok, Status, Bytes}, #{expect_status := Status}) -> {error, body, {body_bytes, Bytes}};
judged({ok, Status, _}, _) -> {error, status, Status};
judged({error, _, _} = Error, _) -> Error.

counted(ok, #counts{ok = Ok} = Counts) -> Counts#counts{ok = Ok + 1};
counted({error, Kind, Reason}, #counts{errors = Errors, examples = Examples} = Counts) ->
    Counts#counts{errors = maps:update_with(Kind, fun(N) -> N + 1 end, 1, Errors),
                  examples = maps:merge(#{Kind => Reason}, Examples)}.

gather([], Sum) -> {ok, Sum};
gather([{Caller, Monitor} | More], {Inside, Outside, Latency}) ->
    receive
        {'DOWN', Monitor, process, Caller, {counted, {Inside1, Outside1, Latency1}}} ->
            gather(More, {added(Inside, Inside1), added(Outside, Outside1), candor_histogram:merge(Latency, Latency1)});
        {'DOWN', Monitor, process, Caller, Reason} ->
            [begin demonitor(Other, [flush]), exit(Process, kill) end || {Process, Other} <- More],
            {error, Reason}
    end.

added(A, B) ->
    #counts{ok = A#counts.ok + B#counts.ok,
            errors = maps:merge_with(fun(_, X, Y) -> X + Y end, A#counts.errors, B#counts.errors),
            examples = maps:merge(B#counts.examples, A#counts.examples)}.

examples(Inside, Outside) -> maps:merge(Outside#counts.examples, Inside#counts.examples).

text(Reason) -> unicode:characters_to_binary(io_lib:format("~0tP", [Reason, 20])).

now_ns() -> erlang:monotonic_time(nanosecond).
