%% A server under test: the behaviour, and its options.
%%
%% A module is one server, or one way to use it. It starts its library's listener, translates a
%% request to candor_answers' terms and a response back, in the way that the library's documentation
%% shows; it decides nothing about the response. It does not stop: the process ends.
-module(candor_target).
-export([means/2]).
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
                     %% What the scenario is about, for servers that do it only where it is asked for: compression of
                     %% responses, and bodies that are read in pieces.
                     compression := boolean(),
                     in_pieces := boolean(),
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

%% The work that a server does with code of its own, with these options.
-spec means(module(), options()) -> [candor_answers:means()].
means(Module, Options) ->
    {module, Module} = code:ensure_loaded(Module),
    case erlang:function_exported(Module, means, 1) of
        true -> Module:means(Options);
        false -> []
    end.
