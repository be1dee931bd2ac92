%% bin/driver: a client library behind the line protocol of drivers (docs/drivers.md).
%%
%% One line of JSON in, one out, in order, until the standard input ends. A command that fails gets
%% a reply too: {"error": "..."}. Exit codes: 0 at the end of the input, 2 for usage and missing
%% libraries.
-module(candor_driver_main).
-export([main/0]).

-spec main() -> no_return().
main() ->
    process_flag(trap_exit, true),
    candor_signals:forward_to(self()),
    Arguments = init:get_plain_arguments(),
    lists:member("--help", Arguments)
        andalso begin io:put_chars(usage()), candor_console:stop(0) end,
    Client = client(Arguments),
    candor_console:watch_stdin(self()),
    serve(Client, candor_client:module(Client)).

serve(Client, Module) ->
    receive
        {line, Line} ->
            candor_console:out(candor_json:encode(answer(candor_json:decode(Line), Client, Module))),
            serve(Client, Module);
        eof -> candor_console:stop(0);
        {signal, _} -> candor_console:stop(0);
        _ -> serve(Client, Module)
    end.

answer({ok, #{<<"do">> := <<"describe">>}}, Client, Module) ->
    Version = case lists:reverse(Module:libraries()) of
        [] -> candor_libraries:version(candor_beam);
        [Library | _] -> candor_libraries:version(element(2, Library))
    end,
    #{driver => <<"candor.driver/1">>, client => atom_to_binary(Client), version => Version,
      runtime => iolist_to_binary(["Erlang/OTP ", erlang:system_info(otp_release)])};
answer({ok, #{<<"do">> := <<"run">>} = Line}, _, Module) ->
    case cell(Line) of
        {ok, Cell} ->
            case candor_load:run(Module, Cell) of
                {ok, Result} -> Result;
                {error, Sentence} -> failed(Sentence)
            end;
        {error, Sentence} -> failed(Sentence)
    end;
answer({ok, _}, _, _) -> failed("a line needs \"do\": \"describe\" or \"run\"");
answer({error, {byte, At}}, _, _) -> failed(io_lib:format("this is no JSON, from byte ~b on", [At])).

cell(Line) ->
    Numbers = [{pool, 1, undefined}, {concurrency, 1, undefined}, {warm_up_ms, 0, 0}, {duration_ms, 1, undefined},
               {timeout_ms, 1, 30000}, {expect_status, 100, 200}, {expect_body_bytes, 0, null}],
    try
        Url = case Line of #{<<"url">> := Text} when is_binary(Text) -> Text; _ -> throw("\"url\" is needed") end,
        {ok, maps:from_list([{url, Url} | [{Key, number(Key, Least, Default, Line)} || {Key, Least, Default} <- Numbers]])}
    catch
        throw:Sentence -> {error, Sentence}
    end.

number(Key, Least, Default, Line) ->
    case maps:get(atom_to_binary(Key), Line, Default) of
        Number when is_integer(Number), Number >= Least -> Number;
        null when Default =:= null -> null;
        undefined -> throw(io_lib:format("\"~s\" is needed", [Key]));
        _ -> throw(io_lib:format("\"~s\" must be a whole number, at least ~b", [Key, Least]))
    end.

failed(Sentence) -> #{error => unicode:characters_to_binary(Sentence)}.

client(Arguments) ->
    case candor_options:parse(Arguments, specs()) of
        {ok, #{client := Client, library_path := Text}} ->
            candor_libraries:add_paths([Folder || Folder <- string:split(Text, ":", all), Folder =/= ""]),
            case candor_libraries:need((candor_client:module(Client)):libraries()) of
                ok -> Client;
                {error, Why} -> candor_console:stop(2, ["candor driver: ", Why])
            end;
        {error, Sentence} -> candor_console:stop(2, ["candor driver: ", Sentence, "\n(bin/driver --help)"])
    end.

usage() -> ["bin/driver --client CLIENT ...: lines of JSON in, lines of JSON out (docs/drivers.md)\n\n", candor_options:usage(specs())].

specs() ->
    [{client, {one_of, [Client || {Client, _} <- candor_client:clients()]}, required, "which library"},
     {schedulers, {integer, 1, 1024}, undefined, "normal schedulers [default: as many as cores]"},
     {pin, switch, false, "bind schedulers to cores"},
     {cores, text, undefined, "run on these cores only, such as 0-3 or 0,2"},
     {busy_wait, {one_of, [none, very_short, short, medium, long, very_long]}, undefined,
      "how long idle schedulers spin [default: the runtime's]"},
     {library_path, text, "", "folders of libraries, joined by colons; they go before what is installed"}].
