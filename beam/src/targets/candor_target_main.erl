%% bin/target: one server, one scenario, until SIGTERM.
%%
%% It starts the server and the watch over the runtime, and then writes the port file, which tells
%% candor (or any other program) the address. Exit codes: 0 after SIGTERM, 1 if the server died, 2
%% for usage, 69 for a library that is not installed.
-module(candor_target_main).
-export([main/0]).

%% EX_UNAVAILABLE of sysexits.h, by which a suite leaves the server out.
-define(NOT_INSTALLED, 69).

-spec main() -> no_return().
main() ->
    process_flag(trap_exit, true),
    candor_signals:forward_to(self()),
    Arguments = init:get_plain_arguments(),
    case [Word || Word <- Arguments, Word =:= "--help" orelse Word =:= "--list"] of
        ["--help" | _] -> io:put_chars(usage()), candor_console:stop(0);
        ["--list" | _] -> _ = list(), candor_console:stop(0);
        [] -> run(options(Arguments))
    end.

-spec run(map()) -> no_return().
run(#{server := Server} = Options0) ->
    Module = candor_servers:module(Server),
    Means = candor_target:means(Module, Options0),
    Placed = with_folder(Options0, Means),
    need(Module, Placed),
    Options = certified(Placed),
    candor_counter:prepare(Means),
    lists:member(static, Means) andalso placed(candor_content:place(maps:get(folder, Options)), Options),
    Port = listening(Module, Options),
    Stats = stats(Options),
    Profile = profile(Options),
    candor_memory:start(Options),
    crowded(erlang:system_info(schedulers_online), erlang:system_info(logical_processors_available)),
    write_port_file(Options, lines(Port, Stats, Options)),
    candor_console:say(io_lib:format("candor target: ~s, ~s on ~s://~s:~b~s", [
        Server, maps:get(scenario, Options), scheme(Options), inet:ntoa(maps:get(ip, Options)), Port, path(Options)])),
    maps:get(stop_with_stdin, Options) andalso candor_console:watch_stdin(self()),
    wait(Options),
    candor_profile:finish(Profile),
    candor_console:say(io_lib:format("candor target: ~b answers", [candor_counter:answered()])),
    end_with(0, Options).

wait(Options) ->
    receive
        {signal, _} -> ok;
        eof -> ok;
        {'EXIT', _, normal} -> wait(Options);
        {'EXIT', _, Reason} ->
            candor_console:say(io_lib:format("candor target: the server died: ~0tP", [Reason, 30])),
            end_with(1, Options);
        _ -> wait(Options)
    end.

%% From flags to servers' options.

options(Arguments) ->
    case candor_options:parse(Arguments, specs()) of
        {ok, Options} ->
            #{server := Server, protocol := Protocol} = Options,
            Module = candor_servers:module(Server),
            Checked = meant(Options),
            lists:member(Protocol, Module:protocols())
                orelse wrong(io_lib:format("~s does not speak ~s here, only ~s",
                                           [Server, Protocol, words(Module:protocols())])),
            Names = candor_scenarios:names(Protocol, Module:abilities(Checked)),
            lists:member(maps:get(scenario, Options), Names)
                orelse wrong(io_lib:format("~s cannot do ~s over ~s; it can do~n  ~s",
                                           [Server, maps:get(scenario, Options), Protocol, words(Names)])),
            Checked;
        {error, Sentence} -> wrong(Sentence)
    end.

meant(#{ip := Ip, scenario := Scenario} = Options) ->
    Address = case inet:parse_strict_address(Ip) of
        {ok, Parsed} -> Parsed;
        {error, _} -> wrong(["--ip takes an address, not \"", Ip, "\""])
    end,
    {ok, #{settings := Settings}} = candor_scenarios:find(Scenario),
    %% Limits of 0 are not set by flags.
    Flags = maps:filter(fun(Name, Value) -> not (Value =:= 0 andalso is_map_key(Name, Settings)) end, Options),
    maps:merge(Settings, Flags#{ip := Address}).

specs() ->
    Servers = [Server || {Server, _} <- candor_servers:servers()],
    Scenarios = [Name || #{name := Name} <- candor_scenarios:all()],
    [{server, {one_of, Servers}, required, "which server"},
     {scenario, {one_of_many, Scenarios}, hello, "what it will be asked; all paths are answered in any case"},
     {protocol, {one_of, [h1, h2c, h2, h3]}, h1, "h2 is over TLS, h3 over QUIC, with a certificate made for the run"},
     {port_file, text, undefined, "write PORT=, PATH= and so on here once it is ready"},
     {standalone, switch, false, "accepted, and the only way it runs"},
     {ip, text, "127.0.0.1", "address to listen on"},
     {port, {integer, 0, 65535}, 0, "0: one that is free"},
     {nodelay, on_off, true, "TCP_NODELAY on the server's side"},
     {backlog, {integer, 1, 65535}, 1024, "connections that wait to be accepted"},
     {writes, {integer, 1, 2}, 1, "raw: a header and its body in one send or in two"},
     {handler, {one_of, [handler, stream]}, handler, "cowboy: a handler, or a stream handler that answers from init/3"},
     {max_connections, {integer, 0, 10000000}, 0, "0: no limit"},
     {max_requests, {integer, 0, 1000000000}, 0, "on one connection; 0: no limit"},
     {schedulers, {integer, 1, 1024}, undefined, "normal schedulers [default: as many as cores that it may use]"},
     {pin, switch, false, "bind schedulers to cores"},
     {cores, text, undefined, "run on these cores only, such as 0-3 or 0,2"},
     {busy_wait, {one_of, [none, very_short, short, medium, long, very_long]}, undefined,
      "how long idle schedulers spin [default: the runtime's]"},
     {library_path, text, "", "folders of libraries, joined by colons; they go before what is installed"},
     {stats, on_off, true, "watch the runtime, and tell it where STATS= says"},
     {stats_interval, milliseconds, 100, "how often it looks"},
     {profile, {one_of, [none, eprof, fprof]}, none, "profile the measured window; its figures are not comparable"},
     {profile_scope, {one_of, [server, all]}, server, "profile the server's processes, or all, those of TLS among them"},
     {profile_after, milliseconds, 1000, "the window begins so long after the first answer"},
     {profile_for, milliseconds, 5000, "and lasts so long, or until SIGTERM"},
     {profile_output, text, "candor-profile.txt", "file of the profile"},
     {memory_profile, text, undefined, "write who holds the memory to this file, near the peak"},
     {memory_above, {integer, 0, 1000000}, 100, "but only while the runtime holds more than so many MB"},
     {stop_with_stdin, switch, false, "stop when the standard input ends, too"}].

usage() ->
    ["bin/target --server SERVER [--scenario NAME] [--protocol h1|h2c|h2|h3] [--port-file FILE] ...\n",
     "bin/target --list      servers that are installed, and what each can do\n\n", candor_options:usage(specs())].

-spec wrong(iodata()) -> no_return().
wrong(Sentence) -> candor_console:stop(2, ["candor target: ", Sentence, "\n(bin/target --help)"]).

%% A line for each server and protocol: SERVER PROTOCOL SCENARIO...; or SERVER - why not.
list() ->
    [case found(Module) of
         ok -> [io:format("~s ~s ~s~n", [Server, Protocol, words(candor_scenarios:names(Protocol, Module:abilities(#{handler => handler})))])
                || Protocol <- Module:protocols()];
         error -> io:format("~s - not installed~n", [Server])
     end || {Server, Module} <- candor_servers:servers()].

found(Module) ->
    Libraries = Module:libraries(),
    candor_libraries:add_paths([]),
    candor_libraries:add_profiles(Libraries),
    case [Needed || Library <- Libraries, Needed <- [element(1, Library)], code:which(Needed) =:= non_existing] of [] -> ok; _ -> error end.

need(Module, #{library_path := Text, protocol := Protocol} = Options) ->
    candor_libraries:add_paths([Folder || Folder <- string:split(Text, ":", all), Folder =/= ""]),
    Tls = [{ssl, ssl, ""} || candor_scenarios:is_tls(Protocol)],
    Tools = [{Needed, tools, ""} || #{profile := Needed} <- [Options], Needed =/= none],
    case candor_libraries:need(Tls ++ Tools ++ Module:libraries()) of
        ok -> ok;
        {error, Why} ->
            candor_console:say(["candor target: ", Why]),
            end_with(?NOT_INSTALLED, Options)
    end.

%% A library's processes log pages about a failed start; the reason contains all of it.
listening(Module, Options) ->
    #{level := Level} = logger:get_primary_config(),
    ok = logger:set_primary_config(level, none),
    Started = try candor_profile:marked(fun() -> Module:start(Options) end) catch _:Reason -> {error, candor_ports:reason(Reason)} end,
    ok = logger:set_primary_config(level, Level),
    started(Started, Options).

started({ok, Port}, _) -> Port;
started({error, Why}, #{ip := Ip, port := Port} = Options) ->
    candor_console:say(["candor target: cannot listen on ", inet:ntoa(Ip), [[$:, integer_to_list(Port)] || Port > 0], ": ", Why]),
    end_with(1, Options).

profile(Options) ->
    case candor_profile:start(Options) of
        {ok, Profile} -> Profile;
        {error, Why} ->
            candor_console:say(["candor target: ", Why]),
            end_with(1, Options)
    end.

%% On more schedulers than cores a server preempts itself, and its tails tell of that.
crowded(Schedulers, Cores) when is_integer(Cores), Schedulers > Cores ->
    candor_console:say(io_lib:format("candor target: ~b schedulers on ~b cores preempt each other", [Schedulers, Cores]));
crowded(_, _) -> ok.

placed(ok, _) -> ok;
placed({error, Reason}, #{folder := Folder} = Options) ->
    candor_console:say(["candor target: cannot write into ", Folder, ": ", file:format_error(Reason)]),
    end_with(1, Options).

stats(#{stats := false}) -> none;
stats(#{server := Server, scenario := Scenario, protocol := Protocol, profile := Profile, handler := Handler} = Options) ->
    Told = #{server => Server, scenario => Scenario, protocol => Protocol, handler => Handler, profile => Profile,
             version => version(Server), otp => list_to_binary(erlang:system_info(otp_release))},
    started(candor_stats:start(Options, Told), Options).

version(Server) ->
    case (candor_servers:module(Server)):libraries() of
        [] -> candor_libraries:version(candor_beam);
        Libraries -> candor_libraries:version(element(2, lists:last(Libraries)))
    end.

lines(Port, Stats, #{scenario := Name, ip := Ip, protocol := Protocol, server := Server} = Options) ->
    {ok, #{method := Method}} = candor_scenarios:find(Name),
    Host = inet:ntoa(reachable(Ip)),
    ["PORT=", integer_to_list(Port), "\nPATH=", path(Options), "\nMETHOD=", Method, "\nHOST=", Host,
     "\nPROTOCOL=", atom_to_list(Protocol), "\nPID=", os:getpid(), "\n",
     [["STATS=http://", Host, $:, integer_to_list(Stats), "/\n"] || Stats =/= none],
     [["CERT=", Authority, $\n] || #{certificate := #{authority := Authority}} <- [Options]],
     "SERVER=", atom_to_list(Server), "\nVERSION=", version(Server), "\nSCENARIO=", atom_to_list(Name), $\n,
     [[Key, $=, Value, $\n] || {Key, Value} <- runtime()]].

%% The server's runtime, for results: a figure applies to this runtime only.
runtime() ->
    Number = fun(What) -> integer_to_list(erlang:system_info(What)) end,
    [{"OTP", otp()}, {"ERTS", erlang:system_info(version)}, {"JIT", case jit() of true -> "yes"; false -> "no" end},
     {"SCHEDULERS", Number(schedulers_online)}].

%% The whole version where the release says it (25.2.3), or its first number.
otp() ->
    Release = erlang:system_info(otp_release),
    case file:read_file(filename:join([code:root_dir(), "releases", Release, "OTP_VERSION"])) of
        {ok, Version} -> string:trim(Version);
        {error, _} -> Release
    end.

jit() -> erlang:system_info(emu_flavor) =:= jit.

path(#{scenario := Name}) ->
    {ok, #{path := Path}} = candor_scenarios:find(Name),
    Path.

%% Written under another name and renamed, so that no reader sees half of it.
write_port_file(#{port_file := undefined}, _) -> ok;
write_port_file(#{port_file := File} = Options, Lines) ->
    Temporary = File ++ "." ++ os:getpid() ++ ".tmp",
    %% Exclusive: a file or link of another user in this place is not written through.
    case written(file:write_file(Temporary, Lines, [exclusive]), Temporary, File) of
        ok -> ok;
        {error, Reason} ->
            candor_console:say(["candor target: cannot write ", File, ": ", file:format_error(Reason)]),
            end_with(1, Options)
    end.

written(ok, Temporary, File) ->
    Renamed = file:rename(Temporary, File),
    _ = Renamed =:= ok orelse file:delete(Temporary),
    Renamed;
written(Refused, _, _) -> Refused.

%% A folder for files that servers need on disk, a private key among them; removed when the server
%% stops. An existing one may belong to another user, and is refused.
with_folder(#{server := Server, protocol := Protocol} = Options, Means) ->
    case lists:member(Server, [inets, yaws]) orelse candor_scenarios:is_tls(Protocol) orelse lists:member(static, Means) of
        true -> with_folder(Options);
        false -> Options#{folder => "."}
    end.

with_folder(Options) ->
    Parent = case os:getenv("TMPDIR") of false -> "/tmp"; Named -> Named end,
    %% The process id for people; the rest because in a container ids come again, and one that was killed left its folder.
    Folder = filename:join(Parent, io_lib:format("candor-target-~s-~6.36.0b", [os:getpid(), rand:uniform(36 * 36 * 36 * 36 * 36) - 1])),
    case private(file:make_dir(Folder), Folder) of
        ok -> Options#{folder => Folder};
        {error, Reason} ->
            candor_console:stop(1, ["candor target: cannot make ", Folder, ": ", file:format_error(Reason)])
    end.

private(ok, Folder) -> file:change_mode(Folder, 8#700);
private(Refused, _) -> Refused.

certified(#{protocol := Protocol, folder := Folder} = Options) ->
    Options#{certificate => case candor_scenarios:is_tls(Protocol) of true -> candor_certificate:make(Folder); false -> none end}.

-spec end_with(0..255, map()) -> no_return().
end_with(Status, #{folder := Folder}) ->
    _ = Folder =/= "." andalso file:del_dir_r(Folder),
    candor_console:stop(Status).

reachable({0, 0, 0, 0}) -> {127, 0, 0, 1};
reachable({0, 0, 0, 0, 0, 0, 0, 0}) -> {0, 0, 0, 0, 0, 0, 0, 1};
reachable(Ip) -> Ip.

scheme(#{protocol := Protocol}) -> case candor_scenarios:is_tls(Protocol) of true -> "https"; false -> "http" end.

words(Names) -> lists:join(" ", [atom_to_list(Name) || Name <- Names]).
