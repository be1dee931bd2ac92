%% docs/erlang.md lists the work that each server does by its own means, and a failed start is told
%% in few words.
-module(candor_target_tests).
-include_lib("eunit/include/eunit.hrl").

-define(MEANS, [form, query, cookies, gzip, static, events]).

own_means_are_documented_test() ->
    %% rebar3 runs tests in beam/.
    {ok, Page} = file:read_file("../docs/erlang.md"),
    [_, After] = binary:split(Page, <<"| server | form |">>),
    [Table | _] = binary:split(After, <<"\n\n">>),
    Rows = [[string:trim(Field) || Field <- binary:split(Row, <<"|">>, [global]), string:trim(Field) =/= <<>>]
            || <<"| `", _/binary>> = Row <- binary:split(Table, <<"\n">>, [global])],
    Wanted = [[iolist_to_binary(["`", atom_to_list(Server), "`"]) | fields(Module)] || {Server, Module} <- candor_servers:servers()],
    ?assertEqual(Wanted, Rows).

%% With the scenario for which some of them load it.
fields(Module) ->
    Means = candor_target:means(Module, #{compression => true, handler => handler}),
    ?assertEqual([], Means -- ?MEANS),
    [case lists:member(One, Means) of true -> <<"own">>; false -> <<"kit">> end || One <- ?MEANS].

reasons_test() ->
    Said = fun(Reason) -> lists:flatten(candor_ports:reason(Reason)) end,
    Deep = {{shutdown, {failed_to_start_child, listener, {listen_failed, eaddrinuse}}}, {child, undefined, #{a => b}}},
    ?assertEqual("address already in use", Said(Deep)),
    ?assertEqual("address already in use", Said(eaddrinuse)),
    Long = Said({bad, lists:seq(1000, 2000)}),
    ?assert(length(Long) < 200, Long).
