%% The fixed bytes of responses, made once and kept where reading them copies nothing.
%%
%% They equal those of Candor's embedded target, byte for byte, so that a plan that checks bodies
%% works with either target.
-module(candor_content).
-export([prepare/0, place/1, file/0, get/1, escapes/0, item/1]).

-define(GZIP_PLAIN_BYTES, 16384).

-type name() :: large | compressible | static | streaming_chunk | small_chunk.

%% To be called once, before the first response.
-spec prepare() -> ok.
prepare() ->
    Large = << <<($a + Index rem 26)>> || Index <- lists:seq(0, 65535) >>,
    persistent_term:put({?MODULE, escapes}, binary:compile_pattern([<<"%">>, <<"+">>])),
    lists:foreach(fun({Name, Bytes}) -> persistent_term:put({?MODULE, Name}, Bytes) end,
                  [{large, Large}, {compressible, compressible()}, {static, <<"Hello from a static file.\n">>},
                   {streaming_chunk, binary:copy(binary:part(Large, 0, 4096))},
                   {small_chunk, binary:copy(binary:part(Large, 0, 64))}]).

%% Puts the static file into a folder, for servers that send files themselves.
-spec place(file:filename()) -> ok | {error, file:posix()}.
place(Folder) ->
    File = filename:join(Folder, "hello.txt"),
    persistent_term:put({?MODULE, file}, File),
    file:write_file(File, ?MODULE:get(static)).

-spec file() -> file:filename().
file() -> persistent_term:get({?MODULE, file}).

-spec get(name()) -> binary().
get(Name) -> persistent_term:get({?MODULE, Name}).

%% A compiled pattern for the start of an escape in a form: compiling it takes longer than using it.
-spec escapes() -> binary:cp().
escapes() -> persistent_term:get({?MODULE, escapes}).

%% Item N of the HttpArena JSON document, from 1: the same N is always the same item.
-spec item(pos_integer()) -> {Price :: pos_integer(), Quantity :: pos_integer()}.
item(N) -> {100 + N * 37 rem 900, 1 + N * 7 rem 20}.

%% A JSON array of exactly 16 KiB.
compressible() ->
    Items = items(0, <<"[">>),
    Padding = binary:copy(<<".">>, ?GZIP_PLAIN_BYTES - byte_size(Items) - 3),
    <<Items/binary, $", Padding/binary, "\"]">>.

items(_, Done) when byte_size(Done) + 64 > ?GZIP_PLAIN_BYTES -> Done;
items(N, Done) ->
    Id = integer_to_binary(N),
    items(N + 1, <<Done/binary, "{\"id\":", Id/binary, ",\"name\":\"item ", Id/binary, "\",\"ok\":true},">>).
