%% The use of memory as a text: the runtime's memory by kind, its processes by initial call, and the
%% ten largest.
%%
%% It is written while the runtime uses more than a bound, anew each time that the use has grown by
%% a tenth, so that the final file is from a moment near the peak. A sample visits all processes, so
%% there is one a second at most.
-module(candor_memory).
-export([start/1, text/0]).

-define(EVERY_MS, 1000).
-define(MB, 1000000).
-define(LARGEST, 10).

-record(process, {id :: pid(), call :: mfa(), now :: mfa() | undefined, bytes :: non_neg_integer(), queue :: non_neg_integer()}).

%% Watches until the runtime ends. Without a file it does nothing.
-spec start(#{atom() => term()}) -> ok.
start(#{memory_profile := undefined}) -> ok;
start(#{memory_profile := File, memory_above := Above}) ->
    _ = spawn_link(fun() -> watch(File, Above * ?MB) end),
    ok.

watch(File, Above) ->
    Total = erlang:memory(total),
    Next = case Total > Above andalso file:write_file(File, text()) of
        false -> Above;
        ok -> Total + Total div 10;
        {error, Reason} ->
            candor_console:say(["candor target: cannot write ", File, ": ", file:format_error(Reason)]),
            infinity
    end,
    timer:sleep(?EVERY_MS),
    watch(File, Next).

%% Of this moment.
-spec text() -> iodata().
text() ->
    Memory = erlang:memory(),
    Processes = lists:append([process(Id) || Id <- processes()]),
    ByCall = maps:groups_from_list(fun(#process{call = Call}) -> Call end, fun(#process{bytes = Bytes}) -> Bytes end, Processes),
    Groups = lists:reverse(lists:keysort(3, [{Call, length(Each), lists:sum(Each), lists:max(Each)}
                                             || {Call, Each} <- maps:to_list(ByCall)])),
    Largest = lists:sublist(lists:reverse(lists:keysort(#process.bytes, Processes)), ?LARGEST),
    [io_lib:format("memory of the runtime, MB~n", []),
     [io_lib:format("~10.3f  ~s~n", [Bytes / ?MB, Kind]) || {Kind, Bytes} <- lists:reverse(lists:keysort(2, Memory))],
     io_lib:format("~n~b processes by what began them: MB, of the largest, how many~n", [length(Processes)]),
     [io_lib:format("~10.3f ~10.3f ~8b  ~s~n", [Sum / ?MB, Most / ?MB, Count, call(Call)]) || {Call, Count, Sum, Most} <- Groups],
     io_lib:format("~nthe largest: MB, messages that wait, what began it, where it is~n", []),
     [io_lib:format("~10.3f ~8b  ~s  ~s  ~p~n", [Bytes / ?MB, Queue, call(Call), call(Now), Id])
      || #process{id = Id, call = Call, now = Now, bytes = Bytes, queue = Queue} <- Largest]].

%% None, if it has ended meanwhile.
process(Id) ->
    case process_info(Id, [memory, message_queue_len, current_function, initial_call]) of
        undefined -> [];
        [{memory, Bytes}, {message_queue_len, Queue}, {current_function, Now}, {initial_call, Call}] ->
            [#process{id = Id, call = first(Call, Now, Id), now = Now, bytes = Bytes, queue = Queue}]
    end.

%% The generic initial call is the same for every process of a kind; then this takes the call that
%% it was started with, or, for a fun, its module.
first({proc_lib, _, _}, _, Id) -> proc_lib:translate_initial_call(Id);
first({erlang, apply, 2}, Now, _) -> Now;
first(Call, _, _) -> Call.

call({Module, Function, Arity}) -> io_lib:format("~s:~s/~b", [Module, Function, Arity]);
call(_) -> "-".
