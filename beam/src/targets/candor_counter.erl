%% The count of responses, with which a loader's figures are compared: a server asks here for each response.
%%
%% candor_answers decides the response; this module knows the work that the server does with code of its own, and counts.
-module(candor_counter).
-export([prepare/0, prepare/1, answer/2, count/0, answered/0]).

%% To be called once, before any server is started.
-spec prepare() -> ok.
prepare() -> prepare([]).

-spec prepare([candor_answers:means()]) -> ok.
prepare(Means) ->
    persistent_term:put(?MODULE, {counters:new(1, [write_concurrency]), Means}),
    candor_content:prepare().

%% The response, counted. A loader's figures are compared with this count.
-spec answer(candor_answers:route(), candor_answers:ask()) -> candor_answers:answer().
answer(Route, Ask) ->
    {Counter, Means} = persistent_term:get(?MODULE),
    counters:add(Counter, 1, 1),
    candor_answers:answer(Route, Means, Ask).

%% For a response that the library sends without a call to answer/2.
-spec count() -> ok.
count() -> counters:add(element(1, persistent_term:get(?MODULE)), 1, 1).

-spec answered() -> non_neg_integer().
answered() -> counters:get(element(1, persistent_term:get(?MODULE)), 1).
