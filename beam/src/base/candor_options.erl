%% Flags to a map: `--name value` and `--switch`, by a table of the flags.
%%
%% The target and the driver use it. It prints nothing; an error is a sentence for the caller to
%% print before it exits with 2.
-module(candor_options).
-export([parse/2, usage/1]).
-export_type([spec/0]).

%% Name, type, default, and purpose. `required` means that there is no default.
-type type() :: text | switch | {integer, integer(), integer()} | milliseconds | on_off | {one_of, [atom()]} | {one_of_many, [atom()]}.
-type spec() :: {Name :: atom(), type(), Default :: term(), Help :: string()}.

-spec parse([string()], [spec()]) -> {ok, #{atom() => term()}} | {error, iodata()}.
parse(Arguments, Specs) ->
    Defaults = maps:from_list([{Name, Default} || {Name, _, Default, _} <- Specs]),
    try
        Options = flags(Arguments, Specs, Defaults),
        Missing = [Name || {Name, required} <- maps:to_list(Options)],
        Missing =:= [] orelse throw(["--", flag(hd(Missing)), " is needed"]),
        {ok, Options}
    catch
        throw:Sentence -> {error, Sentence}
    end.

-spec usage([spec()]) -> iodata().
usage(Specs) ->
    [io_lib:format("  --~-22ts ~ts~ts~n", [[flag(Name), value_name(Type)], Help, default(Default)])
     || {Name, Type, Default, Help} <- Specs].

flags([], _, Options) -> Options;
flags(["--" ++ Flag | Rest], Specs, Options) ->
    {Text, More} = case string:split(Flag, "=") of
        [Name, Value] -> {Name, [Value | Rest]};
        [Name] -> {Name, Rest}
    end,
    case [Spec || {Known, _, _, _} = Spec <- Specs, flag(Known) =:= Text] of
        [{Known, switch, _, _}] -> flags(Rest, Specs, Options#{Known => true});
        [{Known, Type, _, _}] ->
            More =/= [] orelse throw(["--", Text, " needs a value: ", value_name(Type)]),
            flags(tl(More), Specs, Options#{Known => value(Type, hd(More), Text)});
        [] -> throw(["there is no --", Text, near(Text, Specs)])
    end;
flags([Word | _], _, _) -> throw(["do not know what to do with \"", Word, "\": flags begin with --"]).

value(text, Text, _) -> Text;
value({integer, Least, Most}, Text, Flag) ->
    case string:to_integer(Text) of
        {Number, []} when is_integer(Number), Number >= Least, Number =< Most -> Number;
        _ -> throw(io_lib:format("--~ts takes a number from ~b to ~b, not \"~ts\"", [Flag, Least, Most, Text]))
    end;
value(milliseconds, Text, Flag) ->
    case re:run(Text, "^([0-9]+)(ms|s|m)$", [{capture, all_but_first, list}]) of
        {match, [Number, Unit]} ->
            list_to_integer(Number) * maps:get(Unit, #{"ms" => 1, "s" => 1000, "m" => 60000});
        nomatch -> throw(["--", Flag, " takes a time such as 100ms, 5s or 1m, not \"", Text, "\""])
    end;
value(on_off, "on", _) -> true;
value(on_off, "off", _) -> false;
value(on_off, Text, Flag) -> throw(["--", Flag, " is on or off, not \"", Text, "\""]);
%% Too many to list them all, and written as everywhere else, with underscores.
value({one_of_many, Names}, Text, Flag) ->
    case [Name || Name <- Names, atom_to_list(Name) =:= Text] of
        [Name] -> Name;
        [] ->
            Near = [atom_to_list(Name) || Name <- Names, distance(atom_to_list(Name), Text) < 3],
            throw(["--", Flag, ": there is no \"", Text, "\"",
                   case Near of [] -> ""; _ -> ["; did you mean ", lists:join(" or ", Near), "?"] end])
    end;
%% Libraries have underscores in their names.
value({one_of, Names}, Text, Flag) ->
    case [Name || Name <- Names, flag(Name) =:= Text orelse atom_to_list(Name) =:= Text] of
        [Name] -> Name;
        [] -> throw(["--", Flag, " is one of ", lists:join(", ", [flag(N) || N <- Names]), "; not \"", Text, "\""])
    end.

near(Text, Specs) ->
    case [flag(Name) || {Name, _, _, _} <- Specs, distance(flag(Name), Text) < 3] of
        [] -> "";
        [Nearest | _] -> ["; did you mean --", Nearest, "?"]
    end.

%% How many letters have to change, come or go (Levenshtein), row by row.
distance(From, To) ->
    lists:last(lists:foldl(fun(Char, Row) -> row(Char, To, Row) end, lists:seq(0, length(To)), From)).

row(Char, To, [Above | Row]) -> row(Char, To, Row, Above, [Above + 1]).

row(_, [], [], _, Done) -> lists:reverse(Done);
row(Char, [Other | To], [Above | Row], Diagonal, [Left | _] = Done) ->
    Cost = case Char of Other -> 0; _ -> 1 end,
    row(Char, To, Row, Above, [lists:min([Left + 1, Above + 1, Diagonal + Cost]) | Done]).

%% An option's name is its flag's, with _ for -.
flag(Name) -> lists:flatten(string:replace(atom_to_list(Name), "_", "-", all)).

value_name(switch) -> "";
value_name(text) -> " TEXT";
value_name({integer, _, _}) -> " N";
value_name(milliseconds) -> " TIME";
value_name(on_off) -> " on|off";
value_name({one_of_many, _}) -> " NAME";
value_name({one_of, Names}) -> [" ", lists:join("|", [flag(Name) || Name <- Names])].

default(required) -> "";
default(undefined) -> "";
default(false) -> "";
default(true) -> " [default: on]";
default(Number) when is_integer(Number) -> io_lib:format(" [default: ~b]", [Number]);
default(Name) when is_atom(Name) -> [" [default: ", flag(Name), "]"];
default(Text) -> [" [default: ", Text, "]"].
