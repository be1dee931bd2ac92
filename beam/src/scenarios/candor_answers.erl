%% The response of each path: the one place that decides it, for all servers.
%%
%% Pure: a server asks for the route of a path, reads the body if the route needs it, and passes a
%% function that reads parts of the request, so that unneeded parts are not read. A server with a
%% router of its own (cowboy) may use that, with paths/0. A server uses its own parser, compression
%% or sendfile where it has one; the code here is for servers without them.
-module(candor_answers).
-export([paths/0, split/1, route/1, needs/1, answer/3, pairs/1, cookies/1]).
-export_type([route/0, answer/0, ask/0, means/0]).

%% Work that a server does with code of its own: parse forms, queries and cookies; compress plain
%% content; send a file; frame events.
-type means() :: form | query | cookies | gzip | static | events.

-type route() :: hello | echo | large | json | cookies | form | drain | upload | gzip | qs | sse | etag | api
               | redirect | baseline | static | streaming | small | websocket | hello_world | httpc_bench
               | {items, binary()} | {routed, binary()} | not_found.

%% Header names are in lower case. A body of chunks has no announced length. Files and events come to those
%% servers alone that have means for them.
-type answer() :: {Status :: 200..599, [{binary(), iodata()}],
                   Body :: iodata() | {chunks, pos_integer(), binary()} | {file, file:filename()}
                         | {events, pos_integer(), Name :: binary(), Data :: binary()}}.

%% The method and the query (without its question mark) as bytes, a header by its name in lower
%% case, the body, or its length; and the result of a server's own parser for a form, the query or
%% the cookies: a list of pairs, or a map.
-type ask() :: fun((method | query | {header, binary()} | body | body_bytes | {parsed, form | query | cookies}) -> term()).

-define(HELLO, <<"alive\r\n">>).
-define(JSON, <<"{\"id\":4711,\"name\":\"candor\",\"kind\":\"target\",\"status\":\"alive\","
                "\"tags\":[\"fast\",\"small\",\"plain\"],\"score\":99.5,\"ok\":true}">>).
-define(TEXT, {<<"content-type">>, <<"text/plain">>}).
-define(JSON_TYPE, {<<"content-type">>, <<"application/json">>}).
-define(BINARY, {<<"content-type">>, <<"application/octet-stream">>}).
%% HTTP/2 has no such field; the route is asked over HTTP/1.1 alone.
-define(EVENTS, [{<<"content-type">>, <<"text/event-stream">>}, {<<"cache-control">>, <<"no-cache">>},
                 {<<"connection">>, <<"close">>}]).
-define(ITEMS, 50).
-define(ROUTES, 100).

%% Every path without a part that varies, those that are asked most first.
-define(PLAIN,
        [{<<"/">>, hello}, {<<"/echo">>, echo}, {<<"/large">>, large}, {<<"/json">>, json},
         {<<"/cookies">>, cookies}, {<<"/form">>, form}, {<<"/drain">>, drain}, {<<"/upload">>, upload},
         {<<"/gzip">>, gzip}, {<<"/qs">>, qs}, {<<"/sse">>, sse}, {<<"/etag">>, etag}, {<<"/api">>, api},
         {<<"/redirect">>, redirect}, {<<"/baseline11">>, baseline}, {<<"/static/hello.txt">>, static},
         {<<"/streaming">>, streaming}, {<<"/small">>, small}, {<<"/ws/echo">>, websocket},
         {<<"/hello-world">>, hello_world}, {<<"/httpc-bench">>, httpc_bench}]).

%% For servers that have a routing table of their own: every path, and one with a part that is bound to `count`,
%% of the route {items, Count}.
-spec paths() -> [{binary(), route() | items}].
paths() ->
    ?PLAIN ++ [{<<"/route/", N/binary>>, {routed, N}} || N <- numbers()] ++ [{<<"/httparena_json/:count">>, items}].

%% Path and query of a request target.
-spec split(binary()) -> {Path :: binary(), Query :: binary()}.
split(Target) ->
    case binary:split(Target, <<"?">>) of
        [Path, Query] -> {Path, Query};
        [Path] -> {Path, <<>>}
    end.

%% For servers without a routing table.
-spec route(Path :: binary()) -> route().
route(<<"/route/", N/binary>>) -> routed(N);
route(<<"/httparena_json/", N/binary>>) -> {items, N};
route(Path) ->
    case lists:keyfind(Path, 1, ?PLAIN) of
        {_, Route} -> Route;
        false -> not_found
    end.

%% The part of a request that must be read before the response: the body, or all of it to know its
%% length.
-spec needs(route()) -> nothing | body | body_bytes.
needs(echo) -> body;
needs(form) -> body;
needs(drain) -> body_bytes;
needs(upload) -> body_bytes;
needs(_) -> nothing.

%% By the server's own means where it has them.
-spec answer(route(), [means()], ask()) -> answer().
answer(Route, Means, Ask) when Route =:= form; Route =:= qs; Route =:= cookies; Route =:= gzip; Route =:= static; Route =:= sse ->
    Own = case Route of qs -> query; sse -> events; _ -> Route end,
    case lists:member(Own, Means) of
        true -> own(Own, Ask);
        false -> answer(Route, Ask)
    end;
answer(Route, _, Ask) -> answer(Route, Ask).

own(gzip, _) -> {200, [?JSON_TYPE], candor_content:get(compressible)};
own(static, _) -> {200, [?TEXT], {file, candor_content:file()}};
own(events, _) -> {200, ?EVENTS, {events, 100, <<"tick">>, <<"tick">>}};
own(Parsed, Ask) ->
    Count = case Ask({parsed, Parsed}) of Pairs when is_map(Pairs) -> map_size(Pairs); Pairs -> length(Pairs) end,
    {200, [?TEXT], number(Count)}.

answer(hello, _) -> {200, [?TEXT], ?HELLO};
answer(hello_world, _) -> {200, [?TEXT], <<"Hello world!">>};
answer(httpc_bench, _) -> {200, [], <<"httpc_bench!">>};
answer(large, _) -> {200, [?BINARY], candor_content:get(large)};
answer(json, _) -> {200, [?JSON_TYPE], ?JSON};
answer(static, _) -> {200, [?TEXT], candor_content:get(static)};
answer({routed, Number}, _) -> {200, [?TEXT], Number};
answer(streaming, _) -> {200, [?BINARY], {chunks, 4, candor_content:get(streaming_chunk)}};
answer(small, _) -> {200, [?BINARY], {chunks, 100, candor_content:get(small_chunk)}};
answer(drain, _) -> {200, [?TEXT], <<"ok">>};
answer(redirect, _) -> {302, [{<<"location">>, <<"/">>}], <<>>};
answer(echo, Ask) ->
    Kept = [{Name, Value} || Name <- [<<"content-type">>, <<"content-encoding">>],
                             (Value = Ask({header, Name})) =/= undefined],
    {200, Kept, Ask(body)};
answer(form, Ask) -> {200, [?TEXT], number(length(pairs(Ask(body))))};
answer(upload, Ask) -> {200, [?TEXT], number(Ask(body_bytes))};
answer(qs, Ask) -> {200, [?TEXT], number(length(pairs(Ask(query))))};
answer(cookies, Ask) -> {200, [?TEXT], number(length(cookies(Ask({header, <<"cookie">>}))))};
answer(gzip, Ask) -> gzip(Ask({header, <<"accept-encoding">>}));
answer(etag, Ask) -> etag(Ask({header, <<"if-none-match">>}));
answer(api, Ask) -> api(Ask(method));
answer(baseline, Ask) -> sum(pairs(Ask(query)));
answer({items, Count}, Ask) -> items(Count, pairs(Ask(query)));
answer(sse, _) ->
    {200, ?EVENTS, {chunks, 100, <<"event: tick\ndata: tick\n\n">>}};
answer(websocket, _) -> {400, [?TEXT], <<"this path is for WebSocket\n">>};
answer(not_found, _) -> {404, [?TEXT], <<"not found\n">>}.

%% The pairs of a query or a urlencoded form, decoded; in one pass, because some scenarios measure
%% this. Text without an escape is not copied.
-spec pairs(binary()) -> [{binary(), binary()}].
pairs(Text) ->
    Pairs = pairs(Text, Text, 0, 0, none),
    case binary:match(Text, candor_content:escapes()) of
        nomatch -> Pairs;
        _ -> [{decoded(Name), decoded(Value)} || {Name, Value} <- Pairs]
    end.

%% Of the pair that begins at `From`; `Equal` is where its first = stands.
pairs(<<$&, Rest/binary>>, Text, From, At, Equal) ->
    one_pair(Text, From, At, Equal, pairs(Rest, Text, At + 1, At + 1, none));
pairs(<<$=, Rest/binary>>, Text, From, At, none) -> pairs(Rest, Text, From, At + 1, At);
pairs(<<_, Rest/binary>>, Text, From, At, Equal) -> pairs(Rest, Text, From, At + 1, Equal);
pairs(<<>>, Text, From, At, Equal) -> one_pair(Text, From, At, Equal, []).

one_pair(_, From, From, _, More) -> More;
one_pair(Text, From, To, none, More) -> [{binary:part(Text, From, To - From), <<>>} | More];
one_pair(Text, From, To, Equal, More) ->
    [{binary:part(Text, From, Equal - From), binary:part(Text, Equal + 1, To - Equal - 1)} | More].

%% The cookies of a Cookie header, RFC 6265, section 4.2.1.
-spec cookies(binary() | undefined) -> [{binary(), binary()}].
cookies(undefined) -> [];
cookies(Text) ->
    [{trimmed(Name), trimmed(Value)}
     || Cookie <- binary:split(Text, <<";">>, [global]), [Name, Value] <- [binary:split(Cookie, <<"=">>)]].

%% Compressed for each request: the scenario measures the compression.
gzip(Accepted) ->
    Plain = candor_content:get(compressible),
    Vary = {<<"vary">>, <<"accept-encoding">>},
    case accepts_gzip(Accepted) of
        true -> {200, [?JSON_TYPE, Vary, {<<"content-encoding">>, <<"gzip">>}], zlib:gzip(Plain)};
        false -> {200, [?JSON_TYPE, Vary], Plain}
    end.

%% RFC 9110, section 12.5.3, as far as it is about gzip.
accepts_gzip(undefined) -> false;
accepts_gzip(Text) -> lists:any(fun accepts_one/1, binary:split(Text, <<",">>, [global])).

accepts_one(Coding) ->
    {Name, Weight} = case binary:split(Coding, <<";">>) of
        [Only] -> {Only, <<>>};
        [Before, After] -> {Before, trimmed(After)}
    end,
    lists:member(trimmed(Name), [<<"gzip">>, <<"x-gzip">>, <<"*">>])
        andalso re:run(Weight, "^q=0(\\.0*)?$") =:= nomatch.

%% Weak comparison: W/"v1" names it as well (RFC 9110, section 13.1.2).
etag(Asked) ->
    Tag = {<<"etag">>, <<"\"v1\"">>},
    Tags = case Asked of undefined -> []; _ -> [trimmed(T) || T <- binary:split(Asked, <<",">>, [global])] end,
    case lists:any(fun(T) -> lists:member(T, [<<"*">>, <<"\"v1\"">>, <<"W/\"v1\"">>]) end, Tags) of
        true -> {304, [Tag], <<>>};
        false -> {200, [?TEXT, Tag], <<"version 1\n">>}
    end.

api(<<"OPTIONS">>) ->
    Methods = <<"GET, HEAD, POST, OPTIONS">>,
    {204, [{<<"allow">>, Methods}, {<<"access-control-allow-origin">>, <<"*">>},
           {<<"access-control-allow-methods">>, Methods}, {<<"access-control-allow-headers">>, <<"*">>},
           {<<"access-control-max-age">>, <<"86400">>}], <<>>};
api(_) -> answer(not_found, none()).

sum(Pairs) ->
    try
        {200, [?TEXT], number(parameter(<<"a">>, Pairs) + parameter(<<"b">>, Pairs))}
    catch
        error:badarg -> answer(not_found, none())
    end.

items(Text, Pairs) ->
    try
        Count = binary_to_integer(Text),
        true = Count >= 0 andalso Count =< ?ITEMS orelse error(badarg),
        M = case lists:keymember(<<"m">>, 1, Pairs) of true -> parameter(<<"m">>, Pairs); false -> 1 end,
        Items = lists:join($,, [one_item(N, M) || N <- lists:seq(1, Count)]),
        {200, [?JSON_TYPE], ["{\"items\":[", Items, "],\"count\":", number(Count), $}]}
    catch
        error:badarg -> answer(not_found, none())
    end.

one_item(N, M) ->
    {Price, Quantity} = candor_content:item(N),
    ["{\"id\":", number(N), ",\"price\":", number(Price), ",\"quantity\":", number(Quantity),
     ",\"total\":", number(Price * Quantity * M), $}].

parameter(Name, Pairs) ->
    case lists:keyfind(Name, 1, Pairs) of
        {_, Value} -> binary_to_integer(Value);
        false -> error(badarg)
    end.

%% One spelling for each: /route/07 and /route/+7 are not found.
routed(Text) ->
    try binary_to_integer(Text) of
        N when N >= 0, N < ?ROUTES ->
            case number(N) of Text -> {routed, Text}; _ -> not_found end;
        _ -> not_found
    catch
        error:badarg -> not_found
    end.

numbers() -> [number(N) || N <- lists:seq(0, ?ROUTES - 1)].

number(N) -> integer_to_binary(N).

none() -> fun(_) -> undefined end.

%% Percent and plus, of a form (URL standard, section 5.1). Invalid escapes stay as they are.
decoded(Text) -> decoded(Text, <<>>).

decoded(<<$+, Rest/binary>>, Done) -> decoded(Rest, <<Done/binary, $\s>>);
decoded(<<$%, High, Low, Rest/binary>>, Done) ->
    case {digit(High), digit(Low)} of
        {H, L} when is_integer(H), is_integer(L) -> decoded(Rest, <<Done/binary, (H * 16 + L)>>);
        _ -> decoded(<<High, Low, Rest/binary>>, <<Done/binary, $%>>)
    end;
decoded(<<Byte, Rest/binary>>, Done) -> decoded(Rest, <<Done/binary, Byte>>);
decoded(<<>>, Done) -> Done.

digit(Char) when Char >= $0, Char =< $9 -> Char - $0;
digit(Char) when Char >= $a, Char =< $f -> Char - $a + 10;
digit(Char) when Char >= $A, Char =< $F -> Char - $A + 10;
digit(_) -> none.

trimmed(Text) -> string:trim(Text).
