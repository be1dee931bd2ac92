%% Which of several folders a library comes from.
-module(candor_libraries_tests).
-include_lib("eunit/include/eunit.hrl").

%% The user's own folders go before whatever rebar3 built, whichever is added first.
own_folders_go_before_profiles_test() ->
    Build = lists:foldl(fun(_, Path) -> filename:dirname(Path) end, code:which(candor_libraries), lists:seq(1, 5)),
    Profile = "candor_libraries_tests",
    Built = filename:join([Build, Profile, "lib", "some", "ebin"]),
    Own = filename:join([Build, Profile, "own"]),
    Mine = filename:join([Own, "some", "ebin"]),
    [ok = filelib:ensure_dir(filename:join(Ebin, "x")) || Ebin <- [Built, Mine]],
    try
        candor_libraries:add_paths([Own]),
        candor_libraries:add_profiles([{none, none, Profile}]),
        ?assertEqual([Mine, Built], [Ebin || Ebin <- code:get_path(), lists:member(Ebin, [Mine, Built])])
    after
        lists:foreach(fun code:del_path/1, [Built, Mine]),
        file:del_dir_r(filename:join(Build, Profile))
    end.
