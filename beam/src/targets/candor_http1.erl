%% HTTP/1.1 on bytes, for the raw server: heads, bodies and responses. It uses no socket.
%%
%% The runtime's own decoder reads heads, as in a typical hand-written Erlang server. A body's
%% framing is by RFC 9112, section 6: chunked goes before a length, and both together are refused.
-module(candor_http1).
-export([head/1, header/2, chunk/1, answer/5, chunked_head/4, encoded_chunk/1, error/1]).
-export_type([head/0]).

-type head() :: #{method := binary(), path := binary(), query := binary(), headers := [{atom() | binary(), binary()}],
                  body := non_neg_integer() | chunked, close := boolean(), continue := boolean()}.

-define(HEAD_MAX_BYTES, 65536).

%% The next request's head and the bytes after it.
-spec head(binary()) -> {ok, head(), Rest :: binary()} | more | {error, Status :: 400 | 431 | 501}.
head(Bytes) ->
    case erlang:decode_packet(http_bin, Bytes, []) of
        {ok, {http_request, Method, {abs_path, Target}, Version}, Rest} ->
            headers(Rest, {name(Method), Target, Version}, [], byte_size(Bytes));
        %% RFC 9112, section 3.2.2: the absolute form is accepted from any client.
        {ok, {http_request, Method, {absoluteURI, _, _, _, Target}, Version}, Rest} ->
            headers(Rest, {name(Method), Target, Version}, [], byte_size(Bytes));
        %% RFC 9112, section 2.2: empty lines before a request are skipped.
        {ok, {http_error, Empty}, Rest} when Empty =:= <<"\r\n">>; Empty =:= <<"\n">> -> head(Rest);
        {ok, {http_request, <<"OPTIONS">>, '*', Version}, Rest} ->
            headers(Rest, {<<"OPTIONS">>, <<"*">>, Version}, [], byte_size(Bytes));
        {more, _} -> more_of(byte_size(Bytes));
        _ -> {error, 400}
    end.

%% A header by its name in lower case, as far as the runtime's decoder knows it.
-spec header(binary(), head()) -> binary() | undefined.
header(Name, #{headers := Headers}) -> find(known(Name), Headers).

%% The next piece of a chunked body.
-spec chunk(binary()) -> {data, binary(), Rest :: binary()} | {done, Rest :: binary()} | more | error.
chunk(Bytes) ->
    case binary:split(Bytes, <<"\r\n">>) of
        [Line, Rest] -> sized_chunk(chunk_size(Line), Rest);
        [_] when byte_size(Bytes) > 1024 -> error;
        [_] -> more
    end.

%% A whole response in two parts, for one write or for two.
-spec answer(200..599, [{binary(), iodata()}], iodata(), Date :: binary(), head()) -> {iodata(), iodata()}.
answer(Status, Headers, Body, Date, Request) ->
    Length = case Status of
        204 -> [];
        304 -> [];
        _ -> [<<"content-length: ">>, integer_to_binary(iolist_size(Body)), <<"\r\n">>]
    end,
    Shown = case Request of #{method := <<"HEAD">>} -> <<>>; _ -> Body end,
    {[status(Status), Date, Length, lines(Headers, Request), <<"\r\n">>], Shown}.

%% The head of a response of unknown length.
-spec chunked_head(200..599, [{binary(), iodata()}], Date :: binary(), head()) -> iodata().
chunked_head(Status, Headers, Date, Request) ->
    [status(Status), Date, <<"transfer-encoding: chunked\r\n">>, lines(Headers, Request), <<"\r\n">>].

-spec encoded_chunk(iodata()) -> iodata().
encoded_chunk(Data) -> [integer_to_binary(iolist_size(Data), 16), <<"\r\n">>, Data, <<"\r\n">>].

%% A refusal, after which the connection is closed.
-spec error(400..599) -> iodata().
error(Status) -> [status(Status), <<"content-length: 0\r\nconnection: close\r\n\r\n">>].

headers(_, _, Headers, _) when length(Headers) > 100 -> {error, 431};
headers(Bytes, Line, Headers, Whole) ->
    case erlang:decode_packet(httph_bin, Bytes, []) of
        {ok, {http_header, _, Name, _, Value}, Rest} -> headers(Rest, Line, [{Name, Value} | Headers], Whole);
        {ok, http_eoh, Rest} -> complete(Line, Headers, Rest);
        {more, _} -> more_of(Whole);
        _ -> {error, 400}
    end.

more_of(Bytes) when Bytes > ?HEAD_MAX_BYTES -> {error, 431};
more_of(_) -> more.

complete({Method, Target, Version}, Headers, Rest) ->
    case body(find('Transfer-Encoding', Headers), find('Content-Length', Headers)) of
        {error, _} = Error -> Error;
        Body ->
            {Path, Query} = candor_answers:split(Target),
            {ok, #{method => Method, path => Path, query => Query, headers => Headers, body => Body,
                   close => close(Version, find('Connection', Headers)),
                   continue => Body =/= 0 andalso find(<<"Expect">>, Headers) =/= undefined}, Rest}
    end.

body(undefined, undefined) -> 0;
body(undefined, Text) ->
    try binary_to_integer(Text) of
        Length when Length >= 0 -> Length;
        _ -> {error, 400}
    catch
        error:badarg -> {error, 400}
    end;
body(Coding, undefined) ->
    case string:lowercase(Coding) of <<"chunked">> -> chunked; _ -> {error, 501} end;
body(_, _) -> {error, 400}.

close({1, 1}, undefined) -> false;
close({1, 1}, Options) -> string:find(string:lowercase(Options), <<"close">>) =/= nomatch;
close(_, Options) -> Options =:= undefined orelse string:find(string:lowercase(Options), <<"keep-alive">>) =:= nomatch.

sized_chunk(0, Rest) -> trailer(Rest);
sized_chunk(error, _) -> error;
sized_chunk(Size, Rest) ->
    case Rest of
        <<Data:Size/binary, "\r\n", More/binary>> -> {data, Data, More};
        <<_:Size/binary, Wrong:2/binary, _/binary>> when Wrong =/= <<"\r\n">> -> error;
        _ -> more
    end.

%% Trailers are read and dropped.
trailer(<<"\r\n", Rest/binary>>) -> {done, Rest};
trailer(Bytes) ->
    case binary:split(Bytes, <<"\r\n">>) of
        [_, Rest] -> trailer(Rest);
        [_] -> more
    end.

chunk_size(Line) ->
    [Digits | _] = binary:split(Line, <<";">>),
    try binary_to_integer(string:trim(Digits), 16) of
        Size when Size >= 0 -> Size;
        _ -> error
    catch
        error:badarg -> error
    end.

lines(Headers, #{close := true}) -> [<<"connection: close\r\n">> | lines(lists:keydelete(<<"connection">>, 1, Headers))];
lines(Headers, _) -> lines(Headers).

lines(Headers) -> [[Name, <<": ">>, Value, <<"\r\n">>] || {Name, Value} <- Headers].

find(Name, Headers) ->
    case lists:keyfind(Name, 1, Headers) of
        {_, Value} -> Value;
        false -> undefined
    end.

known(<<"cookie">>) -> 'Cookie';
known(<<"content-type">>) -> 'Content-Type';
known(<<"content-encoding">>) -> 'Content-Encoding';
known(<<"accept-encoding">>) -> 'Accept-Encoding';
known(<<"if-none-match">>) -> 'If-None-Match'.

name(Method) when is_atom(Method) -> atom_to_binary(Method);
name(Method) -> Method.

status(200) -> <<"HTTP/1.1 200 OK\r\n">>;
status(Status) -> [<<"HTTP/1.1 ">>, integer_to_binary(Status), $\s, reason(Status), <<"\r\n">>].

reason(204) -> <<"No Content">>;
reason(302) -> <<"Found">>;
reason(304) -> <<"Not Modified">>;
reason(400) -> <<"Bad Request">>;
reason(404) -> <<"Not Found">>;
reason(431) -> <<"Request Header Fields Too Large">>;
reason(501) -> <<"Not Implemented">>;
reason(_) -> <<"Other">>.
