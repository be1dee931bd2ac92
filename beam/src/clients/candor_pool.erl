%% A pool of connections for libraries without one: first come, first served, in one process.
%%
%% It hands out opaque values. It forgets a caller that has waited for too long; if a caller dies
%% with a connection, the connection returns to the pool.
-module(candor_pool).
-behaviour(gen_server).
-export([start/1, take/2, give/2, stop/1, init/1, handle_call/3, handle_cast/2, handle_info/2]).

-record(state, {free :: [term()], waiting = queue:new() :: queue:queue({pid(), term()}),
                taken = #{} :: #{reference() => {pid(), term()}}}).

-spec start([term()]) -> {ok, pid()}.
start(Items) -> gen_server:start_link(?MODULE, Items, []).

-spec take(pid(), timeout()) -> {ok, reference(), term()} | timeout.
take(Pool, Timeout) ->
    Mine = make_ref(),
    try gen_server:call(Pool, {take, Mine}, Timeout) of
        {Place, Item} -> {ok, Place, Item}
    catch
        exit:{timeout, _} ->
            gen_server:cast(Pool, {forget, Mine}),
            timeout
    end.

-spec give(pid(), reference()) -> ok.
give(Pool, Place) -> gen_server:cast(Pool, {give, Place}).

-spec stop(pid()) -> ok.
stop(Pool) -> gen_server:stop(Pool).

-spec init([term()]) -> {ok, #state{}}.
init(Items) -> {ok, #state{free = Items}}.

-spec handle_call({take, reference()}, gen_server:from(), #state{}) -> {noreply, #state{}} | {reply, term(), #state{}}.
handle_call({take, Mine}, {Caller, _} = From, #state{free = [Item | Free]} = State0) ->
    {Place, State} = taken(Caller, Mine, Item, State0#state{free = Free}),
    gen_server:reply(From, {Place, Item}),
    {noreply, State};
handle_call({take, Mine}, From, #state{waiting = Waiting} = State) ->
    {noreply, State#state{waiting = queue:in({From, Mine}, Waiting)}}.

-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast({give, Place}, State) ->
    demonitor(Place, [flush]),
    {noreply, freed(Place, State)};
%% It may have got one just as it gave up.
handle_cast({forget, Mine}, #state{waiting = Waiting, taken = Taken} = State) ->
    case [Place || {Place, {One, _}} <- maps:to_list(Taken), One =:= Mine] of
        [Place] -> handle_cast({give, Place}, State);
        [] -> {noreply, State#state{waiting = queue:filter(fun({_, One}) -> One =/= Mine end, Waiting)}}
    end.

-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info({'DOWN', Place, process, _, _}, State) -> {noreply, freed(Place, State)};
handle_info(_, State) -> {noreply, State}.

taken(Caller, Mine, Item, #state{taken = Taken} = State) ->
    Place = monitor(process, Caller),
    {Place, State#state{taken = Taken#{Place => {Mine, Item}}}}.

freed(Place, #state{taken = Taken0, waiting = Waiting0, free = Free} = State) ->
    case maps:take(Place, Taken0) of
        {{_, Item}, Taken} ->
            case queue:out(Waiting0) of
                {{value, {{Caller, _} = From, Mine}}, Waiting} ->
                    {Next, After} = taken(Caller, Mine, Item, State#state{taken = Taken, waiting = Waiting}),
                    gen_server:reply(From, {Next, Item}),
                    After;
                {empty, _} -> State#state{taken = Taken, free = [Item | Free]}
            end;
        error -> State
    end.
