%% The servers of the kit: the list of their modules, and nothing else.
-module(candor_servers).
-export([servers/0, module/1]).

-spec servers() -> [{atom(), module()}].
servers() ->
    [{raw, candor_target_raw}, {inets, candor_target_inets}, {cowboy, candor_target_cowboy},
     {mochiweb, candor_target_mochiweb}, {yaws, candor_target_yaws}, {elli, candor_target_elli},
     {roadrunner, candor_target_roadrunner}, {cowboy1, candor_target_cowboy1}, {bandit, candor_target_bandit},
     {erlang_quic, candor_target_erlang_quic}].

-spec module(atom()) -> module().
module(Server) -> proplists:get_value(Server, servers()).
