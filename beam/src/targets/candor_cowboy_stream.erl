%% cowboy's stream handler that responds from init/3: it makes no process for a request.
%%
%% As in the post that made it known, a response has a content type and a length and nothing else:
%% no Date, no Server. A request whose body matters gets its response when the body is complete.
-module(candor_cowboy_stream).
-export([init/3, data/4, info/3, terminate/3, early_error/5]).

-record(waiting, {route :: candor_answers:route(), request :: map(), length = 0 :: non_neg_integer(),
                  pieces = [] :: [binary()]}).

-define(FLOW_BYTES, 65536).

-type commands() :: [tuple() | stop].

-spec init(term(), map(), map()) -> {commands(), #waiting{} | done}.
init(_, #{path := Path, has_body := HasBody} = Request, _) ->
    Route = candor_answers:route(Path),
    case candor_answers:needs(Route) of
        Needs when Needs =:= nothing; not HasBody -> {answer(Route, Request, <<>>, 0), done};
        _ -> {continue(Request) ++ [{flow, ?FLOW_BYTES}], #waiting{route = Route, request = Request}}
    end.

-spec data(term(), fin | nofin, binary(), #waiting{} | done) -> {commands(), #waiting{} | done}.
data(_, _, _, done) -> {[], done};
data(_, End, Data, #waiting{route = Route, request = Request, length = Before} = Waiting) ->
    Length = Before + byte_size(Data),
    Pieces = case candor_answers:needs(Route) of
        body -> [Data | Waiting#waiting.pieces];
        body_bytes -> []
    end,
    case End of
        fin -> {answer(Route, Request, iolist_to_binary(lists:reverse(Pieces)), Length), done};
        nofin -> {[{flow, byte_size(Data)}], Waiting#waiting{length = Length, pieces = Pieces}}
    end.

-spec info(term(), term(), State) -> {[], State}.
info(_, _, State) -> {[], State}.

-spec terminate(term(), term(), term()) -> ok.
terminate(_, _, _) -> ok.

-spec early_error(term(), term(), map(), Response, map()) -> Response.
early_error(_, _, _, Response, _) -> Response.

continue(#{headers := #{<<"expect">> := _}}) -> [{inform, 100, #{}}];
continue(_) -> [].

answer(Route, #{method := Method, qs := Query, headers := Headers}, Body, Length) ->
    Ask = fun(method) -> Method;
             (query) -> Query;
             ({header, Name}) -> maps:get(Name, Headers, undefined);
             (body) -> Body;
             (body_bytes) -> Length
          end,
    commands(candor_counter:answer(Route, Ask), Method) ++ [stop].

commands({Status, Headers, {chunks, _, _}}, <<"HEAD">>) -> [{response, Status, maps:from_list(Headers), <<>>}];
commands({Status, Headers, {chunks, Count, Chunk}}, _) ->
    [{headers, Status, maps:from_list(Headers)} | lists:duplicate(Count - 1, {data, nofin, Chunk})]
        ++ [{data, fin, Chunk}];
commands({Status, Headers, Body}, Method) ->
    Sized = case Status of
        _ when Status =:= 204; Status =:= 304 -> maps:from_list(Headers);
        _ -> maps:from_list([{<<"content-length">>, integer_to_binary(iolist_size(Body))} | Headers])
    end,
    [{response, Status, Sized, case Method of <<"HEAD">> -> <<>>; _ -> Body end}].
