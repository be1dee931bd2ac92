%% The one module that prints and that ends the runtime: targets and drivers speak through it.
-module(candor_console).
-export([say/1, out/1, stop/1, stop/2, watch_stdin/1]).

%% A line for people, on the standard error.
-spec say(iodata()) -> ok.
say(Line) -> io:put_chars(standard_error, [Line, $\n]).

%% A line for programs, on the standard output.
-spec out(iodata()) -> ok.
out(Line) -> ok = file:write(standard_io_port(), [Line, $\n]).

-spec stop(0..255) -> no_return().
stop(Status) -> halt(Status, [{flush, true}]).

-spec stop(0..255, iodata()) -> no_return().
stop(Status, Line) ->
    say(Line),
    stop(Status).

%% Sends the process a {line, Bytes} for each line of the standard input, and eof.
-spec watch_stdin(pid()) -> ok.
watch_stdin(Process) ->
    _ = spawn_link(fun() ->
        Port = open_port({fd, 0, 0}, [in, binary, eof, {line, 65536}]),
        read(Port, Process, [])
    end),
    ok.

read(Port, Process, Before) ->
    receive
        {Port, {data, {noeol, Part}}} -> read(Port, Process, [Before, Part]);
        {Port, {data, {eol, Part}}} ->
            Process ! {line, iolist_to_binary([Before, Part])},
            read(Port, Process, []);
        {Port, eof} -> Process ! eof
    end.

standard_io_port() ->
    case get(?MODULE) of
        undefined ->
            {ok, File} = file:open("/dev/stdout", [append, raw]),
            put(?MODULE, File),
            File;
        File -> File
    end.
