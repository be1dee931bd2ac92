//! `candor grpc` against the embedded target, whose counts must equal the ledger, and what is refused.

use candor_testkit::peer::{Peer, Script};

use crate::common::*;

const PROTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../serve/proto/candor/echo.proto");

/// The messages that the target took and gave in calls of one of its methods.
fn messages(target: &Target, scenario: &str) -> (u64, u64) {
    let stats = target.stats();
    let of = |name: &str| stats[name][scenario].as_u64().unwrap_or(0);
    (of("parts_received_by_scenario"), of("parts_sent_by_scenario"))
}

fn grpc(arguments: &[&str]) -> Outcome {
    Candor::start_measuring(&[&["grpc"], arguments].concat()).finish()
}

fn address(target: &Target) -> String {
    target.url("").trim_end_matches('/').split_once("://").unwrap().1.to_owned()
}

fn errors(document: &Document) -> Vec<(String, u64)> {
    let all = document.at("/errors").as_array().cloned().unwrap_or_default();
    let one = |error: &serde_json::Value| {
        (error["kind"].as_str().unwrap().to_owned(), error["count"].as_u64().unwrap())
    };
    all.iter().map(one).collect()
}

#[test]
fn each_call_has_its_response_over_every_transport() {
    for (served, flags) in [
        (&[][..], &[][..]),
        (&[], &["--streams", "16"]),
        (&["--tls"], &["--tls", "-k"]),
        (&["--tls"], &["--tls", "-k", "--deadline", "5s"]),
    ] {
        let target = Target::start(served);
        let load = ["-R", "500", "-c", "4", "-t", "2", "-n", "500", "-d", "{\"seq\": ${seq}}"];
        let target_flags = [&address(&target), "candor.Echo/Unary"];
        let outcome = grpc(&[&load[..], flags, &target_flags].concat());
        assert_eq!(outcome.code(), 0, "{flags:?}: {}{}", outcome.stdout, outcome.stderr);
        let document = outcome.document();
        document.assert_all_ok();
        assert_eq!(document.ledger("ok"), 500);
        assert_eq!(document.text("/plan/work/requests/list/0/name"), "candor.Echo/Unary");
        if served.is_empty() {
            assert_eq!(messages(&target, "grpc_unary"), (500, 500), "{flags:?}");
        }
        assert!(!document.verdicts().contains(&"impossible"), "{:?}", document.verdicts());
    }
}

#[test]
fn without_a_url_the_embedded_target_is_called() {
    let document = grpc(&["-n", "200", "-c", "2"]).document();
    document.assert_all_ok();
    assert_eq!(document.ledger("ok"), 200);
}

#[test]
fn the_schema_is_the_same_from_the_server_a_file_and_a_protoset() {
    let target = Target::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let protoset = directory.path().join("echo.binpb");
    std::fs::copy(PROTO.replace(".proto", ".binpb"), &protoset).unwrap();
    let ways = [vec![], vec!["--proto", PROTO], vec!["--protoset", protoset.to_str().unwrap()]];
    let hash = |flags: &Vec<&str>| {
        let url = address(&target);
        let fixed =
            ["-n", "3", "-c", "1", "-d", "{\"payload\": \"aGVsbG8=\"}", &url, "candor.Echo.Unary"];
        let document = grpc(&[&fixed[..], flags].concat()).document();
        document.assert_all_ok();
        let body = document.at("/plan/work/requests/list/0/body").clone();
        // A prefix, a key, a length, and five bytes of text.
        assert_eq!(body["left-out"]["count"], 12, "{body}");
        body
    };
    let all: Vec<_> = ways.iter().map(hash).collect();
    assert!(all.windows(2).all(|two| two[0] == two[1]), "{all:?}");
    let asked = target.stats()["requests_by_scenario"]["grpc_reflection"].as_u64();
    assert_eq!(asked, Some(1), "only the first run has asked the server");
}

#[test]
fn messages_of_streams_are_counted_and_timed() {
    let target = Target::start(&[]);
    let call = |method: &str, message: &str, flags: &[&str]| {
        let url = address(&target);
        let fixed = ["-n", "20", "-c", "2", "-d", message, &url, method];
        let document = grpc(&[&fixed[..], flags].concat()).document();
        document.assert_all_ok();
        document
    };
    let every = "{\"count\": 5, \"everyNs\": \"10000000\"}";
    let served = call("candor.Echo/ServerStream", every, &["--expect", "gap p50 >= 5ms"]);
    assert_eq!((served.count("/streams/events/min"), served.count("/streams/events/max")), (5, 5));
    assert!(served.count("/streams/last_event/min_ns") >= 40_000_000);
    assert_eq!(served.count("/parts/count"), 100);
    assert_eq!(messages(&target, "grpc_server_stream"), (20, 100));
    // Documents one after the other, and elements of an array, are messages.
    let three = "{\"seq\": ${seq}} [{\"seq\": 1}, {}]";
    call("candor.Echo/ClientStream", three, &[]);
    assert_eq!(messages(&target, "grpc_client_stream"), (60, 20));
    let both = call("candor.Echo/Bidi", three, &["--streams", "4"]);
    assert_eq!(messages(&target, "grpc_bidi"), (60, 60));
    assert_eq!(both.count("/streams/events/max"), 3);
}

#[test]
fn statuses_are_errors_by_their_names() {
    let target = Target::start(&[]);
    let url = address(&target);
    let flags =
        ["-n", "40", "-c", "2", "-d", "{\"status\": ${choice 5,7}}", "candor.Echo/Unary", &url];
    let outcome = grpc(&flags);
    let document = outcome.document();
    let all = errors(&document);
    let of = |kind: &str| all.iter().find(|(own, _)| own == kind).map_or(0, |(_, count)| *count);
    assert_eq!(of("grpc-not-found") + of("grpc-permission-denied"), 40, "{all:?}");
    assert!(all.len() == 2 && document.ledger("ok") == 0, "{all:?}");
    assert!(outcome.stdout.contains("NOT_FOUND"), "{}", outcome.stdout);
    let tried =
        candor(&["try", "--call", "candor.Echo/Unary", "-b", "{\"status\": 5}", &target.url("/")]);
    assert_eq!(tried.code(), 3, "{}{}", tried.stdout, tried.stderr);
    let failed = "✗ gRPC status NOT_FOUND";
    assert!(tried.stdout.contains(failed), "{}", tried.stdout);
    // The deadline is the server's to keep.
    let slow = ["-n", "2", "-c", "1", "--deadline", "20ms", "-d", "{\"everyNs\": 2000000000}"];
    let late = grpc(&[&slow[..], &["candor.Echo/Unary", &url]].concat()).document();
    assert_eq!(errors(&late), [("grpc-deadline-exceeded".to_owned(), 2)]);
}

#[test]
fn users_call_and_a_try_shows_messages() {
    let target = Target::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("users.csv"), "id,name\n7,ann\n8,bob\n").unwrap();
    let plan = format!(
        "url = '{}'\nrate = 50\nrequests = 50\ndata = 'u=users.csv'\ncall = 'candor.Echo/Unary'\nproto = '{PROTO}'\n\
         [[journey]]\n[[journey.step]]\nname = 'first'\njson = {{ seq = '${{u.id}}' }}\n\
         [[journey.step]]\nname = 'second'\ncall = 'candor.Echo/ServerStream'\nbody = '{{\"count\": 2}}'\n",
        target.url("/")
    );
    let file = directory.path().join("plan.toml");
    std::fs::write(&file, plan).unwrap();
    let file = file.to_str().unwrap();
    let tried = candor(&["try", file]);
    assert_eq!(tried.code(), 0, "{}{}", tried.stdout, tried.stderr);
    for line in ["> POST /candor.Echo/Unary HTTP/2", "\"seq\": \"7\"", "gRPC status OK"] {
        assert!(tried.stdout.contains(line), "{line}: {}", tried.stdout);
    }
    let before = messages(&target, "grpc_unary");
    let document = Candor::start_measuring(&[file]).finish().document();
    document.assert_all_ok();
    let users = document.at("/users/journeys/0")["started"].as_u64().unwrap();
    let after = messages(&target, "grpc_unary");
    assert_eq!((after.0 - before.0, after.1 - before.1), (users, users));
}

/// Runs a plan of users who make these steps, 50 of them.
fn of_users(target: &Target, steps: &str) -> (Document, Outcome) {
    let directory = tempfile::tempdir().unwrap();
    let plan = format!(
        "url = '{}'\nrate = 100\nrequests = 50\ncall = 'candor.Echo/Unary'\nproto = '{PROTO}'\n[[journey]]\n{steps}",
        target.url("/")
    );
    let file = directory.path().join("plan.toml");
    std::fs::write(&file, plan).unwrap();
    let file = file.to_str().unwrap();
    let document = Candor::start_measuring(&[file]).finish().document();
    (document, candor(&["try", file]))
}

#[test]
fn values_are_captured_from_messages_and_their_streams() {
    let target = Target::start(&[]);
    let steps = "[[journey.step]]\nname = 'first'\njson = { seq = '${seq}', count = 3 }\n\
         capture = { count = 'json:$.count', none = 'json:$.status', all = 'regex:\"seq\":\"([0-9]+)\"' }\n\
         [[journey.step]]\nname = 'stream'\ncall = 'candor.Echo/ServerStream'\nbody = '{\"count\": ${count}}'\n\
         capture = { last = 'json:$[2].seq' }\n\
         [[journey.step]]\nname = 'third'\nbody = '{\"seq\": ${all}, \"count\": ${last}, \"status\": ${none}}'\n\
         capture = { type = 'header:content-type', two = 'json:$.count' }\n\
         [[journey.step]]\nname = 'fourth'\nbody = '{\"count\": ${two}}'\nwhen = '${type}'\n";
    let (document, tried) = of_users(&target, steps);
    document.assert_all_ok();
    let users = document.at("/users/journeys/0");
    assert_eq!((users["started"].as_u64(), users["completed"].as_u64()), (Some(50), Some(50)));
    // Each stream has as many messages as the first step's answer said.
    assert_eq!(messages(&target, "grpc_server_stream").1, 51 * 3);
    assert_eq!(tried.code(), 0, "{}{}", tried.stdout, tried.stderr);
    for line in ["count = 3", "last = 2", "two = 2", "type = application/grpc", "none = 0"] {
        assert!(tried.stdout.contains(line), "{line}: {}", tried.stdout);
    }
}

#[test]
fn a_captured_value_that_does_not_fit_its_field_fails_its_step() {
    let target = Target::start(&[]);
    let steps = "[[journey.step]]\nname = 'first'\njson = { payload = 'aGVsbG8=' }\n\
         capture = { word = 'json:$.payload' }\n\
         [[journey.step]]\nname = 'second'\nbody = '{\"seq\": ${word}}'\n";
    let (document, tried) = of_users(&target, steps);
    let users = document.at("/users/journeys/0");
    assert_eq!((users["started"].as_u64(), users["failed"].as_u64()), (Some(50), Some(50)));
    let failure = &users["failures"][0];
    let of = |name: &str| failure[name].as_str().unwrap().to_owned();
    assert_eq!(
        (of("step"), of("reason"), of("variable")),
        ("second".into(), "unfit".into(), "word".into())
    );
    assert_eq!(document.ledger("ok"), 50);
    assert_eq!(tried.code(), 3, "{}{}", tried.stdout, tried.stderr);
    let says = "not sent: ${word} does not fit into the message";
    assert!(tried.stdout.contains(says), "{}", tried.stdout);
}

#[test]
fn a_value_that_does_not_fit_its_field_ends_the_run_with_a_sentence() {
    let target = Target::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let rows = directory.path().join("ids.csv");
    std::fs::write(&rows, "id\n1\n2\nthree\n").unwrap();
    let data = format!("ids={}", rows.display());
    let url = address(&target);
    let message = "{\"seq\": ${ids.id}}";
    let outcome =
        grpc(&["-n", "9", "-c", "1", "--data", &data, "-d", message, &url, "candor.Echo/Unary"]);
    let document = outcome.document();
    assert_eq!(document.ledger("ok"), 2);
    assert!(outcome.stdout.contains("has a value that does not fit"), "{}", outcome.stdout);
}

/// A server of HTTP/1.1 that answers each call with this body.
fn web_peer(kind: &str, status: &str, body: &[u8]) -> Peer {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Peer::start(Script::answers_with([head.as_bytes(), body].concat()))
}

#[test]
fn grpc_web_and_connect_are_called_over_http_1() {
    const WEB: &str = "application/grpc-web+proto";
    // A message with seq 7.
    let framed = b"\0\0\0\0\x02\x28\x07";
    let of_web =
        |end: &str| [&framed[..], &[0x80, 0, 0, 0, end.len() as u8], end.as_bytes()].concat();
    let of_connect = [&framed[..], b"\x02\0\0\0\x02{}"].concat();
    let error = br#"{"code":"not_found","message":"none"}"#;
    const STREAM: &str = "application/connect+proto";
    const TEXT: &str = "application/grpc-web-text+proto";
    // The same as of_web.
    let of_text = b"AAAAAAIoB4AAAAAQZ3JwYy1zdGF0dXM6IDANCg==";
    const JSON_STREAM: &str = "application/connect+json";
    const OK: &str = "200 OK";
    let json = br#"{"seq":"7","more":0}"#;
    let json_stream = [&[0, 0, 0, 0, json.len() as u8], &json[..], b"\x02\0\0\0\x02{}"].concat();
    let of_web = of_web("grpc-status: 0\r\n");
    let cases = [
        ("grpc-web", "Unary", web_peer(WEB, OK, &of_web), "", 20),
        ("grpc-web", "Unary", web_peer(WEB, OK, framed), "grpc-no-status", 20),
        ("connect", "Unary", web_peer("application/proto", OK, &framed[5..]), "", 20),
        ("connect", "Unary", web_peer("application/json", "404 No", error), "grpc-not-found", 0),
        ("connect", "ServerStream", web_peer(STREAM, OK, &of_connect), "", 20),
        ("grpc-web-text", "Unary", web_peer(TEXT, OK, of_text), "", 20),
        ("connect json", "Unary", web_peer("application/json", OK, json), "", 20),
        (
            "connect json",
            "Unary",
            web_peer("application/json", "404 No", error),
            "grpc-not-found",
            0,
        ),
        ("connect json", "ServerStream", web_peer(JSON_STREAM, OK, &json_stream), "", 20),
    ];
    for (protocol, method, peer, fault, messages) in cases {
        let (protocol, codec) = protocol.split_once(' ').unwrap_or((protocol, "proto"));
        let (url, method) = (peer.addr().to_string(), format!("candor.Echo/{method}"));
        let form = ["--protocol", protocol, "--codec", codec, "--proto", PROTO];
        let calls = [&form[..], &["-d", "{\"seq\": ${seq}}"]].concat();
        let to = [&url[..], &method];
        let document = grpc(&[&calls[..], &["-n", "20", "-c", "2"], &to].concat()).document();
        let errors = errors(&document);
        let errors: Vec<_> = errors.iter().map(|(kind, count)| (&kind[..], *count)).collect();
        let expected = if fault.is_empty() { vec![] } else { vec![(fault, 20)] };
        assert_eq!(errors, expected, "{protocol} {method}");
        let ok = if fault.is_empty() { 20 } else { 0 };
        assert_eq!(document.ledger("ok"), ok, "{protocol} {method}");
        if messages > 0 {
            assert_eq!(document.count("/parts/count"), messages, "{protocol} {method}");
        }
        assert_eq!(peer.requests(), 20, "{protocol} {method}");
        let url = format!("http://{url}/");
        let calls = [&form[..], &["--call", &method, "-b", "{}"]].concat();
        let tried = candor(&[&["try"], &calls[..], &[&url]].concat());
        let shows = match fault {
            "" => "\"seq\": \"7\"",
            "grpc-no-status" => "without a status",
            _ => "NOT_FOUND",
        };
        assert!(tried.stdout.contains(shows), "{protocol} {method}: {}", tried.stdout);
    }
}

#[test]
fn a_deadline_over_http_1_costs_the_connection_and_is_one_all_the_same() {
    for protocol in ["grpc-web", "connect"] {
        let peer = Peer::start(Script::never_answers());
        let url = peer.addr().to_string();
        let calls = ["--protocol", protocol, "--proto", PROTO, "--deadline", "20ms", "-n", "6"];
        let to = ["-c", "2", &url, "candor.Echo/Unary"];
        let document = grpc(&[&calls[..], &to].concat()).document();
        assert_eq!(errors(&document), [("grpc-deadline-exceeded".to_owned(), 6)], "{protocol}");
        assert_eq!(peer.requests(), 6, "{protocol}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let target = Target::start(&[]);
    let url = address(&target);
    let h1 = candor_testkit::peer::Peer::start(candor_testkit::peer::Script::each_request([
        candor_testkit::peer::Step::write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ]));
    let h1 = h1.addr().to_string();
    let says = |arguments: &[&str], part: &str| {
        let outcome = candor(&[&["grpc"], arguments].concat());
        assert_eq!(outcome.code(), 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.trim_end().lines().count(), 1, "{}", outcome.stderr);
    };
    says(&[&url], "no method; write PACKAGE.SERVICE/METHOD");
    says(&[&url, "Echo"], "\"Echo\" is not the name of a method");
    says(&[&url, "candor.Echo/Unari"], "no method \"Unari\"; did you mean \"Unary\"?");
    says(&[&url, "candor.Eco/Unary"], "no service \"candor.Eco\"; did you mean \"candor.Echo\"?");
    says(
        &[&url, "candor.Echo/Unary", "-d", "{\"sec\": 1}"],
        "no field \"sec\"; did you mean \"seq\"?",
    );
    says(&[&url, "candor.Echo/Unary", "-d", "{\"seq\": ${sec}}"], "${sec} is not known");
    says(&[&url, "candor.Echo/Unary", "-d", "{} {}"], "takes one message, and there are 2");
    says(&[&url, "candor.Echo/Unary", "--h1"], "--h1 cannot be used with --call");
    says(&[&url, "candor.Echo/Bidi", "--protocol", "connect"], "which only grpc carries");
    says(&[&url, "candor.Echo/Unary", "--protocol", "stomp"], "it is for WebSocket");
    says(&[&url, "candor.Echo/Unary", "-X", "GET"], "--method cannot be used with --call");
    says(&[&url, "candor.Echo/Unary", "--proto", "none.proto"], "there is no such file");
    says(&[&url, "candor.Echo/Unary", "--import-path", "."], "add --proto FILE");
    for text in ["a-bin: !!!", "a-bin: b3Ro, c", "A-BIN: b3R_"] {
        says(&["127.0.0.1:1", "candor.Echo/Unary", "-H", text], "is not base64");
    }
    for silent in ["127.0.0.1:1", &h1] {
        let outcome = candor(&["grpc", silent, "candor.Echo/Unary"]);
        assert_eq!(outcome.code(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("(reflection): "), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("--proto FILE or --protoset FILE"), "{}", outcome.stderr);
    }
    let outcome = candor(&["--deadline", "1s", "http://127.0.0.1:1/"]);
    assert!(outcome.stderr.contains("it is for calls of gRPC; add --call"), "{}", outcome.stderr);
}
