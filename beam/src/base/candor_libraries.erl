%% Finds third-party libraries where people have them, and says how to get one that is not there.
%%
%% Nothing here is needed to build: libraries are looked for on the code path, in Debian's
%% rabbitmq-server (which ships cowboy, cowlib, ranch and gun among its plugins) and erlang-yaws, in Elixir's own
%% folder, and wherever --library-path says. rebar3's profiles come in through bin/.
-module(candor_libraries).
-export([add_paths/1, add_profiles/1, need/1, version/1]).

%% The module that shows that a library is there, the application to start, rebar3's profile.
-type library() :: {module(), Application :: atom(), Profile :: string()}
                 %% The server starts its application itself.
                 | {module(), Application :: atom(), Profile :: string(), load}.
-export_type([library/0]).

%% The existing code path takes precedence over libraries found here, except folders of libraries in
%% `Own`, which the user named.
-spec add_paths([file:name()]) -> ok.
add_paths(Own) ->
    Shipped = ["/usr/lib/rabbitmq/lib/*/plugins", "/usr/lib/elixir/lib", "/usr/share/elixir/lib"],
    persistent_term:put({?MODULE, own}, [Ebin || Folder <- lists:reverse(Own), Ebin <- ebins(Folder)]),
    code:add_pathsa(own()),
    code:add_pathsz([Ebin || Folder <- Shipped, Ebin <- ebins(Folder)] ++ filelib:wildcard("/usr/lib/yaws-*/ebin")),
    ok.

%% Libraries that rebar3 built take precedence over all others except the ones that the user named.
-spec add_profiles([library()]) -> ok.
add_profiles(Libraries) ->
    %% _build/default/lib/candor_beam/ebin/candor_libraries.beam
    Build = lists:foldl(fun(_, Path) -> filename:dirname(Path) end, code:which(?MODULE), lists:seq(1, 5)),
    Ebins = [Ebin || Library <- Libraries, Profile <- [element(3, Library)], Profile =/= "", Ebin <- ebins(filename:join([Build, Profile, "lib"])),
                     filename:basename(filename:dirname(Ebin)) =/= "candor_beam"],
    code:add_pathsa(Ebins),
    %% What is there already moves to the front again.
    code:add_pathsa(own()).

own() -> persistent_term:get({?MODULE, own}, []).

%% Loads and starts the applications of a server or a client.
-spec need([library()]) -> ok | {error, iodata()}.
need(Libraries) ->
    add_profiles(Libraries),
    each(Libraries).

each([]) -> ok;
each([Library | More]) ->
    [Module, Application, Profile | How] = tuple_to_list(Library),
    case code:ensure_loaded(Module) of
        {module, Module} ->
            case started(Application, How) of
                ok -> each(More);
                {error, Reason} ->
                    {error, io_lib:format("~s is there, but does not start: ~0tp", [Application, Reason])}
            end;
        {error, _} -> {error, missing(Application, Profile)}
    end.

-spec version(atom()) -> binary().
version(Application) ->
    _ = application:load(Application),
    case application:get_key(Application, vsn) of
        {ok, Version} -> list_to_binary(Version);
        undefined -> <<"unknown">>
    end.

started(Application, [load]) ->
    _ = application:load(Application),
    ok;
started(Application, []) ->
    case application:ensure_all_started(Application) of
        {ok, _} -> ok;
        {error, Reason} -> {error, Reason}
    end.

missing(Application, Profile) ->
    %% Debian's cowboy is cowboy 2.
    Package = case Profile of "cowboy1" -> none; _ -> maps:get(Application, packages(), none) end,
    [io_lib:format("~s is not installed.~n", [Application]),
     [io_lib:format("  Debian:  apt-get install ~s~n", [Package]) || Package =/= none],
     [io_lib:format("  rebar3:  cd beam && rebar3 as ~s compile~n", [Profile]) || Profile =/= ""],
     "  or:      --library-path DIR, a folder that has ", atom_to_list(Application), "/ebin"].

packages() ->
    #{cowboy => "rabbitmq-server", gun => "rabbitmq-server", mochiweb => "erlang-mochiweb",
      yaws => "erlang-yaws", inets => "erlang-inets", ssl => "erlang-ssl", tools => "erlang-tools"}.

%% Folders, and archives as rabbitmq once had them: NAME.ez holds NAME/ebin.
ebins(Folder) ->
    filelib:wildcard(filename:join([Folder, "*", "ebin"]))
        ++ [filename:join([Archive, filename:basename(Archive, ".ez"), "ebin"])
            || Archive <- filelib:wildcard(filename:join(Folder, "*.ez"))].
