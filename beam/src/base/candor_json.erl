%% JSON, as much of it as drivers and STATS documents need: OTP 25 has no JSON module.
%%
%% Objects are maps, strings binaries, null is the atom. Keys may be atoms when encoding and are
%% binaries when decoded. It reads a term or bytes and does no I/O. Numbers that JSON cannot hold do not exist here.
-module(candor_json).
-export([encode/1, decode/1]).
-export_type([json/0]).

-type json() :: null | boolean() | number() | binary() | atom() | [json()]
              | #{binary() | atom() => json()}.

-spec encode(json()) -> iodata().
encode(null) -> <<"null">>;
encode(true) -> <<"true">>;
encode(false) -> <<"false">>;
encode(Text) when is_binary(Text) -> string(Text);
encode(Name) when is_atom(Name) -> string(atom_to_binary(Name));
encode(Number) when is_integer(Number) -> integer_to_binary(Number);
encode(Number) when is_float(Number) -> float_to_binary(Number, [short]);
encode(List) when is_list(List) -> [$[, joined([encode(Item) || Item <- List]), $]];
encode(Map) when is_map(Map) ->
    Pairs = lists:sort([{key(Key), Value} || {Key, Value} <- maps:to_list(Map)]),
    [${, joined([[string(Key), $:, encode(Value)] || {Key, Value} <- Pairs]), $}].

%% Where it is wrong, counted in bytes from 0.
-spec decode(iodata()) -> {ok, json()} | {error, {byte, non_neg_integer()}}.
decode(Text) ->
    Bytes = iolist_to_binary(Text),
    try
        {Value, Rest} = value(blank(Bytes)),
        case blank(Rest) of
            <<>> -> {ok, Value};
            More -> throw({wrong, More})
        end
    catch
        throw:{wrong, At} -> {error, {byte, byte_size(Bytes) - byte_size(At)}}
    end.

key(Key) when is_atom(Key) -> atom_to_binary(Key);
key(Key) when is_binary(Key) -> Key.

joined(Parts) -> lists:join($,, Parts).

string(Text) -> [$", [escaped(Char) || <<Char/utf8>> <= valid(Text)], $"].

%% Bytes that are not UTF-8 (a library's error message) are read as Latin-1.
valid(Text) ->
    case unicode:characters_to_binary(Text) of
        Valid when is_binary(Valid) -> Valid;
        _ -> unicode:characters_to_binary(Text, latin1)
    end.

escaped($") -> <<"\\\"">>;
escaped($\\) -> <<"\\\\">>;
escaped($\n) -> <<"\\n">>;
escaped(Char) when Char < 32 -> io_lib:format("\\u~4.16.0b", [Char]);
escaped(Char) -> <<Char/utf8>>.

value(<<"null", Rest/binary>>) -> {null, Rest};
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<$", Rest/binary>>) -> text(Rest, <<>>);
value(<<$[, Rest/binary>>) ->
    case blank(Rest) of
        <<$], More/binary>> -> {[], More};
        More -> list(More, [])
    end;
value(<<${, Rest/binary>>) ->
    case blank(Rest) of
        <<$}, More/binary>> -> {#{}, More};
        More -> object(More, #{})
    end;
value(<<Char, _/binary>> = Text) when Char =:= $-; Char >= $0, Char =< $9 -> number(Text);
value(Text) -> throw({wrong, Text}).

list(Text, Items) ->
    {Item, Rest} = value(Text),
    case blank(Rest) of
        <<$,, More/binary>> -> list(blank(More), [Item | Items]);
        <<$], More/binary>> -> {lists:reverse([Item | Items]), More};
        Wrong -> throw({wrong, Wrong})
    end.

object(<<$", Text/binary>>, Map) ->
    {Key, Rest} = text(Text, <<>>),
    case blank(Rest) of
        <<$:, More/binary>> ->
            {Value, Behind} = value(blank(More)),
            member(blank(Behind), Map#{Key => Value});
        Wrong -> throw({wrong, Wrong})
    end;
object(Wrong, _) -> throw({wrong, Wrong}).

member(<<$,, More/binary>>, Map) -> object(blank(More), Map);
member(<<$}, More/binary>>, Map) -> {Map, More};
member(Wrong, _) -> throw({wrong, Wrong}).

text(<<$", Rest/binary>>, Done) -> {Done, Rest};
text(<<"\\u", Hex:4/binary, Rest/binary>>, Done) -> code_point(Hex, Rest, Done);
text(<<$\\, Char, Rest/binary>> = Text, Done) ->
    case lists:keyfind(Char, 1, [{$", $"}, {$\\, $\\}, {$/, $/}, {$b, $\b}, {$f, $\f},
                                 {$n, $\n}, {$r, $\r}, {$t, $\t}]) of
        {_, Meant} -> text(Rest, <<Done/binary, Meant>>);
        false -> throw({wrong, Text})
    end;
text(<<Char, Rest/binary>>, Done) when Char >= 32 -> text(Rest, <<Done/binary, Char>>);
text(Wrong, _) -> throw({wrong, Wrong}).

%% RFC 8259, section 7: beyond the basic plane a character is a pair of surrogates.
code_point(Hex, Rest, Done) ->
    case {hex(Hex, Rest), Rest} of
        {High, <<"\\u", LowHex:4/binary, More/binary>>} when High >= 16#D800, High < 16#DC00 ->
            Low = hex(LowHex, More),
            (Low >= 16#DC00 andalso Low < 16#E000) orelse throw({wrong, Rest}),
            Char = 16#10000 + ((High - 16#D800) bsl 10) + (Low - 16#DC00),
            text(More, <<Done/binary, Char/utf8>>);
        {Char, _} when Char < 16#D800; Char >= 16#E000 -> text(Rest, <<Done/binary, Char/utf8>>);
        _ -> throw({wrong, Rest})
    end.

hex(Digits, Rest) ->
    try binary_to_integer(Digits, 16) catch error:badarg -> throw({wrong, Rest}) end.

number(Text) ->
    {match, [{0, Length}]} = re:run(Text, "^-?[0-9]+(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|^-", [{capture, first}]),
    <<Number:Length/binary, Rest/binary>> = Text,
    try
        {parsed(Number), Rest}
    catch
        error:badarg -> throw({wrong, Text})
    end.

parsed(Number) ->
    case binary:match(Number, [<<".">>, <<"e">>, <<"E">>]) of
        nomatch -> binary_to_integer(Number);
        _ -> binary_to_float(with_fraction(Number))
    end.

%% Erlang wants a fraction before an exponent: 1e3 is 1.0e3.
with_fraction(Number) ->
    case binary:match(Number, <<".">>) of
        nomatch -> re:replace(Number, "[eE]", ".0e", [{return, binary}]);
        _ -> Number
    end.

blank(<<Char, Rest/binary>>) when Char =:= $\s; Char =:= $\n; Char =:= $\r; Char =:= $\t -> blank(Rest);
blank(Text) -> Text.
