-module(candor_json_tests).
-include_lib("eunit/include/eunit.hrl").

there_and_back_test_() ->
    [?_assertEqual({ok, Value}, candor_json:decode(candor_json:encode(Value)))
     || Value <- [null, true, false, 0, -17, 1.5, -0.001, 1.0e30, <<>>, <<"a\"b\\c\n\t", 1>>, <<"Größe"/utf8>>, [],
                  [1, [2, []], #{}], #{<<"a">> => #{<<"b">> => [null]}, <<"c">> => 3}]].

read_test_() ->
    [?_assertEqual({ok, Value}, candor_json:decode(Text))
     || {Text, Value} <- [{" { \"a\" : [ 1 , 2.5e3, 1e2 ] } \n", #{<<"a">> => [1, 2500.0, 100.0]}},
                          {"\"\\u00e9\\ud83d\\ude00\\/\"", <<"é😀/"/utf8>>}]].

wrong_test_() ->
    [?_assertMatch({Text, {error, {byte, At}}}, {Text, candor_json:decode(Text)})
     || {Text, At} <- [{"", 0}, {"{", 1}, {"[1,]", 3}, {"{\"a\" 1}", 5}, {"1 2", 2}, {"\"abc", 4}, {"nul", 0},
                       {"{\"a\":1,}", 7}, {"-", 0}]].

bytes_that_are_no_text_test() ->
    ?assertEqual({ok, <<"é"/utf8>>}, candor_json:decode(candor_json:encode(<<16#e9>>))).
