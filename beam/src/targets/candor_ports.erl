%% Ports for servers that say too little about theirs: whether one can be had, which one it is, and why a library
%% could not listen.
-module(candor_ports).
-export([free/1, known_port/1, reason/1]).

%% Whether its port can be had, for servers that do not say if it cannot.
-spec free(candor_target:options()) -> boolean().
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

%% For servers that do not say which port they got: the one that was asked for, or one that was free a
%% moment ago.
-spec known_port(candor_target:options()) -> inet:port_number().
known_port(#{port := 0, ip := Ip}) ->
    {ok, Socket} = gen_tcp:listen(0, [{ip, Ip}]),
    {ok, Port} = inet:port(Socket),
    gen_tcp:close(Socket),
    Port;
known_port(#{port := Port}) -> Port.
