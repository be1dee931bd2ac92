%% A server under test: the behaviour, the list of its modules, and their common code.
%%
%% A module is one server, or one way to use it. It starts its library's listener, translates a
%% request to candor_answers' terms and a response back, in the way that the library's documentation
%% shows; it decides nothing about the response. It does not stop: the process ends.
-module(candor_target).
-export([servers/0, module/1, means/2, prepare/0, prepare/1, answer/2, count/0, answered/0, split/1, known_port/1, free/1, reason/1]).
-export_type([options/0]).

-type options() :: #{server := atom(),
                     scenario := atom(),
                     protocol := candor_scenarios:protocol(),
                     ip := inet:ip_address(),
                     port := inet:port_number(),
                     nodelay := boolean(),
                     writes := 1 | 2,
                     handler := handler | stream,
                     backlog := pos_integer(),
                     %% Connections at a time; requests on one.
                     max_connections := pos_integer() | infinity,
                     max_requests := pos_integer() | infinity,
                     certificate := none | #{certfile := file:filename(), keyfile := file:filename()},
                     %% For files that a server needs on disk.
                     folder := file:filename(),
                     atom() => term()}.

%% The applications to load and start, in this order.
-callback libraries() -> [candor_libraries:library()].

-callback protocols() -> [candor_scenarios:protocol()].

-callback abilities(options()) -> [candor_scenarios:ability()].

%% The work that the library's own code does in place of the kit's; by default none.
-callback means(options()) -> [candor_answers:means()].

-optional_callbacks([means/1]).

%% Listens; it serves requests from when this returns. The port is the one that it got.
-callback start(options()) -> {ok, inet:port_number()} | {error, iodata()}.

-spec servers() -> [{atom(), module()}].
servers() ->
    [{raw, candor_target_raw}, {inets, candor_target_inets}, {cowboy, candor_target_cowboy},
     {mochiweb, candor_target_mochiweb}, {yaws, candor_target_yaws}, {elli, candor_target_elli},
     {roadrunner, candor_target_roadrunner}, {cowboy1, candor_target_cowboy1}, {bandit, candor_target_bandit}].

-spec module(atom()) -> module().
module(Server) -> proplists:get_value(Server, servers()).

%% The work that a server does with code of its own, with these options.
-spec means(module(), options()) -> [candor_answers:means()].
means(Module, Options) ->
    {module, Module} = code:ensure_loaded(Module),
    case erlang:function_exported(Module, means, 1) of
        true -> Module:means(Options);
        false -> []
    end.

%% To be called once, before any server is started.
-spec prepare() -> ok.
prepare() -> prepare([]).

-spec prepare([candor_answers:means()]) -> ok.
prepare(Means) ->
    persistent_term:put(?MODULE, {counters:new(1, [write_concurrency]), Means}),
    candor_content:prepare().

%% The response, counted. A loader's figures are compared with this count.
-spec answer(candor_answers:route(), candor_answers:ask()) -> candor_answers:answer().
answer(Route, Ask) ->
    {Counter, Means} = persistent_term:get(?MODULE),
    counters:add(Counter, 1, 1),
    candor_answers:answer(Route, Means, Ask).

%% For a response that the library sends without a call to answer/2.
-spec count() -> ok.
count() -> counters:add(element(1, persistent_term:get(?MODULE)), 1, 1).

-spec answered() -> non_neg_integer().
answered() -> counters:get(element(1, persistent_term:get(?MODULE)), 1).

%% Whether its port can be had, for servers that do not say if it cannot.
-spec free(options()) -> boolean().
free(#{port := Port, ip := Ip}) ->
    case gen_tcp:listen(Port, [{ip, Ip}, {reuseaddr, true}]) of
        {error, eaddrinuse} -> false;
        {error, _} -> true;
        {ok, Socket} -> ok =:= gen_tcp:close(Socket)
    end.

%% Why a library could not listen, in few words: libraries put that into child specifications of kilobytes.
-spec reason(term()) -> iodata().
reason(Reason) ->
    case posix(Reason) of
        none -> io_lib:format("~0tP", [Reason, 12]);
        Known -> inet:format_error(Known)
    end.

posix(Known) when Known =:= eaddrinuse; Known =:= eaddrnotavail; Known =:= eacces; Known =:= eafnosupport;
                  Known =:= einval; Known =:= emfile -> Known;
posix(Tuple) when is_tuple(Tuple) -> posix(tuple_to_list(Tuple));
posix([First | Rest]) ->
    case posix(First) of none -> posix(Rest); Known -> Known end;
posix(_) -> none.

%% Path and query of a request target.
-spec split(binary()) -> {Path :: binary(), Query :: binary()}.
split(Target) ->
    case binary:split(Target, <<"?">>) of
        [Path, Query] -> {Path, Query};
        [Path] -> {Path, <<>>}
    end.

%% For servers that do not say which port they got: the one that was asked for, or one that was free a
%% moment ago.
-spec known_port(options()) -> inet:port_number().
known_port(#{port := 0, ip := Ip}) ->
    {ok, Socket} = gen_tcp:listen(0, [{ip, Ip}]),
    {ok, Port} = inet:port(Socket),
    gen_tcp:close(Socket),
    Port;
known_port(#{port := Port}) -> Port.
