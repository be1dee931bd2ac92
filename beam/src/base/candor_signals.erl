%% SIGTERM and SIGHUP as messages to a process, in place of OTP's own handler.
-module(candor_signals).
-behaviour(gen_event).
-export([forward_to/1, init/1, handle_event/2, handle_call/2]).

%% The process gets {signal, sigterm | sighup}.
-spec forward_to(pid()) -> ok.
forward_to(Process) ->
    ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, Process}),
    ok = os:set_signal(sighup, handle).

-spec init({pid(), term()}) -> {ok, pid()}.
init({Process, _}) -> {ok, Process}.

-spec handle_event(atom(), pid()) -> {ok, pid()}.
handle_event(Signal, Process) when Signal =:= sigterm; Signal =:= sighup ->
    Process ! {signal, Signal},
    {ok, Process};
handle_event(_, Process) -> {ok, Process}.

-spec handle_call(term(), pid()) -> {ok, ok, pid()}.
handle_call(_, Process) -> {ok, ok, Process}.
