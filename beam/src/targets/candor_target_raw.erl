%% The fastest honest server that Erlang has: gen_tcp, a process per connection, nothing between.
%%
%% Honest: it parses every request, frames bodies, keeps connections, sends a Date. It responds to
%% all complete requests in the buffer with one write, like the httpc benchmark's server; --writes 2
%% sends a header and its body in two, as many servers do, and with --nodelay off makes the classic
%% mistake on purpose.
-module(candor_target_raw).
-behaviour(candor_target).
-export([libraries/0, protocols/0, abilities/1, start/1]).

-record(connection, {socket :: gen_tcp:socket(), writes :: 1 | 2, left :: pos_integer() | infinity,
                     %% The Date line, and the second that it is of.
                     second = 0 :: integer(), date = <<>> :: binary()}).

-define(IDLE_MS, 60000).
-define(ACCEPTORS, 16).

-spec libraries() -> [].
libraries() -> [].

-spec protocols() -> [h1].
protocols() -> [h1].

-spec abilities(candor_target:options()) -> [candor_scenarios:ability()].
abilities(_) -> [options, streaming, continue, chunked_request, slots, session].

-spec start(candor_target:options()) -> {ok, inet:port_number()} | {error, iodata()}.
start(#{port := Port, ip := Ip, nodelay := Nodelay, backlog := Backlog} = Options) ->
    case gen_tcp:listen(Port, [binary, {ip, Ip}, {active, false}, {reuseaddr, true}, {backlog, Backlog},
                               {nodelay, Nodelay}, {buffer, 65536}]) of
        {ok, Listener} ->
            Open = counters:new(1, []),
            [spawn_link(fun() -> accept(Listener, Open, Options) end) || _ <- lists:seq(1, ?ACCEPTORS)],
            inet:port(Listener);
        {error, Reason} -> {error, inet:format_error(Reason)}
    end.

accept(Listener, Open, #{max_connections := Most} = Options) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            case counters:get(Open, 1) < Most of
                true -> hand_over(Socket, Open, Options);
                false -> gen_tcp:close(Socket)
            end,
            accept(Listener, Open, Options);
        {error, closed} -> ok;
        %% Out of descriptors, or the client has gone: the next one may be luckier.
        {error, _} -> timer:sleep(10), accept(Listener, Open, Options)
    end.

hand_over(Socket, Open, #{writes := Writes, max_requests := Left}) ->
    counters:add(Open, 1, 1),
    Connection = #connection{socket = Socket, writes = Writes, left = Left},
    Process = spawn(fun() ->
        receive go -> ok end,
        try
            serve(<<>>, [], Connection)
        after
            counters:sub(Open, 1, 1)
        end
    end),
    _ = gen_tcp:controlling_process(Socket, Process),
    Process ! go.

%% Serves the requests in the buffer, then writes, then reads. `Out` are responses not yet written.
serve(Buffer, Out, Connection) ->
    case candor_http1:head(Buffer) of
        {ok, Request, Rest} -> request(Request, Rest, Out, Connection);
        more ->
            case exchange(Out, 0, Connection) of
                {ok, Data} -> serve(joined(Buffer, Data), [], Connection);
                closed -> ok
            end;
        {error, Status} -> finish([Out, candor_http1:error(Status)], Connection)
    end.

request(#{path := Path} = Request, Bytes, Out, Connection) ->
    Route = candor_answers:route(Path),
    case read_body(Request, candor_answers:needs(Route), Bytes, Out, Connection) of
        {ok, Body, Rest, StillOut} ->
            Answer = candor_counter:answer(Route, fun(What) -> ask(What, Request, Body) end),
            reply(Answer, Request, Rest, StillOut, dated(Connection));
        {error, Status} -> finish([Out, candor_http1:error(Status)], Connection);
        closed -> ok
    end.

ask(method, #{method := Method}, _) -> Method;
ask(query, #{query := Query}, _) -> Query;
ask({header, Name}, Request, _) -> candor_http1:header(Name, Request);
ask(body, _, {_, Pieces}) -> iolist_to_binary(Pieces);
ask(body_bytes, _, {Length, _}) -> Length.

reply({Status, Headers, {chunks, _, _}}, #{method := <<"HEAD">>} = Request, Rest, Out, Connection) ->
    Head = candor_http1:chunked_head(Status, Headers, Connection#connection.date, Request),
    next(Request, Rest, [Out, Head], Connection);
reply({Status, Headers, {chunks, Count, Chunk}}, Request, Rest, Out, #connection{socket = Socket} = Connection) ->
    Head = candor_http1:chunked_head(Status, Headers, Connection#connection.date, Request),
    _ = gen_tcp:send(Socket, [Out, Head]),
    _ = [gen_tcp:send(Socket, candor_http1:encoded_chunk(Chunk)) || _ <- lists:seq(1, Count)],
    Close = lists:keymember(<<"connection">>, 1, Headers),
    next(Request#{close := Close orelse maps:get(close, Request)}, Rest, [<<"0\r\n\r\n">>], Connection);
reply({Status, Headers, Body}, Request0, Rest, Out, #connection{date = Date, left = Left} = Connection) ->
    Request = case Left of 1 -> Request0#{close := true}; _ -> Request0 end,
    {Head, Shown} = candor_http1:answer(Status, Headers, Body, Date, Request),
    case Connection of
        #connection{writes = 1} -> next(Request, Rest, [Out, Head, Shown], Connection);
        #connection{writes = 2, socket = Socket} ->
            _ = gen_tcp:send(Socket, Head),
            _ = gen_tcp:send(Socket, Shown),
            next(Request, Rest, [], Connection)
    end.

next(#{close := true}, _, Out, Connection) -> finish(Out, Connection);
next(_, Rest, Out, #connection{left = infinity} = Connection) -> serve(Rest, Out, Connection);
next(_, Rest, Out, #connection{left = Left} = Connection) -> serve(Rest, Out, Connection#connection{left = Left - 1}).

%% The body as {Length, Pieces}; only its length if the route does not use it.
read_body(#{body := 0}, _, Bytes, Out, _) -> {ok, {0, <<>>}, Bytes, Out};
read_body(#{body := Framing, continue := Continue}, Needs, Bytes, Out, Connection) ->
    %% A client that waits for a 100 sends nothing before it.
    Before = case Continue of true -> [Out, <<"HTTP/1.1 100 Continue\r\n\r\n">>]; false -> Out end,
    Keep = Needs =:= body,
    case Framing of
        chunked -> read_chunks(Bytes, Keep, 0, [], Before, Connection);
        Length when byte_size(Bytes) >= Length ->
            <<Body:Length/binary, Rest/binary>> = Bytes,
            {ok, {Length, Body}, Rest, Before};
        Length -> read_length(Length - byte_size(Bytes), Length, Keep, kept(Keep, Bytes, []), Before, Connection)
    end.

read_length(0, Length, _, Pieces, Out, _) -> {ok, {Length, lists:reverse(Pieces)}, <<>>, Out};
read_length(Left, Length, Keep, Pieces, Out, Connection) ->
    case exchange(Out, min(Left, 65536), Connection) of
        {ok, Data} -> read_length(Left - byte_size(Data), Length, Keep, kept(Keep, Data, Pieces), [], Connection);
        closed -> closed
    end.

read_chunks(Bytes, Keep, Length, Pieces, Out, Connection) ->
    case candor_http1:chunk(Bytes) of
        {data, Data, Rest} ->
            read_chunks(Rest, Keep, Length + byte_size(Data), kept(Keep, Data, Pieces), Out, Connection);
        {done, Rest} -> {ok, {Length, lists:reverse(Pieces)}, Rest, Out};
        more ->
            case exchange(Out, 0, Connection) of
                {ok, Data} -> read_chunks(joined(Bytes, Data), Keep, Length, Pieces, [], Connection);
                closed -> closed
            end;
        error -> {error, 400}
    end.

kept(true, Data, Pieces) -> [Data | Pieces];
kept(false, _, Pieces) -> Pieces.

%% Writes pending output, if there is any, then reads.
exchange([], Length, #connection{socket = Socket}) -> received(gen_tcp:recv(Socket, Length, ?IDLE_MS));
exchange(Out, Length, #connection{socket = Socket}) ->
    case gen_tcp:send(Socket, Out) of
        ok -> received(gen_tcp:recv(Socket, Length, ?IDLE_MS));
        {error, _} -> closed
    end.

received({ok, Data}) -> {ok, Data};
received({error, _}) -> closed.

finish(Out, #connection{socket = Socket}) ->
    _ = gen_tcp:send(Socket, Out),
    gen_tcp:close(Socket).

joined(<<>>, Data) -> Data;
joined(Buffer, Data) -> <<Buffer/binary, Data/binary>>.

%% The Date line changes once a second; each connection keeps the one that it made last.
dated(#connection{second = Second} = Connection) ->
    case erlang:system_time(second) of
        Second -> Connection;
        Now -> Connection#connection{second = Now, date = iolist_to_binary(["server: candor-raw\r\ndate: ", date(Now), "\r\n"])}
    end.

%% RFC 9110, section 5.6.7.
date(Second) ->
    {{Year, Month, Day}, {Hour, Minute, Seconds}} = calendar:system_time_to_universal_time(Second, second),
    Name = element(calendar:day_of_the_week(Year, Month, Day), {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}),
    MonthName = element(Month, {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}),
    io_lib:format("~s, ~2..0b ~s ~b ~2..0b:~2..0b:~2..0b GMT", [Name, Day, MonthName, Year, Hour, Minute, Seconds]).
