-module(candor_options_tests).
-include_lib("eunit/include/eunit.hrl").

-define(SPECS, [{server, {one_of, [raw, cowboy1]}, required, "server"}, {port, {integer, 0, 65535}, 0, "port"},
                {stats_interval, milliseconds, 100, "interval"}, {nodelay, on_off, true, "nodelay"},
                {standalone, switch, false, "alone"}, {port_file, text, undefined, "file"}]).

right_test() ->
    {ok, Options} = parse(["--server", "cowboy1", "--nodelay=off", "--stats-interval", "2s", "--standalone",
                           "--port-file", "--odd"]),
    ?assertEqual(#{server => cowboy1, port => 0, stats_interval => 2000, nodelay => false, standalone => true,
                   port_file => "--odd"}, Options).

wrong_test_() ->
    [?_assertEqual({Arguments, Sentence}, {Arguments, wrong(Arguments)})
     || {Arguments, Sentence} <-
            [{[], "--server is needed"},
             {["--server"], "--server needs a value:  raw|cowboy1"},
             {["--server", "elly"], "--server is one of raw, cowboy1; not \"elly\""},
             {["--sever", "raw"], "there is no --sever; did you mean --server?"},
             {["--server", "raw", "--port", "70000"], "--port takes a number from 0 to 65535, not \"70000\""},
             {["--server", "raw", "--nodelay", "1"], "--nodelay is on or off, not \"1\""},
             {["--server", "raw", "--stats-interval", "5"],
              "--stats-interval takes a time such as 100ms, 5s or 1m, not \"5\""},
             {["raw"], "do not know what to do with \"raw\": flags begin with --"}]].

parse(Arguments) -> candor_options:parse(Arguments, ?SPECS).

wrong(Arguments) -> {error, Sentence} = parse(Arguments), lists:flatten(Sentence).
