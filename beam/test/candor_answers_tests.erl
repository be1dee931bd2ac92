%% Responses, compared with the scenarios' requests.
-module(candor_answers_tests).
-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    {setup, fun candor_content:prepare/0, [fun lengths/0, fun counts/0, fun gzip/0, fun etag/0, fun items/0,
                                           fun baseline/0, fun api/0, fun echo/0, fun routes/0, fun own_means/0]}.

lengths() ->
    [?assertEqual({Route, Length}, {Route, iolist_size(body(Route, #{}))})
     || {Route, Length} <- [{hello, 7}, {large, 65536}, {json, 115}, {hello_world, 12}, {httpc_bench, 12}, {drain, 2}]],
    {chunks, 4, Chunk} = body(streaming, #{}),
    ?assertEqual(4096, byte_size(Chunk)),
    {chunks, 100, Small} = body(small, #{}),
    ?assertEqual(64, byte_size(Small)),
    {chunks, 100, _} = body(sse, #{}),
    {ok, Json} = candor_json:decode(body(json, #{})),
    ?assert(is_map(Json)).

counts() ->
    Form = lists:join($&, [io_lib:format("k~3..0b=abcdefghijklmnopqrstuvwxyz", [N]) || N <- lists:seq(1, 128)]),
    ?assertEqual(4095, iolist_size(Form)),
    ?assertEqual(<<"128">>, body(form, #{body => iolist_to_binary(Form)})),
    ?assertEqual(<<"6">>, body(qs, #{query => <<"a=1&b=2&c=3&d=4&e=5&f=6">>})),
    ?assertEqual(<<"0">>, body(qs, #{query => <<>>})),
    ?assertEqual(<<"8">>, body(cookies, #{{header, <<"cookie">>} => <<"a=1; b=2; c=3; d=4; e=5; f=6; g=7; h=8">>})),
    ?assertEqual(<<"0">>, body(cookies, #{})),
    ?assertEqual(<<"20971520">>, body(upload, #{body_bytes => 20971520})),
    ?assertEqual([{<<"straße"/utf8>>, <<"a b">>}, {<<"x">>, <<>>}, {<<"100%">>, <<"%zz">>}],
                 candor_answers:pairs(<<"stra%C3%9fe=a+b&&x&100%=%zz">>)).

gzip() ->
    Ask = fun(Accept) -> #{{header, <<"accept-encoding">>} => Accept} end,
    [begin
         {200, Headers, Body} = answer(gzip, Ask(Yes)),
         ?assertEqual({<<"content-encoding">>, <<"gzip">>}, lists:keyfind(<<"content-encoding">>, 1, Headers)),
         Plain = zlib:gunzip(Body),
         ?assertEqual(16384, byte_size(Plain)),
         {ok, List} = candor_json:decode(Plain),
         ?assert(length(List) > 100)
     end || Yes <- [<<"gzip">>, <<"br, gzip">>, <<"gzip;q=0.5, br">>, <<"*">>]],
    [?assertEqual(16384, byte_size(body(gzip, Ask(No)))) || No <- [<<"br">>, <<"gzip;q=0">>, <<"gzip; q=0.0">>, undefined]].

etag() ->
    Ask = fun(Tag) -> #{{header, <<"if-none-match">>} => Tag} end,
    [?assertMatch({304, _, <<>>}, answer(etag, Ask(Tag))) || Tag <- [<<"\"v1\"">>, <<"W/\"v1\"">>, <<"\"a\", \"v1\"">>, <<"*">>]],
    [?assertMatch({200, _, _}, answer(etag, Ask(Tag))) || Tag <- [<<"\"v2\"">>, undefined]].

items() ->
    {ok, #{<<"count">> := 50, <<"items">> := Items}} =
        candor_json:decode(body({items, <<"50">>}, #{query => <<"m=3">>})),
    ?assertEqual(50, length(Items)),
    [?assertEqual(Price * Quantity * 3, Total)
     || #{<<"price">> := Price, <<"quantity">> := Quantity, <<"total">> := Total} <- Items],
    [?assertMatch({404, _, _}, answer({items, Count}, #{query => Query}))
     || {Count, Query} <- [{<<"51">>, <<>>}, {<<"x">>, <<>>}, {<<"1">>, <<"m=x">>}]].

baseline() ->
    ?assertEqual(<<"579">>, body(baseline, #{query => <<"a=123&b=456">>})),
    ?assertMatch({404, _, _}, answer(baseline, #{query => <<"a=1">>})).

api() ->
    ?assertMatch({204, _, <<>>}, answer(api, #{method => <<"OPTIONS">>})),
    ?assertMatch({404, _, _}, answer(api, #{method => <<"GET">>})).

echo() ->
    ?assertEqual({200, [{<<"content-encoding">>, <<"gzip">>}], <<"abc">>},
                 answer(echo, #{body => <<"abc">>, {header, <<"content-encoding">>} => <<"gzip">>})).

own_means() ->
    Own = fun(Route, Means, Parsed) ->
        element(3, candor_answers:answer(Route, [Means], fun({parsed, What}) when What =:= Means -> Parsed end))
    end,
    ?assertEqual(<<"2">>, Own(form, form, [{<<"a">>, <<"1">>}, {<<"a">>, true}])),
    ?assertEqual(<<"1">>, Own(qs, query, #{<<"a">> => <<"1">>})),
    ?assertEqual(<<"1">>, Own(cookies, cookies, [{<<"a">>, <<"1">>}])),
    ?assertEqual(16384, byte_size(Own(gzip, gzip, none))),
    ?assertEqual({events, 100, <<"tick">>, <<"tick">>}, Own(sse, events, none)),
    Folder = filename:join("/tmp", "candor-answers-" ++ os:getpid()),
    ok = file:make_dir(Folder),
    ok = candor_content:place(Folder),
    {file, File} = Own(static, static, none),
    {ok, Sent} = file:read_file(File),
    ?assertEqual(body(static, #{}), Sent),
    ok = file:del_dir_r(Folder),
    %% Means for something else are none for this.
    ?assertEqual(<<"1">>, element(3, candor_answers:answer(qs, [form], fun(query) -> <<"a=b">> end))).

routes() ->
    %% Servers with a routing table and without one give the same responses.
    {value, {Varying, items}, Plain} = lists:keytake(items, 2, candor_answers:paths()),
    [?assertEqual({Path, Route}, {Path, candor_answers:route(Path)}) || {Path, Route} <- Plain],
    ?assertEqual(121, length(Plain)),
    [Before, <<>>] = binary:split(Varying, <<":count">>),
    ?assertEqual({items, <<"50">>}, candor_answers:route(<<Before/binary, "50">>)),
    [?assertEqual({Path, not_found}, {Path, candor_answers:route(Path)})
     || Path <- [<<"/route/100">>, <<"/route/07">>, <<"/route/+7">>, <<"/route/x">>, <<"/nowhere">>, <<>>]],
    %% Every scenario has a response.
    [?assertNotEqual({Name, not_found}, {Name, candor_answers:route(hd(binary:split(Path, <<"?">>)))})
     || #{name := Name, path := Path} <- candor_scenarios:all(), Name =/= router_404_storm].

body(Route, Request) -> element(3, answer(Route, Request)).

answer(Route, Request) -> candor_answers:answer(Route, [], fun(What) -> maps:get(What, Request, undefined) end).
