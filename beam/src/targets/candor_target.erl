%% A server under test: the behaviour, the list of those that there are, and what all of them share.
%%
%% A module is one server, or one way to use it. It starts its library's listener, translates a
%% request to candor_answers' terms and an answer back, in the way that the library's documentation
%% shows; it decides nothing about what is answered. It does not stop: the process ends.
-module(candor_target).
-export([servers/0, module/1, prepare/0, answer/2, answered/0, split/1, known_port/1]).
-export_type([options/0]).

-type options() :: #{server := atom(),
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
                     %% For what a server insists on having on a disk.
                     folder := file:filename(),
                     atom() => term()}.

%% What has to be installed, loaded and started in this order.
-callback libraries() -> [candor_libraries:library()].

-callback protocols() -> [candor_scenarios:protocol()].

-callback abilities(options()) -> [candor_scenarios:ability()].

%% Listens; it answers requests from when this returns. The port is the one that it got.
-callback start(options()) -> {ok, inet:port_number()} | {error, iodata()}.

-spec servers() -> [{atom(), module()}].
servers() ->
    [{raw, candor_target_raw}, {inets, candor_target_inets}, {cowboy, candor_target_cowboy},
     {mochiweb, candor_target_mochiweb}, {yaws, candor_target_yaws}, {elli, candor_target_elli},
     {roadrunner, candor_target_roadrunner}, {cowboy1, candor_target_cowboy1}, {bandit, candor_target_bandit}].

-spec module(atom()) -> module().
module(Server) -> proplists:get_value(Server, servers()).

%% To be called once, before any server is started.
-spec prepare() -> ok.
prepare() ->
    persistent_term:put(?MODULE, counters:new(1, [write_concurrency])),
    candor_content:prepare().

%% The answer, counted. A loader's figures are held against this count.
-spec answer(candor_answers:route(), candor_answers:ask()) -> candor_answers:answer().
answer(Route, Ask) ->
    counters:add(persistent_term:get(?MODULE), 1, 1),
    candor_answers:answer(Route, Ask).

-spec answered() -> non_neg_integer().
answered() -> counters:get(persistent_term:get(?MODULE), 1).

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
