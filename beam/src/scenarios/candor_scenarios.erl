%% The scenarios: the request of each, the protocols that can carry it, the abilities that it needs of a server, and the
%% settings that it is about.
%%
%% A table and nothing else. candor_answers decides the responses, and the loader decides how many
%% requests are sent and when. Names are those of the scenarios in Candor's suites.
-module(candor_scenarios).
-export([all/0, find/1, names/2, is_tls/1]).
-export_type([scenario/0, protocol/0, ability/0, settings/0]).

-type protocol() :: h1 | h2c | h2 | h3.

%% Beyond a status, headers and a body: chunks of unknown number; the method OPTIONS; frames after an upgrade; a 100 before
%% the body; request bodies in chunks; a limit on connections; a limit on requests per connection.
-type ability() :: streaming | options | websocket | continue | chunked_request | slots | session.

%% Connections at a time, and requests on one; whether responses are compressed; whether bodies are read as they come.
-type settings() :: #{max_connections := pos_integer() | infinity, max_requests := pos_integer() | infinity,
                      compression := boolean(), in_pieces := boolean()}.

-type scenario() :: #{name := atom(), method := binary(), path := binary(),
                      protocols := [protocol()], needs := [ability()], settings := settings()}.

-define(USUAL, #{max_connections => infinity, max_requests => infinity, compression => false, in_pieces => false}).

-spec all() -> [scenario()].
all() ->
    [#{name => Name, method => Method, path => Path, protocols => Protocols, needs => Needs,
       settings => maps:merge(?USUAL, Settings)}
     || {Name, Method, Path, Protocols, Needs, Settings} <- table()].

-spec find(atom()) -> {ok, scenario()} | error.
find(Name) ->
    case [Scenario || #{name := Known} = Scenario <- all(), Known =:= Name] of
        [Scenario] -> {ok, Scenario};
        [] -> error
    end.

%% Those of a protocol that a server with these abilities can do.
-spec names(protocol(), [ability()]) -> [atom()].
names(Protocol, Abilities) ->
    [Name || #{name := Name, protocols := Protocols, needs := Needs} <- all(),
             lists:member(Protocol, Protocols), Needs -- Abilities =:= []].

%% Whether a protocol is encrypted: HTTP/2 by ALPN and HTTP/3 are, in this kit.
-spec is_tls(protocol()) -> boolean().
is_tls(Protocol) -> Protocol =:= h2 orelse Protocol =:= h3.

-define(ANY, [h1, h2c, h2, h3]).
-define(H1, [h1]).
-define(H2, [h2c, h2]).

table() ->
    [{hello, <<"GET">>, <<"/">>, ?ANY, [], #{}},
     {echo, <<"POST">>, <<"/echo">>, ?ANY, [], #{}},
     {large_response, <<"GET">>, <<"/large">>, ?ANY, [], #{}},
     {json, <<"GET">>, <<"/json">>, ?ANY, [], #{}},
     {headers_heavy, <<"GET">>, <<"/">>, ?ANY, [], #{}},
     {head_method, <<"HEAD">>, <<"/large">>, ?ANY, [], #{}},
     {cookies_heavy, <<"GET">>, <<"/cookies">>, ?ANY, [], #{}},
     {multi_request_body, <<"POST">>, <<"/echo">>, ?ANY, [], #{}},
     {pipelined_h1, <<"GET">>, <<"/">>, ?H1, [], #{}},
     {slow_client, <<"GET">>, <<"/">>, ?H1, [], #{}},
     {connection_storm, <<"GET">>, <<"/">>, ?H1, [], #{}},
     {mixed_workload, <<"GET">>, <<"/">>, ?H1, [], #{}},
     {post_4kb_form, <<"POST">>, <<"/form">>, ?H1, [], #{}},
     {large_post_streaming, <<"POST">>, <<"/drain">>, ?H1, [], #{in_pieces => true}},
     {router_404_storm, <<"GET">>, <<"/no/such/route">>, ?H1, [], #{}},
     {varied_paths_router, <<"GET">>, <<"/route/0">>, ?H1, [], #{}},
     {gzip_response, <<"GET">>, <<"/gzip">>, ?H1, [], #{compression => true}},
     {backpressure_sustained, <<"GET">>, <<"/">>, ?H1, [slots], #{max_connections => 50}},
     {server_sent_events, <<"GET">>, <<"/sse">>, ?H1, [streaming], #{}},
     {expect_100_continue, <<"POST">>, <<"/echo">>, ?H1, [continue], #{}},
     {large_keepalive_session, <<"GET">>, <<"/">>, ?H1, [session], #{max_requests => 1000}},
     {websocket_msg_throughput, <<"GET">>, <<"/ws/echo">>, ?H1, [websocket], #{}},
     {url_with_qs, <<"GET">>, <<"/qs?a=1&b=2&c=3&d=4&e=5&f=6">>, ?H1, [], #{}},
     {accept_storm_burst, <<"GET">>, <<"/">>, ?H1, [], #{}},
     {etag_304, <<"GET">>, <<"/etag">>, ?H1, [], #{}},
     {partial_body_drop, <<"POST">>, <<"/echo">>, ?H1, [], #{}},
     {path_with_unicode, <<"GET">>,
      <<"/qs?stra%C3%9Fe=a+b&%C3%A9t%C3%A9=1&%E6%97%A5=%E6%9C%AC&n=%C3%B1+o&z=%E2%82%AC">>, ?H1, [], #{}},
     {cors_preflight, <<"OPTIONS">>, <<"/api">>, ?H1, [options], #{}},
     {chunked_request_body, <<"POST">>, <<"/echo">>, ?H1, [chunked_request], #{}},
     {redirect_response, <<"GET">>, <<"/redirect">>, ?H1, [], #{}},
     {compressed_request_body, <<"POST">>, <<"/echo">>, ?H1, [], #{}},
     {httparena_baseline, <<"GET">>, <<"/baseline11?a=123&b=456">>, ?H1, [], #{}},
     {httparena_json, <<"GET">>, <<"/httparena_json/50?m=1">>, ?H1, [], #{}},
     {httparena_upload_20mb_auto, <<"POST">>, <<"/upload">>, ?H1, [], #{}},
     {httparena_upload_20mb_manual, <<"POST">>, <<"/upload">>, ?H1, [], #{in_pieces => true}},
     {httparena_limited_conn, <<"GET">>, <<"/baseline11?a=123&b=456">>, ?H1, [], #{}},
     {httparena_static, <<"GET">>, <<"/static/hello.txt">>, ?H1, [], #{}},
     {streaming_response, <<"GET">>, <<"/streaming">>, ?H2, [streaming], #{}},
     {multi_stream_h2, <<"GET">>, <<"/">>, ?H2, [], #{}},
     {small_chunked_response, <<"GET">>, <<"/small">>, ?H2, [streaming], #{}},
     {tls_handshake_throughput, <<"GET">>, <<"/">>, [h2], [], #{}},
     {large_post_h2, <<"POST">>, <<"/drain">>, ?H2, [], #{}},
     %% Beyond the forty-two: the responses of two published measurements.
     {hello_world, <<"GET">>, <<"/hello-world">>, [h1, h2c, h2], [], #{}},
     {httpc_bench, <<"GET">>, <<"/httpc-bench">>, ?H1, [], #{}}].
