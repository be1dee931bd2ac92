%% A certificate for localhost and 127.0.0.1, made anew for each run and signed by an authority of the same run.
-module(candor_certificate).
-include_lib("public_key/include/public_key.hrl").
-export([make/1]).

%% Three files in a folder: the server's certificate and key, and the authority for clients to believe.
-spec make(file:filename()) -> #{certfile := file:filename(), keyfile := file:filename(), authority := file:filename()}.
make(Folder) ->
    Key = [{digest, sha256}, {key, {namedCurve, secp256r1}}],
    %% Signed by an RSA key: to an ECDSA signature public_key adds parameters that strict clients refuse.
    Root = [{digest, sha256}, {key, {rsa, 2048, 65537}}],
    Names = #'Extension'{extnID = ?'id-ce-subjectAltName', critical = false,
                         extnValue = [{dNSName, "localhost"}, {iPAddress, <<127, 0, 0, 1>>}]},
    Chain = #{root => Root, intermediates => [], peer => Key},
    #{server_config := Server, client_config := Client} =
        public_key:pkix_test_data(#{server_chain => Chain#{peer => [{extensions, [Names]} | Key]},
                                    client_chain => Chain}),
    {KeyType, KeyBytes} = proplists:get_value(key, Server),
    Files = [{certfile, "certificate.pem", [{'Certificate', proplists:get_value(cert, Server)}]},
             {keyfile, "key.pem", [{KeyType, KeyBytes}]},
             {authority, "authority.pem", [{'Certificate', Der} || Der <- proplists:get_value(cacerts, Client)]}],
    maps:from_list([{What, written(filename:join(Folder, Name), Entries)} || {What, Name, Entries} <- Files]).

written(File, Entries) ->
    ok = file:write_file(File, public_key:pem_encode([{Type, Der, not_encrypted} || {Type, Der} <- Entries])),
    File.
