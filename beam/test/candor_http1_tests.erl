%% The raw server's HTTP: whole, and cut anywhere.
-module(candor_http1_tests).
-include_lib("eunit/include/eunit.hrl").

-define(POST, <<"\r\nPOST /echo?a=1 HTTP/1.1\r\nHost: x\r\ncontent-LENGTH: 3\r\nexpect: 100-continue\r\n\r\nabcGET">>).

whole_test() ->
    {ok, Head, <<"abcGET">>} = candor_http1:head(?POST),
    ?assertMatch(#{method := <<"POST">>, path := <<"/echo">>, query := <<"a=1">>, body := 3, close := false, continue := true},
                 Head).

absolute_form_test() ->
    {ok, Head, <<>>} = candor_http1:head(<<"GET http://a:80/qs?b=1 HTTP/1.1\r\nHost: a\r\n\r\n">>),
    ?assertMatch(#{path := <<"/qs">>, query := <<"b=1">>}, Head).

cut_anywhere_test() ->
    Whole = byte_size(?POST) - 6,
    [?assertEqual({Cut, more}, {Cut, candor_http1:head(binary:part(?POST, 0, Cut))}) || Cut <- lists:seq(0, Whole - 1)],
    ?assertMatch({ok, _, <<>>}, candor_http1:head(binary:part(?POST, 0, Whole))).

close_test_() ->
    [?_assertMatch({ok, #{close := Close}, <<>>}, candor_http1:head(iolist_to_binary(["GET / HTTP/", Rest, "\r\n\r\n"])))
     || {Rest, Close} <- [{"1.1", false}, {"1.1\r\nConnection: Close", true}, {"1.0", true},
                          {"1.0\r\nConnection: keep-alive", false}]].

refused_test_() ->
    [?_assertEqual({Text, {error, Status}}, {Text, candor_http1:head(iolist_to_binary(Text))})
     || {Text, Status} <- [{"nonsense\r\n\r\n", 400}, {"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400},
                           {"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
                           {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
                           {["GET / HTTP/1.1\r\n", lists:duplicate(101, "a: b\r\n"), "\r\n"], 431},
                           {["GET /", lists:duplicate(70000, $a)], 431}]].

chunks_test() ->
    Body = <<"3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\nrest">>,
    {data, <<"abc">>, Second} = candor_http1:chunk(Body),
    {data, <<"0123456789">>, Last} = candor_http1:chunk(Second),
    ?assertEqual({done, <<"rest">>}, candor_http1:chunk(Last)),
    [?assertEqual(more, candor_http1:chunk(binary:part(Body, 0, Cut))) || Cut <- lists:seq(0, 11)],
    ?assertEqual(error, candor_http1:chunk(<<"x\r\n">>)),
    ?assertEqual(error, candor_http1:chunk(<<"1\r\nabc">>)).

answers_test() ->
    {ok, Get, _} = candor_http1:head(<<"GET / HTTP/1.1\r\n\r\n">>),
    {Head, Body} = candor_http1:answer(200, [{<<"a">>, <<"b">>}], <<"xyz">>, <<"date: d\r\n">>, Get),
    ?assertEqual(<<"HTTP/1.1 200 OK\r\ndate: d\r\ncontent-length: 3\r\na: b\r\n\r\nxyz">>, iolist_to_binary([Head, Body])),
    {HeadOfHead, Nothing} = candor_http1:answer(200, [], <<"xyz">>, <<>>, Get#{method := <<"HEAD">>}),
    ?assertEqual({<<"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n">>, <<>>}, {iolist_to_binary(HeadOfHead), Nothing}),
    {NoContent, _} = candor_http1:answer(204, [], <<>>, <<>>, Get#{close := true}),
    ?assertEqual(<<"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n">>, iolist_to_binary(NoContent)).
